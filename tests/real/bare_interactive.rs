//! The harnesses by themselves, in a terminal: a prepared home asks no first-run question, and a turn completes.

use crate::support::scratch::PATIENCE;
use crate::support::{Scratch, Turn};

/// A turn in a terminal. `ready` is on the screen when the program listens.
fn one_turn(program: &str, args: &[&str], ready: &str) {
    let world = Scratch::new([Turn::text("ANSWER-FROM-THE-MODEL")]);
    let mut command = world.command(program);
    command.args(args);
    let mut terminal = world.terminal(&command);
    terminal.wait_for(ready, PATIENCE);
    terminal.ask("QUESTION-TO-THE-MODEL", "ANSWER-FROM-THE-MODEL", PATIENCE);
    assert!(world.model.contains("QUESTION-TO-THE-MODEL"));
    assert_eq!(world.model.turns().len(), 1, "a request on the side took a turn");
    terminal.quit(PATIENCE);
    drop(terminal);
    assert_eq!(world.leftovers(), []);
}

#[test]
fn claude_completes_a_turn() {
    one_turn("claude", &[], "? for shortcuts");
}

#[test]
fn opencode_completes_a_turn() {
    one_turn("opencode", &[], "Ask anything");
}

#[test]
fn codex_completes_a_turn() {
    one_turn("codex", &[], "Ask Codex to do anything");
}
