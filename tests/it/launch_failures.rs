//! The failure table of a launch: whatever the harness does, the exit code is right, nothing is lost and nobody is left.

use crate::support::harness::{HARNESSES, weaver};
use crate::support::mount::{Identity, World, identities, read, soon};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

fn world(script: &str) -> World {
    World::with_harness(Identity::Own, script)
}

/// A headless run that fails: the report, once exit code and status are as expected and nobody is left.
#[track_caller]
fn fails(world: &World, flags: &[&str], code: i32, status: &str) -> Value {
    let (report, got) = world.report(flags);
    assert_eq!((got, &report["outcome"]["status"]), (code, &json!(status)), "{report:#}");
    assert_eq!(report["outcome"]["exitCode"], code);
    assert!(report["outcome"]["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{report:#}");
    world.nobody_is_left();
    report
}

/// The work of a run that failed is held, and can be applied by hand.
#[track_caller]
fn holds(world: &World, report: &Value) {
    assert_eq!(report["apply"]["status"], "held", "{report:#}");
    assert!(!world.project().join("made.txt").exists());
    world.aw(["sessions", "apply", report["session"].as_str().unwrap()]).ends(0);
    assert_eq!(read(world.project().join("made.txt")), "made\n");
}

#[test]
fn a_missing_harness_is_127_and_the_package_is_named() {
    let world = world("");
    for (name, package) in
        [("claude", "@anthropic-ai/claude-code"), ("opencode", "opencode-ai"), ("codex", "@openai/codex")]
    {
        fs::remove_file(world.path("bin").join(name)).unwrap();
        let flags = ["weaver", "-p", "x", "--harness", name];
        world.agent_with_only(&world.path("bin"), &flags).ends(127).says(package);
    }
    assert_eq!(world.session_count(), 0);
}

#[test]
fn a_harness_that_is_not_executable_is_126() {
    let world = world("");
    world.raw_harness("claude", "#!/bin/sh\n", 0o644);
    let did = world.agent_with_only(&world.path("bin"), &["weaver", "-p", "x"]);
    did.ends(126).says("is not executable");
    world.raw_harness("claude", "#!/no/such/interpreter\n", 0o755);
    let did = world.agent(&["weaver", "-p", "x"]);
    assert!(matches!(did.code, 126 | 127), "{did:?}");
    assert_eq!(world.session_count(), 0);
}

#[test]
fn a_harness_with_nonsense_for_a_version_runs_with_a_warning() {
    let world = world("");
    world.raw_harness(
        "claude",
        "#!/bin/sh\nif [ \"$1\" = --version ]; then echo who knows; exit 0; fi\ncat >/dev/null\n\
         echo '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"fine\",\"session_id\":\"s\"}'\n",
        0o755,
    );
    let (report, code) = world.report(&[]);
    assert_eq!(code, 0, "{report:#}");
    assert!(report["warnings"].to_string().contains("version of the harness is unknown"), "{report:#}");
}

#[test]
fn a_harness_that_ends_without_a_result_failed() {
    for harness in HARNESSES {
        let world = world("exit 0");
        fails(&world, &["--harness", harness], 1, "failed");
        world.harness(harness, "begins; echo made > made.txt; exit 0");
        let report = fails(&world, &["--harness", harness], 1, "failed");
        assert_eq!(report["outcome"]["harnessExitCode"], 0);
        holds(&world, &report);
    }
}

#[test]
fn an_error_with_exit_code_zero_is_a_failure() {
    let errors = [
        (
            "claude",
            r#"echo '{"type":"result","subtype":"success","is_error":true,"result":"API Error: 401","session_id":"s"}'"#,
        ),
        (
            "codex",
            r#"begins; echo '{"type":"error","message":"unexpected status 401"}'; echo '{"type":"turn.failed","error":{"message":"unexpected status 401"}}'"#,
        ),
        (
            "opencode",
            r#"begins; echo '{"type":"error","timestamp":1,"sessionID":"talk-1","error":{"name":"APIError","data":{"message":"401 no"}}}'"#,
        ),
    ];
    for (harness, script) in errors {
        let world = world(&format!("echo made > made.txt; {script}; exit 0"));
        let report = fails(&world, &["--harness", harness], 1, "failed");
        assert!(report["outcome"]["reason"].as_str().unwrap().contains("401"), "{report:#}");
        holds(&world, &report);
    }
}

#[test]
fn a_harness_that_exits_with_a_code_is_one_and_its_code_is_told() {
    let world = world("begins; echo made > made.txt; answers done; exit 42");
    let report = fails(&world, &[], 1, "failed");
    assert_eq!(report["outcome"]["harnessExitCode"], 42);
    holds(&world, &report);
}

#[test]
fn a_harness_that_hangs_is_ended_at_the_limit() {
    for who in identities() {
        let world = World::with_harness(who, "begins; echo made > made.txt; sleep 600 & sleep 600");
        let began = Instant::now();
        let report = fails(&world, &["--timeout", "1"], 124, "timed-out");
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
        holds(&world, &report);
    }
}

#[test]
fn a_harness_that_ignores_sigterm_is_killed() {
    let world = world("trap '' TERM INT; begins; echo made > made.txt; while :; do sleep 1; done");
    let began = Instant::now();
    let report = fails(&world, &["--timeout", "0.5"], 124, "timed-out");
    assert!(began.elapsed() < Duration::from_secs(20));
    holds(&world, &report);
}

#[test]
fn silence_is_ended_but_a_tool_at_work_is_not_silence() {
    let world = world("begins; sleep 60");
    let report = fails(&world, &["--idle-timeout", "0.7"], 124, "timed-out");
    assert!(report["outcome"]["reason"].as_str().unwrap().contains("was silent"), "{report:#}");
    world.harness(
        "claude",
        r#"begins
        echo '{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"make"}}]},"session_id":"talk-1"}'
        sleep 2
        echo '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"x"}]},"session_id":"talk-1"}'
        answers done"#,
    );
    let (report, code) = world.report(&["--idle-timeout", "0.7"]);
    assert_eq!(code, 0, "{report:#}");
}

#[test]
fn a_flood_of_output_costs_neither_memory_nor_the_answer() {
    for flood in [
        "yes aaaaaaaaaaaaaaa | head -c 1000000000",
        "head -c 1000000000 /dev/zero",
        "head -c 200000000 /dev/zero >&2",
    ] {
        let world = world(&format!("begins; {flood}; echo; echo made > made.txt; answers done"));
        let mut command = world.agent_command(&["weaver", "-p", "do it", "--json"]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let peak = watch_memory(child.id());
        let output = child.wait_with_output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{flood}: {report:#}");
        assert_eq!(report["result"], "done");
        let session = world.sessions().join(report["session"].as_str().unwrap());
        for file in ["attempts/1/harness.log", "attempts/1/events.jsonl"] {
            assert!(fs::metadata(session.join(file)).unwrap().len() < 100 << 20, "{file}");
        }
        let peak = peak.join().unwrap();
        assert!(peak > 0 && peak < 150_000, "{flood}: {peak} kB");
    }
}

/// The most memory that a process has, as long as it lives, in kilobytes.
fn watch_memory(pid: u32) -> std::thread::JoinHandle<u64> {
    std::thread::spawn(move || {
        let mut peak = 0;
        while let Ok(status) = fs::read_to_string(format!("/proc/{pid}/status")) {
            let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let Some(now) = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()) else {
                break;
            };
            peak = peak.max(now);
            std::thread::sleep(Duration::from_millis(20));
        }
        peak
    })
}

#[test]
fn children_that_are_left_behind_are_ended_and_do_not_hold_us_up() {
    for who in identities() {
        for backend in ["overlay", "copy"] {
            let script = "begins; echo made > made.txt; (setsid sleep 600 &) ; sleep 600 & answers done";
            let world = World::with_harness(who, script);
            let began = Instant::now();
            let (report, code) = world.report(&["--mount", backend]);
            assert_eq!(code, 0, "{report:#}");
            assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
            world.nobody_is_left();
        }
    }
}

#[test]
fn a_harness_that_closes_its_output_early_is_waited_for() {
    let world = world("begins; answers done; exec >&- 2>&-; sleep 0.5; echo made > made.txt");
    let (report, code) = world.report(&[]);
    assert_eq!(code, 0, "{report:#}");
    assert_eq!(read(world.project().join("made.txt")), "made\n");
}

#[test]
fn a_killed_harness_failed_and_its_work_is_held() {
    let world = world("begins; echo made > made.txt; kill -9 $$");
    let report = fails(&world, &[], 1, "failed");
    assert_eq!(report["outcome"]["signal"], 9);
    holds(&world, &report);
}

#[test]
fn interrupts_end_the_run_once_or_five_times_and_keep_the_work() {
    for (signal, times) in
        [(Signal::SIGINT, 1), (Signal::SIGINT, 5), (Signal::SIGTERM, 1), (Signal::SIGHUP, 1)]
    {
        for trap in ["", "trap '' INT TERM HUP;"] {
            if !trap.is_empty() && times == 1 {
                continue;
            }
            let world =
                world(&format!("{trap} begins; echo made > made.txt; touch \"$record/ready\"; sleep 600"));
            let child = world.agent_at_work(&[]);
            let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
            for _ in 0..times {
                kill(pid, signal).unwrap();
                std::thread::sleep(Duration::from_millis(100));
            }
            let output = child.wait_with_output().unwrap();
            let report: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(output.status.code(), Some(128 + signal as i32), "{report:#}");
            assert_eq!(report["outcome"]["status"], "interrupted");
            world.nobody_is_left();
            holds(&world, &report);
        }
    }
}

#[test]
fn a_killed_runner_leaves_no_process_and_a_session_that_goes_on() {
    for who in identities() {
        let world =
            World::with_harness(who, "begins; echo made > made.txt; touch \"$record/ready\"; sleep 600");
        let mut child = world.agent_at_work(&[]);
        // The event with the conversation's id must have been heard.
        let heard = || {
            let files = fs::read_dir(world.sessions()).into_iter().flatten().flatten();
            files
                .map(|entry| entry.path().join("harness.json"))
                .any(|file| fs::read_to_string(file).is_ok_and(|text| text.contains("talk-1")))
        };
        assert!(soon(heard), "the conversation is not noted");
        kill_own(&world, &mut child);
        world.nobody_is_left();
        world.aw(["sessions", "recover"]).ends(0).says("held");
        let id = world.only_session();
        world.harness("claude", "begins; echo again >> made.txt; answers done");
        let (report, code) = world.report(&["--resume", &id]);
        assert_eq!(code, 0, "{report:#}");
        assert_eq!(read(world.project().join("made.txt")), "made\nagain\n");
    }
}

/// Kills the runner itself: as an ordinary user it is behind `setpriv`, which becomes it.
fn kill_own(_: &World, child: &mut std::process::Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_reader_that_goes_away_does_not_lose_the_run() {
    let world = world(
        "begins; for i in 1 2 3 4 5 6; do echo '{\"type\":\"x\"}'; sleep 0.1; done; echo made > made.txt; answers done",
    );
    let mut command = world.agent_command(&["weaver", "-p", "do it", "--stream-json"]);
    let mut child =
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(read(world.project().join("made.txt")), "made\n");
}

#[test]
fn a_limit_that_no_clock_can_count_to_is_none() {
    let world = world("begins; answers done");
    let mut persona = weaver();
    persona["limits"] = json!({"wallSeconds": 1e300, "idleSeconds": 1e19});
    world.persona(&persona);
    let (report, code) = world.report(&["--check", "true", "--check-timeout", "1e30"]);
    assert_eq!((code, &report["result"]), (0, &json!("done")), "{report:#}");
}

#[test]
fn a_git_that_is_killed_while_the_commits_are_kept_loses_none_of_them() {
    for (killed_at, is_held) in [("rev-list", true), ("index-pack", true), ("--no-walk", false)] {
        let world = World::with_harness(
            Identity::Own,
            "begins; echo agent > main.txt; git commit -qam 'agent work'; answers done",
        );
        let git = world.outside("command -v git");
        let script = format!(
            "#!/bin/sh\ncase \" $* \" in *' {killed_at}'*) kill -9 $$;; esac\nexec {} \"$@\"\n",
            git.trim()
        );
        world.raw_harness("git", &script, 0o755);
        let (report, code) = world.report(&["--apply", "auto"]);
        assert_eq!((code, &report["apply"]["status"]), (0, &json!("applied")), "{report:#}");
        let warned = report["warnings"].to_string().contains("are not taken over");
        assert_eq!(warned, is_held, "{killed_at}: {report:#}");
        assert_eq!(report["commits"].as_array().unwrap().is_empty(), is_held, "{killed_at}: {report:#}");
        // With a git that lives they are kept before the session goes.
        world.aw(["sessions", "prune", "--older-than", "0s"]).ends(0).says("removed");
        let id = report["session"].as_str().unwrap();
        let log = world.outside(&format!("git log --format=%s refs/agentworkforce/{id}/heads/main"));
        assert_eq!(log, "agent work\nbase\n", "{killed_at}");
    }
}

#[test]
fn a_run_that_is_refused_says_so_where_a_report_says_how_it_ended() {
    let world = world("begins; answers done");
    let refused: [(&[&str], i32); 5] = [
        (&["nobody", "-p", "x"], 2),
        (&["weaver"], 2),
        (&["weaver", "-p", "x", "--apply", "ask"], 2),
        (&["weaver", "-p", "x", "--no-such-flag"], 2),
        (&["weaver", "-p", "x", "--sandbox", "strict", "--mount", "none"], 4),
    ];
    for (flags, code) in refused {
        for answer in ["--json", "--stream-json"] {
            let did = world.agent(&[flags, &[answer]].concat()).ends(code);
            let object = did.json();
            assert_eq!(
                (&object["outcome"]["status"], &object["outcome"]["exitCode"]),
                (&json!("not-started"), &json!(code)),
                "{did:#?}"
            );
            assert!(object["outcome"]["reason"].is_string(), "{did:#?}");
            if answer == "--stream-json" {
                assert_eq!((did.stdout.lines().count(), &object["type"]), (1, &json!("report")), "{did:#?}");
            }
        }
    }
    // What is no run has no such end.
    let listed = world.aw(["sessions", "show", "nobody", "--json"]).ends(2).json();
    assert!(listed["outcome"].is_null() && listed["error"]["exitCode"] == 2, "{listed:#}");
}
