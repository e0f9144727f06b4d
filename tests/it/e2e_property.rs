//! Generated trees and edit scripts through the real backends: after an apply the project is what the agent left, except
//! what must not be applied; after an undo it is as before; nothing outside is touched; both backends come to the same.

use crate::support::mount::{Identity, ORDINARY_ID, World, identities as users, soon};
use crate::support::sessions::fast_world;
use agentworkforce::model::mount::{Effect, PathRule, RuleSource};
use agentworkforce::rules::{PathRules, Visibility, builtin_secret_rules};
use pretty_assertions::assert_eq;
use script::{Rng, base_tree, edit};
use serde_json::json;
use snapshot::{Node, Snapshot, identities, materialise, snapshot};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use texts::{Outcome, Texts};

// The generators of the laws that are tested in process.
#[allow(dead_code, reason = "shared with tests that use more of it")]
#[path = "../../src/mount/engine_tests/script.rs"]
mod script;
#[allow(dead_code, reason = "shared with tests that use more of it")]
#[path = "../../src/mount/engine_tests/snapshot.rs"]
mod snapshot;
#[allow(dead_code, reason = "shared with tests that use more of it")]
#[path = "../../src/mount/engine_tests/texts.rs"]
mod texts;

/// How many trees; each goes through every backend as every identity.
fn trees() -> u64 {
    std::env::var("AGENTWORKFORCE_REAL_TREES").ok().and_then(|count| count.parse().ok()).unwrap_or(300)
}

fn rules() -> PathRules {
    let rule = |pattern: &str, effect| PathRule {
        pattern: pattern.into(),
        effect,
        source: RuleSource::Persona,
        origin: "test".into(),
    };
    let mut rules = builtin_secret_rules();
    rules.extend([
        rule("private/", Effect::Hidden),
        rule("ro", Effect::Readonly),
        rule("!ro/open/", Effect::Readonly),
    ]);
    PathRules::compile(&rules).unwrap()
}

/// What was there, what the agent saw, and what it left.
struct Story {
    is_repository: bool,
    base: Snapshot,
    seen: Snapshot,
    after: Snapshot,
    /// Files that the user edits while the agent works; half of the stories have some.
    texts: Option<Texts>,
    rng: Rng,
}

impl Story {
    fn new(seed: u64) -> Story {
        let mut rng = Rng::new(seed);
        let mut base = base_tree(&mut rng);
        // The repository is a real one here.
        let is_repository = base.contains_key(Path::new(".git"));
        base.retain(|path, _| !path.starts_with(".git") && !path.starts_with(".gitignore"));
        let rules = rules();
        let is_seen = |(path, node): &(&PathBuf, &Node)| !rules.decide(path, node.is_dir()).is_hidden();
        let seen: Snapshot =
            base.iter().filter(is_seen).map(|(path, node)| (path.clone(), node.clone())).collect();
        let mut after = seen.clone();
        edit(&mut rng, &mut after);
        let mut seen = seen;
        let texts = (!seed.is_multiple_of(2)).then(|| Texts::generate(&mut rng));
        if let Some(texts) = &texts {
            base.extend(texts.base());
            seen.extend(texts.base());
            after.extend(texts.agents());
        }
        Story { is_repository, base, seen, after, texts, rng }
    }

    /// What the project must be after an apply, or `None` if that has to be a conflict.
    fn expected(&self) -> Option<Snapshot> {
        let rules = rules();
        let is_kept = |path: &Path, node: &Node| {
            let is_ignored = self.is_repository
                && path.ancestors().any(|at| {
                    let is_dir = at != path || node.is_dir();
                    at.extension().is_some_and(|extension| extension == "o")
                        || (is_dir && at.file_name().is_some_and(|name| name == "ignored"))
                });
            let visibility = rules.decide(path, node.is_dir()).visibility;
            is_ignored || *node == Node::Fifo || visibility != Visibility::Writable
        };
        // One half of a move whose other half is never applied.
        let is_moved = |path: &Path, node: &Node| {
            let Node::File { bytes, .. } = node else { return false };
            let has_them = |node: &Node| matches!(node, Node::File { bytes: other, .. } if other == bytes);
            !bytes.is_empty()
                && !self.after.contains_key(path)
                && self.after.iter().any(|(to, after)| {
                    let is_protected = rules.decide(to, false).visibility != Visibility::Writable;
                    is_protected && has_them(after) && !self.base.get(to).is_some_and(has_them)
                })
        };
        let mut result = Snapshot::new();
        for (path, node) in &self.base {
            let is_not_replaced = self.after.get(path).is_some_and(|after| is_kept(path, after));
            if is_kept(path, node) || is_not_replaced || is_moved(path, node) {
                result.insert(path.clone(), node.clone());
            }
        }
        for (path, node) in self.after.iter().filter(|(path, node)| !is_kept(path, node)) {
            let hits_hidden = self.base.contains_key(path) && !self.seen.contains_key(path);
            if hits_hidden {
                return None;
            }
            result.insert(path.clone(), node.clone());
        }
        // What stays or comes needs its directories.
        for path in result.keys().cloned().collect::<Vec<_>>() {
            for parent in path.ancestors().skip(1).filter(|parent| !parent.as_os_str().is_empty()) {
                if let Some(node) = result.get(parent) {
                    if !node.is_dir() {
                        return None;
                    }
                    continue;
                }
                let node =
                    self.base.get(parent).or_else(|| self.after.get(parent)).filter(|node| node.is_dir())?;
                result.insert(parent.to_owned(), node.clone());
            }
        }
        match self.texts.as_ref().map(Texts::expected) {
            Some(Outcome::Conflict) => return None,
            Some(Outcome::Merged(merged)) => result.extend(merged),
            None => {}
        }
        Some(result)
    }

    /// The edits as a shell script, with the contents in files beside it.
    fn script(&mut self, world: &World) -> PathBuf {
        let mut text: Vec<u8> = b"set -e\numask 022\n".to_vec();
        let mut line = |words: &[&[u8]]| {
            for word in words {
                text.extend_from_slice(b"'");
                text.extend_from_slice(word);
                text.extend_from_slice(b"' ");
            }
            text.push(b'\n');
        };
        let here = |path: &Path| [b"./".as_slice(), path.as_os_str().as_bytes()].concat();
        let blobs = world.path("blobs");
        fs::create_dir(&blobs).unwrap();
        let (seen, after) = (&self.seen, &self.after);
        let is_doomed = |path: &Path| match (&seen[path], after.get(path)) {
            (Node::Dir { .. }, Some(Node::Dir { .. })) => false,
            (node, Some(new)) => node != new,
            (_, None) => true,
        };
        // Files that only go elsewhere are moved.
        let mut moved: BTreeMap<&Path, PathBuf> = BTreeMap::new();
        let mut sources: BTreeSet<&Path> = BTreeSet::new();
        let mut in_place: BTreeSet<&Path> = BTreeSet::new();
        for (path, node) in after.iter().filter(|(path, _)| !seen.contains_key(*path)) {
            let Node::File { bytes, .. } = node else { continue };
            let source = seen.iter().find(|(from, old)| {
                *old == node
                    && !bytes.is_empty()
                    && !after.contains_key(*from)
                    && !sources.contains(from.as_path())
            });
            if let Some((from, _)) = source {
                let aside = blobs.join(format!("moved-{}", moved.len()));
                line(&[b"mv", &here(from), aside.as_os_str().as_bytes()]);
                sources.insert(from);
                moved.insert(path, aside);
            }
        }
        for (path, node) in seen.iter().rev() {
            if !is_doomed(path) || sources.contains(path.as_path()) {
                continue;
            }
            match (node, after.get(path)) {
                (Node::File { mode, .. }, Some(Node::File { .. }))
                    if mode & 0o200 != 0 && self.rng.one_in(2) =>
                {
                    in_place.insert(path);
                }
                // A directory goes with what is in it: gone already, or a planted or hidden thing that nobody sees.
                (Node::Dir { .. }, _) => line(&[b"rm", b"-rf", &here(path)]),
                _ => line(&[b"rm", b"-f", &here(path)]),
            }
        }
        for (path, node) in seen.iter().filter(|(path, _)| !is_doomed(path)) {
            // Away and back: the same directory, without what was hidden in it.
            if node.is_dir() && self.rng.one_in(5) {
                let aside = [here(path).as_slice(), b".aside"].concat();
                line(&[b"mv", &here(path), &aside]);
                line(&[b"mv", &aside, &here(path)]);
            }
        }
        for (number, (path, node)) in after.iter().enumerate() {
            let old = seen.get(path).filter(|_| !is_doomed(path));
            if old == Some(node) {
                continue;
            }
            let target = here(path);
            match node {
                Node::Dir { mode } => {
                    if old.is_none() {
                        line(&[b"mkdir", &target]);
                    }
                    line(&[b"chmod", format!("{mode:o}").as_bytes(), &target]);
                }
                Node::File { mode, .. } if moved.contains_key(path.as_path()) => {
                    let aside = &moved[path.as_path()];
                    line(&[b"mv", aside.as_os_str().as_bytes(), &target]);
                    line(&[b"chmod", format!("{mode:o}").as_bytes(), &target]);
                }
                Node::File { bytes, mode } => {
                    let blob = blobs.join(number.to_string());
                    fs::write(&blob, bytes).unwrap();
                    if !in_place.contains(path.as_path()) {
                        line(&[b"test", b"!", b"-e", &target]);
                    }
                    line(&[b"cp", blob.as_os_str().as_bytes(), &target]);
                    line(&[b"chmod", format!("{mode:o}").as_bytes(), &target]);
                }
                Node::Link { target: to } => line(&[b"ln", b"-s", b"--", to.as_bytes(), &target]),
                Node::Fifo => line(&[b"mkfifo", &target]),
            }
        }
        let script = world.path("script.sh");
        fs::write(&script, text).unwrap();
        script
    }
}

fn without_git(mut tree: Snapshot) -> Snapshot {
    tree.retain(|path, _| !path.starts_with(".git") && !path.starts_with(".gitignore"));
    tree
}

fn check(seed: u64, backend: &str, who: Identity) {
    let mut story = Story::new(seed);
    let world = fast_world(who);
    let (project, outside) = (world.project(), world.path("outside"));
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file"), "outside").unwrap();
    materialise(&project, &story.base);
    if story.is_repository {
        fs::write(project.join(".gitignore"), "*.o\nignored/\n").unwrap();
        let status = std::process::Command::new("git")
            .args(["init", "-q", "--template=", "."])
            .current_dir(&project)
            .status()
            .unwrap();
        assert!(status.success());
    }
    let script = story.script(&world);
    let mount = json!({"ignoredPatterns": ["private/"], "readonlyPatterns": ["ro", "!ro/open/"]});
    world.persona(&json!({"id": "p", "intent": "p", "description": "p", "harness": "claude", "systemPrompt": "x", "mount": mount}));
    let around = identities(&outside);
    let script = script.to_str().unwrap();
    let flags = ["--persona", "p", "--mount", backend, "--keep"];
    let (before, inodes, ran) = match &story.texts {
        None => {
            let (before, inodes) = (snapshot(&project), identities(&project));
            let ran = world.aw(["mount", "--persona", "p", "--mount", backend, "--keep", "--", "sh", script]);
            (before, inodes, ran)
        }
        Some(texts) => {
            let run = world.waiting(&flags, &format!("sh '{script}'"), "");
            let id = world.only_session();
            assert!(soon(|| world.sessions().join(&id).join("base/contents.json").exists()));
            texts.edit_as_user(&project, &mut story.rng);
            for path in texts.base().keys().map(|path| project.join(path)) {
                // To give a file to its owner is a change.
                if who == Identity::Ordinary && fs::metadata(&path).unwrap().uid() != ORDINARY_ID {
                    std::os::unix::fs::chown(&path, Some(ORDINARY_ID), Some(ORDINARY_ID)).unwrap();
                }
            }
            let (before, inodes) = (snapshot(&project), identities(&project));
            (before, inodes, run.go())
        }
    };
    let session = world.sessions().join(world.only_session());
    let id = session.file_name().unwrap().to_str().unwrap();
    let is_doubtful = backend == "overlay" && story.texts.as_ref().is_some_and(Texts::are_doubtful);
    let ran = if is_doubtful && story.expected().is_some() {
        assert_eq!(
            (ran.code, snapshot(&project)),
            (3, before.clone()),
            "held until somebody has looked: {ran:#?}"
        );
        world.aw(["sessions", "apply", id, "--keep"])
    } else {
        ran
    };
    let after = snapshot(&project);
    let git = |tree: &Snapshot| -> Snapshot {
        tree.iter()
            .filter(|(path, _)| path.starts_with(".git"))
            .map(|(p, n)| (p.clone(), n.clone()))
            .collect()
    };
    assert_eq!(git(&after), git(&before), "the repository is the user's");
    if backend == "copy" {
        assert_eq!(without_git(snapshot(&session.join("mount"))), story.after, "the script did as it should");
    }
    match story.expected() {
        None => {
            assert_eq!(ran.code, 3, "{ran:#?}");
            assert_eq!(after, before, "a conflict changes nothing");
        }
        Some(expected) => {
            assert_eq!(ran.code, 0, "{ran:#?}");
            assert_eq!(without_git(after.clone()), expected, "{ran:#?}");
            let undone = world.aw(["sessions", "undo", id]);
            assert_eq!(undone.code, if after == before { 2 } else { 0 }, "{undone:#?}");
            assert_eq!(snapshot(&project), before, "undo restores");
            assert_eq!(identities(&project), inodes, "undo gives back the very files");
        }
    }
    assert_eq!(identities(&outside), around, "nothing outside is touched");
    assert_eq!(fs::read_to_string(outside.join("file")).unwrap(), "outside");
}

#[test]
fn the_laws_hold_through_every_real_backend() {
    let mut runs: Vec<(&str, Identity)> = users().into_iter().map(|who| ("overlay", who)).collect();
    runs.push(("copy", *users().last().unwrap()));
    let next = AtomicU64::new(0);
    let total = trees() * runs.len() as u64;
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= total {
                        return;
                    }
                    let (backend, who) = runs[usize::try_from(number).unwrap() % runs.len()];
                    let seed = number / runs.len() as u64;
                    if let Err(panic) = std::panic::catch_unwind(|| check(seed, backend, who)) {
                        eprintln!("the laws do not hold for seed {seed} with {backend} as {who:?}");
                        next.store(total, Ordering::Relaxed);
                        std::panic::resume_unwind(panic);
                    }
                }
            });
        }
    });
    println!("{} trees through each of {runs:?}", trees());
}
