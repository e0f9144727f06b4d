//! The harnesses by themselves, headless: that they can be had offline, and that our readers understand them.

use crate::support::scratch::{MODEL, PATIENCE, TOKEN};
use crate::support::wire::{INPUT_TOKENS, OUTPUT_TOKENS};
use crate::support::{Ran, Scratch, Turn};
use agentworkforce::harness::adapter;
use agentworkforce::harness::events::Conclusion;
use agentworkforce::model::event::Event;
use agentworkforce::model::tier::Harness;
use nix::sys::signal::Signal;
use serde_json::json;
use std::process::Command;
use std::time::Duration;

/// The command of a headless run, as our plans have it, with more arguments.
fn headless(world: &Scratch, harness: Harness, more: &[&str]) -> Command {
    let mut command = world.command(harness.name());
    match harness {
        Harness::Claude => command.args(["-p", "--output-format", "stream-json", "--verbose"]).args(more),
        Harness::Opencode => command.args(["run", "--format", "json"]).args(more),
        Harness::Codex => command.args(["exec", "--json", "--skip-git-repo-check"]).args(more).arg("-"),
    };
    command
}

/// What our reader makes of it.
fn understood(harness: Harness, ran: &Ran) -> (Vec<Event>, Conclusion) {
    let mut reader = (adapter(harness).reader)("build");
    let events = ran.stdout.lines().flat_map(|line| reader.read(line)).collect();
    ran.stderr.lines().for_each(|line| reader.read_stderr(line));
    (events, reader.conclude(ran.code == Some(0)))
}

#[test]
fn a_question_reaches_the_model_and_its_answer_comes_back() {
    for harness in Harness::ALL {
        let world = Scratch::new([Turn::text("ANSWER-FROM-THE-MODEL")]);
        let ran = world.run(&mut headless(&world, harness, &[]), "QUESTION-TO-THE-MODEL");
        ran.succeeds();
        assert!(world.model.contains("QUESTION-TO-THE-MODEL"), "{harness}: {ran:#?}");
        let turns = world.model.turns();
        assert_eq!((turns.len(), world.model.turns_left()), (1, 0), "{harness}");
        assert_eq!(turns[0].header("authorization"), format!("Bearer {TOKEN}"), "{harness}");

        let (events, conclusion) = understood(harness, &ran);
        assert!(conclusion.ok, "{harness}: {conclusion:#?}");
        assert_eq!(conclusion.result.as_deref(), Some("ANSWER-FROM-THE-MODEL"), "{harness}");
        let used = (conclusion.usage.input_tokens, conclusion.usage.output_tokens);
        assert_eq!(used, (Some(INPUT_TOKENS), Some(OUTPUT_TOKENS)), "{harness}");
        assert!(conclusion.session_id.is_some_and(|id| !id.is_empty()), "{harness}");
        assert!(matches!(events[0], Event::SessionStarted { .. }), "{harness}: {events:#?}");
        assert_eq!(world.leftovers(), [], "{harness}");
    }
}

#[test]
fn a_tool_call_of_the_model_writes_a_file() {
    let patch = "*** Begin Patch\n*** Add File: hello.txt\n+hello\n*** End Patch\n";
    // codex offers its patch tool to models that it knows.
    let known_model = ["-s", "workspace-write", "-m", "gpt-5.5"];
    let cases: [(Harness, &[&str], Turn); 4] = [
        (
            Harness::Claude,
            &["--permission-mode", "acceptEdits"],
            Turn::call("Write", json!({"file_path": "hello.txt", "content": "hello\n"})),
        ),
        (Harness::Opencode, &[], Turn::call("write", json!({"filePath": "hello.txt", "content": "hello\n"}))),
        (Harness::Codex, &known_model, Turn::call("apply_patch", json!(patch))),
        (
            Harness::Codex,
            &["-s", "workspace-write", "-m", MODEL],
            Turn::call("exec_command", json!({"cmd": "echo hello > hello.txt"})),
        ),
    ];
    for (harness, more, turn) in cases {
        let world = Scratch::new([turn, Turn::text("written")]);
        let ran = world.run(&mut headless(&world, harness, more), "Write a file.");
        ran.succeeds();
        assert_eq!(world.read("project/hello.txt"), "hello\n", "{harness}");
        let (events, conclusion) = understood(harness, &ran);
        assert_eq!((conclusion.ok, conclusion.result.as_deref()), (true, Some("written")), "{harness}");
        let started = events.iter().find_map(|event| match event {
            Event::ToolStarted { id, name, subject } => Some((id.clone(), name.clone(), subject.clone())),
            _ => None,
        });
        let (id, name, subject) = started.unwrap_or_else(|| panic!("{harness}: {events:#?}"));
        assert!(subject.is_some_and(|subject| subject.contains("hello.txt")), "{harness}: {events:#?}");
        let has_finished = events.iter().any(|event| {
            matches!(event, Event::ToolFinished { id: its, name: called, ok: true, .. } if *its == id && *called == name)
        });
        assert!(has_finished, "{harness}: {events:#?}");
    }
}

#[test]
fn a_refused_key_is_a_failure_with_the_reason() {
    for harness in Harness::ALL {
        let mut world = Scratch::new([]);
        world.model.always(Turn::error(401, "THE-KEY-IS-NOT-VALID"));
        // claude would go on trying for three minutes.
        world.set_var("CLAUDE_CODE_MAX_RETRIES", "1");
        let ran = world.run(&mut headless(&world, harness, &[]), "Anyone there?");
        assert_eq!(ran.code, Some(1), "{harness}: {ran:#?}");
        let (events, conclusion) = understood(harness, &ran);
        let reason = conclusion.reason.unwrap_or_default();
        assert!(!conclusion.ok && reason.contains("THE-KEY-IS-NOT-VALID"), "{harness}: {reason}");
        assert!(reason.contains("401"), "{harness}: {reason}");
        assert!(events.iter().any(|event| matches!(event, Event::Error { .. })), "{harness}: {events:#?}");
    }
}

#[test]
fn claude_reports_its_limits_and_denials() {
    let write = || Turn::call("Write", json!({"file_path": "hello.txt", "content": "hello\n"}));
    let world = Scratch::new([write(), Turn::text("I may not")]);
    let ran = world.run(&mut headless(&world, Harness::Claude, &[]), "Write a file.");
    let (_, conclusion) = understood(Harness::Claude, &ran);
    assert!(conclusion.ok, "{conclusion:#?}");
    assert!(conclusion.denials[0].starts_with("Write("), "{conclusion:#?}");
    assert!(!world.project().join("hello.txt").exists());

    let world = Scratch::new([write(), write()]);
    let ran = world.run(&mut headless(&world, Harness::Claude, &["--max-turns", "1"]), "Write a file.");
    let (_, conclusion) = understood(Harness::Claude, &ran);
    assert_eq!(conclusion.reason.as_deref(), Some("Reached maximum number of turns (1)"), "{ran:#?}");

    let world = Scratch::new([Turn::text("fine")]);
    let ran = world.run(&mut headless(&world, Harness::Claude, &["--plugin-dir", "/nowhere"]), "Hello.");
    let (_, conclusion) = understood(Harness::Claude, &ran);
    assert!(conclusion.ok && conclusion.warnings[0].message.contains("/nowhere"), "{conclusion:#?}");
}

#[test]
fn an_interrupted_claude_exits_with_0_and_is_understood_to_have_failed() {
    let world = Scratch::new([Turn::text("begin").then_hang()]);
    let running = world.start(&mut headless(&world, Harness::Claude, &[]), "Say something long.");
    world.model.wait_for_turns(1, PATIENCE);
    std::thread::sleep(Duration::from_secs(1));
    running.signal(Signal::SIGINT);
    let ran = running.end(PATIENCE);
    let (_, conclusion) = understood(Harness::Claude, &ran);
    assert_eq!((ran.code, conclusion.ok), (Some(0), false), "{ran:#?}");
    // Now and then it goes without a word.
    let reason = conclusion.reason.unwrap_or_default();
    assert!(["claude was interrupted", "claude ended without a result"].contains(&&*reason), "{ran:#?}");
}

#[test]
fn opencode_runs_another_agent_than_the_one_it_was_asked_for_and_is_caught() {
    let world = Scratch::new([Turn::text("fine")]);
    let ran = world.run(&mut headless(&world, Harness::Opencode, &["--agent", "nobody"]), "Hello.");
    ran.succeeds();
    let (_, conclusion) = understood(Harness::Opencode, &ran);
    let reason = conclusion.reason.unwrap_or_default();
    assert!(!conclusion.ok && reason.contains("agent \"nobody\" not found"), "{ran:#?}");
}

#[test]
fn opencode_tells_its_log_which_agent_and_model_ran_and_what_went_wrong() {
    let logged = ["--print-logs", "--log-level", "INFO"];
    let world = Scratch::new([Turn::text("fine")]);
    let ran = world.run(&mut headless(&world, Harness::Opencode, &logged), "Hello.");
    let (_, conclusion) = understood(Harness::Opencode, &ran);
    assert_eq!((conclusion.ok, conclusion.model), (true, Some(format!("scratch/{MODEL}"))), "{ran:#?}");

    let unknown = [&logged[..], &["--model", "scratch/unheard-of"]].concat();
    let ran = world.run(&mut headless(&world, Harness::Opencode, &unknown), "Hello.");
    let (_, conclusion) = understood(Harness::Opencode, &ran);
    assert_eq!(conclusion.reason.as_deref(), Some("Model not found: scratch/unheard-of."), "{ran:#?}");
}

#[test]
fn opencode_ends_a_run_at_a_question_and_is_understood_to_have_failed() {
    let turn = Turn::call("bash", json!({"command": "ls", "description": "look"}));
    let mut world = Scratch::new([turn, Turn::text("never said")]);
    world.set_var("OPENCODE_CONFIG_CONTENT", json!({"permission": {"bash": "ask"}}).to_string());
    let ran = world.run(&mut headless(&world, Harness::Opencode, &[]), "Look around.");
    ran.succeeds();
    let (_, conclusion) = understood(Harness::Opencode, &ran);
    assert_eq!((conclusion.ok, conclusion.denials), (false, vec!["bash(ls)".to_owned()]), "{ran:#?}");
}

#[test]
fn codex_counts_a_resumed_conversation_as_a_whole() {
    let world = Scratch::new([Turn::text("one"), Turn::text("two")]);
    let ran = world.run(&mut headless(&world, Harness::Codex, &[]), "First.");
    let id = understood(Harness::Codex, &ran).1.session_id.expect("an id");
    let ran = world.run(&mut headless(&world, Harness::Codex, &["resume", &id]), "Second.");
    let (_, conclusion) = understood(Harness::Codex, &ran);
    assert_eq!((conclusion.result.as_deref(), conclusion.session_id), (Some("two"), Some(id)), "{ran:#?}");
    assert_eq!(conclusion.usage.input_tokens, Some(2 * INPUT_TOKENS), "{ran:#?}");
}

#[test]
fn our_own_binary_runs_in_the_same_world() {
    let world = Scratch::new([]);
    for harness in Harness::ALL {
        world.persona(&json!({
            "id": "tester", "intent": "testing", "description": "Tests", "harness": harness.name(),
            "systemPrompt": "You test.",
        }));
        let ran = world.run(&mut world.agentworkforce(["agent", "tester", "--dry-run", "--json"]), "");
        let plan: serde_json::Value = serde_json::from_str(&ran.succeeds().stdout).expect("JSON");
        assert_eq!(plan["command"]["program"], harness.name());
    }
}
