//! Why the layers cannot be read at all. Problems of single files are `FileProblem`s.

use crate::files::owned::NotOurs;
use crate::model::plan::PersonaRef;
use crate::tool::ToolError;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("personas of a git ref need a git repository")]
    NotARepository { dir: PathBuf },
    #[error("personas of a git ref need a git repository")]
    BrokenRepository { complaint: String },
    #[error("personas of a git ref need a project: the repository is the home directory")]
    HomeIsTheRepository,
    #[error("git does not trust this repository")]
    UntrustedRepository { complaint: String },
    #[error("`{reference}` is not a commit")]
    NotACommit { reference: String },
    #[error("`{reference}` names more than one commit in this repository")]
    AmbiguousCommit { reference: String },
    #[error("there is no commit `{reference}` in this repository")]
    NoSuchCommit { reference: String, complaint: String },
    #[error("personas of a git ref need git, which is not on the PATH")]
    NoGit,
    #[error("the personas of the git ref cannot be read")]
    Git(#[source] ToolError),
    #[error("{reference} cannot be read")]
    UnreadableCommit { reference: PersonaRef, complaint: String },
    #[error("{} is outside the repository that the personas are read from", .dir.display())]
    OutsideRepository { dir: PathBuf, top: PathBuf },
    #[error("the project layer of {reference} is larger than {most_megabytes} MB")]
    LayerTooLarge { reference: PersonaRef, most_megabytes: u64 },
    #[error("{} is not in this clone", .path.display())]
    MissingObject { path: PathBuf },
    #[error("{} is not used as the workforce home", .home.display())]
    HomeOfOthers { home: PathBuf, reason: NotOurs },
}
