//! Locks on directories: two runs of this program never edit files in the same directory at once.

use super::error::{FilesError, cannot_write};
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Held until dropped. The lock is on the directory itself, so no lock file is left behind in a repository.
#[must_use]
pub struct DirectoryLocks {
    _held: Vec<File>,
}

/// Makes these directories where they are missing, and waits until this process alone may edit in them.
pub fn directories(dirs: &[&Path]) -> Result<DirectoryLocks, FilesError> {
    // The same order for everybody, or two processes could deadlock.
    let mut sorted: Vec<PathBuf> = dirs.iter().map(|dir| dir.to_path_buf()).collect();
    sorted.sort();
    sorted.dedup();
    let lock = |dir: &PathBuf| lock(dir).map_err(|error| cannot_write(dir, error));
    Ok(DirectoryLocks { _held: sorted.iter().map(lock).collect::<Result<_, _>>()? })
}

fn lock(dir: &Path) -> std::io::Result<File> {
    loop {
        std::fs::create_dir_all(dir)?;
        let file = File::open(dir)?;
        file.lock()?;
        // The previous holder may have replaced the directory: then the new one has to be locked.
        let (held, there) = (file.metadata()?, std::fs::metadata(dir));
        if there.is_ok_and(|there| (there.dev(), there.ino()) == (held.dev(), held.ino())) {
            return Ok(file);
        }
    }
}
