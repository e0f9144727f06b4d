//! Feature flags: who decides them, and what is off then.

use super::{crew, json_of};
use crate::support::{TestEnv, runtime};
use pretty_assertions::assert_eq;
use serde_json::json;

#[test]
fn a_feature_is_decided_by_environment_over_config_over_default() {
    let states = |env: &TestEnv| {
        let found = env.run(["config", "features", "--json"]).json();
        let all = found["features"].as_array().unwrap().clone();
        all.iter()
            .map(|f| format!("{} {} {}", f["id"].as_str().unwrap(), f["on"], f["from"].as_str().unwrap()))
            .collect::<Vec<_>>()
    };
    let mut env = TestEnv::new();
    assert_eq!(states(&env), ["agent-library true default", "agent-rename true default"]);
    env.run(["config", "set", "features.agent-rename", "false"]).succeeds();
    assert_eq!(states(&env), ["agent-library true default", "agent-rename false config"]);
    env.set_var("AGENTWORKFORCE_FEATURE_AGENT_RENAME", "1");
    env.set_var("AGENTWORKFORCE_FEATURE_AGENT_LIBRARY", "0");
    assert_eq!(states(&env), ["agent-library false env", "agent-rename true env"]);
    env.set_var("AGENTWORKFORCE_FEATURE_AGENT_RENAME", "");
    assert_eq!(states(&env), ["agent-library false env", "agent-rename false config"]);
}

#[test]
fn an_unknown_feature_is_an_error() {
    let mut env = TestEnv::new();
    env.run(["config", "set", "features.agent-libary", "true"])
        .fails(2, "did you mean `features.agent-library`?");
    env.config(&json!({"features": {"agent-libary": true}}));
    env.run(["list"]).fails(2, "there is no feature `agent-libary`");
    env.config(&json!({}));
    env.set_var("AGENTWORKFORCE_FEATURE_NOPE", "1");
    env.run(["list"]).fails(2, "AGENTWORKFORCE_FEATURE_NOPE");
    let mut env = TestEnv::new();
    env.set_var("AGENTWORKFORCE_FEATURE_AGENT_RENAME", "yes");
    env.run(["list"]).fails(2, "neither 1 nor 0");
}

#[test]
fn commands_of_a_feature_that_is_off_leave_the_help_and_are_refused_with_the_line_that_enables_them() {
    let mut env = crew();
    let before = env.everything();
    assert!(env.run(["role", "--help"]).stdout.contains("create"));
    assert!(env.run(["persona", "--help"]).stdout.contains("rename"));
    env.set_var("AGENTWORKFORCE_FEATURE_AGENT_LIBRARY", "0");
    env.set_var("AGENTWORKFORCE_FEATURE_AGENT_RENAME", "0");
    let refused: [(&[&str], &str); 5] = [
        (&["role", "create", "x", "--label", "X"], "agent-library"),
        (&["role", "set", "crew", "--label", "X"], "agent-library"),
        (&["role", "delete", "crew"], "agent-library"),
        (&["role", "reset", "--yes"], "agent-library"),
        (&["persona", "rename", "kane", "X"], "agent-rename"),
    ];
    for (command, feature) in refused {
        // What the environment says is not changed by the config.
        let variable = format!("AGENTWORKFORCE_FEATURE_{}", feature.replace('-', "_").to_uppercase());
        env.run(command).fails(2, &format!("the variable `{variable}` switches it off"));
    }
    assert_eq!(env.everything(), before);
    let role = env.run(["role", "--help"]).stdout;
    for gone in ["create", "  set ", "delete", "reset"] {
        assert!(
            !role.lines().any(|line| line.starts_with(&format!("  {}", gone.trim()))),
            "{gone} in {role}"
        );
    }
    assert!(role.lines().any(|line| line.starts_with("  list")), "{role}");
    let persona = env.run(["persona", "--help"]).stdout;
    assert!(!persona.lines().any(|line| line.starts_with("  rename")), "{persona}");
    assert!(persona.lines().any(|line| line.starts_with("  set")), "{persona}");
    // The help that a missing subcommand prints is the same help.
    for command in ["role", "persona"] {
        let ran = env.run([command]);
        assert!(
            !ran.stderr.lines().any(|line| line.starts_with("  create") || line.starts_with("  rename")),
            "{ran:#?}"
        );
    }
    // Readers are never flagged.
    env.run(["role", "list"]).succeeds();
    env.run(["role", "show", "crew"]).succeeds();
    env.run(["persona", "set", "kane", "--expertise", "x"]).succeeds();
    assert!(env.prompt(&["kane"]).ends_with("## Your Charter\nKeep the ship flying.\n"));
}

#[test]
fn the_line_that_enables_a_feature_does_enable_it() {
    let env = crew();
    env.config(&json!({"features": {"agent-rename": false}, "unknown": 1}));
    let ran = env.run(["persona", "rename", "kane", "X"]);
    let line = ran.stderr.lines().find(|line| line.starts_with("hint: `agentworkforce ")).expect("a hint");
    let words: Vec<&str> = line.split('`').nth(1).unwrap().split(' ').skip(1).collect();
    env.run(words).succeeds();
    env.run(["persona", "rename", "kane", "X"]).succeeds();
    assert_eq!(json_of(&env, "home/.agentworkforce/workforce/config.json")["unknown"], 1);
}

#[test]
fn runtime_defaults_of_roles_belong_to_the_library_feature() {
    let mut env = crew();
    env.user_role(
        "crew",
        &json!({"label": "Crew", "charter": "C\n", "defaultHarness": "codex", "defaultModel": "gpt"}),
    );
    assert_eq!(runtime(&env.plan(&["kane"])), "codex/gpt");
    env.set_var("AGENTWORKFORCE_FEATURE_AGENT_LIBRARY", "0");
    assert_eq!(runtime(&env.plan(&["kane"])), "claude/-");
    assert_eq!(env.row("kane")["harness"], "claude");
}
