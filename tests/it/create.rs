//! `create`: a new persona is valid at once, explains itself, and is never written over another.

use crate::support::{TestEnv, flat};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

fn made(env: &TestEnv, path: &str) -> Value {
    serde_json::from_str(&env.read(path)).expect("JSON")
}

/// What a persona may do in the end, without the comments.
fn permissions(env: &TestEnv, id: &str) -> Value {
    let mut permissions = env.run(["show", id, "--json"]).json()["spec"]["permissions"].clone();
    permissions.as_object_mut().expect("permissions").remove("$comment");
    permissions
}

#[test]
fn a_starter_is_clean_runs_and_explains_itself() {
    let env = TestEnv::new();
    env.run(["create", "api-checker"]).succeeds();
    let persona = made(&env, "project/.agentworkforce/workforce/personas/api-checker.json");
    assert!(persona["$comment"].as_str().unwrap().contains("agentworkforce lint api-checker"));
    assert!(persona["permissions"]["$comment"].is_string());
    env.run(["lint", "--strict"]).succeeds();
    for harness in ["claude", "opencode", "codex"] {
        let plan = env.plan(&["api-checker", "--harness", harness]);
        assert!(plan["systemPrompt"].as_str().unwrap().contains("Look first at: the whole project."));
    }
}

#[test]
fn a_persona_of_a_role_has_the_roles_charter_for_its_job() {
    let env = TestEnv::new();
    let args = [
        "create",
        "grace",
        "--role",
        "engineer",
        "--name",
        "Grace",
        "--emoji",
        "🗂",
        "--expertise",
        "sql, etl",
    ];
    env.run(args.into_iter().chain(["--to", "user"])).succeeds();
    let persona = made(&env, "home/.agentworkforce/workforce/personas/grace.json");
    assert_eq!((&persona["role"], &persona["expertise"]), (&json!("engineer"), &json!(["sql", "etl"])));
    env.run(["lint", "--strict"]).succeeds();
    assert!(env.prompt(&["grace"]).starts_with("# You are Grace (Engineer)"));
    env.run(["create", "x", "--role", "enginer"]).fails(2, "did you mean `engineer`?");
}

#[test]
fn what_is_created_for_a_role_can_do_the_roles_work() {
    let env = TestEnv::new();
    let permissions = |id: &str| permissions(&env, id);
    let rules = |id: &str| -> Vec<Value> {
        let plan = env.plan(&[id]);
        let rules = plan["mount"]["rules"].as_array().expect("rules").iter();
        rules.filter(|rule| rule["source"] == "persona").map(|rule| rule["pattern"].clone()).collect()
    };
    for (named, like) in [
        ("dallas", "engineer"),
        ("ralph", "engineer"),
        ("rebecca", "engineer"),
        ("lambert", "analyst"),
        ("ripley", "explorer"),
    ] {
        assert_eq!((permissions(named), rules(named)), (permissions(like), rules(like)), "{named}");
        assert!(!rules(like).is_empty(), "{like}");
    }
    for (role, like) in [
        ("engineer", "engineer"),
        ("architect", "engineer"),
        ("analyst", "analyst"),
        ("lead-explorer", "explorer"),
        ("operator", "ci-fixer"),
        ("reviewer", "code-reviewer"),
        ("tester", "test-writer"),
        ("writer", "docs-writer"),
    ] {
        let id = format!("new-{role}");
        env.run(["create", &id, "--role", role]).succeeds();
        assert_eq!((permissions(&id), rules(&id)), (permissions(like), rules(like)), "{role}");
    }
    // Of a role that nobody knows, and of none, it can work too.
    env.project_role("own", &json!({"label": "Own", "charter": "Do it."}));
    env.run(["create", "of-own", "--role", "own"]).succeeds();
    env.run(["create", "of-none"]).succeeds();
    for id in ["of-own", "of-none"] {
        assert_eq!(permissions(id)["mode"], "acceptEdits", "{id}");
        assert!(permissions(id)["allow"].as_array().unwrap().contains(&json!("Write")), "{id}");
    }
    env.run(["lint", "--strict"]).succeeds();
}

#[test]
fn an_overlay_says_only_what_differs() {
    let env = TestEnv::new();
    env.run(["create", "debugger", "--extends", "debugger", "--model", "opus"]).succeeds();
    env.run(["create", "my-reviewer", "--overlay", "code-reviewer", "--to", "user"]).succeeds();
    env.run(["lint", "--strict"]).succeeds();
    assert_eq!(env.plan(&["debugger"])["model"]["value"], "opus");
    assert_eq!(permissions(&env, "my-reviewer"), permissions(&env, "code-reviewer"));
    env.run(["create", "again", "--extends", "my-reviewer", "--to", "user"]).fails(2, "is in no layer below");
    env.run(["create", "again", "--extends", "my-reviewer", "--to", "project"]).succeeds();
    env.run(["lint", "--strict"]).succeeds();
}

#[test]
fn nothing_is_overwritten_or_hidden() {
    let env = TestEnv::new();
    env.run(["create", "mine"]).succeeds();
    env.write("project/.agentworkforce/workforce/personas/other.json", flat("taken", "x").to_string());
    let before = env.everything();
    env.run(["create", "mine"]).fails(2, "is already there and stays as it is");
    env.run(["create", "taken"]).fails(2, "other.json is already there");
    env.run(["create", "debugger"]).fails(2, "`--extends debugger` writes an overlay of it");
    env.run(["create", "mine", "--to", "user"]).fails(2, "there is a persona `mine` already (project)");
    env.run(["create", "free", "--dry-run"]).succeeds();
    assert_eq!(env.run(["create", "free", "--dry-run", "--json"]).json()["dryRun"], true);
    assert_eq!(env.everything(), before);
}

#[test]
fn ids_are_lower_case_slugs() {
    let env = TestEnv::new();
    for bad in ["API Checker", "../x", "é", "-a", "x.lock", ""] {
        let ran = env.run(["create", "--", bad]);
        assert_eq!(ran.code, 2, "{bad:?}: {ran:#?}");
    }
    env.run(["create", "API Checker"]).fails(2, "try `api-checker`");
    env.run(["create", "temp-x"]).fails(2, "temp-");
    env.run(["create", "x", "--harness", "cluade"]).fails(2, "claude");
    env.run(["create", "x", "--name", "a\nb"]).fails(2, "name");
}
