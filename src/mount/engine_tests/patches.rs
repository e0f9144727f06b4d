//! A patch of the agent's changes, given to git, makes of the project what an apply does; taken back, it makes of it what it was.

use super::script::Rng;
use super::snapshot::{Node, Snapshot, materialise, snapshot};
use super::world::{Run, World, scratch, visible};
use crate::mount::apply::{ApplyResult, Selection, applied_patches};
use crate::mount::changes::{Ignored, patch};
use pretty_assertions::assert_eq;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What git can hold of a tree: files with one bit, links, and no `.git`.
fn for_git(tree: &Snapshot) -> Snapshot {
    tree.iter()
        .filter(|(path, node)| {
            !path.starts_with(".git") && matches!(node, Node::File { .. } | Node::Link { .. })
        })
        .map(|(path, node)| {
            let node = match node {
                Node::File { bytes, mode } => {
                    let mode = if mode & 0o100 == 0 { 0o644 } else { 0o755 };
                    Node::File { bytes: bytes.clone(), mode }
                }
                other => other.clone(),
            };
            (path.clone(), node)
        })
        .collect()
}

fn git_apply(dir: &Path, patch: &[u8], words: &[&str]) -> Result<(), String> {
    let mut child = Command::new("git")
        .args(["apply", "--whitespace=nowarn"])
        .args(words)
        .arg("-")
        .current_dir(dir)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", dir)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CEILING_DIRECTORIES", dir.parent().unwrap())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(patch).unwrap();
    let output = child.wait_with_output().unwrap();
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

fn patch_of(run: &Run) -> Vec<u8> {
    let review = run.review();
    let mut bytes = Vec::new();
    run.with_sides(|sides| {
        patch::write(sides, &review.changes.iter().collect::<Vec<_>>(), &review.special, &mut bytes).unwrap();
    });
    bytes
}

/// Applies by git what then is applied by us, and compares; gives back the patch.
fn check(run: &Run, what: &str) -> Vec<u8> {
    let before = snapshot(&run.project);
    let patch = patch_of(run);
    let dir = scratch();
    let copy = dir.path().join("copy");
    std::fs::create_dir(&copy).unwrap();
    // As a checkout would have it: an empty directory can be in the way, and git knows of none.
    let files = for_git(&before);
    let holds_something = |path: &Path| files.keys().any(|file| file.starts_with(path));
    let is_known = |(path, _): &(&PathBuf, &Node)| !path.starts_with(".git") && holds_something(path);
    materialise(&copy, &before.iter().filter(is_known).map(clone).collect());
    let has_sections = !patch::sections(&patch).is_empty();
    let shown = || String::from_utf8_lossy(&patch).into_owned();
    if has_sections {
        git_apply(&copy, &patch, &[]).unwrap_or_else(|error| panic!("{what}: {error}\n{}", shown()));
    }
    let outcome = run.apply();
    assert!(outcome.status != ApplyResult::Conflict, "{what}");
    assert_eq!(for_git(&snapshot(&copy)), for_git(&snapshot(&run.project)), "{what}\n{}", shown());
    if has_sections {
        git_apply(&copy, &patch, &["-R"]).unwrap_or_else(|error| panic!("{what}: -R: {error}\n{}", shown()));
        // Git itself forgets the mode of a file that comes back, and that it was a link.
        let contents = |tree: &Snapshot| -> Snapshot {
            let mut tree = for_git(tree);
            for node in tree.values_mut() {
                let bytes = match node {
                    Node::File { bytes, .. } => std::mem::take(bytes),
                    Node::Link { target } => target.as_bytes().to_vec(),
                    _ => continue,
                };
                *node = Node::File { bytes, mode: 0 };
            }
            tree
        };
        assert_eq!(contents(&snapshot(&copy)), contents(&before), "{what}: taken back\n{}", shown());
    }
    // What is kept is the same, and says of the same paths.
    if outcome.status == ApplyResult::Applied {
        let kept = applied_patches(&run.session).unwrap().pop().unwrap();
        let sections = kept.sections();
        let expected = patch::sections(&patch);
        assert_eq!(sections.len(), expected.len(), "{what}");
        assert!(sections.iter().zip(&expected).all(|(kept, now)| kept.bytes == now.bytes), "{what}");
        let mut named: BTreeSet<&Path> = sections.iter().map(|section| section.new.as_path()).collect();
        named.extend(sections.iter().map(|section| section.old.as_path()));
        assert!(
            named.iter().all(|path| outcome.applied.iter().any(|change| change.path.0 == *path)),
            "{what}"
        );
        let path = run.session.join(format!("journal/{}.patch", kept.journal));
        assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    }
    patch
}

fn clone((path, node): (&PathBuf, &Node)) -> (PathBuf, Node) {
    (path.clone(), node.clone())
}

/// Lines of every kind, with and without an end.
fn text(rng: &mut Rng) -> Vec<u8> {
    let lines: [&[u8]; 12] = [
        b"same\n",
        b"other\n",
        b"crlf\r\n",
        b"\r\n",
        b"\n",
        b" indented\t \n",
        b"\xff\xfe\n",
        b"diff --git a/x b/x\n",
        b"--- a/x\n",
        b"@@ -1 +1 @@\n",
        b"+\x1b[31m\n",
        b"\\ No newline at end of file\n",
    ];
    let mut bytes: Vec<u8> =
        (0..rng.below(30)).flat_map(|_| lines[rng.below(lines.len())].to_vec()).collect();
    if rng.one_in(3) {
        bytes.pop();
    }
    bytes
}

fn edited(rng: &mut Rng, bytes: &[u8]) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = bytes.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
    for _ in 0..rng.below(4) {
        let at = rng.below(lines.len() + 1);
        match rng.below(3) {
            0 if at < lines.len() => drop(lines.remove(at)),
            1 if at < lines.len() => lines[at] = b"edited\n".to_vec(),
            _ => lines.insert(at, b"inserted\r\n".to_vec()),
        }
    }
    lines.concat()
}

#[test]
fn git_apply_makes_the_same_tree() {
    let names: [&[u8]; 8] =
        [b"t", b"sp ace", b"quo\"te", b"back\\slash", b"new\nline", b"\xff", b"tab\t", "\u{fc}".as_bytes()];
    let mut tried = 0;
    for seed in 0..250 {
        let mut rng = Rng::new(seed);
        let mut world = World::generate(&mut rng);
        for name in names {
            let path = PathBuf::from(format!("texts-{}", rng.below(2))).join(OsStr::from_bytes(name));
            let parent = path.parent().unwrap().to_owned();
            let modes = [0o644, 0o755, 0o600];
            let (before, mode) = (text(&mut rng), modes[rng.below(3)]);
            let after = edited(&mut rng, &before);
            if !rng.one_in(4) {
                for tree in [&mut world.base, &mut world.seen] {
                    tree.insert(parent.clone(), Node::Dir { mode: 0o755 });
                    tree.insert(path.clone(), Node::File { bytes: before.clone(), mode });
                }
                world.after.insert(parent.clone(), Node::Dir { mode: 0o755 });
            }
            if !rng.one_in(4) {
                world.after.insert(parent, Node::Dir { mode: 0o755 });
                let bytes = if rng.one_in(4) { before } else { after };
                world.after.insert(path, Node::File { bytes, mode: modes[rng.below(3)] });
            }
        }
        if super::laws::expected(&world).is_none() {
            continue;
        }
        for run in [Run::copied(&world), Run::overlaid(&world, &mut rng)] {
            check(&run, &format!("seed {seed}, {:?}", run.record.backend));
            tried += 1;
        }
    }
    assert!(tried > 300, "only {tried}");
}

fn world(before: &[(&str, Node)], after: &[(&str, Node)]) -> World {
    let tree = |nodes: &[(&str, Node)]| -> Snapshot {
        nodes.iter().map(|(path, node)| (PathBuf::from(path), node.clone())).collect()
    };
    let base = tree(before);
    World { seen: visible(&base), base, after: tree(after) }
}

fn file(text: &str, mode: u32) -> Node {
    Node::File { bytes: text.as_bytes().to_vec(), mode }
}

const DIR: Node = Node::Dir { mode: 0o755 };

#[test]
fn moves_modes_links_and_binary_files_are_written_as_git_does_and_the_rest_is_said() {
    let world = world(
        &[
            ("bin", file("a\0b", 0o644)),
            ("d", DIR),
            ("d/last", file("last\n", 0o644)),
            ("link", file("a file\n", 0o644)),
            ("mode", file("x\n", 0o644)),
            ("old name", file("moved\n", 0o644)),
            ("private-mode", file("x\n", 0o644)),
        ],
        &[
            ("bin", file("a\0c", 0o644)),
            ("d", DIR),
            ("empty", DIR),
            ("link", Node::Link { target: "mode".into() }),
            ("mode", file("x\n", 0o755)),
            ("new\nname", file("moved\n", 0o755)),
            ("nothing", file("", 0o644)),
            ("private-mode", file("x\n", 0o600)),
            ("so", Node::Fifo),
        ],
    );
    for run in [Run::copied(&world), Run::overlaid(&world, &mut Rng::new(3))] {
        let patch = String::from_utf8(check(&run, "all kinds")).unwrap();
        let head = "\
# git cannot hold:
#   an empty directory, mode 755: empty
#   mode 600: private-mode
#   a directory that stays, empty: d
#   a socket, fifo or device: so
diff --git a/bin b/bin
index ";
        assert!(patch.starts_with(head), "{patch}");
        for part in [
            "GIT binary patch\nliteral 3\n",
            "diff --git a/link b/link\ndeleted file mode 100644\n",
            "diff --git a/link b/link\nnew file mode 120000\n",
            "diff --git a/mode b/mode\nold mode 100644\nnew mode 100755\ndiff --git",
            "diff --git \"a/old name\" \"b/new\\nname\"\nold mode 100644\nnew mode 100755\nsimilarity index 100%\nrename from \"old name\"\nrename to \"new\\nname\"\ndiff",
            "diff --git a/nothing b/nothing\nnew file mode 100644\nindex 0000000000000000000000000000000000000000..e69de29bb2d1d6434b8b29ae775ad8c2e48c5391\n",
        ] {
            assert!(patch.contains(part), "{part}\n{patch}");
        }
    }
}

#[test]
fn a_kept_patch_is_bounded_and_says_what_is_missing() {
    let mut rng = Rng::new(11);
    let noise: Vec<u8> = (0..9 << 20).map(|_| rng.next().to_le_bytes()[0]).collect();
    let large = Node::File { bytes: noise, mode: 0o644 };
    let mut after = vec![("a", file("small\n", 0o644)), ("large", large), ("z", file("small too\n", 0o644))];
    let run = Run::copied(&world(&[], &after));
    assert_eq!(run.apply().status, ApplyResult::Applied);
    let kept = applied_patches(&run.session).unwrap().pop().unwrap();
    let text = String::from_utf8(kept.patch.clone()).unwrap();
    let start =
        "# truncated: 1 path left out of this patch, whose size is bounded:\n#   large\ndiff --git a/a b/a\n";
    assert!(text.starts_with(start), "{text}");
    assert_eq!(
        kept.sections().iter().map(|section| section.new.clone()).collect::<Vec<_>>(),
        [Path::new("a"), Path::new("z")]
    );
    after.remove(1);
    let names: Vec<String> = (0..2500).map(|number| format!("f{number:04}")).collect();
    let many: Vec<(&str, Node)> = names.iter().map(|name| (name.as_str(), file("x\n", 0o644))).collect();
    let run = Run::copied(&world(&[], &many));
    run.apply_with(&Selection::all(), Ignored::KeepOut);
    let kept = applied_patches(&run.session).unwrap().pop().unwrap();
    assert_eq!(kept.sections().len(), 2000);
    assert!(kept.patch.starts_with(b"# truncated: 500 paths"));
}
