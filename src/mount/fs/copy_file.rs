//! Copies one file with its metadata: by cloning, by a copy in the kernel, or by reading and writing. The caller chooses the files.

use crate::host::interruption;
use rustix::fs::{
    AtFlags, FileType, Gid, Mode, OFlags, SeekFrom, Stat, Timespec, Timestamps, Uid, chownat,
    copy_file_range, fchmod, fchown, fstat, futimens, openat, readlinkat, seek, statat, symlinkat, utimensat,
};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Files up to this size are read and written: nothing beats two system calls.
const SMALL: usize = 256 * 1024;

/// How much one call copies: signals are handled between two calls.
const PIECE: u64 = 16 << 20;

/// Asked between pieces: an error ends the copy.
pub(crate) type Stop = fn() -> io::Result<()>;

/// From one tree to another.
pub(crate) struct Copier<'a> {
    from: &'a OwnedFd,
    to: &'a OwnedFd,
    /// Whether cloning is still worth a try.
    reflink: &'a AtomicBool,
    buffer: Vec<u8>,
    own: (u32, u32),
}

/// What was found where a file was expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Copied {
    File,
    /// It has become a socket, fifo or device.
    Special,
}

impl<'a> Copier<'a> {
    pub(crate) fn new(from: &'a OwnedFd, to: &'a OwnedFd, reflink: &'a AtomicBool) -> Copier<'a> {
        let own = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        Copier { from, to, reflink, buffer: vec![0; SMALL], own }
    }

    /// A regular file: content, mode, times, and owner if we may.
    pub(crate) fn file(&mut self, path: &Path, target: &Path) -> io::Result<Copied> {
        let read = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let source = openat(self.from, path, read, Mode::empty())?;
        let stat = fstat(&source)?;
        if !FileType::from_raw_mode(stat.st_mode).is_file() {
            return Ok(Copied::Special);
        }
        let write = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let out = openat(self.to, target, write, Mode::from_raw_mode(0o600))?;
        self.content(&source, &out, &stat)?;
        if (stat.st_uid, stat.st_gid) != self.own {
            // Before the mode: changing the owner clears the set-id bits.
            let _ = fchown(&out, Some(Uid::from_raw(stat.st_uid)), Some(Gid::from_raw(stat.st_gid)));
        }
        fchmod(&out, Mode::from_raw_mode(stat.st_mode))?;
        futimens(&out, &times(&stat))?;
        Ok(Copied::File)
    }

    fn content(&mut self, from: &OwnedFd, to: &OwnedFd, stat: &Stat) -> io::Result<()> {
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        if size == 0 {
            return Ok(());
        }
        if self.reflink.load(Ordering::Relaxed) {
            match rustix::fs::ioctl_ficlone(to, from) {
                Ok(()) => return Ok(()),
                Err(_) => self.reflink.store(false, Ordering::Relaxed),
            }
        }
        Bytes { from: from.as_fd(), to: to.as_fd(), buffer: &mut self.buffer, stop: interruption::check }
            .copy(stat)
    }

    /// Copies a symlink as a symlink; returns its target.
    pub(crate) fn symlink(&mut self, path: &Path, target: &Path) -> io::Result<PathBuf> {
        let link = readlinkat(self.from, path, Vec::new())?;
        symlinkat(link.as_c_str(), self.to, target)?;
        let stat = statat(self.from, path, AtFlags::SYMLINK_NOFOLLOW)?;
        if (stat.st_uid, stat.st_gid) != self.own {
            let owner = (Some(Uid::from_raw(stat.st_uid)), Some(Gid::from_raw(stat.st_gid)));
            let _ = chownat(self.to, target, owner.0, owner.1, AtFlags::SYMLINK_NOFOLLOW);
        }
        utimensat(self.to, target, &times(&stat), AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(PathBuf::from(OsStr::from_bytes(link.as_bytes())))
    }

    /// Copies mode, times and owner of a directory. Done last, because creating entries in it changes them.
    pub(crate) fn finish_dir(&mut self, path: &Path, target: &Path) -> io::Result<()> {
        let stat = statat(self.from, path, AtFlags::SYMLINK_NOFOLLOW)?;
        if (stat.st_uid, stat.st_gid) != self.own {
            let owner = (Some(Uid::from_raw(stat.st_uid)), Some(Gid::from_raw(stat.st_gid)));
            let _ = chownat(self.to, target, owner.0, owner.1, AtFlags::SYMLINK_NOFOLLOW);
        }
        rustix::fs::chmodat(self.to, target, Mode::from_raw_mode(stat.st_mode), AtFlags::empty())?;
        Ok(utimensat(self.to, target, &times(&stat), AtFlags::SYMLINK_NOFOLLOW)?)
    }
}

/// Copies the content of one open file into another, empty one. Holes stay holes.
pub(crate) fn copy_bytes(from: BorrowedFd<'_>, to: BorrowedFd<'_>, stop: Stop) -> io::Result<()> {
    if rustix::fs::ioctl_ficlone(to, from).is_ok() {
        return Ok(());
    }
    let stat = fstat(from)?;
    let size = usize::try_from(stat.st_size).unwrap_or(SMALL).clamp(1, SMALL);
    Bytes { from, to, buffer: &mut vec![0; size], stop }.copy(&stat)
}

/// The content of one file on its way into another.
struct Bytes<'a> {
    from: BorrowedFd<'a>,
    to: BorrowedFd<'a>,
    buffer: &'a mut [u8],
    stop: Stop,
}

impl Bytes<'_> {
    fn copy(&mut self, stat: &Stat) -> io::Result<()> {
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        if size <= SMALL as u64 {
            return self.read_and_write(0, size);
        }
        let blocks = u64::try_from(stat.st_blocks).unwrap_or(0);
        if blocks.saturating_mul(512) < size { self.data_only(size) } else { self.range(0, size) }
    }

    /// The parts of a sparse file that are not holes.
    fn data_only(&mut self, size: u64) -> io::Result<()> {
        rustix::fs::ftruncate(self.to, size)?;
        let mut position = 0;
        while position < size {
            (self.stop)()?;
            let start = match seek(self.from, SeekFrom::Data(position)) {
                Ok(start) => start,
                Err(Errno::NXIO) => return Ok(()),
                Err(_) => position,
            };
            let end = seek(self.from, SeekFrom::Hole(start)).unwrap_or(size).min(size).max(start + 1);
            self.range(start, end)?;
            position = end;
        }
        Ok(())
    }

    /// Copies in the kernel if it can, otherwise by reading and writing.
    fn range(&mut self, start: u64, end: u64) -> io::Result<()> {
        let (mut read_at, mut write_at) = (start, start);
        while read_at < end {
            (self.stop)()?;
            let wanted = usize::try_from((end - read_at).min(PIECE)).unwrap_or(SMALL);
            match copy_file_range(self.from, Some(&mut read_at), self.to, Some(&mut write_at), wanted) {
                // The file has become shorter meanwhile.
                Ok(0) => return Ok(()),
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::XDEV | Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP | Errno::PERM) => {
                    return self.read_and_write(read_at, end);
                }
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    fn read_and_write(&mut self, mut position: u64, end: u64) -> io::Result<()> {
        while position < end {
            (self.stop)()?;
            let wanted = usize::try_from(end - position).unwrap_or(SMALL).min(self.buffer.len());
            let count = match rustix::io::pread(self.from, &mut self.buffer[..wanted], position) {
                Ok(0) => return Ok(()),
                Ok(count) => count,
                Err(Errno::INTR) => continue,
                Err(errno) => return Err(errno.into()),
            };
            let mut rest = &self.buffer[..count];
            while !rest.is_empty() {
                match rustix::io::pwrite(self.to, rest, position) {
                    Ok(written) => {
                        rest = &rest[written..];
                        position += written as u64;
                    }
                    Err(Errno::INTR) => {}
                    Err(errno) => return Err(errno.into()),
                }
            }
        }
        Ok(())
    }
}

fn times(stat: &Stat) -> Timestamps {
    let time = |seconds: i64, nanos: u64| Timespec { tv_sec: seconds, tv_nsec: nanos.cast_signed() };
    Timestamps {
        last_access: time(stat.st_atime, stat.st_atime_nsec),
        last_modification: time(stat.st_mtime, stat.st_mtime_nsec),
    }
}
