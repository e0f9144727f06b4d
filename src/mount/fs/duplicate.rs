//! Duplicates a copied mount as it is. It applies no rules: everything in the mount may be seen.

use anyhow::Result;
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

/// Makes `to` the same tree as `from`: files, links, directories, modes and times. Sockets, fifos and devices are left out.
pub(crate) fn duplicate(from: &Path, to: &Path) -> Result<()> {
    directory(from, to)?;
    Ok(())
}

fn directory(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            directory(&source, &target)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(&source)?, &target)?;
        } else if kind.is_file() {
            // Shares the blocks if the filesystem supports it.
            fs::copy(&source, &target)?;
            take_times(&source, &target)?;
        }
    }
    // Last: creating an entry changes the directory's time, and needs write permission.
    let meta = fs::metadata(from)?;
    fs::set_permissions(to, fs::Permissions::from_mode(meta.mode() & 0o7777))?;
    take_times(from, to)
}

/// Build tools compare times: a check must not consider everything out of date.
fn take_times(from: &Path, to: &Path) -> io::Result<()> {
    let meta = fs::metadata(from)?;
    let times = Timestamps {
        last_access: Timespec { tv_sec: meta.atime(), tv_nsec: meta.atime_nsec() },
        last_modification: Timespec { tv_sec: meta.mtime(), tv_nsec: meta.mtime_nsec() },
    };
    Ok(utimensat(CWD, to, &times, AtFlags::empty())?)
}
