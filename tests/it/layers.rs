//! Layers, what a persona builds on, the accepted shapes, tiers, and what is said about keys nobody knows.

use crate::support::{TestEnv, flat, runtime, warnings, with};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

const USER: &str = "home/.agentworkforce/workforce/personas";

fn description(env: &TestEnv, id: &str) -> String {
    env.row(id)["description"].as_str().unwrap_or("-").to_owned()
}

fn sources(env: &TestEnv) -> Vec<String> {
    let list = env.run(["sources", "list", "--json"]).json();
    list["sources"].as_array().unwrap().iter().map(|row| row["source"].as_str().unwrap().to_owned()).collect()
}

#[track_caller]
fn has_warning(plan: &Value, words: &[&str]) {
    let all = warnings(plan);
    assert!(all.iter().any(|text| words.iter().all(|word| text.contains(word))), "{words:?} not in {all:#?}");
}

// --- Which layers there are ------------------------------------------------------------------------------------------

#[test]
fn the_project_beats_configured_directories_beat_the_library() {
    let env = TestEnv::new();
    assert_eq!(env.row("engineer")["source"], "library");
    env.persona("home/.agentworkforce/workforce/two", &json!({"id": "engineer", "description": "two"}));
    env.persona("home/.agentworkforce/workforce/one", &json!({"id": "engineer", "description": "one"}));
    env.user_persona(&json!({"id": "engineer", "description": "user"}));
    assert_eq!(
        (description(&env, "engineer").as_str(), &env.row("engineer")["source"]),
        ("user", &json!("user"))
    );
    env.config(&json!({"personaDirs": ["one", "two", "personas"]}));
    assert_eq!(
        (description(&env, "engineer").as_str(), &env.row("engineer")["source"]),
        ("one", &json!("dir:1"))
    );
    env.config(&json!({"personaDirs": ["personas", "two"]}));
    assert_eq!(
        (description(&env, "engineer").as_str(), &env.row("engineer")["source"]),
        ("user", &json!("user"))
    );
    env.config(&json!({"personaDirs": ["two", "one"]}));
    env.project_persona(&json!({"id": "engineer", "description": "project"}));
    assert_eq!(
        (description(&env, "engineer").as_str(), &env.row("engineer")["source"]),
        ("project", &json!("cwd"))
    );
    assert_eq!(sources(&env), ["cwd", "dir:1", "dir:2", "library"]);
}

#[test]
fn the_project_is_found_from_a_directory_below() {
    let mut env = TestEnv::new();
    env.project_persona(&flat("p", "of the project"));
    std::fs::create_dir_all(env.project().join("a/b/c")).unwrap();
    env.set_cwd("project/a/b/c");
    assert_eq!(env.prompt(&["p"]), "of the project");
    // The nearest one wins.
    env.persona("project/a/.agentworkforce/workforce/personas", &flat("q", "of a"));
    assert_eq!(env.prompt(&["q"]), "of a");
    env.run(["show", "p"]).fails(2, "there is no persona `p`");
}

#[test]
fn nothing_above_the_git_top_level_is_a_project() {
    let mut env = TestEnv::new();
    env.persona(".agentworkforce/workforce/personas", &flat("p", "above"));
    env.run(["show", "p"]).fails(2, "there is no persona `p`");
    std::fs::create_dir_all(env.project().join("a")).unwrap();
    env.set_cwd("project/a");
    env.run(["show", "p"]).fails(2, "there is no persona `p`");
    // A worktree's `.git` is a file.
    std::fs::remove_dir_all(env.project().join(".git")).unwrap();
    assert_eq!(env.prompt(&["p"]), "above", "without a repository the walk goes on");
    env.write("project/.git", "gitdir: elsewhere\n");
    env.run(["show", "p"]).fails(2, "there is no persona `p`");
}

#[test]
fn nothing_above_the_home_directory_is_a_project_and_the_home_itself_is_none() {
    let mut env = TestEnv::new();
    env.persona(".agentworkforce/workforce/personas", &flat("above", "above"));
    env.user_persona(&flat("mine", "mine"));
    std::fs::create_dir_all(env.home().join("code/x")).unwrap();
    for dir in ["home/code/x", "home"] {
        env.set_cwd(dir);
        env.run(["show", "above"]).fails(2, "there is no persona `above`");
        assert_eq!(env.row("mine")["source"], "user", "{dir}");
        assert_eq!(sources(&env), ["user", "library"], "{dir}");
    }
    // A home that is named through a link is the same home.
    std::os::unix::fs::symlink(env.home(), env.root().join("link")).unwrap();
    env.set_var("HOME", env.root().join("link").to_str().unwrap());
    env.set_cwd("home/code/x");
    env.run(["show", "above"]).fails(2, "there is no persona `above`");
    assert_eq!(env.row("mine")["source"], "user");
}

#[test]
fn a_variable_moves_the_workforce_home() {
    let mut env = TestEnv::new();
    env.user_persona(&flat("old", "old"));
    env.persona("elsewhere/personas", &flat("new", "new"));
    env.write("elsewhere/config.json", r#"{"defaultHarness": "codex"}"#);
    env.set_var("AGENT_WORKFORCE_HOME", &format!("  {}  ", env.root().join("elsewhere").display()));
    assert_eq!(env.row("new")["source"], "user");
    env.run(["show", "old"]).fails(2, "there is no persona `old`");
    env.run(["config", "set", "defaultModel", "gpt"]).succeeds();
    assert_eq!(
        env.read("elsewhere/config.json"),
        "{\n  \"defaultHarness\": \"codex\",\n  \"defaultModel\": \"gpt\"\n}\n"
    );
    env.run(["persona", "rename", "ripley", "Newt"]).succeeds();
    assert!(env.root().join("elsewhere/personas/ripley.json").is_file());
    env.set_var("AGENT_WORKFORCE_HOME", "~/tilde");
    env.persona("home/tilde/personas", &flat("t", "t"));
    assert_eq!(env.row("t")["source"], "user");
    env.set_var("AGENT_WORKFORCE_HOME", "   ");
    assert_eq!(env.row("old")["source"], "user");
}

#[test]
fn the_legacy_variable_moves_only_the_users_personas() {
    let mut env = TestEnv::new();
    env.user_persona(&flat("old", "old"));
    env.user_role("crew", &json!({"label": "Crew", "charter": "C\n"}));
    env.persona("elsewhere", &with(flat("new", "new"), &json!({"role": "crew"})));
    env.set_var("AGENT_WORKFORCE_CONFIG_DIR", env.root().join("elsewhere").to_str().unwrap());
    assert_eq!(env.row("new")["source"], "user");
    assert!(env.prompt(&["new"]).contains("## Your Charter\nC\n"));
    env.run(["show", "old"]).fails(2, "there is no persona `old`");
    env.run(["persona", "rename", "ripley", "Newt"]).succeeds();
    assert!(env.root().join("elsewhere/ripley.json").is_file());
}

#[test]
fn configured_directories_may_be_relative_or_start_at_home_and_replace_the_users() {
    let env = TestEnv::new();
    env.user_persona(&flat("mine", "mine"));
    env.persona("home/.agentworkforce/workforce/packs", &flat("relative", "x"));
    env.persona("home/tilde", &flat("tilde", "x"));
    env.persona("absolute", &flat("absolute", "x"));
    env.config(&json!({"personaDirs": ["./packs/../packs", "~/tilde", env.root().join("absolute")]}));
    assert_eq!(
        ["relative", "tilde", "absolute"].map(|id| env.row(id)["source"].clone()),
        ["dir:1", "dir:2", "dir:3"]
    );
    env.run(["show", "mine"]).fails(2, "there is no persona `mine`");
    env.config(&json!({"personaDirs": []}));
    env.run(["show", "mine"]).fails(2, "there is no persona `mine`");
    assert_eq!(sources(&env), ["library"]);
}

#[test]
fn a_directory_that_is_configured_twice_counts_once_with_a_warning() {
    let env = TestEnv::new();
    env.persona("home/tilde", &flat("p", "x"));
    env.config(&json!({"personaDirs": ["~/tilde", env.home().join("tilde/"), "personas"]}));
    let ran = env.run(["list", "--json"]);
    assert_eq!(ran.stderr.matches("duplicate persona source directory").count(), 1, "{ran:#?}");
    assert_eq!(env.row("p")["source"], "dir:1");
    assert_eq!(sources(&env), ["dir:1", "user", "library"]);
}

#[test]
fn a_configured_directory_is_plain_or_holds_personas_and_roles() {
    let env = TestEnv::new();
    env.persona("plain", &flat("plain", "x"));
    env.persona("pack/personas", &json!({"id": "packed", "role": "packed-role"}));
    env.persona("pack", &flat("outside", "not a persona of the pack"));
    env.write("pack/roles/packed-role.json", r#"{"label": "Packed", "charter": "From the pack.\n"}"#);
    env.write("plain/roles/plain-role.json", r#"{"label": "Plain", "charter": "From plain.\n"}"#);
    env.config(&json!({"personaDirs": [env.root().join("plain"), env.root().join("pack")]}));
    assert_eq!(
        (&env.row("plain")["source"], &env.row("packed")["source"]),
        (&json!("dir:1"), &json!("dir:2"))
    );
    assert!(env.prompt(&["packed"]).ends_with("## Your Charter\nFrom the pack.\n"));
    env.run(["show", "outside"]).fails(2, "there is no persona");
    let roles = env.run(["role", "list", "--json"]).json()["roles"].clone();
    assert_eq!(
        (&roles["packed-role"]["origin"], &roles["plain-role"]["origin"]),
        (&json!("dir:2"), &json!("dir:1"))
    );
}

#[test]
fn only_json_files_directly_in_the_directory_are_personas() {
    let env = TestEnv::new();
    env.user_persona(&flat("real", "x"));
    env.persona(&format!("{USER}/real__assets"), &flat("asset", "x"));
    env.persona(&format!("{USER}/deeper"), &flat("deeper", "x"));
    env.write(format!("{USER}/notes.txt"), "{");
    env.write(format!("{USER}/.hidden.json"), "{");
    std::fs::create_dir(env.root().join(USER).join("dir.json")).unwrap();
    let list = env.run(["list", "--json"]);
    assert_eq!(list.json()["warnings"], json!([]));
    assert_eq!(list.stderr, "");
    for id in ["asset", "deeper"] {
        env.run(["show", id]).fails(2, "there is no persona");
    }
}

#[test]
fn the_id_counts_and_not_the_file_name_and_the_first_of_two_wins() {
    let env = TestEnv::new();
    env.write(format!("{USER}/a-file.json"), flat("real-id", "first").to_string());
    env.write(format!("{USER}/b-file.json"), flat("real-id", "second").to_string());
    assert_eq!(env.prompt(&["real-id"]), "first");
    let ran = env.run(["list"]);
    assert!(
        ran.stderr.contains("b-file.json: duplicate id `real-id`")
            && ran.stderr.contains("a-file.json comes first"),
        "{ran:#?}"
    );
    env.run(["show", "a-file"]).fails(2, "there is no persona");
    // lint finds it by its id, too.
    env.write(format!("{USER}/a-file.json"), with(flat("real-id", "first"), &json!({"tpyo": 1})).to_string());
    let lint = env.run(["lint", "real-id"]);
    assert!(
        lint.stdout.contains("a-file.json:1:") && lint.stdout.contains("tpyo: unknown field"),
        "{lint:#?}"
    );
}

// --- What a persona builds on ----------------------------------------------------------------------------------------

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
        .fails(2, "names a persona in user, which is not below user: mine -> base");
    let env = TestEnv::new();
    env.project_persona(&flat("base", "x"));
    env.user_persona(&json!({"id": "mine", "extends": "base"}));
    env.run(["agent", "mine", "--dry-run"])
        .fails(2, "names a persona in cwd, which is not below user: mine -> base");
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
    assert_eq!(lint["errors"], 0);
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

// --- Merging ---------------------------------------------------------------------------------------------------------

#[test]
fn every_field_merges_as_its_table_says() {
    let env = TestEnv::new();
    env.user_persona(&json!({
        "id": "p", "intent": "p", "description": "low", "tags": ["a", "b"], "name": "Low", "expertise": ["x"],
        "skills": [{"id": "s", "source": "./s.md"}], "harness": "claude", "systemPrompt": "low",
        "inputs": {"A": {"default": "1", "description": "keep?"}, "B": "2"}, "env": {"K": "low", "GONE": "x"},
        "mcpServers": {"one": {"command": "one", "args": ["a"]}, "two": {"url": "https://two"}},
        "permissions": {"allow": ["Read", "Bash"], "deny": ["Write"], "mode": "plan"},
        "mount": {"ignoredPatterns": ["x"], "readonlyPatterns": ["r"]}, "limits": {"turns": 3, "usd": 1},
        "harnessSettings": {"reasoning": "low", "timeoutSeconds": 60}
    }));
    env.project_persona(&json!({
        "id": "p", "tags": ["c"], "expertise": [], "inputs": {"A": {"default": "9"}}, "env": {"GONE": null, "NEW": "n"},
        "mcpServers": {"one": {"command": "uno"}, "two": null},
        "permissions": {"allow": ["Grep", "Read"], "removeAllow": ["Bash"], "mode": "default"},
        "mount": {"ignoredPatterns": ["!x", "x"]}, "limits": {"usd": 5}, "harnessSettings": {"reasoning": "high"}
    }));
    let spec = env.run(["show", "p", "--json"]).json()["spec"].clone();
    assert_eq!(
        spec,
        json!({
            "id": "p", "intent": "p", "description": "low", "tags": ["c"], "name": "Low", "expertise": [],
            "skills": [{"id": "s", "source": "./s.md"}], "harness": "claude", "systemPrompt": "low",
            "inputs": {"A": {"default": "9"}, "B": {"default": "2"}}, "env": {"K": "low", "NEW": "n"},
            "mcpServers": {"one": {"command": "uno"}},
            "permissions": {"allow": ["Read", "Grep"], "deny": ["Write"], "mode": "default"},
            "mount": {"ignoredPatterns": ["x", "!x", "x"], "readonlyPatterns": ["r"]}, "limits": {"turns": 3, "usd": 5},
            "harnessSettings": {"reasoning": "high", "timeoutSeconds": 60}
        })
    );
}

#[test]
fn a_prompt_at_the_top_replaces_the_tiers_of_below_but_not_those_of_its_own_file() {
    let env = TestEnv::new();
    env.user_persona(&json!({"id": "p", "intent": "p", "tiers": {
        "best": {"harness": "claude", "model": "opus", "systemPrompt": "low best"},
        "minimum": {"harness": "claude", "model": "haiku", "systemPrompt": "low minimum"}}}));
    env.project_persona(
        &json!({"id": "p", "systemPrompt": "top", "tiers": {"best": {"systemPrompt": "own best"}}}),
    );
    assert_eq!((env.prompt(&["p@best"]), env.prompt(&["p@minimum"])), ("own best".into(), "top".into()));
    assert_eq!(runtime(&env.plan(&["p@minimum"])), "claude/haiku", "the other fields are inherited");
}

#[test]
fn a_flat_overlay_over_a_tiered_base_keeps_the_tiers() {
    let env = TestEnv::new();
    env.project_persona(
        &json!({"id": "engineer", "harness": "codex", "model": "gpt", "systemPrompt": "mine"}),
    );
    for tier in ["best", "best-value", "minimum"] {
        let plan = env.plan(&[&format!("engineer@{tier}")]);
        assert_eq!((runtime(&plan).as_str(), &plan["persona"]["tier"]), ("codex/gpt", &json!(tier)));
        assert!(plan["systemPrompt"].as_str().unwrap().ends_with("\n\nmine"), "{tier}");
        assert_eq!(warnings(&plan), Vec::<String>::new(), "it has tiers, so nothing needs to be said");
    }
    assert_eq!(
        env.plan(&["engineer@best"])["reasoning"],
        "high",
        "what the overlay does not say stays the tier's"
    );
}

#[test]
fn a_tier_can_be_added_by_an_overlay() {
    let env = TestEnv::new();
    env.user_persona(
        &json!({"id": "p", "intent": "p", "tiers": {"minimum": {"harness": "claude", "systemPrompt": "m"}}}),
    );
    env.project_persona(&json!({"id": "p", "tiers": {"best": {"harness": "codex", "systemPrompt": "b"}}}));
    assert_eq!((env.prompt(&["p@best"]), env.prompt(&["p@minimum"])), ("b".into(), "m".into()));
}

// --- Shapes and tiers ------------------------------------------------------------------------------------------------

#[test]
fn a_tiered_persona_runs_at_the_tier_that_was_asked_for() {
    let env = TestEnv::new();
    let tier = |n: &str| json!({"harness": "claude", "model": n, "systemPrompt": n});
    env.user_persona(&json!({"id": "p", "intent": "p", "tiers": {"best": tier("b"), "best-value": tier("v"), "minimum": tier("m")}}));
    for (selector, wanted, name) in [
        ("p", "v", "best-value"),
        ("p@best", "b", "best"),
        ("p@minimum", "m", "minimum"),
        ("P@best-value", "v", "best-value"),
    ] {
        let plan = env.plan(&[selector]);
        assert_eq!(
            (plan["systemPrompt"].as_str().unwrap(), &plan["persona"]["tier"]),
            (wanted, &json!(name))
        );
        assert_eq!(plan["command"]["env"]["AGENTWORKFORCE_TIER"], name);
        assert_eq!(warnings(&plan), Vec::<String>::new());
    }
    env.project_persona(&json!({"id": "p", "defaultTier": "minimum"}));
    assert_eq!(env.prompt(&["p"]), "m");
}

#[test]
fn a_flat_persona_serves_every_tier_and_says_so_when_one_is_asked_for() {
    let env = TestEnv::new();
    env.user_persona(&with(flat("p", "Job"), &json!({"defaultTier": "best"})));
    assert_eq!(warnings(&env.plan(&["p"])), Vec::<String>::new());
    assert_eq!(env.plan(&["p"])["persona"]["tier"], "best");
    for tier in ["best", "best-value", "minimum"] {
        let plan = env.plan(&[&format!("p@{tier}")]);
        assert_eq!(plan["persona"]["tier"], tier);
        has_warning(&plan, &["one runtime for every tier", &format!("`@{tier}` changes nothing")]);
    }
}

#[test]
fn a_thin_persona_is_complete() {
    let env = TestEnv::new();
    env.user_persona(&json!({"id": "p", "role": "engineer"}));
    let plan = env.plan(&["p@best"]);
    assert_eq!((runtime(&plan).as_str(), &plan["persona"]["tier"]), ("claude/-", &json!("best")));
    assert_eq!(warnings(&plan), Vec::<String>::new());
    assert!(!plan["command"]["args"].to_string().contains("--model"));
}

#[test]
fn a_handler_persona_is_listed_with_the_reason_why_it_does_not_run() {
    let env = TestEnv::new();
    env.user_persona(&json!({"id": "p", "intent": "p", "description": "d", "onEvent": "./agent.ts", "integrations": {}, "cloud": true}));
    let row = env.row("p");
    assert_eq!(
        (&row["runnable"], &row["harness"], &row["rating"]),
        (&json!(false), &json!(null), &json!(null))
    );
    assert!(
        row["reason"].as_str().unwrap().contains("a handler persona")
            && row["reason"].as_str().unwrap().contains("onEvent")
    );
    env.run(["agent", "p", "--dry-run"]).fails(2, "persona `p` cannot be run: a handler persona");
    let shown = env.run(["show", "p", "--json"]).json();
    assert_eq!((&shown["runnable"], &shown["spec"]["onEvent"]), (&json!(false), &json!("./agent.ts")));
    assert!(env.run(["list"]).stdout.contains("not runnable"));
    // Given a role it runs.
    env.project_persona(&json!({"id": "p", "role": "engineer"}));
    assert_eq!(env.row("p")["runnable"], true);
}

#[test]
fn a_persona_that_says_nothing_is_listed_as_not_runnable() {
    let env = TestEnv::new();
    env.user_persona(&json!({"id": "p"}));
    assert_eq!(env.row("p")["reason"], "it names no harness, prompt, sidecar or role");
    env.run(["agent", "p", "--dry-run"]).fails(2, "it names no harness, prompt, sidecar or role");
}

#[test]
fn a_missing_tier_names_those_that_exist() {
    let env = TestEnv::new();
    env.user_persona(&json!({"id": "p", "intent": "p", "tiers": {"best": {"harness": "claude"}, "minimum": {"harness": "claude"}}}));
    env.run(["agent", "p@best-value", "--dry-run"])
        .fails(2, "persona `p` has no tier `best-value`")
        .fails(2, "it has best, minimum");
    let plan = env.plan(&["p"]);
    assert_eq!(plan["persona"]["tier"], "best");
    has_warning(&plan, &["has no tier `best-value`; using `best`"]);
}

#[test]
fn a_tier_nobody_knows_is_reported_and_the_others_work() {
    let env = TestEnv::new();
    env.user_persona(&json!({"id": "p", "intent": "p", "tiers": {"best": {"harness": "claude", "systemPrompt": "b"}, "minmum": {"harness": "codex"}}}));
    let plan = env.plan(&["p@best"]);
    assert_eq!(plan["systemPrompt"], "b");
    has_warning(&plan, &["tiers.minmum", "did you mean `minimum`?"]);
    assert_eq!(
        env.run(["list", "--all", "--json"]).json()["personas"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|row| row["persona"] == "p")
            .count(),
        1
    );
}

#[test]
fn selectors_that_make_no_sense_say_what_would() {
    let env = TestEnv::new();
    env.run(["agent", "engineer@bets", "--dry-run"])
        .fails(2, "`bets` is not a tier")
        .fails(2, "did you mean `best`?")
        .fails(2, "best, best-value, minimum");
    env.run(["agent", "engineer@", "--dry-run"])
        .fails(2, "is not a tier")
        .fails(2, "best, best-value, minimum");
    env.run(["agent", "engineer@best@best", "--dry-run"]).fails(2, "`best@best` is not a tier");
    env.run(["agent", "@best", "--dry-run"]).fails(2, "names no persona");
    env.run(["agent", "", "--dry-run"]).fails(2, "names no persona");
    env.run(["agent", "enginer", "--dry-run"])
        .fails(2, "there is no persona `enginer`")
        .fails(2, "did you mean `engineer`?")
        .fails(2, "agentworkforce list");
    env.run(["agent", "zzzzz", "--dry-run"]).fails(2, "agentworkforce list");
    env.run(["agent", "engineer@BEST", "--dry-run"]).fails(2, "is not a tier");
}

#[test]
fn list_filters_by_tier_harness_and_tag() {
    let env = TestEnv::new();
    env.user_persona(&json!({"id": "p", "intent": "p", "tags": ["special"], "tiers": {"best": {"harness": "codex", "model": "b"}, "best-value": {"harness": "claude", "model": "v"}}}));
    let rows = |args: &[&str]| {
        let mut all = vec!["list", "--json"];
        all.extend(args);
        let list = env.run(all).json();
        list["personas"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| {
                format!(
                    "{} {} {}",
                    row["persona"].as_str().unwrap(),
                    row["rating"].as_str().unwrap(),
                    row["harness"].as_str().unwrap()
                )
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(rows(&["--tag", "special"]), ["p best-value claude"]);
    assert_eq!(rows(&["--tag", "special", "--all"]), ["p best codex", "p best-value claude"]);
    assert_eq!(rows(&["--tag", "special", "--tier", "best"]), ["p best codex"]);
    assert_eq!(rows(&["--tag", "special", "--tier", "minimum"]), Vec::<String>::new());
    assert_eq!(
        rows(&["--filter-tag", "special", "--no-recommended", "--filter-harness", "codex"]),
        ["p best codex"]
    );
    assert_eq!(rows(&["--filter-rating", "best", "--filter-tag", "special"]), ["p best codex"]);
    env.run(["list", "--tier", "bst"]).fails(2, "did you mean `best`?");
    env.run(["list", "--harness", "clade"]).fails(2, "did you mean `claude`?");
}

// --- Keys nobody knows -----------------------------------------------------------------------------------------------

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
    assert_eq!((&lint["errors"], &lint["warnings"]), (&json!(0), &json!(3)));
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
    assert_eq!(env.run(["lint", "p", "--json"]).json()["warnings"], 0);
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
