//! The terminal itself, without a harness: that it is one, that keys arrive, and that nothing outlives it.

use crate::support::processes::{self, MARK};
use crate::support::pty::{SIZE, Terminal};
use std::process::Command;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(10);

fn open(script: &str) -> (tempfile::TempDir, Terminal) {
    let dir = tempfile::Builder::new().prefix("aw-real-").tempdir().expect("a temp directory");
    let root = dir.path().canonicalize().expect("it exists");
    let mut command = Command::new("sh");
    command.args(["-c", script]).env("PATH", "/usr/bin:/bin").env(MARK, &root);
    let terminal = Terminal::open(root, &command, SIZE);
    (dir, terminal)
}

#[test]
fn what_is_typed_arrives_and_the_exit_code_comes_back() {
    let (_dir, mut terminal) = open("test -t 0 && test -t 1 && stty size; read line; echo got-$line; exit 7");
    terminal.wait_for(&format!("{} {}", SIZE.0, SIZE.1), SOON);
    terminal.enter("hello");
    terminal.wait_for("got-hello", SOON);
    assert_eq!(terminal.wait_for_end(SOON).code(), Some(7));
}

#[test]
fn control_c_reaches_the_program() {
    let (_dir, mut terminal) =
        open("trap 'echo caught; exit 5' INT; echo ready; while :; do sleep 0.1; done");
    terminal.wait_for("ready", SOON);
    assert_eq!(terminal.quit(SOON).code(), Some(5));
}

#[test]
fn even_a_process_in_a_session_of_its_own_ends_with_the_terminal() {
    let (dir, terminal) = open("setsid sleep 300 & echo started; wait");
    terminal.wait_for("started", SOON);
    let root = dir.path().canonicalize().unwrap();
    assert!(!processes::of_world(&root).is_empty());
    drop(terminal);
    assert_eq!(processes::that_stay(&root, Duration::ZERO), []);
}
