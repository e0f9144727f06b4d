//! Settings are taken back: with an empty text on the command line, with `null` in a file.

use super::{USER_PERSONAS, crew, json_of};
use crate::support::{TestEnv, flat, runtime, with};
use pretty_assertions::assert_eq;
use serde_json::json;

#[test]
fn the_built_in_roles_leave_the_harness_to_the_config() {
    let env = TestEnv::new();
    env.config(&json!({"defaultHarness": "codex"}));
    for id in ["ripley", "dallas", "lambert", "rebecca", "ralph"] {
        assert_eq!(runtime(&env.plan(&[id])), "codex/-", "{id}");
    }
    let roles = env.run(["role", "list", "--json"]).json();
    assert!(
        roles["roles"].as_object().unwrap().values().all(|role| role["defaultHarness"].is_null()),
        "{roles:#}"
    );
}

#[test]
fn an_empty_text_takes_back_what_a_lower_layer_says() {
    let env = TestEnv::new();
    env.run(["persona", "set", "engineer", "--tier", "best", "--model", ""]).succeeds();
    assert_eq!(
        json_of(&env, &format!("{USER_PERSONAS}/engineer.json")),
        json!({"id": "engineer", "tiers": {"best": {"model": null}}})
    );
    assert_eq!(runtime(&env.plan(&["engineer@best"])), "claude/-");
    assert_eq!(runtime(&env.plan(&["engineer@minimum"])), "claude/haiku");
    // For all tiers.
    env.config(&json!({"defaultHarness": "codex"}));
    env.run(["persona", "set", "engineer", "--harness", "", "--model", ""]).succeeds();
    assert_eq!(
        json_of(&env, &format!("{USER_PERSONAS}/engineer.json")),
        json!({"id": "engineer", "tiers": {"best": {}}, "harness": null, "model": null})
    );
    for tier in ["best", "best-value", "minimum"] {
        assert_eq!(runtime(&env.plan(&[&format!("engineer@{tier}")])), "codex/-", "{tier}");
    }
    // It goes from the tiers of the own file, too.
    env.user_persona(&with(flat("p", "x"), &json!({"tiers": {"best": {"model": "opus"}}})));
    env.run(["persona", "set", "p", "--model", "haiku"]).succeeds();
    env.run(["persona", "set", "p", "--model", ""]).succeeds();
    assert_eq!(runtime(&env.plan(&["p@best"])), "claude/-");
    assert_eq!(json_of(&env, &format!("{USER_PERSONAS}/p.json")).get("model"), None);
}

#[test]
fn null_removes_an_inherited_sidecar_with_its_mode() {
    let env = TestEnv::new();
    assert!(env.plan(&["engineer"])["sidecar"].is_object());
    env.user_persona(&json!({"id": "engineer", "claudeMd": null, "agentsMd": null, "description": null}));
    let spec = env.run(["show", "engineer", "--json"]).json()["spec"].clone();
    for key in
        ["claudeMd", "claudeMdContent", "claudeMdMode", "agentsMdContent", "agentsMdMode", "description"]
    {
        assert_eq!(spec.get(key), None, "{key} in {spec:#}");
    }
    assert_eq!(env.plan(&["engineer"])["sidecar"], json!(null));
    assert_eq!(env.run(["lint", "engineer"]).code, 0);
    // What protects is not taken back by a null.
    env.user_persona(&json!({"id": "engineer", "permissions": {"deny": null, "mode": null}, "mount": {"readonlyPatterns": null}}));
    let plain = TestEnv::new().run(["show", "engineer", "--json"]).json()["spec"].clone();
    let spec = env.run(["show", "engineer", "--json"]).json()["spec"].clone();
    assert_eq!((&spec["permissions"], &spec["mount"]), (&plain["permissions"], &plain["mount"]));
}

#[test]
fn a_role_gives_back_what_it_inherits_and_says_when_there_is_nothing_to_change() {
    let env = crew();
    let user = "home/.agentworkforce/workforce/roles";
    let same = env.run(["role", "set", "engineer", "--harness", ""]);
    assert_eq!(same.succeeds().stdout, "no change: role engineer already has these settings\n");
    assert!(!env.root().join(user).join("engineer.json").exists());
    env.user_role(
        "crew",
        &json!({"label": "Crew", "charter": "C", "defaultHarness": "codex", "defaultModel": "gpt"}),
    );
    env.project_role("crew", &json!({"label": "Project Crew"}));
    let done = env.run(["role", "set", "crew", "--harness", "", "--model", "", "--json"]).json();
    assert_eq!(done["changed"], true);
    assert_eq!(
        json_of(&env, "project/.agentworkforce/workforce/roles/crew.json"),
        json!({"label": "Project Crew", "defaultHarness": null, "defaultModel": null})
    );
    let role = env.run(["role", "show", "crew", "--json"]).json();
    assert_eq!(
        (&role["defaultHarness"], &role["defaultModel"], &role["charter"]),
        (&json!(null), &json!(null), &json!("C"))
    );
}

#[test]
fn budget_bare_mode_and_hermetic_are_set_and_cleared() {
    let env = TestEnv::new();
    env.user_persona(&flat("p", "x"));
    env.run(["persona", "set", "p", "--max-usd", "2.5", "--bare-mode", "true", "--hermetic", "false"])
        .succeeds();
    let file = || json_of(&env, &format!("{USER_PERSONAS}/p.json"));
    assert_eq!(
        (&file()["limits"], &file()["bareMode"], &file()["hermetic"]),
        (&json!({"usd": 2.5}), &json!(true), &json!(false))
    );
    assert_eq!(env.plan(&["p"])["limits"]["usd"], 2.5);
    // In an overlay an inherited budget is taken back.
    env.run(["persona", "set", "p", "--max-usd", "", "--in", "project"]).succeeds();
    assert_eq!(
        json_of(&env, "project/.agentworkforce/workforce/personas/p.json"),
        json!({"id": "p", "limits": {"usd": null}})
    );
    assert_eq!(env.plan(&["p"])["limits"].get("usd"), None);
    for (flag, value, says) in [
        ("--max-usd", "-1", "`limits.usd` must be a number of at least 0"),
        ("--max-usd", "much", "is not a number"),
        ("--bare-mode", "yes", "`--bare-mode yes` is neither true nor false"),
    ] {
        env.run(["persona", "set", "p", &format!("{flag}={value}")]).fails(2, says);
    }
}
