//! Generated trees, and edit scripts as an agent would run them, on a model.

use super::snapshot::{Node, Snapshot};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A small generator with a seed, so that a failure can be run again by its number.
pub(super) struct Rng(u64);

impl Rng {
    pub(super) fn new(seed: u64) -> Rng {
        Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    pub(super) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap()
    }

    pub(super) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(super) fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        if from.is_empty() { None } else { Some(&from[self.below(from.len())]) }
    }
}

const NAMES: [&[u8]; 20] = [
    b"a",
    b"b",
    b"c",
    b"A",
    b"src",
    b"lib.rs",
    "\u{fc}".as_bytes(),
    b"\xff\xfe",
    b"new\nline",
    b" sp ",
    b"-dash",
    b"x.o",
    b"ignored",
    b".env",
    b"private",
    b"ro",
    b"open",
    b"..c",
    b"d\x1b[31m",
    b"z",
];

pub(super) fn name(rng: &mut Rng) -> OsString {
    OsStr::from_bytes(NAMES[rng.below(NAMES.len())]).to_owned()
}

fn file(rng: &mut Rng) -> Node {
    let modes = [0o644, 0o644, 0o644, 0o755, 0o600, 0o444, 0o640];
    let length = if rng.one_in(40) { 70_000 } else { rng.below(12) };
    let bytes = (0..length).map(|_| rng.next().to_le_bytes()[0]).collect();
    Node::File { bytes, mode: modes[rng.below(modes.len())] }
}

fn dir(rng: &mut Rng) -> Node {
    Node::Dir { mode: [0o755, 0o755, 0o700, 0o775][rng.below(4)] }
}

fn link(rng: &mut Rng) -> Node {
    // In, out, broken, looping, absolute.
    let targets =
        ["a", "../outside/file", "../outside", "nowhere", "loop", ".", "/etc/passwd", "../../../../etc"];
    Node::Link { target: targets[rng.below(targets.len())].into() }
}

pub(super) fn directories(tree: &Snapshot) -> Vec<PathBuf> {
    let mut all = vec![PathBuf::new()];
    all.extend(tree.iter().filter(|(_, node)| node.is_dir()).map(|(path, _)| path.clone()));
    all
}

/// A project: a repository now and then, with hidden, readonly and ignored paths among the others.
pub(super) fn base_tree(rng: &mut Rng) -> Snapshot {
    let mut tree = Snapshot::new();
    if rng.one_in(4) {
        tree.insert(".git".into(), Node::Dir { mode: 0o755 });
        tree.insert(".git/HEAD".into(), Node::File { bytes: b"ref: x".to_vec(), mode: 0o644 });
        tree.insert(".gitignore".into(), Node::File { bytes: b"*.o\nignored/\n".to_vec(), mode: 0o644 });
    }
    for _ in 0..rng.below(25) {
        let directories = directories(&tree);
        let parent = directories[rng.below(directories.len())].clone();
        if parent.starts_with(".git") {
            continue;
        }
        let path = parent.join(name(rng));
        if tree.contains_key(&path) {
            continue;
        }
        let node = match rng.below(10) {
            0..=4 => file(rng),
            5..=7 => dir(rng),
            8 => link(rng),
            _ => Node::Dir { mode: 0o755 },
        };
        tree.insert(path, node);
    }
    if rng.one_in(50) {
        let mut deep = PathBuf::new();
        for _ in 0..40 {
            deep.push("deep");
            tree.insert(deep.clone(), Node::Dir { mode: 0o755 });
        }
        tree.insert(deep.join("file"), file(rng));
    }
    tree
}

/// Runs some edits on what the agent sees. `.git` and `.gitignore` are tested apart.
pub(super) fn edit(rng: &mut Rng, view: &mut Snapshot) {
    for _ in 0..rng.below(12) {
        let paths: Vec<PathBuf> = view
            .keys()
            .filter(|path| !path.starts_with(".git") && !path.starts_with(".gitignore"))
            .cloned()
            .collect();
        let existing = rng.pick(&paths).cloned();
        let directories: Vec<PathBuf> =
            directories(view).into_iter().filter(|path| !path.starts_with(".git")).collect();
        let new = directories[rng.below(directories.len())].join(name(rng));
        match (rng.below(13), existing) {
            (0 | 1, _) => put(view, &new, file(rng)),
            (2, _) => put(view, &new, dir(rng)),
            (3, _) => put(view, &new, link(rng)),
            (4, Some(path)) => {
                let node = file(rng);
                put(view, &path, node);
            }
            (5 | 6, Some(path)) => remove(view, &path),
            (7, Some(path)) => rename(view, &path, &new),
            (8, Some(path)) => chmod(rng, view, &path),
            (9, Some(path)) => {
                let node = dir(rng);
                put(view, &path, node);
                let child = path.join(name(rng));
                put(view, &child, file(rng));
            }
            (10, Some(path)) => {
                let node = link(rng);
                put(view, &path, node);
            }
            (11, Some(path)) if rng.one_in(6) => put(view, &path, Node::Fifo),
            (12, Some(path)) => {
                // Away and back again: a directory that is new and looks the same.
                let old: Snapshot = subtree(view, &path);
                remove(view, &path);
                for (path, node) in old {
                    if rng.one_in(2) && view.contains_key(path.parent().unwrap())
                        || path.parent() == Some(Path::new(""))
                    {
                        view.insert(path, node);
                    }
                }
            }
            _ => {}
        }
    }
}

pub(super) fn subtree(view: &Snapshot, path: &Path) -> Snapshot {
    view.iter().filter(|(at, _)| at.starts_with(path)).map(|(at, node)| (at.clone(), node.clone())).collect()
}

pub(super) fn remove(view: &mut Snapshot, path: &Path) {
    view.retain(|at, _| !at.starts_with(path));
}

fn put(view: &mut Snapshot, path: &Path, node: Node) {
    let is_dir = |path: &Path| path.as_os_str().is_empty() || view.get(path).is_some_and(Node::is_dir);
    if !is_dir(path.parent().unwrap()) {
        return;
    }
    remove(view, path);
    view.insert(path.to_owned(), node);
}

fn rename(view: &mut Snapshot, from: &Path, to: &Path) {
    if to.starts_with(from) || from.starts_with(to) {
        return;
    }
    let moved = subtree(view, from);
    remove(view, from);
    let is_dir = |path: &Path| path.as_os_str().is_empty() || view.get(path).is_some_and(Node::is_dir);
    if !is_dir(to.parent().unwrap()) {
        return;
    }
    remove(view, to);
    for (path, node) in moved {
        let rest = path.strip_prefix(from).unwrap();
        let target = if rest.as_os_str().is_empty() { to.to_owned() } else { to.join(rest) };
        view.insert(target, node);
    }
}

fn chmod(rng: &mut Rng, view: &mut Snapshot, path: &Path) {
    match view.get_mut(path) {
        Some(Node::File { mode, .. }) => *mode = [0o644, 0o755, 0o600, 0o664][rng.below(4)],
        Some(Node::Dir { mode }) => *mode = [0o755, 0o700, 0o770][rng.below(3)],
        _ => {}
    }
}
