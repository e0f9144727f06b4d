//! Completion: what the scripts of the shells get told, and what bash, zsh and fish make of it.

use crate::recording::{processes, pty::Terminal};
use crate::support::{TestEnv, flat, require, with};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(30);
const BREAKS: &str = " \t\n\"'@><=;|&(:";

/// What bash is told about a line.
fn bash(env: &TestEnv, line: &str) -> Vec<String> {
    let line = format!("agentworkforce {line}");
    let ran = env.run(["__complete", "bash", "--", &line, BREAKS]);
    assert_eq!(ran.succeeds().stderr, "");
    ran.stdout.lines().map(str::to_owned).collect()
}

fn session(env: &TestEnv, name: &str) {
    std::fs::create_dir_all(env.workforce().join("sessions").join(name)).expect("writable");
}

#[test]
fn personas_tiers_roles_and_sessions_are_known() {
    let env = TestEnv::new();
    env.project_persona(&with(flat("zebra-keeper", "x"), &json!({"tags": ["stripes"]})));
    env.user_role("zebra-feeder", &json!({"label": "Feeder"}));
    session(&env, "zebra-keeper-20261116-050000-ab12cd");
    session(&env, "a-b-20261117-050000-ab12cd");
    let lock = env.workforce().join("sessions/zebra-keeper-20261116-050000-ab12cd/lock");
    let running = std::fs::File::create(lock).expect("writable");
    running.lock().expect("a lock");
    for (line, words) in [
        ("agent zeb", &["zebra-keeper"][..]),
        ("agent zebra-keeper", &["zebra-keeper"]),
        // bash replaces only the @ and what is behind it.
        ("agent zebra-keeper@", &["@best", "@best-value", "@minimum"]),
        ("agent zebra-keeper@best-", &["@best-value"]),
        ("agent code-reviewer@m", &["@minimum"]),
        ("show \"zeb", &["zebra-keeper"]),
        ("mount --persona zeb", &["zebra-keeper"]),
        ("mount --persona=zeb", &["zebra-keeper"]),
        ("create x --role zeb", &["zebra-feeder"]),
        ("role show zeb", &["zebra-feeder"]),
        ("list --tag str", &["stripes"]),
        // Newest first.
        ("sessions diff ", &["last", "a-b-20261117-050000-ab12cd", "zebra-keeper-20261116-050000-ab12cd"]),
        ("agent x --resume ", &["last", "a-b-20261117-050000-ab12cd", "zebra-keeper-20261116-050000-ab12cd"]),
        ("sessions stop ", &["zebra-keeper-20261116-050000-ab12cd"]),
        ("sessions list --persona zeb", &["zebra-keeper"]),
        ("config set limits.u", &["limits.usd"]),
        ("config set features.agent-l", &["features.agent-library"]),
        ("lint no-such", &["\tfiles"]),
        ("agent no-such", &[]),
        ("agent zebra-keeper ", &[]),
        ("agent zebra-keeper --sandbox st", &["strict"]),
        ("nonsense zeb", &[]),
    ] {
        assert_eq!(bash(&env, line), words, "{line}");
    }
    let zsh = env.run(["__complete", "zsh", "--", "agent", "zebra-keeper@b"]);
    assert!(zsh.succeeds().stdout.starts_with("zebra-keeper@best:"), "{zsh:#?}");
    let fish = env.run(["__complete", "fish", "--", "sessions", "dif"]);
    assert!(fish.succeeds().stdout.starts_with("diff\t"), "{fish:#?}");
}

#[test]
fn errors_are_not_said_in_the_middle_of_a_line() {
    let env = TestEnv::new();
    env.write("project/.agentworkforce/workforce/personas/broken.json", "{");
    env.write("home/.agentworkforce/workforce/config.json", "{");
    assert_eq!(bash(&env, "agent debug"), ["debugger"]);
    assert_eq!(bash(&env, "sessions diff x"), [""; 0]);
    assert_eq!(bash(&env, "agent 'unfinished"), [""; 0]);
    let before = env.everything();
    for line in
        ["", "-", "--", "agent -- ", "agent --prompt-file=", "\\", "\"", "help ", "@", "agent @", "agent é"]
    {
        bash(&env, line);
    }
    assert_eq!(env.everything(), before);
}

/// A shell in a terminal of its own, at a prompt of our choice.
fn shell(env: &TestEnv, program: &str, args: &[&str]) -> Terminal {
    require::program(program);
    let bin = Path::new(env!("CARGO_BIN_EXE_agentworkforce")).parent().expect("a directory");
    let mut command = Command::new(program);
    command.args(args).current_dir(env.project()).env("HOME", env.home()).env("TERM", "xterm");
    command.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display()));
    command.env("PS1", "ready> ").env("LC_ALL", "C.UTF-8").env(processes::MARK, env.root());
    Terminal::open(env.root(), &command, (24, 100))
}

/// Types a line with tabs in it and returns when the line has become this one.
#[track_caller]
fn becomes(terminal: &mut Terminal, typed: &str, line: &str) {
    terminal.type_text(typed);
    terminal.wait_until(&format!("{typed:?} to become {line:?}"), SOON, |screen| {
        screen.lines().any(|shown| shown.trim_end() == format!("ready> {line}").trim_end())
    });
    terminal.type_text("\x15");
    terminal.type_text("clear\r");
    terminal.wait_until("an empty screen", SOON, |screen| screen.trim() == "ready>");
}

fn lines_of(env: &TestEnv) -> [(&'static str, &'static str); 7] {
    env.project_persona(&flat("zebra-keeper", "x"));
    env.write("project/tasks/zebra.md", "x");
    session(env, "zebra-keeper-20261116-050000-ab12cd");
    [
        ("agentworkforce agent zeb\t", "agentworkforce agent zebra-keeper"),
        ("agentworkforce agent zebra-keeper@mi\t", "agentworkforce agent zebra-keeper@minimum"),
        (
            "agentworkforce sess\tdif\tzeb\t",
            "agentworkforce sessions diff zebra-keeper-20261116-050000-ab12cd",
        ),
        (
            "agentworkforce agent zebra-keeper --prompt-f\ttas\tzeb\t",
            "agentworkforce agent zebra-keeper --prompt-file tasks/zebra.md",
        ),
        ("agentworkforce mount --persona=zeb\t", "agentworkforce mount --persona=zebra-keeper"),
        ("agentworkforce role show writ\t", "agentworkforce role show writer"),
        ("true; agentworkforce lint zebra-k\t", "true; agentworkforce lint zebra-keeper"),
    ]
}

#[test]
fn bash_completes() {
    let env = TestEnv::new();
    let lines = lines_of(&env);
    let mut terminal = shell(&env, "bash", &["--norc", "--noprofile", "-i"]);
    terminal.wait_for("ready>", SOON);
    terminal.enter("source <(agentworkforce completions bash); clear");
    for (typed, line) in lines {
        becomes(&mut terminal, typed, line);
    }
}
