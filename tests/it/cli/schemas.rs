//! The schemas are valid, and what we write and print satisfies them.

use super::{is_valid, validator};
use crate::support::{TestEnv, flat, with};
use pretty_assertions::assert_eq;
use serde_json::json;

#[test]
fn every_schema_is_valid_and_real_files_satisfy_it() {
    let env = TestEnv::new();
    for format in ["persona", "role", "plan", "report", "config"] {
        let schema = env.run(["schema", format]).json();
        assert!(jsonschema::meta::is_valid(&schema), "{format}");
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema", "{format}");
    }
    let (persona, role, plan) =
        (validator(&env, "persona"), validator(&env, "role"), validator(&env, "plan"));
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("personas");
    for (dir, validator) in [(dir.clone(), &persona), (dir.join("roles"), &role)] {
        let mut seen = 0;
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "json") {
                is_valid(validator, &serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap());
                seen += 1;
            }
        }
        assert!(seen >= 8);
    }
    let list = env.run(["list", "--json"]).json();
    for row in list["personas"].as_array().unwrap() {
        let shown = env.run(["show", row["persona"].as_str().unwrap(), "--all", "--json"]).json();
        is_valid(&persona, &shown["spec"]);
    }
    for value in [
        json!({"id": "x", "extends": "engineer", "$schema": "./s.json", "inputs": {"A": null}, "mcpServers": {"m": null}, "permissions": {"removeAllow": ["Bash"]}}),
        json!({"id": "x", "tiers": {"best": {"model": "y"}}, "unknown": 1}),
    ] {
        is_valid(&persona, &value);
    }
    for value in [
        json!({}),
        json!({"id": "a b"}),
        json!({"id": "x", "tags": "y"}),
        json!({"id": "x", "claudeMd": "x.txt"}),
        json!({"id": "x", "tiers": {"best": {"harness": "vim"}}}),
    ] {
        assert!(!persona.is_valid(&value), "{value}");
    }
    assert!(!plan.is_valid(&json!({})));
    env.run(["schema", "nonsense"]).fails(2, "persona");
}

#[test]
fn a_plan_with_everything_in_it_satisfies_its_schema() {
    let mut env = TestEnv::new();
    env.set_var("SECRET", "s");
    env.user_persona(&with(flat("p", "x"), &json!({
        "name": "P", "emoji": "🐈", "role": "engineer", "expertise": ["a"], "model": "opus", "env": {"A": "$SECRET"}, "inputs": {"B": "b"},
        "mcpServers": {"m": {"command": "c", "args": ["$SECRET"]}}, "skills": [{"id": "s", "source": "./s.md"}], "claudeMdContent": "c", "agentsMdContent": "a",
        "permissions": {"allow": [], "deny": ["Bash(rm:*)"], "mode": "plan"}, "limits": {"usd": 1, "turns": 2, "wallSeconds": 3, "idleSeconds": 4, "processes": 5, "memoryMb": 6, "diskMb": 7},
        "mount": {"ignoredPatterns": ["x"], "readonlyPatterns": ["y"], "revealPatterns": ["z"], "includePatterns": ["i"], "sandbox": "strict"},
        "harnessSettings": {"reasoning": "high", "webSearch": true, "sandboxMode": "read-only"}, "hermetic": true, "bareMode": true
    })));
    let schema = validator(&env, "plan");
    for harness in ["claude", "opencode", "codex"] {
        for more in [&[][..], &["-p", "task", "--", "--extra", "arg"]] {
            let mut args = vec!["p", "--harness", harness];
            args.extend(more);
            let plan = env.plan(&args);
            is_valid(&schema, &plan);
            assert_eq!(
                plan["command"]["args"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .rev()
                    .take(2)
                    .rev()
                    .any(|arg| arg == "--extra"),
                !more.is_empty()
            );
        }
    }
}
