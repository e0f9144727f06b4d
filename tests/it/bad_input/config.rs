//! A config file that is broken, or being written by somebody else.

use super::{CONFIG, world};
use pretty_assertions::assert_eq;
use serde_json::json;

#[test]
fn a_config_that_is_half_written_is_a_warning_for_readers_and_untouched_by_writers() {
    let env = world();
    let half = "{\n  \"defaultHarness\": \"codex\",\n  \"unknown\": {\"k\": 1";
    env.write(CONFIG, half);
    let ran = env.run(["agent", "good", "--dry-run", "--json"]);
    assert!(ran.stderr.contains("config.json:3:20: invalid JSON"), "{ran:#?}");
    assert_eq!(ran.refused_json(2)["harness"]["kind"], "claude");
    assert_eq!(env.row("good")["source"], "user", "readers fall back to the defaults");
    let other = env.root().join("other");
    std::fs::create_dir(&other).unwrap();
    for command in [
        vec!["config", "set", "defaultModel", "x"],
        vec!["config", "unset", "defaultHarness"],
        vec!["sources", "add", other.to_str().unwrap()],
        vec!["sources", "remove", "1"],
    ] {
        env.run(&command).fails(2, "config.json cannot be edited").fails(2, "it was not changed");
        assert_eq!(env.read(CONFIG), half, "{command:?}");
    }
    env.run(["agent", "good", "--dry-run", "--strict"]).fails(2, "config.json");
}

#[test]
fn a_wrong_setting_is_left_out_and_the_others_count() {
    let env = world();
    env.config(&json!({"defaultHarness": "vim", "personaDirs": "x", "defaultModel": "opus", "limits": {"turns": "many", "usd": 3}, "mount": 7, "features": {"agent-rename": "no"}, "tpyo": 1}));
    let ran = env.run(["agent", "good", "--dry-run", "--json"]);
    for key in [
        "2:3: defaultHarness",
        "3:3: personaDirs",
        "limits.turns",
        "mount",
        "features.agent-rename",
        "tpyo: unknown field",
    ] {
        assert!(
            ran.stderr.contains(&format!("config.json:{key}")) || ran.stderr.contains(&format!(": {key}")),
            "{key}: {ran:#?}"
        );
    }
    let plan = ran.refused_json(2);
    assert_eq!((&plan["model"]["value"], &plan["model"]["from"]), (&json!("opus"), &json!("config")));
    for text in ["[]", "7", "\"x\"", "null"] {
        env.write(CONFIG, text);
        env.run(["list"]).fails(0, "config.json: must be a JSON object");
        env.run(["config", "set", "defaultModel", "x"]).fails(2, "must be a JSON object");
        assert_eq!(env.read(CONFIG), text);
    }
}
