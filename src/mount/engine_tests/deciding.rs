//! What a person decides about single files: a version, markers, an edited text, some hunks. It is applied, undone and redone like
//! everything else, and only if it is still what was looked at.

use super::merging::{both, conflict, edited, read, text, world, write};
use super::world::Run;
use crate::mount::CrashPoints;
use crate::mount::apply::decided::{Choice, Decided};
use crate::mount::apply::{ApplyResult, Selection, UndoStatus, redo, undo};
use crate::mount::changes::Ignored;
use crate::mount::changes::compare::ConflictReason;
use crate::mount::changes::diff::diff;
use crate::mount::changes::hunks::Hunks;
use crate::mount::changes::versions::text_versions;
use pretty_assertions::assert_eq;
use std::path::PathBuf;
use std::sync::Arc;

fn decide(run: &Run, choice: Choice) -> Selection {
    let now = run.review().changes[0].now;
    Selection { decided: [(PathBuf::from("f"), Decided { now, choice })].into(), ..Selection::all() }
}

fn pick(run: &Run, is_picked: &[bool]) -> Selection {
    let hunks = run.with_sides(|sides| Hunks::of(sides, &run.review().changes[0]).unwrap().unwrap());
    assert_eq!(hunks.count(), is_picked.len());
    decide(run, Choice::Text(Arc::new(hunks.pick(is_picked).unwrap())))
}

/// Undo gives this back, and redo what was there before.
fn goes_back_and_forth(run: &Run, before: &str) {
    let after = read(run);
    let none = CrashPoints::none();
    assert_eq!(undo(&run.context(&none)).unwrap().status, UndoStatus::Undone);
    assert_eq!(read(run), before);
    assert_eq!(redo(&run.context(&none)).unwrap().status, UndoStatus::Redone);
    assert_eq!(read(run), after);
}

const LONG: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n";

#[test]
fn some_hunks_are_applied_and_the_others_stay_in_the_session() {
    let agents = LONG.replace("one", "ONE").replace("five", "FIVE").replace("ten", "TEN");
    for run in both(&world(LONG, Some(text(&agents)))) {
        let outcome = run.apply_with(&pick(&run, &[true, false, true]), Ignored::KeepOut);
        assert_eq!(outcome.status, ApplyResult::Applied);
        assert!(outcome.applied[0].partly);
        assert_eq!(outcome.remaining.len(), 1);
        let picked = LONG.replace("one", "ONE").replace("ten", "TEN");
        assert_eq!(read(&run), picked);
        goes_back_and_forth(&run, LONG);
        // What is left is that one hunk.
        let left = run.with_sides(|sides| Hunks::of(sides, &run.review().changes[0]).unwrap().unwrap());
        assert_eq!(left.count(), 1);
        assert!(left.shown(0).contains("-five\n+FIVE\n"), "{}", left.shown(0));
        // And it merges with what the user does meanwhile.
        write(&run, &picked.replace("nine", "mine"));
        assert_eq!(run.apply().status, ApplyResult::Applied);
        assert_eq!(read(&run), agents.replace("nine", "mine"));
        assert!(run.review().changes.is_empty());
    }
}

#[test]
fn some_hunks_are_merged_with_what_the_user_changed() {
    let agents = LONG.replace("one", "ONE").replace("ten", "TEN");
    for run in both(&world(LONG, Some(text(&agents)))) {
        let mine = LONG.replace("five", "mine");
        write(&run, &mine);
        assert_eq!(
            run.apply_with(&pick(&run, &[false, true]), Ignored::KeepOut).status,
            ApplyResult::Applied
        );
        assert_eq!(read(&run), mine.replace("ten", "TEN"));
        goes_back_and_forth(&run, &mine);
        assert_eq!(run.apply().status, ApplyResult::Applied);
        assert_eq!(read(&run), agents.replace("five", "mine"));
    }
}

#[test]
fn a_conflict_is_settled_by_a_text() {
    for run in both(&world(super::merging::BASE, Some(text(&edited("six", "SIX"))))) {
        let mine = edited("six", "mine");
        write(&run, &mine);
        let versions =
            run.with_sides(|sides| text_versions(sides, &run.review().changes[0]).unwrap().unwrap());
        assert_eq!(versions.base.as_deref(), Some(super::merging::BASE.as_bytes()));
        let settled = edited("six", "both");
        let choice = Choice::settled(&versions, settled.clone().into_bytes());
        assert_eq!(run.apply_with(&decide(&run, choice), Ignored::KeepOut).status, ApplyResult::Applied);
        assert_eq!(read(&run), settled);
        goes_back_and_forth(&run, &mine);
        assert!(run.review().changes.is_empty(), "it is settled");
    }
}

#[test]
fn a_conflict_gets_markers() {
    for run in both(&world(super::merging::BASE, Some(text(&edited("six", "SIX"))))) {
        let mine = edited("six", "mine");
        write(&run, &mine);
        let markers = Selection { markers: vec!["f".into()], ..Selection::all() };
        assert_eq!(run.apply_with(&markers, Ignored::KeepOut).status, ApplyResult::Applied);
        let both = "five\n<<<<<<< yours\nmine\n=======\nSIX\n>>>>>>> the agent's\n";
        assert_eq!(read(&run), edited("five\nsix\n", both));
        goes_back_and_forth(&run, &mine);
        assert!(run.review().changes.is_empty(), "it is settled");
    }
    // What is no text has no lines to put markers between.
    for run in both(&world("a\0b", Some(text("b\0c")))) {
        write(&run, "c\0d");
        let markers = Selection { markers: vec!["f".into()], ..Selection::all() };
        let outcome = run.apply_with(&markers, Ignored::KeepOut);
        assert_eq!(outcome.status, ApplyResult::Conflict);
        assert_eq!(markers.without_markers(&outcome.review).count(), 1);
    }
}

#[test]
fn a_decision_counts_only_for_what_was_looked_at() {
    let agents = LONG.replace("one", "ONE").replace("ten", "TEN");
    for run in both(&world(LONG, Some(text(&agents)))) {
        // The user saves after the decision.
        let picked = pick(&run, &[true, false]);
        write(&run, &LONG.replace("five", "mine"));
        let outcome = run.apply_with(&picked, Ignored::KeepOut);
        assert_eq!(conflict(&outcome), Some(ConflictReason::ChangedSinceReview));
        assert_eq!(read(&run), LONG.replace("five", "mine"));
        // Somebody writes to the agent's side after it.
        let picked = pick(&run, &[true, false]);
        let seen = run.with_sides(|sides| sides.mount.stat("f".as_ref()).unwrap());
        std::fs::write(run.data().join("f"), agents.replace("TEN", "BAD")).unwrap();
        assert_eq!(
            conflict(&run.apply_with(&picked, Ignored::KeepOut)),
            Some(ConflictReason::ChangedSinceReview)
        );
        let all = Selection { seen: [(PathBuf::from("f"), seen)].into(), ..Selection::all() };
        assert_eq!(
            conflict(&run.apply_with(&all, Ignored::KeepOut)),
            Some(ConflictReason::ChangedSinceReview)
        );
        let all = Selection { theirs: vec!["f".into()], ..all };
        assert_eq!(run.apply_with(&all, Ignored::KeepOut).status, ApplyResult::Conflict);
        assert_eq!(read(&run), LONG.replace("five", "mine"));
    }
}

#[test]
fn the_diff_of_a_conflict_tells_what_each_side_changed() {
    for run in both(&world(super::merging::BASE, Some(text(&edited("six", "SIX"))))) {
        write(&run, &edited("six", "mine"));
        let diffs = run.with_sides(|sides| diff(sides, &run.review(), None).unwrap());
        let (_, parts) = diffs[0].text.split_once("diff a/f b/f: what you changed\n").unwrap();
        let (yours, agents) = parts.split_once("diff a/f b/f: what the agent changed\n").unwrap();
        assert!(yours.contains("-six\n+mine\n") && !yours.contains("SIX"), "{}", diffs[0].text);
        assert!(agents.contains("-six\n+SIX\n") && !agents.contains("mine"), "{}", diffs[0].text);
        assert_eq!((diffs[0].added, diffs[0].removed), (Some(1), Some(1)));
    }
}
