//! Plans of the built-in library: every persona, every tier, every harness.

use crate::support::TestEnv;
use serde_json::Value;

fn validator(env: &TestEnv, format: &str) -> jsonschema::Validator {
    jsonschema::validator_for(&env.run(["schema", format]).json()).expect("a schema")
}

fn builtin_ids(env: &TestEnv) -> Vec<String> {
    let list = env.run(["list", "--json"]).json();
    let rows = list["personas"].as_array().expect("rows").clone();
    rows.iter().map(|row| row["persona"].as_str().expect("an id").to_owned()).collect()
}

#[test]
fn every_builtin_at_every_tier_on_every_harness_is_a_reviewed_plan() {
    let env = TestEnv::new();
    let plan_schema = validator(&env, "plan");
    for id in builtin_ids(&env) {
        let mut text = String::new();
        for tier in ["best", "best-value", "minimum"] {
            for harness in ["claude", "opencode", "codex"] {
                let selector = format!("{id}@{tier}");
                let plan = env.plan(&[&selector, "--harness", harness, "-p", "the task"]);
                let errors: Vec<String> =
                    plan_schema.iter_errors(&plan).map(|error| error.to_string()).collect();
                assert!(errors.is_empty(), "{selector} on {harness}: {errors:#?}");
                let plan = serde_json::to_string_pretty(&shortened(plan)).expect("JSON");
                text.push_str(&format!("=== {selector} on {harness}\n{}\n\n", env.normal(&plan)));
            }
        }
        insta::with_settings!({snapshot_path => "../snapshots/plans", prepend_module_to_snapshot => false, omit_expression => true}, {
            insta::assert_snapshot!(id, text);
        });
    }
}

/// An argument for codex that depends on where the tests have their projects.
const ABOUT_TMP: &str = "sandbox_workspace_write.exclude_slash_tmp=true";

/// Texts that are reviewed where they are written are named by their length here, so that a snapshot shows the plan.
fn shortened(mut plan: Value) -> Value {
    let by_length = |value: &mut Value| {
        if let Some(text) = value.as_str() {
            *value = format!("<{} bytes>", text.len()).into();
        }
    };
    by_length(&mut plan["systemPrompt"]);
    if let Some(args) = plan.pointer_mut("/command/args").and_then(Value::as_array_mut)
        && let Some(at) = args.iter().position(|arg| arg == ABOUT_TMP)
    {
        args.drain(at - 1..=at);
    }
    if let Some(content) = plan.pointer_mut("/sidecar/content") {
        by_length(content);
    }
    for file in plan["files"].as_array_mut().expect("files") {
        // claude's settings name the directories above the project, which differ from machine to machine.
        if ["system prompt", "codex profile", "claude settings"]
            .contains(&file["purpose"].as_str().unwrap_or_default())
        {
            file["content"] = "<text>".into();
        }
    }
    let rules = plan["mount"]["rules"].as_array_mut().expect("rules");
    rules.retain(|rule| !rule["source"].as_str().unwrap_or_default().starts_with("builtin"));
    if let Some(object) = plan.as_object_mut() {
        object.shift_remove("origins");
    }
    plan["persona"]["version"] = "<version>".into();
    plan
}
