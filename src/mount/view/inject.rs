//! Fills an overlay's upper directory before it is mounted, with whiteouts for hidden paths and with files of ours. It never writes
//! outside the upper directory.

use crate::model::mount_record::XattrNamespace;
use crate::mount::fs::whiteout::whiteout;
use rustix::fs::{
    AtFlags, CWD, FileType, Gid, Mode, Stat, Timespec, Timestamps, Uid, XattrFlags, chmodat, chownat,
    lgetxattr, llistxattr, lsetxattr, statat, utimensat,
};
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

/// A file of ours for the mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InjectedFile {
    /// Relative to the root.
    pub path: PathBuf,
    pub bytes: Vec<u8>,
    pub mode: u32,
}

/// An upper directory that is being filled.
pub struct Upper<'a> {
    lower: &'a Path,
    dir: &'a Path,
    xattrs: XattrNamespace,
    /// Directories that mirror those of the project, with the mode and times to set at the end.
    mirrored: Vec<(PathBuf, Mode, Timestamps)>,
    /// Opaque directories: nothing of the project shows through.
    opaque: BTreeSet<PathBuf>,
}

impl<'a> Upper<'a> {
    /// `dir` exists and is empty. It gets the owner of `lower`; [`Upper::finish`] sets its mode and times.
    pub fn new(lower: &'a Path, dir: &'a Path, xattrs: XattrNamespace) -> io::Result<Upper<'a>> {
        let stat = statat(CWD, lower, AtFlags::empty())?;
        let mut upper = Upper { lower, dir, xattrs, mirrored: Vec::new(), opaque: BTreeSet::new() };
        take_attributes(lower, dir, &stat)?;
        upper.mirrored.push((PathBuf::new(), Mode::from_raw_mode(stat.st_mode), times_of(&stat)));
        Ok(upper)
    }

    /// Hides what the project has at a path.
    pub fn hide(&mut self, path: &Path) -> io::Result<()> {
        self.make_parents(path)?;
        whiteout(&self.dir.join(path))
    }

    /// Puts a file of ours at a path, replacing whatever the project has there or above it.
    pub fn inject(&mut self, file: &InjectedFile) -> io::Result<()> {
        self.make_parents(&file.path)?;
        write_injected(&self.dir.join(&file.path), file)
    }

    /// Creates the parents of a file in the upper directory and returns its path, for callers that fill it themselves.
    pub fn place(&mut self, path: &Path) -> io::Result<PathBuf> {
        self.make_parents(path)?;
        Ok(self.dir.join(path))
    }

    /// Restores the times of the mirrored directories, which creating entries has changed.
    pub fn finish(self) -> io::Result<()> {
        for (path, mode, times) in self.mirrored.iter().rev() {
            let path = self.dir.join(path);
            if !mode.contains(Mode::RWXU) {
                chmodat(CWD, &path, *mode, AtFlags::empty())?;
            }
            utimensat(CWD, &path, times, AtFlags::empty())?;
        }
        Ok(())
    }

    fn make_parents(&mut self, path: &Path) -> io::Result<()> {
        if path.as_os_str().is_empty() || path.components().any(|part| !matches!(part, Component::Normal(_)))
        {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a path below the root"));
        }
        let mut parents: Vec<&Path> =
            path.ancestors().skip(1).filter(|dir| !dir.as_os_str().is_empty()).collect();
        parents.reverse();
        for dir in parents {
            self.make_dir(dir)?;
        }
        Ok(())
    }

    fn make_dir(&mut self, dir: &Path) -> io::Result<()> {
        let target = self.dir.join(dir);
        let here = fs::symlink_metadata(&target).ok();
        if here.as_ref().is_some_and(fs::Metadata::is_dir) {
            return Ok(());
        }
        let below_opaque = dir.ancestors().skip(1).any(|above| self.opaque.contains(above));
        let lower = if below_opaque {
            None
        } else {
            statat(CWD, self.lower.join(dir), AtFlags::SYMLINK_NOFOLLOW).ok()
        };
        let hidden = here.is_some();
        if hidden {
            fs::remove_file(&target)?;
        }
        fs::DirBuilder::new().mode(0o755).create(&target)?;
        match lower {
            Some(stat) if !hidden && FileType::from_raw_mode(stat.st_mode).is_dir() => {
                take_attributes(&self.lower.join(dir), &target, &stat)?;
                let mode = Mode::from_raw_mode(stat.st_mode);
                self.mirrored.push((dir.to_path_buf(), mode, times_of(&stat)));
            }
            // The project has something else here, or something hidden: none of it may show through.
            Some(_) => {
                lsetxattr(&target, self.xattrs.opaque(), b"y", XattrFlags::empty())?;
                self.opaque.insert(dir.to_path_buf());
            }
            None => {}
        }
        Ok(())
    }
}

/// Writes a file of ours, replacing a file or link that is there; its directory exists.
fn write_injected(target: &Path, file: &InjectedFile) -> io::Result<()> {
    match fs::symlink_metadata(target) {
        Ok(meta) if meta.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        Ok(_) => fs::remove_file(target)?,
        Err(_) => {}
    }
    let mut out = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(target)?;
    out.write_all(&file.bytes)?;
    Ok(rustix::fs::fchmod(&out, Mode::from_raw_mode(file.mode & 0o7777))?)
}

/// Puts a file of ours into the copy, replacing whatever is there; never through a link.
pub(super) fn write_into(mount: &Path, file: &InjectedFile) -> io::Result<()> {
    if file.path.components().any(|part| !matches!(part, Component::Normal(_))) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a path below the root"));
    }
    let mut dir = mount.to_path_buf();
    for part in file.path.parent().into_iter().flat_map(Path::components) {
        dir.push(part);
        match fs::symlink_metadata(&dir) {
            Ok(meta) if meta.is_dir() => continue,
            Ok(_) => fs::remove_file(&dir)?,
            Err(_) => {}
        }
        fs::create_dir(&dir)?;
    }
    write_injected(&mount.join(&file.path), file)
}

fn take_attributes(from: &Path, to: &Path, stat: &Stat) -> io::Result<()> {
    copy_xattrs(from, to);
    // Deeper than the probe looks, directories may belong to other users; then the mirrored one stays ours.
    let _ = chownat(
        CWD,
        to,
        Some(Uid::from_raw(stat.st_uid)),
        Some(Gid::from_raw(stat.st_gid)),
        AtFlags::SYMLINK_NOFOLLOW,
    );
    // Accessible to us until it is filled: the original's mode may deny access to its owner.
    Ok(chmodat(CWD, to, Mode::from_raw_mode(stat.st_mode) | Mode::RWXU, AtFlags::empty())?)
}

/// Copies access lists and labels, as far as we may set them.
fn copy_xattrs(from: &Path, to: &Path) {
    let mut names = Vec::with_capacity(4096);
    let mut value = Vec::with_capacity(64 * 1024);
    if llistxattr(from, rustix::buffer::spare_capacity(&mut names)).is_err() {
        return;
    }
    for name in names.split(|&byte| byte == 0).filter(|name| !name.is_empty()) {
        if name.starts_with(b"trusted.overlay.") || name.starts_with(b"user.overlay.") {
            continue;
        }
        value.clear();
        if lgetxattr(from, name, rustix::buffer::spare_capacity(&mut value)).is_ok() {
            let _ = lsetxattr(to, name, &value, XattrFlags::empty());
        }
    }
}

fn times_of(stat: &Stat) -> Timestamps {
    let time = |seconds: i64, nanos: u64| Timespec { tv_sec: seconds, tv_nsec: nanos.cast_signed() };
    Timestamps {
        last_access: time(stat.st_atime, stat.st_atime_nsec),
        last_modification: time(stat.st_mtime, stat.st_mtime_nsec),
    }
}

#[cfg(test)]
#[path = "inject_tests.rs"]
mod tests;
