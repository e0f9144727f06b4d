//! Keeps our home to its owner: made closed before anything is written to it, and closed where it was open to others. It says nothing
//! about what is in it.

use rustix::fs::{Mode, OFlags};
use std::fs::{DirBuilder, File, Permissions};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Closes a home of ours that others may enter, and the directory above it to those who could replace it. What is not ours, or a
/// link, is left alone; so is what cannot be changed.
pub fn mend(home: &Path) {
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

/// A home that is there as long as this is, and stays if something was written to it.
#[must_use]
pub struct PrivateHome {
    /// What was missing, the innermost first.
    made: Vec<PathBuf>,
}

impl PrivateHome {
    /// Whoever writes to the home finds it there. Where it cannot be made, the writer says why.
    pub fn make(home: &Path) -> PrivateHome {
        let missing = home.ancestors().take_while(|dir| dir.symlink_metadata().is_err());
        let made = missing.map(Path::to_owned).collect();
        let _ = DirBuilder::new().recursive(true).mode(0o700).create(home);
        PrivateHome { made }
    }
}

impl Drop for PrivateHome {
    fn drop(&mut self) {
        for dir in &self.made {
            // Only where it is empty.
            let _ = std::fs::remove_dir(dir);
        }
    }
}
