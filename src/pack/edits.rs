//! Files to write and to remove, and how a single one is written or removed. All-or-nothing is the job of `apply`.

use super::contents::ROLES_PREFIX;
use super::tree::File;
use crate::files::atomic::{self, FileMode};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Paths are relative to one directory.
#[derive(Debug, Default)]
pub struct Edits {
    pub writes: BTreeMap<String, File>,
    pub removes: Vec<String>,
}

impl Edits {
    /// The edits in the directory of roles, and all others.
    pub fn split_roles(self) -> (Edits, Edits) {
        let is_role = |path: &String| path.starts_with(ROLES_PREFIX);
        let (role_writes, writes) = self.writes.into_iter().partition(|(path, _)| is_role(path));
        let (role_removes, removes) = self.removes.into_iter().partition(is_role);
        (Edits { writes: role_writes, removes: role_removes }, Edits { writes, removes })
    }

    pub fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.removes.is_empty()
    }

    pub fn len(&self) -> usize {
        self.writes.len() + self.removes.len()
    }
}

/// Replaces a file in one step. A link at its place is replaced, never followed.
pub fn replace(path: &Path, file: &File) -> io::Result<()> {
    atomic::write(path, &file.bytes, FileMode::Public { executable: file.executable })
}

/// Creates a file in a directory that nobody else uses yet; it need not be on disk when this returns.
pub fn create(path: &Path, file: &File) -> io::Result<()> {
    let mode = if file.executable { 0o755 } else { 0o644 };
    let mut out = std::fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    out.write_all(&file.bytes)
}

/// Removes a file and the directories that are empty without it. A missing file is fine.
pub fn remove(dir: &Path, path: &str) -> io::Result<()> {
    let place = dir.join(path);
    match std::fs::remove_file(&place) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut parent = place.parent();
    while let Some(empty) = parent.filter(|parent| *parent != dir) {
        if std::fs::remove_dir(empty).is_err() {
            break;
        }
        parent = empty.parent();
    }
    Ok(())
}
