//! Keeps our home to its owner: made closed before anything is written to it, and closed where it was open to others. It says nothing
//! about what is in it.

use rustix::fs::{Mode, OFlags};
use std::fs::{DirBuilder, File, Permissions};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Closes a home of ours that others may enter, and the directory above it to those who could replace it. What is not ours, or a
/// link, is left alone; so is what cannot be changed.
pub fn close_to_others(home: &Path) {
    close(home, 0o077);
    if let Some(above) = home.parent() {
        close(above, 0o022);
    }
}

fn close(dir: &Path, to: u32) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(dir) = rustix::fs::open(dir, flags, Mode::empty()).map(File::from) else { return };
    let Ok(found) = dir.metadata() else { return };
    let mode = found.mode() & 0o7777;
    if found.uid() == rustix::process::geteuid().as_raw() && mode & to != 0 {
        let _ = dir.set_permissions(Permissions::from_mode(mode & !to));
    }
}

/// A home that is closed to others when this goes, if it was made in the meantime.
#[must_use]
pub struct PrivateHome {
    /// What was missing, the innermost first.
    missing: Vec<PathBuf>,
}

impl PrivateHome {
    /// Whoever makes the home, it is closed in the end.
    pub fn watch(home: &Path) -> PrivateHome {
        let missing = home.ancestors().take_while(|dir| dir.symlink_metadata().is_err());
        PrivateHome { missing: missing.map(Path::to_owned).collect() }
    }

    /// Makes it, so that a writer finds it closed from the start; it goes again if nothing is written. Where it cannot be made, the
    /// writer says why.
    pub fn make(home: &Path) -> PrivateHome {
        let watched = PrivateHome::watch(home);
        let _ = DirBuilder::new().recursive(true).mode(0o700).create(home);
        watched
    }
}

impl Drop for PrivateHome {
    fn drop(&mut self) {
        for dir in &self.missing {
            // Only where it is empty.
            if std::fs::remove_dir(dir).is_err() {
                close(dir, 0o077);
            }
        }
    }
}
