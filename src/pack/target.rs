//! The directories that packs are installed to, and what is there now. Never follows a link.

use super::contents::ROLES_PREFIX;
use super::decide::OnDisk;
use super::limits::MAX_BYTES;
use super::lockfile;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone)]
pub struct Target {
    pub personas: PathBuf,
    pub roles: PathBuf,
    /// Relative sources in the lock start here.
    pub base: PathBuf,
}

impl Target {
    /// The directory of a path of a pack, and the path in it.
    pub fn split<'p>(&self, path: &'p str) -> (&Path, &'p str) {
        match path.strip_prefix(ROLES_PREFIX) {
            Some(inside) => (&self.roles, inside),
            None => (&self.personas, path),
        }
    }

    /// The directory of personas for messages, with its real path where it is a link.
    pub fn display(&self) -> String {
        let shown = self.personas.display();
        match self.personas.canonicalize() {
            Ok(real) if real != self.personas => format!("{shown} (really {})", real.display()),
            _ => shown.to_string(),
        }
    }

    pub fn path(&self, path: &str) -> PathBuf {
        let (dir, inside) = self.split(path);
        dir.join(inside)
    }

    pub fn on_disk(&self, path: &str) -> OnDisk {
        let (dir, inside) = self.split(path);
        let mut at = dir.to_owned();
        let parts: Vec<&str> = inside.split('/').collect();
        for (index, part) in parts.iter().enumerate() {
            at.push(part);
            let is_last = index + 1 == parts.len();
            match at.symlink_metadata() {
                Ok(found) if !is_last && found.is_dir() => {}
                Ok(found) if is_last && found.is_file() => {
                    // No file of a pack is that large.
                    let bytes = if found.len() > MAX_BYTES { None } else { std::fs::read(&at).ok() };
                    let executable = found.permissions().mode() & 0o111 != 0;
                    let file = bytes.map(|bytes| OnDisk::File(lockfile::fingerprint(&bytes, executable)));
                    return file.unwrap_or(OnDisk::Other);
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => return OnDisk::Missing,
                Ok(_) | Err(_) => return OnDisk::Other,
            }
        }
        OnDisk::Other
    }

    /// The part of a path that is not a regular file or directory as expected, and what it is.
    pub fn obstacle(&self, path: &str) -> Option<(PathBuf, &'static str)> {
        let (dir, inside) = self.split(path);
        let mut at = dir.to_owned();
        let parts: Vec<&str> = inside.split('/').collect();
        for (index, part) in parts.iter().enumerate() {
            at.push(part);
            let found = at.symlink_metadata().ok()?;
            let is_last = index + 1 == parts.len();
            let what = match found.file_type() {
                kind if kind.is_symlink() => "a symbolic link",
                kind if kind.is_dir() && is_last => "a directory",
                kind if kind.is_dir() => continue,
                kind if kind.is_file() && is_last => "too large or unreadable",
                kind if kind.is_file() => "a file where a directory belongs",
                _ => "neither a file nor a directory",
            };
            return Some((at, what));
        }
        None
    }

    /// The text at a path, for a diff.
    pub fn text(&self, path: &str) -> String {
        match self.on_disk(path) {
            OnDisk::File(_) => {
                std::fs::read(self.path(path)).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            }
            _ => Ok(String::new()),
        }
        .unwrap_or_default()
    }
}
