//! Undoes what a session applied, or redoes its last undo, if none of it was changed since. Either is itself an apply: staged,
//! journaled, and safe to kill. `undo_choice` selects the operations.

use super::found::{Found, found};
use super::journal::{Journal, Purpose};
use super::lock::ProjectLock;
use super::recover::finish_left_over;
use super::refused_now::{self, Brings};
use super::run::{Job, Ran, raw, run};
use super::steps::TakenBack;
use super::undo_choice::{Choice, UndoRequest, choose, standing_applies, still_applied, whole};
use super::{Context, PATIENCE, open_project, steps, trust};
use crate::model::raw_path::RawPath;
use anyhow::{Context as _, bail};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UndoOutcome {
    pub status: UndoStatus,
    /// The paths that were restored.
    pub restored: Vec<RawPath>,
    /// Those of them that somebody had already restored, for example with git: nothing was taken out, and a redo does not bring them
    /// back.
    pub already: Vec<RawPath>,
    /// Why nothing was done: these were changed since.
    pub changed: Vec<RawPath>,
    /// Changed since, but undone anyway on request; a redo brings the changes back.
    pub overwritten: Vec<RawPath>,
    /// Directories that the apply created and that now contain something else.
    pub kept_directories: Vec<RawPath>,
    pub preserved: Vec<RawPath>,
    /// Named paths where the project has nothing of the session.
    pub unknown: Vec<RawPath>,
    /// How many paths of the same apply are still in the project; another undo reverts them.
    pub remaining: usize,
    /// Earlier applies of the session that are still in the project; another undo reverts the next one.
    pub earlier: usize,
    /// How many paths of the session are in the project now.
    pub still_applied: usize,
    /// How many other paths of the session are undone, and could be applied again.
    pub undone: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum UndoStatus {
    Undone,
    /// An undo was reverted: the agent's work is applied again.
    Redone,
    /// The session has nothing to undo or redo.
    Nothing,
    /// Nothing was changed.
    Conflict,
}

/// Undoes the last apply.
pub fn undo(context: &Context<'_>) -> anyhow::Result<UndoOutcome> {
    undo_with(context, &UndoRequest::default())
}

/// Undoes the last apply, or what it wrote to some paths.
pub fn undo_with(context: &Context<'_>, request: &UndoRequest) -> anyhow::Result<UndoOutcome> {
    take_back(context, request, Direction::Undo)
}

/// Reverts the last undo. This needs no mount: what the undo took out of the project is in the session.
pub fn redo(context: &Context<'_>) -> anyhow::Result<UndoOutcome> {
    take_back(context, &UndoRequest::default(), Direction::Redo)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Undo,
    Redo,
}

impl Direction {
    fn choose<'a>(self, journals: &'a [Journal], only: &[PathBuf], session: &Path) -> Option<Choice<'a>> {
        match self {
            Direction::Undo => choose(journals, only, session),
            Direction::Redo => undos(journals).next_back().map(whole),
        }
    }

    fn brings(self) -> Brings {
        match self {
            Direction::Undo => Brings::Users,
            Direction::Redo => Brings::Agents,
        }
    }

    fn purpose(self, of: u32) -> Purpose {
        match self {
            Direction::Undo => Purpose::Undo { of },
            Direction::Redo => Purpose::Redo { of },
        }
    }
}

fn take_back(
    context: &Context<'_>,
    request: &UndoRequest,
    direction: Direction,
) -> anyhow::Result<UndoOutcome> {
    let mut outcome = UndoOutcome {
        status: UndoStatus::Nothing,
        restored: Vec::new(),
        already: Vec::new(),
        changed: Vec::new(),
        overwritten: Vec::new(),
        kept_directories: Vec::new(),
        preserved: Vec::new(),
        unknown: Vec::new(),
        remaining: 0,
        earlier: 0,
        still_applied: 0,
        undone: 0,
    };
    let journals = Journal::all(context.session)?;
    let Some(journal) = first_chosen(direction.choose(&journals, &request.only, context.session)) else {
        let is_named = |path: &RawPath| request.only.iter().any(|named| path.starts_with(named));
        outcome.already = undone(&journals).into_iter().filter(|path| is_named(path)).cloned().collect();
        outcome.already.sort();
        outcome.unknown = request.only.iter().map(RawPath::from).collect();
        return Ok(outcome);
    };
    trust::check(context.session, journal)?;
    let project = open_project(&journal.root)?;
    let root = project.root_stat()?;
    if root.ino != journal.root_ino {
        bail!(
            "{} is not the directory that was applied to any more; nothing was changed",
            journal.root.display()
        );
    }
    let mut lock = ProjectLock::take(context.locks, &root, PATIENCE)?;
    finish_left_over(context, &mut lock, &project)?;
    // The left-over journal may have belonged to this session.
    let journals = Journal::all(context.session)?;
    let Some(choice) = direction.choose(&journals, &request.only, context.session) else {
        return Ok(outcome);
    };
    let numbers: BTreeSet<u32> = choice.pieces.iter().map(|piece| piece.journal.number).collect();
    for journal in journals.iter().filter(|journal| numbers.contains(&journal.number)) {
        trust::check(context.session, journal)?;
    }
    let is_known = |named: &Path| choice.pieces.iter().any(|piece| piece.operation.path.starts_with(named));
    outcome.unknown = request.only.iter().filter(|named| !is_known(named)).map(RawPath::from).collect();
    let undo_paths: Vec<PathBuf> =
        choice.pieces.iter().map(|piece| piece.journal.undo_path(context.session)).collect();
    let mut taken = Vec::with_capacity(choice.pieces.len());
    let mut changed = BTreeSet::new();
    for (piece, undo) in choice.pieces.iter().zip(&undo_paths) {
        let operation = piece.operation;
        let cannot_read = || format!("cannot read {}", project.path().join(&operation.path).display());
        let now = project.stat(&operation.path).with_context(cannot_read)?;
        let found = found(&project, operation, now.as_ref(), undo).with_context(cannot_read)?;
        if found == Found::Changed {
            changed.insert(operation.path.clone());
        }
        match found {
            Found::AsBefore => outcome.already.push(operation.path.clone()),
            Found::AsWritten | Found::Changed => taken.push(TakenBack { operation, now, undo }),
        }
    }
    if !changed.is_empty() && !request.force {
        outcome.status = UndoStatus::Conflict;
        outcome.already.clear();
        outcome.changed = changed.into_iter().collect();
        outcome.still_applied = still_applied(&journals).len();
        return Ok(outcome);
    }
    let steps = steps::for_undo(&project, &taken)?;
    refused_now::check(context.session, &project, &steps, direction.brings())?;
    context.crash_points.at("undo: planned");
    let purpose = direction.purpose(choice.of);
    let job = Job {
        project: &project,
        mount: None,
        purpose,
        steps: &steps,
        parts: &choice.parts,
        renames: &[],
        patch: None,
    };
    match run(context, &mut lock, &job)? {
        Ran::Done { kept_directories, .. } => {
            let taken: BTreeSet<RawPath> = steps.into_iter().map(|step| RawPath::from(step.path)).collect();
            outcome.already.retain(|path| !taken.contains(path));
            outcome.restored = taken.into_iter().chain(outcome.already.iter().cloned()).collect();
            outcome.restored.sort();
            outcome.restored.dedup();
            outcome.already.sort();
            outcome.already.dedup();
            outcome.overwritten = changed.into_iter().collect();
            outcome.kept_directories = kept_directories;
            outcome.remaining = choice.remaining;
            let journals = Journal::all(context.session)?;
            let standing = standing_applies(&journals);
            outcome.still_applied = still_applied(&journals).len();
            outcome.undone = undone(&journals).len();
            let own = direction == Direction::Redo || choice.remaining > 0;
            outcome.earlier = standing - usize::from(own).min(standing);
            outcome.status = match direction {
                Direction::Undo => UndoStatus::Undone,
                Direction::Redo => UndoStatus::Redone,
            };
        }
        Ran::Refused { conflicts, preserved } => {
            outcome.status = UndoStatus::Conflict;
            outcome.already.clear();
            outcome.changed = conflicts.into_iter().map(|(path, _)| path.into()).collect();
            outcome.preserved = raw(preserved);
        }
    }
    Ok(outcome)
}

/// The undos that can be reverted. One that found everything already restored has nothing to bring back.
fn undos(journals: &[Journal]) -> impl DoubleEndedIterator<Item = &Journal> {
    let is_undo = |journal: &&Journal| matches!(journal.purpose, Purpose::Undo { .. });
    journals.iter().filter(is_undo).filter(|journal| journal.stands() && !journal.operations.is_empty())
}

/// The paths of the session that are undone. What was undone before the last apply was decided about once more in that.
fn undone(journals: &[Journal]) -> HashSet<&RawPath> {
    let applies = journals.iter().filter(|journal| matches!(journal.purpose, Purpose::Apply));
    let last = applies.map(|journal| journal.number).max().unwrap_or_default();
    let since = undos(journals).filter(|journal| journal.number > last);
    since.flat_map(Journal::standing_operations).map(|operation| &operation.path).collect()
}

fn first_chosen(choice: Option<Choice<'_>>) -> Option<&Journal> {
    choice?.pieces.first().map(|piece| piece.journal)
}
