//! Why a pack is not fetched, read or installed. It holds data; exit codes and hints are chosen in `commands::explain`.

use crate::load::file::FileProblem;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum PackError {
    #[error("`{}` is not a pack source", .0.escape_debug())]
    InvalidSource(String),
    #[error("`{0}` is not an npm package")]
    InvalidPackage(String),
    #[error("`{0}` is neither a local path nor an npm package")]
    UnknownSource(String),
    #[error("no pack at {}", path.display())]
    NotFound { path: PathBuf, source: std::io::Error },
    /// The causes are texts, because passwords are taken out of them.
    #[error("{shown} is not installed")]
    Fetch { shown: String, reason: FetchFailure, causes: Vec<String> },
    #[error("{} cannot be read", path.display())]
    InvalidLock { path: PathBuf, reason: String },
    #[error("the pack is invalid; nothing was written")]
    Invalid { problems: Vec<FileProblem>, reason: Option<InvalidPack> },
    #[error("no persona files in {}", .dir.as_ref().map_or("the pack".to_owned(), |dir| format!("`{dir}` of the pack")))]
    NoPersonas { dir: Option<String> },
    #[error("the pack has no persona {}", quoted(missing))]
    UnknownPersonas { missing: Vec<String>, available: Vec<String> },
    #[error("{} was changed by another process meanwhile", .0.display())]
    ChangedMeanwhile(PathBuf),
}

/// What is known about a failed fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FetchFailure {
    TimedOut,
    /// git or npm is not installed.
    MissingProgram,
    /// The file is not an archive, so perhaps another kind of source was meant.
    NotAnArchive,
    Other,
}

/// A reason for which a whole pack is invalid that calls for a hint of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidPack {
    /// The directory of personas that the manifest names does not exist.
    PersonaDirectory,
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
