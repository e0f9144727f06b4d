//! The persona's own CLAUDE.md and AGENTS.md: which file, whose, in which mode, and what is rejected.

use crate::support::{TestEnv, flat, warnings, with};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

const USER: &str = "home/.agentworkforce/workforce/personas";
const PROJECT: &str = "project/.agentworkforce/workforce/personas";

fn persona(more: &Value) -> Value {
    with(flat("p", "Job"), more)
}

fn tiered(top: &Value, best: &Value) -> Value {
    let tiers = json!({"best": with(json!({"harness": "claude", "systemPrompt": "Job"}), best), "minimum": {"harness": "claude"}});
    with(json!({"id": "p", "intent": "p", "tiers": tiers}), top)
}

/// `mode content`, or `-` for no sidecar at all.
fn sidecar(plan: &Value) -> String {
    match &plan["sidecar"] {
        Value::Null => "-".into(),
        found => format!("{} {}", found["mode"].as_str().unwrap(), found["content"].as_str().unwrap()),
    }
}

#[track_caller]
fn has_warning(plan: &Value, words: &[&str]) {
    let all = warnings(plan);
    assert!(all.iter().any(|text| words.iter().all(|word| text.contains(word))), "{words:?} not in {all:#?}");
}

/// The persona cannot be used, and the reason names file, place and key.
#[track_caller]
fn rejected(env: &TestEnv, key: &str, reason: &str) {
    let ran = env.run(["agent", "p", "--dry-run"]);
    ran.fails(2, "persona `p` is not valid").fails(2, &format!(": {key}: ")).fails(2, reason);
    let place = ran.stderr.split_once("p.json:").expect("a place").1;
    let numbers: Vec<&str> = place.split(':').take(2).collect();
    assert!(numbers.iter().all(|number| number.parse::<usize>().is_ok_and(|n| n > 0)), "{place}");
    let lint = env.run(["lint", "p"]);
    assert_eq!(lint.code, 1, "{lint:#?}");
    assert!(lint.stdout.contains(reason), "{lint:#?}");
}

/// Rejects this path in every place where a path can stand.
#[track_caller]
fn path_is_rejected(path: &str, reason: &str) {
    for key in ["claudeMd", "agentsMd"] {
        let env = TestEnv::new();
        env.user_persona(&persona(&json!({key: path})));
        rejected(&env, key, reason);
        env.user_persona(&tiered(&json!({}), &json!({key: path})));
        rejected(&env, &format!("tiers.best.{key}"), reason);
    }
}

#[test]
fn a_path_with_dot_dot_is_rejected() {
    for path in ["../p.md", "a/../p.md", "a\\..\\p.md", "..\\p.md", "a/..", "./../p.md"] {
        path_is_rejected(path, "must not leave its directory with `..`");
    }
}

#[test]
fn two_dots_inside_a_name_are_fine() {
    let env = TestEnv::new();
    env.user_persona(&persona(&json!({"claudeMd": "notes..md"})));
    env.write(format!("{USER}/notes..md"), "text");
    assert_eq!(sidecar(&env.plan(&["p"])), "overwrite text");
}

#[test]
fn an_absolute_path_is_rejected() {
    for path in ["/etc/p.md", "\\p.md", "\\\\server\\share\\p.md", "C:\\p.md", "c:p.md"] {
        path_is_rejected(path, "must be relative to the file that names it, not absolute");
    }
}

#[test]
fn an_empty_path_is_rejected() {
    for path in ["", "   "] {
        path_is_rejected(path, "must not be empty");
    }
}

#[test]
fn a_path_that_does_not_end_in_md_is_rejected() {
    for path in ["p", "p.txt", "p.md/", "p.md.bak", "md"] {
        path_is_rejected(path, "must name a `.md` file");
    }
    path_is_rejected("a\0b.md", "must not contain a NUL character");
}

#[test]
fn the_ending_md_may_be_in_any_case_and_in_a_directory_below() {
    let env = TestEnv::new();
    env.user_persona(&persona(&json!({"claudeMd": "deep/er/P.MD"})));
    env.write(format!("{USER}/deep/er/P.MD"), "text");
    assert_eq!(sidecar(&env.plan(&["p"])), "overwrite text");
}

#[test]
fn a_path_that_is_not_text_is_rejected() {
    let env = TestEnv::new();
    for value in [json!(1), json!(["a.md"]), json!({"path": "a.md"}), json!(true)] {
        env.user_persona(&persona(&json!({"claudeMd": value})));
        rejected(&env, "claudeMd", "must be text");
    }
}

#[test]
fn an_unknown_mode_is_rejected() {
    for mode in [json!("append"), json!("Extend"), json!(""), json!(1), json!(["extend"])] {
        for key in ["claudeMd", "agentsMd"] {
            let env = TestEnv::new();
            let mode_key = format!("{key}Mode");
            env.user_persona(&persona(&json!({key: "p.md", &mode_key: mode})));
            env.write(format!("{USER}/p.md"), "text");
            rejected(&env, &mode_key, "overwrite, extend");
            env.user_persona(&tiered(&json!({key: "p.md"}), &json!({&mode_key: mode})));
            rejected(&env, &format!("tiers.best.{mode_key}"), "overwrite, extend");
        }
    }
    let env = TestEnv::new();
    env.user_persona(&persona(&json!({"claudeMd": "p.md", "claudeMdMode": "exted"})));
    env.run(["agent", "p", "--dry-run"]).fails(2, "did you mean `extend`?");
}

#[test]
fn an_unknown_mode_in_an_overlay_is_rejected_where_it_is_parsed_and_the_lower_one_stays() {
    let env = TestEnv::new();
    env.user_persona(&persona(&json!({"claudeMd": "p.md"})));
    env.write(format!("{USER}/p.md"), "text");
    env.project_persona(&json!({"id": "p", "claudeMdMode": "append"}));
    let plan = env.refused_plan(2, &["p"]);
    assert_eq!(
        (sidecar(&plan).as_str(), &plan["persona"]["origin"]["layer"]),
        ("overwrite text", &json!("user"))
    );
    has_warning(&plan, &["project", "p.json:3:3: claudeMdMode: `append` is not one of"]);
}

#[test]
fn a_mode_without_a_path_is_rejected_on_the_merged_whole() {
    let env = TestEnv::new();
    env.user_persona(&persona(&json!({"claudeMdMode": "extend"})));
    rejected(&env, "claudeMdMode", "a mode without a file: nothing sets `claudeMd`");
    env.user_persona(&persona(&json!({"claudeMdMode": "extend", "agentsMd": "p.md"})));
    rejected(&env, "claudeMdMode", "nothing sets `claudeMd`");
    env.user_persona(&tiered(&json!({}), &json!({"agentsMdMode": "extend"})));
    rejected(&env, "tiers.best.agentsMdMode", "nothing sets `agentsMd`");
    // Another tier's path is no path of this tier.
    let mut other = tiered(&json!({}), &json!({"claudeMdMode": "extend"}));
    other["tiers"]["minimum"]["claudeMd"] = json!("p.md");
    env.user_persona(&other);
    rejected(&env, "tiers.best.claudeMdMode", "nothing sets `claudeMd`");
    // For a mode at the top a path in any tier is enough.
    env.write(format!("{USER}/p.md"), "text");
    env.user_persona(&tiered(&json!({"claudeMdMode": "extend"}), &json!({"claudeMd": "p.md"})));
    assert_eq!(sidecar(&env.plan(&["p@best"])), "extend text");
    assert_eq!(sidecar(&env.plan(&["p@minimum"])), "-");
    // Two layers that only say a mode are still a mode without a path.
    let env = TestEnv::new();
    env.user_persona(&persona(&json!({})));
    env.project_persona(&json!({"id": "p", "claudeMdMode": "extend"}));
    let lint = env.run(["lint"]);
    assert_eq!(lint.code, 1, "{lint:#?}");
    assert!(lint.stdout.contains("a mode without a file"), "{lint:#?}");
}

#[test]
fn an_overlay_that_sets_only_the_mode_inherits_the_path() {
    let env = TestEnv::new();
    env.user_persona(&persona(&json!({"claudeMd": "p.md"})));
    env.write(format!("{USER}/p.md"), "text");
    env.write(format!("{PROJECT}/p.md"), "the wrong one");
    env.project_persona(&json!({"id": "p", "claudeMdMode": "extend"}));
    assert_eq!(sidecar(&env.plan(&["p"])), "extend text");
    // Also over what a pack inlined, and over a built-in.
    env.user_persona(&persona(&json!({"claudeMdContent": "inlined"})));
    assert_eq!(sidecar(&env.plan(&["p"])), "extend inlined");
    env.project_persona(&json!({"id": "engineer", "claudeMdMode": "overwrite"}));
    assert_eq!(env.plan(&["engineer"])["sidecar"]["mode"], "overwrite");
}

#[test]
fn a_tier_that_sets_only_the_mode_inherits_the_path() {
    let env = TestEnv::new();
    env.user_persona(&tiered(&json!({"claudeMd": "p.md"}), &json!({"claudeMdMode": "extend"})));
    env.write(format!("{USER}/p.md"), "text");
    assert_eq!(sidecar(&env.plan(&["p@best"])), "extend text");
    assert_eq!(sidecar(&env.plan(&["p@minimum"])), "overwrite text");
}

#[test]
fn a_tier_beats_the_top_level_path_and_mode_independently() {
    let env = TestEnv::new();
    env.write(format!("{USER}/top.md"), "top");
    env.write(format!("{USER}/tier.md"), "tier");
    let cases = [
        (json!({"claudeMd": "top.md"}), json!({"claudeMd": "tier.md"}), "overwrite tier", "overwrite top"),
        (
            json!({"claudeMd": "top.md", "claudeMdMode": "extend"}),
            json!({"claudeMd": "tier.md"}),
            "extend tier",
            "extend top",
        ),
        (
            json!({"claudeMd": "top.md", "claudeMdMode": "extend"}),
            json!({"claudeMdMode": "overwrite"}),
            "overwrite top",
            "extend top",
        ),
        (
            json!({"claudeMd": "top.md"}),
            json!({"claudeMd": "tier.md", "claudeMdMode": "extend"}),
            "extend tier",
            "overwrite top",
        ),
        (json!({}), json!({"claudeMd": "tier.md", "claudeMdMode": "extend"}), "extend tier", "-"),
        (
            json!({"claudeMdContent": "top"}),
            json!({"claudeMd": "tier.md"}),
            "overwrite tier",
            "overwrite top",
        ),
        (
            json!({"claudeMd": "top.md"}),
            json!({"claudeMdContent": "in tier"}),
            "overwrite in tier",
            "overwrite top",
        ),
    ];
    for (top, best, wanted, without) in cases {
        env.user_persona(&tiered(&top, &best));
        assert_eq!(sidecar(&env.plan(&["p@best"])), wanted, "{top} {best}");
        assert_eq!(sidecar(&env.plan(&["p@minimum"])), without, "{top} {best}");
    }
}

#[test]
fn a_sidecar_that_only_the_overlay_declares_is_anchored_to_the_overlay() {
    let env = TestEnv::new();
    env.user_persona(&persona(&json!({})));
    env.write(format!("{USER}/p.md"), "of the user");
    env.project_persona(&json!({"id": "p", "claudeMd": "p.md"}));
    env.write(format!("{PROJECT}/p.md"), "of the project");
    assert_eq!(sidecar(&env.plan(&["p"])), "overwrite of the project");
    let shown = env.run(["show", "p", "--json"]).json();
    assert_eq!(shown["spec"]["claudeMd"], json!(env.root().join(PROJECT).join("p.md")));
}

#[test]
fn a_sidecar_that_only_the_base_declares_is_anchored_to_the_base() {
    let env = TestEnv::new();
    env.user_persona(&persona(&json!({"claudeMd": "p.md"})));
    env.write(format!("{USER}/p.md"), "of the user");
    env.project_persona(&json!({"id": "q", "extends": "p", "description": "overlay"}));
    env.write(format!("{PROJECT}/p.md"), "of the project");
    assert_eq!(sidecar(&env.plan(&["q"])), "overwrite of the user");
    let shown = env.run(["show", "q", "--json"]).json();
    assert_eq!(shown["spec"]["claudeMd"], json!(env.root().join(USER).join("p.md")));
    let origin = env.plan(&["q"])["sidecar"]["origin"].as_str().unwrap().to_owned();
    assert_eq!(origin, format!("claudeMd in {}", env.root().join(USER).join("p.json").display()));
}

#[test]
fn tiers_of_two_layers_are_each_anchored_to_their_own_layer() {
    let env = TestEnv::new();
    env.user_persona(&tiered(&json!({"claudeMd": "p.md"}), &json!({})));
    env.project_persona(&json!({"id": "p", "tiers": {"best": {"claudeMd": "p.md"}}}));
    env.write(format!("{USER}/p.md"), "user");
    env.write(format!("{PROJECT}/p.md"), "project");
    assert_eq!(sidecar(&env.plan(&["p@best"])), "overwrite project");
    assert_eq!(sidecar(&env.plan(&["p@minimum"])), "overwrite user");
    let spec = env.run(["show", "p", "--all", "--json"]).json()["spec"].clone();
    assert_eq!(spec["claudeMd"], json!(env.root().join(USER).join("p.md")));
    assert_eq!(spec["tiers"]["best"]["claudeMd"], json!(env.root().join(PROJECT).join("p.md")));
}

#[test]
fn a_missing_file_is_a_warning_and_a_cleared_field_and_the_run_goes_on() {
    let env = TestEnv::new();
    env.user_persona(&persona(&json!({"claudeMd": "gone.md", "claudeMdMode": "extend"})));
    let plan = env.plan(&["p"]);
    assert_eq!(sidecar(&plan), "-");
    assert_eq!(plan["systemPrompt"], "Job");
    has_warning(&plan, &["claudeMd", "gone.md", "not found"]);
    let lint = env.run(["lint", "p"]);
    assert_eq!(lint.code, 1, "{lint:#?}");
    assert!(lint.stdout.contains("p.json:7:3: claudeMd:"), "{lint:#?}");
    env.run(["agent", "p", "--dry-run", "--strict"]).fails(4, "gone.md");
    // What is there and cannot be read is refused.
    std::fs::create_dir(env.root().join(USER).join("gone.md")).unwrap();
    has_warning(&env.refused_plan(2, &["p"]), &["gone.md", "not a file"]);
    std::fs::remove_dir(env.root().join(USER).join("gone.md")).unwrap();
    std::os::unix::fs::symlink("/nonexistent/x.md", env.root().join(USER).join("gone.md")).unwrap();
    let plan = env.plan(&["p"]);
    has_warning(&plan, &["gone.md", "not found"]);
    assert!(
        !warnings(&plan).iter().any(|text| text.contains("leaves its directory")),
        "never a containment error"
    );
}

#[test]
fn a_missing_tier_file_does_not_fall_back_to_the_top_level() {
    let env = TestEnv::new();
    env.user_persona(&tiered(&json!({"claudeMd": "top.md"}), &json!({"claudeMd": "gone.md"})));
    env.write(format!("{USER}/top.md"), "top");
    let plan = env.plan(&["p@best"]);
    assert_eq!(sidecar(&plan), "-");
    has_warning(&plan, &["tiers.best.claudeMd", "gone.md"]);
    let plan = env.plan(&["p@minimum"]);
    assert_eq!((sidecar(&plan).as_str(), warnings(&plan).len()), ("overwrite top", 0));
}

#[test]
fn a_path_that_does_not_survive_the_merge_is_never_looked_for() {
    let env = TestEnv::new();
    env.user_persona(&persona(&json!({"claudeMd": "gone.md"})));
    env.project_persona(&json!({"id": "p", "claudeMd": "here.md"}));
    env.write(format!("{PROJECT}/here.md"), "here");
    let plan = env.plan(&["p"]);
    assert_eq!((sidecar(&plan).as_str(), warnings(&plan).len()), ("overwrite here", 0));
}

#[test]
fn claude_takes_claude_md_and_opencode_and_codex_take_agents_md() {
    let env = TestEnv::new();
    env.user_persona(&persona(&json!({"claudeMd": "c.md", "agentsMd": "a.md", "agentsMdMode": "extend"})));
    env.write(format!("{USER}/c.md"), "for claude");
    env.write(format!("{USER}/a.md"), "for the others");
    for (harness, wanted, target) in [
        ("claude", "overwrite for claude", "CLAUDE.md"),
        ("opencode", "extend for the others", "AGENTS.md"),
        ("codex", "extend for the others", "AGENTS.md"),
    ] {
        let plan = env.plan(&["p", "--harness", harness]);
        assert_eq!(sidecar(&plan), wanted);
        assert_eq!(plan["sidecar"]["target"], target);
    }
}

#[test]
fn no_harness_takes_the_others_file() {
    for (key, harness, gets) in [
        ("agentsMd", "claude", false),
        ("claudeMd", "opencode", false),
        ("claudeMd", "codex", false),
        ("claudeMd", "claude", true),
        ("agentsMd", "opencode", true),
        ("agentsMd", "codex", true),
        ("agentsMdContent", "claude", false),
        ("claudeMdContent", "codex", false),
    ] {
        let env = TestEnv::new();
        let value = if key.ends_with("Content") { "MARKED" } else { "p.md" };
        env.user_persona(&persona(&json!({key: value})));
        env.write(format!("{USER}/p.md"), "MARKED");
        let plan = env.plan(&["p", "--harness", harness]);
        assert_eq!(sidecar(&plan), if gets { "overwrite MARKED" } else { "-" }, "{key} on {harness}");
        if gets {
            assert_eq!(warnings(&plan).len(), 0);
        } else {
            assert!(!plan["files"].to_string().contains("MARKED"), "{key} on {harness}");
            has_warning(&plan, &[key.trim_end_matches("Content"), harness, "does not read"]);
            env.run(["agent", "p", "--dry-run", "--strict", "--harness", harness]).fails(4, "does not read");
        }
    }
}

#[test]
fn the_sidecar_goes_into_the_working_directory_inside_the_mount() {
    let mut env = TestEnv::new();
    env.user_persona(&persona(&json!({"claudeMdContent": "x"})));
    std::fs::create_dir_all(env.project().join("a/b")).unwrap();
    env.set_cwd("project/a/b");
    let plan = env.plan(&["p"]);
    assert_eq!((&plan["sidecar"]["target"], &plan["mount"]["cwd"]), (&json!("a/b/CLAUDE.md"), &json!("a/b")));
}

#[test]
fn a_link_that_leaves_the_directory_of_its_json_is_not_followed() {
    let env = TestEnv::new();
    env.user_persona(&persona(&json!({"claudeMd": "p.md"})));
    env.write("home/secret.md", "secret");
    let link = env.root().join(USER).join("p.md");
    std::os::unix::fs::symlink("../../../secret.md", &link).unwrap();
    let plan = env.refused_plan(2, &["p"]);
    assert_eq!(sidecar(&plan), "-");
    has_warning(&plan, &["claudeMd", "leaves its directory"]);
    assert!(!plan.to_string().contains("\"secret\""));
    assert_eq!(env.run(["lint", "p"]).code, 1);
    // A directory on the way counts as well.
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(env.home(), env.root().join(USER).join("out")).unwrap();
    env.user_persona(&persona(&json!({"claudeMd": "out/secret.md"})));
    has_warning(&env.refused_plan(2, &["p"]), &["leaves its directory"]);
    // Inside, links are fine; so is a layer that is itself a link.
    env.user_persona(&persona(&json!({"claudeMd": "p.md"})));
    env.write(format!("{USER}/real.md"), "real");
    std::os::unix::fs::symlink("real.md", &link).unwrap();
    assert_eq!(sidecar(&env.plan(&["p"])), "overwrite real");
    std::fs::rename(env.root().join(USER), env.root().join("moved")).unwrap();
    std::os::unix::fs::symlink(env.root().join("moved"), env.root().join(USER)).unwrap();
    assert_eq!(sidecar(&env.plan(&["p"])), "overwrite real");
}

#[test]
fn content_beats_a_path_at_the_same_level() {
    let env = TestEnv::new();
    env.user_persona(&persona(&json!({"claudeMd": "gone.md", "claudeMdContent": "inlined"})));
    let plan = env.plan(&["p"]);
    assert_eq!(
        (sidecar(&plan).as_str(), warnings(&plan).len()),
        ("overwrite inlined", 0),
        "the path is not even looked at"
    );
    env.user_persona(&tiered(&json!({}), &json!({"claudeMd": "gone.md", "claudeMdContent": "in tier"})));
    assert_eq!(sidecar(&env.plan(&["p@best"])), "overwrite in tier");
}

#[test]
fn an_overlays_path_clears_inherited_content_and_the_reverse() {
    let env = TestEnv::new();
    env.user_persona(&persona(&json!({"claudeMdContent": "low"})));
    env.project_persona(&json!({"id": "p", "claudeMd": "p.md"}));
    env.write(format!("{PROJECT}/p.md"), "high");
    assert_eq!(sidecar(&env.plan(&["p"])), "overwrite high");
    assert_eq!(env.run(["show", "p", "--json"]).json()["spec"].get("claudeMdContent"), None);
    // Even where the new file is missing: what was replaced does not come back.
    std::fs::remove_file(env.root().join(PROJECT).join("p.md")).unwrap();
    assert_eq!(sidecar(&env.plan(&["p"])), "-");
    env.user_persona(&persona(&json!({"claudeMd": "p.md"})));
    env.write(format!("{USER}/p.md"), "low");
    env.project_persona(&json!({"id": "p", "claudeMdContent": "high"}));
    assert_eq!(sidecar(&env.plan(&["p"])), "overwrite high");
    assert_eq!(env.run(["show", "p", "--json"]).json()["spec"].get("claudeMd"), None);
    // The other channel and the mode are left alone.
    env.user_persona(&persona(
        &json!({"claudeMdContent": "low", "claudeMdMode": "extend", "agentsMdContent": "other"}),
    ));
    env.project_persona(&json!({"id": "p", "claudeMd": "p.md"}));
    env.write(format!("{PROJECT}/p.md"), "high");
    assert_eq!(sidecar(&env.plan(&["p"])), "extend high");
    assert_eq!(sidecar(&env.plan(&["p", "--harness", "codex"])), "overwrite other");
}

#[test]
fn an_overlays_path_in_a_tier_clears_the_content_of_that_tier_only() {
    let env = TestEnv::new();
    let mut base = tiered(&json!({}), &json!({"claudeMdContent": "low best"}));
    base["tiers"]["minimum"]["claudeMdContent"] = json!("low minimum");
    env.user_persona(&base);
    env.project_persona(&json!({"id": "p", "tiers": {"best": {"claudeMd": "p.md"}}}));
    env.write(format!("{PROJECT}/p.md"), "high");
    assert_eq!(sidecar(&env.plan(&["p@best"])), "overwrite high");
    assert_eq!(sidecar(&env.plan(&["p@minimum"])), "overwrite low minimum");
}

#[test]
fn a_path_over_a_builtin_replaces_what_the_build_inlined() {
    let env = TestEnv::new();
    env.user_persona(&json!({"id": "engineer", "claudeMd": "mine.md"}));
    env.write(format!("{USER}/mine.md"), "mine");
    assert_eq!(env.plan(&["engineer"])["sidecar"]["content"], "mine");
    assert_ne!(env.plan(&["engineer", "--harness", "codex"])["sidecar"]["content"], "mine");
}

#[test]
fn inputs_are_filled_into_what_a_pack_inlined_and_never_into_a_file() {
    let env = TestEnv::new();
    let inputs = json!({"WHO": {"default": "me"}});
    env.user_persona(&persona(&json!({"claudeMdContent": "For $WHO and ${WHO}, $OTHER", "inputs": inputs})));
    assert_eq!(sidecar(&env.plan(&["p"])), "overwrite For me and me, $OTHER");
    env.user_persona(&persona(&json!({"claudeMd": "p.md", "inputs": inputs})));
    env.write(format!("{USER}/p.md"), "For $WHO and ${WHO}\r\n\u{feff}");
    assert_eq!(sidecar(&env.plan(&["p"])), "overwrite For $WHO and ${WHO}\r\n\u{feff}");
    // What our build inlined behaves like its file.
    let own = TestEnv::new();
    let plain = own.plan(&["engineer"])["sidecar"]["content"].as_str().unwrap().to_owned();
    own.user_persona(&json!({"id": "engineer", "inputs": {"WHO": "changed"}, "systemPrompt": "$WHO"}));
    assert_eq!(own.plan(&["engineer"])["sidecar"]["content"], plain);
    assert!(own.plan(&["engineer"])["systemPrompt"].as_str().unwrap().ends_with("changed"));
}

#[test]
fn a_blank_prompt_falls_back_to_the_inlined_content_of_the_harnesss_channel() {
    let env = TestEnv::new();
    env.user_persona(&persona(&json!({"systemPrompt": " ", "claudeMdContent": "c $WHO", "agentsMdContent": "a", "inputs": {"WHO": "me"}})));
    assert_eq!(env.prompt(&["p"]), "c me");
    assert_eq!(env.prompt(&["p", "--harness", "codex"]), "a");
    env.user_persona(&persona(&json!({"systemPrompt": "", "claudeMd": "p.md"})));
    env.write(format!("{USER}/p.md"), "a file is no prompt");
    assert_eq!(env.prompt(&["p"]), "");
}

#[test]
fn the_config_can_keep_the_sidecar_from_codex() {
    let env = TestEnv::new();
    env.user_persona(&persona(&json!({"agentsMdContent": "x", "systemPrompt": "Job"})));
    env.config(&json!({"sidecar": {"codex": "skip"}}));
    let plan = env.plan(&["p", "--harness", "codex"]);
    assert_eq!(sidecar(&plan), "-");
    has_warning(&plan, &["sidecar.codex", "skip"]);
    assert_eq!(sidecar(&env.plan(&["p", "--harness", "opencode"])), "overwrite x");
    env.config(&json!({"sidecar": {"codex": "mount"}}));
    assert_eq!(sidecar(&env.plan(&["p", "--harness", "codex"])), "overwrite x");
    env.config(&json!({"sidecar": {"codex": "never"}}));
    let plan = env.run(["agent", "p", "--harness", "codex", "--dry-run", "--json"]);
    assert!(
        plan.stderr.contains("config.json:3:5: sidecar.codex: `never` is not one of mount, skip"),
        "{plan:#?}"
    );
}

#[test]
fn without_a_mount_the_sidecar_is_skipped_with_a_warning_on_every_harness() {
    let env = TestEnv::new();
    env.user_persona(&persona(&json!({"claudeMdContent": "c", "agentsMdContent": "a"})));
    for harness in ["claude", "opencode", "codex"] {
        for flag in [&["--install-in-repo"][..], &["--mount", "none"]] {
            let mut args = vec!["p", "--harness", harness];
            args.extend(flag);
            let plan = env.plan(&args);
            assert_eq!(sidecar(&plan), "-", "{args:?}");
            assert_eq!(plan["mount"]["backend"], "none");
            has_warning(&plan, &[if harness == "claude" { "CLAUDE.md" } else { "AGENTS.md" }, "no mount"]);
            let row =
                plan["enforcement"].as_array().unwrap().iter().find(|row| row["field"] == "sidecar").unwrap();
            assert_eq!(row["level"], "unsupported");
        }
    }
    env.config(&json!({"mount": "none"}));
    assert_eq!(sidecar(&env.plan(&["p"])), "-");
    let quiet = env.plan(&["dallas", "--mount", "none"]);
    assert!(!warnings(&quiet).iter().any(|text| text.contains("CLAUDE.md")), "nothing to warn of: {quiet:#}");
}

#[test]
fn a_builtin_with_a_sibling_md_has_its_content_inlined_and_no_path() {
    let env = TestEnv::new();
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("personas");
    let mut seen = 0;
    for entry in std::fs::read_dir(&dir).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let id = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let source: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let spec = env.run(["show", &id, "--all", "--json"]).json()["spec"].clone();
        for (key, harness) in [("claudeMd", "claude"), ("agentsMd", "codex")] {
            assert_eq!(spec.get(key), None, "{id}");
            let Some(file) = source[key].as_str() else { continue };
            let text = std::fs::read_to_string(dir.join(file)).unwrap();
            assert_eq!(spec[format!("{key}Content")], json!(text), "{id}");
            let plan = env.plan(&[&id, "--harness", harness]);
            assert_eq!(plan["sidecar"]["content"], json!(text), "{id}");
            assert_eq!(plan["sidecar"]["origin"], format!("{key}Content in built-in library"));
            seen += 1;
        }
    }
    assert!(seen >= 12, "only {seen} sidecars were looked at");
}

/// The crate's own build script, built by itself and run over these files.
struct Build {
    dir: tempfile::TempDir,
}

impl Build {
    fn new() -> Build {
        let dir = tempfile::Builder::new().prefix("aw-build-").tempdir().unwrap();
        let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
        std::fs::create_dir_all(dir.path().join("personas/roles")).unwrap();
        std::fs::create_dir_all(dir.path().join("src")).unwrap();
        std::fs::write(dir.path().join("src/lib.rs"), "").unwrap();
        std::fs::create_dir_all(dir.path().join("build")).unwrap();
        for file in ["build.rs", "build/commit.rs"] {
            std::fs::copy(crate_dir.join(file), dir.path().join(file)).unwrap();
        }
        std::fs::copy(crate_dir.join("Cargo.lock"), dir.path().join("Cargo.lock")).unwrap();
        let manifest = "[package]\nname = \"agentworkforce\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n\
            [build-dependencies]\nserde_json = { version = \"1\", features = [\"preserve_order\"] }\n";
        std::fs::write(dir.path().join("Cargo.toml"), manifest).unwrap();
        Build { dir }
    }

    fn write(&self, path: &str, text: &str) {
        std::fs::write(self.dir.path().join("personas").join(path), text).unwrap();
    }

    /// Whether it builds, and what it says.
    fn run(&self) -> (bool, String) {
        let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args(["build", "--offline", "--quiet"])
            .current_dir(self.dir.path())
            .env("CARGO_TARGET_DIR", self.dir.path().join("target"))
            .env_remove("RUSTFLAGS")
            .output()
            .expect("cargo runs");
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

#[test]
fn a_builtin_that_names_a_missing_md_fails_the_build_and_editing_the_md_rebuilds() {
    let build = Build::new();
    build.write(
        "good.json",
        r#"{"id": "good", "claudeMd": "good.md", "tiers": {"best": {"agentsMd": "good.md"}}}"#,
    );
    build.write("good.md", "first text");
    build.write("roles/crew.json", r#"{"label": "Crew", "charterFile": "crew.md"}"#);
    build.write("roles/crew.md", "the charter");
    let (succeeded, said) = build.run();
    assert!(succeeded, "{said}");
    let embedded = || {
        let mut pending = vec![build.dir.path().join("target")];
        while let Some(dir) = pending.pop() {
            for entry in std::fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                if path.ends_with("library.rs") {
                    return std::fs::read_to_string(path).unwrap();
                }
                if path.is_dir() {
                    pending.push(path);
                }
            }
        }
        panic!("nothing was embedded");
    };
    let text = embedded();
    assert_eq!(text.matches("first text").count(), 2, "{text}");
    assert!(
        text.contains("the charter") && !text.contains("good.md") && !text.contains("charterFile"),
        "{text}"
    );

    // cargo looks at times, whose grain may be coarse.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    build.write("good.md", "second text");
    assert!(build.run().0);
    assert!(embedded().contains("second text"));

    let fails_naming_it = || {
        let (succeeded, said) = build.run();
        assert!(!succeeded && said.contains("nowhere.md") && said.contains("bad.json"), "{said}");
    };
    build.write("bad.json", r#"{"id": "bad", "agentsMd": "nowhere.md"}"#);
    fails_naming_it();
    build.write("bad.json", r#"{"id": "bad", "tiers": {"best": {"claudeMd": "nowhere.md"}}}"#);
    fails_naming_it();
    std::fs::remove_file(build.dir.path().join("personas/bad.json")).unwrap();
    build.write("roles/bad.json", r#"{"label": "Bad", "charterFile": "nowhere.md"}"#);
    fails_naming_it();
}
