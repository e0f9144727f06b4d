//! Takes the last apply of a session back, or the last undo, if nothing that it wrote has changed since.
//! Either is an apply itself: staged, journaled, and safe to kill.

use super::journal::{Journal, Operation, Purpose, State};
use super::lock::ProjectLock;
use super::recover::finish_left_over;
use super::run::{Job, Ran, raw, run};
use super::{Context, PATIENCE, open_project, steps, trust};
use crate::model::raw_path::RawPath;
use crate::mount::fs::stat::{Kind, Stat};
use anyhow::bail;
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UndoOutcome {
    pub status: UndoStatus,
    /// The paths that are as they were before what was taken back.
    pub restored: Vec<RawPath>,
    /// Why nothing was done: these were changed since.
    pub changed: Vec<RawPath>,
    /// Directories that the apply made and that hold something else by now.
    pub kept_directories: Vec<RawPath>,
    pub preserved: Vec<RawPath>,
    /// Earlier applies of the session that are still in the project; another undo takes the next one back.
    pub earlier: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum UndoStatus {
    Undone,
    /// An undo was taken back: the agent's work is applied again.
    Redone,
    /// The session has nothing that could be taken back.
    Nothing,
    /// Nothing was changed.
    Conflict,
}

/// Takes the last apply back.
pub fn undo(context: &Context<'_>) -> anyhow::Result<UndoOutcome> {
    take_back_last(context, Purpose::applies, |of| Purpose::Undo { of }, UndoStatus::Undone)
}

/// Takes the last undo back. It needs no mount: what the undo took out of the project is in the session.
pub fn redo(context: &Context<'_>) -> anyhow::Result<UndoOutcome> {
    let is_undo = |purpose| matches!(purpose, Purpose::Undo { .. });
    take_back_last(context, is_undo, |of| Purpose::Redo { of }, UndoStatus::Redone)
}

fn take_back_last(
    context: &Context<'_>,
    is_wanted: impl Fn(Purpose) -> bool,
    purpose: impl Fn(u32) -> Purpose,
    status: UndoStatus,
) -> anyhow::Result<UndoOutcome> {
    let mut outcome = UndoOutcome {
        status: UndoStatus::Nothing,
        restored: Vec::new(),
        changed: Vec::new(),
        kept_directories: Vec::new(),
        preserved: Vec::new(),
        earlier: 0,
    };
    let Some(last) = standing(context, &is_wanted)?.last() else { return Ok(outcome) };
    trust::check(context.session, &last)?;
    let project = open_project(&last.root)?;
    let root = project.root_stat()?;
    if root.ino != last.root_ino {
        bail!(
            "{} is not the directory that was applied to any more; nothing was changed",
            last.root.display()
        );
    }
    let mut lock = ProjectLock::take(context.locks, &root, PATIENCE)?;
    finish_left_over(context, &mut lock, &project)?;
    // The left-over may have been this session's.
    let Some(mut last) = standing(context, &is_wanted)?.last() else { return Ok(outcome) };
    trust::check(context.session, &last)?;
    for operation in &mut last.operations {
        let now = project.stat(&operation.path)?;
        if !is_as_applied(operation, now) {
            outcome.changed.push(operation.path.clone());
        }
        operation.post = now;
    }
    if !outcome.changed.is_empty() {
        outcome.status = UndoStatus::Conflict;
        return Ok(outcome);
    }
    let steps = steps::for_undo(&last, &last.undo_path(context.session));
    context.crash_points.at("undo: planned");
    let job = Job { project: &project, mount: None, purpose: purpose(last.number), steps: &steps };
    match run(context, &mut lock, &job)? {
        Ran::Done(journal) => {
            outcome.status = status;
            outcome.restored = steps.into_iter().map(|step| step.path.into()).collect();
            outcome.kept_directories = journal.kept_directories;
            let standing = standing(context, Purpose::applies)?.count();
            outcome.earlier = standing - usize::from(status == UndoStatus::Redone).min(standing);
        }
        Ran::Refused { conflicts, preserved } => {
            outcome.status = UndoStatus::Conflict;
            outcome.changed = conflicts.into_iter().map(|(path, _)| path.into()).collect();
            outcome.preserved = raw(preserved);
        }
    }
    Ok(outcome)
}

/// The journals of this kind whose work stands, in their order.
fn standing(
    context: &Context<'_>,
    is_wanted: impl Fn(Purpose) -> bool,
) -> anyhow::Result<impl Iterator<Item = Journal>> {
    let stands = move |journal: &Journal| {
        is_wanted(journal.purpose) && matches!(journal.state, State::Done | State::Committed)
    };
    Ok(Journal::all(context.session)?.into_iter().filter(stands))
}

fn is_as_applied(operation: &Operation, now: Option<Stat>) -> bool {
    match (&operation.post, &now) {
        (None, None) => true,
        (Some(post), Some(now)) => {
            // Not the ctime, nor which inode a directory is: an undo that was taken back has changed both. What comes
            // out is kept in any case.
            let is_same_dir = now.kind == Kind::Dir && post.kind == Kind::Dir;
            (is_same_dir || now.is_same_content(post)) && now.mode == post.mode
        }
        _ => false,
    }
}
