//! A process that is killed at any instant of apply or undo, or of the recovery after it, loses nothing: afterwards the
//! project is exactly as before or exactly as intended.

use super::laws::expected;
use super::script::Rng;
use super::snapshot::{Snapshot, snapshot};
use super::texts::{Outcome, Texts};
use super::world::{Home, Run, World};
use crate::mount::CrashPoints;
use crate::mount::apply::journal::Journal;
use crate::mount::apply::{
    ApplyResult, Selection, UndoRequest, UndoStatus, apply, recover, redo, undo, undo_with,
};
use crate::mount::changes::Ignored;
use pretty_assertions::assert_eq;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Command;

const SESSION: &str = "AGENTWORKFORCE_CRASH_SESSION";
const INSTANT: &str = "AGENTWORKFORCE_CRASH_INSTANT";
const DEED: &str = "AGENTWORKFORCE_CRASH_DEED";

/// Not a test by itself.
#[test]
#[ignore = "the body of the process that is killed"]
fn crash_child() {
    let session = std::env::var_os(SESSION).expect("only `killed` starts it");
    let run = Run::load(&PathBuf::from(session));
    let crash_points = CrashPoints::kill_at(std::env::var(INSTANT).unwrap().parse().unwrap());
    act(&run, &std::env::var(DEED).unwrap(), &crash_points);
}

fn act(run: &Run, deed: &str, crash_points: &CrashPoints) {
    let context = run.context(crash_points);
    match deed {
        "apply" => {
            run.with_sides(|sides| apply(&context, sides, &Selection::all(), Ignored::KeepOut)).unwrap();
        }
        "undo" => {
            undo(&context).unwrap();
        }
        "undo some" => {
            undo_with(&context, &some_paths(run)).unwrap();
        }
        "redo" => {
            redo(&context).unwrap();
        }
        "recover" => {
            recover(&context).unwrap();
        }
        other => panic!("{other}"),
    }
}

/// Runs a deed in a process of its own; `false` if it ended before the instant came.
#[must_use]
fn killed(run: &Run, deed: &str, instant: u64) -> bool {
    run.save();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "mount::engine_tests::crashes::crash_child", "--nocapture"])
        .env(SESSION, &run.session)
        .env(INSTANT, instant.to_string())
        .env(DEED, deed)
        .output()
        .unwrap();
    let killed = output.status.signal() == Some(9);
    assert!(killed || output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    killed
}

/// A tree on which an apply has plenty to do and no conflict.
fn rich_world(from: u64) -> (u64, World) {
    for seed in from.. {
        let world = World::generate(&mut Rng::new(seed));
        let changed = world.after.iter().filter(|(path, node)| world.seen.get(*path) != Some(node)).count();
        let gone = world.seen.keys().filter(|path| !world.after.contains_key(*path)).count();
        if changed >= 6 && gone >= 3 && expected(&world).is_some() {
            return (seed, world);
        }
    }
    unreachable!()
}

/// The same world with files that the user edits, too, and what becomes of it all.
fn with_texts(world: World) -> (World, Snapshot) {
    let mut intended = expected(&world).unwrap();
    let texts = Texts::that_merge();
    let Outcome::Merged(merged) = texts.expected() else { panic!("they merge") };
    intended.extend(merged);
    (world.with(&texts), intended)
}

/// The user has made edits to the texts since the launch.
fn make(world: &World, kind: usize, seed: u64) -> Run {
    let run = match kind {
        0 => Run::overlaid(world, &mut Rng::new(seed)),
        1 => Run::copied(world),
        _ => Run::copied_in(world, Home::OnAnotherFilesystem),
    };
    Texts::that_merge().edit_as_user(&run.project, &mut Rng::new(seed));
    run
}

fn recover_here(run: &Run) {
    recover(&run.context(&CrashPoints::none())).unwrap();
    let leftover = std::fs::read_dir(&run.project)
        .unwrap()
        .any(|entry| entry.unwrap().file_name().as_encoded_bytes().starts_with(b".agentworkforce-apply"));
    assert!(!leftover, "nothing of ours stays in the project");
}

/// How many crash_points the deed has on this world.
fn instants_of(run: &Run, deed: &str) -> u64 {
    let crash_points = CrashPoints::none();
    act(run, deed, &crash_points);
    crash_points.passed()
}

fn check_one_of(now: &Snapshot, before: &Snapshot, after: &Snapshot, instant: u64) {
    if now != before {
        assert_eq!(now, after, "instant {instant}: neither before nor after");
    }
}

#[test]
fn an_apply_killed_at_any_instant_is_applied_or_not_applied() {
    let mut tried = 0;
    let mut seed = 0;
    for kind in [0, 1, 2, 0, 1, 2, 0, 2] {
        let (found, world) = rich_world(seed);
        seed = found + 1;
        let (world, intended) = with_texts(world);
        let total = instants_of(&make(&world, kind, found), "apply");
        for instant in 1..=total {
            let run = make(&world, kind, found);
            let (before, work) = (snapshot(&run.project), snapshot_of_mount(&run));
            assert!(killed(&run, "apply", instant));
            // The recovery is killed as well, at an instant that moves along.
            let _ = killed(&run, "recover", instant % 11 + 1);
            recover_here(&run);
            check_one_of(&snapshot(&run.project), &before, &intended, instant);
            assert_eq!(snapshot_of_mount(&run), work, "instant {instant}: the agent's work is there");
            // Whatever it was, the same apply ends well now, and can be undone.
            assert!(run.apply().status != ApplyResult::Conflict, "instant {instant}");
            assert_eq!(snapshot(&run.project), intended, "instant {instant}");
            undo(&run.context(&CrashPoints::none())).unwrap();
            assert_eq!(snapshot(&run.project), before, "instant {instant}");
            tried += 1;
        }
    }
    assert!(tried >= 200, "only {tried} crash_points");
}

#[test]
fn an_undo_killed_at_any_instant_is_undone_or_not_undone() {
    let mut tried = 0;
    for (kind, from) in [(0, 100), (2, 200), (1, 300)] {
        let (seed, world) = rich_world(from);
        let (world, intended) = with_texts(world);
        let applied = |run: Run| {
            assert_eq!(run.apply().status, ApplyResult::Applied);
            run
        };
        let total = instants_of(&applied(make(&world, kind, seed)), "undo");
        for instant in 1..=total {
            let run = make(&world, kind, seed);
            let before = snapshot(&run.project);
            let run = applied(run);
            assert!(killed(&run, "undo", instant));
            recover_here(&run);
            check_one_of(&snapshot(&run.project), &before, &intended, instant);
            undo(&run.context(&CrashPoints::none())).unwrap();
            assert_eq!(snapshot(&run.project), before, "instant {instant}");
            tried += 1;
        }
    }
    assert!(tried >= 100, "only {tried} crash_points");
}

/// Every second path of the first journal, one of which the user has edited.
fn some_paths(run: &Run) -> UndoRequest {
    let journal = &Journal::all(&run.session).unwrap()[0];
    let paths = journal.operations.iter().map(|operation| operation.path.0.clone());
    UndoRequest { only: paths.step_by(2).chain(["text0".into()]).collect(), force: true }
}

#[test]
fn an_undo_of_some_paths_killed_at_any_instant_is_done_or_not_done() {
    let mut tried = 0;
    for (kind, from) in [(0, 400), (2, 500)] {
        let (seed, world) = rich_world(from);
        let (world, _) = with_texts(world);
        let prepared = || {
            let run = make(&world, kind, seed);
            let before = snapshot(&run.project);
            assert_eq!(run.apply().status, ApplyResult::Applied);
            std::fs::write(run.project.join("text0"), "edited since the apply").unwrap();
            (before, run)
        };
        let (_, model) = prepared();
        let whole = snapshot(&model.project);
        let total = instants_of(&model, "undo some");
        let some = snapshot(&model.project);
        assert!(some != whole);
        let redone = instants_of(&model, "redo");
        assert_eq!(snapshot(&model.project), whole);
        for instant in (1..=total).chain(1..=redone) {
            let (before, run) = prepared();
            let deed = if tried < total { "undo some" } else { "redo" };
            if deed == "redo" {
                act(&run, "undo some", &CrashPoints::none());
            }
            assert!(killed(&run, deed, instant), "{deed} {instant}");
            let _ = killed(&run, "recover", instant % 7 + 1);
            recover_here(&run);
            check_one_of(&snapshot(&run.project), &whole, &some, instant);
            // Whatever it was, all can be taken back, and brought again.
            let rest = UndoRequest { only: Vec::new(), force: true };
            let rest = undo_with(&run.context(&CrashPoints::none()), &rest).unwrap();
            assert_eq!((rest.status, rest.earlier), (UndoStatus::Undone, 0), "{deed} {instant}");
            assert_eq!(snapshot(&run.project), before, "{deed} {instant}");
            while redo(&run.context(&CrashPoints::none())).unwrap().status == UndoStatus::Redone {}
            assert_eq!(snapshot(&run.project), whole, "{deed} {instant}");
            tried += 1;
        }
        tried = 0;
    }
}

/// Without reading whiteouts, which are no files.
fn snapshot_of_mount(run: &Run) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let mut found = Vec::new();
    let mut waiting = vec![run.data()];
    while let Some(directory) = waiting.pop() {
        for entry in std::fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let kind = std::fs::symlink_metadata(&path).unwrap().file_type();
            if kind.is_dir() {
                waiting.push(path.clone());
            }
            found.push((path.clone(), kind.is_file().then(|| std::fs::read(&path).unwrap())));
        }
    }
    found.sort();
    let data = run.data();
    found.into_iter().map(|(path, bytes)| (path.strip_prefix(&data).unwrap().to_owned(), bytes)).collect()
}
