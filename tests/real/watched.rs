//! What an agent said and did, read from the records of the real harnesses: while it runs in a terminal, and afterwards. And what a
//! headless run of theirs shows meanwhile.

use crate::support::pty::Terminal;
use crate::support::running::Running;
use crate::support::scratch::PATIENCE;
use crate::support::wishes::{shell, write};
use crate::support::{Scratch, Turn};
use agentworkforce::model::tier::Harness;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// What is on the screen when the program listens.
fn ready(harness: Harness) -> &'static str {
    match harness {
        Harness::Claude => "shift+tab to cycle",
        Harness::Opencode => "Ask anything",
        Harness::Codex => "Ask Codex to do anything",
    }
}

fn only_session(world: &Scratch) -> String {
    let ran = world.run(&mut world.agentworkforce(["sessions", "list", "--json"]), "");
    let listed: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(listed["sessions"].as_array().map(Vec::len), Some(1), "{listed:#}");
    listed["sessions"][0]["id"].as_str().expect("an id").to_owned()
}

/// What `sessions log` prints.
fn log(world: &Scratch, id: &str, flags: &[&str]) -> String {
    let ran = world.run(&mut world.agentworkforce(["sessions", "log", id].iter().chain(flags)), "");
    format!("{}{}", ran.stdout, ran.stderr)
}

/// Where the transcript has these texts, which must be in this order.
#[track_caller]
fn has_in_order(transcript: &str, texts: &[&str]) {
    let mut rest = transcript;
    for text in texts {
        let at =
            rest.find(text).unwrap_or_else(|| panic!("`{text}` is missing or too early in:\n{transcript}"));
        rest = &rest[at + text.len()..];
    }
}

fn a_chat_in_a_terminal_is_told(harness: Harness, level: &str) {
    let answer = Turn::text("ANSWER-FROM-THE-MODEL");
    let world = Scratch::new([write(harness, "made.txt"), answer]);
    world.tester(harness, &json!({}));
    let command = world.agentworkforce(["agent", "tester", "--sandbox", level, "--apply", "never"]);
    let mut terminal = world.terminal(&command);
    terminal.wait_for(ready(harness), PATIENCE);
    let id = only_session(&world);
    terminal.ask("QUESTION-TO-THE-MODEL", "ANSWER-FROM-THE-MODEL", PATIENCE);
    let told = ["> QUESTION-TO-THE-MODEL", "made.txt", "• ANSWER-FROM-THE-MODEL"];
    if harness != Harness::Opencode {
        // claude writes down what was said some time after it shows it.
        let began = Instant::now();
        while !log(&world, &id, &[]).contains("• ANSWER-FROM-THE-MODEL") {
            let raw = log(&world, &id, &["--raw"]);
            assert!(began.elapsed() < PATIENCE, "{}\n{raw}", log(&world, &id, &[]));
            std::thread::sleep(Duration::from_millis(200));
        }
        has_in_order(&log(&world, &id, &[]), &told);
    }
    terminal.quit(PATIENCE);
    let transcript = log(&world, &id, &[]);
    has_in_order(&transcript, &told);
    assert_eq!(transcript.matches("QUESTION-TO-THE-MODEL").count(), 1, "{transcript}");
    assert_eq!(transcript.matches("ANSWER-FROM-THE-MODEL").count(), 1, "{transcript}");
    let json: Value = serde_json::from_str(&log(&world, &id, &["--json"])).expect("JSON");
    assert_eq!(json["attempts"][0]["source"]["kind"], "conversation", "{json:#}");
}

#[test]
fn claudes_chat_in_a_terminal_is_told() {
    a_chat_in_a_terminal_is_told(Harness::Claude, "project");
}

#[test]
fn claudes_chat_in_a_terminal_and_a_strict_sandbox_is_told() {
    a_chat_in_a_terminal_is_told(Harness::Claude, "strict");
}

#[test]
fn codexs_chat_in_a_terminal_is_told() {
    a_chat_in_a_terminal_is_told(Harness::Codex, "project");
}

#[test]
fn codexs_chat_in_a_terminal_and_a_strict_sandbox_is_told() {
    a_chat_in_a_terminal_is_told(Harness::Codex, "strict");
}

#[test]
fn opencodes_chat_in_a_terminal_is_told() {
    a_chat_in_a_terminal_is_told(Harness::Opencode, "project");
}

#[test]
fn opencodes_chat_in_a_terminal_and_a_strict_sandbox_is_told() {
    a_chat_in_a_terminal_is_told(Harness::Opencode, "strict");
}

#[test]
fn a_headless_run_shows_its_steps_and_its_transcript_has_what_tools_answered() {
    for harness in Harness::ALL {
        let turns = [shell(harness, "cat told.txt"), Turn::text("ANSWER-FROM-THE-MODEL")];
        let world = Scratch::new(turns);
        world.tester(harness, &json!({}));
        world.write("project/told.txt", "SHELL-42\n");
        let args = ["agent", "tester", "-p", "TASK-MARKER do it", "--apply", "never"];
        let ran = world.run(&mut world.agentworkforce(args), "");
        assert_eq!(ran.stdout.trim_end(), "ANSWER-FROM-THE-MODEL", "{harness}: {ran:#?}");
        assert!(!ran.stderr.contains("• ANSWER"), "{harness}: {ran:#?}");
        has_in_order(&ran.stderr, &["via", "cat told.txt", "completed in "]);
        let transcript = log(&world, &only_session(&world), &[]);
        let texts =
            ["> TASK-MARKER do it", "cat told.txt", "SHELL-42", "• ANSWER-FROM-THE-MODEL", "completed"];
        has_in_order(&transcript, &texts);
    }
}

/// At 80x24, with the status line below the steps.
#[test]
fn claude_is_watched_on_a_terminal() {
    let turns = [shell(Harness::Claude, "touch made.txt; sleep 5"), Turn::text("ANSWER-FROM-THE-MODEL")];
    let world = Scratch::new(turns);
    world.tester(Harness::Claude, &json!({}));
    let args = ["agent", "tester", "-p", "TASK-MARKER do it", "--apply", "never"];
    let mut terminal = Terminal::open(world.root(), &world.agentworkforce(args), (24, 80));
    terminal.wait_for("1 turn  1 file changed", PATIENCE);
    terminal.wait_for("completed in ", PATIENCE);
    let screen = terminal.screen();
    terminal.wait_for_end(PATIENCE);
    assert!(!screen.contains("1 turn  1 file changed"), "{screen}");
    has_in_order(
        &screen,
        &["via claude", "Bash touch made.txt; sleep 5", "ANSWER-FROM-THE-MODEL", "completed in "],
    );
    assert_eq!(screen.matches("ANSWER-FROM-THE-MODEL").count(), 1, "{screen}");
}

#[test]
fn claude_does_nothing_more_after_a_stop() {
    let harness = Harness::Claude;
    let tool = shell(harness, "echo begun > begun; sleep 60");
    let stopped = || {
        let late = write(harness, "late.txt");
        let world = Scratch::new([tool.clone(), late, shell(harness, "echo late > later.txt")]);
        world.model.always(Turn::text("all done"));
        world.tester(harness, &json!({}));
        world
    };
    let is_over = |world: &Scratch, report: &Value, id: &str| {
        assert_eq!(world.model.turns().len(), 1, "{report:#}\n{}", world.model.requests_text());
        let ran = world.run(&mut world.agentworkforce(["sessions", "diff", id]), "");
        assert!(ran.stdout.contains("begun") && !ran.stdout.contains("late"), "{report:#}\n{}", ran.stdout);
    };
    let world = stopped();
    let (report, ran) = world.report(&["--timeout", "12"]);
    assert_eq!(ran.code, Some(124), "{report:#}");
    is_over(&world, &report, "last");

    let world = stopped();
    let mut command = world.agentworkforce(["agent", "tester", "-p", "do it", "--json", "--apply", "never"]);
    let running = Running::start(world.root(), &mut command, "");
    world.model.wait_for_turns(1, PATIENCE);
    let began = Instant::now();
    while !world.run(&mut world.agentworkforce(["sessions", "diff", "last"]), "").stdout.contains("begun") {
        assert!(began.elapsed() < PATIENCE, "the tool does not begin");
        std::thread::sleep(Duration::from_millis(200));
    }
    let stop = world.run(&mut world.agentworkforce(["sessions", "stop", "last"]), "");
    assert_eq!(stop.code, Some(0), "{stop:#?}");
    let ran = running.end(PATIENCE);
    let report: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(report["outcome"]["status"], "interrupted", "{report:#}");
    is_over(&world, &report, "last");
}
