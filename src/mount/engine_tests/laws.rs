//! After an apply the project is what the agent left, except what must not be applied; after an undo it is as before;
//! nothing outside is touched; and both backends come to the same.

use super::merging;
use super::script::Rng;
use super::snapshot::{Node, Snapshot, identities, snapshot};
use super::world::{Home, Run, World, rules};
use crate::mount::CrashPoints;
use crate::mount::apply::{ApplyResult, undo};
use crate::rules::{PathRules, Visibility};
use pretty_assertions::assert_eq;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// How many trees; CI takes the default.
fn trees() -> u64 {
    std::env::var("AGENTWORKFORCE_TREES").ok().and_then(|count| count.parse().ok()).unwrap_or(10_000)
}

/// What the project must be after an apply, or `None` if that has to be a conflict.
pub(super) fn expected(world: &World) -> Option<Snapshot> {
    let compiled = PathRules::compile(&rules()).unwrap();
    let is_repository = world.base.contains_key(Path::new(".git"));
    let is_kept = |path: &Path, node: &Node| {
        let ignored = is_repository
            && path.ancestors().any(|at| {
                let is_dir = at != path || node.is_dir();
                at.extension().is_some_and(|extension| extension == "o")
                    || (is_dir && at.file_name().is_some_and(|name| name == "ignored"))
            });
        let is_special = *node == Node::Fifo;
        ignored || is_special || compiled.decide(path, node.is_dir()).visibility != Visibility::Writable
    };
    // One half of a move whose other half is never applied.
    let is_moved = |path: &Path, node: &Node| {
        let Node::File { bytes, .. } = node else { return false };
        let has_them = |node: &Node| matches!(node, Node::File { bytes: other, .. } if other == bytes);
        !bytes.is_empty()
            && !world.after.contains_key(path)
            && world.after.iter().any(|(to, after)| {
                let is_protected = compiled.decide(to, false).visibility != Visibility::Writable;
                is_protected && has_them(after) && !world.base.get(to).is_some_and(has_them)
            })
    };
    let mut result = Snapshot::new();
    for (path, node) in &world.base {
        // What the agent put in its place is not applied, so it stays.
        let is_not_replaced = world.after.get(path).is_some_and(|after| is_kept(path, after));
        if is_kept(path, node) || is_not_replaced || is_moved(path, node) {
            result.insert(path.clone(), node.clone());
        }
    }
    for (path, node) in &world.after {
        if !is_kept(path, node) {
            result.insert(path.clone(), node.clone());
        }
    }
    // What stays or comes needs its directories.
    let paths: Vec<PathBuf> = result.keys().cloned().collect();
    for path in paths {
        for parent in path.ancestors().skip(1).filter(|parent| !parent.as_os_str().is_empty()) {
            match result.get(parent) {
                Some(Node::Dir { .. }) => {}
                // The agent made something else of a directory that holds what is not its to delete.
                Some(_) => return None,
                None => {
                    let node = match (world.base.get(parent), world.after.get(parent)) {
                        (Some(base), _) => base,
                        (None, Some(after)) => after,
                        (None, None) => return None,
                    };
                    if !node.is_dir() {
                        return None;
                    }
                    result.insert(parent.to_owned(), node.clone());
                }
            }
        }
    }
    // A new path of the agent's where the project has something that it could not see.
    let hits_hidden = world.after.iter().any(|(path, node)| {
        let hidden = world.base.contains_key(path) && !world.seen.contains_key(path);
        hidden && !is_kept(path, node)
    });
    if hits_hidden { None } else { Some(result) }
}

fn check(seed: u64) {
    let mut rng = Rng::new(seed);
    let world = World::generate(&mut rng);
    let expected = expected(&world);
    let mut runs = vec![Run::copied(&world), Run::overlaid(&world, &mut rng)];
    if seed.is_multiple_of(16) {
        runs.push(Run::copied_in(&world, Home::OnAnotherFilesystem));
    }
    for run in runs {
        let backend = run.record.backend;
        let (before, inodes, outside) =
            (snapshot(&run.project), identities(&run.project), identities(&run.outside));
        let outcome = run.apply();
        let after = snapshot(&run.project);
        match &expected {
            None => {
                assert_eq!(outcome.status, ApplyResult::Conflict, "{backend:?}");
                assert_eq!(after, before, "{backend:?}: a conflict changes nothing");
            }
            Some(expected) => {
                assert!(outcome.status != ApplyResult::Conflict, "{backend:?}: {:?}", outcome.remaining);
                assert_eq!(&after, expected, "{backend:?}");
                assert!(run.review().changes.is_empty(), "{backend:?}: applied twice is applied once");
            }
        }
        let undone = undo(&run.context(&CrashPoints::none())).unwrap();
        assert_eq!(undone.changed, [], "{backend:?}");
        assert_eq!(snapshot(&run.project), before, "{backend:?}: undo restores");
        let now = identities(&run.project);
        if run.session.starts_with(run.project.parent().unwrap()) {
            assert_eq!(now, inodes, "{backend:?}: undo gives back the very files");
        } else {
            let times = |files: &BTreeMap<PathBuf, (u64, i64, i64)>| -> Vec<(i64, i64)> {
                files.values().map(|(_, seconds, nanos)| (*seconds, *nanos)).collect()
            };
            assert_eq!(times(&now), times(&inodes), "{backend:?}: undo gives back the times");
        }
        assert_eq!(identities(&run.outside), outside, "{backend:?}: nothing outside is touched");
    }
}

#[test]
fn the_laws_hold_on_generated_trees() {
    let next = std::sync::atomic::AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    if seed >= trees() {
                        return;
                    }
                    // Half of the time the user edits the same files.
                    let check = if seed.is_multiple_of(2) { check } else { merging::check };
                    if let Err(panic) = std::panic::catch_unwind(|| check(seed)) {
                        eprintln!("the laws do not hold for seed {seed}");
                        std::panic::resume_unwind(panic);
                    }
                }
            });
        }
    });
}
