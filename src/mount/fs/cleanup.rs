//! Removes what a mount leaves behind on disk. It never touches the project.

use crate::mount::fs::tree::{Tree, remove_all};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Removes a session directory that contained mounts or copies, whatever modes an agent left in it and however deep it is.
pub fn remove_tree(dir: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (dir.parent(), dir.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    match Tree::open(parent) {
        Ok(parent) => remove_all(parent.fd(), name),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Makes accessible the directories that the kernel creates with mode 000 in an overlay's work directory: only root could
/// remove them otherwise.
pub fn unlock_work_dirs(dir: &Path) {
    unlock_below(&dir.join("work"));
}

fn unlock_below(dir: &Path) {
    let mut waiting: Vec<PathBuf> = vec![dir.to_path_buf()];
    while let Some(dir) = waiting.pop() {
        let Ok(meta) = fs::symlink_metadata(&dir) else { continue };
        if !meta.is_dir() {
            continue;
        }
        if meta.permissions().mode() & 0o700 != 0o700 {
            // If this fails, the removal that follows reports it.
            let _ = fs::set_permissions(&dir, fs::Permissions::from_mode(0o700));
        }
        let below = fs::read_dir(&dir).into_iter().flatten().flatten();
        waiting.extend(
            below.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locked_directories_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let work = dir.path().join("session/work");
        fs::create_dir_all(work.join("work/inner")).unwrap();
        fs::set_permissions(work.join("work"), fs::Permissions::from_mode(0o000)).unwrap();
        remove_tree(&dir.path().join("session")).unwrap();
        assert!(!dir.path().join("session").exists());
        remove_tree(&dir.path().join("session")).unwrap();
    }
}
