//! Keeps protected directories where they are: nothing inside can rename or remove one, or a directory above it, and make
//! another one in its place. What is in them is protected elsewhere.

use super::binds::pin;
use rustix::fs::{Access, AtFlags, CWD, accessat, statat};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// Turns the directories above these into mount points, where they could be renamed: the kernel never renames a mount point.
/// The directories themselves become mount points when they are overlaid or protected.
pub(super) fn pin_above<'a>(protected: impl Iterator<Item = &'a Path>) -> Result<(), (PathBuf, io::Error)> {
    // From the top down: a pin copies the mounts below it, so bottom-up each pin would double the earlier ones.
    let mut above = BTreeSet::new();
    for path in protected {
        // A link on the way cannot be pinned. The runner compares what is at the path afterwards.
        let real = path.canonicalize().map_err(|error| (path.to_path_buf(), error))?;
        above.extend(real.ancestors().skip(1).filter(|dir| can_be_renamed(dir)).map(Path::to_path_buf));
    }
    for dir in above {
        pin(&dir).map_err(|error| (dir, error))?;
    }
    Ok(())
}

/// Whether a process with our privileges could rename it. A read-only directory of ours counts too, because its owner may change its mode.
fn can_be_renamed(dir: &Path) -> bool {
    let is_ours = |dir: &Path| {
        statat(CWD, dir, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| stat.st_uid == rustix::process::geteuid().as_raw())
    };
    let is_writable = |dir: &Path| accessat(CWD, dir, Access::WRITE_OK, AtFlags::EACCESS).is_ok();
    dir.parent().is_some_and(|parent| is_ours(parent) || is_writable(parent))
}
