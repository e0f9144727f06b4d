//! What `lint` and the commands that read mention: texts, models, skills and files that will not do what somebody expects.

use crate::support::{TestEnv, flat, warnings, with};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

const USER: &str = "home/.agentworkforce/workforce/personas";

/// The messages of `lint` for these targets, each with the key before it.
#[track_caller]
fn messages(env: &TestEnv, targets: &[&str]) -> Vec<String> {
    let ran = env.run(["lint", "--json"].iter().chain(targets));
    let report: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:#?}"));
    let line = |problem: &Value| {
        format!("{}: {}", problem["key"].as_str().unwrap(), problem["message"].as_str().unwrap())
    };
    report["problems"].as_array().unwrap().iter().map(line).collect()
}

#[test]
fn a_charter_in_the_legacy_place_is_looked_at() {
    let env = TestEnv::new();
    env.user_persona(&with(flat("p", "x"), &json!({"name": "Kane"})));
    env.write("home/.agentworkforce/workforce/agents/p/charter.md", "You are Kane.");
    let found = messages(&env, &[]);
    assert!(
        found.contains(&": the charter names `Kane`, which a rename would make stale".to_owned()),
        "{found:#?}"
    );
    assert_eq!(messages(&env, &["p"]), found);
    env.user_persona(&flat("q", "x"));
    assert_eq!(messages(&env, &["q"]), [""; 0]);
    env.write("home/.agentworkforce/workforce/agents/p/charter.md", b"\xff");
    assert!(messages(&env, &[]).iter().any(|text| text.contains("is not UTF-8")));
}

#[test]
fn an_import_that_the_mount_does_not_have_is_named() {
    let env = TestEnv::new();
    env.user_persona(&with(flat("p", "x"), &json!({"claudeMd": "side.md"})));
    env.write(format!("{USER}/side.md"), "See @rules.md, @docs/guide.md and @gone/x.md.\n");
    env.write(format!("{USER}/rules.md"), "R");
    env.write("project/docs/guide.md", "G");
    assert_eq!(
        messages(&env, &["p"]).iter().filter(|text| text.contains('@')).collect::<Vec<_>>(),
        [
            ": `@gone/x.md` is neither here nor in the project",
            ": `@rules.md` is looked for in the directory of the run, not beside this file",
        ]
    );
}

#[test]
fn a_list_names_sidecars_that_are_missing() {
    let env = TestEnv::new();
    env.user_persona(&with(flat("p", "x"), &json!({"intent": "i", "claudeMd": "gone.md"})));
    env.user_persona(&with(flat("q", "x"), &json!({"tiers": {"best": {"agentsMd": "gone.md"}}})));
    env.user_persona(&with(flat("r", "x"), &json!({"intent": "i", "claudeMd": "here.md"})));
    env.write(format!("{USER}/here.md"), "Here.");
    let said = warnings(&env.run(["list", "--json"]).json());
    let gone = env.root().join(USER).join("gone.md");
    let line = |key: &str, id: &str| {
        format!(
            "{}: {key}: persona `{id}`: sidecar file not found (create the file, or remove the key)",
            gone.display()
        )
    };
    assert_eq!(said, [line("claudeMd", "p"), line("tiers.best.agentsMd", "q")]);
}

#[test]
fn a_model_that_does_not_fit_its_harness_is_doubted() {
    let env = TestEnv::new();
    let tiers =
        json!({"tiers": {"best": {"model": "gpt-5.4"}, "minimum": {"harness": "codex", "model": "gpt-5.4"}}});
    env.user_persona(&with(flat("p", "x"), &tiers));
    env.user_persona(&with(flat("q", "x"), &json!({"model": "claude-sonet"})));
    assert_eq!(
        messages(&env, &["p", "q"]),
        [
            "tiers.best.model: `gpt-5.4` looks like a model of codex, and the harness is claude",
            "model: no harness is known to have a model `claude-sonet`",
        ]
    );
    assert_eq!(env.run(["lint"]).code, 0, "a doubt is a warning");
}

#[test]
fn a_role_is_a_target_by_its_key() {
    let env = TestEnv::new();
    env.user_role("crew", &json!({"label": "Crew", "charter": "C", "colour": "red"}));
    env.user_role("other", &json!({"label": 7}));
    assert_eq!(messages(&env, &["crew"]), ["colour: unknown field `colour`"]);
    assert_eq!(messages(&env, &["other"]), ["label: must be text, not a number"]);
    assert_eq!(messages(&env, &["writer"]), [""; 0]);
    env.run(["lint", "nobody"]).fails(2, "`nobody` is neither a path nor a persona or role");
}

#[test]
fn a_project_persona_with_a_role_that_only_the_user_has_is_mentioned() {
    let env = TestEnv::new();
    env.user_role("crew", &json!({"label": "Crew", "charter": "C"}));
    let created = env.run(["create", "kane", "--role", "crew"]);
    created.fails(0, "the role `crew` is not in the project but in ");
    let found = messages(&env, &["kane"]);
    assert!(
        found.iter().any(|text| text.starts_with("role: the role `crew` is not in the project")),
        "{found:#?}"
    );
    env.run(["create", "ash", "--role", "crew", "--in", "user", "--json"]).json();
    assert_eq!(messages(&env, &["ash"]).iter().filter(|text| text.starts_with("role:")).count(), 0);
    // `role create` writes where `create` does.
    env.run_with_input(["role", "create", "pilot", "--label", "Pilot"], "Fly.").succeeds();
    assert!(env.run(["create", "lambert-2", "--role", "pilot"]).succeeds().stderr.contains("hint"));
    env.project_role("crew", &json!({"label": "Crew", "charter": "C"}));
    assert_eq!(messages(&env, &["kane"]).iter().filter(|text| text.starts_with("role:")).count(), 0);
}

#[test]
fn a_file_whose_name_is_not_read_is_mentioned() {
    let env = TestEnv::new();
    let text = flat("p", "x").to_string();
    for name in ["p.JSON", "q.jsonc", "r/persona.json", "s__assets/notes.json"] {
        env.write(format!("{USER}/{name}"), &text);
    }
    let said = env.run(["list"]).stderr;
    for name in [
        "p.JSON: is not read: a persona's file ends in `.json`",
        "q.jsonc: is not read",
        "r/persona.json: is not read: a persona is a file directly",
    ] {
        assert!(said.contains(name), "{name} in {said}");
    }
    assert!(!said.contains("notes.json"), "{said}");
    assert_eq!(env.run(["lint"]).code, 0);
    assert_eq!(messages(&env, &[]).len(), 3);
}

#[test]
fn what_is_read_otherwise_than_it_looks_is_mentioned_by_a_run_too() {
    let env = TestEnv::new();
    env.user_persona(&with(
        flat("p", ""),
        &json!({"skills": ["@agent-relay/workspace-layout", "rust"], "env": {"A": "Bearer $TOK", "B": "$TOK"},
            "mcpServers": {"m": {"url": "https://m", "headers": {"Authorization": "Bearer $TOK"}}, "s": {"command": "sh", "args": ["-c", "echo $HOME"]}}}),
    ));
    let said = warnings(&env.plan(&["p"])).join("\n");
    for text in [
        "systemPrompt: the prompt is empty and is treated as not set",
        "skills[0]: `@agent-relay/workspace-layout` is read as a word of expertise, and no skill is provided",
        "env.A: `$TOK` inside a text is not filled in (write `${TOK}`)",
        "mcpServers.m.headers.Authorization: `$TOK` inside a text is not filled in",
    ] {
        assert!(said.contains(text), "{text} in {said}");
    }
    assert!(!said.contains("$HOME") && !said.contains("skills[1]"), "{said}");
}

#[test]
fn a_base_or_persona_that_the_npm_tool_ships_has_its_pack_named() {
    let env = TestEnv::new();
    let hint = "`agentworkforce install @agentworkforce/personas-core` installs it";
    let below =
        "`agentworkforce install @agentworkforce/personas-core --in user` installs it below the project";
    let base = json!({"id": "p", "extends": "flake-hunter"});
    env.project_persona(&base);
    env.run(["agent", "p", "--dry-run"]).fails(2, "extends `flake-hunter` does not match").fails(2, below);
    // Installed beside it, it is no base.
    let installed = flat("flake-hunter", "x");
    let beside = env.project_persona(&installed);
    env.run(["agent", "p", "--dry-run"])
        .fails(2, "names a persona of its own layer (`project`)")
        .fails(2, below);
    std::fs::remove_file(beside).unwrap();
    env.user_persona(&installed);
    env.plan(&["p"]);
    // Below your own layer nothing can be installed.
    let env = TestEnv::new();
    env.user_persona(&base);
    env.run(["agent", "p", "--dry-run"]).fails(2, "move this persona into the project");
    env.run(["agent", "tdd-guard", "--dry-run"]).fails(2, "there is no persona `tdd-guard`").fails(2, hint);
    let other = env.run(["agent", "nobody-at-all", "--dry-run"]).stderr;
    assert!(!other.contains("personas-core"), "{other}");
}

#[test]
fn show_says_where_the_persona_supplies_the_file() {
    let env = TestEnv::new();
    env.write("project/CLAUDE.md", "R");
    env.user_persona(&with(flat("p", "x"), &json!({"claudeMd": "p.md"})));
    env.write(format!("{USER}/p.md"), "P");
    let shown = env.run(["show", "p", "--files", "CLAUDE.md"]).succeeds().stdout.clone();
    assert!(shown.starts_with("CLAUDE.md: supplied by the persona (claudeMd in "), "{shown}");
    assert!(shown.ends_with("in place of the project's file\n"), "{shown}");
    let json = env.run(["show", "p", "--files", "CLAUDE.md", "--json"]).json();
    assert!(json["suppliedBy"].as_str().unwrap().starts_with("claudeMd in "), "{json:#}");
}
