//! The eight laws of roles and names, each with the tests that hold it.

use super::{NAMES, USER_PERSONAS, crew, json_of, keys};
use crate::support::{TestEnv, flat, with};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

#[test]
fn must_hold_1_editing_a_charter_changes_the_prompt_of_every_persona_bound_to_it_and_of_no_other() {
    let env = crew();
    let before =
        [env.prompt(&["kane"]), env.prompt(&["parker"]), env.prompt(&["ash"]), env.prompt(&["engineer"])];
    assert!(before[0].contains("Keep the ship flying."));
    env.run_with_input(["role", "set", "crew", "--charter-file", "-"], "Bring the ship home.\n").succeeds();
    let after =
        [env.prompt(&["kane"]), env.prompt(&["parker"]), env.prompt(&["ash"]), env.prompt(&["engineer"])];
    let changed = |text: &String| text.replace("Keep the ship flying.", "Bring the ship home.");
    assert_eq!(after[0], changed(&before[0]));
    assert_eq!(after[1], changed(&before[1]));
    assert_eq!(after[2..], before[2..]);
    assert_ne!(after[0], before[0]);
}

#[test]
fn must_hold_1_also_for_a_builtin_role_through_an_overlay() {
    let env = TestEnv::new();
    let others = ["ripley", "code-reviewer"].map(|id| env.prompt(&[id]));
    env.run_with_input(["role", "set", "engineer", "--charter-file", "-"], "One new line.\n").succeeds();
    for id in ["engineer", "dallas", "ralph"] {
        assert!(env.prompt(&[id]).contains("## Your Charter\nOne new line.\n"), "{id}");
    }
    assert_eq!(["ripley", "code-reviewer"].map(|id| env.prompt(&[id])), others);
}

#[test]
fn must_hold_2_two_personas_of_one_role_share_the_charter_and_have_their_own_expertise() {
    let env = crew();
    assert_eq!(
        env.prompt(&["kane"]),
        "# You are Kane (Crew)\n\n- Agent ID: kane\n- Role: Crew\n- Expertise: eggs, maps\n\n\
         ## Your Charter\nKeep the ship flying.\n"
    );
    assert_eq!(
        env.prompt(&["parker"]),
        "# You are Parker (Crew)\n\n- Agent ID: parker\n- Role: Crew\n- Expertise: engines\n\n\
         ## Your Charter\nKeep the ship flying.\n"
    );
}

#[test]
fn must_hold_2_also_for_the_named_builtins() {
    let env = TestEnv::new();
    let charter =
        |id: &str| env.prompt(&[id]).split_once("## Your Charter\n").expect("a charter").1.to_owned();
    assert_eq!(charter("dallas"), charter("ralph"));
    assert!(env.prompt(&["dallas"]).contains("- Expertise: implementation, typescript, docker, testing\n"));
    assert!(
        env.prompt(&["ralph"]).contains("- Expertise: implementation, bug-fixes, testing, scaffolding\n")
    );
}

#[test]
fn must_hold_3_after_a_rename_the_prompt_has_the_new_name_and_the_old_one_nowhere() {
    let env = crew();
    env.run(["persona", "rename", "kane", "Brett"]).succeeds();
    let prompt = env.prompt(&["kane"]);
    assert!(prompt.starts_with("# You are Brett (Crew)\n"), "{prompt}");
    assert!(!prompt.contains("Kane"), "{prompt}");
    for id in ["ripley", "dallas", "lambert", "rebecca", "ralph"] {
        let old = env.row(id)["name"].as_str().expect("a name").to_owned();
        env.run(["persona", "rename", id, "Nobody Else"]).succeeds();
        let plan = env.plan(&[id]);
        let everything = [&plan["systemPrompt"], &plan["files"], &plan["command"], &plan["sidecar"]];
        for part in everything {
            assert!(!part.to_string().contains(&old), "{id}: {old} is still in {part}");
        }
        assert!(env.prompt(&[id]).starts_with("# You are Nobody Else ("));
    }
}

#[test]
fn must_hold_4_a_name_different_from_the_id_round_trips_everywhere() {
    let env = TestEnv::new();
    let name = "Dr. Zoë O'Brien 3rd";
    env.user_persona(&with(flat("zoe", "Job.\n"), &json!({"name": name})));
    assert_eq!(env.row("zoe")["name"], name);
    assert_eq!(env.run(["show", "zoe", "--json"]).json()["name"], name);
    assert_eq!(env.run(["show", "zoe", "--json"]).json()["spec"]["name"], name);
    let plan = env.plan(&["zoe"]);
    assert_eq!((&plan["persona"]["id"], &plan["persona"]["name"]), (&json!("zoe"), &json!(name)));
    assert!(
        plan["systemPrompt"].as_str().unwrap().starts_with(&format!("# You are {name}\n\n- Agent ID: zoe\n"))
    );
    assert_eq!(plan["command"]["env"]["AGENTWORKFORCE_PERSONA"], "zoe");
    for human in [vec!["list"], vec!["show", "zoe"], vec!["agent", "zoe", "--dry-run"]] {
        assert!(env.run(&human).succeeds().stdout.contains(name), "{human:?}");
    }
    assert_eq!(env.run(["show", name, "--json"]).json()["spec"]["id"], "zoe");
}

#[test]
fn must_hold_4_lookups_by_id_are_case_insensitive() {
    let env = crew();
    for spelling in ["kane", "KANE", "Kane", "kAnE"] {
        assert_eq!(env.plan(&[&format!("{spelling}@best")])["persona"]["id"], "kane");
        assert_eq!(env.run(["show", spelling, "--json"]).json()["spec"]["id"], "kane");
    }
    env.run(["persona", "set", "KANE", "--expertise", "doors"]).succeeds();
    assert_eq!(env.row("kane")["expertise"], json!(["doors"]));
    env.run(["persona", "rename", "ENGINEER", "Newt"]).succeeds();
    assert_eq!(
        json_of(&env, &format!("{USER_PERSONAS}/engineer.json")),
        json!({"id": "engineer", "name": "Newt"})
    );
}

#[test]
fn must_hold_4_two_ids_that_differ_only_in_case_in_one_layer_are_an_error() {
    let env = TestEnv::new();
    env.user_persona(&flat("twin", "lower"));
    env.user_persona(&flat("Twin", "upper"));
    env.user_persona(&flat("single", "fine"));
    for spelling in ["twin", "Twin", "TWIN"] {
        let ran = env.run(["agent", spelling, "--dry-run"]);
        ran.fails(2, "is ambiguous").fails(2, "the ids `Twin` and `twin` differ only in case in one layer");
        ran.fails(2, "Twin.json").fails(2, "twin.json");
    }
    let lint = env.run(["lint", "--json"]);
    assert_eq!(lint.code, 1, "{lint:#?}");
    assert_eq!(lint.stdout.matches("differ only in case").count(), 2, "{lint:#?}");
    assert_eq!(env.prompt(&["single"]), "fine");
    let all = env.run(["list", "--json"]).json();
    assert!(!all["personas"].to_string().to_lowercase().contains("\"twin\""), "{all:#}");
    // In two layers they are one persona.
    let env = TestEnv::new();
    env.user_persona(&flat("twin", "low"));
    env.project_persona(&json!({"id": "Twin", "description": "high"}));
    assert_eq!(env.prompt(&["TWIN"]), "low");
}

#[test]
fn must_hold_5_builtins_cannot_be_deleted_by_any_path() {
    let env = TestEnv::new();
    for id in ["engineer", "ENGINEER", "ripley", "implementation"] {
        env.run(["persona", "delete", id]).fails(2, "cannot be deleted");
    }
    env.run(["role", "delete", "engineer"]).fails(2, "is built in and cannot be deleted");
    env.run(["role", "delete", "engineer", "--reassign-to", "architect"])
        .fails(2, "is built in and cannot be deleted");
    // With an overlay, and with a file of the same id that stands alone.
    env.run(["persona", "rename", "ripley", "Newt"]).succeeds();
    env.user_persona(&flat("dallas", "mine"));
    env.run(["persona", "delete", "ripley"]).fails(2, "persona reset ripley");
    env.run(["persona", "delete", "Dallas"]).fails(2, "cannot be deleted");
    env.run(["persona", "reset", "--yes"]).succeeds();
    env.run(["role", "reset", "--yes"]).succeeds();
    for id in ["engineer", "ripley", "dallas"] {
        assert_eq!(env.row(id)["source"], "library", "{id}");
    }
    assert_eq!(env.row("ripley")["name"], "Ripley");
    assert_eq!(env.run(["role", "show", "engineer", "--json"]).json()["builtin"], true);
}

#[test]
fn must_hold_5_builtin_cannot_be_cleared_by_a_write() {
    let env = TestEnv::new();
    env.user_role("engineer", &json!({"builtin": false, "label": "My Engineer"}));
    env.user_role("mine", &json!({"builtin": true, "label": "Mine", "charter": "x"}));
    env.user_persona(&json!({"id": "ripley", "builtin": false}));
    let roles = env.run(["role", "list", "--json"]).json()["roles"].clone();
    assert_eq!(
        (&roles["engineer"]["builtin"], &roles["engineer"]["label"]),
        (&json!(true), &json!("My Engineer"))
    );
    assert_eq!(roles["mine"]["builtin"], false);
    env.run(["role", "delete", "engineer"]).fails(2, "is built in");
    env.run(["persona", "delete", "ripley"]).fails(2, "is built in");
    env.run(["role", "delete", "mine"]).succeeds();
}

#[test]
fn must_hold_6_unknown_keys_and_their_order_survive_rename_and_set() {
    let env = TestEnv::new();
    let path = env.write(
        format!("{USER_PERSONAS}/odd.json"),
        r#"{"zeta": {"b": [1, {"deep": null}], "a": -0.5}, "id": "odd", "$schema": "./s.json", "harness": "claude",
            "x-note": "héllo\u0000", "systemPrompt": "Job", "name": "Old", "alpha": true,
            "tiers": {"best": {"model": "opus", "futureKey": [1]}}, "Name": "decoy"}"#,
    );
    let original = json_of(&env, path.to_str().unwrap());
    env.run(["persona", "rename", "odd", "New", "--emoji", "🦎"]).succeeds();
    env.run(["persona", "set", "odd", "--expertise", "a, b", "--role", "engineer", "--tags", "x"]).succeeds();
    env.run(["persona", "set", "odd", "--tier", "best", "--model", "haiku"]).succeeds();
    let mut wanted = original.clone();
    wanted["name"] = json!("New");
    wanted["emoji"] = json!("🦎");
    wanted["role"] = json!("engineer");
    wanted["expertise"] = json!(["a", "b"]);
    wanted["tags"] = json!(["x"]);
    wanted["tiers"]["best"]["model"] = json!("haiku");
    let found = json_of(&env, path.to_str().unwrap());
    assert_eq!(found, wanted);
    assert_eq!(keys(&found), keys(&wanted));
    assert_eq!(keys(&found["tiers"]["best"]), ["model", "futureKey"]);
    assert_eq!(keys(&found["zeta"]), ["b", "a"]);
    // A key that is taken out leaves the others in their order.
    env.run(["persona", "set", "odd", "--harness", ""]).succeeds();
    wanted.as_object_mut().unwrap().shift_remove("harness");
    let found = json_of(&env, path.to_str().unwrap());
    assert_eq!((keys(&found), &found), (keys(&wanted), &wanted));
}

#[test]
fn must_hold_6_also_for_roles_and_for_reassignment() {
    let env = TestEnv::new();
    let role = env.user_role(
        "crew",
        &json!({"later": 1, "label": "Crew", "charterFile": "crew.md", "first": {"k": []}}),
    );
    env.write(role.with_extension("md"), "From a file.\n");
    let persona = env.user_persona(&json!({"what": {"is": "this"}, "role": "crew", "id": "kane", "more": 2}));
    env.run(["role", "set", "crew", "--label", "The Crew", "--harness", "codex"]).succeeds();
    let found = json_of(&env, role.to_str().unwrap());
    assert_eq!(keys(&found), ["later", "label", "charterFile", "first", "defaultHarness"]);
    assert_eq!((&found["label"], &found["first"]), (&json!("The Crew"), &json!({"k": []})));
    env.run(["role", "delete", "crew", "--reassign-to", "engineer"]).succeeds();
    let found = json_of(&env, persona.to_str().unwrap());
    assert_eq!(found, json!({"what": {"is": "this"}, "role": "engineer", "id": "kane", "more": 2}));
    assert_eq!(keys(&found), ["what", "role", "id", "more"]);
}

#[test]
fn must_hold_7_with_the_flags_off_a_legacy_prompt_equals_its_golden_byte_for_byte() {
    let mut env = TestEnv::new();
    env.set_var("AGENTWORKFORCE_FEATURE_AGENT_LIBRARY", "0");
    env.set_var("AGENTWORKFORCE_FEATURE_AGENT_RENAME", "0");
    env.user_persona(&json!({
        "id": "scout", "name": "Scout", "emoji": "🔭", "role": "Lead / Explorer", "skills": ["mapping", "reading"],
        "harness": "claude", "systemPrompt": "  Look around.\n\nThen report.  \n"
    }));
    env.write("home/.agentworkforce/workforce/agents/scout/charter.md", "# Charter\n\nFind the map.\n\n");
    assert_eq!(
        env.prompt(&["scout"]),
        "# You are Scout (Lead / Explorer)\n\n- Agent ID: scout\n- Emoji: 🔭\n- Role: Lead / Explorer\n\
         - Expertise: mapping, reading\n\n## Your Charter\n# Charter\n\nFind the map.\n\n  Look around.\n\nThen report.  \n"
    );
    // A label is not taken for a role while the library is off, even where a role of that key exists.
    env.user_persona(
        &json!({"id": "lone", "role": "Lead / Explorer", "harness": "claude", "systemPrompt": "Go."}),
    );
    assert_eq!(
        env.prompt(&["lone"]),
        "# You are lone (Lead / Explorer)\n\n- Agent ID: lone\n- Role: Lead / Explorer\n\nGo."
    );
    // No identity and no role: nothing is added.
    let prompt = "\r\n\t You are plain. ${HOME} $X <tag>\r\n\u{feff}é";
    env.user_persona(&flat("plain", prompt));
    assert_eq!(env.prompt(&["plain"]), prompt);
    env.set_var("AGENTWORKFORCE_FEATURE_AGENT_LIBRARY", "1");
    assert_eq!(env.prompt(&["plain"]), prompt);
}

#[test]
fn must_hold_8_a_plan_taken_before_a_rename_keeps_its_prompt_and_the_next_has_the_new_name() {
    let env = crew();
    let running = env.plan(&["kane", "-p", "task"]);
    let written = |plan: &Value| {
        let files = plan["files"].as_array().expect("files").clone();
        let file = files.into_iter().find(|file| file["purpose"] == "system prompt").expect("a prompt file");
        file["content"].as_str().expect("text").to_owned()
    };
    env.run(["persona", "rename", "kane", "Brett"]).succeeds();
    let next = env.plan(&["kane", "-p", "task"]);
    // A plan carries the whole text, so a session that was started with it has nothing to look up again.
    assert_eq!(written(&running), running["systemPrompt"].as_str().unwrap());
    assert!(written(&running).contains("Kane") && !written(&running).contains("Brett"));
    assert!(written(&next).contains("Brett") && !written(&next).contains("Kane"));
    assert_eq!(running["persona"]["id"], next["persona"]["id"]);
}

#[test]
fn no_builtin_text_contains_the_name_of_a_person() {
    let env = TestEnv::new();
    let list = env.run(["list", "--json"]).json();
    for row in list["personas"].as_array().unwrap() {
        let id = row["persona"].as_str().unwrap();
        let shown = env.run(["show", id, "--all", "--json"]).json();
        let mut spec = shown["spec"].clone();
        let name = spec.as_object_mut().unwrap().shift_remove("name");
        for person in NAMES {
            assert!(!spec.to_string().contains(person), "{id}: {person} in its spec");
        }
        for harness in ["claude", "codex"] {
            let plan = env.plan(&[id, "--harness", harness]);
            let prompt = plan["systemPrompt"].as_str().unwrap();
            // The name stands in the first line and nowhere else.
            let (identity, rest) = prompt.split_once('\n').unwrap();
            if let Some(name) = &name {
                assert!(identity.contains(name.as_str().unwrap()), "{id}: {identity}");
            }
            for person in NAMES {
                assert!(!rest.contains(person), "{id} on {harness}: {person} in its prompt");
                assert!(
                    !plan["sidecar"].to_string().contains(person),
                    "{id} on {harness}: {person} in its sidecar"
                );
            }
        }
    }
    let roles = env.run(["role", "list", "--json"]).json();
    for (key, role) in roles["roles"].as_object().unwrap() {
        assert!(role["charter"].as_str().is_some_and(|text| text.len() > 200), "{key} has a real charter");
        for person in NAMES {
            let charter = role["charter"].as_str().unwrap();
            assert!(
                !charter.to_lowercase().contains(&person.to_lowercase()),
                "{key}: {person} in its charter"
            );
            assert!(!role["label"].as_str().unwrap().contains(person));
        }
    }
}

#[test]
fn the_five_named_builtins_are_as_the_spec_says() {
    let env = TestEnv::new();
    let expected = [
        (
            "ripley",
            "Ripley",
            "🏗️",
            "lead-explorer",
            vec!["architecture", "codebase-exploration", "design-review"],
        ),
        ("dallas", "Dallas", "🔧", "engineer", vec!["implementation", "typescript", "docker", "testing"]),
        ("lambert", "Lambert", "📊", "analyst", vec!["gap-analysis", "requirements", "documentation"]),
        (
            "rebecca",
            "Rebecca",
            "🧠",
            "architect",
            vec!["system-design", "api-design", "scalability", "implementation"],
        ),
        ("ralph", "Ralph", "⚙️", "engineer", vec!["implementation", "bug-fixes", "testing", "scaffolding"]),
    ];
    for (id, name, emoji, role, expertise) in expected {
        let row = env.row(id);
        let found =
            json!([row["name"], row["emoji"], row["role"], row["expertise"], row["source"], row["runnable"]]);
        assert_eq!(found, json!([name, emoji, role, expertise, "library", true]));
    }
}
