//! The user and the agent edit the same files: what can be merged is, the rest is a conflict, and all laws of an apply hold.

use super::laws::expected;
use super::script::Rng;
use super::snapshot::{Node, Snapshot, snapshot};
use super::texts::{Outcome, Texts};
use super::world::{Home, Run, World, visible};
use crate::model::mount::Backend;
use crate::mount::CrashPoints;
use crate::mount::apply::{ApplyOutcome, ApplyResult, Selection, UndoStatus, redo, undo};
use crate::mount::changes::compare::ConflictReason;
use crate::mount::changes::contents_take::{CopyLimits, take_contents};
use crate::mount::changes::diff::diff;
use crate::mount::changes::{Ignored, Merging};
use pretty_assertions::assert_eq;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The laws while the user edits some of the files.
pub(super) fn check(seed: u64) {
    let mut rng = Rng::new(seed ^ 0x4d45_5247);
    let texts = Texts::generate(&mut rng);
    let world = World::generate(&mut rng).with(&texts);
    let tree = expected(&world);
    let mut runs = vec![Run::copied(&world), Run::overlaid(&world, &mut rng)];
    if seed % 16 == 1 {
        runs.push(Run::copied_in(&world, Home::OnAnotherFilesystem));
    }
    for run in runs {
        let backend = run.record.backend;
        texts.edit_as_user(&run.project, &mut rng);
        let before = snapshot(&run.project);
        let is_doubtful = backend == Backend::Overlay && texts.are_doubtful();
        assert_eq!(run.review().touched().next().is_some(), is_doubtful, "{backend:?}");
        let outcome = run.apply();
        let after = snapshot(&run.project);
        match (tree.clone(), texts.expected()) {
            (Some(mut expected), Outcome::Merged(merged)) => {
                expected.extend(merged);
                assert!(outcome.status != ApplyResult::Conflict, "{backend:?}: {:?}", outcome.remaining);
                assert_eq!(after, expected, "{backend:?}");
                assert!(run.review().changes.is_empty(), "{backend:?}: applied twice is applied once");
            }
            (tree, texts_become) => {
                assert_eq!(outcome.status, ApplyResult::Conflict, "{backend:?}");
                assert_eq!(after, before, "{backend:?}: a conflict changes nothing");
                let mut blamed = outcome.remaining.iter().filter(|change| change.conflict.is_some());
                if tree.is_some() && texts_become == Outcome::Conflict {
                    assert!(blamed.all(|change| texts.is_one(&change.path)), "{:?}", outcome.remaining);
                }
            }
        }
        let undone = undo(&run.context(&CrashPoints::none())).unwrap();
        assert_eq!(undone.changed, [], "{backend:?}");
        assert_eq!(snapshot(&run.project), before, "{backend:?}: undo restores");
        if undone.status == UndoStatus::Undone {
            assert_eq!(redo(&run.context(&CrashPoints::none())).unwrap().status, UndoStatus::Redone);
            assert_eq!(snapshot(&run.project), after, "{backend:?}: redo applies again");
            assert!(run.review().changes.is_empty(), "{backend:?}: applied again is applied");
        }
    }
}

pub(super) const BASE: &str = "one\ntwo\nthree\nfour\nfive\nsix\n";

pub(super) fn text(text: &str) -> Node {
    Node::File { bytes: text.as_bytes().to_vec(), mode: 0o644 }
}

pub(super) fn edited(from: &str, to: &str) -> String {
    assert!(BASE.contains(from));
    BASE.replace(from, to)
}

/// One file, and what the agent made of it.
pub(super) fn world(base: &str, agent: Option<Node>) -> World {
    let base: Snapshot = [(PathBuf::from("f"), text(base))].into();
    let seen = visible(&base);
    let after = agent.map(|node| (PathBuf::from("f"), node)).into_iter().collect();
    World { base, seen, after }
}

pub(super) fn both(world: &World) -> [Run; 2] {
    [Run::copied(world), Run::overlaid(world, &mut Rng::new(3))]
}

pub(super) fn write(run: &Run, text: &str) {
    std::fs::write(run.project.join("f"), text).unwrap();
}

pub(super) fn read(run: &Run) -> String {
    std::fs::read_to_string(run.project.join("f")).unwrap()
}

pub(super) fn conflict(outcome: &ApplyOutcome) -> Option<ConflictReason> {
    outcome.remaining.first().and_then(|change| change.conflict)
}

#[test]
fn edits_of_different_lines_are_merged_and_said_to_be() {
    for run in both(&world(BASE, Some(text(&edited("six", "SIX"))))) {
        write(&run, &edited("one", "ONE"));
        let review = run.review();
        assert!(review.changes[0].merged.is_some() && !review.has_conflicts());
        assert_eq!(review.changes[0].word(), "merged");
        let said = serde_json::to_value(&review.changes[0]).unwrap();
        assert_eq!((&said["merged"], &said["kind"]), (&true.into(), &"modified".into()));
        // The diff is what an apply does to the project as it is.
        let diffs = run.with_sides(|sides| diff(sides, &review, None).unwrap());
        assert!(diffs[0].merged);
        assert_eq!((diffs[0].added, diffs[0].removed), (Some(1), Some(1)), "{}", diffs[0].text);
        assert_eq!(run.apply().status, ApplyResult::Applied);
        assert_eq!(read(&run), "ONE\ntwo\nthree\nfour\nfive\nSIX\n");
    }
}

#[test]
fn edits_that_touch_are_a_conflict_and_so_is_everything_without_merging() {
    for mut run in both(&world(BASE, Some(text(&edited("two", "TWO"))))) {
        write(&run, &edited("one", "ONE"));
        assert_eq!(conflict(&run.apply()), Some(ConflictReason::BothChanged));
        write(&run, &edited("six", "SIX"));
        run.merging = Merging::Off;
        assert_eq!(conflict(&run.apply()), Some(ConflictReason::BothChanged));
        assert_eq!(read(&run), edited("six", "SIX"));
        // What is no merge stays what it is.
        write(&run, BASE);
        assert_eq!(run.apply().status, ApplyResult::Applied);
        assert_eq!(read(&run), edited("two", "TWO"));
    }
}

#[test]
fn what_is_as_at_launch_again_is_no_conflict() {
    let agents: [Option<Node>; 3] =
        [Some(text("agent\n")), None, Some(Node::Link { target: "elsewhere".into() })];
    let users: [fn(&Path); 3] = [
        |path| {
            let file = std::fs::File::options().write(true).open(path).unwrap();
            file.set_modified(std::time::SystemTime::now()).unwrap();
        },
        |path| {
            std::fs::write(path, "changed\n").unwrap();
            std::fs::write(path, BASE).unwrap();
        },
        |path| {
            std::fs::remove_file(path).unwrap();
            std::fs::write(path, BASE).unwrap();
        },
    ];
    for agent in agents {
        for user in users {
            let world = world(BASE, agent.clone());
            for run in both(&world) {
                user(&run.project.join("f"));
                assert_eq!(run.apply().status, ApplyResult::Applied, "{agent:?}");
                assert_eq!(snapshot(&run.project), world.after, "{agent:?}");
            }
        }
    }
}

#[test]
fn what_the_agent_left_as_it_was_is_the_users_to_delete() {
    // Copied up, and written as it was.
    let run = Run::overlaid(&world(BASE, Some(text(BASE))), &mut Rng::new(3));
    std::fs::write(run.data().join("f"), BASE).unwrap();
    std::fs::remove_file(run.project.join("f")).unwrap();
    assert!(run.review().changes.is_empty());
    // With a change of the agent's it is a conflict, and both deletions are nothing to do.
    for run in both(&world(BASE, Some(text("agent\n")))) {
        std::fs::remove_file(run.project.join("f")).unwrap();
        assert_eq!(conflict(&run.apply()), Some(ConflictReason::DeletedByUser));
    }
    for run in both(&world(BASE, None)) {
        write(&run, "user\n");
        assert_eq!(conflict(&run.apply()), Some(ConflictReason::DeletedByAgent));
        std::fs::remove_file(run.project.join("f")).unwrap();
        assert_eq!(run.apply().status, ApplyResult::Nothing);
    }
}

#[test]
fn modes_are_merged_apart_from_the_bytes() {
    let chmod = |run: &Run, mode: u32| {
        std::fs::set_permissions(run.project.join("f"), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let file = |text: &str, mode: u32| Node::File { bytes: text.as_bytes().to_vec(), mode };
    // The agent's bytes, the user's mode; and the other way round. Neither is the agent's change again after that.
    for run in both(&world(BASE, Some(text("agent\n")))) {
        chmod(&run, 0o700);
        assert_eq!(run.apply().status, ApplyResult::Applied);
        assert_eq!(snapshot(&run.project)[Path::new("f")], file("agent\n", 0o700));
        assert!(run.review().changes.is_empty());
    }
    for run in both(&world(BASE, Some(file(BASE, 0o755)))) {
        write(&run, "user\n");
        assert_eq!(run.apply().status, ApplyResult::Applied);
        assert_eq!(snapshot(&run.project)[Path::new("f")], file("user\n", 0o755));
        assert!(run.review().changes.is_empty());
        assert_eq!(undo(&run.context(&CrashPoints::none())).unwrap().status, UndoStatus::Undone);
        assert_eq!(snapshot(&run.project)[Path::new("f")], file("user\n", 0o644));
    }
    for run in both(&world(BASE, Some(file("agent\n", 0o755)))) {
        chmod(&run, 0o600);
        assert_eq!(conflict(&run.apply()), Some(ConflictReason::BothChanged));
    }
}

#[test]
fn what_is_no_text_or_too_large_is_a_conflict() {
    let large = "x\n".repeat(1 << 20) + "y\n";
    for (base, ours, theirs) in [
        ("a\nb\nc\n", "A\nb\nc\n", "a\nb\nc\0\n"),
        ("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\r\n"),
        (&*large, "A\nb\nc\n", "a\nb\nc\n"),
    ] {
        for run in both(&world(base, Some(text(theirs)))) {
            write(&run, ours);
            assert_eq!(conflict(&run.apply()), Some(ConflictReason::BothChanged));
        }
    }
}

/// An overlay shows what the user saves until the agent writes the file.
#[test]
fn a_file_that_was_saved_and_restored_while_the_agent_had_it_is_marked() {
    let agent = world(BASE, Some(text(&edited("six", "SIX"))));
    let save_and_restore = |run: &Run| {
        write(run, "in between\n");
        write(run, BASE);
    };
    let run = Run::overlaid(&agent, &mut Rng::new(3));
    save_and_restore(&run);
    assert!(run.review().changes[0].touched);
    assert_eq!(run.review().touched().count(), 1);
    // The agent took it up after that: it began with what is there now.
    std::thread::sleep(std::time::Duration::from_millis(20));
    let upper = run.data().join("f");
    let agents = std::fs::read(&upper).unwrap();
    std::fs::remove_file(&upper).unwrap();
    std::fs::write(&upper, agents).unwrap();
    assert!(!run.review().changes[0].touched);
    // A copy never showed it.
    let run = Run::copied(&agent);
    save_and_restore(&run);
    assert!(!run.review().changes[0].touched);
}

/// The session goes on after an apply: the base of what was applied is what was applied.
#[test]
fn the_same_line_again_after_an_apply_is_no_conflict() {
    let agents_next = |run: &Run, text: &str| std::fs::write(run.data().join("f"), text).unwrap();
    for run in both(&world(BASE, Some(text(&edited("six", "SIX"))))) {
        assert_eq!(run.apply().status, ApplyResult::Applied);
        agents_next(&run, &edited("six", "seven"));
        assert_eq!(run.apply().status, ApplyResult::Applied);
        assert_eq!(read(&run), edited("six", "seven"));
        // The user goes on with it, too.
        write(&run, &read(&run).replace("one", "ONE"));
        agents_next(&run, &edited("six", "eight"));
        assert_eq!(run.apply().status, ApplyResult::Applied);
        assert_eq!(read(&run), "ONE\ntwo\nthree\nfour\nfive\neight\n");
        // That was a merge: what the agent does not have is not what it took away.
        assert!(run.review().changes.is_empty());
        agents_next(&run, &edited("six", "nine"));
        assert_eq!(run.apply().status, ApplyResult::Applied);
        assert_eq!(read(&run), "ONE\ntwo\nthree\nfour\nfive\nnine\n");
        // Deleted and made again.
        std::fs::remove_file(run.project.join("f")).unwrap();
        agents_next(&run, "new\n");
        assert_eq!(conflict(&run.apply()), Some(ConflictReason::DeletedByUser));
        // All of it can be taken back.
        write(&run, "ONE\ntwo\nthree\nfour\nfive\nnine\n");
    }
    for run in both(&world(BASE, None)) {
        assert_eq!(run.apply().status, ApplyResult::Applied);
        let path = run.data().join("f");
        std::fs::remove_file(&path).ok();
        std::fs::write(&path, "new\n").unwrap();
        assert_eq!(run.apply().status, ApplyResult::Applied);
        assert_eq!(read(&run), "new\n");
    }
}

#[test]
fn the_agents_version_can_be_had_as_it_is() {
    for run in both(&world(BASE, Some(text(&edited("six", "SIX"))))) {
        write(&run, &edited("one", "ONE"));
        let theirs = Selection { theirs: vec!["f".into()], ..Selection::all() };
        assert_eq!(run.apply_with(&theirs, Ignored::KeepOut).status, ApplyResult::Applied);
        assert_eq!(read(&run), edited("six", "SIX"));
        assert!(run.review().changes.is_empty());
        undo(&run.context(&CrashPoints::none())).unwrap();
        let ours = Selection { ours: vec!["f".into()], ..Selection::all() };
        assert_eq!(run.apply_with(&ours, Ignored::KeepOut).status, ApplyResult::Nothing);
        assert_eq!(read(&run), edited("one", "ONE"));
    }
}

/// The user saves at the instants of an apply that merges.
#[test]
fn a_save_during_an_apply_that_merges_survives() {
    let agent = world(BASE, Some(text(&edited("six", "SIX"))));
    let total = {
        let run = Run::copied(&agent);
        write(&run, &edited("one", "ONE"));
        let crash_points = CrashPoints::none();
        run.apply_at(&crash_points);
        crash_points.passed()
    };
    for at in 1..=total {
        let run = Run::copied(&agent);
        write(&run, &edited("one", "ONE"));
        let target = run.project.join("f");
        let crash_points = CrashPoints::calling(move |number, _| {
            if number == at {
                std::fs::write(&target, "one\ntwo\nthree\nfour\nfive, by the user\nsix\n").unwrap();
            }
        });
        let outcome = run.apply_at(&crash_points);
        let now = read(&run);
        assert!(now.contains("five, by the user"), "at {at}: {:?}: {now}", outcome.status);
    }
}

fn git(dir: &Path, words: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=t", "-c", "user.email=t@t"]).args(words).current_dir(dir);
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A repository whose `f` is clean, with these attributes, launched; nothing is copied.
fn in_git(attributes: &str, agent: &str) -> Run {
    in_git_with(attributes, BASE, agent)
}

fn in_git_with(attributes: &str, base: &str, agent: &str) -> Run {
    let mut run = Run::overlaid(&world(base, Some(text(agent))), &mut Rng::new(3));
    std::fs::write(run.project.join(".gitattributes"), attributes).unwrap();
    git(&run.project, &["init", "-q"]);
    git(&run.project, &["add", "-A"]);
    // Past the tick in which git looked.
    std::thread::sleep(std::time::Duration::from_millis(20));
    git(&run.project, &["update-index", "--refresh"]);
    std::fs::write(run.project.join(".git/index.touch"), "").unwrap();
    git(&run.project, &["update-index", "--force-write-index"]);
    run.launch_with(CopyLimits { files: 0, bytes: 0 });
    run
}

#[test]
fn the_blob_of_a_clean_file_is_its_base() {
    let run = in_git("", &edited("six", "SIX"));
    // Whatever the user does in git does not matter: the index is that of the launch.
    write(&run, &edited("one", "ONE"));
    git(&run.project, &["add", "-A"]);
    assert_eq!(run.apply().status, ApplyResult::Applied);
    assert_eq!(read(&run), "ONE\ntwo\nthree\nfour\nfive\nSIX\n");
}

#[test]
fn a_blob_that_git_converts_is_no_base() {
    for attributes in
        ["* filter=x", "f ident", "f eol=crlf", "f working-tree-encoding=UTF-16", "f text eol=crlf"]
    {
        let run = in_git("", &edited("six", "SIX"));
        // Said now, or said when the run began.
        std::fs::write(run.project.join(".gitattributes"), attributes).unwrap();
        write(&run, &edited("one", "ONE"));
        assert_eq!(conflict(&run.apply()), Some(ConflictReason::BothChanged), "{attributes}");
    }
    let run = in_git("f filter=x\n", &edited("six", "SIX"));
    std::fs::remove_file(run.project.join(".gitattributes")).unwrap();
    write(&run, &edited("one", "ONE"));
    assert_eq!(conflict(&run.apply()), Some(ConflictReason::BothChanged));
}

/// Git has the lines without the carriage returns that the file had.
#[test]
fn a_blob_with_other_line_ends_than_the_file_is_no_base() {
    let crlf = |text: &str| text.replace('\n', "\r\n");
    for ours in [BASE.to_owned(), crlf(&edited("one", "ONE"))] {
        let run = in_git_with("* text=auto\n", &crlf(BASE), &crlf(&edited("six", "SIX")));
        write(&run, &ours);
        assert_eq!(conflict(&run.apply()), Some(ConflictReason::BothChanged), "{ours:?}");
    }
}

#[test]
fn a_file_that_was_changed_at_launch_has_no_blob_but_a_copy() {
    let launched = |limits: CopyLimits| {
        let mut run = in_git("", "agent\n");
        write(&run, &edited("two", "TWO"));
        std::fs::write(run.data().join("f"), edited("two", "TWO").replace("six", "SIX")).unwrap();
        run.launch_with(limits);
        write(&run, &edited("two", "TWO").replace("four", "FOUR"));
        run
    };
    let run = launched(CopyLimits { files: 0, bytes: 0 });
    assert_eq!(conflict(&run.apply()), Some(ConflictReason::BothChanged));
    assert_eq!(run.with_sides(|sides| sides.contents.unwrap().left_out()), 1);
    let run = launched(CopyLimits::default());
    assert_eq!(run.apply().status, ApplyResult::Applied);
    assert_eq!(read(&run), "one\nTWO\nthree\nFOUR\nfive\nSIX\n");
}

#[test]
fn what_is_hidden_or_ignored_or_changed_since_the_launch_is_not_copied() {
    let run = in_git("", "agent\n");
    for (path, text) in [(".env", "secret"), (".gitignore", "*.o\n"), ("x.o", "object"), ("new", "text")] {
        std::fs::write(run.project.join(path), text).unwrap();
    }
    let mut run = run;
    run.launch();
    write(&run, "changed since\n");
    let limits = CopyLimits::default();
    take_contents(&run.session, &run.project, run.record.launched_at, limits, &|| false).unwrap();
    let list = std::fs::read_to_string(run.session.join("base/contents.json")).unwrap();
    assert!(list.contains("\"new\"") && list.contains(".gitignore"), "{list}");
    assert!(!list.contains(".env") && !list.contains("x.o") && !list.contains("\"f\""), "{list}");
    let kept = std::fs::read_dir(run.session.join("base")).unwrap();
    let secret = kept.flatten().any(|entry| std::fs::read(entry.path()).unwrap() == b"secret");
    assert!(!secret);
    // The run is over: sooner or later, nothing is copied any more.
    std::fs::remove_dir_all(run.session.join("base")).unwrap();
    take_contents(&run.session, &run.project, run.record.launched_at, limits, &|| true).unwrap();
    assert!(!run.session.join("base").exists());
    let asked = std::cell::Cell::new(0);
    let is_over = || asked.replace(asked.get() + 1) > 0;
    take_contents(&run.session, &run.project, run.record.launched_at, limits, &is_over).unwrap();
    let list = std::fs::read_to_string(run.session.join("base/contents.json")).unwrap();
    assert!(list.contains("\"copies\":[]"), "{list}");
}
