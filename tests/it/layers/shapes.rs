//! Tiered, flat, thin and handler personas, and how a tier is picked.

use super::has_warning;
use crate::support::{TestEnv, flat, runtime, warnings, with};
use pretty_assertions::assert_eq;
use serde_json::json;

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
    // The persona comes first.
    for command in [
        &["agent", "engneer@bset", "--dry-run"][..],
        &["show", "engneer@bset"],
        &["export", "engneer@bset", "--to", "claude"],
    ] {
        let ran = env.run(command);
        ran.fails(2, "there is no persona `engneer`").fails(2, "did you mean `engineer`?");
    }
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
