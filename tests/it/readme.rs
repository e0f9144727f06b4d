//! The README as a user follows it: every console example is run, in order, and says what the README shows.

use crate::support::TestEnv;
use std::path::Path;
use std::process::{Command, Stdio};

/// Does the task of the README's example.
const CLAUDE: &str = r#"#!/bin/sh
if [ "$1" = --version ]; then echo "2.1.197 (stand-in)"; exit 0; fi
cat > /dev/null
echo goodbye > farewell.txt
echo '{"type":"system","subtype":"init","session_id":"s","model":"stand-in"}'
echo '{"type":"result","subtype":"success","is_error":false,"result":"I added farewell.txt.","session_id":"s"}'
"#;

/// A command of the README with the lines that it is shown to print.
struct Example {
    command: String,
    shown: Vec<String>,
}

fn readme() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).expect("a README")
}

/// `$ ` starts a command, `> ` goes on with it, everything else is what it prints.
fn examples(text: &str) -> Vec<Example> {
    let mut found: Vec<Example> = Vec::new();
    for block in text.split("```console\n").skip(1) {
        for line in block.split("\n```").next().unwrap_or_default().lines() {
            if let Some(command) = line.strip_prefix("$ ") {
                found.push(Example { command: command.to_owned(), shown: Vec::new() });
            } else if let (Some(rest), Some(last)) = (line.strip_prefix("> "), found.last_mut()) {
                last.command.push('\n');
                last.command.push_str(rest);
            } else if let Some(last) = found.last_mut() {
                last.shown.push(line.to_owned());
            }
        }
    }
    found
}

/// Whether the shown lines are in the output in this order; a line or a tail of `...` stands for anything.
fn shows(output: &str, shown: &[String]) -> Result<(), String> {
    let mut lines = output.lines().map(str::trim_end);
    for wanted in shown.iter().map(|line| line.trim_end()).filter(|line| *line != "...") {
        let fits = |line: &str| match wanted.split_once("...") {
            Some((start, end)) => line.starts_with(start) && line.ends_with(end),
            None => line == wanted,
        };
        if !lines.by_ref().any(fits) {
            return Err(format!("`{wanted}` is not in its place in:\n{output}"));
        }
    }
    Ok(())
}

#[test]
fn every_console_example_of_the_readme_works() {
    let env = TestEnv::new();
    let bin = Path::new(env!("CARGO_BIN_EXE_agentworkforce")).parent().expect("a directory");
    // A stand-in for an installed harness; `tests/real` has the real ones.
    let harness = env.write("bin/claude", CLAUDE);
    std::fs::set_permissions(&harness, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("ours");
    let stand_in = env.root().join("bin");
    let path =
        format!("{}:{}:{}", bin.display(), stand_in.display(), std::env::var("PATH").unwrap_or_default());
    let examples = examples(&readme());
    assert!(examples.len() >= 10, "the README has lost its examples");
    for example in examples {
        let output = Command::new("bash")
            .args(["-euo", "pipefail", "-c", &example.command])
            .current_dir(env.project())
            .env_clear()
            .env("HOME", env.home())
            .env("PATH", &path)
            .stdin(Stdio::null())
            .output()
            .expect("bash runs");
        let stdout = String::from_utf8_lossy(&output.stdout);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "$ {}\n{stdout}{stderr}", example.command);
        if let Err(problem) = shows(&stdout, &example.shown) {
            panic!("$ {}\n{problem}", example.command);
        }
    }
}

#[test]
fn every_setting_has_a_line_in_the_readme() {
    let env = TestEnv::new();
    let readme = readme();
    let settings = env.run(["config", "list", "--json"]).json();
    for setting in settings["settings"].as_array().expect("settings") {
        let key = setting["key"].as_str().expect("a key");
        assert!(readme.contains(&format!("`{key}`")), "{key} is not in the README");
    }
}
