//! Identity, roles and the prompt: every "must hold" point of the spec, the rules of resolution, and the commands.

use crate::support::{TestEnv, flat, runtime, warnings, with};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

const NAMES: [&str; 5] = ["Ripley", "Dallas", "Lambert", "Rebecca", "Ralph"];
const USER_PERSONAS: &str = "home/.agentworkforce/workforce/personas";

/// Two personas of the role `crew`, and one of the role `other`.
fn crew() -> TestEnv {
    let env = TestEnv::new();
    env.user_role("crew", &json!({"label": "Crew", "charter": "Keep the ship flying.\n"}));
    env.user_role("other", &json!({"label": "Other", "charter": "Do something else.\n"}));
    env.user_persona(&json!({"id": "kane", "name": "Kane", "role": "crew", "expertise": ["eggs", "maps"]}));
    env.user_persona(&json!({"id": "parker", "name": "Parker", "role": "crew", "expertise": ["engines"]}));
    env.user_persona(&json!({"id": "ash", "name": "Ash", "role": "other"}));
    env
}

fn json_of(env: &TestEnv, path: &str) -> Value {
    serde_json::from_str(&env.read(path)).expect("JSON")
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

// --- Must hold -------------------------------------------------------------------------------------------------------

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
    // The name is no way to address it: ids are.
    env.run(["show", name]).fails(2, "there is no persona");
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

// --- Resolution ------------------------------------------------------------------------------------------------------

#[test]
fn the_prompt_is_identity_then_charter_then_job() {
    let env = crew();
    env.user_persona(&json!({
        "id": "jones", "name": "Jones", "emoji": "🐈", "role": "crew", "expertise": ["mice", "naps"],
        "harness": "claude", "systemPrompt": "Serve $WHO and ${WHO} on <harness>; $OTHER and $HOME stay.\n",
        "inputs": {"WHO": "all"}
    }));
    assert_eq!(
        env.prompt(&["jones"]),
        "# You are Jones (Crew)\n\n- Agent ID: jones\n- Emoji: 🐈\n- Role: Crew\n- Expertise: mice, naps\n\n\
         ## Your Charter\nKeep the ship flying.\n\nServe all and all on claude; $OTHER and $HOME stay.\n"
    );
    assert!(env.prompt(&["jones", "--harness", "codex"]).ends_with("on codex; $OTHER and $HOME stay.\n"));
}

#[test]
fn lines_with_nothing_to_say_are_left_out() {
    let env = TestEnv::new();
    let cases = [
        (json!({"name": "N"}), "# You are N\n\n- Agent ID: p\n\nJob"),
        (json!({"emoji": "🐈"}), "# You are p\n\n- Agent ID: p\n- Emoji: 🐈\n\nJob"),
        (json!({"expertise": ["a"]}), "# You are p\n\n- Agent ID: p\n- Expertise: a\n\nJob"),
        (json!({"role": "Free text"}), "# You are p (Free text)\n\n- Agent ID: p\n- Role: Free text\n\nJob"),
        (json!({"emoji": "", "expertise": [], "name": "", "role": ""}), "Job"),
        (json!({"emoji": null, "expertise": null, "name": null, "role": null}), "Job"),
        (json!({"expertise": "a, b ,, c"}), "# You are p\n\n- Agent ID: p\n- Expertise: a, b, c\n\nJob"),
    ];
    for (more, prompt) in cases {
        env.user_persona(&with(flat("p", "Job"), &more));
        assert_eq!(env.prompt(&["p"]), prompt, "{more}");
    }
}

#[test]
fn inputs_are_not_filled_into_a_charter() {
    let env = TestEnv::new();
    env.user_role("crew", &json!({"label": "Crew", "charter": "Costs $WHO and <harness>."}));
    env.user_persona(&with(flat("p", "For $WHO."), &json!({"role": "crew", "inputs": {"WHO": "me"}})));
    assert!(env.prompt(&["p"]).ends_with("## Your Charter\nCosts $WHO and <harness>.\n\nFor me."));
}

#[test]
fn what_an_input_contains_is_never_expanded_again() {
    let env = TestEnv::new();
    env.user_persona(&with(
        flat("p", "$A|${B}|<harness>"),
        &json!({"inputs": {"A": "${B}<harness>", "B": "$A"}}),
    ));
    assert_eq!(env.prompt(&["p"]), "${B}<harness>|$A|claude");
}

#[test]
fn expertise_beats_legacy_string_skills_even_when_it_is_empty() {
    let env = TestEnv::new();
    let cases = [
        (json!({"skills": ["old", "words"]}), json!(["old", "words"])),
        (json!({"skills": ["old"], "expertise": ["new"]}), json!(["new"])),
        (json!({"skills": ["old"], "expertise": []}), json!([])),
        (json!({"skills": [{"id": "s", "source": "./s.md"}, "old"]}), json!(["old"])),
    ];
    for (more, expertise) in cases {
        env.user_persona(&with(flat("p", "Job"), &more));
        assert_eq!(env.plan(&["p"])["persona"]["expertise"], expertise, "{more}");
        assert_eq!(env.row("p")["expertise"], expertise, "{more}");
    }
    let skills = env.plan(&["p"])["skills"].clone();
    assert_eq!(skills, json!([{"id": "s", "source": "./s.md", "kind": "local"}]));
}

#[test]
fn string_skills_are_converted_before_merging() {
    let env = TestEnv::new();
    env.user_persona(&with(
        flat("p", "Job"),
        &json!({"expertise": ["low"], "skills": [{"id": "s", "source": "./s.md"}]}),
    ));
    env.project_persona(&json!({"id": "p", "skills": ["high"]}));
    let plan = env.plan(&["p"]);
    assert_eq!(plan["persona"]["expertise"], json!(["high"]));
    assert_eq!(plan["skills"][0]["id"], "s", "the words do not replace real skills");
}

#[test]
fn string_skills_are_dropped_on_the_next_write_and_their_meaning_is_kept() {
    let env = TestEnv::new();
    let file = env
        .user_persona(&with(flat("p", "Job"), &json!({"skills": ["old", {"id": "s", "source": "./s.md"}]})));
    env.run(["persona", "rename", "p", "P"]).succeeds();
    let found = json_of(&env, file.to_str().unwrap());
    assert_eq!(found["skills"], json!([{"id": "s", "source": "./s.md"}]));
    assert_eq!(found["expertise"], json!(["old"]));
    let lint = env.run(["lint", "p", "--json"]).json();
    assert!(!lint.to_string().contains("string-skills"), "{lint:#}");
}

#[test]
fn a_legacy_label_maps_to_its_role_by_slugging() {
    let env = TestEnv::new();
    env.user_persona(&json!({"id": "p", "role": "  Lead / Explorer "}));
    let plan = env.plan(&["p"]);
    assert_eq!(plan["persona"]["role"]["key"], "lead-explorer");
    assert_eq!(
        env.prompt(&["p"]).split_once("Agent ID: p").unwrap().1,
        env.prompt(&["ripley"])
            .split_once("Agent ID: ripley")
            .unwrap()
            .1
            .replace("- Emoji: 🏗️\n", "")
            .replace("- Expertise: architecture, codebase-exploration, design-review\n", "")
    );
    let lint = env.run(["lint", "p", "--json"]).json();
    assert!(lint.to_string().contains("[role-label]"), "{lint:#}");
    assert!(lint.to_string().contains("lead-explorer"), "{lint:#}");
}

#[test]
fn a_legacy_charter_file_beats_a_label_that_would_map_to_a_role() {
    let env = TestEnv::new();
    env.user_persona(&json!({"id": "p", "role": "Lead / Explorer"}));
    env.write("home/.agentworkforce/workforce/agents/p/charter.md", "Mine.\n");
    assert_eq!(
        env.prompt(&["p"]),
        "# You are p (Lead / Explorer)\n\n- Agent ID: p\n- Role: Lead / Explorer\n\n## Your Charter\nMine.\n"
    );
    let lint = env.run(["lint", "p", "--json"]).json();
    assert!(lint.to_string().contains("[charter-directory]"), "{lint:#}");
}

#[test]
fn a_legacy_charter_file_counts_only_in_the_layer_of_the_persona() {
    let env = TestEnv::new();
    env.user_persona(&flat("p", "Job"));
    env.write("project/.agentworkforce/workforce/agents/p/charter.md", "Not mine.\n");
    assert_eq!(env.prompt(&["p"]), "Job");
    env.write("home/.agentworkforce/workforce/agents/p/charter.md", "Mine.\n");
    assert_eq!(env.prompt(&["p"]), "# You are p\n\n- Agent ID: p\n\n## Your Charter\nMine.\n\nJob");
}

#[test]
fn a_role_beats_a_legacy_charter_and_a_role_without_a_charter_leaves_room_for_it() {
    let env = crew();
    env.write("home/.agentworkforce/workforce/agents/kane/charter.md", "Legacy.\n");
    assert!(env.prompt(&["kane"]).ends_with("## Your Charter\nKeep the ship flying.\n"));
    env.user_role("crew", &json!({"label": "Crew"}));
    let prompt = env.prompt(&["kane"]);
    assert!(prompt.starts_with("# You are Kane (Crew)\n"), "{prompt}");
    assert!(prompt.ends_with("## Your Charter\nLegacy.\n"), "{prompt}");
    assert!(env.run(["lint", "kane"]).stdout.contains("[charter-directory]"));
    assert!(!env.prompt(&["parker"]).contains("Charter"));
}

#[test]
fn a_role_that_does_not_exist_is_a_label_and_a_warning_with_a_did_you_mean() {
    let env = TestEnv::new();
    env.user_persona(&json!({"id": "p", "role": "enginer", "harness": "claude", "systemPrompt": "Job"}));
    let plan = env.plan(&["p"]);
    assert_eq!(plan["persona"]["role"], json!({"label": "enginer"}));
    let found = warnings(&plan);
    assert!(
        found
            .iter()
            .any(|text| text.contains("there is no role `enginer`")
                && text.contains("did you mean `engineer`?")),
        "{found:?}"
    );
}

#[test]
fn roles_merge_across_layers_per_field() {
    let env = crew();
    env.project_role("crew", &json!({"label": "Project Crew", "defaultHarness": "codex"}));
    let role = env.run(["role", "show", "crew", "--json"]).json();
    assert_eq!(
        (&role["label"], &role["charter"], &role["defaultHarness"], &role["origin"]),
        (&json!("Project Crew"), &json!("Keep the ship flying.\n"), &json!("codex"), &json!("cwd"))
    );
    // A charter and a charter file replace each other, whichever is higher.
    env.project_role("crew", &json!({"charterFile": "crew.md"}));
    env.write("project/.agentworkforce/workforce/roles/crew.md", "From the project's file.\n");
    assert!(env.prompt(&["kane"]).ends_with("## Your Charter\nFrom the project's file.\n"));
    env.user_role("crew", &json!({"label": "Crew", "charterFile": "crew.md"}));
    env.write("home/.agentworkforce/workforce/roles/crew.md", "From the user's file.\n");
    env.project_role("crew", &json!({"charter": "Inline.\n"}));
    assert!(env.prompt(&["kane"]).ends_with("## Your Charter\nInline.\n"));
    env.project_role("crew", &json!({"defaultModel": "x"}));
    assert!(env.prompt(&["kane"]).ends_with("## Your Charter\nFrom the user's file.\n"));
}

#[test]
fn a_role_without_a_label_in_any_layer_is_a_warning_and_a_label_in_a_lower_one_is_enough() {
    let env = TestEnv::new();
    env.user_role("crew", &json!({"charter": "x"}));
    env.user_persona(&json!({"id": "p", "role": "crew"}));
    let plan = env.plan(&["p"]);
    assert!(warnings(&plan).iter().any(|text| text.contains("role `crew` has no `label`")), "{plan:#}");
    env.user_role("engineer", &json!({"charter": "Mine.\n"}));
    assert!(env.prompt(&["dallas"]).starts_with("# You are Dallas (Engineer)\n"));
    assert!(env.prompt(&["dallas"]).ends_with("## Your Charter\nMine.\n"));
}

#[test]
fn a_charter_file_must_be_safe_and_beside_its_json() {
    let env = crew();
    for path in ["../x.md", "/etc/x.md", "", "x.txt"] {
        env.user_role("crew", &json!({"label": "Crew", "charterFile": path}));
        let plan = env.plan(&["kane"]);
        assert!(
            warnings(&plan).iter().any(|text| text.contains("crew.json") && text.contains("charterFile")),
            "{path}: {plan:#}"
        );
        let lint = env.run(["lint"]);
        assert_eq!(lint.code, 1, "{path}: {lint:#?}");
    }
    env.user_role("crew", &json!({"label": "Crew", "charterFile": "missing.md"}));
    let plan = env.plan(&["kane"]);
    assert_eq!(plan["persona"]["role"]["label"], "Crew");
    assert!(
        warnings(&plan).iter().any(|text| text.contains("missing.md") && text.contains("does not exist")),
        "{plan:#}"
    );
    env.write("home/secret.md", "outside");
    std::os::unix::fs::symlink(env.home().join("secret.md"), env.workforce().join("roles/missing.md"))
        .unwrap();
    let plan = env.plan(&["kane"]);
    assert!(!plan.to_string().contains("outside"), "{plan:#}");
    assert!(warnings(&plan).iter().any(|text| text.contains("leaves its directory")), "{plan:#}");
}

#[test]
fn the_harness_chain_is_flag_tier_role_config_claude() {
    let env = TestEnv::new();
    let from = |plan: &Value| format!("{} {}", runtime(plan), plan["harness"]["from"].as_str().unwrap());
    env.user_persona(&json!({"id": "p", "role": "crew"}));
    env.user_role("crew", &json!({"label": "Crew"}));
    assert_eq!(from(&env.plan(&["p"])), "claude/- default");
    env.config(&json!({"defaultHarness": "opencode"}));
    assert_eq!(from(&env.plan(&["p"])), "opencode/- config");
    env.user_role("crew", &json!({"label": "Crew", "defaultHarness": "codex"}));
    assert_eq!(from(&env.plan(&["p"])), "codex/- role");
    env.user_persona(&json!({"id": "p", "role": "crew", "harness": "claude"}));
    assert_eq!(from(&env.plan(&["p"])), "claude/- persona");
    env.user_persona(&json!({"id": "p", "role": "crew", "harness": "claude", "tiers": {"best": {"harness": "codex"}, "minimum": {}}}));
    assert_eq!(from(&env.plan(&["p@best"])), "codex/- persona");
    assert_eq!(from(&env.plan(&["p@minimum"])), "claude/- persona");
    assert_eq!(from(&env.plan(&["p@best", "--harness", "opencode"])), "opencode/- flag");
}

#[test]
fn empty_and_null_count_as_unset_on_every_level() {
    let env = TestEnv::new();
    for unset in [json!(""), json!(null), json!("  ")] {
        env.config(&json!({"defaultHarness": unset, "defaultModel": unset}));
        env.user_role(
            "crew",
            &json!({"label": "Crew", "charter": "C\n", "defaultHarness": unset, "defaultModel": unset}),
        );
        env.user_persona(&json!({"id": "p", "role": "crew", "name": unset, "harness": unset, "model": unset, "systemPrompt": unset}));
        assert_eq!(runtime(&env.plan(&["p"])), "claude/-", "{unset}");
        assert!(env.prompt(&["p"]).starts_with("# You are p (Crew)\n"), "{unset}");
        // Unset falls through to the next level instead of ending the search.
        env.config(&json!({"defaultHarness": "codex", "defaultModel": "gpt"}));
        assert_eq!(runtime(&env.plan(&["p"])), "codex/gpt", "{unset}");
    }
    assert_eq!(runtime(&env.plan(&["p", "--model", ""])), "codex/gpt");
    env.user_persona(&json!({"id": "p", "role": "crew", "harnessSettings": {"reasoning": ""}, "description": "", "intent": ""}));
    assert_eq!(env.plan(&["p"])["reasoning"], json!(null));
}

#[test]
fn an_overlay_cannot_unset_what_a_lower_layer_says_with_an_empty_text() {
    let env = TestEnv::new();
    env.user_persona(&with(flat("p", "Job"), &json!({"model": "opus", "name": "P", "emoji": "🐈"})));
    env.project_persona(&json!({"id": "p", "model": "", "name": null, "systemPrompt": "", "harness": ""}));
    let plan = env.plan(&["p"]);
    assert_eq!(runtime(&plan), "claude/opus");
    assert_eq!(plan["persona"]["name"], "P");
    assert_eq!(plan["persona"]["emoji"], "🐈");
    env.project_persona(&json!({"id": "p", "emoji": ""}));
    assert_eq!(env.plan(&["p"])["persona"]["emoji"], json!(null), "an empty emoji clears");
}

/// Every level at which a model can be chosen, and every way in which the harness can end up another one.
#[test]
fn a_model_chosen_for_one_harness_is_never_passed_to_another() {
    let tiered = json!({"tiers": {"best": {"harness": "codex", "model": "gpt"},
        "best-value": {"harness": "claude", "model": "opus"}}});
    let mixed =
        json!({"harness": "claude", "model": "opus", "tiers": {"best": {"harness": "codex"}, "minimum": {}}});
    let flat = json!({"harness": "codex", "model": "gpt", "systemPrompt": "x"});
    let on_codex = json!({"defaultHarness": "codex"});
    let gpt_on_codex = json!({"defaultHarness": "codex", "defaultModel": "gpt"});
    let opus_on_claude = json!({"defaultHarness": "claude", "defaultModel": "opus"});
    let only_opus = json!({"defaultModel": "opus"});
    let overlay = |overlay: Value| json!({"persona": tiered, "overlay": overlay});
    // What happens, the files, the arguments, and the harness with the model that it is given.
    let cases = [
        ("the tier's own", json!({"persona": tiered}), "p@best", "codex/gpt"),
        ("a flag moves the tier", json!({"persona": tiered}), "p@best --harness claude", "claude/-"),
        ("a flag says the same", json!({"persona": tiered}), "p@best --harness codex", "codex/gpt"),
        (
            "a flag names both",
            json!({"persona": tiered}),
            "p@best --harness claude --model haiku",
            "claude/haiku",
        ),
        (
            "another tier's is not taken",
            json!({"persona": tiered}),
            "p@best-value --harness codex",
            "codex/-",
        ),
        ("an overlay moves all tiers", overlay(json!({"harness": "claude"})), "p@best", "claude/-"),
        ("one was there already", overlay(json!({"harness": "claude"})), "p@best-value", "claude/opus"),
        (
            "an overlay moves a tier",
            overlay(json!({"tiers": {"best": {"harness": "opencode"}}})),
            "p@best",
            "opencode/-",
        ),
        (
            "and names a model",
            overlay(json!({"tiers": {"best": {"harness": "opencode", "model": "kimi"}}})),
            "p@best",
            "opencode/kimi",
        ),
        ("the model only", overlay(json!({"tiers": {"best": {"model": "gpt-9"}}})), "p@best", "codex/gpt-9"),
        ("a model at the top is for the harness there", json!({"persona": mixed}), "p@best", "codex/-"),
        ("and counts where a tier stays on it", json!({"persona": mixed}), "p@minimum", "claude/opus"),
        (
            "a tier's model on the top's harness",
            json!({"persona": {"harness": "codex", "tiers": {"best": {"model": "gpt"}}}}),
            "p@best",
            "codex/gpt",
        ),
        ("flat, moved", json!({"persona": flat, "overlay": {"harness": "claude"}}), "p", "claude/-"),
        (
            "flat, a tier over it",
            json!({"persona": flat, "overlay": {"tiers": {"best": {"harness": "claude"}}}}),
            "p@best",
            "claude/-",
        ),
        (
            "an overlay's top model and its tier's harness",
            json!({"persona": {"harness": "claude"}, "overlay": {"model": "opus", "tiers": {"best": {"harness": "codex"}}}}),
            "p@best",
            "codex/-",
        ),
        ("the role's own", json!({"role": gpt_on_codex}), "p", "codex/gpt"),
        ("a flag moves away from the role", json!({"role": gpt_on_codex}), "p --harness claude", "claude/-"),
        (
            "the persona does",
            json!({"role": gpt_on_codex, "persona": {"harness": "claude"}}),
            "p",
            "claude/-",
        ),
        (
            "a role's model alone is for the config's harness",
            json!({"role": {"defaultModel": "gpt"}, "config": on_codex}),
            "p",
            "codex/gpt",
        ),
        ("else for claude", json!({"role": only_opus, "persona": {"harness": "codex"}}), "p", "codex/-"),
        (
            "the config's below the role's",
            json!({"role": on_codex, "config": opus_on_claude}),
            "p",
            "codex/-",
        ),
        (
            "the config's on its harness",
            json!({"role": gpt_on_codex, "config": opus_on_claude}),
            "p --harness claude",
            "claude/opus",
        ),
        ("a config's model alone is for claude", json!({"config": only_opus}), "p", "claude/opus"),
        ("and for no other", json!({"config": only_opus}), "p --harness opencode", "opencode/-"),
        (
            "a persona's model alone is for the role's harness",
            json!({"role": on_codex, "persona": {"model": "gpt"}}),
            "p",
            "codex/gpt",
        ),
        (
            "and is not moved by a flag",
            json!({"role": on_codex, "persona": {"model": "gpt"}}),
            "p --harness claude",
            "claude/-",
        ),
    ];
    for (what, files, args, expected) in cases {
        let env = TestEnv::new();
        let part = |name: &str| files.get(name).cloned().unwrap_or_else(|| json!({}));
        env.user_role("crew", &with(json!({"label": "Crew"}), &part("role")));
        env.user_persona(&with(json!({"id": "p", "role": "crew"}), &part("persona")));
        env.project_persona(&with(json!({"id": "p"}), &part("overlay")));
        env.config(&part("config"));
        let plan = env.plan(&args.split(' ').collect::<Vec<_>>());
        assert_eq!(runtime(&plan), expected, "{what}");
        // What the harness is really given agrees with what the plan says.
        let model = expected.split_once('/').unwrap().1;
        let given = format!("{} {}", plan["command"]["args"], plan["files"]);
        for other in ["gpt", "opus", "kimi"].into_iter().filter(|other| !model.starts_with(other)) {
            assert!(!given.contains(&format!("\"{other}\"")), "{what}: {other} in {given}");
        }
    }
}

#[test]
fn a_model_that_is_not_passed_on_is_said() {
    let env = TestEnv::new();
    let plan = env.plan(&["engineer", "--harness", "codex"]);
    assert!(
        warnings(&plan)
            .iter()
            .any(|text| text.contains("model `sonnet` was chosen for claude and is not passed to codex")),
        "{plan:#}"
    );
}

#[test]
fn list_shows_the_harness_and_model_that_a_run_has() {
    let env = crew();
    env.user_role("crew", &json!({"label": "Crew", "defaultHarness": "codex", "defaultModel": "gpt"}));
    env.user_persona(&json!({"id": "p", "role": "Crew"}));
    // The first of two personas with the same label has a charter of its own, and so no role.
    env.user_persona(&json!({"id": "o", "role": "Crew"}));
    env.write("home/.agentworkforce/workforce/agents/o/charter.md", "Own.\n");
    for id in ["kane", "parker", "ash", "p", "o", "engineer", "ripley"] {
        let (plan, row) = (env.plan(&[id]), env.row(id));
        assert_eq!(
            (&row["harness"], &row["model"]),
            (&plan["harness"]["kind"], &plan["model"]["value"]),
            "{id}"
        );
        let role = &plan["persona"]["role"];
        let shown = if role["key"].is_null() { &role["label"] } else { &role["key"] };
        assert_eq!(&row["role"], shown, "{id}");
    }
    assert_eq!(env.row("p")["harness"], "codex");
    assert_eq!(env.row("o")["harness"], "claude");
}

#[test]
fn limits_go_flag_persona_config_and_a_cap_of_zero_is_a_cap() {
    let env = TestEnv::new();
    let usd = |args: &[&str]| env.plan(args)["limits"]["usd"].clone();
    env.user_persona(&flat("p", "Job"));
    assert_eq!(usd(&["p"]), json!(null));
    env.config(&json!({"limits": {"usd": 9, "turns": 4}}));
    assert_eq!(usd(&["p"]), json!(9.0));
    env.user_persona(&with(flat("p", "Job"), &json!({"limits": {"usd": 0}})));
    assert_eq!(usd(&["p"]), json!(0.0), "zero beats the config: it is a cap");
    assert_eq!(env.plan(&["p"])["limits"]["turns"], 4, "limits merge per field");
    assert_eq!(usd(&["p", "--max-usd", "2.5"]), json!(2.5));
    env.user_persona(&with(flat("p", "Job"), &json!({"maxBudgetUsd": 3})));
    assert_eq!(usd(&["p"]), json!(3.0));
    env.user_persona(&with(flat("p", "Job"), &json!({"maxBudgetUsd": 3, "limits": {"usd": 1}})));
    assert_eq!(usd(&["p"]), json!(1.0), "the new spelling beats the old one");
    env.config(&json!({"limits": {"usd": 0}}));
    env.user_persona(&flat("p", "Job"));
    let plan = env.plan(&["p", "-p", "x"]);
    let row =
        plan["enforcement"].as_array().unwrap().iter().find(|row| row["field"] == "limits.usd").unwrap();
    assert_eq!(row["level"], "enforced");
    assert!(!plan["command"]["args"].to_string().contains("--max-budget-usd"));
}

#[test]
fn an_explicit_false_of_the_persona_beats_a_true_of_the_config() {
    let env = TestEnv::new();
    let args = |env: &TestEnv| env.plan(&["p"])["command"]["args"].to_string();
    env.user_persona(&flat("p", "Job"));
    assert!(!args(&env).contains("--bare") && !args(&env).contains("--setting-sources"));
    env.config(&json!({"bareMode": true, "hermetic": true}));
    assert!(args(&env).contains("--bare") && args(&env).contains("--setting-sources"));
    env.user_persona(&with(flat("p", "Job"), &json!({"bareMode": false, "hermetic": false})));
    assert!(!args(&env).contains("--bare") && !args(&env).contains("--setting-sources"));
    env.user_persona(&with(flat("p", "Job"), &json!({"hermeticHarness": false})));
    assert!(args(&env).contains("--bare") && !args(&env).contains("--setting-sources"));
    env.user_persona(&with(flat("p", "Job"), &json!({"bareMode": true, "claudeMdContent": "x"})));
    assert!(
        warnings(&env.plan(&["p"]))
            .iter()
            .any(|text| text.contains("`bareMode` makes claude ignore CLAUDE.md"))
    );
}

// --- Feature flags ---------------------------------------------------------------------------------------------------

#[test]
fn a_feature_is_decided_by_environment_over_config_over_default() {
    let states = |env: &TestEnv| {
        let found = env.run(["config", "features", "--json"]).json();
        let all = found["features"].as_array().unwrap().clone();
        all.iter()
            .map(|f| format!("{} {} {}", f["id"].as_str().unwrap(), f["on"], f["from"].as_str().unwrap()))
            .collect::<Vec<_>>()
    };
    let mut env = TestEnv::new();
    assert_eq!(states(&env), ["agent-library true default", "agent-rename true default"]);
    env.run(["config", "set", "features.agent-rename", "false"]).succeeds();
    assert_eq!(states(&env), ["agent-library true default", "agent-rename false config"]);
    env.set_var("AGENTWORKFORCE_FEATURE_AGENT_RENAME", "1");
    env.set_var("AGENTWORKFORCE_FEATURE_AGENT_LIBRARY", "0");
    assert_eq!(states(&env), ["agent-library false env", "agent-rename true env"]);
    env.set_var("AGENTWORKFORCE_FEATURE_AGENT_RENAME", "");
    assert_eq!(states(&env), ["agent-library false env", "agent-rename false config"]);
}

#[test]
fn an_unknown_feature_is_an_error() {
    let mut env = TestEnv::new();
    env.run(["config", "set", "features.agent-libary", "true"])
        .fails(2, "did you mean `features.agent-library`?");
    env.config(&json!({"features": {"agent-libary": true}}));
    env.run(["list"]).fails(2, "there is no feature `agent-libary`");
    env.config(&json!({}));
    env.set_var("AGENTWORKFORCE_FEATURE_NOPE", "1");
    env.run(["list"]).fails(2, "AGENTWORKFORCE_FEATURE_NOPE");
    let mut env = TestEnv::new();
    env.set_var("AGENTWORKFORCE_FEATURE_AGENT_RENAME", "yes");
    env.run(["list"]).fails(2, "neither 1 nor 0");
}

#[test]
fn commands_of_a_feature_that_is_off_leave_the_help_and_are_refused_with_the_line_that_enables_them() {
    let mut env = crew();
    let before = env.everything();
    assert!(env.run(["role", "--help"]).stdout.contains("create"));
    assert!(env.run(["persona", "--help"]).stdout.contains("rename"));
    env.set_var("AGENTWORKFORCE_FEATURE_AGENT_LIBRARY", "0");
    env.set_var("AGENTWORKFORCE_FEATURE_AGENT_RENAME", "0");
    let refused: [(&[&str], &str); 5] = [
        (&["role", "create", "x", "--label", "X"], "agent-library"),
        (&["role", "set", "crew", "--label", "X"], "agent-library"),
        (&["role", "delete", "crew"], "agent-library"),
        (&["role", "reset", "--yes"], "agent-library"),
        (&["persona", "rename", "kane", "X"], "agent-rename"),
    ];
    for (command, feature) in refused {
        env.run(command).fails(2, &format!("agentworkforce config set features.{feature} true"));
    }
    assert_eq!(env.everything(), before);
    let role = env.run(["role", "--help"]).stdout;
    for gone in ["create", "  set ", "delete", "reset"] {
        assert!(
            !role.lines().any(|line| line.starts_with(&format!("  {}", gone.trim()))),
            "{gone} in {role}"
        );
    }
    assert!(role.lines().any(|line| line.starts_with("  list")), "{role}");
    let persona = env.run(["persona", "--help"]).stdout;
    assert!(!persona.lines().any(|line| line.starts_with("  rename")), "{persona}");
    assert!(persona.lines().any(|line| line.starts_with("  set")), "{persona}");
    // The help that a missing subcommand prints is the same help.
    for command in ["role", "persona"] {
        let ran = env.run([command]);
        assert!(
            !ran.stderr.lines().any(|line| line.starts_with("  create") || line.starts_with("  rename")),
            "{ran:#?}"
        );
    }
    // Readers are never flagged.
    env.run(["role", "list"]).succeeds();
    env.run(["role", "show", "crew"]).succeeds();
    env.run(["persona", "set", "kane", "--expertise", "x"]).succeeds();
    assert!(env.prompt(&["kane"]).ends_with("## Your Charter\nKeep the ship flying.\n"));
}

#[test]
fn the_line_that_enables_a_feature_does_enable_it() {
    let env = crew();
    env.config(&json!({"features": {"agent-rename": false}, "unknown": 1}));
    let ran = env.run(["persona", "rename", "kane", "X"]);
    let line = ran.stderr.lines().find(|line| line.starts_with("hint: `agentworkforce ")).expect("a hint");
    let words: Vec<&str> = line.split('`').nth(1).unwrap().split(' ').skip(1).collect();
    env.run(words).succeeds();
    env.run(["persona", "rename", "kane", "X"]).succeeds();
    assert_eq!(json_of(&env, "home/.agentworkforce/workforce/config.json")["unknown"], 1);
}

#[test]
fn runtime_defaults_of_roles_belong_to_the_library_feature() {
    let mut env = crew();
    env.user_role(
        "crew",
        &json!({"label": "Crew", "charter": "C\n", "defaultHarness": "codex", "defaultModel": "gpt"}),
    );
    assert_eq!(runtime(&env.plan(&["kane"])), "codex/gpt");
    env.set_var("AGENTWORKFORCE_FEATURE_AGENT_LIBRARY", "0");
    assert_eq!(runtime(&env.plan(&["kane"])), "claude/-");
    assert_eq!(env.row("kane")["harness"], "claude");
}

// --- Role commands ---------------------------------------------------------------------------------------------------

#[test]
fn role_list_has_the_keys_of_the_spec() {
    let env = crew();
    let list = env.run(["role", "list", "--json"]).json();
    assert_eq!(list["schemaVersion"], 1);
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
    assert!(human.contains("crew  Crew") && human.contains("Kane  eggs, maps"), "{human}");
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
        json_of(&env, "home/.agentworkforce/workforce/roles/pilot.json"),
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
    env.run(["role", "reset"]).fails(2, "--yes");
    assert_eq!(env.run(["role", "show", "crew", "--json"]).json()["label"], "Crew");
    env.run(["role", "reset", "--yes"]).succeeds();
    env.run(["role", "show", "crew"]).fails(2, "there is no role `crew`");
}

// --- Persona commands ------------------------------------------------------------------------------------------------

#[test]
fn a_rename_goes_to_the_highest_file_that_has_the_id_else_to_a_user_overlay() {
    let env = crew();
    env.run(["persona", "rename", "engineer", "Newt"]).succeeds();
    assert_eq!(
        env.read(format!("{USER_PERSONAS}/engineer.json")),
        "{\n  \"id\": \"engineer\",\n  \"name\": \"Newt\"\n}\n"
    );
    let user = env.read(format!("{USER_PERSONAS}/kane.json"));
    let project = env.project_persona(&json!({"id": "kane", "description": "here"}));
    env.run(["persona", "rename", "kane", "Brett", "--emoji", "🔩"]).succeeds();
    assert_eq!(
        json_of(&env, project.to_str().unwrap()),
        json!({"id": "kane", "description": "here", "name": "Brett", "emoji": "🔩"})
    );
    assert_eq!(env.read(format!("{USER_PERSONAS}/kane.json")), user);
    env.run(["persona", "rename", "kane", "Brett", "--emoji", ""]).succeeds();
    assert_eq!(json_of(&env, project.to_str().unwrap())["emoji"], "");
    assert_eq!(env.row("kane")["emoji"], json!(null));
}

#[test]
fn a_rename_to_the_same_name_and_emoji_changes_nothing_at_all() {
    let env = crew();
    env.run(["persona", "rename", "kane", "Brett", "--emoji", "🔩"]).succeeds();
    let before = env.everything();
    for command in [
        vec!["persona", "rename", "kane", "Brett"],
        vec!["persona", "rename", "kane", "  Brett  "],
        vec!["persona", "rename", "kane", "Brett", "--emoji", "🔩"],
        vec!["persona", "rename", "ripley", "Ripley"],
    ] {
        let mut json = command.clone();
        json.push("--json");
        assert_eq!(env.run(&json).json()["changed"], false, "{command:?}");
    }
    assert_eq!(env.everything(), before);
    assert_eq!(
        env.run(["persona", "rename", "kane", "Brett", "--emoji", "🔧", "--json"]).json()["changed"],
        true
    );
}

#[test]
fn a_name_that_another_persona_has_is_a_warning_and_not_a_block() {
    let env = crew();
    let ran = env.run(["persona", "rename", "kane", "pArKeR"]);
    ran.fails(0, "warning: persona `parker` has that name too");
    assert_eq!(env.row("kane")["name"], "pArKeR");
    // Also a built-in's name, and an id that serves as a name.
    env.run(["persona", "rename", "kane", "ripley"]).fails(0, "persona `ripley` has that name too");
    env.run(["persona", "rename", "kane", "Debugger"]).fails(0, "persona `debugger` has that name too");
    let own = env.run(["persona", "rename", "kane", "KANE"]);
    assert_eq!((own.code, own.stderr.as_str()), (0, ""));
}

#[test]
fn a_rename_leaves_an_audit_line() {
    let env = crew();
    env.run(["persona", "rename", "kane", "Brett"]).succeeds();
    env.run(["persona", "rename", "engineer", "Newt"]).succeeds();
    let log = env.read("home/.agentworkforce/workforce/logs/audit.log");
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines.len(), 2, "{log}");
    assert!(lines[0].ends_with("rename kane: Kane -> Brett"), "{log}");
    assert!(lines[1].ends_with("rename engineer: engineer -> Newt"), "{log}");
    assert!(lines[0].starts_with("20") && lines[0].split(' ').next().unwrap().ends_with('Z'), "{log}");
}

#[test]
fn names_and_emoji_obey_their_laws() {
    let env = crew();
    let before = env.everything();
    let long = "x".repeat(65);
    for name in [
        "",
        "   ",
        long.as_str(),
        "a\nb",
        "a\u{1b}[31m",
        "a\u{2028}b",
        "a\u{2029}b",
        "a\u{202e}b",
        "a\u{2066}b",
        "a\0b".trim_end_matches("\0b"),
    ] {
        if name == "a" {
            continue;
        }
        env.run(["persona", "rename", "kane", "--", name]).fails(2, "the name must");
    }
    let long = "🐈".repeat(17);
    for emoji in [long.as_str(), "a\tb", "\u{202e}"] {
        env.run(["persona", "rename", "kane", "X", "--emoji", emoji]).fails(2, "the emoji must");
    }
    assert_eq!(env.everything(), before);
    // The limits count scalars, after trimming.
    let most = format!("  {}  ", "é".repeat(64));
    env.run(["persona", "rename", "kane", &most, "--emoji", &"🐈".repeat(16)]).succeeds();
    assert_eq!(env.row("kane")["name"], most.trim());
    // The same laws hold in files.
    for (key, value) in [
        ("name", json!("a\u{202e}b")),
        ("name", json!("x".repeat(65))),
        ("emoji", json!("x".repeat(17))),
        ("name", json!(7)),
    ] {
        env.user_persona(&with(flat("p", "Job"), &json!({key: value})));
        env.run(["agent", "p", "--dry-run"])
            .fails(2, &format!("p.json:7:3: {key}: must"))
            .fails(2, "persona `p` is not valid");
    }
}

#[test]
fn rename_is_the_only_writer_of_names() {
    let env = crew();
    env.run(["persona", "set", "kane", "--name", "X"]).fails(2, "unexpected argument '--name'");
    let help = env.run(["persona", "set", "--help"]).stdout;
    assert!(!help.contains("--name") && !help.contains("--id"), "{help}");
    assert_eq!(env.row("kane")["name"], "Kane");
}

#[test]
fn persona_set_edits_the_overlay_and_nothing_else() {
    let env = TestEnv::new();
    env.run([
        "persona",
        "set",
        "debugger",
        "--role",
        "engineer",
        "--expertise",
        "rust, gdb",
        "--description",
        "D",
        "--tags",
        "a,b",
        "--default-tier",
        "best",
    ])
    .succeeds();
    assert_eq!(
        json_of(&env, &format!("{USER_PERSONAS}/debugger.json")),
        json!({"id": "debugger", "role": "engineer", "expertise": ["rust", "gdb"], "tags": ["a", "b"], "description": "D", "defaultTier": "best"})
    );
    env.run(["persona", "set", "debugger", "--tier", "best", "--harness", "codex", "--model", "gpt"])
        .succeeds();
    assert_eq!(runtime(&env.plan(&["debugger"])), "codex/gpt");
    assert_eq!(
        runtime(&env.plan(&["debugger@minimum"])),
        runtime(&TestEnv::new().plan(&["debugger@minimum"]))
    );
    env.run(["persona", "set", "debugger", "--model", ""]).succeeds();
    env.run(["persona", "set", "debugger", "--role", ""]).succeeds();
    assert_eq!(json_of(&env, &format!("{USER_PERSONAS}/debugger.json")).get("role"), None);
    let before = env.everything();
    env.run(["persona", "set", "debugger", "--role", "enginer"]).fails(2, "did you mean `engineer`?");
    env.run(["persona", "set", "debugger", "--harness", "cluade"]).fails(2, "did you mean `claude`?");
    env.run(["persona", "set", "debugger", "--default-tier", "bst"]).fails(2, "did you mean `best`?");
    env.run(["persona", "set", "debugger", "--tier", "best"]).fails(2, "neither is given");
    env.run(["persona", "set", "debugger"]).fails(2, "nothing to set");
    env.run(["persona", "set", "debuger", "--tags", "x"]).fails(2, "did you mean `debugger`?");
    assert_eq!(env.everything(), before);
}

#[test]
fn persona_delete_moves_the_file_and_its_assets_aside() {
    let env = crew();
    env.write(format!("{USER_PERSONAS}/kane__assets/notes.md"), "notes");
    let done = env.run(["persona", "delete", "KANE", "--json"]).json();
    let kept = std::path::PathBuf::from(done["backup"].as_str().unwrap());
    assert!(kept.starts_with(env.workforce().join("backups")), "{kept:?}");
    assert_eq!(
        serde_json::from_slice::<Value>(&std::fs::read(kept.join("kane.json")).unwrap()).unwrap()["name"],
        "Kane"
    );
    assert_eq!(std::fs::read_to_string(kept.join("kane__assets/notes.md")).unwrap(), "notes");
    env.run(["show", "kane"]).fails(2, "there is no persona `kane`");
    env.run(["persona", "delete", "kane"]).fails(2, "there is no persona `kane`");
    assert_eq!(env.row("parker")["name"], "Parker");
}

#[test]
fn persona_delete_in_the_project_brings_the_lower_one_back() {
    let env = crew();
    env.project_persona(&json!({"id": "kane", "name": "Project Kane"}));
    env.run(["persona", "delete", "kane"]).succeeds();
    assert_eq!((&env.row("kane")["name"], &env.row("kane")["source"]), (&json!("Kane"), &json!("user")));
}

#[test]
fn persona_reset_of_one_takes_its_overlay_away_and_keeps_a_copy() {
    let env = crew();
    env.run(["persona", "rename", "ripley", "Newt"]).succeeds();
    let done = env.run(["persona", "reset", "ripley", "--json"]).json();
    assert_eq!(env.row("ripley")["name"], "Ripley");
    assert_eq!(done["removed"], json!([env.root().join(USER_PERSONAS).join("ripley.json")]));
    assert!(std::path::Path::new(done["backup"].as_str().unwrap()).join("ripley.json").is_file());
    env.run(["persona", "reset", "kane"]).fails(2, "is not built in").fails(2, "persona delete kane");
    assert_eq!(env.row("kane")["name"], "Kane");
}

#[test]
fn persona_reset_of_all_asks_first_and_touches_one_layer_only() {
    let env = crew();
    env.project_persona(&json!({"id": "kane", "name": "Project Kane"}));
    env.run(["persona", "rename", "ripley", "Newt"]).succeeds();
    env.run(["persona", "reset"]).fails(2, "--yes");
    assert_eq!(env.row("ripley")["name"], "Newt");
    let done = env.run(["persona", "reset", "--yes", "--json"]).json();
    let mut kept: Vec<String> = std::fs::read_dir(done["backup"].as_str().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    kept.sort();
    assert_eq!(kept, ["ash.json", "kane.json", "parker.json", "ripley.json"]);
    assert_eq!(env.row("ripley")["name"], "Ripley");
    assert_eq!(env.row("kane")["source"], "cwd");
    env.run(["persona", "reset", "--yes", "--in", "project"]).succeeds();
    env.run(["show", "kane"]).fails(2, "there is no persona");
    assert_eq!(env.run(["persona", "reset", "--yes", "--json"]).json()["removed"], json!([]));
}

#[test]
fn no_command_changes_an_id() {
    let env = crew();
    let help = env.run(["persona", "--help"]).stdout;
    assert_eq!(["rename", "set", "delete", "reset"].map(|word| help.contains(word)), [true; 4]);
    env.run(["persona", "rename", "kane", "Brett"]).succeeds();
    env.run(["persona", "set", "kane", "--tags", "x"]).succeeds();
    assert_eq!(json_of(&env, &format!("{USER_PERSONAS}/kane.json"))["id"], "kane");
    assert_eq!(env.plan(&["kane"])["persona"]["id"], "kane");
}

#[test]
fn lint_warns_of_a_charter_that_embeds_a_name_between_word_boundaries() {
    let env = crew();
    env.user_role(
        "other",
        &json!({"label": "Other", "charter": "Ask Kane. Not Kanesville, not KANE, not kane.\n"}),
    );
    let lint = env.run(["lint", "--json"]).json();
    let found: Vec<&str> = lint["problems"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|p| p["message"].as_str())
        .filter(|text| text.contains("the charter names"))
        .collect();
    assert_eq!(found, ["the charter names `Kane`, which a rename would make stale"]);
    assert_eq!(env.run(["lint", "--strict"]).code, 1);
    env.user_role("other", &json!({"label": "Other", "charter": "Ask Kanesville or KANE.\n"}));
    assert!(!env.run(["lint", "--json"]).stdout.contains("the charter names"));
    // The user's text is never rewritten.
    assert_eq!(env.run(["role", "show", "other", "--json"]).json()["charter"], "Ask Kanesville or KANE.\n");
}
