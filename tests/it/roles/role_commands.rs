//! `role ...`: what it prints, what it writes, what it refuses.

use super::{USER_PERSONAS, crew, json_of};
use crate::support::{TestEnv, runtime};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

#[test]
fn role_list_has_the_keys_of_the_spec() {
    let env = crew();
    let list = env.run(["role", "list", "--json"]).json();
    assert_eq!(list["schemaVersion"], 2);
    assert_eq!(
        list["roles"]["crew"],
        json!({"label": "Crew", "charter": "Keep the ship flying.\n", "defaultHarness": null, "defaultModel": null,
               "builtin": false, "origin": "user", "agentIds": ["kane", "parker"]})
    );
    for key in ["lead-explorer", "engineer", "analyst", "architect"] {
        assert_eq!(
            (&list["roles"][key]["builtin"], &list["roles"][key]["origin"]),
            (&json!(true), &json!("library"))
        );
    }
    assert_eq!(list["roles"]["lead-explorer"]["agentIds"][0].as_str().is_some(), true);
    let human = env.run(["role", "list"]).succeeds().stdout.clone();
    assert!(human.contains("crew  Crew") && human.contains("    kane  Kane  eggs, maps\n"), "{human}");
}

#[test]
fn role_show_gives_the_charter_and_where_it_came_from() {
    let env = crew();
    let shown = env.run(["role", "show", "crew", "--json"]).json();
    let file = env.workforce().join("roles/crew.json").display().to_string();
    assert_eq!(
        (&shown["charter"], &shown["charterOrigin"]),
        (&json!("Keep the ship flying.\n"), &json!(file))
    );
    let human = env.run(["role", "show", "crew"]).succeeds().stdout.clone();
    assert!(human.contains(&file) && human.ends_with("Keep the ship flying.\n"), "{human}");
    assert_eq!(env.run(["role", "show", "engineer", "--json"]).json()["charterOrigin"], "built-in library");
    env.run(["role", "show", "enginer"]).fails(2, "did you mean `engineer`?");
}

#[test]
fn role_create_writes_a_role_from_a_file_or_from_standard_input() {
    let env = TestEnv::new();
    env.run_with_input(["role", "create", "pilot", "--label", " Pilot "], "Fly.\n").succeeds();
    assert_eq!(
        json_of(&env, "project/.agentworkforce/workforce/roles/pilot.json"),
        json!({"label": "Pilot", "charter": "Fly.\n"})
    );
    let file = env.write("project/charter.md", "Cook.\n");
    env.run([
        "role",
        "create",
        "cook",
        "--label",
        "Cook",
        "--charter-file",
        file.to_str().unwrap(),
        "--harness",
        "codex",
        "--model",
        "gpt",
        "--in",
        "project",
    ])
    .succeeds();
    assert_eq!(
        json_of(&env, "project/.agentworkforce/workforce/roles/cook.json"),
        json!({"label": "Cook", "charter": "Cook.\n", "defaultHarness": "codex", "defaultModel": "gpt"})
    );
    assert_eq!(env.run(["role", "show", "cook", "--json"]).json()["origin"], "cwd");
}

#[test]
fn role_create_refuses_what_exists_and_what_is_not_a_role() {
    let env = crew();
    let before = env.everything();
    for key in ["crew", "engineer"] {
        env.run_with_input(["role", "create", key, "--label", "X"], "x")
            .fails(2, &format!("there is a role `{key}` already"));
    }
    for key in ["Upper", "a b", "../x", "-x", "a/b", "", "a.b"] {
        env.run_with_input(["role", "create", "--label", "X", "--", key], "x").fails(2, "");
    }
    env.run_with_input(["role", "create", "empty", "--label", "X"], " \n").fails(2, "the charter is empty");
    env.run_with_input(["role", "create", "label", "--label", " "], "x")
        .fails(2, "the label must not be blank");
    env.run_with_input(["role", "create", "harness", "--label", "X", "--harness", "vim"], "x")
        .fails(2, "`vim` is not a harness");
    env.run(["role", "create", "file", "--label", "X", "--charter-file", "/nonexistent"])
        .fails(2, "/nonexistent");
    assert_eq!(env.everything(), before);
}

#[test]
fn role_set_of_a_builtin_writes_an_overlay_with_only_what_was_said() {
    let env = TestEnv::new();
    env.run(["role", "set", "engineer", "--harness", "codex"]).succeeds();
    assert_eq!(
        json_of(&env, "home/.agentworkforce/workforce/roles/engineer.json"),
        json!({"defaultHarness": "codex"})
    );
    assert_eq!(runtime(&env.plan(&["dallas"])), "codex/-");
    env.run(["role", "set", "engineer", "--harness", ""]).succeeds();
    assert_eq!(json_of(&env, "home/.agentworkforce/workforce/roles/engineer.json"), json!({}));
    env.run(["role", "set", "analyst", "--label", "Quant", "--in", "project"]).succeeds();
    assert_eq!(
        json_of(&env, "project/.agentworkforce/workforce/roles/analyst.json"),
        json!({"label": "Quant"})
    );
    env.run(["role", "set", "engineer"]).fails(2, "nothing to set");
    env.run(["role", "set", "nobody", "--label", "X"]).fails(2, "there is no role `nobody`");
}

#[test]
fn role_set_writes_to_the_layer_that_is_named() {
    let env = TestEnv::new();
    let (user, project) = ("home/.agentworkforce/workforce", "project/.agentworkforce/workforce");
    env.run(["role", "set", "engineer", "--harness", "codex"]).succeeds();
    env.run(["role", "set", "engineer", "--harness", "opencode", "--in", "project"]).succeeds();
    let of = |dir: &str| json_of(&env, &format!("{dir}/roles/engineer.json"));
    assert_eq!(of(user), json!({"defaultHarness": "codex"}));
    assert_eq!(of(project), json!({"defaultHarness": "opencode"}));
    // A higher layer is nothing that the user's own file inherits.
    env.run(["role", "set", "engineer", "--harness", "", "--in", "user"]).succeeds();
    assert_eq!(of(user), json!({}));
    env.run(["role", "set", "engineer", "--model", "opus"]).succeeds();
    assert_eq!(of(project), json!({"defaultHarness": "opencode", "defaultModel": "opus"}));
}

#[test]
fn role_set_with_a_charter_replaces_a_charter_file() {
    let env = crew();
    let file = env.user_role("crew", &json!({"label": "Crew", "charterFile": "c.md"}));
    env.run_with_input(["role", "set", "crew", "--charter-file", "-"], "New.\n").succeeds();
    assert_eq!(json_of(&env, file.to_str().unwrap()), json!({"label": "Crew", "charter": "New.\n"}));
}

#[test]
fn role_delete_refuses_a_role_in_use_unless_its_personas_get_another() {
    let env = crew();
    let before = env.everything();
    env.run(["role", "delete", "crew"]).fails(2, "is in use by kane, parker").fails(2, "--reassign-to");
    env.run(["role", "delete", "crew", "--reassign-to", "nobody"]).fails(2, "there is no role `nobody`");
    env.run(["role", "delete", "crew", "--reassign-to", "crew"]).fails(2, "crew");
    env.run(["role", "delete", "nobody"]).fails(2, "there is no role `nobody`");
    assert_eq!(env.everything(), before);
    // A file of another layer that says so counts as well, in the legacy spelling too.
    env.project_persona(&json!({"id": "dallas", "role": "Crew"}));
    let done = env.run(["role", "delete", "crew", "--reassign-to", "other", "--json"]).json();
    assert_eq!(
        (&done["reassigned"], &done["reassignedTo"]),
        (&json!(["dallas", "kane", "parker"]), &json!("other"))
    );
    for id in ["kane", "parker", "dallas"] {
        assert_eq!(env.row(id)["role"], "other", "{id}");
    }
    assert!(!env.workforce().join("roles/crew.json").exists());
    let kept = std::path::PathBuf::from(done["backup"].as_str().unwrap()).join("crew.json");
    assert_eq!(serde_json::from_slice::<Value>(&std::fs::read(kept).unwrap()).unwrap()["label"], "Crew");
    env.run(["role", "show", "crew"]).fails(2, "there is no role `crew`");
}

#[test]
fn role_delete_leaves_a_persona_file_that_cannot_be_read_as_it_is() {
    let env = crew();
    let broken =
        env.write(format!("{USER_PERSONAS}/parker.json"), "{\"id\": \"parker\", \"role\": \"crew\",");
    env.run(["role", "delete", "crew", "--reassign-to", "other"]).succeeds();
    assert_eq!(env.row("kane")["role"], "other");
    assert_eq!(std::fs::read_to_string(broken).unwrap(), "{\"id\": \"parker\", \"role\": \"crew\",");
}

#[test]
fn role_reset_takes_an_overlay_away_and_keeps_a_copy() {
    let env = crew();
    env.run(["role", "set", "engineer", "--label", "Mine"]).succeeds();
    let done = env.run(["role", "reset", "engineer", "--json"]).json();
    assert_eq!(env.run(["role", "show", "engineer", "--json"]).json()["label"], "Engineer");
    assert!(std::path::Path::new(done["backup"].as_str().unwrap()).join("engineer.json").is_file());
    assert_eq!(env.run(["role", "reset", "engineer", "--json"]).json()["removed"], json!([]));
    env.run(["role", "reset", "crew"]).fails(2, "is not built in").fails(2, "role delete crew");
    env.run(["role", "reset", "--yes"]).fails(2, "role `crew` is in use by kane, parker");
    env.run(["persona", "reset", "--yes"]).succeeds();
    env.run(["role", "reset"]).fails(2, "--yes");
    assert_eq!(env.run(["role", "show", "crew", "--json"]).json()["label"], "Crew");
    env.run(["role", "reset", "--yes"]).succeeds();
    env.run(["role", "show", "crew"]).fails(2, "there is no role `crew`");
}
