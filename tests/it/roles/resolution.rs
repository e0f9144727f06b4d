//! What a role gives a persona: prompt, charter, harness and model, and which level decides.

use super::{crew, json_of};
use crate::support::{TestEnv, flat, runtime, warnings, with};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

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
fn a_role_without_a_label_in_any_layer_is_refused_and_a_label_in_a_lower_one_is_enough() {
    let env = TestEnv::new();
    env.user_role("crew", &json!({"charter": "x"}));
    env.user_persona(&json!({"id": "p", "role": "crew"}));
    let plan = env.refused_plan(2, &["p"]);
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
        let plan = env.refused_plan(2, &["kane"]);
        assert!(
            warnings(&plan).iter().any(|text| text.contains("crew.json") && text.contains("charterFile")),
            "{path}: {plan:#}"
        );
        let lint = env.run(["lint"]);
        assert_eq!(lint.code, 1, "{path}: {lint:#?}");
    }
    env.user_role("crew", &json!({"label": "Crew", "charterFile": "missing.md"}));
    let plan = env.refused_plan(2, &["kane"]);
    assert_eq!(plan["persona"]["role"]["label"], "Crew");
    assert!(
        warnings(&plan).iter().any(|text| text.contains("missing.md") && text.contains("does not exist")),
        "{plan:#}"
    );
    env.write("home/secret.md", "outside");
    std::os::unix::fs::symlink(env.home().join("secret.md"), env.workforce().join("roles/missing.md"))
        .unwrap();
    let plan = env.refused_plan(2, &["kane"]);
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
    env.project_persona(&json!({"id": "p", "model": "", "name": "", "systemPrompt": " ", "harness": ""}));
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
    let plan = env.refused_plan(4, &["p"]);
    assert_eq!(plan["limits"]["usd"], json!(0.0), "zero beats the config: it is a cap");
    assert_eq!(plan["limits"]["turns"], 4, "limits merge per field");
    assert_eq!(usd(&["p", "--max-usd", "2.5"]), json!(2.5));
    env.user_persona(&with(flat("p", "Job"), &json!({"maxBudgetUsd": 3})));
    assert_eq!(usd(&["p"]), json!(3.0));
    env.user_persona(&with(flat("p", "Job"), &json!({"maxBudgetUsd": 3, "limits": {"usd": 1}})));
    assert_eq!(usd(&["p"]), json!(1.0), "the new spelling beats the old one");
    env.config(&json!({"limits": {"usd": 0}}));
    env.user_persona(&flat("p", "Job"));
    let plan = env.refused_plan(4, &["p", "-p", "x"]);
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
