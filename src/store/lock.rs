//! Locks on directories: two runs of this program never edit files in the same directory at once.

use crate::error::{CommandError, Result};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Held until dropped. The lock is on the directory itself, so no lock file is left lying in anybody's repository.
#[must_use]
pub struct DirectoryLocks {
    _held: Vec<File>,
}

/// Makes these directories where they are missing, and waits until this process alone may edit in them.
pub fn directories(dirs: &[&Path]) -> Result<DirectoryLocks> {
    // One order for everybody, or two processes could wait for each other for ever.
    let mut sorted: Vec<PathBuf> = dirs.iter().map(|dir| dir.to_path_buf()).collect();
    sorted.sort();
    sorted.dedup();
    let lock = |dir: &PathBuf| -> Result<File> {
        std::fs::create_dir_all(dir).map_err(|error| cannot_write(dir, &error))?;
        let file = File::open(dir).map_err(|error| cannot_write(dir, &error))?;
        file.lock().map_err(|error| cannot_write(dir, &error))?;
        Ok(file)
    };
    Ok(DirectoryLocks { _held: sorted.iter().map(lock).collect::<Result<_>>()? })
}

/// The error for a place that cannot be written, with what usually helps.
pub fn cannot_write(path: &Path, error: &std::io::Error) -> CommandError {
    CommandError::usage(format!("{} cannot be written", path.display()))
        .caused_by(error)
        .hint("check its permissions, or choose another home with `AGENT_WORKFORCE_HOME`")
}
