//! A directory that the agent made comes into the project in one step, with all it holds; so does what the user makes meanwhile stay.

use super::snapshot::{Node, Snapshot, snapshot};
use super::world::{Run, World, visible};
use crate::mount::CrashPoints;
use crate::mount::apply::{ApplyOutcome, ApplyResult, Selection, apply, recover, redo, undo};
use crate::mount::changes::Ignored;
use pretty_assertions::assert_eq;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

const NEW: [&str; 5] = ["new", "new/a", "new/closed", "new/closed/b", "new/link"];

fn world() -> World {
    let dir = |mode: u32| Node::Dir { mode };
    let file = |text: &str, mode: u32| Node::File { bytes: text.as_bytes().to_vec(), mode };
    let base: Snapshot = [(PathBuf::from("kept"), file("kept", 0o644))].into_iter().collect();
    let seen = visible(&base);
    let mut after = seen.clone();
    let link = Node::Link { target: "a".into() };
    // Whoever is not root cannot furnish a closed directory node by node, as this test does.
    let closed = if rustix::process::geteuid().is_root() { 0o555 } else { 0o711 };
    let nodes = [dir(0o755), file("a", 0o600), dir(closed), file("b", 0o755), link];
    after.extend(NEW.iter().map(PathBuf::from).zip(nodes));
    // Something that comes later.
    after.insert(PathBuf::from("zz"), file("z", 0o644));
    World { base, seen, after }
}

fn apply_all(run: &Run, crash_points: &CrashPoints) -> ApplyOutcome {
    let context = run.context(crash_points);
    run.with_sides(|sides| apply(&context, sides, &Selection::all(), Ignored::KeepOut)).unwrap()
}

/// Calls something the first time that a point is passed.
fn once_at(point: &'static str, act: impl Fn() + Send + Sync + 'static) -> CrashPoints {
    let is_done = std::sync::atomic::AtomicBool::new(false);
    CrashPoints::calling(move |_, name| {
        if name == point && !is_done.swap(true, std::sync::atomic::Ordering::Relaxed) {
            act();
        }
    })
}

#[test]
fn a_new_directory_comes_with_all_it_holds_and_goes_and_comes_again() {
    let world = world();
    let run = Run::copied(&world);
    let project = run.project.clone();
    let looked = once_at("forward: after", move || {
        for path in NEW {
            assert!(project.join(path).symlink_metadata().is_ok(), "{path} came with its directory");
        }
    });
    assert_eq!(apply_all(&run, &looked).status, ApplyResult::Applied);
    assert_eq!(snapshot(&run.project), world.after);
    // What was applied is the base of what comes: there is nothing to do.
    assert_eq!(run.review().changes.len(), 0);
    let none = CrashPoints::none();
    undo(&run.context(&none)).unwrap();
    assert_eq!(snapshot(&run.project), world.seen);
    redo(&run.context(&none)).unwrap();
    assert_eq!(snapshot(&run.project), world.after);
}

#[test]
fn a_directory_that_the_user_makes_meanwhile_is_a_conflict() {
    let run = Run::copied(&world());
    let made = run.project.join("new");
    let user = once_at("run: journal says exchanging", move || {
        std::fs::create_dir(&made).unwrap();
        std::fs::write(made.join("a"), "user").unwrap();
    });
    let outcome = apply_all(&run, &user);
    assert_eq!(outcome.status, ApplyResult::Conflict);
    assert_eq!(outcome.preserved, []);
    assert_eq!(std::fs::read(run.project.join("new/a")).unwrap(), b"user");
    assert_eq!(std::fs::read_dir(run.project.join("new")).unwrap().count(), 1);
    assert!(!run.session.join("undo/1").exists(), "what was staged is gone");
}

#[test]
fn what_the_user_makes_after_a_crash_is_neither_touched_nor_taken_for_a_change_of_ours() {
    for point in ["run: journal says exchanging", "forward: after"] {
        let run = Run::copied(&world());
        let crash = once_at(point, || panic!("as if it were killed"));
        assert!(catch_unwind(AssertUnwindSafe(|| apply_all(&run, &crash))).is_err());
        let is_there = run.project.join("new").exists();
        assert_eq!(is_there, point == "forward: after");
        std::fs::create_dir_all(run.project.join("new")).unwrap();
        std::fs::write(run.project.join("new/mine"), "user").unwrap();
        if !is_there {
            std::fs::write(run.project.join("new/a"), "user").unwrap();
        }
        let recovered = recover(&run.context(&CrashPoints::none())).unwrap();
        assert_eq!(std::fs::read(run.project.join("new/mine")).unwrap(), b"user", "{point}");
        assert!(!recovered[0].applied, "{point}");
        let left: Vec<PathBuf> = recovered[0].left.iter().map(|path| path.0.clone()).collect();
        // Ours is the directory itself alone, which holds something of the user's now.
        let expected: &[&str] = if is_there { &["new"] } else { &[] };
        assert_eq!(left, expected.iter().map(PathBuf::from).collect::<Vec<_>>(), "{point}");
        let names = std::fs::read_dir(run.project.join("new")).unwrap().count();
        assert_eq!(names, if is_there { 1 } else { 2 }, "{point}");
    }
}
