//! Takes back what a session applied, and applies it again.

use super::sessions::Sessions;
use super::status::SessionState;
use crate::exit::Exit;
use crate::mount::apply::{self, UndoOutcome};
use anyhow::Result;
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Undone {
    pub session: String,
    pub state: SessionState,
    pub outcome: UndoOutcome,
}

impl Undone {
    pub fn exit(&self) -> Exit {
        match self.outcome.status {
            apply::UndoStatus::Undone | apply::UndoStatus::Redone => Exit::Done,
            apply::UndoStatus::Nothing => Exit::Usage,
            apply::UndoStatus::Conflict => Exit::Conflict,
        }
    }
}

impl Sessions<'_> {
    pub fn undo(&self, wanted: &str) -> Result<Undone> {
        let mut session = self.store.find(wanted)?;
        session.lock()?;
        self.end_journals(&session)?;
        let outcome = self.store.with_context(&session, self.crash_points, apply::undo)?;
        if outcome.status == apply::UndoStatus::Undone && outcome.earlier == 0 {
            session.set_state(self.host, SessionState::Undone)?;
        }
        let state = session.entry()?.state;
        Ok(Undone { session: session.id.to_string(), state, outcome })
    }

    /// Applies again what an undo took back, with or without the mount.
    pub fn redo(&self, wanted: &str) -> Result<Undone> {
        let mut session = self.store.find(wanted)?;
        session.lock()?;
        self.end_journals(&session)?;
        let outcome = self.store.with_context(&session, self.crash_points, apply::redo)?;
        if outcome.status == apply::UndoStatus::Redone {
            let waits = session.review(self.merging)?.is_some_and(|review| !review.changes.is_empty());
            let state = if waits { SessionState::Held } else { SessionState::Applied };
            session.set_state(self.host, state)?;
        }
        let state = session.entry()?.state;
        Ok(Undone { session: session.id.to_string(), state, outcome })
    }
}
