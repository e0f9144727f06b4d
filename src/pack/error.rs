//! Why a pack is not fetched, read or installed. Plain data: exit codes and hints are chosen in `commands::explain`.

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
    /// The causes are texts without passwords.
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
    /// The file is not an archive, so the user may have meant another kind of source.
    NotAnArchive,
    Other,
}

/// Why a whole pack is invalid, where that has its own hint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidPack {
    /// The directory of personas that the manifest names does not exist.
    PersonaDirectory,
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
