//! What a persona builds on: overlays, `extends`, chains and cycles.

use crate::support::{TestEnv, flat, runtime, with};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

#[test]
fn an_overlay_with_the_same_id_builds_on_the_layer_below_without_saying_so() {
    let env = TestEnv::new();
    env.user_persona(&with(flat("p", "low"), &json!({"tags": ["a"], "model": "opus"})));
    env.project_persona(&json!({"id": "p", "tags": ["b"]}));
    let plan = env.plan(&["p"]);
    assert_eq!((plan["systemPrompt"].as_str().unwrap(), runtime(&plan).as_str()), ("low", "claude/opus"));
    assert_eq!(env.row("p")["tags"], json!(["b"]));
}

#[test]
fn extends_names_another_persona_of_a_lower_layer() {
    let env = TestEnv::new();
    env.project_persona(&json!({"id": "mine", "extends": "engineer", "description": "mine"}));
    let (mine, theirs) = (env.plan(&["mine"]), env.plan(&["engineer"]));
    assert_eq!(mine["persona"]["id"], "mine");
    assert_eq!(
        mine["systemPrompt"].as_str().unwrap().replace("mine", "engineer"),
        theirs["systemPrompt"].as_str().unwrap()
    );
    assert_eq!(env.row("mine")["intent"], env.row("engineer")["intent"]);
    // In any case, and by intent.
    env.project_persona(&json!({"id": "mine", "extends": "ENGINEER"}));
    env.plan(&["mine"]);
    env.project_persona(&json!({"id": "mine", "extends": "implementation"}));
    assert_eq!(env.plan(&["mine"])["model"], theirs["model"]);
    env.user_persona(&with(flat("local", "local"), &json!({"intent": "local-intent"})));
    env.project_persona(&json!({"id": "mine", "extends": "local-intent"}));
    assert_eq!(env.prompt(&["mine"]), "local");
    assert_eq!(env.run(["show", "mine", "--json"]).json()["spec"].get("extends"), None);
}

#[test]
fn extends_of_the_own_id_means_the_same_id_one_layer_below() {
    let env = TestEnv::new();
    env.user_persona(&json!({"id": "engineer", "extends": "engineer", "description": "user"}));
    env.project_persona(&json!({"id": "engineer", "extends": "engineer", "tags": ["project"]}));
    let row = env.row("engineer");
    assert_eq!(
        (&row["description"], &row["tags"], &row["source"]),
        (&json!("user"), &json!(["project"]), &json!("cwd"))
    );
}

#[test]
fn a_chain_goes_through_three_layers() {
    let env = TestEnv::new();
    env.persona("base", &with(flat("base", "from base"), &json!({"tags": ["base"], "permissions": {"allow": ["Read"], "deny": ["A"]}, "mount": {"ignoredPatterns": ["a"]}})));
    env.config(&json!({"personaDirs": ["personas", env.root().join("base")]}));
    env.user_persona(&json!({"id": "middle", "extends": "base", "description": "middle", "permissions": {"allow": ["Read", "Grep"]}, "mount": {"ignoredPatterns": ["b", "a"]}}));
    env.project_persona(&json!({"id": "top", "extends": "middle", "model": "opus", "permissions": {"removeDeny": ["A"]}, "mount": {"ignoredPatterns": ["!a"]}}));
    let spec = env.run(["show", "top", "--json"]).json()["spec"].clone();
    assert_eq!(
        spec,
        json!({"id": "top", "intent": "base", "description": "middle", "harness": "claude", "systemPrompt": "from base",
               "tags": ["base"], "permissions": {"allow": ["Read", "Grep"], "deny": []},
               "mount": {"ignoredPatterns": ["a", "b", "a", "!a"]}, "model": "opus"})
    );
    let origins = env.run(["show", "top", "--origins", "--json"]).json();
    let layers = |list: &Value| {
        list.as_array().unwrap().iter().map(|s| s["layer"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(layers(&origins["chain"]), ["dir:2", "user", "cwd"]);
    let of = |key: &str| layers(&origins["origins"][key]);
    assert_eq!(of("systemPrompt"), ["dir:2"]);
    assert_eq!(of("description"), ["user"]);
    assert_eq!(of("model"), ["cwd"]);
    assert_eq!(of("permissions.allow"), ["dir:2", "user"]);
    assert_eq!(of("mount.ignoredPatterns"), ["dir:2", "user", "cwd"]);
    assert_eq!(origins["origins"].get("extends"), None);
}

#[test]
fn the_plan_names_the_file_that_set_each_field() {
    let env = TestEnv::new();
    let low = env.user_persona(&with(
        flat("p", "low"),
        &json!({"env": {"A": "1", "B": "2"}, "tiers": {"best": {"model": "m", "harness": "claude"}}}),
    ));
    let high = env.project_persona(
        &json!({"id": "p", "env": {"B": "3", "A": null}, "tiers": {"best": {"model": "n"}}}),
    );
    let origins = env.plan(&["p@best"])["origins"].clone();
    let files = |key: &str| {
        origins[key]
            .as_array()
            .unwrap()
            .iter()
            .map(|source| source["file"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let (low, high) = (low.display().to_string(), high.display().to_string());
    assert_eq!(files("systemPrompt"), [low.as_str()]);
    assert_eq!(files("env.B"), [high.as_str()]);
    assert_eq!(origins.get("env.A"), None, "it was taken out");
    assert_eq!(files("tiers.best.model"), [high.as_str()]);
    assert_eq!(files("tiers.best.harness"), [low.as_str()]);
    assert_eq!(files("id"), [high.as_str()]);
}

#[test]
fn an_ambiguous_intent_names_the_ids() {
    let env = TestEnv::new();
    env.user_persona(&with(flat("one", "x"), &json!({"intent": "shared"})));
    env.user_persona(&with(flat("two", "x"), &json!({"intent": "shared"})));
    env.project_persona(&json!({"id": "mine", "extends": "shared"}));
    let ran = env.run(["agent", "mine", "--dry-run"]);
    ran.fails(
        2,
        "mine.json:3:3: extends: extends `shared` is ambiguous in user: it is the intent of one, two",
    );
    // An id beats an intent of the same spelling.
    env.user_persona(&flat("shared", "the id"));
    assert_eq!(env.prompt(&["mine"]), "the id");
}

#[test]
fn an_unknown_base_is_an_error_with_the_layers_and_a_did_you_mean() {
    let env = TestEnv::new();
    env.project_persona(&json!({"id": "mine", "extends": "enginer"}));
    env.run(["agent", "mine", "--dry-run"])
        .fails(2, "mine.json:3:3: extends: extends `enginer` does not match any persona in lower layers (user, library)")
        .fails(2, "did you mean `engineer`?");
    assert_eq!(env.run(["lint"]).code, 1);
    env.plan(&["engineer"]);
}

#[test]
fn a_base_in_the_same_or_a_higher_layer_is_an_error_that_names_the_chain() {
    let env = TestEnv::new();
    env.user_persona(&flat("base", "x"));
    env.user_persona(&json!({"id": "mine", "extends": "base"}));
    env.run(["agent", "mine", "--dry-run"])
        .fails(2, "names a persona of its own layer (`user`): mine -> base");
    let env = TestEnv::new();
    env.project_persona(&flat("base", "x"));
    env.user_persona(&json!({"id": "mine", "extends": "base"}));
    env.run(["agent", "mine", "--dry-run"])
        .fails(2, "names a persona of a higher layer (`project`): mine -> base");
}

#[test]
fn a_cycle_is_an_error_that_names_the_chain() {
    let env = TestEnv::new();
    env.user_persona(&json!({"id": "a", "extends": "b"}));
    env.user_persona(&json!({"id": "b", "extends": "c"}));
    env.user_persona(&json!({"id": "c", "extends": "a"}));
    env.run(["agent", "a", "--dry-run"]).fails(2, "extends cycle: a -> b -> c -> a");
    // Across layers.
    let env = TestEnv::new();
    env.project_persona(&json!({"id": "a", "extends": "b"}));
    env.user_persona(&json!({"id": "b", "extends": "a"}));
    env.run(["agent", "a", "--dry-run"]).fails(2, "extends cycle: a -> b -> a");
    // Its own id means one layer below, where there is none.
    env.user_persona(&json!({"id": "alone", "extends": "alone"}));
    env.run(["agent", "alone", "--dry-run"])
        .fails(2, "extends `alone` does not match any persona in lower layers (library)");
    env.plan(&["engineer"]);
}

#[test]
fn a_file_with_an_intent_and_no_extends_stands_alone_whatever_is_below() {
    let env = TestEnv::new();
    env.project_persona(
        &json!({"id": "engineer", "intent": "mine", "harness": "codex", "systemPrompt": "only this"}),
    );
    let spec = env.run(["show", "engineer", "--json"]).json()["spec"].clone();
    assert_eq!(
        spec,
        json!({"id": "engineer", "intent": "mine", "harness": "codex", "systemPrompt": "only this"})
    );
    assert_eq!(env.prompt(&["engineer"]), "only this");
    assert_eq!(env.plan(&["engineer"])["sidecar"], json!(null));
}

#[test]
fn extends_together_with_an_intent_sets_the_intent_and_lint_notes_it() {
    let env = TestEnv::new();
    env.project_persona(&json!({"id": "mine", "extends": "engineer", "intent": "other"}));
    assert_eq!(env.row("mine")["intent"], "other");
    let lint = env.run(["lint", "mine", "--json"]).json();
    let notes: Vec<&Value> =
        lint["problems"].as_array().unwrap().iter().filter(|p| p["key"] == "intent").collect();
    assert_eq!((notes.len(), &notes[0]["severity"], &notes[0]["line"]), (1, &json!("note"), &json!(4)));
    assert_eq!(lint["counts"]["errors"], 0);
}

#[test]
fn an_intent_finds_a_persona_of_the_library_only() {
    let env = TestEnv::new();
    assert_eq!(env.plan(&["implementation"])["persona"]["id"], "engineer");
    env.user_persona(&with(flat("local", "x"), &json!({"intent": "local-intent"})));
    env.run(["show", "local-intent"]).fails(2, "there is no persona `local-intent`");
    // An id beats an intent.
    env.user_persona(&flat("implementation", "the id"));
    assert_eq!(env.prompt(&["implementation"]), "the id");
}
