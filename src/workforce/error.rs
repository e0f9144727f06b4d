//! Why the workforce of this place cannot answer. Exit codes and hints are chosen in `commands::explain`.

use super::deleted::Deleted;
use crate::load::file::FileProblem;
use crate::model::features::FeatureError;
use std::path::PathBuf;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkforceError {
    #[error("persona `{name}` is ambiguous")]
    Ambiguous {
        name: String,
        /// The ids that differ only in case inside one layer.
        ids: Vec<String>,
        files: Vec<PathBuf>,
    },
    #[error("{} personas are named `{name}`", ids.len())]
    SharedName {
        name: String,
        /// The ids of all of them.
        ids: Vec<String>,
    },
    #[error("there is no persona `{name}`")]
    NoSuchPersona {
        name: String,
        /// Ids that look like the name, nearest first.
        nearest: Vec<String>,
        /// The persona that had this id until it was deleted.
        deleted: Option<Box<Deleted>>,
        /// Files that cannot be used: it may be in one of them.
        broken: Vec<FileProblem>,
    },
    #[error("persona `{name}` is not valid")]
    InvalidPersona { name: String, problems: Vec<FileProblem> },
    #[error("{error}")]
    Feature { config: PathBuf, error: FeatureError },
}
