//! Finishes journals that a killed process left unfinished: rolls forward if everything was already exchanged, otherwise back. Recovery
//! itself can be killed at any moment and run again. Journals that `trust` rejects are left alone.

use super::exchange::Exchange;
use super::journal::{Journal, Stage, State};
use super::lock::ProjectLock;
use super::run::{clear_stage, commit, finish, put_away, put_back_untouched, raw, take_back};
use super::{Context, PATIENCE, open_project, trust};
use crate::model::raw_path::RawPath;
use crate::mount::fs::tree::Tree;
use anyhow::{Context as _, bail};
use schemars::JsonSchema;
use serde::Serialize;

/// The outcome for one journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Recovered {
    pub journal: u32,
    /// Whether its changes are in the project now; otherwise the project is as it was before it.
    pub applied: bool,
    /// Paths that the user has changed since, left as they are; their former state is in the undo copies.
    pub left: Vec<RawPath>,
}

/// Finishes every unfinished journal of a session.
pub fn recover(context: &Context<'_>) -> anyhow::Result<Vec<Recovered>> {
    let mut recovered = Vec::new();
    for journal in Journal::all(context.session)? {
        if journal.state.is_finished() {
            continue;
        }
        trust::check(context.session, &journal)?;
        let project = open_project(&journal.root)?;
        let mut lock = ProjectLock::take(context.locks, &project.root_stat()?, PATIENCE)?;
        // Another process may have finished it while we waited.
        let journal = Journal::read(context.session, journal.number)?;
        if !journal.state.is_finished() {
            recovered.push(recover_one(context, &mut lock, &project, journal)?);
        }
    }
    Ok(recovered)
}

/// Called with the lock held: finishes what the last holder left behind, whichever session it belongs to.
pub(super) fn finish_left_over(
    context: &Context<'_>,
    lock: &mut ProjectLock,
    project: &Tree,
) -> anyhow::Result<()> {
    let Some(underway) = lock.left_over()? else { return Ok(()) };
    // A session that is gone was pruned with all it held.
    if let Some(session) = trust::noted_session(context.session, &underway.session, lock.path())? {
        let context = Context { session: &session, ..*context };
        // The journal was never written, so nothing was done.
        for journal in Journal::all(&session)?.into_iter().filter(|journal| !journal.state.is_finished()) {
            recover_one(&context, lock, project, journal)?;
        }
    }
    lock.note(None, context.durable)
}

fn recover_one(
    context: &Context<'_>,
    lock: &mut ProjectLock,
    project: &Tree,
    mut journal: Journal,
) -> anyhow::Result<Recovered> {
    trust::check(context.session, &journal)?;
    if project.root_stat()?.ino != journal.root_ino {
        bail!(
            "{} is not the directory that the apply was for any more; nothing was changed",
            project.path().display()
        );
    }
    let number = journal.number;
    let stage_path = journal.stage_path(context.session);
    let result = |applied: bool, left: Vec<RawPath>| Recovered { journal: number, applied, left };
    match journal.state {
        State::Staging => {
            journal
                .remove_stage(context.session, project)
                .with_context(|| format!("cannot remove {}", stage_path.display()))?;
            finish(context, lock, &mut journal, State::RolledBack);
            Ok(result(false, Vec::new()))
        }
        State::Exchanging => {
            let stage = match journal.open_stage(context.session, project) {
                Ok(stage) => stage,
                // Rolled back completely by a process that died before it could record that.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    journal.restored = put_back_untouched(project, &journal.operations)?;
                    finish(context, lock, &mut journal, State::RolledBack);
                    return Ok(result(false, Vec::new()));
                }
                Err(error) => {
                    return Err(error).with_context(|| format!("cannot open {}", stage_path.display()));
                }
            };
            let exchange = Exchange { project, stage: &stage, crash_points: context.crash_points };
            let is_complete = journal.operations.iter().map(|operation| exchange.is_done(operation));
            let is_complete = is_complete.collect::<Result<Vec<bool>, _>>()?.into_iter().all(|done| done);
            if is_complete && commit(context, project, &stage, &mut journal).is_ok() {
                put_away(context, project, &stage, &mut journal)?;
                finish(context, lock, &mut journal, State::Done);
                return Ok(result(true, Vec::new()));
            }
            let left = take_back(&exchange, &journal.operations)?;
            journal.restored = put_back_untouched(project, &journal.operations)?;
            clear_stage(context, &journal, &stage)?;
            finish(context, lock, &mut journal, State::RolledBack);
            Ok(result(false, raw(left)))
        }
        State::Committed => {
            match journal.open_stage(context.session, project) {
                Ok(stage) => put_away(context, project, &stage, &mut journal)?,
                // The stage in the project is removed last, when everything is in the session.
                Err(_) if matches!(journal.stage, Stage::Project { .. }) => {}
                Err(error) => {
                    return Err(error).with_context(|| format!("cannot open {}", stage_path.display()));
                }
            }
            finish(context, lock, &mut journal, State::Done);
            Ok(result(true, Vec::new()))
        }
        State::Done | State::RolledBack | State::Undone => {
            Ok(result(journal.state == State::Done, Vec::new()))
        }
    }
}
