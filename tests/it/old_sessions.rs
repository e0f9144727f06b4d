//! Sessions that the binary of 42a5b51 left on disk: listed, shown, applied, undone and recovered by this one.

use crate::support::mount::World;
use crate::support::sessions::{BACKENDS, Snapshot, paths, snapshot};
use pretty_assertions::assert_eq;
use std::path::PathBuf;

const ALL: [(&str, &str); 16] = [
    ("overlay-held", "held"),
    ("overlay-held-by-user", "held"),
    ("overlay-interrupted", "interrupted"),
    ("overlay-applied", "applied"),
    ("overlay-undone", "undone"),
    ("overlay-unfinished-staging", "held"),
    ("overlay-unfinished-exchanging", "held"),
    ("overlay-unfinished-committed", "held"),
    ("overlay-unfinished-elsewhere", "held"),
    ("copy-held", "held"),
    ("copy-interrupted", "interrupted"),
    ("copy-applied", "applied"),
    ("copy-undone", "undone"),
    ("copy-unfinished-staging", "held"),
    ("copy-unfinished-exchanging", "held"),
    ("copy-unfinished-committed", "held"),
];

fn tree(entries: &[(&str, &str)]) -> Snapshot {
    entries.iter().map(|(path, what)| (PathBuf::from(path), (*what).to_owned())).collect()
}

/// What the project was before the run.
fn before() -> Snapshot {
    tree(&[
        (".env", "file 644 \"SECRET\\n\""),
        ("CLAUDE.md", "file 644 \"the project's own\\n\""),
        ("README.md", "file 644 \"readme\\n\""),
        ("became-dir", "file 644 \"a file\\n\""),
        ("dir", "dir 755"),
        ("dir/inner", "dir 755"),
        ("dir/inner/x", "file 644 \"x\\n\""),
        ("link", "link README.md"),
        ("notes.txt", "file 644 \"notes\\n\""),
        ("src", "dir 755"),
        ("src/app.txt", "file 644 \"one\\ntwo\\nthree\\n\""),
        ("src/old.txt", "file 644 \"old\\n\""),
        ("src/tool.sh", "file 644 \"#!/bin/sh\\n\""),
    ])
}

/// What it is with the work of the agent.
fn after() -> Snapshot {
    tree(&[
        (".env", "file 644 \"SECRET\\n\""),
        ("CLAUDE.md", "file 644 \"the project's own\\n\""),
        ("README.md", "file 644 \"readme\\n\""),
        ("became-dir", "dir 755"),
        ("became-dir/in", "file 644 \"in\\n\""),
        ("link", "link src/app.txt"),
        ("moved.txt", "file 644 \"notes\\n\""),
        ("new", "dir 755"),
        ("new/deep", "dir 755"),
        ("new/deep/file", "file 644 \"new\\n\""),
        ("src", "dir 755"),
        ("src/app.txt", "file 644 \"one\\ntwo\\nthree\\nagent\\n\""),
        ("src/tool.sh", "file 755 \"#!/bin/sh\\n\""),
    ])
}

const CHANGED: [&str; 14] = [
    "became-dir",
    "became-dir/in",
    "dir",
    "dir/inner",
    "dir/inner/x",
    "link",
    "moved.txt",
    "new",
    "new/deep",
    "new/deep/file",
    "notes.txt",
    "src/app.txt",
    "src/old.txt",
    "src/tool.sh",
];

/// `sessions diff` without the names of blobs, the same for both backends.
const DIFF: &str = r"diff --git a/became-dir b/became-dir
deleted file mode 100644
--- a/became-dir
+++ /dev/null
@@ -1 +0,0 @@
-a file
diff --git a/became-dir/in b/became-dir/in
new file mode 100644
--- /dev/null
+++ b/became-dir/in
@@ -0,0 +1 @@
+in
diff --git a/dir/inner/x b/dir/inner/x
deleted file mode 100644
--- a/dir/inner/x
+++ /dev/null
@@ -1 +0,0 @@
-x
diff --git a/link b/link
--- a/link
+++ b/link
@@ -1 +1 @@
-README.md
\ No newline at end of file
+src/app.txt
\ No newline at end of file
diff --git a/notes.txt b/moved.txt
similarity index 100%
rename from notes.txt
rename to moved.txt
diff --git a/new/deep/file b/new/deep/file
new file mode 100644
--- /dev/null
+++ b/new/deep/file
@@ -0,0 +1 @@
+new
diff --git a/src/app.txt b/src/app.txt
--- a/src/app.txt
+++ b/src/app.txt
@@ -1,3 +1,4 @@
 one
 two
 three
+agent
diff --git a/src/old.txt b/src/old.txt
deleted file mode 100644
--- a/src/old.txt
+++ /dev/null
@@ -1 +0,0 @@
-old
diff --git a/src/tool.sh b/src/tool.sh
old mode 100644
new mode 100755
";

/// The project but for git's own directory.
fn project(world: &World) -> Snapshot {
    let mut found = snapshot(&world.project());
    found.remove(&PathBuf::from(".git"));
    found
}

fn state(world: &World) -> String {
    world.listed()[0]["state"].as_str().unwrap().to_owned()
}

#[track_caller]
fn has_work_to_apply(world: &World, id: &str) {
    assert_eq!((state(world).as_str(), project(world)), ("held", before()));
    let shown = world.aw(["sessions", "show", id, "--json"]).ends(0).json();
    assert_eq!(paths(&shown["review"]["changes"]), CHANGED);
    assert!(shown["review"]["changes"].as_array().unwrap().iter().all(|change| change["conflict"].is_null()));
    world.aw(["sessions", "apply", id]).ends(0);
}

#[track_caller]
fn is_applied_and_can_be_undone_and_redone(world: &World, id: &str) {
    assert_eq!((state(world).as_str(), project(world)), ("applied", after()));
    world.aw(["sessions", "undo", id]).ends(0);
    assert_eq!(project(world), before());
    world.aw(["sessions", "redo", id]).ends(0);
    assert_eq!(project(world), after());
    world.aw(["sessions", "undo", id]).ends(0);
    assert_eq!(project(world), before());
}

#[test]
fn every_old_session_is_listed_with_its_state_and_shown() {
    for (name, state) in ALL {
        let (world, id) = World::from_fixture(name);
        let [session] = world.listed().try_into().unwrap();
        assert_eq!(
            (session["id"].as_str(), session["state"].as_str(), session["live"].as_bool()),
            (Some(id.as_str()), Some(state), Some(false)),
            "{name}"
        );
        let shown = world.aw(["sessions", "show", &id, "--json"]).ends(0).json();
        let backend = name.split('-').next().unwrap();
        assert_eq!((&shown["mount"]["backend"], &shown["problem"]), (&backend.into(), &().into()), "{name}");
        assert_eq!(shown["status"]["root"], world.project().to_str().unwrap(), "{name}");
    }
}

#[test]
fn old_work_that_is_held_is_applied_undone_and_redone() {
    for name in ["overlay-held", "overlay-held-by-user", "copy-held"] {
        let (world, id) = World::from_fixture(name);
        let diff = world.aw(["sessions", "diff", &id]).ends(0).stdout;
        let without_names: String =
            diff.split_inclusive('\n').filter(|line| !line.starts_with("index ")).collect();
        assert_eq!(without_names, DIFF, "{name}");
        has_work_to_apply(&world, &id);
        is_applied_and_can_be_undone_and_redone(&world, &id);
    }
}

#[test]
fn commits_of_an_old_session_come_with_its_work() {
    for backend in BACKENDS {
        let (world, id) = World::from_fixture(&format!("{backend}-held"));
        world.aw(["sessions", "apply", &id]).ends(0);
        let log = world.outside(&format!("git log --format=%s refs/agentworkforce/{id}/heads/main"));
        assert_eq!(log, "agent work\nbase\n", "{backend}");
    }
}

#[test]
fn an_old_session_whose_runner_died_is_recovered() {
    for backend in BACKENDS {
        let (world, id) = World::from_fixture(&format!("{backend}-interrupted"));
        world.aw(["sessions", "recover"]).ends(0);
        has_work_to_apply(&world, &id);
        is_applied_and_can_be_undone_and_redone(&world, &id);
    }
}

#[test]
fn an_old_apply_is_undone_and_redone() {
    for backend in BACKENDS {
        let (world, id) = World::from_fixture(&format!("{backend}-applied"));
        is_applied_and_can_be_undone_and_redone(&world, &id);
    }
}

#[test]
fn an_old_undo_is_redone() {
    for backend in BACKENDS {
        let (world, id) = World::from_fixture(&format!("{backend}-undone"));
        assert_eq!(project(&world), before());
        world.aw(["sessions", "redo", &id]).ends(0);
        is_applied_and_can_be_undone_and_redone(&world, &id);
    }
}

#[test]
fn an_old_journal_that_stopped_before_everything_was_exchanged_is_taken_back() {
    for name in [
        "overlay-unfinished-staging",
        "overlay-unfinished-exchanging",
        "overlay-unfinished-elsewhere",
        "copy-unfinished-staging",
        "copy-unfinished-exchanging",
    ] {
        let (world, id) = World::from_fixture(name);
        world.aw(["sessions", "recover"]).ends(0);
        has_work_to_apply(&world, &id);
        is_applied_and_can_be_undone_and_redone(&world, &id);
    }
}

#[test]
fn an_old_journal_that_was_committed_is_finished() {
    for backend in BACKENDS {
        let (world, id) = World::from_fixture(&format!("{backend}-unfinished-committed"));
        world.aw(["sessions", "recover"]).ends(0);
        is_applied_and_can_be_undone_and_redone(&world, &id);
    }
}

#[test]
fn an_apply_ends_the_unfinished_journal_of_an_old_session_first() {
    for (name, _) in ALL.iter().filter(|(name, _)| name.contains("unfinished")) {
        let (world, id) = World::from_fixture(name);
        world.aw(["sessions", "apply", &id]).ends(0);
        is_applied_and_can_be_undone_and_redone(&world, &id);
    }
}

#[test]
fn what_the_user_changed_since_an_old_session_is_a_conflict() {
    for backend in BACKENDS {
        let (world, id) = World::from_fixture(&format!("{backend}-held"));
        std::fs::write(world.project().join("src/app.txt"), "the user's\n").unwrap();
        let users = project(&world);
        world.aw(["sessions", "apply", &id]).ends(3);
        assert_eq!(project(&world), users, "{backend}");
    }
}

#[test]
fn what_the_user_changed_since_an_old_apply_is_not_undone() {
    for backend in BACKENDS {
        let (world, id) = World::from_fixture(&format!("{backend}-applied"));
        std::fs::write(world.project().join("src/app.txt"), "the user's\n").unwrap();
        let users = project(&world);
        world.aw(["sessions", "undo", &id]).ends(3);
        assert_eq!(project(&world), users, "{backend}");
    }
}
