//! A session as lists show it: what it was about, how it ended, what it cost. Made from its status and its lock alone: a list of
//! hundreds must not read more. Pure.

use super::id::SessionId;
use super::status::{HeldBecause, SessionRun, SessionState, SessionStatus};
use crate::harness::adapter;
use crate::model::report::{Status, Usage};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionEntry {
    pub id: String,
    /// As it is now: a dead runner's session is `interrupted`, whatever it last wrote.
    pub state: SessionState,
    pub live: bool,
    /// How it ended, and what became of its work.
    pub outcome: SessionOutcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_because: Option<HeldBecause>,
    /// The beginning of its first task, or its command; none if it was interactive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// How long its harness or command ran, without what runs now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Of all its runs.
    pub usage: Usage,
    /// Changed paths of the last run, with their lines if known.
    pub changed: u64,
    pub added: u64,
    pub removed: u64,
    /// Why it is not known whether its runner lives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// `None` when the session died before it could say anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<SessionStatus>,
}

/// How a session ended, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SessionOutcome {
    Running,
    /// The runner died: `sessions recover` comes first.
    Interrupted,
    /// Ended by a signal, without work that waits.
    Stopped,
    /// Work waits to be applied or discarded.
    Held,
    Applied,
    Undone,
    Discarded,
    NoChanges,
    /// In the project itself, where changes are not tracked.
    Completed,
    Failed,
    TimedOut,
}

impl SessionOutcome {
    pub const ALL: [SessionOutcome; 11] = [
        SessionOutcome::Running,
        SessionOutcome::Interrupted,
        SessionOutcome::Stopped,
        SessionOutcome::Held,
        SessionOutcome::Applied,
        SessionOutcome::Undone,
        SessionOutcome::Discarded,
        SessionOutcome::NoChanges,
        SessionOutcome::Completed,
        SessionOutcome::Failed,
        SessionOutcome::TimedOut,
    ];

    /// As it is typed and as JSON has it.
    pub fn name(self) -> String {
        self.text().replace(' ', "-")
    }

    pub fn text(self) -> &'static str {
        match self {
            SessionOutcome::Running => "running",
            SessionOutcome::Interrupted => "interrupted",
            SessionOutcome::Stopped => "stopped",
            SessionOutcome::Held => "held",
            SessionOutcome::Applied => "applied",
            SessionOutcome::Undone => "undone",
            SessionOutcome::Discarded => "discarded",
            SessionOutcome::NoChanges => "no changes",
            SessionOutcome::Completed => "completed",
            SessionOutcome::Failed => "failed",
            SessionOutcome::TimedOut => "timed out",
        }
    }

    fn of(state: SessionState, last: Option<&SessionRun>) -> SessionOutcome {
        match state {
            SessionState::Opening | SessionState::Running => SessionOutcome::Running,
            SessionState::Interrupted => SessionOutcome::Interrupted,
            SessionState::Held => SessionOutcome::Held,
            SessionState::Applied => SessionOutcome::Applied,
            SessionState::Undone => SessionOutcome::Undone,
            SessionState::Discarded => SessionOutcome::Discarded,
            SessionState::Nothing => match last.and_then(|run| run.status) {
                Some(Status::Failed | Status::NotStarted) => SessionOutcome::Failed,
                Some(Status::TimedOut) => SessionOutcome::TimedOut,
                Some(Status::Interrupted) => SessionOutcome::Stopped,
                Some(Status::Completed) | None if last.is_some_and(|run| run.in_place) => {
                    SessionOutcome::Completed
                }
                Some(Status::Completed) | None => SessionOutcome::NoChanges,
            },
        }
    }
}

impl SessionEntry {
    pub(super) fn new(id: &SessionId, live: bool, status: Option<SessionStatus>) -> SessionEntry {
        let said = status.as_ref().map_or(SessionState::Interrupted, |status| status.state);
        let state = if said.is_active() && !live { SessionState::Interrupted } else { said };
        let runs = status.as_ref().map(|status| status.runs.as_slice()).unwrap_or_default();
        let last = runs.last();
        let seconds: Vec<f64> = runs.iter().filter_map(SessionRun::seconds).collect();
        SessionEntry {
            id: id.to_string(),
            state,
            live,
            outcome: SessionOutcome::of(state, last),
            held_because: last.and_then(|run| run.held).filter(|_| state == SessionState::Held),
            task: runs.iter().find_map(|run| run.task.clone()),
            seconds: (!seconds.is_empty()).then(|| seconds.iter().sum()),
            usage: runs.iter().fold(Usage::default(), |sum, run| sum_of(&sum, run)),
            changed: last.map_or(0, |run| run.changed),
            added: last.map_or(0, |run| run.added),
            removed: last.map_or(0, |run| run.removed),
            problem: None,
            status,
        }
    }

    /// When its last run began.
    pub(super) fn used_at(&self) -> Option<Timestamp> {
        let status = self.status.as_ref()?;
        let at = status.runs.last().map_or(&status.started_at, |run| &run.started_at);
        at.parse().ok()
    }

    /// Whether it is one of the project at this directory.
    pub fn is_of_project(&self, root: &Path) -> bool {
        self.status.as_ref().is_some_and(|status| *status.root == *root)
    }

    /// RFC 3339, UTC.
    pub fn started_at(&self) -> Option<&str> {
        self.status.as_ref().map(|status| status.started_at.as_str())
    }

    /// How long it has run; that of a running one goes on.
    pub fn seconds_until(&self, now: Timestamp) -> Option<f64> {
        let last = self.status.as_ref().and_then(|status| status.runs.last());
        let since = last.filter(|run| self.outcome == SessionOutcome::Running && run.ended_at.is_none());
        let running = since.and_then(|run| run.started_at.parse::<Timestamp>().ok());
        match (self.seconds, running.map(|since| now.duration_since(since).as_secs_f64())) {
            (None, None) => None,
            (ended, running) => Some(ended.unwrap_or_default() + running.unwrap_or_default()),
        }
    }
}

impl SessionRun {
    fn seconds(&self) -> Option<f64> {
        let (started, ended): (Timestamp, Timestamp) =
            (self.started_at.parse().ok()?, self.ended_at.as_ref()?.parse().ok()?);
        Some(ended.duration_since(started).as_secs_f64().max(0.0))
    }
}

/// The usage of some runs and of one more.
fn sum_of(sum: &Usage, run: &SessionRun) -> Usage {
    let run_usage = &run.usage;
    // A run without usage leaves the sum as it is.
    if run.harness.is_some_and(|harness| adapter(harness).counts_whole_conversation)
        && *run_usage != Usage::default()
    {
        return run_usage.clone();
    }
    let add = |a: Option<u64>, b: Option<u64>| match (a, b) {
        (None, None) => None,
        (a, b) => Some(a.unwrap_or_default().saturating_add(b.unwrap_or_default())),
    };
    let cost = match (sum.cost_usd, run_usage.cost_usd) {
        (None, None) => None,
        (a, b) => Some(a.unwrap_or_default() + b.unwrap_or_default()),
    };
    Usage {
        input_tokens: add(sum.input_tokens, run_usage.input_tokens),
        output_tokens: add(sum.output_tokens, run_usage.output_tokens),
        cost_usd: cost,
        turns: add(sum.turns, run_usage.turns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::tier::Harness;

    /// One that reports its own usage, or one that reports that of the whole conversation.
    fn harness(counts_whole: bool) -> Harness {
        Harness::ALL
            .into_iter()
            .find(|kind| adapter(*kind).counts_whole_conversation == counts_whole)
            .unwrap()
    }

    fn entry(state: SessionState, runs: Vec<SessionRun>) -> SessionEntry {
        let status = SessionStatus {
            schema_version: 1,
            id: "x".into(),
            persona: "p".into(),
            root: "/p".into(),
            state,
            started_at: "2026-11-18T10:00:00Z".into(),
            ended_at: None,
            pid: 1,
            runs,
            work: None,
        };
        SessionEntry::new(&SessionId::parse("x").unwrap(), false, Some(status))
    }

    fn run(harness: Harness, seconds: u32, tokens: u64, cost: Option<f64>) -> SessionRun {
        SessionRun {
            started_at: "2026-11-18T10:00:00Z".into(),
            ended_at: Some(format!("2026-11-18T10:00:{seconds:02}Z")),
            harness: Some(harness),
            usage: Usage { input_tokens: Some(tokens), cost_usd: cost, ..Usage::default() },
            ..SessionRun::default()
        }
    }

    #[test]
    fn a_session_without_work_says_how_its_run_ended() {
        let of = |status, in_place| {
            let run = SessionRun { status, in_place, ..SessionRun::default() };
            entry(SessionState::Nothing, vec![run]).outcome.text()
        };
        assert_eq!(of(Some(Status::Completed), false), "no changes");
        assert_eq!(of(Some(Status::Completed), true), "completed");
        assert_eq!(of(Some(Status::Failed), false), "failed");
        assert_eq!(of(Some(Status::Failed), true), "failed");
        assert_eq!(of(Some(Status::TimedOut), false), "timed out");
        assert_eq!(of(Some(Status::Interrupted), false), "stopped");
        assert_eq!(of(None, false), "no changes");
        assert_eq!(entry(SessionState::Nothing, Vec::new()).outcome.text(), "no changes");
        assert_eq!(entry(SessionState::Running, Vec::new()).outcome.text(), "interrupted");
    }

    #[test]
    fn runs_of_one_session_add_up_unless_the_harness_does_so_itself() {
        let own = |cost| run(harness(false), 20, 100, Some(cost));
        let resumed = entry(SessionState::Applied, vec![own(0.5), own(0.25)]);
        assert_eq!((resumed.seconds, resumed.usage.cost_usd), (Some(40.0), Some(0.75)));
        assert_eq!(resumed.usage.input_tokens, Some(200));
        let whole = |tokens| run(harness(true), 5, tokens, None);
        let resumed = entry(SessionState::Applied, vec![whole(100), whole(150)]);
        assert_eq!(resumed.usage, Usage { input_tokens: Some(150), ..Usage::default() });
    }
}
