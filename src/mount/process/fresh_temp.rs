//! The temporary directories of a run at the sandbox level `strict`: created for it and removed after it.
//! The helper decides where they appear inside.

use crate::mount::fs::cleanup::remove_tree;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Stand-ins for `/tmp` and `/var/tmp`, below the directory of a run: each has the directories of an overlay.
pub(super) const NAMES: [&str; 2] = ["tmp", "var-tmp"];
/// The directories of such an overlay: the lower one stays empty.
pub(super) const LOWER: &str = "lower";
pub(super) const UPPER: &str = "upper";
pub(super) const WORK: &str = "work";

/// The directory of one run, removed with the value.
#[derive(Debug)]
pub(super) struct FreshTemp {
    pub(super) dir: PathBuf,
    is_kept: bool,
}

impl FreshTemp {
    /// A new directory below `parent`, which need not exist. What an earlier run left behind is never reused.
    pub(super) fn make(parent: &Path) -> io::Result<FreshTemp> {
        let private = |recursive| {
            let mut builder = DirBuilder::new();
            builder.mode(0o700).recursive(recursive);
            builder
        };
        private(true).create(parent)?;
        let mut number = 0_u32;
        let dir = loop {
            let dir = parent.join(number.to_string());
            match private(false).create(&dir) {
                Ok(()) => break dir,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(error),
            }
        };
        let fresh = FreshTemp { dir, is_kept: false };
        for name in NAMES {
            let path = fresh.dir.join(name);
            for name in [LOWER, UPPER, WORK] {
                private(true).create(path.join(name))?;
            }
            // The directories above it are closed to everybody else.
            fs::set_permissions(path.join(UPPER), Permissions::from_mode(0o1777))?;
        }
        Ok(fresh)
    }

    /// It is still in use and will be removed with the session.
    pub(super) fn keep(&mut self) {
        self.is_kept = true;
    }
}

impl Drop for FreshTemp {
    fn drop(&mut self) {
        if !self.is_kept {
            // What cannot be removed now is removed with the session.
            let _ = remove_tree(&self.dir);
            let _ = self.dir.parent().map(fs::remove_dir);
        }
    }
}
