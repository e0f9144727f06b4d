//! Applies the agent's changes to the project, all or nothing, and reverts them again. Every step is journaled in the session first;
//! anything that the user changed meanwhile is a conflict and never overwritten.

mod agents_versions;
pub mod decided;
mod exchange;
mod found;
pub mod journal;
mod kept_patch;
mod lock;
pub mod progress;
mod record_file;
mod recover;
mod refused_now;
mod run;
mod select;
mod settle;
mod stage;
mod steps;
mod trust;
mod undo;
mod undo_choice;

pub use kept_patch::{AppliedPatch, applied_patches};
pub use recover::{Recovered, recover};
pub use select::Selection;
pub use undo::{UndoOutcome, UndoStatus, redo, undo, undo_with};
pub use undo_choice::UndoRequest;

use crate::model::raw_path::RawPath;
use crate::mount::CrashPoints;
use crate::mount::changes::compare::ConflictReason;
use crate::mount::changes::{Change, Ignored, Review, ThreeWay, patch, review};
use crate::mount::fs::tree::Tree;
use anyhow::bail;
use journal::{Journal, Purpose, Rename};
use lock::ProjectLock;
use run::{Job, Ran, raw, run};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

/// How long an apply waits for another one in the same project.
const PATIENCE: Duration = Duration::from_secs(30);

/// Where an apply keeps its records.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// The session directory.
    pub session: &'a Path,
    /// A directory of ours for the locks of projects.
    pub locks: &'a Path,
    pub crash_points: &'a CrashPoints,
    /// Whether to survive a power failure as well; tests on thousands of trees do without.
    pub durable: bool,
}

/// The outcome of an apply.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApplyOutcome {
    pub status: ApplyResult,
    /// What was applied.
    pub applied: Vec<Change>,
    /// Changes that could still be applied: conflicts, and what was not picked.
    pub remaining: Vec<Change>,
    /// Those of them that are decided: the project's version stays.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kept_yours: Vec<RawPath>,
    /// The conflicts that nobody has decided yet, because of which nothing was applied.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub undecided: Vec<RawPath>,
    /// Directories that the agent removed but that contain something it may not delete.
    pub kept_directories: Vec<RawPath>,
    /// Files that were moved aside because the user saved at that very moment.
    pub preserved: Vec<RawPath>,
    /// Everything that was found, as listed in the report.
    pub review: Review,
    /// The journal that an undo would revert.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub journal: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ApplyResult {
    Applied,
    /// There was nothing to apply.
    Nothing,
    /// Nothing was changed, because something needs a decision first.
    Conflict,
}

/// Applies the selected changes.
pub fn apply(
    context: &Context<'_>,
    sides: &ThreeWay<'_>,
    selection: &Selection,
    ignored: Ignored,
) -> anyhow::Result<ApplyOutcome> {
    check_root(sides)?;
    let _underway = progress::Underway::begin();
    let mut lock = ProjectLock::take(context.locks, &sides.project.root_stat()?, PATIENCE)?;
    context.crash_points.at("apply: locked");
    recover::finish_left_over(context, &mut lock, sides.project)?;
    // Under the lock, so that what is compared is what is applied. Recovery of a left-over journal may have restored files.
    let earlier = Journal::earlier(context.session)?;
    let sides = &ThreeWay { earlier, ..*sides };
    let mut review = review(sides, ignored)?;
    settle::settle(selection, sides, &mut review)?;
    let chosen = selection.choose(&review);
    let mut outcome = ApplyOutcome {
        status: ApplyResult::Nothing,
        applied: Vec::new(),
        remaining: chosen.rest.iter().map(|change| (*change).clone()).collect(),
        kept_yours: Vec::new(),
        undecided: chosen.undecided.iter().map(|change| change.path.clone()).collect(),
        kept_directories: review.kept_directories.clone(),
        preserved: Vec::new(),
        review: Review::default(),
        journal: None,
    };
    if !chosen.undecided.is_empty() {
        outcome.status = ApplyResult::Conflict;
        outcome.remaining.extend(chosen.changes.iter().map(|change| (*change).clone()));
        return Ok(ApplyOutcome { review, ..outcome });
    }
    let steps = steps::for_changes(sides, &chosen.changes)?;
    context.crash_points.at("apply: planned");
    let kept_yours = chosen.ours.iter().map(|change| change.path.clone()).collect();
    if steps.is_empty() {
        return Ok(ApplyOutcome { kept_yours, review, ..outcome });
    }
    let patch = patch_of(sides, &chosen.changes);
    let renames = renames_of(&chosen.changes);
    let job = Job {
        project: sides.project,
        mount: Some(sides.mount),
        purpose: Purpose::Apply,
        steps: &steps,
        parts: &[],
        renames: &renames,
        patch: patch.as_deref(),
    };
    match run(context, &mut lock, &job)? {
        Ran::Done { number, kept_directories } => {
            outcome.status = ApplyResult::Applied;
            outcome.kept_yours = kept_yours;
            // Conflicts are resolved now.
            let settled = |change: &&Change| Change { conflict: None, ..(*change).clone() };
            outcome.applied = chosen.changes.iter().map(settled).collect();
            outcome.kept_directories.extend(kept_directories);
            outcome.journal = Some(number);
        }
        Ran::Refused { conflicts, preserved } => {
            outcome.status = ApplyResult::Conflict;
            outcome.preserved = raw(preserved);
            for change in &chosen.changes {
                let mut change = (*change).clone();
                let found = conflicts.iter().find(|(path, _)| *path == change.path.0);
                change.conflict = found.map(|(_, reason)| *reason).or(change.conflict);
                outcome.remaining.push(change);
            }
            let is_named = outcome.remaining.iter().any(|change| change.conflict.is_some());
            if !is_named && let Some(first) = outcome.remaining.first_mut() {
                first.conflict = Some(ConflictReason::ChangedDuringApply);
            }
            let open = outcome.remaining.iter().filter(|change| change.conflict.is_some());
            outcome.undecided = open.map(|change| change.path.clone()).collect();
        }
    }
    Ok(ApplyOutcome { review, ..outcome })
}

/// The renames of which both halves are applied.
fn renames_of(changes: &[&Change]) -> Vec<Rename> {
    let gone: HashSet<(&RawPath, &RawPath)> =
        changes.iter().filter_map(|change| Some((&change.path, change.renamed_to.as_ref()?))).collect();
    let pair = |change: &&Change| {
        let from = change.renamed_from.as_ref()?;
        let is_whole = gone.contains(&(from, &change.path));
        is_whole.then(|| Rename { from: from.clone(), to: change.path.clone() })
    };
    changes.iter().filter_map(pair).collect()
}

/// The patch of what is about to be applied. An apply does not fail for want of its patch, which is left out if it cannot be made.
fn patch_of(sides: &ThreeWay<'_>, changes: &[&Change]) -> Option<Vec<u8>> {
    patch::bounded(sides, changes)
        .inspect_err(|error| tracing::warn!("the patch of what is applied is not kept: {error:#}"))
        .ok()
}

/// The directory at the project's path must be the one that was mounted.
fn check_root(sides: &ThreeWay<'_>) -> anyhow::Result<()> {
    if sides.project.root_stat()?.ino != sides.record.root_ino {
        bail!(
            "{} is not the directory that the session was started in any more; nothing was changed",
            sides.project.path().display()
        );
    }
    Ok(())
}

/// Opens the project of a session; the error explains if it is gone.
pub fn open_project(root: &Path) -> anyhow::Result<Tree> {
    use anyhow::Context as _;
    Tree::open(root).with_context(|| {
        format!("the project {} cannot be opened; the work is kept in the session", root.display())
    })
}

#[derive(Debug)]
enum Problem {
    /// The stage turned out to be on another filesystem than the project.
    CrossDevice,
    Other(anyhow::Error),
}

impl Problem {
    fn into_error(self) -> anyhow::Error {
        match self {
            Problem::CrossDevice => {
                anyhow::anyhow!(
                    "a part of the project is on another filesystem, so it cannot be changed in one step"
                )
            }
            Problem::Other(error) => error,
        }
    }
}

impl<E: Into<anyhow::Error>> From<E> for Problem {
    fn from(error: E) -> Problem {
        Problem::Other(error.into())
    }
}
