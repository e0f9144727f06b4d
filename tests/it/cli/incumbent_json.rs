//! The JSON that scripts of the npm tool read: its keys are all there, ours are added.

use crate::support::{TestEnv, flat, with};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

#[test]
fn list_keeps_the_keys_of_the_incumbent_and_adds_ours() {
    let env = TestEnv::new();
    env.user_persona(&with(flat("p", "x"), &json!({"model": "opus", "tags": ["a"]})));
    let row = env.row("p");
    let theirs = json!({"persona": "p", "source": "user", "harness": "claude", "model": "opus", "intent": "p", "tags": ["a"], "description": "p for tests", "rating": "best-value"});
    for (key, value) in theirs.as_object().unwrap() {
        assert_eq!(&row[key], value, "{key}");
    }
    let keys: Vec<&str> = row.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        keys[..8],
        ["persona", "source", "harness", "model", "intent", "tags", "description", "rating"]
    );
    assert_eq!(keys[8..], ["name", "emoji", "role", "expertise", "file", "runnable", "reason"]);
    let list = env.run(["list", "--all", "--json"]).json();
    let rows = list["personas"].as_array().unwrap();
    let ids: Vec<&str> = rows.iter().map(|row| row["persona"].as_str().unwrap()).collect();
    assert!(ids.is_sorted(), "{ids:?}");
    let tiers: Vec<&Value> =
        rows.iter().filter(|row| row["persona"] == "engineer").map(|row| &row["rating"]).collect();
    assert_eq!(tiers, ["best", "best-value", "minimum"]);
    assert!(rows.iter().all(|row| row["expertise"].is_array()));
}

#[test]
fn show_keeps_the_keys_of_the_incumbent_and_adds_ours() {
    let env = TestEnv::new();
    let shown = env.run(["show", "engineer", "--json"]).json();
    assert_eq!((&shown["source"], &shown["spec"]["id"]), (&json!("library"), &json!("engineer")));
    assert_eq!(
        shown["spec"]["tiers"].as_object().unwrap().keys().collect::<Vec<_>>(),
        ["best-value"],
        "limited to those shown"
    );
    assert_eq!(
        env.run(["show", "engineer@best", "--json"]).json()["spec"]["tiers"]
            .as_object()
            .unwrap()
            .keys()
            .collect::<Vec<_>>(),
        ["best"]
    );
    assert_eq!(
        env.run(["show", "engineer", "--all", "--json"]).json()["spec"]["tiers"].as_object().unwrap().len(),
        3
    );
    env.run(["show", "engineer@best", "--all"]).fails(2, "`--all`");
    for key in ["name", "expertise", "role", "tier", "tiers", "harness", "version", "runnable"] {
        assert!(!shown[key].is_null(), "{key}");
    }
}

#[test]
fn sources_list_keeps_the_keys_of_the_incumbent() {
    let env = TestEnv::new();
    env.project_persona(&flat("p", "x"));
    env.config(&json!({"personaDirs": ["packs", "personas"], "defaultCreateTarget": "user"}));
    let list = env.run(["sources", "list", "--json"]).json();
    let home = env.workforce();
    let text = |path: std::path::PathBuf| path.display().to_string();
    assert_eq!(
        list,
        json!({
            "schemaVersion": 2, "warnings": [], "configPath": text(home.join("config.json")), "defaultCreateTarget": "user",
            "personaDirs": [text(home.join("packs")), text(home.join("personas"))],
            "sources": [
                {"cascade": "1", "config": "", "source": "cwd", "exists": "yes", "dir": text(env.project().join(".agentworkforce/workforce/personas"))},
                {"cascade": "2", "config": "1", "source": "dir:1", "exists": "no", "dir": text(home.join("packs"))},
                {"cascade": "3", "config": "2", "source": "user", "exists": "no", "dir": text(home.join("personas"))},
                {"cascade": "4", "config": "", "source": "library", "exists": "yes", "dir": "(built-in)"},
            ]
        })
    );
    let human = env.run(["sources", "list"]).succeeds().stdout.clone();
    assert!(
        human.starts_with(&format!(
            "Config: {}\nDefault create target: user\n",
            text(home.join("config.json"))
        )),
        "{human}"
    );
    assert!(human.contains("CASCADE  CONFIG  SOURCE   EXISTS  DIR"), "{human}");
}
