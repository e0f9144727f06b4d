//! Headless and interactive runs with fake harnesses: what the harness is given, and what becomes of its work.

use crate::support::harness::{HARNESSES, weaver};
use crate::support::mount::{Identity, World, identities, read};
use crate::support::sessions::{BACKENDS, paths};
use crate::support::with;
use serde_json::{Value, json};
use std::fs;

const WORKS: &str = "begins; echo made > made.txt; echo three >> main.txt; answers done";

fn world(script: &str) -> World {
    World::with_harness(Identity::Own, script)
}

#[test]
fn a_headless_run_is_applied_and_its_report_tells_the_truth() {
    for who in identities() {
        for backend in BACKENDS {
            for harness in HARNESSES {
                let world = World::with_harness(who, WORKS);
                let (report, code) = world.report(&["--mount", backend, "--harness", harness]);
                assert_eq!(code, 0, "{report:#}");
                assert_eq!(report["outcome"]["status"], "completed", "{report:#}");
                assert_eq!(report["outcome"]["exitCode"], 0);
                assert_eq!(report["result"], "done", "{report:#}");
                assert_eq!(report["mount"]["backend"], backend);
                assert_eq!(report["apply"]["status"], "applied");
                assert_eq!(report["harness"]["version"], "9.8.7");
                assert_eq!(report["harness"]["sessionId"], "talk-1");
                assert_eq!(report["usage"]["inputTokens"], 10);
                assert_eq!(paths(&report["changes"]), ["made.txt", "main.txt"]);
                assert_eq!(report["changes"][1]["added"], 1, "{report:#}");
                assert_eq!(read(world.project().join("made.txt")), "made\n");
                assert_eq!(read(world.project().join("main.txt")), "one\ntwo\nthree\n");
                assert_eq!(world.recorded("stdin"), "do it");
                world.nobody_is_left();
                let kept: Value = serde_json::from_str(&read(
                    world.sessions().join(report["session"].as_str().unwrap()).join("report.json"),
                ))
                .unwrap();
                assert_eq!(kept["outcome"], report["outcome"]);
            }
        }
    }
}

#[test]
fn every_report_is_valid_against_its_schema() {
    let world = world(WORKS);
    let schema = world.aw(["schema", "report"]).ends(0).json();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let check = |report: &Value| {
        let problems: Vec<String> =
            validator.iter_errors(report).map(|problem| problem.to_string()).collect();
        assert!(problems.is_empty(), "{problems:?} in {report:#}");
    };
    check(&world.report(&["--check", "true"]).0);
    check(&world.report(&["--check", "false"]).0);
    world.harness("claude", "exit 3");
    check(&world.report(&[]).0);
    fs::remove_file(world.path("bin/claude")).unwrap();
    // Without the user's own claude, where there is one.
    let ran = world.agent_with_only(&world.path("bin"), &["weaver", "-p", "do it", "--json"]).ends(127);
    check(&ran.json());
}

#[test]
fn the_harness_gets_the_prompt_the_variables_and_nothing_of_ours() {
    let world = world("begins; answers done");
    let (_, code) = world.report(&[]);
    assert_eq!(code, 0);
    let argv = world.recorded_argv();
    assert_eq!(&argv[..4], ["-p", "--output-format", "stream-json", "--verbose"]);
    assert_eq!(world.recorded_env("AGENTWORKFORCE_PERSONA").as_deref(), Some("weaver"));
    assert_eq!(world.recorded_env("AGENTWORKFORCE_TIER").as_deref(), Some("best-value"));
    assert!(world.recorded_env("AGENTWORKFORCE_SESSION").is_some_and(|id| id.starts_with("weaver-")));
    assert_eq!(world.recorded("cwd").trim(), world.project().display().to_string());
}

#[test]
fn the_system_prompt_is_read_by_the_harness_from_a_file_it_cannot_change() {
    for backend in BACKENDS {
        let world = world(
            r#"begins
            for arg; do if [ "$last" = --append-system-prompt-file ]; then cp "$arg" "$record/prompt"; stat -c %a "$arg" > "$record/mode"; fi; last="$arg"; done
            answers done"#,
        );
        let big = "x".repeat(1 << 20);
        world.persona(&with(weaver(), &json!({ "systemPrompt": big })));
        let (report, code) = world.report(&["--mount", backend]);
        assert_eq!(code, 0, "{report:#}");
        assert!(world.recorded("prompt").contains(&big));
        assert_eq!(world.recorded("mode").trim(), "600");
    }
}

#[test]
fn a_check_that_fails_means_failed_and_held() {
    for backend in BACKENDS {
        let world = world(WORKS);
        // A check sees the result and changes nothing of it.
        let (report, code) = world.report(&[
            "--mount",
            backend,
            "--check",
            "test \"$(cat made.txt)\" = made && echo altered > made.txt && rm main.txt",
            "--check",
            "test -e main.txt && echo seen",
            "--check",
            "echo told; exit 7",
            "--check",
            "true",
        ]);
        assert_eq!(code, 1, "{report:#}");
        assert_eq!(report["outcome"]["status"], "failed");
        assert_eq!(report["apply"]["status"], "held");
        let codes: Vec<i64> =
            report["checks"].as_array().unwrap().iter().map(|c| c["exitCode"].as_i64().unwrap()).collect();
        // All of them are run and reported, also after one that failed.
        assert_eq!(codes, [0, 0, 7, 0], "{report:#}");
        assert_eq!(read(report["checks"][2]["logFile"].as_str().unwrap()), "told\n");
        assert!(!world.project().join("made.txt").exists());
        let id = report["session"].as_str().unwrap();
        world.aw(["sessions", "apply", id]).ends(0);
        assert_eq!(read(world.project().join("made.txt")), "made\n");
        world.nobody_is_left();
    }
}

#[test]
fn a_check_that_hangs_is_ended() {
    let world = world(WORKS);
    let (report, code) = world.report(&["--check", "sleep 60", "--check-timeout", "0.3"]);
    assert_eq!(code, 1, "{report:#}");
    assert_eq!(report["checks"][0]["exitCode"], 124);
    assert_eq!(report["apply"]["status"], "held");
    world.nobody_is_left();
}

#[test]
fn a_conflict_is_three_and_nothing_is_overwritten() {
    let world = world(&format!(
        "{WORKS}; echo mine > \"$record/ready\"; while ! test -e \"$record/go\"; do sleep 0.01; done"
    ));
    let child = world.agent_at_work(&[]);
    fs::write(world.project().join("main.txt"), "the user's\n").unwrap();
    fs::write(world.record("go"), "").unwrap();
    let output = child.wait_with_output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(3), "{report:#}");
    assert_eq!(report["apply"]["status"], "conflict");
    assert_eq!(report["conflicts"], json!(["main.txt"]));
    assert_eq!(read(world.project().join("main.txt")), "the user's\n");
}

#[test]
fn events_come_a_line_each_and_the_report_is_the_last() {
    let world = world(
        r#"begins
        echo '{"type":"assistant","message":{"content":[{"type":"text","text":"looking"},{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"main.txt"}}]},"session_id":"talk-1"}'
        echo '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"x"}]},"session_id":"talk-1"}'
        echo '{"type":"never-heard-of"}'
        echo 'not json'
        answers done"#,
    );
    let did = world.agent(&["weaver", "-p", "do it", "--stream-json"]).ends(0);
    let lines: Vec<Value> = did.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    for kind in ["session.started", "message", "tool.started", "tool.finished", "raw"] {
        assert!(kinds.contains(&kind), "{kind} is not in {kinds:?}");
    }
    assert_eq!(kinds.last(), Some(&"report"));
    assert_eq!(lines.last().unwrap()["outcome"]["status"], "completed");
    let id = lines.last().unwrap()["session"].as_str().unwrap();
    let kept = read(world.sessions().join(id).join("attempts/1/events.jsonl"));
    assert_eq!(kept.lines().count(), lines.len() - 1);
}

#[test]
fn json_without_a_task_is_a_usage_error_and_a_cap_of_zero_is_refused() {
    let world = world(WORKS);
    world.agent(&["weaver", "--json"]).ends(2).says("needs a task");
    world.agent(&["weaver", "-p", "x", "--max-usd", "0"]).ends(4).says("the budget is zero");
    assert_eq!(world.session_count(), 0);
}

#[test]
fn never_apply_holds_and_keep_keeps_the_mount() {
    let world = world(WORKS);
    let (report, code) = world.report(&["--apply", "never"]);
    assert_eq!((code, &report["apply"]["status"]), (0, &json!("held")));
    assert!(!world.project().join("made.txt").exists());
    let (report, _) = world.report(&["--keep", "--mount", "copy"]);
    assert_eq!(report["apply"]["status"], "applied");
    assert!(world.sessions().join(report["session"].as_str().unwrap()).join("mount").is_dir());
    world.agent(&["weaver", "-p", "x", "--apply", "ask"]).ends(2).says("needs a terminal");
}

#[test]
fn a_session_goes_on_in_its_mount_and_its_conversation() {
    for (harness, flag) in
        [("claude", "--resume=talk-1"), ("codex", "resume talk-1"), ("opencode", "--session=talk-1")]
    {
        let world = world("begins; echo more >> made.txt; answers done");
        let (first, _) = world.report(&["--apply", "never", "--harness", harness]);
        let id = first["session"].as_str().unwrap();
        let (second, code) = world.report(&["--resume", id, "--apply", "auto"]);
        assert_eq!(code, 0, "{second:#}");
        assert_eq!(second["session"], first["session"]);
        assert_eq!(second["harness"]["kind"], harness);
        let argv = world.recorded_argv().join(" ");
        assert!(argv.contains(flag), "{flag:?} is not in {argv:?}");
        assert_eq!(read(world.project().join("made.txt")), "more\nmore\n");
        // Its mount is gone now; the conversation goes on in a new session.
        let (third, code) = world.report(&["--resume", id]);
        assert_eq!(code, 0, "{third:#}");
        assert_ne!(third["session"], first["session"]);
        assert!(world.recorded_argv().join(" ").contains(flag));
        assert_eq!(read(world.project().join("made.txt")), "more\nmore\nmore\n");
        world.agent(&["engineer", "-p", "x", "--resume", id]).ends(2).says("not of `engineer`");
    }
}

#[test]
fn a_run_that_does_not_start_leaves_nothing_behind() {
    let world = world(WORKS);
    fs::remove_dir_all(world.path("bin")).unwrap();
    let nowhere = std::path::Path::new("/nowhere");
    let did = world.agent_with_only(nowhere, &["weaver", "-p", "x", "--json"]).ends(127);
    assert_eq!(did.json()["outcome"]["status"], "not-started");
    did.says("npm install -g @anthropic-ai/claude-code");
    assert_eq!(world.session_count(), 0);
}

#[test]
fn two_runs_of_one_persona_at_once_do_not_mix() {
    let world = world("begins; echo $$ > \"$AGENTWORKFORCE_SESSION.txt\"; sleep 0.3; answers done");
    let start = || {
        let mut command = world.agent_command(&["weaver", "-p", "do it", "--json"]);
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap()
    };
    let (one, two) = (start(), start());
    for child in [one, two] {
        let output = child.wait_with_output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{report:#}");
        let name = format!("{}.txt", report["session"].as_str().unwrap());
        assert_eq!(paths(&report["changes"]), std::slice::from_ref(&name));
        assert!(world.project().join(name).exists());
    }
}

#[test]
fn without_a_terminal_a_run_prints_the_answer_and_says_the_rest_on_stderr() {
    let world = world(WORKS);
    let did = world.agent(&["weaver", "-p", "do it"]).ends(0);
    assert_eq!(did.stdout, "done\n");
    assert!(did.stderr.contains("made.txt"), "{did:?}");
    assert!(!did.stderr.contains('\r'), "progress is for terminals: {did:?}");
}

#[test]
fn a_session_goes_on_in_its_own_project_only() {
    let world = world(WORKS);
    let (first, _) = world.report(&["--apply", "never"]);
    fs::create_dir_all(world.path("other/.git")).unwrap();
    let mut command =
        world.agent_command(&["weaver", "-p", "x", "--resume", first["session"].as_str().unwrap()]);
    let did = crate::support::sessions::Did::of(&command.current_dir(world.path("other")).output().unwrap());
    did.ends(2).says("belongs to");
    assert!(!world.project().join("made.txt").exists());
}

#[test]
fn what_became_secret_since_is_hidden_when_a_session_goes_on() {
    let world = world("begins; cat .env.local >> seen.txt; answers done");
    let (first, _) = world.report(&["--apply", "never"]);
    world.files(&[(".env.local", "LATE-SECRET\n")]);
    let resume = ["--resume", first["session"].as_str().unwrap(), "--apply", "auto"];
    let (second, code) = world.report(&resume);
    assert_eq!(code, 0, "{second:#}");
    assert_eq!(read(world.project().join("seen.txt")), "");
    assert!(second["mount"]["hidden"].to_string().contains(".env.local"), "{second:#}");
}

#[test]
fn a_secret_that_appears_during_a_run_is_told() {
    let world = world(
        "begins; touch \"$record/ready\"; while ! test -e \"$record/go\"; do sleep 0.01; done; answers done",
    );
    let child = world.agent_at_work(&["--mount", "overlay"]);
    world.files(&[(".env", "LATE\n")]);
    fs::write(world.record("go"), "").unwrap();
    let output = child.wait_with_output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(report["warnings"].to_string().contains(".env appeared during the run"), "{report:#}");
}

#[test]
fn nothing_is_held_where_nothing_was_done() {
    let world = world("begins; answers done");
    for flags in [&["--apply", "never"][..], &["--check", "false"]] {
        let (report, _) = world.report(flags);
        assert_eq!(report["apply"]["status"], "nothing", "{report:#}");
    }
    let did = world.agent(&["weaver", "-p", "x", "--install-in-repo", "--apply", "never"]);
    did.ends(2).says("no changes can be held back");
}

#[test]
fn codex_keeps_its_login_and_conversations_with_the_user() {
    let world = world(
        "begins; echo key > \"$CODEX_HOME/auth.json\"; mkdir -p \"$CODEX_HOME/sessions/2026\"; echo x > \"$CODEX_HOME/sessions/2026/talk\"; answers done",
    );
    let (report, code) = world.report(&["--harness", "codex"]);
    assert_eq!(code, 0, "{report:#}");
    assert_eq!(read(world.home().join(".codex/auth.json")), "key\n");
    assert_eq!(read(world.home().join(".codex/sessions/2026/talk")), "x\n");
}
