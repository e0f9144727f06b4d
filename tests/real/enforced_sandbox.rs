//! `--sandbox strict` around the real harnesses: they work, and keep their own state, and reach nothing else.

use crate::support::agent::changed;
use crate::support::wishes::shell;
use crate::support::{Scratch, Turn};
use agentworkforce::model::tier::Harness;
use serde_json::json;

/// Where the harness notes the conversation, below the home.
fn state(harness: Harness) -> &'static str {
    match harness {
        Harness::Claude => ".claude/projects",
        Harness::Opencode => ".local/share/opencode",
        Harness::Codex => ".codex/sessions",
    }
}

fn only_state_and_temp_are_writable(harness: Harness) {
    let world = Scratch::outside_of_temp();
    // A machine on which claude never ran, as in CI.
    std::fs::remove_file(world.home().join(".claude.json")).expect("ours");
    if harness == Harness::Codex {
        // It keeps conversations in our session where the user has no such directory.
        std::fs::create_dir(world.home().join(state(harness))).expect("ours");
    }
    let temp = tempfile::NamedTempFile::new_in("/tmp").expect("writable");
    let command = format!(
        "echo x > in.txt; echo x > ~/home.txt; echo x > ../beside.txt; echo kept > {}; echo tried-$((20+3))",
        temp.path().display()
    );
    world.model.script([shell(harness, &command), Turn::text("that is all")]);
    // codex's own sandbox is not what is looked at here.
    let settings = json!({"sandboxMode": "danger-full-access"});
    let settings = if harness == Harness::Codex { settings } else { json!({}) };
    world.plain(harness, &json!({"permissions": {"allow": ["Bash"]}, "harnessSettings": settings}));
    let report = world.succeeds(&["--sandbox", "strict"]);
    assert!(world.model.contains("tried-23"), "{}", world.model.requests_text());
    assert_eq!(report["mount"]["sandbox"], "strict", "{report:#}");
    assert_eq!(changed(&report), ["in.txt"], "{report:#}");
    assert!(!world.home().join("home.txt").exists() && !world.root().join("beside.txt").exists());
    assert_eq!(std::fs::read_to_string(temp.path()).expect("readable"), "kept\n");
    let kept = std::fs::read_dir(world.home().join(state(harness))).expect("readable").count();
    assert!(kept > 0, "{harness} kept nothing of the conversation");
}

#[test]
fn claude_works_in_a_strict_sandbox() {
    only_state_and_temp_are_writable(Harness::Claude);
}

#[test]
fn opencode_works_in_a_strict_sandbox() {
    only_state_and_temp_are_writable(Harness::Opencode);
}

#[test]
fn codex_works_in_a_strict_sandbox() {
    only_state_and_temp_are_writable(Harness::Codex);
}
