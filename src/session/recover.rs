//! Finds sessions whose runner died or whose apply was cut off, and brings them to a state that they can be decided in.

use super::sessions::Sessions;
use super::status::{HeldBecause, SessionState};
use super::store::Session;
use crate::mount::apply::Recovered;
use crate::mount::changes::Merging;
use anyhow::Result;
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Debug, Default)]
pub struct Recovery {
    pub recovered: Vec<RecoveredSession>,
    /// Sessions of runners that live; they are left alone.
    pub running: Vec<String>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecoveredSession {
    pub session: String,
    pub state: SessionState,
    pub journals: Vec<Recovered>,
    /// How many changes wait to be applied.
    pub changes: usize,
    pub conflicts: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl Sessions<'_> {
    /// One session, or all whose runner died or whose journal is not ended. Live sessions are left alone.
    pub fn recover(&self, wanted: Option<&str>) -> Result<Recovery> {
        let mut sessions = match wanted {
            Some(wanted) => vec![self.store.find(wanted)?],
            None => {
                self.store.sweep()?;
                self.store.all()?
            }
        };
        let mut recovery = Recovery::default();
        for session in &mut sessions {
            if wanted.is_none() && session.is_live_after_a_moment()? {
                recovery.running.push(session.id.to_string());
                continue;
            }
            let entry = session.entry()?;
            let needs_it = entry.state == SessionState::Interrupted
                || session.has_unfinished_journal().unwrap_or(true)
                || (entry.state == SessionState::Held && is_applied_without_saying(session));
            if wanted.is_none() && !needs_it {
                continue;
            }
            match session.lock().and_then(|()| self.recover_session(session)) {
                Ok(recovered) => recovery.recovered.push(recovered),
                // Its runner was about to remove it, and has.
                Err(_) if wanted.is_none() && !session.exists() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(recovery)
    }

    fn recover_session(&self, session: &Session) -> Result<RecoveredSession> {
        let mut result = RecoveredSession {
            session: session.id.to_string(),
            state: SessionState::Held,
            journals: Vec::new(),
            changes: 0,
            conflicts: 0,
            problem: None,
        };
        match self.end_journals(session) {
            Ok(journals) => result.journals = journals,
            Err(error) => result.problem = Some(format!("{error:#}")),
        }
        let mut was_reviewed = false;
        match session.review(self.merging) {
            Ok(Some(review)) => {
                was_reviewed = true;
                result.changes = review.changes.len();
                result.conflicts = review.conflicts().count();
                let was_applied = session.was_applied()? || !review.already.is_empty();
                result.state = match (review.changes.is_empty(), was_applied) {
                    (true, true) => SessionState::Applied,
                    (true, false) if !review.keeps_something_out() => SessionState::Nothing,
                    _ => SessionState::Held,
                };
            }
            Ok(None) => {
                let said = session.status()?.map_or(SessionState::Nothing, |status| status.state);
                result.state = if said.is_active() { SessionState::Nothing } else { said };
            }
            Err(error) => result.problem = Some(format!("{error:#}")),
        }
        session.update_status(|status| {
            status.enter(result.state, self.host.now());
            if let (Some(run), true) = (status.runs.last_mut(), result.state == SessionState::Held) {
                run.changed = run.changed.max(result.changes as u64);
                let why = if result.conflicts > 0 { HeldBecause::Conflict } else { HeldBecause::Recovered };
                run.held = run.held.or(Some(why));
            }
        })?;
        if was_reviewed && matches!(result.state, SessionState::Applied | SessionState::Nothing) {
            // No file waits, but the agent's commits may still be only in the mount.
            match self.keep_commits(session) {
                Ok(problem) => result.problem = result.problem.or(problem),
                Err(error) => result.problem = Some(format!("{error:#}")),
            }
        }
        Ok(result)
    }
}

/// Killed between the end of an apply and the note of it.
fn is_applied_without_saying(session: &Session) -> bool {
    session.was_applied().unwrap_or(false)
        && session
            .review(Merging::On)
            .is_ok_and(|review| review.is_some_and(|review| review.changes.is_empty()))
}
