//! The product on the real harnesses, in a terminal: a turn, a file, the review, the terminal back; Ctrl-Z and fg.

use crate::support::persona::{
    ABOVE, CHARTER, HIDDEN, IDENTITY, PROMPT, REPO_AGENTS, REPO_CLAUDE, SHOUTED, SIDECAR, SKILL, TOOL,
    named_model,
};
use crate::support::scratch::PATIENCE;
use crate::support::wishes::{offered, shell, shout, write};
use crate::support::{Scratch, Turn, processes};
use agentworkforce::model::tier::Harness;
use serde_json::json;

/// What is on the screen when the program listens.
fn ready(harness: Harness) -> &'static str {
    match harness {
        Harness::Claude => "shift+tab to cycle",
        Harness::Opencode => "Ask anything",
        Harness::Codex => "Ask Codex to do anything",
    }
}

fn a_turn_in_a_terminal(harness: Harness, level: &str) {
    let answer = Turn::text("ANSWER-FROM-THE-MODEL");
    let world = Scratch::new([shout(harness), write(harness, "made.txt"), answer]);
    world.tester(harness, &json!({}));
    let command = world.agentworkforce(["agent", "tester", "--sandbox", level]);
    let mut terminal = world.terminal(&command);
    terminal.wait_for(ready(harness), PATIENCE);
    if harness == Harness::Codex {
        // In a terminal it asks the person before it calls a server.
        terminal.ask("QUESTION-TO-THE-MODEL", "Allow", PATIENCE);
        terminal.press("\r", "ANSWER-FROM-THE-MODEL", PATIENCE);
    } else {
        terminal.ask("QUESTION-TO-THE-MODEL", "ANSWER-FROM-THE-MODEL", PATIENCE);
    }
    for mark in [IDENTITY, CHARTER, PROMPT, SIDECAR, SKILL, TOOL, SHOUTED, "QUESTION-TO-THE-MODEL"] {
        assert!(world.model.contains(mark), "{mark} is in no request");
    }
    for mark in [REPO_CLAUDE, REPO_AGENTS, ABOVE, HIDDEN] {
        assert!(!world.model.contains(mark), "{mark} is in a request");
    }
    let request = &world.model.turns()[0].body;
    assert_eq!(request["model"], named_model(harness).1);
    assert!(!offered(request).iter().any(|tool| tool.eq_ignore_ascii_case("WebFetch")));
    assert!(!world.project().join("made.txt").exists(), "it is in the project before it was accepted");
    terminal.leave("[a]pply", PATIENCE);
    // The terminal is ours again: what is typed now is an answer to us.
    terminal.type_text("a\r");
    let ended = terminal.wait_for_end(PATIENCE);
    assert_eq!(world.read("project/made.txt"), "written\n");
    assert!(ended.code().is_some(), "{ended:?}");
    drop(terminal);
    assert_eq!(world.leftovers(), []);
}

#[test]
fn claude_in_a_terminal() {
    a_turn_in_a_terminal(Harness::Claude, "project");
}

#[test]
fn claude_in_a_terminal_and_a_strict_sandbox() {
    a_turn_in_a_terminal(Harness::Claude, "strict");
}

#[test]
fn opencode_in_a_terminal() {
    a_turn_in_a_terminal(Harness::Opencode, "project");
}

#[test]
fn opencode_in_a_terminal_and_a_strict_sandbox() {
    a_turn_in_a_terminal(Harness::Opencode, "strict");
}

#[test]
fn codex_in_a_terminal() {
    a_turn_in_a_terminal(Harness::Codex, "project");
}

#[test]
fn codex_in_a_terminal_and_a_strict_sandbox() {
    a_turn_in_a_terminal(Harness::Codex, "strict");
}

/// codex leaves a server behind that later terminals share. Work that it did would be outside of our mount, with its
/// own environment instead of ours.
#[test]
fn codex_in_a_terminal_does_its_own_work_though_a_server_of_the_user_runs() {
    let world = Scratch::new([Turn::text("FIRST-ANSWER")]);
    let mut users = world.terminal(&world.command("codex"));
    users.wait_for(ready(Harness::Codex), PATIENCE);
    users.ask("FIRST-TASK", "FIRST-ANSWER", PATIENCE);
    users.quit(PATIENCE);
    let servers = || {
        let left = processes::of_world(&world.root());
        left.into_iter().filter(|process| process.command.contains("app-server")).count()
    };
    assert!(servers() > 0, "codex leaves no server behind any more: this test has nothing to show");

    world.plain(Harness::Codex, &json!({}));
    let command = "printenv AGENTWORKFORCE_PERSONA > who.txt";
    world.model.script([shell(Harness::Codex, command), Turn::text("SECOND-ANSWER")]);
    let mut ours = world.terminal(&world.agentworkforce(["agent", "tester"]));
    ours.wait_for(ready(Harness::Codex), PATIENCE);
    ours.ask("SECOND-TASK", "SECOND-ANSWER", PATIENCE);
    assert!(servers() > 0, "the user's server is gone");
    ours.leave("[a]pply", PATIENCE);
    ours.type_text("a\r");
    ours.wait_for_end(PATIENCE);
    assert_eq!(world.read("project/who.txt"), "tester\n");
}

/// Under a shell with job control: Ctrl-Z gives the shell back, `fg` the harness.
fn stops_and_goes_on(harness: Harness) {
    let world = Scratch::new([Turn::text("ANSWER-FROM-THE-MODEL")]);
    world.tester(harness, &json!({}));
    let mut shell = world.command("bash");
    shell.args(["--norc", "--noprofile", "-i"]).env("PS1", "SHELL-IS-HERE> ");
    shell.env("AW", env!("CARGO_BIN_EXE_agentworkforce"));
    let mut terminal = world.terminal(&shell);
    terminal.wait_for("SHELL-IS-HERE>", PATIENCE);
    terminal.enter("clear; $AW agent tester");
    terminal.wait_for(ready(harness), PATIENCE);
    terminal.type_text("\x1a");
    terminal.wait_for("Stopped", PATIENCE);
    terminal.enter("clear; echo the-shell-$((40+2))");
    terminal.wait_for("the-shell-42", PATIENCE);
    // Without a prompt on the screen, so that the next one means that the shell is back.
    terminal.enter("clear; fg");
    terminal.wait_for(ready(harness), PATIENCE);
    // A program that takes the terminal up again throws away what was typed meanwhile.
    std::thread::sleep(std::time::Duration::from_secs(2));
    terminal.ask("QUESTION-TO-THE-MODEL", "ANSWER-FROM-THE-MODEL", PATIENCE);
    terminal.leave("SHELL-IS-HERE>", PATIENCE);
    terminal.enter("exit");
    terminal.wait_for_end(PATIENCE);
}

#[test]
fn claude_stops_and_goes_on() {
    stops_and_goes_on(Harness::Claude);
}

#[test]
fn opencode_stops_and_goes_on() {
    stops_and_goes_on(Harness::Opencode);
}

#[test]
fn codex_stops_and_goes_on() {
    stops_and_goes_on(Harness::Codex);
}
