//! Why a mount cannot be made, or a command cannot be run in it. `commands::explain` chooses exit codes and hints.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum MountError {
    #[error("`{}` cannot be mounted", .root.display())]
    UnreadableRoot {
        root: PathBuf,
        #[source]
        error: io::Error,
    },
    #[error("`{}` cannot be mounted: it is not a directory", .root.display())]
    NotADirectory { root: PathBuf },
    #[error("`{}` cannot be mounted: {reason}", .root.display())]
    RefusedRoot { root: PathBuf, reason: RootRefusal },
    #[error("the project cannot be overlaid: {reason}")]
    NoOverlay { reason: String },
    #[error("the requested sandbox level is unavailable: {reason}")]
    NoSandbox { reason: String },
    #[error("the limits of the run cannot be set: {reason}")]
    NoLimits { reason: String },
    #[error("{origin}: {message}")]
    InvalidRule { origin: String, message: String },
    #[error("include pattern `{pattern}` is not valid")]
    InvalidInclude {
        pattern: String,
        #[source]
        error: ignore::Error,
    },
    #[error("the state of the project at launch was not recorded")]
    NoBase,
    #[error("without a mount there is no view of the project at launch")]
    NoView,
    #[error("`{}` is not a path of the project", .path.display())]
    NotAProjectPath { path: PathBuf },
    /// Its state at launch no longer exists anywhere.
    #[error("`{}` was changed in the project since the run started", .path.display())]
    ChangedSinceLaunch { path: PathBuf },
    #[error("`{}` cannot be put back: a directory above it is a file or link in the mount", .path.display())]
    BlockedPath { path: PathBuf },
    /// The project has changed since it was applied or undone.
    #[error("`{}` cannot be brought back: {why}, and would not be applied now; nothing was changed", .path.display())]
    RefusedNow { path: PathBuf, why: String },
    /// A continued session would work in a different directory.
    #[error("`{}` is a link in the mount of the session: the agent put it in the place of the directory that it worked in", .path.display())]
    ReplacedWorkdir { path: PathBuf },
    #[error("the injected file `{}` is not available any more", .path.display())]
    InjectedFileLost { path: PathBuf },
    /// One of our records was written or changed by somebody else.
    #[error("`{}` is not trusted: {reason}; nothing was changed", .path.display())]
    UntrustedRecord { path: PathBuf, reason: String },
    #[error("interrupted before anything was started")]
    Interrupted { signal: i32 },
    /// A process outside holds a descriptor and is writing through it.
    #[error("everything inside has ended, but another process can still change its work: {reason}")]
    StillOpen { reason: String },
    /// It may still write, so its work cannot be reviewed.
    #[error("something inside the mount cannot be ended, so nothing is applied; the work is held")]
    NotEnded { timed_out: bool },
    #[error("stopped by a signal")]
    Stopped { signal: i32 },
    #[error("`{program}` was not found")]
    ProgramNotFound { program: String },
    #[error("`{program}` cannot be executed")]
    ProgramNotExecutable { program: String, reason: String },
    #[error("the mount cannot be made")]
    CannotMount { reason: String },
}

/// Why a directory is never mounted as a project.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RootRefusal {
    #[error("it is the root of the filesystem")]
    FilesystemRoot,
    #[error("it is the home directory")]
    Home,
    #[error("it contains the home directory")]
    AboveHome,
    #[error("it contains our own state directory `{}`", .state.display())]
    AboveState { state: PathBuf },
    #[error("it is inside a session of ours")]
    InsideSession,
}
