//! The frozen changes of a run as evidence, and back: which of the engine's changes a path of the evidence is.

use crate::model::raw_path::RawPath;
use crate::mount::changes::Change;
use crate::mount::changes::frozen::{Frozen, FrozenSide};
use crate::mount::fs::stat::Kind;
use crate::run::frozen::FrozenWork;
use crate::work::evidence::{ChangeSet, ChangedFile, FileState, Node};
use crate::work::path_kind::is_cache;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The change set, and the paths that are by-products of tools: new, in a directory of caches or written by the commands
/// themselves. `written` is what they write.
pub fn change_set(work: &FrozenWork, written: &BTreeSet<PathBuf>) -> ChangeSet {
    let mut set = ChangeSet {
        ignored: names(&work.ignored),
        protected: names(&work.protected),
        restored: names(&work.unchanged),
        ..ChangeSet::default()
    };
    for (change, frozen) in &work.changes {
        let name = name_of(&change.path);
        let is_new = frozen.is_base_known && frozen.before.is_none() && change.renamed_from.is_none();
        if is_new && (is_cache(&name) || written.contains(&change.path.0)) {
            set.by_products.push(name);
            continue;
        }
        if !frozen.is_base_known {
            set.unknown_base.push(name.clone());
        }
        let (before, after) = (state(frozen.before.as_ref()), state(frozen.after.as_ref()));
        if before == after {
            // An older writing of the same: the user has changed it meanwhile, the agent has not.
            set.restored.push(name);
            continue;
        }
        // A directory says nothing that its files do not say.
        let is_directory =
            |side: &Option<FileState>| side.as_ref().is_none_or(|side| side.node == Node::Directory);
        if is_directory(&before) && is_directory(&after) {
            continue;
        }
        set.files.push(ChangedFile {
            path: change.path.clone(),
            kind: change.kind,
            renamed_from: change.renamed_from.clone(),
            before,
            after,
        });
    }
    set.files.sort_by(|a, b| a.path.cmp(&b.path));
    set
}

/// What was changed after an earlier state of the same work: for a part of it, all before is given.
pub fn since(earlier: &ChangeSet, now: ChangeSet) -> ChangeSet {
    let before: BTreeMap<&RawPath, Option<&FileState>> =
        earlier.files.iter().map(|file| (&file.path, file.after.as_ref())).collect();
    let is_new = |file: &ChangedFile| before.get(&file.path) != Some(&file.after.as_ref());
    let files = now.files.into_iter().filter(|file| is_new(file)).collect();
    let protected = now.protected.into_iter().filter(|path| !earlier.protected.contains(path)).collect();
    ChangeSet { files, protected, ..now }
}

fn state(side: Option<&FrozenSide>) -> Option<FileState> {
    let FrozenSide { kind, mode, hash, size, text, target } = side?.clone();
    let node = match (kind, target) {
        (Kind::Dir, _) => Node::Directory,
        (Kind::Symlink, Some(target)) => Node::Link(target),
        _ => Node::File(text),
    };
    Some(FileState { node, mode, hash, size })
}

/// The changes of the engine without some paths. Directories stay: files below them need them.
pub fn without(changes: &[Change], paths: &[RawPath]) -> Vec<Change> {
    let left_out: BTreeSet<&Path> = paths.iter().map(|path| path.0.as_path()).collect();
    changes.iter().filter(|change| !left_out.contains(change.path.0.as_path())).cloned().collect()
}

/// Those of these paths, with the directories above them.
pub fn only(changes: &[Change], paths: &[RawPath]) -> Vec<Change> {
    let is_needed = |change: &&Change| {
        let path = change.path.0.as_path();
        paths.iter().any(|wanted| {
            let is_above = change.node == Kind::Dir && change.after.kind() == Some(Kind::Dir);
            wanted.0 == path || (is_above && wanted.0.starts_with(path))
        })
    };
    changes.iter().filter(is_needed).cloned().collect()
}

/// As evidence names paths.
pub fn name_of(path: &RawPath) -> String {
    path.0.to_string_lossy().into_owned()
}

fn names(paths: &[RawPath]) -> Vec<String> {
    paths.iter().map(name_of).collect()
}

/// Whether two frozen works are the same in everything that an apply would write.
pub fn is_same(a: &FrozenWork, b: &FrozenWork) -> bool {
    let sides = |work: &FrozenWork| -> Vec<(RawPath, Option<Frozen>)> {
        work.changes.iter().map(|(change, frozen)| (change.path.clone(), Some(frozen.clone()))).collect()
    };
    sides(a) == sides(b)
}
