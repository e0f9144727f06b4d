//! The failures that were reproduced in the incumbent, by their number: each must not happen here. Through the built binary.

use crate::support::mount::{World, identities, read, soon};
use crate::support::sessions::{BACKENDS, paths, snapshot};
use nix::sys::signal::Signal;
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;

fn for_each(test: impl Fn(&World, &str)) {
    for who in identities() {
        for backend in BACKENDS {
            eprintln!("as {who:?}, {backend}");
            test(&World::new(who), backend);
        }
    }
}

fn persona(id: &str, harness: &str, mount: &serde_json::Value) -> serde_json::Value {
    json!({"id": id, "intent": id, "description": "for tests", "harness": harness, "systemPrompt": "x", "mount": mount})
}

#[test]
fn failure_01_an_edit_between_two_sessions_is_seen_and_kept() {
    for_each(|world, backend| {
        world.repository(&[("f1.txt", "base\n"), ("f2.txt", "base\n")]);
        world.mounted(&["--mount", backend], "echo one >> f1.txt").ends(0);
        world.outside("echo USER EDIT >> f1.txt; echo USER2 > f2.txt");
        let second = world.mounted(&["--mount", backend], "cat f2.txt; echo two >> f1.txt").ends(0);
        assert_eq!(second.stdout, "USER2\n", "{second:?}");
        assert_eq!(read(world.project().join("f1.txt")), "base\none\nUSER EDIT\ntwo\n");
    });
}

#[test]
fn failure_02_a_session_knows_nothing_of_the_commits_of_another() {
    for_each(|world, backend| {
        world.repository(&[("f", "base\n")]);
        let flags = ["--mount", backend, "--apply", "never"];
        world.mounted(&flags, "echo x > f; git commit -qam private; git branch side; git stash list").ends(0);
        let log =
            world.mounted(&flags, "git log --all --format=%s; git status --porcelain; git branch").ends(0);
        assert_eq!(log.stdout, "base\n* main\n");
        assert_eq!(world.outside("git log --all --format=%s; git status --porcelain"), "base\n");
    });
}

#[test]
fn failure_02a_a_changed_path_counts() {
    for_each(|world, backend| {
        world.files(&[("f", "base\n")]);
        for name in ["one", "two"] {
            let dir = world.path(name);
            fs::create_dir(&dir).unwrap();
            fs::write(dir.join("tool"), format!("#!/bin/sh\necho {name}\n")).unwrap();
            fs::set_permissions(dir.join("tool"), fs::Permissions::from_mode(0o755)).unwrap();
            let mut command = world.mounted_command(&["--mount", backend], "tool");
            let path = format!("{}:{}", dir.display(), std::env::var("PATH").unwrap());
            let output = command.env("PATH", path).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{name}\n"));
        }
    });
}

#[test]
fn failure_03_both_sides_edited_is_a_conflict_and_nothing_is_lost_on_either_side() {
    for_each(|world, backend| {
        world.repository(&[("f", "base\n"), ("other", "base\n")]);
        let run = world.waiting(&["--mount", backend], "echo agent > f; echo agent > other", "");
        fs::write(world.project().join("f"), "user\n").unwrap();
        let ended = run.go().ends(3);
        ended.says("conflict").says("  modified  f").says("sessions diff");
        assert_eq!(read(world.project().join("f")), "user\n");
        assert_eq!(read(world.project().join("other")), "base\n", "all or nothing");
        let id = world.only_session();
        assert_eq!(world.listed()[0]["state"], "held");
        world.aw(["sessions", "diff", &id]).ends(0).says("+agent");
        world.aw(["sessions", "apply", &id]).ends(3).says("conflict");
        world.aw(["sessions", "apply", &id, "--theirs", "f"]).ends(0);
        assert_eq!(read(world.project().join("f")), "agent\n");
        assert_eq!(read(world.project().join("other")), "agent\n");
        world.aw(["sessions", "undo", &id]).ends(0);
        assert_eq!(read(world.project().join("f")), "user\n");
    });
}

#[test]
fn failure_04_a_directory_called_skills_is_ordinary_source_for_every_harness() {
    for_each(|world, backend| {
        world.repository(&[("lib/skills/impl.py", "base\n"), ("skills/a.md", "base\n"), ("AGENTS.md", "x")]);
        for harness in ["codex", "opencode", "claude"] {
            world.persona(&persona(harness, harness, &json!({})));
            let flags = ["--persona", harness, "--mount", backend];
            let script = format!(
                "cat lib/skills/impl.py skills/a.md >/dev/null; ! test -e AGENTS.md; echo {harness} >> lib/skills/impl.py; echo x > skills/{harness}.md"
            );
            world.mounted(&flags, &script).ends(0);
        }
        assert_eq!(read(world.project().join("lib/skills/impl.py")), "base\ncodex\nopencode\nclaude\n");
        assert!(world.project().join("skills/opencode.md").exists());
        assert_eq!(read(world.project().join("AGENTS.md")), "x");
    });
}

#[test]
fn failure_05_tracked_build_directories_are_there_and_what_is_written_in_them_comes_back() {
    for_each(|world, backend| {
        world.files(&[(".gitignore", "dist/\n")]);
        let dirs = ["build", "dist", "out", "target", "env", "coverage"];
        for dir in dirs {
            world.files(&[(&format!("{dir}/tool.sh"), "base\n")]);
        }
        world.outside("git init -q . && git add -f . && git commit -qm base");
        let script = "git status --porcelain; for d in build dist out target env coverage; do cat $d/tool.sh; done; echo new > build/new; echo new >> dist/tool.sh";
        let ran = world.mounted(&["--mount", backend], script).ends(0);
        assert_eq!(ran.stdout, "base\n".repeat(dirs.len()));
        assert_eq!(read(world.project().join("build/new")), "new\n");
        assert_eq!(read(world.project().join("dist/tool.sh")), "base\nnew\n", "tracked, so not ignored");
    });
}

#[test]
fn failure_06_symlinks_are_symlinks() {
    for_each(|world, backend| {
        world.files(&[("real.js", "base\n"), ("dir/f", "base\n")]);
        fs::write(world.path("outside-file"), "outside\n").unwrap();
        world.outside("ln -s real.js link.js; ln -s dir linkdir; ln -s ../outside-file outside; ln -s nowhere broken; ln -s loop loop");
        world.outside("git init -q . && git add -A && git commit -qm base");
        let script = "git status --porcelain; echo agent >> link.js; ln -s dir/f new; ln -sfn elsewhere broken; rm loop";
        let ran = world.mounted(&["--mount", backend], script).ends(0);
        assert_eq!(ran.stdout, "");
        assert_eq!(
            read(world.project().join("real.js")),
            "base\nagent\n",
            "an edit through a link comes back"
        );
        let link =
            |name: &str| fs::read_link(world.project().join(name)).map(|to| to.display().to_string()).ok();
        assert_eq!(link("new").as_deref(), Some("dir/f"));
        assert_eq!(link("broken").as_deref(), Some("elsewhere"));
        assert_eq!(link("link.js").as_deref(), Some("real.js"));
        assert_eq!(link("outside").as_deref(), Some("../outside-file"));
        assert_eq!(link("loop"), None);
        assert_eq!(read(world.path("outside-file")), "outside\n");
    });
}

#[test]
fn failure_07_there_are_no_files_of_ours_in_the_tree() {
    for_each(|world, backend| {
        world.repository(&[("f", "base\n"), ("CLAUDE.md", "theirs\n")]);
        world.persona(&{
            let mut persona = persona("p", "claude", &json!({}));
            persona["claudeMdContent"] = json!("from the persona");
            persona
        });
        let script = "git status --porcelain; ls -A; git add -A; git commit -qm all --allow-empty; git show --stat --format=";
        let ran = world.mounted(&["--mount", backend, "--apply", "never"], script).ends(0);
        assert_eq!(ran.stdout, ".git\nCLAUDE.md\nf\n");
        let ran = world.mounted(&["--persona", "p", "--mount", backend, "--apply", "never"], script).ends(0);
        assert_eq!(ran.stdout, ".git\nCLAUDE.md\nf\n", "a planted file is not a change");
    });
}

#[test]
fn failure_08_edits_of_instruction_files_are_reported_or_applied_never_dropped_silently() {
    for_each(|world, backend| {
        world.repository(&[("CLAUDE.md", "base\n"), ("f", "base\n")]);
        world.persona(&persona("p", "claude", &json!({})));
        let script =
            "echo agent > CLAUDE.md; mkdir -p .claude; echo x > .claude/settings.json; echo agent > f";
        let said = world.mounted(&["--persona", "p", "--mount", backend], script).ends(0);
        said.says("not applied: CLAUDE.md").says("not applied: .claude");
        assert_eq!(read(world.project().join("CLAUDE.md")), "base\n");
        assert_eq!(read(world.project().join("f")), "agent\n");
        let report = world.mounted(&["--persona", "p", "--mount", backend, "--json"], script).ends(0).json();
        let protected = &report["applied"]["outcome"]["review"]["protected"];
        assert!(paths(protected).contains(&"CLAUDE.md".to_owned()), "{report:#}");
        assert!(protected[0]["rule"]["pattern"].is_string(), "{report:#}");
        // Nothing is gone: the session still has it.
        let id = report["session"].as_str().unwrap();
        let data = world.sessions().join(id).join(report["mount"]["data"].as_str().unwrap());
        assert_eq!(read(data.join("CLAUDE.md")), "agent\n");
        // Without a persona it is a file as any other: "write our CLAUDE.md" is possible.
        world.mounted(&["--mount", backend], "echo ours > CLAUDE.md").ends(0);
        assert_eq!(read(world.project().join("CLAUDE.md")), "ours\n");
    });
}

#[test]
fn failure_09_modes_and_empty_directories_come_back() {
    for_each(|world, backend| {
        world.repository(&[("run.sh", "base\n"), ("d/f", "x")]);
        world.mounted(&["--mount", backend], "chmod 755 run.sh; mkdir -p empty/inner; chmod 700 d").ends(0);
        let mode =
            |name: &str| fs::metadata(world.project().join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode("run.sh"), mode("d")), (0o755, 0o700));
        assert!(world.project().join("empty/inner").is_dir());
    });
}

#[test]
fn failure_10_commits_are_kept_as_refs_and_nothing_of_the_users_moves() {
    for_each(|world, backend| {
        world.repository(&[("f", "base\n")]);
        let before = world.outside("git rev-parse HEAD; git symbolic-ref HEAD; git branch -a");
        let script = "echo agent > f; git commit -qam 'agent work'; git checkout -qb side; echo s > s; git add s; git commit -qm side";
        let ran = world.mounted(&["--mount", backend], script).ends(0);
        ran.says("refs/agentworkforce/");
        assert_eq!(world.outside("git rev-parse HEAD; git symbolic-ref HEAD; git branch -a"), before);
        let id = world.only_session();
        let log = world.outside(&format!(
            "git log --format=%s refs/agentworkforce/{id}/heads/main; git log --format=%s -1 refs/agentworkforce/{id}/heads/side; git fsck 2>&1"
        ));
        assert_eq!(log, "agent work\nbase\nside\n");
        assert_eq!(read(world.project().join("f")), "agent\n");
        assert_eq!(world.outside("git diff --cached --name-only"), "", "the index is the user's");
    });
}

/// A command that ignores every polite signal, edits on, and has a grandchild.
const STUBBORN: &str =
    "trap '' INT TERM HUP; echo work > kept; (while :; do echo tick >> ticks; sleep 0.02; done) &";

fn ended_by(signal: Signal, times: usize, code: i32) {
    for_each(|world, backend| {
        world.repository(&[("f", "base\n")]);
        let before = snapshot(&world.project());
        let run = world.waiting(&["--mount", backend], STUBBORN, "");
        for _ in 0..times {
            run.signal(signal);
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let ended = run.end().ends(code);
        ended.says("held");
        world.nobody_is_left();
        assert_eq!(snapshot(&world.project()), before, "an interrupted run is not applied");
        let id = world.only_session();
        assert_eq!(world.listed()[0]["state"], "held");
        world.aw(["sessions", "apply", &id]).ends(0);
        assert_eq!(read(world.project().join("kept")), "work\n");
        assert!(read(world.project().join("ticks")).starts_with("tick\n"));
    });
}

#[test]
fn failure_11_ten_interrupts_end_the_command_and_keep_its_work() {
    ended_by(Signal::SIGINT, 10, 130);
}

#[test]
fn failure_12_termination_ends_everything_inside_and_keeps_the_work() {
    ended_by(Signal::SIGTERM, 1, 143);
}

#[test]
fn failure_12_a_closed_terminal_ends_everything_inside_and_keeps_the_work() {
    ended_by(Signal::SIGHUP, 1, 129);
}

#[test]
fn failure_13_a_killed_runner_leaves_a_session_that_is_listed_recovered_and_pruned() {
    for_each(|world, backend| {
        world.repository(&[("f", "base\n")]);
        let run = world.waiting(&["--mount", backend], STUBBORN, "");
        let id = world.only_session();
        assert_eq!(world.listed()[0]["live"], true);
        world.aw(["sessions", "apply", &id]).ends(2).says("in use");
        // The base is taken while the command starts.
        assert!(soon(|| world.sessions().join(&id).join("manifest").exists()));
        run.signal(Signal::SIGKILL);
        assert_eq!(run.end().code, -9);
        world.nobody_is_left();
        world.aw(["sessions", "list"]).ends(0).says("interrupted").says("sessions recover");
        world.aw(["sessions", "recover"]).ends(0).says(&id).says("held");
        world.aw(["sessions", "recover"]).ends(0).says("nothing to recover");
        let kept = world.aw(["sessions", "prune", "--older-than", "0s"]).ends(0);
        kept.says("it holds changes that were never applied");
        world.aw(["sessions", "apply", &id]).ends(0);
        assert_eq!(read(world.project().join("kept")), "work\n");
        world.aw(["sessions", "prune", "--older-than", "0s"]).ends(0).says("removed 1 session,");
        assert_eq!(fs::read_dir(world.sessions()).unwrap().count(), 0);
    });
}

#[test]
fn failure_18_a_persona_id_is_checked_when_it_is_read_and_makes_one_directory() {
    for_each(|world, backend| {
        world.files(&[("f", "base\n")]);
        let dir = world.home().join(".agentworkforce/workforce/personas");
        fs::create_dir_all(&dir).unwrap();
        for (file, id) in [("one", "a/b"), ("two", "has space.dot"), ("three", "../../x")] {
            fs::write(dir.join(format!("{file}.json")), persona(id, "claude", &json!({})).to_string())
                .unwrap();
        }
        world.give();
        for id in ["a/b", "has space.dot", "../../x", "one"] {
            let ran = world.mounted(&["--persona", id, "--mount", backend], "true").ends(2);
            assert!(!ran.stderr.contains("panicked"), "{ran:?}");
        }
        assert!(!world.sessions().exists() || fs::read_dir(world.sessions()).unwrap().count() == 0);
        assert!(!world.home().join(".agentworkforce/workforce/x").exists());
    });
}

#[test]
fn failure_29_a_subdirectory_is_enough_to_find_the_project_and_its_repository() {
    for_each(|world, backend| {
        world.repository(&[("top", "base\n"), ("sub/deep/f", "base\n")]);
        let layer = world.project().join(".agentworkforce/workforce/personas");
        fs::create_dir_all(&layer).unwrap();
        fs::write(layer.join("mine.json"), persona("mine", "claude", &json!({})).to_string()).unwrap();
        world.give();
        let script = "git rev-parse --show-prefix; cat ../../top; echo agent > f; echo agent > ../../top";
        let mut command = world.mounted_command(&["--persona", "mine", "--mount", backend], script);
        let output = command.current_dir(world.project().join("sub/deep")).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "sub/deep/\nbase\n", "{output:?}");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert_eq!(read(world.project().join("sub/deep/f")), "agent\n");
        assert_eq!(read(world.project().join("top")), "agent\n");
    });
}

#[test]
fn failure_30_what_is_needed_is_there_and_what_is_not_there_is_named() {
    for_each(|world, backend| {
        world.files(&[
            (".gitignore", "node_modules/\n.env\nlocal.cfg\n"),
            (".env", "SECRET=1\n"),
            (".env.example", "SECRET=\n"),
            ("local.cfg", "needed\n"),
            ("node_modules/m/index.js", "module\n"),
        ]);
        world.outside("git init -q . && git add -A && git commit -qm base");
        let flags = ["--mount", backend, "--json"];
        let script = "cat local.cfg .env.example >&2; ! test -e .env; if test -e node_modules/m/index.js; then echo has >&2; fi; mkdir -p node_modules/m; echo x > node_modules/m/new";
        let ran = world.mounted(&flags, script).ends(0);
        ran.says("needed");
        let report = ran.json();
        assert_eq!(paths(&report["mount"]["hidden"]), [".env"]);
        assert_eq!(report["mount"]["hidden"][0]["rule"]["pattern"], ".env");
        if backend == "overlay" {
            ran.says("has");
        } else {
            assert_eq!(paths(&report["mount"]["leftOut"]), ["node_modules"], "{report:#}");
        }
        let ignored = report["applied"]["outcome"]["review"]["ignored"]["count"].as_u64();
        assert!(ignored.is_some_and(|count| count >= 1), "{report:#}");
        assert!(!world.project().join("node_modules/m/new").exists(), "what a build made is not applied");
        assert!(world.project().join("node_modules/m/index.js").exists());
        // Asked for, both are there.
        let mount = json!({"revealPatterns": [".env"], "includePatterns": ["node_modules"]});
        world.persona(&persona("p", "claude", &mount));
        let flags = ["--persona", "p", "--mount", backend, "--include-ignored"];
        let ran =
            world.mounted(&flags, "cat .env node_modules/m/index.js; echo y > node_modules/m/new").ends(0);
        assert_eq!(ran.stdout, "SECRET=1\nmodule\n");
        assert_eq!(read(world.project().join("node_modules/m/new")), "y\n");
    });
}

#[test]
fn failure_32_a_linked_worktree_has_git_and_the_hosts_refs_and_index_stay() {
    for_each(|world, backend| {
        world.repository(&[("f", "base\n")]);
        world.outside("git worktree add -q ../linked -b linked");
        let state = "git -C ../linked rev-parse HEAD; git rev-parse HEAD; git branch -a | cat; git -C ../linked diff --cached --name-only";
        let before = world.outside(state);
        let script = "git status --porcelain; echo agent > f; git add f; git commit -qm 'agent work'; git log --format=%s -1";
        let mut command = world.mounted_command(&["--mount", backend], script);
        let output = command.current_dir(world.path("linked")).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "agent work\n", "{output:?}");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert_eq!(world.outside(state), before);
        assert_eq!(read(world.path("linked/f")), "agent\n");
        let id = world.only_session();
        let kept = world.outside(&format!("git log --format=%s -1 refs/agentworkforce/{id}/heads/linked"));
        assert_eq!(kept, "agent work\n");
    });
}
