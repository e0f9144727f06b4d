//! You and agents edit the same files at the same time, through the program and its real backends: what can be merged is applied
//! as merged, the rest is held.

use crate::support::harness::weaver;
use crate::support::mount::{Identity, World, identities, read, soon};
use crate::support::sessions::{BACKENDS, Did};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::fs;
use std::process::Stdio;

const FUNCTIONS: &str = "\
fn alpha() -> u32 {
    alpha_before()
}

fn beta() -> u32 {
    beta_before()
}

fn gamma() -> u32 {
    gamma_before()
}
";

fn for_each(test: impl Fn(&World, &str)) {
    for who in identities() {
        for backend in BACKENDS {
            eprintln!("as {who:?}, {backend}");
            let world = World::new(who);
            world.repository(&[("lib.rs", FUNCTIONS), ("other", "other\n")]);
            test(&world, backend);
        }
    }
}

/// The base is there with its contents: what comes now is an edit during the run.
fn wait_for_bases(world: &World, count: usize) {
    let complete = || {
        let sessions = fs::read_dir(world.sessions()).unwrap().flatten();
        sessions.filter(|session| session.path().join("base/contents.json").exists()).count()
    };
    assert!(soon(|| complete() == count), "{} of {count} bases", complete());
}

fn lib(world: &World) -> String {
    read(world.project().join("lib.rs"))
}

#[test]
fn three_personas_edit_three_functions_of_one_file_and_all_apply() {
    for who in identities() {
        for backend in BACKENDS {
            let names = ["alpha", "beta", "gamma"];
            let world = World::with_harness(
                who,
                "begins; sed -i \"s/${FUNCTION}_before/${FUNCTION}_after/\" lib.rs; touch \"$record/ready-$FUNCTION\"\n\
                 while ! test -e \"$record/go\"; do sleep 0.01; done; answers done",
            );
            world.files(&[("lib.rs", FUNCTIONS)]);
            world.outside("git add -A && git commit -qm functions");
            for name in names {
                let mut persona = weaver();
                persona["id"] = json!(name);
                persona["intent"] = json!(name);
                persona["env"] = json!({"FUNCTION": name});
                world.persona(&persona);
            }
            let runs = names.map(|name| {
                let mut command = world.agent_command(&[name, "-p", "do it", "--json", "--mount", backend]);
                command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
            });
            for name in names {
                assert!(soon(|| world.record(&format!("ready-{name}")).exists()), "{name} does not start");
            }
            wait_for_bases(&world, 3);
            fs::write(world.record("go"), "").unwrap();
            let ended = runs.map(|run| Did::of(&run.wait_with_output().unwrap()).ends(0).json());
            assert_eq!(lib(&world), FUNCTIONS.replace("_before", "_after"), "{who:?} {backend}");
            let mut merged = 0;
            for report in ended {
                assert_eq!(report["apply"]["status"], "applied", "{report:#}");
                assert_eq!(report["changes"].as_array().unwrap().len(), 1, "{report:#}");
                merged += usize::from(report["changes"][0]["merged"] == true);
            }
            assert_eq!(merged, 2, "whoever came first found the file as it was");
        }
    }
}

#[test]
fn a_merged_file_is_said_to_be_merged_and_can_be_undone_and_redone() {
    for_each(|world, backend| {
        let run = world.waiting(
            &["--mount", backend, "--apply", "never"],
            "sed -i s/gamma_before/agent/ lib.rs",
            "",
        );
        wait_for_bases(world, 1);
        world.outside("sed -i s/alpha_before/user/ lib.rs; git add -A");
        let by_user = lib(world);
        run.go().ends(0);
        let id = world.only_session();
        let shown = world.aw(["sessions", "show", &id, "--json"]).ends(0).json();
        let change = &shown["review"]["changes"][0];
        assert_eq!((&change["merged"], &change["conflict"]), (&json!(true), &json!(null)), "{shown:#}");
        let diff = world.aw(["sessions", "diff", &id]).ends(0).stdout;
        assert!(diff.starts_with("# merged: lib.rs: ") && diff.contains("+    agent()"), "{diff}");
        assert!(!diff.contains("-    user()"), "your edit stays: {diff}");
        // Without merging it is a conflict as before, by flag and by setting.
        world.aw(["sessions", "apply", &id, "--no-merge"]).ends(3).says("lib.rs");
        world.aw(["config", "set", "mount.merge", "false"]).ends(0);
        world.aw(["sessions", "apply", &id]).ends(3).says("lib.rs");
        world.aw(["config", "unset", "mount.merge"]).ends(0);
        assert_eq!(lib(world), by_user);
        let merged = by_user.replace("gamma_before", "agent");
        world.aw(["sessions", "apply", &id]).ends(0).says("merged    lib.rs");
        assert_eq!(lib(world), merged);
        world.aw(["sessions", "undo", &id]).ends(0);
        assert_eq!(lib(world), by_user);
        world.aw(["sessions", "redo", &id]).ends(0);
        assert_eq!(lib(world), merged);
    });
}

#[test]
fn edits_of_the_same_lines_are_held() {
    for_each(|world, backend| {
        let run = world.waiting(&["--mount", backend], "sed -i s/beta_before/agent/ lib.rs", "");
        wait_for_bases(world, 1);
        world.outside("sed -i s/beta_before/user/ lib.rs");
        run.go().ends(3).says("lib.rs");
        assert_eq!(lib(world), FUNCTIONS.replace("beta_before", "user"));
    });
}

/// Each of these leaves the file as it was. The agent takes it up after that, so that an overlay began with it, too.
#[test]
fn a_file_that_is_as_it_was_is_no_conflict() {
    for does in [
        "touch lib.rs",
        "echo x >> lib.rs; git checkout -q lib.rs",
        "git checkout -q -b x; echo x > lib.rs; git commit -qam x; git checkout -q -",
    ] {
        for_each(|world, backend| {
            let run =
                world.waiting(&["--mount", backend], "", "sleep 0.1; sed -i s/beta_before/agent/ lib.rs");
            wait_for_bases(world, 1);
            world.outside(does);
            run.go().ends(0);
            assert_eq!(lib(world), FUNCTIONS.replace("beta_before", "agent"), "{does}");
        });
    }
}

#[test]
fn a_file_that_was_saved_and_restored_after_the_agent_took_it_up_is_held() {
    for_each(|world, backend| {
        let run = world.waiting(&["--mount", backend], "sed -i s/beta_before/agent/ lib.rs", "");
        wait_for_bases(world, 1);
        world.outside("echo x >> lib.rs; git checkout -q lib.rs");
        let ended = run.go();
        if backend == "overlay" {
            ended.ends(3).says("saved and restored lib.rs");
            assert_eq!(lib(world), FUNCTIONS);
            let id = world.only_session();
            let shown = world.aw(["sessions", "show", &id, "--json"]).ends(0).json();
            assert_eq!(shown["review"]["changes"][0]["touched"], true, "{shown:#}");
            // It is no conflict: an apply needs no decision.
            world.aw(["sessions", "apply", &id]).ends(0);
        } else {
            // A copy never showed what was in between.
            ended.ends(0);
        }
        assert_eq!(lib(world), FUNCTIONS.replace("beta_before", "agent"));
    });
}

#[test]
fn a_session_that_goes_on_after_an_apply_starts_from_what_was_applied() {
    for who in identities() {
        for backend in BACKENDS {
            let world = World::with_harness(who, "begins; sed -i s/two/2/ main.txt; answers done");
            world.files(&[("main.txt", "one\ntwo\nthree\nfour\n")]);
            let (first, code) = world.report(&["--mount", backend, "--keep"]);
            assert_eq!(code, 0, "{first:#}");
            // The same line again, and one of the user's that the agent does not have.
            world.outside("sed -i s/four/4/ main.txt");
            world.harness("claude", "begins; sed -i s/2/second/ main.txt; answers done");
            let id = first["session"].as_str().unwrap();
            let (second, code) = world.report(&["--resume", id, "--keep"]);
            assert_eq!(code, 0, "{second:#}");
            assert_eq!(second["changes"][0]["merged"], true, "{second:#}");
            assert_eq!(read(world.project().join("main.txt")), "one\nsecond\nthree\n4\n");
            // What the agent does not have is not what it took away.
            world.harness("claude", "begins; sed -i s/second/last/ main.txt; answers done");
            let (third, code) = world.report(&["--resume", id]);
            assert_eq!(code, 0, "{third:#}");
            assert_eq!(read(world.project().join("main.txt")), "one\nlast\nthree\n4\n");
        }
    }
}

#[test]
fn too_many_files_to_keep_are_told() {
    let world = World::with_harness(Identity::Own, "begins; echo x > new.txt; sleep 8; answers done");
    world.outside("mkdir many; for i in $(seq 5010); do echo $i > many/$i; done");
    let (report, code) = world.report(&[]);
    assert_eq!(code, 0, "{report:#}");
    let warnings = report["warnings"].to_string();
    assert!(warnings.contains("too many to keep"), "{warnings}");
}

#[test]
fn a_directory_stands_for_the_conflicts_below_it_and_not_for_what_is_merged() {
    for_each(|world, backend| {
        world.files(&[("both", "1\n2\n3\n4\n5\n"), ("same", "base\n")]);
        let work = "sed -i s/5/five/ both; echo agents > same; echo new > new";
        world.mounted(&["--mount", backend, "--apply", "never"], work).ends(0);
        world.outside("sed -i s/1/one/ both; echo mine > same");
        let id = world.listed()[0]["id"].as_str().unwrap().to_owned();
        for (flag, same) in [("--theirs", "agents\n"), ("--ours", "mine\n")] {
            world.aw(["sessions", "apply", &id, flag, ".", "--keep"]).ends(0).says("merged    both");
            let expected = format!("one\n2\n3\n4\nfive\n{same}new\n");
            assert_eq!(world.outside("cat both same new"), expected, "{backend} {flag}");
            world.aw(["sessions", "undo", &id]).ends(0);
        }
        // By its name, a file is taken as it is.
        world.aw(["sessions", "apply", &id, "--theirs", "both", "--ours", "same", "--keep"]).ends(0);
        assert_eq!(world.outside("cat both same"), "1\n2\n3\n4\nfive\nmine\n", "{backend}");
    });
}

#[test]
fn conflicts_are_settled_by_flags_and_the_hints_can_be_pasted() {
    for_each(|world, backend| {
        world.files(&[("with space.txt", "base\n")]);
        world
            .mounted(&["--mount", backend, "--apply", "never"], "echo agents | tee 'with space.txt' > other")
            .ends(0);
        world.outside("echo mine | tee 'with space.txt' > other");
        let id = world.listed()[0]["id"].as_str().unwrap().to_owned();
        let held = world.aw(["sessions", "apply", &id]).ends(3);
        held.says(&format!("`agentworkforce sessions apply {id} --theirs other` takes the agent's version"));
        let held = world.aw(["sessions", "apply", &id, "--markers", "./other"]).ends(3);
        held.says("--markers 'with space.txt'` writes both");
        world
            .aw(["sessions", "apply", &id, "--ours", "other", "--markers", "other"])
            .ends(2)
            .says("named by two");
        let done =
            world.aw(["sessions", "apply", &id, "--markers", "other", "--theirs", "with space.txt"]).ends(0);
        done.says("modified  other  (with conflict markers)").says("edit them and remove the markers");
        let both = "<<<<<<< yours\nmine\n=======\nagents\n>>>>>>> the agent's\n";
        assert_eq!(world.outside("cat other 'with space.txt'"), format!("{both}agents\n"));
        world.aw(["sessions", "undo", &id]).ends(0);
        assert_eq!(world.outside("cat other 'with space.txt'"), "mine\nmine\n");
        // After that each can be settled in another way.
        world.aw(["sessions", "diff", &id, "other"]).ends(0).says("agents");
        world.aw(["sessions", "apply", &id, "--theirs", "other", "--ours", "with space.txt"]).ends(0);
        assert_eq!(world.outside("cat other 'with space.txt'"), "agents\nmine\n");
    });
}

#[test]
fn a_conflict_that_is_decided_is_not_listed_with_the_others() {
    for_each(|world, backend| {
        world.files(&[("one", "base\n"), ("two", "base\n")]);
        world.mounted(&["--mount", backend, "--apply", "never"], "echo agents | tee one > two").ends(0);
        world.outside("echo mine | tee one > two");
        let held = world.aw(["sessions", "apply", "last", "--ours", "one"]).ends(3);
        held.says("1 conflict: nothing was applied").says("if you name them again with the others: one");
        assert!(!held.stderr.contains("--theirs one"), "{held:#?}");
        assert_eq!(world.outside("cat one two"), "mine\nmine\n");
    });
}

#[test]
fn a_conflict_over_a_file_that_was_moved_says_where_it_is() {
    for_each(|world, backend| {
        let text: String = (1..=9).map(|line| format!("line {line}\n")).collect();
        world.files(&[("old.txt", &text)]);
        world.mounted(&["--mount", backend, "--apply", "never"], "mv old.txt new.txt").ends(0);
        world.outside("sed -i '3s/.*/mine/' old.txt");
        world.aw(["sessions", "apply", "last"]).ends(3).says("deleted by the agent, moved to new.txt");
        // A file of the user's is not kept under both names.
        world.aw(["sessions", "apply", "last", "--ours", "old.txt"]).ends(0);
        assert_eq!(world.outside("ls *.txt; sed -n 3p old.txt"), "old.txt\nmine\n");
        world.aw(["sessions", "apply", "last", "--theirs", "old.txt"]).ends(0);
        assert_eq!(world.outside("ls *.txt; sed -n 3p new.txt"), "new.txt\nline 3\n");
        world.aw(["sessions", "undo", "last"]).ends(0);
        assert_eq!(world.outside("ls *.txt; sed -n 3p old.txt"), "old.txt\nmine\n");
    });
}
