//! Single cases of what is a change, what is kept out, and why, on both kinds of directory.

use super::script::Rng;
use super::snapshot::{Node, Snapshot, snapshot};
use super::world::{Run, World, make_opaque, visible, whiteout};
use crate::model::change_kind::ChangeKind;
use crate::model::mount_record::{LeftOut, LeftOutReason};
use crate::mount::apply::{ApplyResult, Selection};
use crate::mount::changes::compare::ConflictReason;
use crate::mount::changes::{Ignored, ProtectedWhy, Review};
use pretty_assertions::assert_eq;
use std::path::{Path, PathBuf};
use std::process::Command;

fn file(text: &str) -> Node {
    Node::File { bytes: text.as_bytes().to_vec(), mode: 0o644 }
}

const DIR: Node = Node::Dir { mode: 0o755 };

fn world(base: &[(&str, Node)], after: impl FnOnce(&mut Snapshot)) -> World {
    let base: Snapshot = base.iter().map(|(path, node)| (PathBuf::from(path), node.clone())).collect();
    let seen = visible(&base);
    let mut changed = seen.clone();
    after(&mut changed);
    World { base, seen, after: changed }
}

fn both(world: &World) -> [Run; 2] {
    [Run::copied(world), Run::overlaid(world, &mut Rng::new(3))]
}

fn kinds(review: &Review) -> Vec<(&Path, ChangeKind)> {
    review.changes.iter().map(|change| (change.path.0.as_path(), change.kind)).collect()
}

#[test]
fn every_kind_of_change_is_told_apart() {
    let base = [
        ("mode", file("x")),
        ("gone", file("x")),
        ("edit", file("x")),
        ("link", Node::Link { target: "a".into() }),
        ("type", DIR),
        ("dir", DIR),
        ("same", file("x")),
    ];
    let world = world(&base, |tree| {
        tree.insert("mode".into(), Node::File { bytes: b"x".to_vec(), mode: 0o755 });
        tree.remove(Path::new("gone"));
        tree.insert("edit".into(), file("y"));
        tree.insert("link".into(), Node::Link { target: "b".into() });
        tree.insert("type".into(), file("now a file"));
        tree.insert("dir".into(), Node::Dir { mode: 0o700 });
        tree.insert("new".into(), DIR);
    });
    for run in both(&world) {
        let review = run.review();
        let expected = [
            ("dir", ChangeKind::Mode),
            ("edit", ChangeKind::Modified),
            ("gone", ChangeKind::Deleted),
            ("link", ChangeKind::Symlink),
            ("mode", ChangeKind::Mode),
            ("new", ChangeKind::Added),
            ("type", ChangeKind::TypeChange),
        ];
        assert_eq!(kinds(&review), expected.map(|(path, kind)| (Path::new(path), kind)));
        assert!(!review.has_conflicts());
    }
}

#[test]
fn protected_writes_are_told_with_their_rule() {
    let base =
        [("ro", DIR), ("ro/a", file("x")), ("ro/open", DIR), (".env", file("secret")), ("keep", file("x"))];
    let world = world(&base, |tree| {
        tree.insert("ro/a".into(), file("agent"));
        tree.insert("ro/open/b".into(), file("agent"));
        tree.insert("sub".into(), DIR);
        tree.insert("sub/.env".into(), file("agent"));
    });
    for run in both(&world) {
        let review = run.review();
        let told: Vec<(&Path, ProtectedWhy, &str)> = review
            .protected
            .iter()
            .map(|one| (one.path.0.as_path(), one.why, one.rule.as_ref().unwrap().pattern.as_str()))
            .collect();
        let expected = [
            (Path::new("ro/a"), ProtectedWhy::Readonly, "ro"),
            (Path::new("sub/.env"), ProtectedWhy::Hidden, ".env"),
        ];
        assert_eq!(told, expected);
        run.apply();
        let now = snapshot(&run.project);
        assert_eq!(now[Path::new("ro/a")], file("x"));
        assert_eq!(now[Path::new("ro/open/b")], file("agent"));
        assert!(!now.contains_key(Path::new("sub/.env")));
    }
}

#[test]
fn hidden_files_survive_the_deletion_of_their_directory() {
    let base =
        [("d", DIR), ("d/a", file("x")), ("d/.env", file("secret")), ("d/sub", DIR), ("d/sub/b", file("x"))];
    let world = world(&base, |tree| tree.retain(|path, _| !path.starts_with("d")));
    for run in both(&world) {
        let outcome = run.apply();
        assert_eq!(outcome.status, ApplyResult::Applied);
        assert_eq!(outcome.kept_directories, ["d".into()]);
        let left: Vec<PathBuf> = snapshot(&run.project).into_keys().collect();
        assert_eq!(left, [PathBuf::from("d"), PathBuf::from("d/.env")]);
    }
}

#[test]
fn an_injected_file_is_a_change_only_if_its_bytes_differ() {
    let base = [("CLAUDE.md", file("the user's")), ("a", file("x"))];
    let world = world(&base, |_| {});
    for mut run in both(&world) {
        std::fs::remove_file(run.data().join("CLAUDE.md")).ok();
        run.inject("CLAUDE.md", b"the persona's");
        run.inject(".claude/settings.json", b"{}");
        let review = run.review();
        assert_eq!((kinds(&review).len(), review.protected.len()), (0, 0), "{:?}", review.changes);
        std::fs::write(run.data().join("CLAUDE.md"), "the agent's").unwrap();
        std::fs::remove_file(run.data().join(".claude/settings.json")).unwrap();
        let told: Vec<(PathBuf, bool)> =
            run.review().protected.into_iter().map(|one| (one.path.0, one.deleted)).collect();
        assert_eq!(told, [(".claude/settings.json".into(), true), ("CLAUDE.md".into(), false)]);
        run.apply();
        assert_eq!(snapshot(&run.project)[Path::new("CLAUDE.md")], file("the user's"));
    }
}

#[test]
fn special_files_are_told_and_never_applied() {
    let world = world(&[("a", file("x"))], |tree| {
        tree.insert("a".into(), Node::Fifo);
        tree.insert("b".into(), Node::Fifo);
    });
    for run in both(&world) {
        let review = run.review();
        assert_eq!(review.special, ["a".into(), "b".into()]);
        assert_eq!(run.apply().status, ApplyResult::Nothing);
    }
}

#[test]
fn set_uid_bits_of_the_agent_stay_in_the_mount() {
    let world = world(&[("a", file("x"))], |tree| {
        tree.insert("a".into(), Node::File { bytes: b"y".to_vec(), mode: 0o4755 });
    });
    let run = Run::copied(&world);
    run.apply();
    assert_eq!(snapshot(&run.project)[Path::new("a")], Node::File { bytes: b"y".to_vec(), mode: 0o755 });
}

#[test]
fn an_unknown_base_is_a_conflict() {
    let agent = world(&[("a", file("x"))], |tree| {
        tree.insert("a".into(), file("agent"));
        tree.insert("new".into(), file("agent"));
    });
    // Never written.
    let run = Run::overlaid(&agent, &mut Rng::new(3));
    std::fs::remove_file(run.session.join("manifest")).unwrap();
    let reasons: Vec<_> = run.review().changes.iter().map(|change| change.conflict).collect();
    assert_eq!(reasons, [Some(ConflictReason::UnknownBase), Some(ConflictReason::UnknownBase)]);
    // Everything changed at the very moment of the launch.
    let mut run = Run::copied(&agent);
    run.record.launched_at.seconds -= 100;
    let reasons: Vec<_> = run.review().changes.iter().map(|change| change.conflict).collect();
    // A copy shows by itself that the agent never had anything at `new`.
    assert_eq!(reasons, [Some(ConflictReason::UnknownBase), None]);
    assert_eq!(run.apply().status, ApplyResult::Conflict);
    // A file that the agent never had.
    let mut run = Run::copied(&agent);
    run.record.left_out.push(LeftOut { path: "a".into(), reason: LeftOutReason::HeavyIgnored });
    assert_eq!(run.review().changes[0].conflict, Some(ConflictReason::UnknownBase));
}

#[test]
fn an_overlay_says_one_thing_in_several_ways() {
    let base = [("d", DIR), ("d/a", file("x")), ("d/b", file("x")), ("e", DIR), ("e/f", file("x"))];
    let world = world(&base, |_| {});
    let run = Run::overlaid(&world, &mut Rng::new(4));
    let upper = run.data();
    for entry in ["d", "e"] {
        std::fs::remove_dir_all(upper.join(entry)).ok();
    }
    // An opaque directory that has one file again, with the same bytes; and a directory that is gone.
    std::fs::create_dir(upper.join("d")).unwrap();
    make_opaque(&run, &upper.join("d"));
    std::fs::write(upper.join("d/a"), "x").unwrap();
    whiteout(&upper.join("e"));
    let review = run.review();
    let expected = ["d/b", "e", "e/f"].map(|path| (Path::new(path), ChangeKind::Deleted));
    assert_eq!(kinds(&review), expected);
}

fn git(dir: &Path, args: &[&str]) {
    let output = Command::new("git")
        .args(["-c", "user.name=A", "-c", "user.email=a@b"])
        .args(args)
        .current_dir(dir)
        .env_remove("GIT_DIR")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn what_the_user_has_and_git_ignores_is_not_uncovered_by_the_agent() {
    let base = [
        (".gitignore", file("ign/\n*.log\n")),
        ("ign", DIR),
        ("ign/x", file("mine")),
        ("d", DIR),
        ("d/app.log", file("mine")),
        ("loc.db", file("mine")),
        ("excludes", file("*.db\n")),
    ];
    let world = world(&base, |tree| {
        tree.insert(".gitignore".into(), file(""));
        tree.insert("ign/x".into(), file("agent"));
        tree.insert("ign/new".into(), file("agent"));
        tree.insert("d/.gitignore".into(), file("!app.log\n"));
        tree.remove(Path::new("d/app.log"));
        tree.insert("loc.db".into(), file("agent"));
    });
    for run in both(&world) {
        git(&run.project, &["init", "-q"]);
        git(&run.project, &["config", "core.excludesFile", "excludes"]);
        let review = run.review();
        let paths: Vec<&Path> = review.changes.iter().map(|change| change.path.0.as_path()).collect();
        // Nothing of the user's is at `ign/new`: there the agent's own ignore files decide.
        assert_eq!(
            paths,
            [".gitignore", "d/.gitignore", "ign/new"].map(Path::new),
            "{:?}",
            run.record.backend
        );
        let kept: Vec<&Path> = review.ignored.examples.iter().map(|path| path.0.as_path()).collect();
        assert_eq!(kept, ["d/app.log", "ign/x", "loc.db"].map(Path::new));
        assert_eq!(run.apply().status, ApplyResult::Applied);
        assert_eq!(snapshot(&run.project)[Path::new("d/app.log")], file("mine"));
    }
}

#[test]
fn ignored_paths_are_kept_out_but_tracked_ones_are_not() {
    let base = [
        (".gitignore", file("build/\n*.log\n")),
        ("build", DIR),
        ("build/tool.sh", file("tracked")),
        ("build/out", file("x")),
        ("a.log", file("x")),
    ];
    let world = world(&base, |tree| {
        tree.insert("build/tool.sh".into(), file("agent"));
        tree.insert("build/out".into(), file("agent"));
        tree.insert("build/new".into(), file("agent"));
        tree.insert("a.log".into(), file("agent"));
        tree.insert("sub".into(), DIR);
        // The agent's own ignore files count too.
        tree.insert("sub/.gitignore".into(), file("cache/\n!keep.log\n"));
        tree.insert("sub/cache".into(), DIR);
        tree.insert("sub/cache/x".into(), file("agent"));
        tree.insert("sub/keep.log".into(), file("agent"));
    });
    for run in both(&world) {
        git(&run.project, &["init", "-q"]);
        git(&run.project, &["add", "-f", ".gitignore", "build/tool.sh"]);
        let review = run.review();
        let paths: Vec<&Path> = review.changes.iter().map(|change| change.path.0.as_path()).collect();
        let expected = ["build/tool.sh", "sub", "sub/.gitignore", "sub/keep.log"].map(Path::new);
        assert_eq!(paths, expected, "{:?}", run.record.backend);
        let kept: Vec<&Path> = review.ignored.examples.iter().map(|path| path.0.as_path()).collect();
        assert_eq!(kept, ["a.log", "build/new", "build/out", "sub/cache", "sub/cache/x"].map(Path::new));
        assert_eq!(run.apply().status, ApplyResult::Applied);
        assert_eq!(snapshot(&run.project)[Path::new("build/out")], file("x"));
        let outcome = run.apply_with(&Selection::all(), Ignored::Include);
        assert_eq!(outcome.applied.len(), 5);
        assert_eq!(snapshot(&run.project)[Path::new("build/new")], file("agent"));
    }
}

#[test]
fn nothing_below_a_git_directory_is_applied() {
    let base = [(".git", DIR), (".git/config", file("x")), ("sub", DIR), ("a", file("x"))];
    let world = world(&base, |tree| {
        tree.insert(".git/config".into(), file("agent"));
        tree.insert("sub/.GIT".into(), DIR);
        tree.insert("sub/.GIT/hooks".into(), file("agent"));
        tree.insert("a".into(), file("agent"));
    });
    for run in both(&world) {
        assert_eq!(kinds(&run.review()), [(Path::new("a"), ChangeKind::Modified)]);
        run.apply();
        let now = snapshot(&run.project);
        assert_eq!(now[Path::new(".git/config")], file("x"));
        assert!(!now.contains_key(Path::new("sub/.GIT")));
    }
}

#[test]
fn moved_directories_with_equal_sizes_and_times_are_seen_in_a_copy() {
    let base = [("d1", DIR), ("d1/f", file("one")), ("d2", DIR), ("d2/f", file("two"))];
    let world = world(&base, |_| {});
    let run = Run::copied(&world);
    let mount = run.data();
    let same = std::time::SystemTime::UNIX_EPOCH;
    for path in ["d1/f", "d2/f"] {
        std::fs::File::options().write(true).open(mount.join(path)).unwrap().set_modified(same).unwrap();
    }
    crate::mount::changes::base::take_copy(&run.session, &mount).unwrap();
    std::fs::rename(mount.join("d1"), mount.join("tmp")).unwrap();
    std::fs::rename(mount.join("d2"), mount.join("d1")).unwrap();
    std::fs::rename(mount.join("tmp"), mount.join("d2")).unwrap();
    assert_eq!(run.apply().status, ApplyResult::Applied);
    assert_eq!(snapshot(&run.project)[Path::new("d1/f")], file("two"));
    assert_eq!(snapshot(&run.project)[Path::new("d2/f")], file("one"));
}

#[test]
fn attributes_of_the_user_stay_on_a_file_that_is_replaced() {
    let world = world(&[("a", file("x"))], |tree| {
        tree.insert("a".into(), file("agent"));
    });
    let run = Run::bare_at(&world, &std::env::temp_dir(), crate::model::mount::Backend::Overlay);
    let path = run.project.join("a");
    if rustix::fs::setxattr(&path, "user.note", b"mine", rustix::fs::XattrFlags::empty()).is_err() {
        return;
    }
    crate::mount::changes::base::take_project(&run.session, &run.project, &run.rules, &|| false).unwrap();
    let mut run = run;
    run.record.launched_at.seconds += 1;
    std::fs::write(run.data().join("a"), "agent").unwrap();
    assert_eq!(run.apply().status, ApplyResult::Applied);
    let mut value = [0_u8; 8];
    let length = rustix::fs::getxattr(&path, "user.note", &mut value).unwrap();
    assert_eq!((&value[..length], std::fs::read(&path).unwrap()), (&b"mine"[..], b"agent".to_vec()));
}
