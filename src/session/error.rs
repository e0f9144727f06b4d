//! Why a session cannot be found or used. Exit codes and hints are chosen in `commands::explain`.

use super::id::SessionId;
use super::status::SessionState;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error("there is no session `{wanted}`")]
    NotFound { wanted: String },
    #[error("no session was started in this project")]
    NoLast {
        /// The last one of any project.
        elsewhere: Option<String>,
    },
    #[error("`{wanted}` could be {} sessions", .ids.len())]
    Ambiguous {
        wanted: String,
        /// The one that was used last first.
        ids: Vec<SessionId>,
    },
    #[error("session `{id}` is in use")]
    InUse { id: SessionId },
    #[error("session `{id}` {}; its files are no longer kept", settled(*.state))]
    NoMount { id: SessionId, state: SessionState },
    #[error("session `{id}` is not running: its state is `{}`", .state.text())]
    NotRunning { id: SessionId, state: SessionState },
    /// Something has it, but no run that could be told to end.
    #[error("session `{id}` is in use by a process that is not its runner")]
    NoRunner { id: SessionId },
    #[error("the work of session `{id}` is not approved: {verdict}")]
    NotApproved { id: SessionId, verdict: &'static str },
    /// Without the rules a secret could be taken for an ordinary file.
    #[error("{} is missing", .path.display())]
    RulesMissing {
        path: PathBuf,
        /// Where the agent's work is.
        data: PathBuf,
    },
    #[error("{}: {error}", .path.display())]
    Unusable { path: PathBuf, error: io::Error },
}

/// What became of the work of a session without a mount.
fn settled(state: SessionState) -> &'static str {
    match state {
        SessionState::Applied => "is already applied",
        SessionState::Undone => "was undone",
        SessionState::Discarded => "was discarded",
        SessionState::Nothing => "had no changes",
        SessionState::Opening | SessionState::Running | SessionState::Held | SessionState::Interrupted => {
            "has no mount"
        }
    }
}

pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> SessionError {
    let path = path.to_owned();
    move |error| SessionError::Unusable { path, error }
}
