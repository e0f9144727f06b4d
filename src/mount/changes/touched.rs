//! Paths of a mount that may differ from the base, before anything is judged.

use crate::mount::changes::compare::After;
use crate::rules::layer::folded;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// One path that may differ from the base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Touched {
    pub(crate) path: PathBuf,
    pub(crate) after: After,
}

/// What a backend's directory shows, unjudged.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) touched: Vec<Touched>,
    pub(crate) unreadable: Vec<PathBuf>,
    pub(crate) git_paths: u64,
    /// Every `.git` that the agent's side has.
    pub(crate) git_entries: Vec<PathBuf>,
}

impl Found {
    pub(super) fn deleted(&mut self, path: &Path) {
        self.touched.push(Touched { path: path.to_owned(), after: After::Absent });
    }

    /// The result of reading the directory `path`; `None` if that is not permitted, which is recorded. The agent may have made it
    /// listable but not searchable; at the root, that is an error.
    pub(super) fn unless_closed<T>(&mut self, path: &Path, looked: io::Result<T>) -> io::Result<Option<T>> {
        match looked {
            Ok(seen) => Ok(Some(seen)),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && !path.as_os_str().is_empty() => {
                self.unreadable.push(path.to_owned());
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// `.git` in any spelling: a case-insensitive filesystem takes `.GIT/hooks` for the real one.
pub(crate) fn is_git_name(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case(".git") || (!name.is_ascii() && *folded(name) == *b".git")
}
