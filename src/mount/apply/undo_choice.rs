//! Selects the operations that an undo reverts: those of the last apply, or of the last one that wrote to a named path, together with
//! the other operations that they need. It changes nothing.

use super::journal::{Action, Journal, Operation, Part, Rename, first_apply};
use super::stage::content_of;
use crate::model::raw_path::RawPath;
use crate::mount::changes::content_store::ContentHash;
use crate::mount::fs::stat::Kind;
use crate::mount::fs::tree::Tree;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

/// Write permission for the owner, without which a directory takes no entries.
const OWNER_WRITE: u32 = 0o200;

/// What to undo.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UndoRequest {
    /// Only these paths of the project, and what is below them; empty means everything.
    pub only: Vec<PathBuf>,
    /// Even what the user has changed since. The user's version goes to the undo copies.
    pub force: bool,
}

/// An operation of a journal in effect.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece<'a> {
    pub(super) journal: &'a Journal,
    pub(super) operation: &'a Operation,
}

/// What is reverted together.
#[derive(Debug)]
pub(super) struct Choice<'a> {
    pub(super) pieces: Vec<Piece<'a>>,
    /// The journal that a later redo belongs to.
    pub(super) of: u32,
    /// Empty if it is the whole journal.
    pub(super) parts: Vec<Part>,
    /// The paths of the same apply that stay.
    pub(super) remaining: usize,
}

/// The number of applies whose work, or a part of it, is in the project.
pub(super) fn standing_applies(journals: &[Journal]) -> usize {
    let roots: HashSet<u32> =
        applied(journals).map(|journal| first_apply(journals, journal).number).collect();
    roots.len()
}

/// The paths whose work is in the project.
pub(super) fn still_applied(journals: &[Journal]) -> HashSet<&RawPath> {
    applied(journals).flat_map(Journal::standing_operations).map(|operation| &operation.path).collect()
}

fn applied(journals: &[Journal]) -> impl Iterator<Item = &Journal> {
    journals.iter().filter(|journal| journal.purpose.applies() && journal.stands())
}

/// `None` if the project has nothing of the session. `session` contains the undo copies.
pub(super) fn choose<'a>(journals: &'a [Journal], only: &[PathBuf], session: &Path) -> Option<Choice<'a>> {
    let is_named =
        |operation: &Operation| only.is_empty() || only.iter().any(|named| operation.path.starts_with(named));
    let root = applied(journals)
        .filter(|journal| journal.standing_operations().any(is_named))
        .map(|journal| first_apply(journals, journal).number)
        .max()?;
    // An undo of some paths that was redone is a journal of its own, and still belongs to its apply.
    let all: Vec<Piece<'a>> = applied(journals)
        .filter(|journal| first_apply(journals, journal).number == root)
        .flat_map(|journal| journal.standing_operations().map(move |operation| Piece { journal, operation }))
        .collect();
    let mut paths: HashSet<&Path> = all
        .iter()
        .filter(|piece| is_named(piece.operation))
        .map(|piece| piece.operation.path.0.as_path())
        .collect();
    if !only.is_empty() {
        let renames = journals.iter().find(|journal| journal.number == root).map(|apply| &apply.renames[..]);
        add_other_halves_of_moves(&all, renames.unwrap_or_default(), &mut paths, session);
        add_directories(&all, &mut paths);
    }
    let (pieces, rest): (Vec<Piece<'a>>, Vec<Piece<'a>>) =
        all.into_iter().partition(|piece| paths.contains(piece.operation.path.0.as_path()));
    let mut parts: BTreeMap<u32, Vec<RawPath>> = BTreeMap::new();
    for piece in &pieces {
        parts.entry(piece.journal.number).or_default().push(piece.operation.path.clone());
    }
    let of = *parts.keys().last()?;
    let remaining: HashSet<&RawPath> = rest.iter().map(|piece| &piece.operation.path).collect();
    let is_whole = rest.is_empty() && parts.len() == 1;
    let parts =
        if is_whole { Vec::new() } else { parts.into_iter().map(|(of, paths)| Part { of, paths }).collect() };
    Some(Choice { pieces, of, parts, remaining: remaining.len() })
}

/// All of one journal.
pub(super) fn whole(journal: &Journal) -> Choice<'_> {
    let pieces = journal.standing_operations().map(|operation| Piece { journal, operation }).collect();
    Choice { pieces, of: journal.number, parts: Vec::new(), remaining: 0 }
}

/// A move is reverted as a whole: one half alone would lose or duplicate the file. Moves are what the review showed as renames;
/// otherwise, and in journals that do not record them, files with the same content.
fn add_other_halves_of_moves<'a>(
    all: &[Piece<'a>],
    renames: &[Rename],
    paths: &mut HashSet<&'a Path>,
    session: &Path,
) {
    let mut other_halves: HashMap<&Path, &Path> = HashMap::new();
    for Rename { from, to } in renames {
        other_halves.extend([(from.0.as_path(), to.0.as_path()), (to.0.as_path(), from.0.as_path())]);
    }
    let shown: HashSet<&Path> = paths.iter().filter_map(|path| other_halves.get(path).copied()).collect();
    paths
        .extend(all.iter().map(|piece| piece.operation.path.0.as_path()).filter(|path| shown.contains(path)));
    let is_shown = |path: &Path| other_halves.contains_key(path);
    let content_before = |piece: &Piece<'_>| -> Option<ContentHash> {
        let undo = Tree::open(&piece.journal.undo_path(session)).ok()?;
        content_of(&undo, Path::new(&piece.operation.slot))
    };
    let size_of_gone = |operation: &Operation| match operation.action {
        Action::Delete => operation.old.filter(|old| old.kind == Kind::File).map(|old| old.size),
        _ => None,
    };
    let size_of_new = |operation: &Operation| match operation.action {
        Action::Create => operation.new.filter(|new| new.kind == Kind::File).map(|new| new.size),
        _ => None,
    };
    let mut halves: Vec<&'a Path> = Vec::new();
    let is_alone = |path: &Path| paths.contains(path) && !is_shown(path);
    for piece in all.iter().filter(|piece| is_alone(&piece.operation.path)) {
        let other = |size: u64,
                     size_of: &dyn Fn(&Operation) -> Option<u64>,
                     is_other: &dyn Fn(&Piece<'a>) -> bool| {
            let is_half = |other: &&Piece<'a>| {
                let path = other.operation.path.0.as_path();
                size > 0
                    && size_of(other.operation) == Some(size)
                    && !paths.contains(path)
                    && !is_shown(path)
                    && !halves.contains(&path)
                    && is_other(other)
            };
            let found: Vec<&Path> =
                all.iter().filter(is_half).map(|other| other.operation.path.0.as_path()).collect();
            let name = piece.operation.path.file_name();
            found.iter().find(|path| path.file_name() == name).or(found.first()).copied()
        };
        let half = if let Some(size) = size_of_new(piece.operation) {
            let written = piece.operation.written.as_ref();
            other(size, &size_of_gone, &|gone| written.is_some() && content_before(gone).as_ref() == written)
        } else if let Some(size) = size_of_gone(piece.operation) {
            let before = content_before(piece);
            other(size, &size_of_new, &|new| before.is_some() && new.operation.written == before)
        } else {
            None
        };
        halves.extend(half);
    }
    paths.extend(halves);
}

/// A file that comes back needs its directory, and a directory that takes entries must be writable.
fn add_directories<'a>(all: &[Piece<'a>], paths: &mut HashSet<&'a Path>) {
    let above: HashSet<&Path> = paths.iter().flat_map(|path| path.ancestors().skip(1)).collect();
    let is_needed = |operation: &Operation| match operation.action {
        Action::RemoveDir | Action::Replace => operation.old.is_some_and(|old| old.kind == Kind::Dir),
        Action::Chmod { from, to } => to & OWNER_WRITE == 0 && from & OWNER_WRITE != 0,
        Action::Create | Action::Delete => false,
    };
    // To take back that it was made would be more than that.
    let made: HashSet<&Path> = all
        .iter()
        .filter(|piece| piece.operation.action == Action::Create)
        .map(|piece| piece.operation.path.0.as_path())
        .collect();
    let needed: Vec<&'a Path> = all
        .iter()
        .map(|piece| piece.operation)
        .filter(|operation| above.contains(operation.path.0.as_path()) && is_needed(operation))
        .map(|operation| operation.path.0.as_path())
        .filter(|path| !made.contains(path))
        .collect();
    paths.extend(needed);
}
