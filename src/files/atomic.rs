//! The one way to replace a file of ours: a reader sees the old file or the new one, never half of it, whatever
//! happens in between. Locks are in `lock`; this does not wait for anybody.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// The permissions of the new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileMode {
    /// 0600: sessions, records, journals.
    Private,
    /// Those of the file that is replaced, 0644 for a new one: files that users edit too.
    Keep,
    /// 0644, or 0755 for an executable file: what packs install.
    Public { executable: bool },
}

/// Replaces a file in one step: written to a temporary file beside it, synced, renamed, and the directory synced.
/// After it returns, the new content survives a power failure. A symbolic link is replaced, not followed.
pub fn write(path: &Path, bytes: &[u8], mode: FileMode) -> io::Result<()> {
    stage(path, bytes, mode)?.commit()
}

/// The same without syncing, for what can be made again (caches): the file is whole or absent after a crash of this
/// process, but may be lost in a power failure.
pub fn write_cache(path: &Path, bytes: &[u8], mode: FileMode) -> io::Result<()> {
    temporary_beside(path, bytes, mode)?.persist(path)?;
    Ok(())
}

/// Writes and syncs the new content beside the file, so that several files can be committed together when all of them
/// could be written. Dropping it leaves the old file alone.
pub fn stage(path: &Path, bytes: &[u8], mode: FileMode) -> io::Result<Staged> {
    let temporary = temporary_beside(path, bytes, mode)?;
    temporary.as_file().sync_all()?;
    Ok(Staged { temporary, target: path.to_owned() })
}

/// A file that is written and safe on disk, but not yet in its place.
#[must_use]
pub struct Staged {
    temporary: NamedTempFile,
    target: PathBuf,
}

impl Staged {
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Puts the file into its place in one step.
    pub fn commit(self) -> io::Result<()> {
        self.temporary.persist(&self.target)?;
        sync_parent(&self.target);
        Ok(())
    }

    /// The same, unless there is a file already: then it fails with `AlreadyExists`.
    pub fn commit_new(self) -> io::Result<()> {
        self.temporary.persist_noclobber(&self.target)?;
        sync_parent(&self.target);
        Ok(())
    }
}

/// The rename itself must reach the disk too. Some filesystems cannot sync a directory, and need not.
fn sync_parent(path: &Path) {
    if let Ok(dir) = File::open(parent(path)) {
        let _ = dir.sync_all();
    }
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn temporary_beside(path: &Path, bytes: &[u8], mode: FileMode) -> io::Result<NamedTempFile> {
    let mut temporary = tempfile::Builder::new().prefix(".agentworkforce-").tempfile_in(parent(path))?;
    temporary.write_all(bytes)?;
    let permissions = match (mode, path.metadata()) {
        // A temporary file is made with 0600.
        (FileMode::Private, _) => return Ok(temporary),
        (FileMode::Keep, Ok(metadata)) => metadata.permissions(),
        (FileMode::Public { executable: true }, _) => PermissionsExt::from_mode(0o755),
        (FileMode::Keep | FileMode::Public { .. }, _) => PermissionsExt::from_mode(0o644),
    };
    temporary.as_file().set_permissions(permissions)?;
    Ok(temporary)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode_of(path: &Path) -> u32 {
        path.metadata().expect("it was written").permissions().mode() & 0o777
    }

    #[test]
    fn the_mode_is_kept_or_private() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        write(&path, b"one", FileMode::Keep).unwrap();
        assert_eq!(mode_of(&path), 0o644);
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
        write(&path, b"two", FileMode::Keep).unwrap();
        assert_eq!((mode_of(&path), std::fs::read(&path).unwrap()), (0o640, b"two".to_vec()));
        write_cache(&path, b"three", FileMode::Private).unwrap();
        assert_eq!((mode_of(&path), std::fs::read(&path).unwrap()), (0o600, b"three".to_vec()));
    }

    #[test]
    fn a_staged_file_that_is_dropped_leaves_nothing_and_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        write(&path, b"one", FileMode::Private).unwrap();
        drop(stage(&path, b"two", FileMode::Private).unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), b"one");
        let taken = stage(&path, b"two", FileMode::Private).unwrap().commit_new();
        assert_eq!(taken.unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
