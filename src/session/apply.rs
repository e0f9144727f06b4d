//! Applies the work of a session, or discards it.

use super::entry::SessionEntry;
use super::sessions::{Sessions, ignored};
use super::status::SessionState;
use super::store::Session;
use crate::exit::Exit;
use crate::model::warning::{Warning, WarningCode};
use crate::mount::apply::decided::Choice;
use crate::mount::apply::{self, ApplyOutcome, ApplyResult, Selection};
use crate::mount::changes::diff::printable_name;
use crate::mount::changes::{Change, Review, ThreeWay, review};
use crate::mount::git::export::{GitExport, export};
use anyhow::Result;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::Path;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApplyRequest {
    pub session: String,
    pub selection: Selection,
    pub include_ignored: bool,
    /// Keep the mount after all is applied.
    pub keep: bool,
    /// Also work with a contract that was not approved.
    pub unverified: bool,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Applied {
    pub session: String,
    pub state: SessionState,
    pub outcome: ApplyOutcome,
    pub git: GitExport,
    pub mount_removed: bool,
    pub warnings: Vec<Warning>,
}

impl Applied {
    pub fn exit(&self) -> Exit {
        if self.outcome.status == ApplyResult::Conflict { Exit::Conflict } else { Exit::Done }
    }
}

/// Whether the project got a text that somebody made of both versions: after an undo the agent's own is only in the mount, and the
/// conflict can be settled in another way.
fn has_settled_text(request: &ApplyRequest, outcome: &ApplyOutcome) -> bool {
    let choice = |path: &Path| request.selection.decided.get(path).map(|decided| &decided.choice);
    let is_text = |change: &Change| change.marked || matches!(choice(&change.path), Some(Choice::Text(_)));
    outcome.applied.iter().any(is_text)
}

impl Sessions<'_> {
    pub fn apply(&self, request: &ApplyRequest) -> Result<Applied> {
        let mut session = self.store.find(&request.session)?;
        session.lock()?;
        if !request.unverified {
            session.expect_approved()?;
        }
        self.apply_locked(&session, request)
    }

    /// What an apply would look at, for somebody who decides about it first. Nobody else changes the session meanwhile.
    pub fn look<T>(
        &self,
        request: &ApplyRequest,
        then: impl FnOnce(&Session, &ThreeWay<'_>, &Review) -> Result<T>,
    ) -> Result<T> {
        let mut session = self.store.find(&request.session)?;
        session.lock()?;
        let work = session.work()?.ok_or_else(|| session.no_mount())?;
        let sides = work.three_way(self.merging)?;
        let review = review(&sides, ignored(request.include_ignored))?;
        then(&session, &sides, &review)
    }

    /// For the runner, which holds the session already.
    pub fn apply_locked(&self, session: &Session, request: &ApplyRequest) -> Result<Applied> {
        self.end_journals(session)?;
        let work = session.work()?.ok_or_else(|| session.no_mount())?;
        let sides = work.three_way(self.merging)?;
        let outcome = self.store.with_context(session, self.crash_points, |context| {
            apply::apply(context, &sides, &request.selection, ignored(request.include_ignored))
        })?;
        let mut warnings = Vec::new();
        for path in request.selection.unknown(&outcome.review) {
            let is_there = |known: &Path| known.starts_with(path);
            let message = if sides.earlier.applied.keys().any(|known| is_there(known))
                || outcome.review.already.iter().any(|known| is_there(known))
            {
                format!("`{}` is applied already", path.display())
            } else {
                format!("the agent changed nothing at `{}`", path.display())
            };
            warnings.push(Warning::new(WarningCode::NoMatch, message));
        }
        for change in request.selection.without_markers(&outcome.review) {
            let name = printable_name(change.path.as_ref());
            let message = format!("{name} cannot have conflict markers: it is not text on both sides");
            warnings.push(Warning::new(WarningCode::NotApplied, message));
        }
        self.crash_points.at("apply: ended");
        let mut git = GitExport::default();
        let mut has_unknown_commits = false;
        if outcome.status != ApplyResult::Conflict {
            match export(&session.dir, session.id.as_str(), &work.record, &work.rules) {
                Ok(export) => git = export,
                Err(error) => {
                    has_unknown_commits = true;
                    let message = format!("the agent's commits could not be read: {error:#}");
                    warnings.push(Warning::new(WarningCode::Commits, message));
                }
            }
        }
        let waits = outcome.status == ApplyResult::Conflict
            || outcome.remaining.iter().any(|change| !outcome.kept_yours.contains(&change.path));
        let has_work = outcome.status == ApplyResult::Applied
            || !outcome.review.already.is_empty()
            || session.was_applied()?;
        let before = session.entry()?.state;
        let state = match (waits, has_work) {
            // Nothing came of looking again at what is settled.
            (true, _) if outcome.status == ApplyResult::Nothing && before.is_decided() => before,
            (true, _) => SessionState::Held,
            (false, true) => SessionState::Applied,
            (false, false) if !outcome.kept_yours.is_empty() => SessionState::Discarded,
            (false, false) => SessionState::Nothing,
        };
        self.crash_points.at("apply: commits kept");
        session.set_state(self.host, state)?;
        self.crash_points.at("apply: state written");
        // What was kept out exists nowhere else, so the mount stays with it until the session is pruned.
        let stashed = session.has_stash(&work.record);
        if stashed {
            warnings
                .push(Warning::new(WarningCode::Commits, "a git stash of the agent stays in the session"));
        }
        let keeps_something = outcome.review.keeps_something_out()
            || !git.held.is_empty()
            || has_unknown_commits
            || stashed
            || has_settled_text(request, &outcome)
            // It can be settled in another way, and what was taken over by hand be lost again.
            || !outcome.kept_yours.is_empty()
            || !outcome.review.already.is_empty();
        let mount_removed = !waits && !request.keep && !keeps_something;
        drop(sides);
        if mount_removed {
            session.remove_mount(self.crash_points)?;
            self.crash_points.at("apply: mount removed");
        }
        Ok(Applied { session: session.id.to_string(), state, outcome, git, mount_removed, warnings })
    }

    /// The commits of a session whose files are all applied or never changed; what could not be kept.
    pub(super) fn keep_commits(&self, session: &Session) -> Result<Option<String>> {
        let selection = Selection { shown: Some(BTreeSet::new()), ..Selection::all() };
        let session_id = session.id.to_string();
        let rest = ApplyRequest { session: session_id, selection, keep: true, ..ApplyRequest::default() };
        let applied = self.apply_locked(session, &rest)?;
        let held = applied.git.held.first().map(|branch| format!("commits are held: {}", branch.reason));
        Ok(applied.warnings.into_iter().next().map(|warning| warning.message).or(held))
    }

    /// The agent's work goes; what was applied of it before stays applied and can still be undone.
    pub fn discard(&self, wanted: &str) -> Result<SessionEntry> {
        let mut session = self.store.find(wanted)?;
        session.lock()?;
        self.end_journals(&session)?;
        // What is in the project already is not the session's to discard.
        let is_applied = session.work().is_ok_and(|work| work.is_none()) && session.was_applied()?;
        if !is_applied {
            session.set_state(self.host, SessionState::Discarded)?;
            session.remove_mount(self.crash_points)?;
        }
        let mut entry = session.entry()?;
        entry.live = false;
        Ok(entry)
    }
}
