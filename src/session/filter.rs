//! Which sessions a list shows.

use super::entry::{SessionEntry, SessionOutcome};
use super::kept_report::{REPORT_FILE, Said};
use super::sessions::Sessions;
use super::status::HeldBecause;
use crate::model::report::Status;
use anyhow::Result;
use jiff::Timestamp;
use std::path::PathBuf;

/// What all sessions of a list have in common; the default is all sessions.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionFilter {
    /// A directory in the project, or one that projects are in.
    pub project: Option<PathBuf>,
    /// Any of these.
    pub outcomes: Vec<SessionOutcome>,
    pub persona: Option<String>,
    /// Started then or later.
    pub since: Option<Timestamp>,
    /// All of them occur in what was asked or answered.
    pub words: Vec<String>,
}

impl SessionFilter {
    /// By what is in the list anyway.
    fn takes(&self, entry: &SessionEntry) -> bool {
        let status = entry.status.as_ref();
        let is_of_project = self.project.as_ref().is_none_or(|dir| {
            status.is_some_and(|status| dir.starts_with(&*status.root) || status.root.starts_with(dir))
        });
        let is_outcome =
            self.outcomes.is_empty() || self.outcomes.iter().any(|wanted| matches(*wanted, entry));
        let is_persona = self
            .persona
            .as_ref()
            .is_none_or(|wanted| status.is_some_and(|status| status.persona.eq_ignore_ascii_case(wanted)));
        let is_since = self.since.is_none_or(|since| {
            let started = entry.started_at().and_then(|started| started.parse::<Timestamp>().ok());
            started.is_some_and(|started| started >= since)
        });
        is_of_project && is_outcome && is_persona && is_since
    }
}

/// `failed` also matches failed runs whose work is held, and `completed` all runs that did, whatever became of their work.
fn matches(wanted: SessionOutcome, entry: &SessionEntry) -> bool {
    let why = entry.held_because.and_then(|why| match why {
        HeldBecause::CheckFailed | HeldBecause::Failed => Some(SessionOutcome::Failed),
        HeldBecause::TimedOut => Some(SessionOutcome::TimedOut),
        HeldBecause::Interrupted => Some(SessionOutcome::Stopped),
        HeldBecause::Conflict
        | HeldBecause::NeedsApproval
        | HeldBecause::Requested
        | HeldBecause::Kept
        | HeldBecause::Recovered
        | HeldBecause::NotApproved => None,
    });
    let last = entry.status.as_ref().and_then(|status| status.runs.last());
    let has_completed =
        wanted == SessionOutcome::Completed && last.is_some_and(|run| run.status == Some(Status::Completed));
    entry.outcome == wanted || why == Some(wanted) || has_completed
}

impl Sessions<'_> {
    /// The sessions that a filter takes, newest first. Only a search reads more of them than their status.
    pub fn list_matching(&self, filter: &SessionFilter) -> Result<Vec<SessionEntry>> {
        let words: Vec<String> = filter.words.iter().map(|word| word.to_lowercase()).collect();
        let mut entries = self.list()?;
        entries.retain(|entry| filter.takes(entry) && (words.is_empty() || self.says_all(entry, &words)));
        Ok(entries)
    }

    fn says_all(&self, entry: &SessionEntry, words: &[String]) -> bool {
        let runs = entry.status.iter().flat_map(|status| &status.runs);
        let mut text: String = runs.filter_map(|run| run.task.as_deref()).collect::<Vec<_>>().join("\n");
        text = text.to_lowercase();
        if words.iter().all(|word| text.contains(word.as_str())) {
            return true;
        }
        let Some(session) = self.store.listed(entry) else { return false };
        let said = session.read_json::<Said>(REPORT_FILE).ok().flatten().unwrap_or_default();
        for said in [said.task, said.result].into_iter().flatten() {
            text.push('\n');
            text.push_str(&said.to_lowercase());
        }
        words.iter().all(|word| text.contains(word.as_str()))
    }
}
