//! What is refused, what is warned of, what a look writes (nothing), and what lint and show answer.

use super::references::with_secrets;
use crate::support::{TestEnv, flat, with};
use pretty_assertions::assert_eq;
use serde_json::json;

#[test]
fn strict_refuses_what_is_not_enforced() {
    let env = TestEnv::new();
    env.user_persona(&flat("p", "x"));
    env.run(["agent", "p", "--dry-run", "--strict"]).succeeds();
    let demands =
        with(flat("p", "x"), &json!({"permissions": {"deny": ["WebFetch"]}, "limits": {"turns": 3}}));
    env.user_persona(&demands);
    env.run(["agent", "p", "--dry-run", "--strict", "-p", "x"]).succeeds();
    env.run(["agent", "p", "--dry-run", "--strict", "-p", "x", "--harness", "codex"])
        .fails(4, "is refused by `--strict`")
        .fails(4, "permissions.deny: advisory")
        .fails(4, "limits.turns: unsupported");
    let ran = env.run(["agent", "p", "--dry-run", "--strict", "--mount", "none"]);
    ran.fails(4, "mount.hidden: unsupported");
    assert!(ran.stdout.contains("unenforced"), "the plan is shown all the same: {ran:?}");
    env.user_persona(&with(flat("p", "x"), &json!({"env": {"A": "$MISSING"}})));
    env.run(["agent", "p", "--dry-run", "--strict"]).fails(4, "env.A is left out");
}

#[test]
fn escape_sequences_of_a_file_are_shown_and_not_obeyed() {
    let mut env = TestEnv::new();
    // Colour is forced, so that nothing is taken out on the way to the pipe.
    env.set_var("CLICOLOR_FORCE", "1");
    let hostile = "evil\u{1b}]0;owned\u{7}\u{1b}[2J\r\u{202e}\u{9b}31m";
    env.user_persona(&with(
        flat("p", "x"),
        &json!({
            "description": hostile, "tags": [hostile], "env": {"K": hostile},
            "skills": [{"id": hostile, "source": hostile}], "inputs": {"A": {"default": hostile}},
            "mount": {"ignoredPatterns": [hostile]}, "mcpServers": {hostile: {"command": hostile}}, hostile: 1
        }),
    ));
    env.user_persona(&json!({"id": "bad", "tags": 7, hostile: 1, "harness": hostile}));
    env.user_persona(&json!({"id": "worse", "extends": hostile}));
    env.user_persona(&with(flat("forged", "x"), &json!({"role": hostile, "expertise": [hostile]})));
    env.user_persona(&with(
        flat("refused", "x"),
        &json!({"model": hostile, "permissions": {"allow": [hostile], "deny": [hostile]}}),
    ));
    env.user_persona(
        &json!({"id": "handler", "intent": hostile, "onEvent": hostile, "description": hostile}),
    );
    env.user_role("crew", &json!({"label": "Crew", "charter": hostile, "defaultModel": hostile}));
    env.write(format!("home/.agentworkforce/workforce/personas/{}.json", "file\u{1b}[31m"), "{");
    env.config(&json!({"defaultModel": hostile, "defaultCreateTarget": hostile, hostile: 1}));
    let commands: Vec<Vec<&str>> = vec![
        vec!["list"],
        vec!["list", "--all"],
        vec!["show", "p"],
        vec!["show", "handler"],
        vec!["show", "p", "--origins"],
        vec!["show", "p", "--files"],
        vec!["show", "p", "--enforcement"],
        vec!["agent", "p", "--dry-run"],
        vec!["agent", "p", "--dry-run", "-p", hostile],
        vec!["agent", "bad", "--dry-run"],
        vec!["agent", "worse", "--dry-run"],
        vec!["agent", "forged", "--dry-run"],
        vec!["agent", "refused", "--dry-run"],
        vec!["agent", "p", "--dry-run", "--strict"],
        vec!["agent", hostile, "--dry-run"],
        vec!["agent", "p", "--dry-run", "--harness", hostile],
        vec!["lint"],
        vec!["role", "list"],
        vec!["role", "show", "crew"],
        vec!["role", "show", hostile],
        vec!["config", "list"],
        vec!["config", "get", "defaultModel"],
        vec!["config", "get", hostile],
        vec!["sources", "list"],
        vec!["sources", "remove", hostile],
        vec!["persona", "set", "p", "--role", hostile],
    ];
    for command in commands {
        let ran = env.run(&command);
        for (stream, text) in [("stdout", &ran.stdout), ("stderr", &ran.stderr)] {
            // Our own colours are the only sequences, and they are plain.
            let mut rest = text.replace('\u{1b}', "\u{1b}\u{0}");
            for style in ["[0m", "[1m", "[2m", "[31m", "[33m", "[36m", "[4m", "[32m"] {
                rest = rest.replace(&format!("\u{1b}\u{0}{style}"), "");
            }
            let hostile =
                rest.chars().find(|c| (c.is_control() && *c != '\n' && *c != '\t') || *c == '\u{202e}');
            assert_eq!(hostile, None, "{command:?} {stream}: {text:?}");
            assert!(!text.contains("file\u{1b}[31m"), "{command:?} {stream}: {text:?}");
        }
    }
    // In JSON the text is whole.
    let row = env.row("p");
    assert_eq!(row["description"], hostile);
}

#[test]
fn a_dry_run_and_every_other_look_write_nothing() {
    let env = with_secrets();
    env.project_persona(&with(
        flat("q", "x"),
        &json!({"claudeMd": "q.md", "skills": [{"id": "s", "source": "./s.md"}]}),
    ));
    env.write("project/.agentworkforce/workforce/personas/q.md", "sidecar");
    env.write("project/src/main.rs", "fn main() {}");
    env.write("project/CLAUDE.md", "real");
    env.config(&json!({"limits": {"turns": 3}}));
    let before = env.everything();
    for harness in ["claude", "opencode", "codex"] {
        for id in ["p", "q", "engineer", "ripley"] {
            env.run(["agent", id, "--dry-run", "--harness", harness]).succeeds();
            env.run(["agent", id, "--dry-run", "--json", "--harness", harness, "-p", "task"]).succeeds();
            env.run(["agent", id, "--dry-run", "--json", "--harness", harness, "--install-in-repo"])
                .succeeds();
        }
    }
    for command in [
        vec!["list"],
        vec!["show", "q"],
        vec!["show", "q", "--prompt"],
        vec!["show", "q", "--origins"],
        vec!["show", "q", "--files"],
        vec!["show", "q", "--enforcement"],
        vec!["lint"],
        vec!["role", "list"],
        vec!["role", "show", "engineer"],
        vec!["sources", "list"],
        vec!["config", "list"],
        vec!["config", "features"],
        vec!["config", "get", "limits.turns"],
        vec!["schema", "plan"],
        vec!["completions", "zsh"],
        vec!["man"],
        vec!["--help"],
        vec!["--version"],
    ] {
        env.run(&command).succeeds();
    }
    assert_eq!(env.everything(), before);
}

#[test]
fn warnings_go_to_stderr_and_data_to_stdout() {
    let env = TestEnv::new();
    env.user_persona(&with(flat("p", "x"), &json!({"odd": 1})));
    let ran = env.run(["list", "--json"]);
    assert!(ran.stderr.starts_with("warning: "), "{ran:#?}");
    assert_eq!(ran.json()["warnings"].as_array().unwrap().len(), 1);
    let ran = env.run(["show", "p", "--prompt"]);
    assert_eq!((ran.stdout.as_str(), ran.stderr.lines().count()), ("x", 1), "{ran:#?}");
}

#[test]
fn show_files_and_enforcement_answer_what_they_are_asked() {
    let env = TestEnv::new();
    env.write("project/.agentignore", "# secrets\nprivate/\n");
    env.write("project/.agentreadonly", "*.lock\n");
    env.write("project/.p.agentignore", "!private/ok.txt\nmine.txt\n");
    for file in ["private/a", "x.lock", "mine.txt", "src/a.rs", ".env"] {
        env.write(format!("project/{file}"), "x");
    }
    env.user_persona(&flat("p", "x"));
    let decision = |path: &str| {
        let found = env.run(["show", "p", "--files", path, "--json"]).json();
        format!("{} {}", found["decision"].as_str().unwrap(), found["rule"]["origin"].as_str().unwrap_or("-"))
    };
    assert_eq!(decision("src/a.rs"), "writable -");
    assert!(decision("private/a").starts_with("hidden .agentignore"), "{}", decision("private/a"));
    assert!(decision("x.lock").starts_with("readonly .agentreadonly"), "{}", decision("x.lock"));
    assert!(decision("mine.txt").starts_with("hidden .p.agentignore"), "{}", decision("mine.txt"));
    assert!(decision(".env").starts_with("hidden "), "{}", decision(".env"));
    env.run(["show", "p", "--files", "/etc/passwd"]).fails(2, "is outside");
    let rows = env.run(["show", "engineer", "--enforcement", "--harness", "codex", "--json"]).json();
    assert!(
        rows["enforcement"]
            .as_array()
            .unwrap()
            .iter()
            .any(|row| row["field"] == "permissions.deny" && row["level"] == "advisory"),
        "{rows:#}"
    );
}

#[test]
fn a_named_path_without_files_is_an_error_and_a_file_outside_the_layers_is_checked() {
    let env = TestEnv::new();
    env.project_persona(&json!({"id": "good", "intent": "x", "systemPrompt": "p"}));
    env.write("project/draft.json", "{bad json");
    env.run(["lint", "draft.json"]).fails_with_output(1, "draft.json:1:2");
    env.write("project/notes/readme.txt", "x");
    env.run(["lint", "notes"]).fails(2, "has no persona or role file");
    env.write("project/personas/broken.json", r#"{"id": "broken", "tags": 5}"#);
    env.run(["lint", "."]).fails_with_output(1, "personas/broken.json");
}

#[test]
fn a_bypass_on_codex_leaves_no_permission_enforced_and_strict_refuses() {
    let env = TestEnv::new();
    env.project_persona(&json!({"id": "dz", "intent": "x", "harness": "codex", "systemPrompt": "p",
        "permissions": {"allow": ["Read"], "deny": ["Edit", "Write"], "mode": "plan"},
        "harnessSettings": {"dangerouslyBypassApprovalsAndSandbox": true}}));
    let plan = env.plan(&["dz"]);
    let rows = plan["enforcement"].as_array().expect("rows");
    let unsupported: Vec<&str> = rows
        .iter()
        .filter(|row| row["level"] == "unsupported")
        .map(|row| row["field"].as_str().expect("a field"))
        .collect();
    assert_eq!(unsupported, ["permissions.allow", "permissions.deny", "permissions.mode"]);
    env.run(["agent", "dz", "--dry-run", "--strict"]).fails(4, "refused by `--strict`");
}

#[test]
fn a_sandbox_that_cannot_be_had_is_refused() {
    let env = TestEnv::new();
    for backend in ["copy", "none"] {
        env.run(["agent", "engineer", "--dry-run", "--sandbox", "strict", "--mount", backend])
            .fails(4, "needs the overlay");
    }
    env.run(["agent", "engineer", "--dry-run", "--sandbox", "strict"]).succeeds();
    env.run(["agent", "engineer", "--dry-run", "--root", "missing"]).fails(2, "--root missing");
}

#[test]
fn a_variable_that_the_run_needs_for_itself_is_not_taken_from_the_persona() {
    let env = TestEnv::new();
    env.project_persona(&json!({"id": "e", "intent": "x", "harness": "codex", "systemPrompt": "p",
        "env": {"CODEX_HOME": "/x"}}));
    let plan = env.plan(&["e"]);
    assert_eq!(plan["command"]["env"]["CODEX_HOME"], "{session}/codex-home");
    assert!(plan["warnings"].to_string().contains("env.CODEX_HOME is left out"), "{plan:#}");
}

#[test]
fn an_overlay_of_nothing_is_told_from_what_was_meant() {
    let env = TestEnv::new();
    env.project_persona(&json!({"id": "debuger", "tiers": {"best": {"model": "sonnet"}}}));
    let ran = env.run(["lint", "debuger"]);
    assert!(ran.stdout.contains("did you mean `debugger`?"), "{ran:#?}");
}

#[test]
fn what_is_as_good_as_misspelt_is_told() {
    let env = TestEnv::new();
    env.project_persona(&json!({"id": "silent", "intent": "x", "systemPrompt": "", "harness": "claude"}));
    env.project_persona(&json!({"id": "typo", "intent": "x", "systemPrompt": "look at $TARGT and $HOME",
        "inputs": {"TARGET": {"description": "what to look at"}}, "harnessSettings": {"reasoning": "hihg"},
        "mount": {"ignoredPatterns": ["./secrets"]}}));
    let report = env.run(["lint", "--json"]).json();
    let problems = report["problems"].as_array().expect("a list");
    let told: Vec<String> = problems
        .iter()
        .map(|problem| format!("{} {}", problem["key"].as_str().unwrap_or_default(), problem["message"]))
        .collect();
    let wanted = [
        "neither prompt nor charter",
        "the prompt is empty",
        "$TARGT",
        "hihg",
        "pattern `./secrets` matches nothing",
    ];
    for wanted in wanted {
        assert_eq!(told.iter().filter(|text| text.contains(wanted)).count(), 1, "{wanted}: {told:#?}");
    }
    assert_eq!(told.len(), 5, "{told:#?}");
    let plan = env.plan(&["typo", "--input", "TARGET=x"]);
    assert!(plan["warnings"].to_string().contains("`./secrets` matches nothing"), "{plan:#}");
}
