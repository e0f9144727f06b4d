//! The overlay's mark for a deleted path. This module only writes it; `Stat::is_whiteout` recognises it.

use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;

/// Writes a whiteout: a character device 0:0, which needs no privilege.
pub fn whiteout(path: &Path) -> io::Result<()> {
    whiteout_at(CWD, path)
}

/// The same, seen from an open directory.
pub fn whiteout_at(dir: BorrowedFd<'_>, path: &Path) -> io::Result<()> {
    Ok(mknodat(dir, path, FileType::CharacterDevice, Mode::empty(), 0)?)
}
