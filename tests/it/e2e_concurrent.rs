//! The user works while a run is going, on every kind of path: always a conflict or a clean keep, never a lost edit.

use crate::support::mount::{Identity, ORDINARY_ID, World, identities, read, soon};
use crate::support::sessions::{BACKENDS, Snapshot, snapshot};
use std::fs;

fn for_each(test: impl Fn(&World, &str)) {
    for who in identities() {
        for backend in BACKENDS {
            eprintln!("as {who:?}, {backend}");
            test(&World::new(who), backend);
        }
    }
}

fn project(world: &World) {
    world.files(&[
        ("file", "base\n"),
        ("mode", "base\n"),
        ("gone", "base\n"),
        ("over", "base\n"),
        ("dir/inner", "base\n"),
        ("dir/other", "base\n"),
        ("becomes-dir", "base\n"),
        ("away/a", "base\n"),
        ("untouched", "base\n"),
    ]);
    world.outside("ln -s file link; mkdir empty");
}

/// What the user does, and the path that it is about.
const BY_USER: [(&str, &str); 14] = [
    ("content", "echo user > file"),
    ("content, saved by rename", "echo user > .new; mv .new file"),
    ("same size and time", "cp -p file .new; printf 'bose\\n' > file; touch -r .new file; rm .new"),
    ("mode", "chmod 600 mode"),
    ("delete", "rm gone"),
    ("create", "echo user > created"),
    ("rename over", "echo user > .new; mv .new over"),
    ("directory becomes a file", "rm -r dir; echo user > dir"),
    ("file becomes a directory", "rm becomes-dir; mkdir becomes-dir; echo user > becomes-dir/in"),
    ("retarget", "ln -sfn elsewhere link"),
    ("link becomes a file", "rm link; echo user > link"),
    ("inside a directory", "echo user > dir/new; echo user > dir/inner"),
    (
        "swapped directories",
        "mkdir away2; echo user > away2/a; touch -r away/a away2/a; mv away away.bak; mv away2 away",
    ),
    ("empty directory used", "echo user > empty/now"),
];

/// What the agent does; each touches every path that a user's edit is about.
const BY_AGENT: [(&str, &str); 5] = [
    (
        "writes",
        "for f in file mode gone over dir/inner becomes-dir away/a created; do echo agent > $f; done; ln -sfn agent link; echo agent > empty/agent",
    ),
    ("deletes", "rm -rf file mode gone over dir becomes-dir away link empty"),
    (
        "chmods",
        "chmod 755 file mode gone over dir/inner becomes-dir away/a; chmod 700 dir away empty; mkdir created",
    ),
    (
        "replaces",
        "for f in file mode gone over becomes-dir link; do rm $f; mkdir $f; echo agent > $f/agent; done; rm -r dir away empty; echo agent > dir; echo agent > away; echo agent > empty",
    ),
    ("touches nothing of it", "echo agent > other"),
];

/// Pairs that are about different paths, or come to the same.
const UNRELATED: [(&str, &str); 6] = [
    ("deletes", "delete"),
    ("deletes", "create"),
    ("chmods", "retarget"),
    ("chmods", "link becomes a file"),
    ("replaces", "create"),
    ("replaces", "file becomes a directory"),
];

/// Pairs that are brought together: the mode of one, the content of the other. With the file, and how it ends.
const MERGED: [(&str, &str, &str, &str); 6] = [
    ("writes", "mode", "mode", "600 agent"),
    ("chmods", "content", "file", "755 user"),
    ("chmods", "content, saved by rename", "file", "755 user"),
    ("chmods", "same size and time", "file", "755 bose"),
    ("chmods", "rename over", "over", "755 user"),
    ("chmods", "inside a directory", "dir/inner", "755 user"),
];

/// Every path that the user made or changed is still as the user left it.
#[track_caller]
fn nothing_of_the_user_is_lost(now: &Snapshot, base: &Snapshot, user: &Snapshot, what: &str) {
    for (path, node) in user {
        if base.get(path) != Some(node) {
            assert_eq!(now.get(path), Some(node), "{what}: {}", path.display());
        }
    }
    for path in base.keys().filter(|path| !user.contains_key(*path)) {
        assert!(!now.contains_key(path), "{what}: {} came back", path.display());
    }
}

#[test]
fn whatever_both_do_no_edit_of_the_users_is_lost() {
    let mut number = 0;
    let mut unexpected: Vec<String> = Vec::new();
    let combinations: Vec<_> =
        identities().into_iter().flat_map(|who| BACKENDS.map(|backend| (who, backend))).collect();
    for (agent, edits) in BY_AGENT {
        for (user, does) in BY_USER {
            // Both backends for every pair; the identities take turns.
            for backend in BACKENDS {
                number += 1;
                let fitting: Vec<_> = combinations.iter().filter(|(_, of)| *of == backend).collect();
                let world = World::new(fitting[number / 2 % fitting.len()].0);
                project(&world);
                let what = format!("agent {agent}, user: {user}, {backend} as {:?}", world.who);
                let base = snapshot(&world.project());
                let run = world.waiting(&["--mount", backend], edits, "");
                // The base is there: what comes now is an edit during the run.
                let id = world.only_session();
                assert!(soon(|| world.sessions().join(&id).join("base/contents.json").exists()));
                world.outside(does);
                let mut by_user = snapshot(&world.project());
                let ended = run.go();
                let now = snapshot(&world.project());
                let merged =
                    MERGED.iter().find(|(by_agent, by_user, ..)| (*by_agent, *by_user) == (agent, user));
                if let Some((_, _, path, expected)) = merged {
                    assert_eq!(ended.code, 0, "{what}: {ended:#?}");
                    let found = world.outside(&format!("stat -c %a {path}; cat {path}"));
                    assert_eq!(found.trim_end().replace('\n', " "), *expected, "{what}");
                    let path = std::path::PathBuf::from(path);
                    let node = now[&path].clone();
                    by_user.insert(path, node);
                    nothing_of_the_user_is_lost(&now, &base, &by_user, &what);
                    continue;
                }
                nothing_of_the_user_is_lost(&now, &base, &by_user, &what);
                match ended.code {
                    0 => {
                        // The same on both sides, or each made something of its own in one directory.
                        let may_be_clean = agent == "touches nothing of it"
                            || user == "empty directory used"
                            || UNRELATED.contains(&(agent, user));
                        if !may_be_clean {
                            unexpected.push(format!("{what}: {}", ended.stderr));
                        }
                    }
                    3 => {
                        assert_eq!(now, by_user, "{what}: nothing was applied");
                        assert_eq!(world.listed()[0]["state"], "held", "{what}");
                        // And the agent's side is all there: discarding ours gives exactly theirs or says why not.
                        let _ = world.aw(["sessions", "diff", &id]).ends(0);
                    }
                    other => panic!("{what}: {other} {ended:#?}"),
                }
            }
        }
    }
    println!("{number} pairs");
    assert!(unexpected.is_empty(), "{unexpected:#?}");
}

#[test]
fn an_edit_before_the_base_is_taken_is_a_conflict_too() {
    for_each(|world, backend| {
        project(world);
        let run = world.waiting(&["--mount", backend], "echo agent > file", "");
        world.outside("echo user > file");
        run.go().ends(3);
        assert_eq!(read(world.project().join("file")), "user\n");
    });
}

#[test]
fn the_same_change_on_both_sides_is_nothing_to_do() {
    for_each(|world, backend| {
        project(world);
        let run = world.waiting(&["--mount", backend], "echo same > file; echo agent > other", "");
        world.outside("echo same > file");
        run.go().ends(0);
        assert_eq!(read(world.project().join("file")), "same\n");
        assert_eq!(read(world.project().join("other")), "agent\n");
    });
}

#[test]
fn two_sessions_at_the_same_time_both_apply_and_the_second_conflicts_where_they_meet() {
    for_each(|world, backend| {
        project(world);
        let one = world.waiting(&["--mount", backend], "echo one > file; echo one > first", "");
        let two = world.waiting(&["--mount", backend], "echo two > over; echo two > second", "");
        let three = world.waiting(&["--mount", backend], "cat file; echo three > file", "");
        one.go().ends(0);
        two.go().ends(0);
        let conflict = three.go().ends(3);
        assert_eq!(conflict.stdout, "base\n", "sessions do not see each other");
        let now = |name: &str| read(world.project().join(name));
        assert_eq!(
            (now("file"), now("first"), now("over"), now("second")),
            ("one\n".into(), "one\n".into(), "two\n".into(), "two\n".into())
        );
        let listed = world.listed();
        let held: Vec<_> = listed.iter().filter(|session| session["state"] == "held").collect();
        assert_eq!((listed.len(), held.len()), (3, 1));
        let id = held[0]["id"].as_str().unwrap();
        world.aw(["sessions", "apply", id, "--theirs", "file"]).ends(0);
        assert_eq!(now("file"), "three\n");
        world.aw(["sessions", "undo", id]).ends(0);
        assert_eq!(now("file"), "one\n");
    });
}

#[test]
fn sessions_that_apply_at_the_very_same_moment_do_not_mix() {
    for_each(|world, backend| {
        project(world);
        let script = |name: &str| {
            format!("for i in 1 2 3 4 5 6; do echo {name} > {name}$i; echo {name} > shared$i; done")
        };
        let names = ["a", "b", "c"];
        let runs: Vec<_> =
            names.iter().map(|name| world.waiting(&["--mount", backend], &script(name), "")).collect();
        let ended: Vec<i32> = std::thread::scope(|scope| {
            let handles: Vec<_> = runs.into_iter().map(|run| scope.spawn(move || run.go().code)).collect();
            handles.into_iter().map(|handle| handle.join().unwrap()).collect()
        });
        let mut sorted = ended.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 3, 3], "one wins, the others are held");
        let winner = names[ended.iter().position(|code| *code == 0).unwrap()];
        for number in 1..=6 {
            assert_eq!(read(world.project().join(format!("shared{number}"))), format!("{winner}\n"));
        }
        for name in names.iter().filter(|name| **name != winner) {
            assert!(!world.project().join(format!("{name}1")).exists(), "all or nothing");
        }
    });
}

#[test]
fn conflicts_are_decided_path_by_path_and_the_rest_can_be_picked() {
    for_each(|world, backend| {
        project(world);
        let edits = "for f in file mode over untouched new; do echo agent > $f; done";
        let run = world.waiting(&["--mount", backend], edits, "");
        world.outside("echo user > file; echo user > mode");
        run.go().ends(3);
        let id = world.only_session();
        let now = |name: &str| fs::read_to_string(world.project().join(name)).unwrap_or_default();
        // A part that has no conflict.
        world.aw(["sessions", "apply", &id, "--only", "over"]).ends(0);
        assert_eq!(
            (now("over"), now("untouched"), now("file")),
            ("agent\n".into(), "base\n".into(), "user\n".into())
        );
        assert_eq!(world.listed()[0]["state"], "held", "the rest stays");
        // One of two decided is not enough.
        world.aw(["sessions", "apply", &id, "--theirs", "file"]).ends(3).says("mode");
        assert_eq!((now("untouched"), now("file")), ("base\n".into(), "user\n".into()));
        world.aw(["sessions", "apply", &id, "--theirs", "file", "--ours", "mode"]).ends(0);
        assert_eq!(
            (now("untouched"), now("file"), now("mode"), now("new")),
            ("agent\n".into(), "agent\n".into(), "user\n".into(), "agent\n".into())
        );
        world.aw(["sessions", "apply", &id, "--only", "no-such-path"]).ends(0).says("nothing to apply");
    });
}

#[test]
fn an_undo_after_the_user_went_on_is_refused_and_loses_nothing() {
    for_each(|world, backend| {
        project(world);
        world.mounted(&["--mount", backend], "echo agent > file; echo agent > over; rm gone").ends(0);
        let id = world.only_session();
        world.outside("echo user >> file");
        let before = snapshot(&world.project());
        world.aw(["sessions", "undo", &id]).ends(3).says("file");
        assert_eq!(snapshot(&world.project()), before);
    });
}

/// The base of a session anew, from the project as it is now: as if all that changed since had changed while it was taken.
fn take_base_again(world: &World, id: &str) {
    let rules: Vec<agentworkforce::model::mount::PathRule> =
        serde_json::from_str(&read(world.sessions().join(id).join("rules.json"))).unwrap();
    agentworkforce::mount::changes::base::take_project(
        &world.sessions().join(id),
        &world.project(),
        &rules,
        &|| false,
    )
    .unwrap();
    if world.who == Identity::Ordinary {
        // Not the project too: that would change it.
        let manifest = world.sessions().join(id).join("manifest");
        std::os::unix::fs::chown(manifest, Some(ORDINARY_ID), Some(ORDINARY_ID)).unwrap();
    }
}

#[test]
fn somebody_else_in_the_same_directory_while_the_base_is_taken_is_no_conflict() {
    for who in identities() {
        for backend in BACKENDS {
            let world = World::new(who);
            world.files(&[("dir/edited", "base\n"), ("dir/gone", "base\n")]);
            let script = "echo agent > dir/edited; echo agent >> dir/gone; echo new > dir/new; mkdir dir/made; echo in > dir/made/in";
            world.mounted(&["--mount", backend, "--apply", "never"], script).ends(0);
            let id = world.only_session();
            // In the first moment of the run: another run adds a file, the user deletes one.
            world.outside("echo other > dir/other; rm dir/gone");
            take_base_again(&world, &id);
            let found = world.aw(["sessions", "show", &id, "--json"]).ends(0).json();
            let conflicts: Vec<&str> = found["review"]["changes"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|change| !change["conflict"].is_null())
                .map(|change| change["path"].as_str().unwrap())
                .collect();
            // What the agent had before it changed it may have been deleted by the user.
            assert_eq!(conflicts, ["dir/gone"], "{backend}: {found:#}");
            world.aw(["sessions", "apply", &id, "--ours", "dir/gone"]).ends(0);
            let now = world.outside("cat dir/edited dir/new dir/made/in dir/other; ls dir");
            assert_eq!(now, "agent\nnew\nin\nother\nedited\nmade\nnew\nother\n");
        }
    }
}
