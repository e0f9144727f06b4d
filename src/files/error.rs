//! Why one of our own files cannot be changed. Exit codes and hints are chosen in `commands::explain`.

use crate::model::file_problem::FileProblem;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    #[error("{} cannot be written", .path.display())]
    CannotWrite {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    /// A file that cannot be understood is never overwritten.
    #[error("{} cannot be edited", .path.display())]
    CannotEdit { path: PathBuf, problem: FileProblem },
}

pub fn cannot_write(path: &Path, error: io::Error) -> FilesError {
    FilesError::CannotWrite { path: path.to_owned(), error }
}
