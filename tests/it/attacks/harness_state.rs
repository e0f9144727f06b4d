//! An agent that writes the harness's state: conversations of other projects, backups, plans, what claude remembers. At `strict`
//! all of it is the session's own, and what a run that goes on takes along is files and nothing else.

use crate::support::mount::{World, for_each_identity, read, soon};
use serde_json::{Value, json};
use std::fs;
use std::process::Stdio;

/// What the user has, and what the agent does to it. `$P` is claude's name for the project.
const ATTACKS: [(&str, &[&str], &str); 3] = [
    (
        "claude",
        &[
            ".claude/file-history/other/abc@v1",
            ".claude/plans/mine.md",
            ".claude/projects/-other/talk.jsonl",
            ".claude/history.jsonl",
        ],
        "mkdir -p todos projects/$P/memory; cp /bin/true todos/s; chmod 6755 todos/s; test -u todos/s || exit 9\n\
         echo EVIL > file-history/other/abc@v1; rm -rf plans/*; echo EVIL > plans/theirs.md\n\
         echo EVIL > projects/$P/memory/MEMORY.md; echo EVIL >> projects/-other/talk.jsonl; echo EVIL >> history.jsonl\n\
         ln -s /etc/passwd tasks; grep -q EVIL file-history/other/abc@v1 history.jsonl || exit 8",
    ),
    (
        "codex",
        &[
            ".codex/sessions/2026/11/17/rollout-other.jsonl",
            ".codex/archived_sessions/rollout-old.jsonl",
            ".codex/history.jsonl",
            ".codex/session_index.jsonl",
        ],
        "for f in sessions/2026/11/17/rollout-other.jsonl history.jsonl session_index.jsonl; do echo EVIL >> $f; done\n\
         rm archived_sessions/*; cp /bin/true sessions/s; chmod 6755 sessions/s; grep -q EVIL history.jsonl || exit 8",
    ),
    (
        "opencode",
        &[".local/state/opencode/prompt-history.jsonl"],
        "echo EVIL >> prompt-history.jsonl; cp /bin/true s; chmod 6755 s; grep -q EVIL prompt-history.jsonl || exit 8",
    ),
];

fn dir_of(harness: &str) -> &'static str {
    match harness {
        "claude" => ".claude",
        "codex" => ".codex",
        _ => ".local/state/opencode",
    }
}

const NAME: &str = "P=$(pwd | sed 's/[^a-zA-Z0-9]/-/g')";

/// Every file with its mode and content.
fn all_of(world: &World, dir: &str) -> String {
    world.outside(&format!(
        "cd ~/{dir}; find . ! -type d -printf '%p %y %m\\n' | sort; find . -type f | sort | xargs md5sum"
    ))
}

#[test]
fn at_strict_no_state_of_a_harness_is_changed_outside() {
    for (harness, existing, attack) in ATTACKS {
        for_each_identity(|base| {
            let dir = dir_of(harness);
            let script = format!("begins; {NAME}; cd ~/{dir} || exit 7\n{attack}\nanswers done");
            let world = World::with_harness(base.who, &script);
            for path in existing {
                world.write(world.home().join(path), "the user's\n");
            }
            world.give();
            let before = all_of(&world, dir);
            let (report, code) = world.report(&["--sandbox", "strict", "--harness", harness]);
            assert_eq!(code, 0, "{harness}: {report:#}");
            assert_eq!(all_of(&world, dir), before, "{harness}");
        });
    }
}

/// How a harness notes a conversation, and where.
fn place_of_talk(harness: &str) -> &'static str {
    match harness {
        "claude" => "$HOME/.claude/projects/$P",
        _ => "$CODEX_HOME/sessions/2026",
    }
}

/// The first run leaves a conversation with traps beside it; the second says what it finds of them.
#[test]
fn at_strict_a_run_that_goes_on_has_its_conversation_and_nothing_else() {
    for (harness, persona) in
        [("claude", json!({})), ("codex", json!({})), ("codex", json!({"hermetic": true}))]
    {
        for_each_identity(|base| {
            let talk = place_of_talk(harness);
            let script = format!(
                "begins; {NAME}; mkdir -p \"{talk}\"; cd \"{talk}\" || exit 7\n\
                 if [ -e talk.jsonl ]; then ls -lR . > \"$OLDPWD/found.txt\"; cat talk.jsonl users.jsonl >> \"$OLDPWD/found.txt\"; answers again; exit; fi\n\
                 echo what-was-said > talk.jsonl; cp /bin/true program; chmod 6777 program; ln -s /etc/passwd link\n\
                 mkdir sub memory; echo deep > sub/deep.jsonl; echo EVIL > memory/MEMORY.md; ln -s /etc dir; mkfifo pipe; ln talk.jsonl same\n\
                 truncate -s 3T huge; cd \"$OLDPWD\"; echo x > made.txt; answers done"
            );
            let world = World::with_harness(base.who, &script);
            let mut weaver = crate::support::harness::weaver();
            weaver.as_object_mut().unwrap().extend(persona.as_object().unwrap().clone());
            world.persona(&weaver);
            // What the user has there can still be read.
            world.outside(&format!("{NAME}; mkdir -p ~/.codex/sessions/2026 ~/.claude/projects/$P"));
            world.outside(&format!("{NAME}; for d in ~/.codex/sessions/2026 ~/.claude/projects/$P; do echo the-users > $d/users.jsonl; done"));
            world.give();
            for apply in ["never", "auto"] {
                let flags = ["--sandbox", "strict", "--harness", harness, "--apply", apply];
                let (first, code) = world.report(&flags);
                assert_eq!(code, 0, "{harness}: {first:#}");
                let id = first["session"].as_str().unwrap();
                let (second, code) = world.report(&["--resume", id, "--apply", "auto"]);
                assert_eq!(code, 0, "{harness} {apply}: {second:#}");
                assert_eq!(second["mount"]["sandbox"], "strict", "{second:#}");
                let found = fs::read_to_string(world.project().join("found.txt")).unwrap();
                assert!(
                    found.contains("what-was-said") && found.contains("deep.jsonl"),
                    "{harness}: {found}"
                );
                let reads_users = persona == json!({});
                assert_eq!(found.contains("the-users"), reads_users, "{harness}: {found}");
                let has = |what: &str| found.lines().any(|line| line.ends_with(what));
                for trap in [" link", "-> /etc/passwd", " dir", " pipe", " huge", "-> /etc"] {
                    // In a home of its own codex's directory is lent, and only a new session gets a copy of it.
                    let is_lent = !reads_users && apply == "never";
                    assert!(is_lent || !has(trap), "{harness} {apply}: {trap} is in {found}");
                }
                assert!(harness != "claude" || !has("MEMORY.md"), "{found}");
                assert!(!found.contains("rws") || (!reads_users && apply == "never"), "{harness}: {found}");
                world.outside("rm -f found.txt made.txt");
            }
        });
    }
}

/// Nothing was kept at its end: it had none.
#[test]
fn a_killed_run_at_strict_goes_on_with_its_conversation() {
    for_each_identity(|base| {
        let script = format!(
            "begins; {NAME}; d=$HOME/.claude/projects/$P; mkdir -p $d\n\
             if [ -e $d/talk ]; then cat $d/talk > said.txt; answers done; exit; fi\n\
             echo what-was-said > $d/talk; echo ready > ready.txt; sleep 600"
        );
        let world = World::with_harness(base.who, &script);
        let mut command = world.agent_command(&["weaver", "-p", "do it", "--json", "--sandbox", "strict"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let ready = || {
            let sessions = fs::read_dir(world.sessions()).into_iter().flatten().flatten();
            sessions.map(|entry| entry.path().join("upper/ready.txt")).any(|file| file.exists())
        };
        assert!(soon(ready));
        child.kill().unwrap();
        child.wait().unwrap();
        world.aw(["sessions", "recover"]).ends(0).says("held");
        let (report, code) = world.report(&["--resume", &world.only_session()]);
        assert_eq!(code, 0, "{report:#}");
        assert_eq!(read(world.project().join("said.txt")), "what-was-said\n");
    });
}

/// The level decides where a conversation is, and what the mount that goes on protects.
#[test]
fn a_session_goes_on_at_its_own_level_or_not_at_all() {
    for_each_identity(|base| {
        let world = World::with_harness(base.who, "begins; echo x >> made.txt; answers done");
        let level = |level: &str, more: &[&str]| -> (Value, i32) {
            world.report(&[&["--sandbox", level, "--apply", "never"], more].concat())
        };
        for (was, other) in [("strict", "project"), ("project", "strict")] {
            let (first, code) = level(was, &[]);
            assert_eq!(code, 0, "{first:#}");
            let id = first["session"].as_str().unwrap();
            let (refused, code) = level(other, &["--resume", id]);
            let text = refused.to_string();
            assert_eq!(code, 4, "{refused:#}");
            assert!(text.contains(&format!("runs at `{was}`")) && text.contains(other), "{refused:#}");
            for more in [&["--sandbox", was][..], &[]] {
                let (second, code) = world.report(&[&["--resume", id, "--apply", "never"], more].concat());
                assert_eq!((code, second["mount"]["sandbox"].as_str()), (0, Some(was)), "{second:#}");
            }
        }
    });
}
