//! Keys nobody knows are kept, and told where that helps.

use super::has_warning;
use crate::support::{TestEnv, flat, warnings, with};
use pretty_assertions::assert_eq;
use serde_json::json;

#[test]
fn unknown_keys_are_kept_and_reported_with_a_did_you_mean() {
    let env = TestEnv::new();
    env.user_persona(&with(
        flat("p", "Job"),
        &json!({"sytemPrompt": "typo", "whatever": {"deep": [1]}, "permissions": {"alow": ["Read"]}}),
    ));
    let plan = env.plan(&["p"]);
    has_warning(&plan, &["p.json:7:3: sytemPrompt: unknown field", "did you mean `systemPrompt`?"]);
    has_warning(&plan, &["whatever: unknown field"]);
    has_warning(&plan, &["permissions.alow: unknown field", "did you mean `allow`?"]);
    let spec = env.run(["show", "p", "--json"]).json()["spec"].clone();
    assert_eq!((&spec["sytemPrompt"], &spec["whatever"]), (&json!("typo"), &json!({"deep": [1]})));
    let lint = env.run(["lint", "p", "--json"]).json();
    assert_eq!((&lint["counts"]["errors"], &lint["counts"]["warnings"]), (&json!(0), &json!(3)));
    assert_eq!(env.run(["lint", "p", "--strict"]).code, 1);
    env.run(["agent", "p", "--dry-run", "--strict"]).fails(4, "sytemPrompt: unknown field");
}

#[test]
fn keys_for_editors_and_people_are_never_reported() {
    let env = TestEnv::new();
    env.user_persona(&with(
        flat("p", "Job"),
        &json!({"$schema": "./persona.schema.json", "$comment": "c", "x-mine": 1}),
    ));
    assert_eq!(warnings(&env.plan(&["p"])), Vec::<String>::new());
    assert_eq!(env.run(["lint", "p", "--json"]).json()["problems"], json!([]));
}

#[test]
fn keys_of_other_tools_are_accepted_and_said_once() {
    let env = TestEnv::new();
    env.user_persona(&with(flat("p", "Job"), &json!({
        "cloud": true, "useSubscription": true, "integrations": {"slack": {}}, "onEvent": "./a.ts", "memory": {"x": 1},
        "relay": [], "capabilities": {}, "sandbox": false, "deploy": {}, "schedules": [], "watch": [], "traits": {},
        "version": "1", "slug": "p"
    })));
    let plan = env.plan(&["p"]);
    let said: Vec<String> = warnings(&plan);
    assert_eq!(
        said,
        [
            "persona `p`: not used by this runner: cloud, useSubscription, integrations, onEvent, memory, relay, capabilities, \
          sandbox, deploy, schedules, watch, traits, version, slug"
        ]
    );
    let ran = env.run(["agent", "p", "--dry-run"]);
    assert_eq!(ran.stderr.matches("not used by this runner").count(), 1, "{ran:#?}");
    assert_eq!(env.run(["lint", "p", "--json"]).json()["counts"]["warnings"], 0);
}

#[test]
fn the_version_changes_with_the_persona_and_not_with_its_inputs_or_the_order_of_keys() {
    let env = TestEnv::new();
    let version = |args: &[&str]| env.plan(args)["persona"]["version"].as_str().unwrap().to_owned();
    env.user_persona(
        &json!({"id": "p", "intent": "p", "harness": "claude", "systemPrompt": "$A", "inputs": {"A": "1"}}),
    );
    let first = version(&["p"]);
    assert_eq!(version(&["p", "--input", "A=2"]), first);
    env.user_persona(
        &json!({"inputs": {"A": "1"}, "systemPrompt": "$A", "harness": "claude", "intent": "p", "id": "p"}),
    );
    assert_eq!(version(&["p"]), first);
    env.project_persona(&json!({"id": "p", "tags": ["x"]}));
    assert_ne!(version(&["p"]), first);
}
