//! What the runner and the mount hold, whatever the harness does: every `enforced` of theirs, tried by a fake one.

use crate::support::harness::{HARNESSES, weaver};
use crate::support::mount::{Identity, World, identities, read};
use crate::support::require;
use crate::support::sessions::{BACKENDS, Did};
use crate::support::terminal::Terminal;
use crate::support::with;
use serde_json::{Value, json};
use std::fs;
use std::time::{Duration, Instant};

fn world(script: &str, more: &Value) -> World {
    world_of(Identity::Own, script, more)
}

fn world_of(who: Identity, script: &str, more: &Value) -> World {
    let world = World::with_harness(who, script);
    world.persona(&with(weaver(), more));
    world
}

/// Asserts that the plan calls this enforced: a test of what is not promised would prove nothing.
#[track_caller]
fn promises(world: &World, flags: &[&str], field: &str) {
    let mut all = vec!["weaver", "--dry-run", "--json"];
    all.extend(flags);
    let plan = world.agent(&all).json();
    let rows = plan["enforcement"].as_array().unwrap();
    let row = rows.iter().find(|row| row["field"] == field);
    assert_eq!(row.map(|row| &row["level"]), Some(&json!("enforced")), "{field}: {rows:#?}");
}

#[test]
fn what_a_persona_hides_cannot_be_opened_from_inside() {
    for who in identities() {
        let script = r#"begins; cat private.txt .env "$PWD/private.txt" /proc/self/cwd/private.txt > "$record/seen" 2>/dev/null; answers done"#;
        let world = world_of(who, script, &json!({"mount": {"ignoredPatterns": ["private.txt"]}}));
        world.files(&[("private.txt", "TOPSECRET"), (".env", "TOPSECRET")]);
        for harness in HARNESSES {
            let (report, code) = world.report(&["--harness", harness, "--mount", "overlay"]);
            assert_eq!(code, 0, "{report:#}");
            assert_eq!(world.recorded("seen"), "", "{harness}");
            promises(&world, &["--harness", harness], "mount.hidden");
        }
        assert_eq!(read(world.project().join("private.txt")), "TOPSECRET");
    }
}

#[test]
fn what_is_read_only_is_never_applied() {
    for backend in BACKENDS {
        let script = "begins; echo agent > kept.txt; echo agent > main.txt; answers done";
        let world = world(script, &json!({"mount": {"readonlyPatterns": ["kept.txt"]}}));
        world.files(&[("kept.txt", "the user's\n")]);
        for harness in HARNESSES {
            let (report, code) = world.report(&["--harness", harness, "--mount", backend]);
            assert_eq!(code, 0, "{report:#}");
            assert_eq!(read(world.project().join("kept.txt")), "the user's\n", "{harness} {backend}");
            assert_eq!(report["protected"][0]["path"], "kept.txt", "{report:#}");
            assert_eq!(read(world.project().join("main.txt")), "agent\n");
            promises(&world, &["--harness", harness, "--mount", backend], "mount.readonly");
        }
    }
}

#[test]
fn a_project_sandbox_keeps_the_real_project_from_being_written() {
    for who in identities() {
        let script = r#"begins; for p in /proc/[0-9]*; do echo agent > "$p/root$PWD/main.txt"; done 2>/dev/null; answers done"#;
        let world = world_of(who, script, &json!({"mount": {"sandbox": "project"}}));
        for harness in HARNESSES {
            let (report, code) = world.report(&["--harness", harness, "--apply", "never"]);
            assert_eq!(code, 0, "{report:#}");
            assert_eq!(report["mount"]["sandbox"], "project");
            assert_eq!(read(world.project().join("main.txt")), "one\ntwo\n", "{harness}");
            promises(&world, &["--harness", harness], "mount.sandbox");
        }
    }
}

#[test]
fn a_strict_sandbox_leaves_the_project_and_nothing_else() {
    let place = require::place_outside_of_temp();
    for (harness, state, kept) in [
        ("claude", ".claude/todos/x", Some("0/todos/x")),
        ("opencode", ".local/state/opencode/prompt-history.jsonl", None),
        ("codex", ".codex/sessions/x", Some("0/sessions/x")),
    ] {
        let world = World::new_in(Identity::Own, place);
        world.repository(&[("main.txt", "one\n")]);
        world.persona(&with(weaver(), &json!({"mount": {"sandbox": "strict"}})));
        let script = format!(
            r#"begins; echo x > main.txt; echo x > ~/out.txt; echo x > ../beside.txt; mkdir -p "$(dirname ~/{state})"; echo kept > ~/{state}
            t=$(mktemp /tmp/aw-strict-XXXXXX) && echo open > "$t" && cat "$t" >> ~/{state}; answers done"#
        );
        // What a fake writes down would be outside.
        world.raw_harness(harness, &strict_harness(&script), 0o755);
        let (report, code) = world.report(&["--harness", harness]);
        assert_eq!(code, 0, "{report:#}");
        assert_eq!(report["mount"]["sandbox"], "strict");
        assert!(!world.home().join("out.txt").exists() && !world.path("beside.txt").exists(), "{harness}");
        assert!(!world.home().join(state).exists(), "{harness}");
        if let Some(kept) = kept {
            let session = world.sessions().join(report["session"].as_str().unwrap());
            assert_eq!(read(session.join("conversation").join(kept)), "kept\nopen\n");
        }
        assert_eq!(read(world.project().join("main.txt")), "x\n");
    }
}

/// A fake that keeps no record.
fn strict_harness(script: &str) -> String {
    let begins = "if [ \"$1\" = --version ]; then echo 9.8.7; exit 0; fi; cat > /dev/null";
    format!("#!/bin/sh\n{begins}\n{}\n{script}\n", crate::support::harness::SPEECH)
}

#[test]
fn a_sandbox_that_cannot_be_had_ends_the_run_before_it_starts() {
    let world = world("begins; touch \"$record/ran\"; answers done", &json!({}));
    // In a copy nothing holds; root's other processes are in sight where `/proc` is covered.
    for flags in
        [&["--mount", "copy", "--sandbox", "project"][..], &["--mount", "none", "--sandbox", "strict"]]
    {
        let mut all = vec!["weaver", "-p", "x"];
        all.extend(flags);
        world.agent(&all).ends(4).says("needs the overlay");
    }
    assert!(!world.record("ran").exists());
}

/// What the plan calls hidden is not hidden in a copy, so a run that would make do with one is refused.
#[test]
fn as_root_strict_refuses_a_run_that_gets_less_than_the_plan_says() {
    // Another mount below the root means a copy.
    require::root();
    let world = world("begins; touch \"$record/ran\"; answers done", &json!({}));
    fs::write(world.home().join(".agentworkforce/workforce/personas/weaver.md"), "x").unwrap();
    fs::create_dir(world.project().join("below")).unwrap();
    let run = |flags: &str| {
        let script = format!(
            "mount -t tmpfs none below && exec {} agent weaver -p x {flags}",
            crate::support::mount::BINARY
        );
        let mut command = world.program("unshare");
        let path = format!("{}:{}", world.path("bin").display(), std::env::var("PATH").unwrap_or_default());
        command.args(["--mount", "sh", "-ec", &script]).env("PATH", path);
        Did::of(&command.stdin(std::process::Stdio::null()).output().unwrap())
    };
    run("--strict").ends(4).says("mount.sandbox: unavailable");
    assert!(!world.record("ran").exists());
    run("").ends(0).says("the mount is a copy");
}

#[test]
fn wall_and_idle_seconds_of_a_persona_end_a_run_on_every_harness() {
    // opencode's log says that no tool is at work, as far as there is a log.
    let script = "echo 'timestamp=2026-11-16T09:06:26Z level=INFO run=9b message=init' >&2; begins; sleep 60";
    for harness in HARNESSES {
        for key in ["wallSeconds", "idleSeconds"] {
            let world = world(script, &json!({"limits": {key: 1}}));
            let began = Instant::now();
            let (report, code) = world.report(&["--harness", harness]);
            assert_eq!(code, 124, "{report:#}");
            assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
            let silent = report["outcome"]["reason"].as_str().unwrap().contains("was silent");
            assert_eq!(silent, key == "idleSeconds", "{report:#}");
            promises(&world, &["--harness", harness, "-p", "x"], &format!("limits.{key}"));
            world.nobody_is_left();
        }
    }
}

#[test]
fn a_disk_limit_ends_a_task_on_every_harness() {
    let script = "begins; head -c 5000000 /dev/urandom > large; sleep 60";
    for harness in HARNESSES {
        let world = world(script, &json!({"limits": {"diskMb": 2}}));
        let began = Instant::now();
        let (report, code) = world.report(&["--harness", harness]);
        assert_eq!(code, 124, "{report:#}");
        assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
        let outcome = &report["outcome"];
        assert_eq!(outcome["status"], "timed-out");
        assert_eq!(outcome["reason"], "the disk limit of 2 MB was reached");
        assert_eq!(report["apply"]["status"], "held");
        let warnings = report["warnings"].as_array().unwrap();
        let told = "the disk limit of 2 MB was reached (`limits.diskMb`)";
        assert!(
            warnings.iter().any(|warning| *warning == json!({"code": "limit", "message": told})),
            "{report:#}"
        );
        promises(&world, &["--harness", harness, "-p", "x"], "limits.diskMb");
        world.nobody_is_left();
    }
}

#[test]
fn wall_seconds_end_a_run_in_a_terminal_too() {
    let world = world("echo is-$((1+1)); sleep 60", &json!({"limits": {"wallSeconds": 1}}));
    let terminal = Terminal::open(&world);
    terminal.line(&format!("PATH={}:$PATH $AW agent weaver; echo rc=$?", world.path("bin").display()));
    terminal.shows("is-2");
    terminal.shows("rc=124");
    promises(&world, &[], "limits.wallSeconds");
}

#[test]
fn a_cap_of_zero_starts_nothing_on_any_harness() {
    let world = world("touch \"$record/ran\"; begins; answers done", &json!({"limits": {"usd": 0}}));
    for harness in HARNESSES {
        world.agent(&["weaver", "-p", "x", "--harness", harness]).ends(4).says("the budget is zero");
        promises(&world, &["--harness", harness], "limits.usd");
    }
    assert!(!world.record("ran").exists());
    assert_eq!(world.session_count(), 0);
}

#[test]
fn variables_of_a_persona_are_in_the_environment_and_those_left_out_are_told() {
    let env = json!({"env": {"PLAIN": "p", "MISSING": "$NOT_SET_ANYWHERE"}});
    let world = world("begins; answers done", &env);
    for harness in HARNESSES {
        let (report, code) = world.report(&["--harness", harness]);
        assert_eq!(code, 0, "{report:#}");
        assert_eq!(world.recorded_env("PLAIN").as_deref(), Some("p"), "{harness}");
        assert_eq!(world.recorded_env("MISSING"), None);
        promises(&world, &["--harness", harness], "env");
        let plan = world.agent(&["weaver", "--dry-run", "--json", "--harness", harness]).ends(0).json();
        let rows = plan["enforcement"].as_array().unwrap();
        assert!(rows.iter().any(|row| row["field"] == "env.MISSING" && row["level"] == "unsupported"));
    }
}
