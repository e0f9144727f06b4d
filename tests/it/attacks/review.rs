//! What an agent would like a reviewer to overlook.

use crate::support::mount::{World, for_each_identity};
use crate::support::sessions::BACKENDS;
use std::fmt::Write;

#[test]
fn every_changed_path_is_shown() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n")]);
        for backend in BACKENDS {
            let script = "for i in $(seq 100 199); do echo x > file$i; done";
            let did = world.mounted(&["--mount", backend], script).ends(0);
            let mut expected = String::new();
            for number in 100..200 {
                let _ = writeln!(expected, "  added     file{number}");
            }
            assert!(did.stderr.contains(&expected), "{did:#?}");
            world.outside("rm file*");
        }
        world.mounted(&["--apply", "never"], "for i in $(seq 100 199); do echo x > file$i; done").ends(0);
        let held = world.listed().into_iter().find(|session| session["state"] == "held").unwrap();
        let shown = world.aw(["sessions", "show", held["id"].as_str().unwrap()]).ends(0);
        shown.says("file100").says("file150").says("file199");
    });
}

#[test]
fn a_repository_that_the_agent_makes_is_not_dropped_in_silence() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n"), (".gitignore", "cache/\n"), ("vendor/x", "x\n")]);
        for backend in BACKENDS {
            let script = "git init -q made; echo evil > made/.git/hooks/pre-commit; echo x > made/file
                mkdir -p vendor/.GIT/hooks; echo x > vendor/.GIT/hooks/pre-commit; git init -q cache/ignored";
            let did = world.mounted(&["--mount", backend, "--json"], script).ends(0);
            let review = &did.json()["applied"]["outcome"]["review"];
            let dropped: Vec<&str> =
                review["droppedGit"].as_array().unwrap().iter().filter_map(|path| path.as_str()).collect();
            assert_eq!(dropped, ["made/.git", "vendor/.GIT"], "{review:#}");
            assert!(
                !world.project().join("made/.git").exists() && !world.project().join("vendor/.GIT").exists()
            );
            assert_eq!(world.outside("cat made/file; rm -r made"), "x\n");
        }
        let did = world.mounted(&[], "git init -q made").ends(0);
        did.says("not applied: made/.git is a repository that the agent made or changed");
    });
}

#[test]
fn a_submodule_of_the_project_is_not_reported() {
    let world = World::new(crate::support::mount::Identity::Own);
    world.repository(&[("a.txt", "one\n")]);
    world.outside("git init -q ../other; git -C ../other commit -q --allow-empty -m x; git -c protocol.file.allow=always submodule --quiet add ../other sub; git commit -qm sub");
    for backend in BACKENDS {
        let did = world.mounted(&["--mount", backend, "--json"], "echo x > sub/file; rm sub/file").ends(0);
        assert_eq!(
            did.json()["applied"]["outcome"]["review"]["droppedGit"],
            serde_json::json!([]),
            "{did:#?}"
        );
    }
}
