//! Exported agents in the harnesses that they are for: they are taken, and the comment that carries the persona is
//! passed over.

use crate::support::{Scratch, Turn};
use serde_json::json;

const JOB: &str = "MARKER-OF-THE-JOB";
const DESCRIPTION: &str = "MARKER-OF-THE-DESCRIPTION";

fn exported(harness: &str, dir: &str) -> Scratch {
    let world = Scratch::new([Turn::text("done")]);
    world.persona(&json!({
        "id": "traveller", "intent": "travelling", "description": DESCRIPTION, "emoji": "🧳", "tags": ["on-the-way"],
        "harness": harness, "systemPrompt": format!("{JOB} with $WHAT."), "inputs": {"WHAT": {"default": "care"}},
        "tiers": {"best": {"harness": harness}, "minimum": {"harness": harness}},
    }));
    std::fs::create_dir_all(world.root().join(dir)).expect("writable");
    let out = world.root().join(dir);
    let out = out.to_str().expect("Unicode");
    let mut export = world.agentworkforce(["export", "traveller@best", "--to", harness, "--out", out]);
    world.run(&mut export, "").succeeds();
    world
}

/// What only the comment says.
fn is_silent_about_the_comment(world: &Scratch) {
    assert!(!world.model.contains("on-the-way"), "the comment reached the model");
}

#[test]
fn claude_runs_an_exported_agent() {
    let world = exported("claude", "project/.claude/agents");
    let mut command = world.command("claude");
    command.args(["-p", "--output-format", "stream-json", "--verbose", "--agent", "traveller"]);
    world.run(&mut command, "go").succeeds();
    assert!(world.model.contains(&format!("{JOB} with care.")));
    is_silent_about_the_comment(&world);
}

#[test]
fn opencode_runs_an_exported_agent() {
    let world = exported("opencode", "project/.opencode/agent");
    let mut command = world.command("opencode");
    command.args(["run", "--format", "json", "--agent", "traveller"]);
    world.run(&mut command, "go").succeeds();
    assert!(world.model.contains(&format!("{JOB} with care.")));
    is_silent_about_the_comment(&world);
}

#[test]
fn codex_offers_an_exported_agent() {
    // A home without our model: codex names its agents only to models that it knows.
    let mut world = exported("codex", "codex-home/agents");
    world.set_var("CODEX_HOME", world.root().join("codex-home").display().to_string());
    let mut command = world.command("codex");
    command.args(["debug", "prompt-input", "go"]);
    let ran = world.run(&mut command, "");
    ran.succeeds();
    assert!(ran.stdout.contains(&format!("traveller: {{\\n{DESCRIPTION}")), "{ran:#?}");
}
