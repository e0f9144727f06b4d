//! Help, versions, completions, and what nonsense on the command line is answered with.

use crate::support::{TestEnv, flat, with};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::process::Stdio;

#[test]
fn help_is_grouped_the_way_people_look_for_things() {
    let env = TestEnv::new();
    let help = env.run(["--help"]).succeeds().stdout.clone();
    let groups = ["Run:", "Look:", "Make:", "Share:", "Set up:", "Options:"];
    let places: Vec<usize> =
        groups.iter().map(|group| help.find(group).unwrap_or_else(|| panic!("{group}: {help}"))).collect();
    assert!(places.is_sorted(), "{help}");
    let group_of = |command: &str| {
        let at = help.find(&format!("\n  {command} ")).unwrap_or_else(|| panic!("{command}: {help}"));
        groups[places.iter().filter(|place| **place < at).count() - 1]
    };
    for (command, group) in [
        ("agent", "Run:"),
        ("list", "Look:"),
        ("show", "Look:"),
        ("lint", "Look:"),
        ("persona", "Make:"),
        ("role", "Make:"),
        ("schema", "Make:"),
        ("install", "Share:"),
        ("update", "Share:"),
        ("uninstall", "Share:"),
        ("pack", "Share:"),
        ("sources", "Share:"),
        ("config", "Set up:"),
        ("completions", "Set up:"),
        ("man", "Set up:"),
    ] {
        assert_eq!(group_of(command), group, "{command}");
    }
    assert_eq!(env.run(["-h"]).stdout, help);
    for command in [
        "agent",
        "list",
        "show",
        "lint",
        "persona",
        "role",
        "schema",
        "install",
        "update",
        "uninstall",
        "pack",
        "sources",
        "config",
        "completions",
        "man",
    ] {
        assert!(env.run([command, "--help"]).succeeds().stdout.contains("--json"), "{command}");
    }
}

#[test]
fn without_a_terminal_the_bare_program_prints_its_help() {
    let env = TestEnv::new();
    let before = env.everything();
    let ran = env.run::<&str>([]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, env.run(["--help"]).stdout.as_str()));
    assert_eq!(env.everything(), before);
}

#[test]
fn help_is_a_command_too() {
    let env = TestEnv::new();
    for words in [&["help"][..], &["help", "agent"], &["help", "sessions", "apply"], &["help", "help"]] {
        let mut flag = words[1..].to_vec();
        flag.push("--help");
        assert_eq!(env.run(words).succeeds().stdout, env.run(flag).stdout, "{words:?}");
    }
    env.run(["help", "lits"]).fails(2, "'list'");
    env.run(["help", "sessions", "aply"]).fails(2, "'apply'");
}

#[test]
fn harness_check_is_doctor() {
    let env = TestEnv::new();
    let (old, new) = (env.run(["harness", "check"]), env.run(["doctor"]));
    assert_eq!((old.code, &old.stdout), (new.code, &new.stdout));
    assert!(!env.run(["--help"]).stdout.contains("\n  harness "), "known to those who know it");
}

#[test]
fn a_persona_in_the_place_of_a_command_is_told_how_to_run() {
    let env = TestEnv::new();
    env.run(["engineer"])
        .fails(2, "error: `engineer` is a persona, not a command\n")
        .fails(2, "run it with `agentworkforce agent engineer`");
    env.run(["engineer@best", "-p", "fix it"]).fails(2, "`agentworkforce agent engineer@best -p 'fix it'`");
    env.run(["enginer"])
        .fails(2, "there is neither a command nor a persona `enginer`")
        .fails(2, "did you mean `agentworkforce agent engineer`?");
    env.run(["deploy", "engineer"])
        .fails(2, "`deploy` is a command of the npm tool, and not of this one")
        .fails(2, "docs/migration.md");
    env.run(["runs"]).fails(2, "`runs` is a command of the npm tool");
    let error = env.run(["--json", "engineer"]).fails_in_json(2, "usage");
    assert!(error["hints"][0].as_str().unwrap().contains("agent engineer"), "{error:#}");
    // A command that looks like it, or nothing that does: as before.
    env.run(["lits"]).fails(2, "unrecognized subcommand 'lits'");
    env.run(["xyzzy"]).fails(2, "unrecognized subcommand 'xyzzy'");
    env.run(["role", "engineer"]).fails(2, "unrecognized subcommand 'engineer'");
}

#[test]
fn a_time_limit_may_have_a_unit() {
    let env = TestEnv::new();
    let plan = env.plan(&["engineer", "-p", "x", "--timeout", "5m", "--idle-timeout", "90"]);
    assert_eq!(
        (&plan["limits"]["wallSeconds"], &plan["limits"]["idleSeconds"]),
        (&json!(300.0), &json!(90.0)),
        "{plan:#}"
    );
    let plan = env.plan(&["engineer", "-p", "x", "--check", "true", "--check-timeout", "1h30m"]);
    assert_eq!(plan["checks"][0]["timeoutSeconds"], json!(5400.0), "{plan:#}");
    env.run(["agent", "engineer", "--timeout", "5x"]).fails(2, "`5m`");
}

#[test]
fn flags_of_the_npm_tool_are_accepted_and_explained() {
    let env = TestEnv::new();
    for (flag, says, refreshes) in [
        ("--no-launch-metadata", "no launch metadata is written", false),
        ("--no-skill-cache", "skills are fetched again", true),
        ("--check-upstream", "skills are fetched again", true),
        ("--no-check-upstream", "a fetched skill is used for a day", false),
        ("--refresh-skills", "", true),
    ] {
        let ran = env.run(["agent", "engineer", "--dry-run", "--json", flag]);
        assert_eq!(ran.json()["refreshSkills"] == true, refreshes, "{flag}");
        assert!(ran.stderr.contains(says) && ran.stderr.is_empty() == says.is_empty(), "{ran:#?}");
    }
    env.run(["agent", "engineer", "--refresh-skills", "--offline"]).fails(2, "cannot be used with");
    let help = env.run(["agent", "--help"]).stdout;
    assert!(help.contains("--refresh-skills") && !help.contains("--no-launch-metadata"), "{help}");
}

#[test]
fn the_version_is_one_line() {
    let env = TestEnv::new();
    for flag in ["--version", "-V"] {
        let ran = env.run([flag]);
        assert_eq!((ran.code, ran.stdout.lines().count()), (0, 1));
        assert!(ran.stdout.starts_with(&format!("agentworkforce {}", env!("CARGO_PKG_VERSION"))), "{ran:#?}");
    }
}

#[test]
fn an_unknown_command_or_flag_gets_a_did_you_mean() {
    let env = TestEnv::new();
    env.run(["lits"]).fails(2, "unrecognized subcommand 'lits'").fails(2, "'list'");
    env.run(["list", "--jsn"]).fails(2, "'--json'");
    env.run(["agent", "engineer", "--dryrun"]).fails(2, "'--dry-run'");
    env.run(["role", "lsit"]).fails(2, "'list'");
    env.run(["schema", "person"]).fails(2, "'persona'");
    // The same in JSON.
    let error = env.run(["list", "--harnes", "x", "--json"]).fails_in_json(2, "usage");
    assert!(error["hints"].to_string().contains("--harness"), "{error:#}");
    let error = env.run(["agent", "--json"]).fails_in_json(2, "usage");
    assert!(error["message"].as_str().unwrap().contains("PERSONA"), "{error:#}");
}

#[test]
fn every_error_is_one_json_object_on_stdout_in_json_mode() {
    let mut env = TestEnv::new();
    env.user_persona(&with(flat("needs", "x"), &json!({"inputs": {"A": {}}})));
    env.user_persona(&json!({"id": "broken", "tags": 7}));
    let usage: [&[&str]; 12] = [
        &["show", "nobody"],
        &["agent", "nobody", "--dry-run"],
        &["agent", "engineer@x", "--dry-run"],
        &["agent", "needs", "--dry-run"],
        &["agent", "broken", "--dry-run"],
        &["agent", "engineer"],
        &["config", "get", "nope"],
        &["config", "set", "limits.usd", "x"],
        &["role", "show", "nope"],
        &["persona", "rename", "nobody", "x"],
        &["sources", "add", "/nonexistent"],
        &["nonsense"],
    ];
    for command in usage {
        let mut command = command.to_vec();
        command.push("--json");
        let ran = env.run(&command);
        let error = ran.fails_in_json(2, "usage");
        let message = error["message"].as_str().unwrap();
        assert!(!message.is_empty() && !message.ends_with('.'), "{error:#}");
        assert!(error["causes"].is_array() && error["hints"].is_array(), "{error:#}");
        assert!(
            ran.stderr.starts_with("error: ") && ran.stderr.contains(message.lines().next().unwrap()),
            "{ran:#?}"
        );
    }
    env.run(["agent", "engineer", "--harness", "opencode", "--strict", "-p", "x", "--json"])
        .fails_in_json(4, "refused");
    // A dry run prints the plan with the reasons for refusing it.
    let plan = env.refused_plan(4, &["engineer", "--harness", "opencode", "--strict"]);
    assert!(plan["refusals"].to_string().contains("is refused by `--strict`"), "{plan:#}");
    env.set_var("AGENTWORKFORCE_FEATURE_AGENT_RENAME", "0");
    env.run(["persona", "rename", "ripley", "x", "--json"]).fails_in_json(2, "usage");
}

#[test]
fn json_without_a_task_or_a_dry_run_is_refused() {
    let env = TestEnv::new();
    env.run(["agent", "engineer", "--json"]).fails(2, "`--json` needs a task or `--dry-run`");
    env.run(["agent", "engineer", "--json", "--dry-run"]).succeeds();
    env.run(["agent", "engineer", "--dry-run", "-p", "  "]).fails(2, "the task is empty");
    env.run(["agent", "engineer", "--dry-run", "-p", "x", "--prompt-file", "y"])
        .fails(2, "cannot be used with");
    env.run(["agent", "engineer", "--dry-run", "--prompt-file", "/nonexistent"]).fails(2, "/nonexistent");
}

#[test]
fn a_task_comes_from_a_flag_a_file_or_standard_input() {
    let env = TestEnv::new();
    let file = env.write("task.md", "do this\n");
    let stdin = env
        .run_with_input(["agent", "engineer", "--dry-run", "--json", "--prompt-file", "-"], "do that\n")
        .json();
    for (plan, task) in [
        (env.plan(&["engineer", "-p", "do it"]), "do it"),
        (env.plan(&["engineer", "--prompt-file", file.to_str().unwrap()]), "do this\n"),
        (stdin, "do that\n"),
    ] {
        assert_eq!(
            (&plan["prompt"], &plan["mode"], &plan["command"]["stdin"]),
            (&json!(task), &json!("headless"), &json!("prompt"))
        );
        assert!(!plan["command"]["args"].to_string().contains(task.trim()), "a task is on no command line");
    }
    let plan = env.plan(&["engineer"]);
    assert_eq!((&plan["prompt"], &plan["mode"]), (&json!(null), &json!("interactive")));
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let env = TestEnv::new();
    let commands: [&[&str]; 7] = [
        &["list"],
        &["list", "--json"],
        &["--help"],
        &["show", "engineer", "--prompt"],
        &["schema", "plan"],
        &["completions", "bash"],
        &["man"],
    ];
    for args in commands {
        let mut child = env.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(
            (output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()),
            (Some(0), ""),
            "{args:?}"
        );
    }
    // A disk that is full is one.
    if let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") {
        let output = env
            .command(["list"])
            .stdout(full)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
            .wait_with_output()
            .unwrap();
        assert_eq!(output.status.code(), Some(125));
        assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write to standard output"));
    }
}

#[test]
fn completions_exist_for_every_shell_and_the_manual_is_a_page() {
    let env = TestEnv::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = env.run(["completions", shell]).succeeds().stdout.clone();
        if shell == "bash" {
            let file = env.write("completions", &script);
            let read = std::process::Command::new("bash").arg("-n").arg(file).status();
            assert!(read.expect("bash runs").success());
        }
        assert!(script.len() > 500 && script.contains("agentworkforce"), "{shell}");
    }
    env.run(["completions", "sh"]).fails(2, "bash");
    let page = env.run(["man"]).succeeds().stdout.clone();
    assert!(page.contains(".TH agentworkforce 1") && page.contains("persona"), "{page}");
    // Every command and every flag is in it, and what it says of exit codes is what the README says.
    for words in ["agentworkforce agent ", "agentworkforce sessions apply ", "agentworkforce role create "] {
        assert!(page.contains(&format!(".SS \"{words}")), "{words}\n{page}");
    }
    assert!(page.contains("\\-\\-persona\\-ref\\fR \\fI<REF>") && page.contains("overlay: Copy"), "{page}");
    for code in ["124", "125", "126, 127", "128+n"] {
        assert!(page.contains(&format!("\n.B {code}\n")), "{code}");
    }
    // A line that starts with a dot is a request, and these are all that we make.
    for line in page.lines().filter(|line| line.starts_with(['.', '\''])) {
        let request = line.split(' ').next().unwrap_or_default();
        let known =
            [".TH", ".SH", ".SS", ".TP", ".B", ".PP", ".IP", ".RS", ".RE", ".br", ".nf", ".fi", ".ie", ".el"];
        assert!(known.contains(&request), "{line}");
    }
}

#[test]
fn a_bug_of_ours_is_told_with_its_exit_code_and_in_json() {
    let env = TestEnv::new();
    env.run(["__bug"]).fails(125, "this is a bug in agentworkforce");
    let error = env.run(["__bug", "--json"]).fails_in_json(125, "internal");
    assert!(error.to_string().contains("sessions recover"), "{error:#}");
}
