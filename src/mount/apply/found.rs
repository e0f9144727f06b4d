//! Determines what an undo finds at a path: what the journal wrote, what was there before, or something of the user's. It compares by
//! content, so that saving and restoring a file does not count as a change. It changes nothing.

use super::journal::{Action, Operation};
use super::stage::content_of;
use crate::mount::fs::data;
use crate::mount::fs::stat::{Kind, Stat};
use crate::mount::fs::tree::Tree;
use std::io;
use std::path::Path;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    AsWritten,
    /// Somebody has already undone it.
    AsBefore,
    Changed,
}

/// Examines the path of an operation. `undo` is where its journal has put what it took out of the project.
pub(super) fn found(
    project: &Tree,
    operation: &Operation,
    now: Option<&Stat>,
    undo: &Path,
) -> io::Result<Found> {
    Ok(if is_as_written(project, operation, now) {
        Found::AsWritten
    } else if is_as_before(project, operation, now, undo)? {
        Found::AsBefore
    } else {
        Found::Changed
    })
}

fn is_as_written(project: &Tree, operation: &Operation, now: Option<&Stat>) -> bool {
    let (post, now) = match (operation.post.as_ref(), now) {
        (None, None) => return true,
        (Some(post), Some(now)) if post.kind == now.kind && post.mode == now.mode => (post, now),
        _ => return false,
    };
    // Which inode a directory is does not matter, nor what a file holds whose mode alone was changed.
    if now == post || now.kind == Kind::Dir || matches!(operation.action, Action::Chmod { .. }) {
        return true;
    }
    match &operation.written {
        Some(written) => {
            now.size == post.size
                && content_of(project, &operation.path).is_some_and(|content| content == *written)
                && is_still(project, &operation.path, now)
        }
        // Not the ctime: an undo that was taken back has changed it. What comes out is kept in any case.
        None => now.is_same_content(post),
    }
}

fn is_as_before(project: &Tree, operation: &Operation, now: Option<&Stat>, undo: &Path) -> io::Result<bool> {
    let path = operation.path.0.as_path();
    let (old, now) = match (operation.action, operation.old.as_ref(), now) {
        (Action::Create, _, now) => return Ok(now.is_none()),
        (Action::Chmod { from, .. }, _, now) => {
            let is_kind = |now: &&Stat| operation.post.is_none_or(|post| post.kind == now.kind);
            return Ok(now.filter(is_kind).is_some_and(|now| now.permissions() == from));
        }
        (_, Some(old), Some(now)) if old.kind == now.kind => (old, now),
        _ => return Ok(false),
    };
    if old.kind == Kind::Dir {
        return Ok(true);
    }
    if old.mode != now.mode || old.size != now.size {
        return Ok(false);
    }
    let Ok(undo) = Tree::open(undo) else { return Ok(false) };
    let slot = Path::new(&operation.slot);
    let is_same = match old.kind {
        Kind::Symlink => project.read_link(path)? == undo.read_link(slot)?,
        Kind::File => match (project.open_file(path), undo.open_file(slot)) {
            (Ok((ours, _)), Ok((before, _))) => data::is_same(&ours, &before)?,
            _ => false,
        },
        Kind::Dir | Kind::Special => false,
    };
    Ok(is_same && is_still(project, path, now))
}

/// Whether the file was not written to while we read it.
fn is_still(project: &Tree, path: &Path, seen: &Stat) -> bool {
    project.stat(path).is_ok_and(|now| now.as_ref() == Some(seen))
}
