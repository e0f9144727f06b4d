//! Takes back what a session applied, and applies it again.

use super::sessions::Sessions;
use super::status::SessionState;
use crate::exit::Exit;
use crate::mount::apply::{self, Context, UndoOutcome, UndoRequest};
use anyhow::Result;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::{Component, Path, PathBuf};

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Undone {
    pub session: String,
    pub state: SessionState,
    /// What was asked for.
    #[serde(skip)]
    #[schemars(skip)]
    pub action: Action,
    pub outcome: UndoOutcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Undo,
    Redo,
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
    /// Takes back the last apply, or what it wrote at some paths.
    pub fn undo(&self, wanted: &str, request: &UndoRequest) -> Result<Undone> {
        let mut session = self.store.find(wanted)?;
        session.lock()?;
        self.end_journals(&session)?;
        let root = session.record()?.map(|record| record.root.0).unwrap_or_default();
        let only = request.only.iter().map(|path| below_root(path, &root)).collect();
        let request = UndoRequest { only, ..*request };
        let undo = |context: &Context<'_>| apply::undo_with(context, &request);
        let outcome = self.store.with_context(&session, self.crash_points, undo)?;
        let is_all = outcome.earlier == 0 && outcome.remaining == 0;
        if outcome.status == apply::UndoStatus::Undone && is_all {
            session.set_state(self.host, SessionState::Undone)?;
        }
        let state = session.entry()?.state;
        Ok(Undone { session: session.id.to_string(), state, action: Action::Undo, outcome })
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
        Ok(Undone { session: session.id.to_string(), state, action: Action::Redo, outcome })
    }
}

/// A path as a journal has it: `./src`, or the whole path of a file in the project, mean the same.
fn below_root(path: &Path, root: &Path) -> PathBuf {
    let path = path.strip_prefix(root).unwrap_or(path);
    path.components().filter(|part| *part != Component::CurDir).collect()
}
