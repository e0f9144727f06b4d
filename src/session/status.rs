//! What a session says about itself in `status.json`. Whether its runner lives is not in it: the lock says that.

use crate::model::raw_path::RawPath;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const STATUS_FILE: &str = "status.json";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionStatus {
    pub schema_version: u32,
    pub id: String,
    pub persona: String,
    /// The project.
    pub root: RawPath,
    pub state: SessionState,
    /// RFC 3339, UTC.
    pub started_at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// The last runner's; never used to tell whether it lives.
    pub pid: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SessionState {
    /// The mount is being made.
    Opening,
    Running,
    /// The run has ended and its work waits to be applied or discarded.
    Held,
    Applied,
    /// The agent changed nothing.
    Nothing,
    Discarded,
    /// Applied once, and taken back.
    Undone,
    /// The runner died; its work is intact. Never written: a session that says `opening` or `running` and whose lock
    /// is free is this.
    Interrupted,
}

impl SessionState {
    pub fn name(self) -> &'static str {
        match self {
            SessionState::Opening => "opening",
            SessionState::Running => "running",
            SessionState::Held => "held",
            SessionState::Applied => "applied",
            SessionState::Nothing => "nothing",
            SessionState::Discarded => "discarded",
            SessionState::Undone => "undone",
            SessionState::Interrupted => "interrupted",
        }
    }

    /// Whether the runner says that it is at work.
    pub fn is_active(self) -> bool {
        matches!(self, SessionState::Opening | SessionState::Running)
    }

    /// Whether nothing in the session waits for a decision.
    pub fn is_settled(self) -> bool {
        matches!(self, SessionState::Applied | SessionState::Nothing | SessionState::Discarded)
    }
}
