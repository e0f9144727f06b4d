//! What plans make of permissions, where only the plan can tell: order and exactness of patterns, terminals.

use crate::support::{TestEnv, flat, with};
use serde_json::{Value, json};

fn plan(harness: &str, more: &Value, flags: &[&str]) -> Value {
    let env = TestEnv::new();
    env.user_persona(&with(with(flat("p", "x"), &json!({ "harness": harness })), more));
    env.plan(&[&["p"], flags].concat())
}

/// What becomes of a demand.
fn level(plan: &Value, field: &str) -> String {
    let rows = plan["enforcement"].as_array().expect("rows");
    let row = rows.iter().find(|row| row["field"] == field);
    row.unwrap_or_else(|| panic!("no {field}: {rows:#?}"))["level"].as_str().expect("a level").to_owned()
}

fn command_line(plan: &Value) -> String {
    let args = plan["command"]["args"].as_array().expect("arguments");
    args.iter().map(|arg| arg.as_str().expect("a text")).collect::<Vec<_>>().join(" ")
}

/// The permission map that opencode gets, in its order.
fn opencode_map(permissions: &Value) -> (Vec<(String, Value)>, Value) {
    let plan = plan("opencode", &json!({ "permissions": permissions }), &["-p", "x"]);
    let files = plan["files"].as_array().expect("files");
    let file = files.iter().find(|file| file["purpose"] == "opencode config").expect("a config");
    let config: Value = serde_json::from_str(file["content"].as_str().expect("a text")).expect("JSON");
    let map = config["agent"]["agentworkforce/p"]["permission"].as_object().expect("a map").clone();
    (map.into_iter().collect(), plan)
}

#[test]
fn on_opencode_a_deny_comes_after_every_allow_that_fits_it() {
    let allow = ["mcp__notes__forget", "mcp__notes"];
    let (map, _) = opencode_map(&json!({"allow": allow, "deny": ["mcp__notes__forget"]}));
    let place = |key: &str| map.iter().position(|(name, _)| name == key).expect("a key");
    assert!(place("notes_forget") > place("notes_*"), "{map:?}");
    assert_eq!(map[place("notes_forget")].1, "deny");
}

#[test]
fn on_opencode_a_tool_of_any_name_is_denied() {
    let (map, plan) = opencode_map(&json!({"mode": "bypassPermissions", "deny": ["bash", "Custom_Tool"]}));
    for name in ["bash", "Custom_Tool", "custom_tool"] {
        assert!(map.contains(&(name.to_owned(), json!("deny"))), "{name}: {map:?}");
    }
    assert_eq!(level(&plan, "permissions.deny"), "enforced");
}

#[test]
fn on_opencode_an_allowed_command_is_that_word_and_not_one_that_begins_with_it() {
    let (map, plan) = opencode_map(&json!({"allow": ["Bash(ls:*)"], "deny": ["Bash(ls -R:*)"]}));
    let expected = json!({"*": "deny", "ls": "allow", "ls *": "allow", "ls -R*": "deny"});
    assert!(map.contains(&("bash".to_owned(), expected)), "{map:?}");
    assert_eq!(level(&plan, "permissions.allow"), "enforced");
    let (_, inexact) = opencode_map(&json!({"allow": ["Edit(src/**)"]}));
    assert_eq!(level(&inexact, "permissions.allow"), "advisory");
}

#[test]
fn on_codex_denied_edits_are_not_a_matter_of_pressing_a_key() {
    let more = json!({"permissions": {"deny": ["Edit", "Write"]}, "harnessSettings": {"approvalPolicy": "on-request"}});
    let plan = plan("codex", &more, &[]);
    assert!(command_line(&plan).contains("--sandbox read-only -a never"), "{}", command_line(&plan));
    assert_eq!(level(&plan, "permissions.deny"), "enforced");
}

#[test]
fn on_codex_in_a_terminal_the_approval_policy_is_one_that_it_knows() {
    for (said, passed, expected) in [
        ("never", "-a never", "enforced"),
        ("on-request", "-a on-request", "enforced"),
        ("on-failure", "-a on-request", "unsupported"),
        ("untrusted", "-a on-request", "unsupported"),
    ] {
        let plan = plan("codex", &json!({"harnessSettings": {"approvalPolicy": said}}), &[]);
        assert!(command_line(&plan).contains(passed), "{said}: {}", command_line(&plan));
        assert_eq!(level(&plan, "harnessSettings.approvalPolicy"), expected, "{said}");
    }
}

#[test]
fn on_claude_a_list_of_allowed_tools_is_not_widened_by_the_users_own_mode() {
    let listed = plan("claude", &json!({"permissions": {"allow": ["Read"]}}), &[]);
    assert!(command_line(&listed).contains("--permission-mode=default"), "{}", command_line(&listed));
    let silent = plan("claude", &json!({}), &[]);
    assert!(!command_line(&silent).contains("--permission-mode"), "{}", command_line(&silent));
    let planning = plan("claude", &json!({"permissions": {"allow": ["Write"], "mode": "plan"}}), &[]);
    assert_eq!(level(&planning, "permissions.allow"), "advisory");
}
