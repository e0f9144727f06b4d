//! The bare call on a terminal: a list to pick from, and what was picked runs.

use crate::recording::{processes, pty::Terminal};
use crate::support::TestEnv;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(30);

#[test]
fn what_is_picked_is_launched_in_this_terminal() {
    let env = TestEnv::new();
    let script = "#!/bin/sh\n[ \"$1\" = --version ] && { echo 1.0.0; exit 0; }\ntest -t 0 && echo the-harness-is-here\n";
    let harness = env.write("bin/claude", script);
    std::fs::set_permissions(&harness, PermissionsExt::from_mode(0o755)).expect("ours");
    let mut command = Command::new(env!("CARGO_BIN_EXE_agentworkforce"));
    command.current_dir(env.project()).env("HOME", env.home()).env("TERM", "xterm");
    command.env("PATH", format!("{}:/usr/bin:/bin", env.root().join("bin").display()));
    command.env(processes::MARK, env.root());
    let mut terminal = Terminal::open(env.root(), &command, (40, 100));
    terminal.wait_for("Number or name to pick", SOON);
    terminal.type_text("debug\r");
    terminal.wait_until("fewer of them", SOON, |screen| {
        screen.matches("Number or name").count() == 2 && screen.contains("   2  🐛 debugger")
    });
    terminal.type_text("debugger\r");
    terminal.wait_for("the-harness-is-here", SOON);
    assert_eq!(terminal.wait_for_end(SOON).code(), Some(0));
}
