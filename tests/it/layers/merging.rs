//! How a layer lies over another one, field by field.

use crate::support::{TestEnv, runtime, warnings};
use pretty_assertions::assert_eq;
use serde_json::json;

#[test]
fn every_field_merges_as_its_table_says() {
    let env = TestEnv::new();
    env.user_persona(&json!({
        "id": "p", "intent": "p", "description": "low", "tags": ["a", "b"], "name": "Low", "expertise": ["x"],
        "skills": [{"id": "s", "source": "./s.md"}], "harness": "claude", "systemPrompt": "low",
        "inputs": {"A": {"default": "1", "description": "keep?"}, "B": "2"}, "env": {"K": "low", "GONE": "x"},
        "mcpServers": {"one": {"command": "one", "args": ["a"]}, "two": {"url": "https://two"}},
        "permissions": {"allow": ["Read", "Bash"], "deny": ["Write"], "mode": "plan"},
        "mount": {"ignoredPatterns": ["x"], "readonlyPatterns": ["r"]}, "limits": {"turns": 3, "usd": 1},
        "harnessSettings": {"reasoning": "low", "timeoutSeconds": 60}
    }));
    env.project_persona(&json!({
        "id": "p", "tags": ["c"], "expertise": [], "inputs": {"A": {"default": "9"}}, "env": {"GONE": null, "NEW": "n"},
        "mcpServers": {"one": {"command": "uno"}, "two": null},
        "permissions": {"allow": ["Grep", "Read"], "removeAllow": ["Bash"], "mode": "default"},
        "mount": {"ignoredPatterns": ["!x", "x"]}, "limits": {"usd": 5}, "harnessSettings": {"reasoning": "high"}
    }));
    let spec = env.run(["show", "p", "--json"]).json()["spec"].clone();
    assert_eq!(
        spec,
        json!({
            "id": "p", "intent": "p", "description": "low", "tags": ["c"], "name": "Low", "expertise": [],
            "skills": [{"id": "s", "source": "./s.md"}], "harness": "claude", "systemPrompt": "low",
            "inputs": {"A": {"default": "9"}, "B": {"default": "2"}}, "env": {"K": "low", "NEW": "n"},
            "mcpServers": {"one": {"command": "uno"}},
            "permissions": {"allow": ["Read", "Grep"], "deny": ["Write"], "mode": "default"},
            "mount": {"ignoredPatterns": ["x", "!x", "x"], "readonlyPatterns": ["r"]}, "limits": {"turns": 3, "usd": 5},
            "harnessSettings": {"reasoning": "high", "timeoutSeconds": 60}
        })
    );
}

#[test]
fn a_prompt_at_the_top_replaces_the_tiers_of_below_but_not_those_of_its_own_file() {
    let env = TestEnv::new();
    env.user_persona(&json!({"id": "p", "intent": "p", "tiers": {
        "best": {"harness": "claude", "model": "opus", "systemPrompt": "low best"},
        "minimum": {"harness": "claude", "model": "haiku", "systemPrompt": "low minimum"}}}));
    env.project_persona(
        &json!({"id": "p", "systemPrompt": "top", "tiers": {"best": {"systemPrompt": "own best"}}}),
    );
    assert_eq!((env.prompt(&["p@best"]), env.prompt(&["p@minimum"])), ("own best".into(), "top".into()));
    assert_eq!(runtime(&env.plan(&["p@minimum"])), "claude/haiku", "the other fields are inherited");
}

#[test]
fn a_flat_overlay_over_a_tiered_base_keeps_the_tiers() {
    let env = TestEnv::new();
    env.project_persona(
        &json!({"id": "engineer", "harness": "codex", "model": "gpt", "systemPrompt": "mine"}),
    );
    for tier in ["best", "best-value", "minimum"] {
        let plan = env.plan(&[&format!("engineer@{tier}")]);
        assert_eq!((runtime(&plan).as_str(), &plan["persona"]["tier"]), ("codex/gpt", &json!(tier)));
        assert!(plan["systemPrompt"].as_str().unwrap().ends_with("\n\nmine"), "{tier}");
        assert_eq!(warnings(&plan), Vec::<String>::new(), "it has tiers, so nothing needs to be said");
    }
    assert_eq!(
        env.plan(&["engineer@best"])["reasoning"],
        "high",
        "what the overlay does not say stays the tier's"
    );
}

#[test]
fn a_tier_can_be_added_by_an_overlay() {
    let env = TestEnv::new();
    env.user_persona(
        &json!({"id": "p", "intent": "p", "tiers": {"minimum": {"harness": "claude", "systemPrompt": "m"}}}),
    );
    env.project_persona(&json!({"id": "p", "tiers": {"best": {"harness": "codex", "systemPrompt": "b"}}}));
    assert_eq!((env.prompt(&["p@best"]), env.prompt(&["p@minimum"])), ("b".into(), "m".into()));
}
