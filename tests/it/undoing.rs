//! `sessions undo` through the program and its real backends: by content, for single paths, and by force.

use crate::support::mount::{Identity, World, identities, read};
use crate::support::sessions::{BACKENDS, paths, snapshot};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::fs;
use std::process::Stdio;

/// A session that is applied.
fn for_each_applied(test: impl Fn(&World, &str)) {
    for who in identities() {
        for backend in BACKENDS {
            eprintln!("as {who:?}, {backend}");
            let world = World::new(who);
            world.repository(&[("a", "a\n"), ("b", "b\n"), ("dir/gone", "gone\n"), ("tool", "tool\n")]);
            let script = "echo agent > a; echo agent > b; rm -r dir; echo new > new; chmod +x tool";
            world.mounted(&["--mount", backend], script).ends(0);
            test(&world, &world.only_session());
        }
    }
}

fn now(world: &World, name: &str) -> String {
    read(world.project().join(name))
}

#[test]
fn touched_and_restored_files_are_undone() {
    for_each_applied(|world, id| {
        world.outside("touch a; cp b b.keep; echo other > b; mv b.keep b; git stash -q && git stash pop -q");
        world.aw(["sessions", "undo", id]).ends(0).says("undone: the project is as it was before");
        assert_eq!(
            (now(world, "a"), now(world, "b"), now(world, "dir/gone")),
            ("a\n".into(), "b\n".into(), "gone\n".into())
        );
        world.aw(["sessions", "redo", id]).ends(0).says("applied again");
        assert_eq!(now(world, "a"), "agent\n");
        world.aw(["sessions", "redo", id]).ends(2).says("nothing was undone");
    });
}

#[test]
fn an_edited_file_is_named_and_only_force_undoes_it() {
    for_each_applied(|world, id| {
        world.outside("echo user >> a");
        let before = snapshot(&world.project());
        let refused = world.aw(["sessions", "undo", id]).ends(3);
        assert_eq!(refused.stdout, "");
        assert!(
            refused.stderr.starts_with("undo refused, nothing touched; edited since the apply:\n  a\nhint: "),
            "{refused:?}"
        );
        let refused = world.aw(["sessions", "undo", id, "--json"]).ends(3).json();
        assert_eq!(
            (&refused["outcome"]["status"], &refused["outcome"]["changed"], &refused["state"]),
            (&json!("conflict"), &json!(["a"]), &json!("applied"))
        );
        assert_eq!(snapshot(&world.project()), before);
        let forced = world.aw(["sessions", "undo", id, "--force"]).ends(0);
        forced
            .says("undone: the project is as it was")
            .says("your edits since the apply are in the session: a");
        assert_eq!(now(world, "a"), "a\n");
        world.aw(["sessions", "redo", id]).ends(0);
        assert_eq!(snapshot(&world.project()), before, "the edit is there again");
    });
}

#[test]
fn single_paths_are_undone_and_the_rest_later() {
    for_each_applied(|world, id| {
        world.outside("echo user >> b");
        world.aw(["sessions", "undo", id, "--only", "nowhere"]).ends(2).says("applied is at `nowhere`");
        // However it is written.
        let whole = world.project().join("dir/gone");
        let some = world
            .aw([
                "sessions",
                "undo",
                id,
                "--only",
                "./a",
                "--only",
                whole.to_str().unwrap(),
                "--only",
                "nowhere",
                "--json",
            ])
            .ends(0)
            .json();
        assert_eq!(paths_of(&some["outcome"]["restored"]), ["a", "dir", "dir/gone"]);
        assert_eq!((&some["outcome"]["remaining"], &some["state"]), (&json!(3), &json!("applied")));
        assert_eq!(some["warnings"][0]["code"], "no-match", "{some:#}");
        assert_eq!((now(world, "a"), now(world, "new")), ("a\n".into(), "new\n".into()));
        let shown = world.aw(["sessions", "show", id, "--json"]).ends(0).json();
        assert_eq!(paths_of(&shown["journals"][0]["undone"]).len(), 3, "{shown:#}");
        // What was undone is nowhere else.
        world.aw(["sessions", "prune", "--older-than", "0s"]).ends(0).says("exist only here");
        let said = world.aw(["sessions", "undo", id, "--only", "tool"]).ends(0);
        assert!(said.stdout.starts_with(&format!("undone: 1 path of {id}; 2 still applied\n")), "{said:?}");
        world.aw(["sessions", "undo", id]).ends(3).says("  b\n");
        world.outside("printf 'agent\\n' > b");
        let rest = world.aw(["sessions", "undo", id, "--json"]).ends(0).json();
        assert_eq!((&rest["outcome"]["remaining"], &rest["state"]), (&json!(0), &json!("undone")));
        assert_eq!(world.outside("git status --porcelain"), "");
        for _ in 0..3 {
            world.aw(["sessions", "redo", id]).ends(0);
        }
        assert_eq!((now(world, "a"), now(world, "b")), ("agent\n".into(), "agent\n".into()));
        world.aw(["sessions", "undo", id]).ends(0).says("the project is as it was before");
        assert_eq!(world.outside("git status --porcelain"), "");
    });
}

fn paths_of(value: &serde_json::Value) -> Vec<&str> {
    value.as_array().map_or(Vec::new(), |paths| paths.iter().filter_map(|path| path.as_str()).collect())
}

#[test]
fn the_next_run_knows_what_was_undone() {
    for backend in BACKENDS {
        let world = World::new(Identity::Own);
        world.repository(&[("a", "a\n"), ("b", "b\n")]);
        world.mounted(&["--mount", backend, "--keep"], "echo agent > a; echo agent > b").ends(0);
        let id = world.only_session();
        world.aw(["sessions", "undo", &id, "--only", "a"]).ends(0);
        let shown = world.aw(["sessions", "show", &id, "--json"]).ends(0).json();
        assert_eq!(paths(&shown["review"]["changes"]), ["a"], "it can be applied again: {shown:#}");
        world.aw(["sessions", "apply", &id, "--keep"]).ends(0);
        assert_eq!(now(&world, "a"), "agent\n");
        world.aw(["sessions", "undo", &id]).ends(0).says("1 earlier apply not undone");
        world.aw(["sessions", "undo", &id]).ends(0);
        assert_eq!(world.outside("git status --porcelain"), "");
    }
}

#[test]
fn two_undos_at_once_undo_once() {
    for_each_applied(|world, id| {
        let undo = || {
            let mut command = world.aw_command(["sessions", "undo", id, "--only", "a"]);
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        };
        let codes: Vec<Option<i32>> =
            [undo(), undo(), undo()].map(|mut child| child.wait().unwrap().code()).into_iter().collect();
        assert_eq!(codes.iter().filter(|code| **code == Some(0)).count(), 1, "{codes:?}");
        assert_eq!((now(world, "a"), now(world, "b")), ("a\n".into(), "agent\n".into()));
        assert!(fs::read_dir(world.sessions().join(id).join("journal")).unwrap().count() >= 2);
    });
}

#[test]
fn a_file_that_became_a_closed_directory_is_undone_and_redone() {
    for who in identities() {
        for backend in BACKENDS {
            for (make, mode) in [
                ("mkdir f; chmod 555 f", "555"),
                ("mkdir f; echo in > f/in; chmod 500 f", "500"),
                ("mkdir f; chmod 355 f", "355"),
            ] {
                let world = World::new(who);
                world.repository(&[("f", "mine\n")]);
                world.mounted(&["--mount", backend], &format!("rm f; {make}")).ends(0);
                let id = world.only_session();
                assert_eq!(world.outside("stat -c %a f").trim(), mode, "{backend}");
                world.aw(["sessions", "undo", &id]).ends(0);
                assert_eq!(world.outside("cat f; stat -c %a f"), "mine\n644\n", "{backend}: {make}");
                world.aw(["sessions", "redo", &id]).ends(0);
                assert_eq!(world.outside("stat -c %a f").trim(), mode, "{backend}: {make}");
                world.aw(["sessions", "undo", &id]).ends(0);
                assert_eq!(now(&world, "f"), "mine\n", "{backend}: {make}");
            }
        }
    }
}

/// A file that moved and was edited: the review shows one rename, by what both have in common.
fn for_each_renamed(options: &[&str], test: impl Fn(&World, &str)) {
    for who in identities() {
        for backend in BACKENDS {
            eprintln!("as {who:?}, {backend}");
            let world = World::new(who);
            world.repository(&[("src/calc.py", "one\ntwo\nthree\nfour\nfive\n"), ("other", "other\n")]);
            let script = "mv src/calc.py src/calculator.py; echo six >> src/calculator.py; echo new > new";
            let arguments = [&["--mount", backend], options].concat();
            world.mounted(&arguments, script).ends(0);
            test(&world, &world.only_session());
        }
    }
}

#[test]
fn one_half_of_a_rename_with_an_edit_undoes_both() {
    for_each_renamed(&[], |world, id| {
        for half in ["src/calculator.py", "src/calc.py"] {
            world.aw(["sessions", "undo", id, "--only", half]).ends(0).says("2 paths");
            assert_eq!(world.outside("ls src; cat src/calc.py"), "calc.py\none\ntwo\nthree\nfour\nfive\n");
            assert_eq!(now(world, "new"), "new\n", "the rest stays");
            world.aw(["sessions", "redo", id]).ends(0).says("applied again").says("src/calculator.py");
            assert_eq!(world.outside("ls src; tail -n1 src/calculator.py"), "calculator.py\nsix\n");
        }
    });
}

#[test]
fn one_half_of_a_rename_that_is_left_leaves_both() {
    for half in ["src/calculator.py", "src/calc.py"] {
        for_each_renamed(&["--apply", "never"], |world, id| {
            world.aw(["sessions", "apply", id, "--ours", half]).ends(0);
            assert_eq!(world.outside("ls src; cat new"), "calc.py\nnew\n", "{half}");
        });
    }
}

#[test]
fn a_redo_says_what_it_brought_and_what_is_still_undone() {
    for_each_applied(|world, id| {
        for path in ["a", "b", "dir"] {
            world.aw(["sessions", "undo", id, "--only", path]).ends(0);
        }
        let first = world.aw(["sessions", "redo", id]).ends(0);
        assert_eq!(first.stdout, format!("applied again: 2 paths of {id}; 2 still undone\n"));
        assert!(first.stderr.starts_with("  dir\n  dir/gone\nhint: "), "{first:?}");
        let second = world.aw(["sessions", "redo", id, "--json"]).ends(0).json();
        assert_eq!(
            (paths_of(&second["outcome"]["restored"]), &second["outcome"]["undone"]),
            (vec!["b"], &json!(1))
        );
        let last = world.aw(["sessions", "redo", id]).ends(0);
        assert_eq!((last.stdout, last.stderr), (format!("applied again: {id}\n"), "  a\n".to_owned()));
    });
}

#[test]
fn an_undo_of_what_was_thrown_away_with_git_says_so() {
    for_each_applied(|world, id| {
        world.aw(["sessions", "undo", id, "--only", "b"]).ends(0);
        world.outside("git checkout -q . && git clean -qfd");
        let said = world.aw(["sessions", "undo", id]).ends(0);
        said.says("was gone from the project already").says("brings only 1 path that you undid before");
        world.aw(["sessions", "redo", id]).ends(0).says("  b\n");
        world.aw(["sessions", "redo", id]).ends(2);
    });
    for_each_applied(|world, id| {
        world.outside("git checkout -q a");
        let some = world.aw(["sessions", "undo", id]).ends(0);
        some.says("the project is as it was before")
            .says("1 path had been taken back already; a redo does not bring:\n  a\n");
        world.aw(["sessions", "redo", id]).ends(0);
        assert_eq!((now(world, "a"), now(world, "b")), ("a\n".into(), "agent\n".into()));
    });
    for_each_applied(|world, id| {
        world.outside("git checkout -q . && git clean -qfd");
        world.aw(["sessions", "undo", id]).ends(0).says("there is nothing to redo");
        world
            .aw(["sessions", "redo", id])
            .ends(2)
            .says("was gone from the project before")
            .says("sessions diff");
        world.outside("git status --porcelain | grep . && exit 1; true");
        let patch = world.aw(["sessions", "diff", id]).ends(0).stdout;
        fs::write(world.project().join("../patch"), patch).unwrap();
        world.outside("git apply ../patch");
        assert_eq!((now(world, "a"), now(world, "new")), ("agent\n".into(), "new\n".into()));
    });
}

#[test]
fn what_is_still_applied_and_undone_counts_all_applies_of_the_session() {
    let world = World::new(Identity::Own);
    world.repository(&[("a", "a\n")]);
    world.mounted(&["--apply", "never"], "echo agent > a; for n in 1 2 3 4; do echo x > n$n; done").ends(0);
    let id = &world.only_session();
    world.aw(["sessions", "apply", id, "--only", "a", "--only", "n1", "--only", "n2"]).ends(0);
    world.aw(["sessions", "apply", id]).ends(0);
    let undo = |path: &str| world.aw(["sessions", "undo", id, "--only", path]);
    let said = undo("n4").ends(0);
    assert!(said.stdout.starts_with(&format!("undone: 1 path of {id}; 4 still applied\n")), "{said:?}");
    let said = undo("n2").ends(0);
    assert!(said.stdout.starts_with(&format!("undone: 1 path of {id}; 3 still applied\n")), "{said:?}");
    undo("n2").ends(2).says("`n2` is undone already").says(&format!("sessions redo {id}"));
    let said = world.aw(["sessions", "redo", id]).ends(0);
    assert_eq!(said.stdout, format!("applied again: 1 path of {id}; 1 still undone\n"));
}

#[test]
fn a_refused_undo_of_the_only_path_names_no_others() {
    let world = World::new(Identity::Own);
    world.repository(&[("a", "a\n")]);
    world.mounted(&[], "echo agent > a").ends(0);
    world.outside("echo user >> a");
    let refused = world.aw(["sessions", "undo", &world.only_session()]).ends(3);
    assert!(!refused.stderr.contains("other paths") && refused.stderr.contains("--force"), "{refused:?}");
}
