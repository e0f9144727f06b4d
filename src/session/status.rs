//! What a session says about itself in `status.json`. Whether its runner lives is not in it: the lock says that.

use crate::model::raw_path::RawPath;
use crate::model::report::{Status, Usage};
use crate::model::tier::Harness;
use crate::model::verdict::Ruling;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const STATUS_FILE: &str = "status.json";

/// How much of a task is noted here; the report has all of it.
const LONGEST_TASK: usize = 2000;
/// Runs of one session that are noted.
const MOST_RUNS: usize = 50;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// The last runner's. The lock says whether it lives; this only shortens a wait for it, and says whom to signal.
    pub pid: u32,
    /// The runs in it, the last one last: more than one where a session was resumed, none in sessions of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<SessionRun>,
    /// Of a piece of work with a contract: its result counts only once it is approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<SessionWork>,
}

/// The work that a session is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionWork {
    pub task_id: String,
    /// None until it is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Ruling>,
}

impl SessionWork {
    pub fn is_approved(&self) -> bool {
        self.verdict == Some(Ruling::Approve)
    }
}

/// One run of a harness or command in a session, as lists show it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionRun {
    /// RFC 3339, UTC.
    pub started_at: String,
    /// When the harness ended; none while it runs, and if the runner was killed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// The beginning of the task, or the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// None for a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub harness: Option<Harness>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// Why it did not complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why its work was not applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<HeldBecause>,
    /// It worked in the project itself, where changes are not tracked.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub in_place: bool,
    pub usage: Usage,
    /// Changed paths, with their lines if known.
    pub changed: u64,
    pub added: u64,
    pub removed: u64,
}

/// Why work waits in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HeldBecause {
    /// The project has changed in the same places.
    Conflict,
    CheckFailed,
    Failed,
    TimedOut,
    Interrupted,
    /// It changes what agents may do, or nobody could be asked.
    NeedsApproval,
    /// Work is never applied by this run: `--apply never`.
    Requested,
    /// The user was asked, and wanted to decide later.
    Kept,
    /// The runner died, and its work was recovered.
    Recovered,
    /// It is work with a contract, and was not approved.
    NotApproved,
}

impl HeldBecause {
    pub fn text(self) -> &'static str {
        match self {
            HeldBecause::Conflict => "conflict",
            HeldBecause::CheckFailed => "check failed",
            HeldBecause::Failed => "failed",
            HeldBecause::TimedOut => "timed out",
            HeldBecause::Interrupted => "stopped",
            HeldBecause::NeedsApproval => "needs approval",
            HeldBecause::Requested => "apply never",
            HeldBecause::Kept => "kept for later",
            HeldBecause::Recovered => "recovered",
            HeldBecause::NotApproved => "not approved",
        }
    }
}

impl SessionRun {
    pub fn set_task(&mut self, task: Option<String>) {
        self.task = task.map(|task| task.chars().take(LONGEST_TASK).collect());
    }
}

impl SessionStatus {
    /// Moves on; an end that is already noted stays.
    pub fn enter(&mut self, state: SessionState, now: Timestamp) {
        self.state = state;
        if !state.is_active() && self.ended_at.is_none() {
            self.ended_at = Some(now.to_string());
        }
    }

    /// Adds a run that begins now.
    pub fn begin(&mut self, run: SessionRun) {
        self.ended_at = None;
        self.runs.push(run);
        // The first one says what the session is about.
        if self.runs.len() > MOST_RUNS {
            self.runs.remove(1);
        }
    }
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

    /// As people read it.
    pub fn text(self) -> &'static str {
        if self == SessionState::Nothing { "no changes" } else { self.name() }
    }

    /// Whether the runner says that it is at work.
    pub fn is_active(self) -> bool {
        matches!(self, SessionState::Opening | SessionState::Running)
    }

    /// Whether somebody has decided about its work.
    pub fn is_decided(self) -> bool {
        matches!(self, SessionState::Applied | SessionState::Discarded)
    }

    /// Whether nothing in the session waits for a decision.
    pub fn is_settled(self) -> bool {
        matches!(self, SessionState::Applied | SessionState::Nothing | SessionState::Discarded)
    }
}
