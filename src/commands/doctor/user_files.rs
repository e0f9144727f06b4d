//! The user's environment and login files, for the login checks of the harnesses.

use crate::files::regular;
use crate::harness::UserFiles;
use crate::host::Host;
use std::path::{Path, PathBuf};

/// Login files are small; a larger file is something else.
const MOST_BYTES: u64 = 4 * 1024 * 1024;

pub struct HostFiles<'a>(pub &'a Host);

impl UserFiles for HostFiles<'_> {
    fn var(&self, name: &str) -> Option<&str> {
        self.0.var(name)
    }

    fn home(&self) -> PathBuf {
        self.0.home_dir().unwrap_or_default()
    }

    fn path_in_var(&self, name: &str) -> Option<PathBuf> {
        self.0.var(name).map(|path| self.0.absolute(&self.0.expand_tilde(path)))
    }

    fn now(&self) -> i64 {
        self.0.now().as_millisecond()
    }

    fn read(&self, path: &Path) -> Result<Option<String>, String> {
        let cannot = |why: String| format!("{} cannot be read: {why}", path.display());
        match regular::read(path, MOST_BYTES) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(cannot(error.to_string())),
            Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(|error| cannot(error.to_string())),
        }
    }
}
