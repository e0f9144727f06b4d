//! Covers harness configuration in the directories above the project: whoever wrote it, an earlier agent or another user, could make
//! the harness start programs. The caller decides which paths these are.

use super::binds::{hold, mount_memory, put};
use crate::model::raw_path::RawPath;
use rustix::mount::{MountFlags, UnmountFlags, unmount};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Empty configuration, for harnesses that expect a JSON file.
const NOTHING: &str = "{}\n";

/// Replaces directories and files by empty ones. `scratch` is a directory that is covered for a moment.
pub(super) fn cover(paths: &[RawPath], scratch: &Path) -> Result<(), (PathBuf, io::Error)> {
    if paths.is_empty() {
        return Ok(());
    }
    let nothing = nothing(scratch).map_err(|error| (scratch.to_path_buf(), error))?;
    for path in paths {
        let covered = match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => mount_memory(path, 0o555, MountFlags::NOEXEC),
            Ok(_) => hold(&nothing).and_then(|tree| put(&tree, path)),
            Err(error) => Err(error),
        };
        match covered {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err((path.to_path_buf(), error)),
            _ => {}
        }
    }
    unmount(scratch, UnmountFlags::DETACH).map_err(|errno| (scratch.to_path_buf(), errno.into()))
}

/// A file in memory.
fn nothing(scratch: &Path) -> io::Result<PathBuf> {
    mount_memory(scratch, 0o755, MountFlags::NOEXEC)?;
    let file = scratch.join("nothing");
    fs::write(&file, NOTHING)?;
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444))?;
    Ok(file)
}
