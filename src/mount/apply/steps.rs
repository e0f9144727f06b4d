//! From chosen changes to steps in an order in which each can be done. Looks things up; changes nothing.

use super::journal::{Action, Operation};
use crate::model::change_kind::ChangeKind;
use crate::mount::changes::compare::After;
use crate::mount::changes::{Change, Merged, ThreeWay};
use crate::mount::fs::stat::{Kind, PERMISSIONS, Stat};
use crate::mount::fs::tree::{Lookup, Tree};
use anyhow::Context;
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The owner may write: without it a directory takes no entries.
const OWNER_WRITE: u32 = 0o200;

/// A step before anything is staged for it.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) path: PathBuf,
    pub(super) action: Action,
    pub(super) old: Option<Stat>,
    pub(super) content: Option<Content>,
    /// The project gets something of the user's, too.
    pub(super) merged: Option<Arc<Merged>>,
}

/// What is to be staged.
#[derive(Debug, Clone)]
pub(super) enum Content {
    /// The mount's file at the step's path.
    MountFile {
        mode: u32,
    },
    /// The project's own file, for another mode: that of the file itself would be that of its other names too.
    ProjectFile {
        mode: u32,
    },
    /// The text that was made of the mount's file and the user's.
    MergedFile {
        merged: Arc<Merged>,
        mode: u32,
    },
    Symlink {
        target: OsString,
    },
    Directory {
        mode: u32,
        owner: Option<(u32, u32)>,
    },
    /// The entry itself that an earlier apply took out.
    Undo {
        slot: PathBuf,
    },
}

/// The steps that carry out the agent's changes.
pub(super) fn for_changes(sides: &ThreeWay<'_>, changes: &[&Change]) -> anyhow::Result<Vec<Step>> {
    let mut steps = Vec::new();
    for change in changes {
        steps.extend(for_change(sides, change)?);
    }
    add_missing_parents(sides.project, Some(sides.mount), &mut steps)?;
    Ok(ordered(steps))
}

fn for_change(sides: &ThreeWay<'_>, change: &Change) -> anyhow::Result<Option<Step>> {
    let step = |action: Action, content: Option<Content>| {
        let merged = change.merged.clone();
        Some(Step { path: change.path.0.clone(), action, old: change.now, content, merged })
    };
    let content = match &change.after {
        After::Absent => {
            return Ok(match change.now {
                None => None,
                Some(stat) if stat.kind == Kind::Dir => step(Action::RemoveDir, None),
                Some(_) => step(Action::Delete, None),
            });
        }
        After::Special => return Ok(None),
        After::File { mode, .. } => match &change.merged {
            Some(merged) if merged.text.is_some() => {
                Content::MergedFile { merged: Arc::clone(merged), mode: mode & PERMISSIONS }
            }
            _ => Content::MountFile { mode: mode & PERMISSIONS },
        },
        After::Dir { mode } => Content::Directory { mode: mode & PERMISSIONS, owner: None },
        After::Symlink => {
            let target = sides.mount.read_link(&change.path).with_context(|| {
                format!("cannot read {}", sides.mount.path().join(&change.path).display())
            })?;
            Content::Symlink { target }
        }
    };
    let permissions = change.after.permissions();
    Ok(match (change.now, permissions) {
        (None, _) => step(Action::Create, Some(content)),
        (Some(stat), Some(mode))
            if Some(stat.kind) == change.after.kind()
                && (change.kind == ChangeKind::Mode || stat.kind == Kind::Dir) =>
        {
            let (action, content) = new_mode(sides.project, &change.path, &stat, mode)?;
            step(action, content)
        }
        (Some(_), _) => step(Action::Replace, Some(content)),
    })
}

/// A file that other names lead to is replaced: they may be protected, hidden, or outside of the project.
fn new_mode(project: &Tree, path: &Path, now: &Stat, to: u32) -> anyhow::Result<(Action, Option<Content>)> {
    let is_shared = now.kind == Kind::File
        && project
            .place(path)
            .and_then(|place| place.has_other_names())
            .with_context(|| format!("cannot read {}", project.path().join(path).display()))?;
    Ok(if is_shared {
        (Action::Replace, Some(Content::ProjectFile { mode: to }))
    } else {
        (Action::Chmod { from: now.permissions(), to }, None)
    })
}

/// A picked file may lie in a directory that was not picked, or that a rule keeps from being a change of its own; what an undo
/// restores, in one that the user removed.
fn add_missing_parents(project: &Tree, mount: Option<&Tree>, steps: &mut Vec<Step>) -> anyhow::Result<()> {
    // Nothing is below a file.
    let is_file = |step: &&Step| !matches!(step.content, None | Some(Content::Directory { .. }));
    let others = steps.iter().filter(|step| !is_file(step));
    let mut made: HashSet<PathBuf> = others.map(|step| step.path.clone()).collect();
    let mut parents = Vec::new();
    let mut last = None;
    for step in steps.iter().filter(|step| step.content.is_some()) {
        // Those of one directory mostly come together.
        if std::mem::replace(&mut last, step.path.parent()) == step.path.parent() {
            continue;
        }
        for parent in step.path.ancestors().skip(1).filter(|parent| !parent.as_os_str().is_empty()) {
            if made.contains(parent) || matches!(project.lookup(parent)?, Lookup::Present(_)) {
                continue;
            }
            let stat = mount.map(|mount| mount.stat(parent)).transpose()?.flatten();
            let permissions =
                stat.filter(|stat| stat.kind == Kind::Dir).map_or(0o755, |stat| stat.permissions());
            made.insert(parent.to_owned());
            parents.push(Step {
                path: parent.to_owned(),
                action: Action::Create,
                old: None,
                content: Some(Content::Directory { mode: permissions, owner: None }),
                merged: None,
            });
        }
    }
    steps.append(&mut parents);
    Ok(())
}

/// An operation to take back, with what is at its path now.
pub(super) struct TakenBack<'a> {
    pub(super) operation: &'a Operation,
    pub(super) now: Option<Stat>,
    /// Where the journal of the operation has put what it took out of the project.
    pub(super) undo: &'a Path,
}

/// The steps that take operations back.
pub(super) fn for_undo(project: &Tree, taken: &[TakenBack<'_>]) -> anyhow::Result<Vec<Step>> {
    let mut steps = Vec::new();
    for taken in taken {
        steps.extend(undo_step(project, taken)?);
    }
    close_what_is_made(&mut steps, taken);
    expect_what_is_opened(&mut steps);
    add_missing_parents(project, None, &mut steps)?;
    Ok(ordered(steps))
}

/// A directory that was opened and then removed comes back closed: with the mode that it is to have, not in two steps.
fn close_what_is_made(steps: &mut Vec<Step>, taken: &[TakenBack<'_>]) {
    let mode_before = |taken: &TakenBack<'_>| match taken.operation.action {
        Action::Chmod { from, .. } => Some((taken.operation.path.0.clone(), from)),
        _ => None,
    };
    let modes: HashMap<PathBuf, u32> = taken.iter().filter_map(mode_before).collect();
    let mut made = HashSet::new();
    for step in steps.iter_mut().filter(|step| matches!(step.action, Action::Create | Action::Replace)) {
        if let (Some(Content::Directory { mode, .. }), Some(to)) = (&mut step.content, modes.get(&step.path))
        {
            *mode = *to;
            made.insert(step.path.clone());
        }
    }
    steps.retain(|step| !(matches!(step.action, Action::Chmod { .. }) && made.contains(&step.path)));
}

/// A closed directory that gives way to a file is opened first, so that it can be emptied: it is found with that mode.
fn expect_what_is_opened(steps: &mut [Step]) {
    let mode = |step: &Step| match step.action {
        Action::Chmod { to, .. } => Some((step.path.clone(), to)),
        _ => None,
    };
    let modes: HashMap<PathBuf, u32> = steps.iter().filter_map(mode).collect();
    for step in steps.iter_mut().filter(|step| step.action == Action::Replace) {
        if let (Some(old), Some(to)) = (&mut step.old, modes.get(&step.path)) {
            old.mode = old.mode & !PERMISSIONS | to;
        }
    }
}

/// From what is there now, whatever the user made of it, to what was there before. What comes out is kept, as ever.
fn undo_step(project: &Tree, taken: &TakenBack<'_>) -> anyhow::Result<Option<Step>> {
    let TakenBack { operation, now, undo } = taken;
    let content_of = |old: &Stat| match old.kind {
        Kind::Dir => Content::Directory { mode: old.permissions(), owner: Some((old.uid, old.gid)) },
        _ => Content::Undo { slot: undo.join(&operation.slot) },
    };
    let (action, content) = match (operation.action, operation.old.as_ref(), now) {
        (Action::Chmod { from: before, .. }, _, now) => {
            // `post` is what there was at the end: the same journal may have put something else there.
            let changed = operation.old.or(operation.post);
            let is_kind = |now: &Stat| changed.is_none_or(|changed| changed.kind == now.kind);
            let Some(now) = now.filter(is_kind) else { return Ok(None) };
            new_mode(project, &operation.path, &now, before)?
        }
        (Action::Create, _, now) => {
            let Some(now) = now else { return Ok(None) };
            let is_dir = now.kind == Kind::Dir;
            (if is_dir { Action::RemoveDir } else { Action::Delete }, None)
        }
        (_, Some(old), None) => (Action::Create, Some(content_of(old))),
        // A directory that was kept, or is there again.
        (_, Some(old), Some(now)) if old.kind == Kind::Dir && now.kind == Kind::Dir => return Ok(None),
        (_, Some(old), Some(_)) => (Action::Replace, Some(content_of(old))),
        (_, None, _) => return Ok(None),
    };
    Ok(Some(Step { path: operation.path.0.clone(), action, old: *now, content, merged: None }))
}

/// - a directory that was closed and is to be opened, or to give way, first;
/// - what must go before a directory can become a file;
/// - everything new and changed, parents first;
/// - everything that goes, children first;
/// - modes last, so that a directory is filled before it is closed.
fn ordered(mut steps: Vec<Step>) -> Vec<Step> {
    let replaced: Vec<PathBuf> = steps
        .iter()
        .filter(|step| step.action == Action::Replace && step.old.is_some_and(|old| old.kind == Kind::Dir))
        .map(|step| step.path.clone())
        .collect();
    let is_cleared = |path: &Path| replaced.iter().any(|directory| path.starts_with(directory));
    let rank = |step: &Step| match step.action {
        Action::Chmod { from, to } => {
            if from & OWNER_WRITE == 0 && to & OWNER_WRITE != 0 || replaced.contains(&step.path) {
                0
            } else {
                4
            }
        }
        Action::Delete | Action::RemoveDir if is_cleared(&step.path) => 1,
        Action::Replace | Action::Create => 2,
        Action::Delete | Action::RemoveDir => 3,
    };
    steps.sort_by(|a, b| {
        let (rank_a, rank_b) = (rank(a), rank(b));
        let by_path = if matches!(rank_a, 0 | 2) { a.path.cmp(&b.path) } else { b.path.cmp(&a.path) };
        rank_a.cmp(&rank_b).then(by_path)
    });
    steps
}
