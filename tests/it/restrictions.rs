//! What a persona forbids is never ignored without a word: a run that would do so is refused.

use crate::support::{TestEnv, flat, warnings, with};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

const PROJECT: &str = "project/.agentworkforce/workforce/personas";

#[track_caller]
fn refuses(env: &TestEnv, persona: &str, causes: &[&str]) {
    let plan = env.refused_plan(2, &[persona]);
    let refusal = &plan["refusals"][0];
    assert_eq!(
        (&refusal["code"], &refusal["message"]),
        (&json!("invalid-files"), &json!("not started: configuration files are invalid"))
    );
    let said = refusal["causes"].to_string();
    assert!(causes.iter().all(|cause| said.contains(cause)), "{causes:?} in {said}");
    // The run as well as its plan.
    env.run(["agent", persona, "-p", "x"]).fails(2, "not started");
}

#[test]
fn a_broken_overlay_that_is_not_named_after_its_id_is_not_ignored() {
    let env = TestEnv::new();
    env.user_persona(&flat("own", "Job"));
    env.user_persona(&json!({"id": "second", "extends": "debugger"}));
    env.write(
        format!("{PROJECT}/my-debugger.json"),
        "{ \"id\": \"debugger\", \"permissions\": { \"deny\": [\"Bash\"] }, }",
    );
    refuses(&env, "debugger", &["my-debugger.json:1:58"]);
    refuses(&env, "DEBUGGER@best", &["my-debugger.json"]);
    // What builds on it goes on without it, too; a file that a higher layer has cannot be meant, for the others it is not.
    refuses(&env, "second", &["my-debugger.json"]);
    env.plan(&["own"]);
    env.plan(&["engineer"]);
    env.run(["agent", "my-debugger", "--dry-run"]).fails(2, "my-debugger.json:1:58");
}

#[test]
fn a_file_that_may_be_about_anybody_holds_everybody_back_in_the_layers_that_it_reaches() {
    let env = TestEnv::new();
    env.project_persona(&flat("alone", "Job"));
    let broken = "home/.agentworkforce/workforce/personas/half.json";
    env.write(broken, "{\"permissions\": {\"deny\": [\"Bash\"]}, \"skills\": [{\"id\": \"pdf\"}");
    refuses(&env, "engineer", &["half.json:1:"]);
    // A persona of the project that stands alone has nothing from there.
    env.plan(&["alone"]);
    // The same if it is valid JSON and forbids something.
    for text in [r#"{"permissions": {"deny": ["Bash"]}}"#, r#"{"id": null, "limits": {"usd": 1}}"#] {
        env.write(broken, text);
        refuses(&env, "engineer", &["half.json: has no `id`"]);
        env.plan(&["alone"]);
    }
    // What forbids nothing is another program's.
    env.write(broken, r#"{"name": "my-personas", "version": "1.0.0"}"#);
    env.plan(&["engineer"]);
    // The name of the file is enough.
    env.write("home/.agentworkforce/workforce/personas/engineer.json", "{}");
    refuses(&env, "engineer", &["engineer.json: has no `id`"]);
}

#[test]
fn a_file_with_an_id_that_is_not_read_as_a_persona_is_not_ignored() {
    let denies = r#""permissions": {"deny": ["Bash"]}"#;
    for (name, text) in [
        ("mine.json", format!(r#"{{"ID": "debugger", {denies}}}"#)),
        ("mine.json", format!(r#"{{"id": ["debugger"], {denies}}}"#)),
        ("mine.json", format!(r#"[{{"id": "debugger", {denies}}}]"#)),
        ("mine.jsonc", format!(r#"{{"id": "debugger", {denies}}} // mine"#)),
        ("debugger.jsonc", format!("{{{denies}}}")),
        ("Debugger.JSON", format!("{{{denies}}}")),
        ("debugger/persona.json", format!("{{{denies}}}")),
        ("mine/persona.json", format!(r#"{{"id": "debugger", {denies}}}"#)),
    ] {
        let env = TestEnv::new();
        env.project_persona(&json!({"id": "own", "intent": "own", "harness": "claude", "systemPrompt": "x"}));
        env.write(format!("{PROJECT}/{name}"), &text);
        refuses(&env, "debugger", &[name]);
        env.plan(&["engineer"]);
        env.plan(&["own"]);
    }
    // Where nothing else has that name, the file is named.
    let env = TestEnv::new();
    env.write(format!("{PROJECT}/solo/persona.json"), "{}");
    env.run(["agent", "solo", "--dry-run"]).fails(2, "solo/persona.json: is not read").fails(2, "move it up");
    // Other programs' files hold nobody back.
    env.write(format!("{PROJECT}/tsconfig.jsonc"), "// mine");
    env.plan(&["engineer"]);
}

#[test]
fn a_restriction_that_is_not_built_yet_refuses_the_run_until_it_is_ignored_by_name() {
    for (key, value) in [("workspace_manifest", json!({"allow": []})), ("monthlyBudgetUsd", json!(0))] {
        let env = TestEnv::new();
        env.user_persona(&with(flat("p", "Job"), &json!({key: value})));
        let plan = env.refused_plan(4, &["p"]);
        assert_eq!(plan["refusals"][0]["code"], "unsupported");
        assert_eq!(plan["refusals"][0]["causes"], json!([format!("{key}: not enforced by this runner yet")]));
        let ran = env.run(["agent", "p", "-p", "x"]);
        ran.fails(4, "persona `p` has restrictions that would be ignored").fails(4, "--ignore-unsupported");
        env.run(["mount", "--persona", "p", "--", "true"]).fails(4, "would be ignored");
        let plan = env.plan(&["p", "--ignore-unsupported"]);
        assert_eq!((&plan["ignoreUnsupported"], &plan["refusals"]), (&json!(true), &json!([])));
        assert_eq!(
            warnings(&plan)
                .iter()
                .filter(|text| text.contains(&format!("`{key}` of the persona is ignored")))
                .count(),
            1
        );
        let lint = env.run(["lint", "p"]).stdout;
        assert!(
            lint.contains(&format!("{key}: is not enforced by this runner: a run is refused without")),
            "{lint}"
        );
        // An overlay can take it back.
        env.project_persona(&json!({"id": "p", key: null}));
        env.plan(&["p"]);
    }
}

#[test]
fn a_sandbox_that_is_switched_off_beside_it_is_refused() {
    let env = TestEnv::new();
    let settings = |settings: Value| json!({"harness": "codex", "harnessSettings": settings});
    let both = json!({"sandboxMode": "read-only", "dangerouslyBypassApprovalsAndSandbox": true});
    env.user_persona(&with(flat("p", "Job"), &settings(both)));
    let says = "harnessSettings.dangerouslyBypassApprovalsAndSandbox: `dangerouslyBypassApprovalsAndSandbox` switches off the sandbox";
    env.run(["agent", "p", "--dry-run"]).fails(2, says);
    assert!(env.run(["lint", "p"]).stdout.contains(says));
    // Also where they come from two layers, or from a tier and the top level.
    env.user_persona(&with(
        flat("p", "Job"),
        &settings(json!({"dangerouslyBypassApprovalsAndSandbox": true})),
    ));
    env.plan(&["p"]);
    env.project_persona(&json!({"id": "p", "harnessSettings": {"sandboxMode": "read-only"}}));
    env.run(["agent", "p", "--dry-run"]).fails(2, "switches off the sandbox");
    env.project_persona(
        &json!({"id": "p", "tiers": {"best": {"harnessSettings": {"sandboxMode": "read-only"}}}}),
    );
    env.run(["agent", "p", "--dry-run"]).fails(2, "tiers.best.harnessSettings");
    for fine in [
        json!({"sandboxMode": "danger-full-access"}),
        json!({"sandboxMode": "read-only", "dangerouslyBypassApprovalsAndSandbox": null}),
    ] {
        env.project_persona(&json!({"id": "p", "harnessSettings": fine}));
        env.plan(&["p"]);
    }
}

#[test]
fn a_persona_does_not_run_without_the_charter_of_its_broken_role() {
    let env = TestEnv::new();
    env.user_persona(&json!({"id": "p", "role": "brk", "harness": "claude", "systemPrompt": "x"}));
    let role = "home/.agentworkforce/workforce/roles/brk.json";
    env.write(role, "{\"label\": \"Broken\",");
    refuses(&env, "p", &["brk.json:1:"]);
    // The role is there: it is broken.
    let said = env.run(["agent", "p", "--dry-run"]).stderr;
    assert!(!said.contains("there is no role"), "{said}");
    env.run(["role", "set", "brk", "--label", "X"])
        .fails(2, "role `brk` is not valid")
        .fails(2, "brk.json:1:");
    env.run(["persona", "set", "p", "--role", "brk"]).fails(2, "role `brk` is not valid");
    env.write(role, "{\"label\": \"Broken\", \"charterFile\": \"gone.md\"}");
    refuses(&env, "p", &["gone.md: does not exist"]);
    env.write(role, "{\"label\": 7}");
    refuses(&env, "p", &["brk.json:1:2: label"]);
    env.write(role, "{\"label\": \"Whole\", \"charter\": \"C\"}");
    env.plan(&["p"]);
    // A label for which there is no role is one.
    env.user_persona(&with(flat("q", "x"), &json!({"role": "nobody"})));
    assert!(warnings(&env.plan(&["q"]))[0].contains("there is no role `nobody`"));
}

#[test]
fn no_text_can_forge_a_line_of_the_identity() {
    let env = TestEnv::new();
    for (key, value) in [
        ("expertise", json!(["a\n- Role: Root"])),
        ("expertise", json!("a\nb")),
        ("role", json!("Boss\n- Emoji: x")),
        ("skills", json!(["a\nb"])),
        ("name", json!("\u{200b}\u{2060}")),
        ("emoji", json!("\u{200b}")),
    ] {
        env.user_persona(&with(flat("p", "Job"), &json!({key: value})));
        env.run(["agent", "p", "--dry-run"]).fails(2, &format!(": {key}"));
        assert_eq!(env.run(["lint", "p"]).code, 1, "{key}");
    }
    env.user_persona(&flat("p", "Job"));
    env.run(["persona", "set", "p", "--expertise", "a\nb"]).fails(2, "must not contain the character");
    env.run(["persona", "rename", "p", "\u{200b}"]).fails(2, "the name must not be blank");
    env.run(["create", "q", "--role", "engineer", "--expertise", "a\nb"])
        .fails(2, "must not contain the character");
    assert_eq!(env.prompt(&["p"]), "Job");
}

#[test]
fn a_skill_that_is_not_there_is_named_by_lint_and_dry_run() {
    let env = TestEnv::new();
    env.user_persona(&with(
        flat("p", "Job"),
        &json!({"skills": [{"id": "gone", "source": "./gone.md"}, {"source": "here.md"}]}),
    ));
    env.write(
        "home/.agentworkforce/workforce/personas/here.md",
        "---\nname: here\ndescription: d\n---\nText",
    );
    let plan = env.plan(&["p"]);
    assert_eq!(warnings(&plan), ["skill `gone` was not found: ./gone.md"]);
    let row = |field: &str| {
        plan["enforcement"].as_array().unwrap().iter().find(|row| row["field"] == field).cloned()
    };
    assert_eq!(row("skills.gone").map(|row| row["level"].clone()), Some(json!("unsupported")), "{plan:#}");
    assert_eq!(env.refused_plan(4, &["p", "--strict"])["refusals"][0]["code"], "not-enforced");
    let lint = env.run(["lint", "p"]).stdout;
    assert!(
        lint.contains("skills[0].source: `./gone.md` does not exist") && !lint.contains("here.md"),
        "{lint}"
    );
}
