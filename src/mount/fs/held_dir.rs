//! A directory that must stay where it was found: held open, and compared later with what is at its path. Its content is not touched.

use rustix::fs::{CWD, Mode, OFlags, fstat, openat, stat};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub struct HeldDir {
    /// While it is open, no other directory can get its inode number.
    fd: OwnedFd,
    path: PathBuf,
}

impl HeldDir {
    pub fn open(path: &Path) -> io::Result<HeldDir> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(HeldDir { fd: openat(CWD, path, flags, Mode::empty())?, path: path.to_path_buf() })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the path still leads to it.
    pub fn is_in_place(&self) -> bool {
        match (fstat(&self.fd), stat(&self.path)) {
            (Ok(held), Ok(found)) => (held.st_dev, held.st_ino) == (found.st_dev, found.st_ino),
            _ => false,
        }
    }

    /// Where it is now, as far as the kernel can tell.
    pub fn place_now(&self) -> Option<PathBuf> {
        let place = std::fs::read_link(format!("/proc/self/fd/{}", self.fd.as_raw_fd())).ok()?;
        place.is_dir().then_some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_directory_that_was_moved_or_replaced_is_not_in_place() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().canonicalize().unwrap().join(name);
        fs::create_dir_all(at("above/held")).unwrap();
        let held = HeldDir::open(&at("above/held")).unwrap();
        assert!(held.is_in_place());
        fs::rename(at("above"), at("moved")).unwrap();
        assert!(!held.is_in_place());
        assert_eq!(held.place_now(), Some(at("moved/held")));
        fs::create_dir_all(at("above/held")).unwrap();
        assert!(!held.is_in_place());
        fs::remove_dir_all(at("above")).unwrap();
        fs::rename(at("moved"), at("above")).unwrap();
        assert!(held.is_in_place());
    }
}
