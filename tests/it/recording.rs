//! The picture in the README: a session in a terminal, with the real program, drawn from what the terminal showed.
//! `docs/recording/record` draws it anew; otherwise this test tells when the program no longer looks like its picture.

use crate::support::TestEnv;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

#[allow(dead_code)]
#[path = "../real/support/processes.rs"]
pub mod processes;
#[allow(dead_code)]
#[path = "../real/support/pty.rs"]
pub mod pty;
mod svg;

const SIZE: (u16, u16) = (40, 90);
const SOON: Duration = Duration::from_secs(30);

/// Stands in for the model's work alone: it says what claude says, and edits a file.
const CLAUDE: &str = r#"#!/bin/sh
if [ "$1" = --version ]; then echo "2.1.197 (stand-in)"; exit 0; fi
cat > /dev/null
echo '{"type":"system","subtype":"init","session_id":"s","model":"opus"}'
echo '{"type":"assistant","message":{"content":[{"type":"tool_use","id":"1","name":"Edit","input":{"file_path":"greet.sh"}}]}}'
printf '%s\n' 'name=${1:-world}' 'echo "hello, $name"' 'echo "goodbye, $name"' > greet.sh
echo '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"1","content":"done"}]}}'
echo '{"type":"result","subtype":"success","is_error":false,"result":"greet.sh says goodbye now, and greets the world when nobody is named.","session_id":"s"}'
"#;

fn picture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/recording/session.svg")
}

/// Ids hold the time and chance, and so does how long a run took.
fn without_chance(text: &str) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("engineer-2") {
        let end = at + "engineer-20261116-114546-83fe4b".len();
        result.push_str(&rest[..at]);
        result.push_str("engineer-ID");
        rest = rest.get(end..).unwrap_or_default();
    }
    result += rest;
    // On a busy machine the stand-in takes a second or more.
    for seconds in 1..60 {
        result = result.replace(&format!("completed in {seconds}s"), "completed in 0s");
    }
    result
}

#[test]
fn the_program_still_looks_like_its_picture_in_the_readme() {
    let drawn = svg::draw(&session(), "agentworkforce");
    assert!(
        !drawn.contains("/tmp/") && !drawn.contains("aw-test-"),
        "a path of this machine is in the picture"
    );
    if std::env::var_os("AGENTWORKFORCE_RECORD").is_some() {
        std::fs::write(picture(), &drawn).expect("writable");
        return;
    }
    let kept = std::fs::read_to_string(picture()).expect("a picture");
    pretty_assertions::assert_eq!(
        without_chance(&kept),
        without_chance(&drawn),
        "`docs/recording/record` draws it anew"
    );
}

/// Types the session and returns what the terminal shows at its end.
fn session() -> vt100::Screen {
    let env = TestEnv::new();
    let harness = env.write("bin/claude", CLAUDE);
    std::fs::set_permissions(&harness, PermissionsExt::from_mode(0o755)).expect("ours");
    env.write("home/shop/greet.sh", "echo \"hello, $1\"\n");
    let shop = env.home().join("shop");
    for args in [
        &["init", "-q"][..],
        &["add", "-A"],
        &["-c", "user.name=you", "-c", "user.email=you@example.com", "commit", "-qm", "a greeter"],
    ] {
        let status = Command::new("git").args(args).current_dir(&shop).env("HOME", env.home()).status();
        assert!(status.expect("git runs").success());
    }
    let bin = Path::new(env!("CARGO_BIN_EXE_agentworkforce")).parent().expect("a directory");
    let path = format!("{}:{}:/usr/bin:/bin", env.root().join("bin").display(), bin.display());
    let mut shell = Command::new("bash");
    shell.args(["--norc", "--noprofile", "-i"]).current_dir(&shop);
    shell.env("HOME", env.home()).env("PATH", path).env("TERM", "xterm-256color").env("LANG", "C.UTF-8");
    shell.env("PS1", r"\[\e[1;34m\]shop\[\e[0m\] \[\e[2m\]$\[\e[0m\] ").env("HISTFILE", "/dev/null");
    shell.env(processes::MARK, env.root());
    let mut terminal = pty::Terminal::open(env.root(), &shell, SIZE);
    let prompts = |screen: &str, count: usize| screen.matches("shop $").count() >= count;

    terminal.wait_until("a prompt", SOON, |screen| prompts(screen, 1));
    terminal.type_text("agentworkforce list --tag documentation --no-display-description\r");
    terminal.wait_until("the list", SOON, |screen| prompts(screen, 2));
    terminal
        .type_text("agentworkforce agent engineer@best -p \"say goodbye, too\" --check \"sh greet.sh\"\r");
    terminal.wait_for("[a]pply", SOON);
    terminal.type_text("d\r");
    terminal.wait_until("the diff", SOON, |screen| screen.matches("[a]pply").count() == 2);
    terminal.type_text("a\r");
    terminal.wait_until("the end", SOON, |screen| prompts(screen, 3));
    terminal.type_text("sh greet.sh Ada\r");
    terminal.wait_until("the proof", SOON, |screen| prompts(screen, 4));
    terminal.snapshot()
}
