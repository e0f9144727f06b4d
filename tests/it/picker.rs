//! The bare call on a terminal: a list to pick from, and what was picked runs.

use crate::recording::{processes, pty::Terminal};
use crate::support::TestEnv;
use crate::support::mount::{World, identities};
use crate::support::terminal::Terminal as Shell;
use serde_json::json;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(30);
const HARNESS: &str =
    "#!/bin/sh\n[ \"$1\" = --version ] && { echo 1.0.0; exit 0; }\ntest -t 0 && echo the-harness-is-here\n";

fn open(env: &TestEnv, term: &str, size: (u16, u16)) -> Terminal {
    let harness = env.write("bin/claude", HARNESS);
    std::fs::set_permissions(&harness, PermissionsExt::from_mode(0o755)).expect("ours");
    let mut command = Command::new(env!("CARGO_BIN_EXE_agentworkforce"));
    command.current_dir(env.project()).env("HOME", env.home()).env("TERM", term);
    command.env("PATH", format!("{}:/usr/bin:/bin", env.root().join("bin").display()));
    command.env(processes::MARK, env.root());
    Terminal::open(env.root(), &command, size)
}

fn is_marked(screen: &str, id: &str) -> bool {
    screen.lines().any(|line| line.starts_with(&format!("> {id} ")))
}

#[test]
fn what_is_picked_is_launched_in_this_terminal() {
    let env = TestEnv::new();
    let mut terminal = open(&env, "xterm", (24, 80));
    terminal.wait_for("1 of 21; type to filter", SOON);
    assert!(terminal.screen().contains("dallas             🔧 Dallas   Engineer"), "{}", terminal.screen());
    terminal.type_text("debug");
    terminal.wait_until("the debugger to be marked", SOON, |screen| {
        screen.starts_with("Persona: debug\n") && is_marked(screen, "debugger")
    });
    terminal.type_text("\r");
    terminal.wait_for("the-harness-is-here", SOON);
    // The list had a screen of its own.
    assert!(!terminal.screen().contains("Persona:"), "{}", terminal.screen());
    assert_eq!(terminal.wait_for_end(SOON).code(), Some(0));
    // What was picked comes first the next time.
    let terminal = open(&env, "xterm", (24, 80));
    terminal.wait_until("the debugger to come first", SOON, |screen| is_marked(screen, "debugger"));
}

#[test]
fn many_personas_scroll_on_a_small_terminal() {
    let env = TestEnv::new();
    for number in 0..60 {
        env.project_persona(&json!({
            "id": format!("p-{number:02}"), "name": "Ëllen", "emoji": "🛠️", "harness": "claude", "intent": "x",
            "systemPrompt": "x", "description": "A description that is much too long for a terminal of 80 columns, which it passes by far",
        }));
    }
    let mut terminal = open(&env, "xterm", (24, 80));
    terminal.wait_for("1 of 81", SOON);
    assert_eq!(terminal.screen().lines().count(), 24, "{}", terminal.screen());
    terminal.type_text("ëllen p-");
    terminal.wait_for("1 of 60", SOON);
    // Arrows, Ctrl-N, and a page of 22 lines.
    terminal.type_text("\x1b[B\x1bOB\x0e\x1b[A\x1b[6~\x1b[6~");
    terminal.wait_until("the 47th to be marked", SOON, |screen| is_marked(screen, "p-46"));
    assert!(terminal.screen().contains("47 of 60") && !terminal.screen().contains("p-10"));
    terminal.type_text("\x1b[5~\x10");
    terminal.wait_until("the 24th to be marked", SOON, |screen| is_marked(screen, "p-23"));
    terminal.type_text("\x1b");
    assert_eq!(terminal.wait_for_end(SOON).code(), Some(0));
}

#[test]
fn a_terminal_without_a_screen_of_its_own_has_a_prompt() {
    let env = TestEnv::new();
    let mut terminal = open(&env, "dumb", (24, 80));
    terminal.wait_for("Number or name to pick", SOON);
    // All of them are to be seen, one a line.
    let screen = terminal.screen();
    assert!(screen.contains("   1  💡 advisor") && screen.contains("  21  🧰 worker"), "{screen}");
    terminal.type_text("debug\r");
    terminal.wait_until("fewer of them", SOON, |screen| {
        screen.matches("Number or name").count() == 2 && screen.contains("   2  🐛 debugger")
    });
    terminal.type_text("debugger\r");
    terminal.wait_for("the-harness-is-here", SOON);
    assert_eq!(terminal.wait_for_end(SOON).code(), Some(0));
}

/// In a shell: what was on the screen is back, and the shell can be typed into.
#[test]
fn however_it_ends_the_terminal_is_as_before() {
    let world = World::new(*identities().last().unwrap());
    let shell = Shell::open_with(&world, 80, 24);
    shell.line("stty -a > before; echo still-here");
    for (keys, code) in [(&["C-c"][..], 130), (&["Escape"], 0), (&["C-d"], 0), (&["x", "y", "z", "C-c"], 130)]
    {
        shell.line("$AW; echo \"ended $?\"; stty -a > after");
        shell.shows("type to filter");
        assert!(!shell.visible().contains("still-here"));
        shell.keys(keys);
        shell.shows(&format!("ended {code}"));
        shell.line("cmp before after && echo the-same && rm after");
        shell.shows("the-same");
        assert!(shell.visible().contains("still-here"), "{}", shell.screen());
        shell.clear();
        shell.line("echo still-here");
    }
    // From outside.
    for signal in ["TERM", "INT", "HUP"] {
        shell.clear();
        shell.line(&format!("sh -c 'until [ -e go ]; do sleep 0.05; done; kill -{signal} $(cat pid)' & sh -c 'echo $$ > pid; exec $AW'; echo \"ended $?\"; stty -a > after"));
        shell.shows("type to filter");
        std::fs::write(world.project().join("go"), "").unwrap();
        shell.shows("ended 1");
        shell.line("rm -f go; cmp before after && echo the-$((1+1))nd-same");
        shell.shows("the-2nd-same");
    }
}

#[test]
fn it_is_drawn_anew_after_a_resize() {
    let world = World::new(*identities().last().unwrap());
    let shell = Shell::open_with(&world, 80, 24);
    shell.line("NO_COLOR=1 $AW");
    shell.shows("type to filter");
    shell.keys(&["End"]);
    shell.shows("> worker");
    shell.resize(50, 8);
    shell.shows_visibly(|screen| {
        let lines: Vec<&str> = screen.trim_end().lines().collect();
        lines.len() == 8 && lines[6].starts_with("> worker") && lines[0].starts_with("Persona:")
    });
    shell.resize(120, 40);
    shell.shows_visibly(|screen| screen.contains("  analyst") && screen.contains("> worker"));
    shell.keys(&["C-c"]);
    shell.shell_is_back();
}
