//! What an agent leaves that is never applied: it stays until somebody throws it away on purpose, and it decides nothing.

use crate::support::mount::{Identity, World, for_each_identity, read};
use serde_json::json;
use std::fs;

/// The only session, after an age at which everything may be pruned.
fn pruned(world: &World) -> String {
    world.aw(["sessions", "prune", "--older-than", "0s"]).ends(0).stdout
}

#[test]
fn held_commits_protected_edits_and_stashes_outlive_a_prune() {
    let scripts = [
        "git checkout -qb feat; echo S > .env; git add -f .env; git commit -qm env; git checkout -q main",
        "echo important > docs.md",
        "echo wip >> a.txt; git stash -q",
    ];
    for script in scripts {
        let world = World::new(Identity::Own);
        world.repository(&[("a.txt", "one\n"), ("docs.md", "old\n"), (".agentreadonly", "docs.md\n")]);
        world.mounted(&[], script).ends(0);
        let said = pruned(&world);
        assert_eq!(world.listed().len(), 1, "{script}: {said}");
        world.aw(["sessions", "prune", "--older-than", "0s", "--force"]).ends(0);
        assert_eq!(world.listed().len(), 0, "{script}");
    }
}

#[test]
fn an_ordinary_session_is_pruned() {
    let world = World::new(Identity::Own);
    world.repository(&[("a.txt", "one\n")]);
    world.mounted(&[], "echo two > a.txt; git commit -qam two").ends(0);
    pruned(&world);
    assert_eq!(world.listed().len(), 0);
}

#[test]
fn an_undo_takes_back_one_apply_and_says_what_stays() {
    let world = World::new(Identity::Own);
    world.repository(&[("a.txt", "one\n")]);
    world.mounted(&["--apply", "never"], "echo 1 > b; echo 2 > c").ends(0);
    world.aw(["sessions", "apply", "mount", "--only", "b"]).ends(0);
    world.aw(["sessions", "apply", "mount"]).ends(0);

    let first = world.aw(["sessions", "undo", "mount"]).ends(0).stdout;
    assert!(
        first.contains("the last apply of mount-") && first.contains("1 earlier apply not undone"),
        "{first}"
    );
    let there = |name: &str| world.project().join(name).exists();
    assert!(there("b") && !there("c"));
    let state = world.aw(["sessions", "list", "--json"]).ends(0).stdout;
    assert!(state.contains("\"applied\""), "{state}");

    let second = world.aw(["sessions", "undo", "mount"]).ends(0).stdout;
    assert!(second.contains("the project is as it was before mount-"), "{second}");
    assert!(!there("b"));
    world.aw(["sessions", "undo", "mount"]).ends(2);
}

#[test]
fn an_agent_cannot_write_our_own_configuration() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n")]);
        world.files(&[(".env", "TOPSECRET\n")]);
        let home = "~/.agentworkforce/workforce";
        let config = json!({"mount": {"revealPatterns": [".env"]}});
        let script = format!(
            "(echo '{config}' > {home}/config.json) || true; (mkdir -p {home}/personas && echo '{{}}' > {home}/personas/x.json) || true"
        );
        world.mounted(&["--mount", "overlay"], &script).ends(0);
        assert!(!world.home().join(".agentworkforce/workforce/config.json").exists());
        assert!(!world.home().join(".agentworkforce/workforce/personas/x.json").exists());
        let did = world.mounted(&["--mount", "overlay"], "cat .env || true");
        assert!(!did.stdout.contains("TOPSECRET"), "{did:?}");
    });
}

#[test]
fn a_persona_does_not_change_what_decides_about_runs() {
    let world = World::new(Identity::Own);
    world.repository(&[("a.txt", "one\n"), (".agentignore", "private/\n")]);
    let script = "rm .agentignore; mkdir -p .agentworkforce/workforce/personas; \
                  echo '{\"id\":\"dallas\"}' > .agentworkforce/workforce/personas/dallas.json; echo two > a.txt";
    world.mounted(&["--persona", "dallas"], script).ends(0).says("not applied: .agentignore");
    assert_eq!(read(world.project().join(".agentignore")), "private/\n");
    assert_eq!(read(world.project().join("a.txt")), "two\n");
    assert!(!world.project().join(".agentworkforce").exists());
    // A persona whose job that is may, and a person approves it.
    let script = "mkdir -p .agentworkforce/workforce/personas; echo '{\"id\":\"mine\",\"role\":\"engineer\"}' > .agentworkforce/workforce/personas/mine.json";
    world.mounted(&["--persona", "persona-maker"], script).ends(3);
    assert!(!world.project().join(".agentworkforce").exists());
    world.mounted(&["--persona", "persona-maker", "--allow-layer-changes"], script).ends(0);
    assert!(world.project().join(".agentworkforce/workforce/personas/mine.json").exists());
}

#[test]
fn a_file_that_the_agent_closed_is_work_like_any_other() {
    for_each_identity(|world| {
        for backend in ["overlay", "copy"] {
            world.repository(&[("a.txt", "one\n"), ("b.txt", "two\n")]);
            let name = format!("precious-{backend}.txt");
            let script = format!("echo precious > {name}; echo closed > b.txt; chmod 000 b.txt");
            world.mounted(&["--mount", backend], &script).ends(0);
            assert_eq!(read(world.project().join(&name)), "precious\n");
            world.outside("chmod 644 b.txt");
            assert_eq!(read(world.project().join("b.txt")), "closed\n");
            world.outside("git add -A; git commit -qm next; true");
        }
    });
}

#[test]
fn the_object_of_a_run_in_json_is_alone_on_stdout() {
    let world = World::new(Identity::Own);
    world.repository(&[("a.txt", "one\n")]);
    let did = world.mounted(&["--json"], "echo from the command").ends(0);
    assert_eq!(did.json()["outcome"]["exitCode"], 0);
    assert!(did.stderr.contains("from the command"), "{did:?}");
}

#[test]
fn a_file_that_was_moved_to_a_protected_path_is_not_deleted() {
    for_each_identity(|world| {
        for backend in crate::support::sessions::BACKENDS {
            world.files(&[
                ("settings", "the settings\n"),
                ("dir/one", "one one\n"),
                ("dir/two", "two two two\n"),
                ("old", "really gone\n"),
                (".agentreadonly", "locked/\n"),
                ("locked/keep", "keep\n"),
            ]);
            let script =
                "mv settings .env; mv dir/one locked/one; cp dir/two locked/two; rm old; echo fine > fine";
            let did = world.mounted(&["--mount", backend, "--json"], script).ends(0);
            let outcome = &did.json()["applied"]["outcome"];
            let protected: Vec<(&str, &str)> = outcome["review"]["protected"]
                .as_array()
                .unwrap()
                .iter()
                .map(|one| (one["path"].as_str().unwrap(), one["why"].as_str().unwrap()))
                .collect();
            let expected = [
                (".env", "hidden"),
                ("dir/one", "moved"),
                ("locked/one", "readonly"),
                ("locked/two", "readonly"),
                ("settings", "moved"),
            ];
            assert_eq!(protected, expected, "{backend}: {outcome:#}");
            let now = world.outside("cat settings dir/one dir/two fine; ls; ls locked; rm fine");
            assert_eq!(
                now, "the settings\none one\ntwo two two\nfine\ndir\nfine\nlocked\nsettings\nkeep\n",
                "{backend}"
            );
            // The session has the other half.
            let shown = world.aw(["sessions", "show", did.json()["session"].as_str().unwrap()]).ends(0);
            shown.says("settings is not deleted: it was moved to a protected path");
        }
    });
}

#[test]
fn hooks_and_settings_that_the_agent_wrote_are_named() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n")]);
        world.outside("echo '#!/bin/sh' > .git/hooks/pre-push");
        for backend in crate::support::sessions::BACKENDS {
            let script = "echo 'echo owned' > .git/hooks/pre-commit; git config alias.x '!echo owned'; echo new >> a.txt";
            let did = world.mounted(&["--mount", backend], script).ends(0);
            did.says("not applied: .git/config, .git/hooks/pre-commit (settings and hooks");
            assert!(!world.project().join(".git/hooks/pre-commit").exists());
            let quiet =
                world.mounted(&["--mount", backend], "echo new >> a.txt; git commit -qam more").ends(0);
            assert!(!quiet.stderr.contains("settings and hooks"), "{backend}: {quiet:#?}");
        }
    });
}

#[test]
fn nothing_runs_while_a_file_that_decides_about_the_run_cannot_be_read() {
    let world = World::new(Identity::Own);
    world.repository(&[("a.txt", "one\n")]);
    let personas = world.project().join(".agentworkforce/workforce/personas");
    fs::create_dir_all(&personas).unwrap();
    let overlay = personas.join("dallas.json");
    let config = world.home().join(".agentworkforce/workforce/config.json");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    let run = |args: &[&str]| world.aw(args.iter().copied().chain(["--", "touch", "ran.txt"]));
    for (file, text) in [
        (&overlay, r#"{"id": "dallas", "permissions": {"deny": ["Bash"]}, }"#),
        (&overlay, r#"{"id": "dallas", "permissions": {"deny": "Bash"}}"#),
        (&config, r#"{"mount": {"ignoredPatterns": ["a.txt"]}, }"#),
        (&config, r#"{"mount": {"sandbox": "strickt"}}"#),
    ] {
        fs::write(file, text).unwrap();
        world.give();
        run(&["mount", "--persona", "dallas"]).ends(2).says("not started").says(".json:1:");
        world.aw(["agent", "dallas", "-p", "x"]).ends(2).says("not started");
        world.aw(["agent", "dallas", "--dry-run"]).ends(2).says("not started");
        if file == &config {
            run(&["mount"]).ends(2).says("not started");
        } else {
            run(&["mount"]).ends(0);
            fs::remove_file(world.project().join("ran.txt")).unwrap();
        }
        fs::remove_file(file).unwrap();
    }
    fs::write(world.project().join(".agentignore"), b"\xff\n").unwrap();
    run(&["mount"]).ends(2).says(".agentignore");
    assert!(!world.project().join("ran.txt").exists());
}
