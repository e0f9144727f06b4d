//! Texts of a persona, as the real harnesses read them: neither options nor references of their own.

use crate::support::agent::changed;
use crate::support::wishes::shell_call;
use crate::support::{Scratch, Turn};
use agentworkforce::model::tier::Harness;
use serde_json::json;

#[test]
fn claude_takes_every_entry_for_one_rule() {
    let commands = ["touch a,b", "touch c.txt", "touch d.txt"];
    let first = Turn::call("Read", json!({"file_path": "nothing"}));
    let wishes = commands.iter().fold(first, |turn, command| {
        let (name, input) = shell_call(Harness::Claude, command);
        turn.and_call(name, input)
    });
    let world = Scratch::new([wishes, Turn::text("that is all")]);
    let permissions = json!({"allow": ["Bash(touch a,b)", "Bash(touch c.txt)", "Bash(touch d.txt)"],
        "deny": ["WebFetch", "Bash(touch d.txt)"]});
    world.plain(Harness::Claude, &json!({ "permissions": permissions }));
    let report = world.succeeds(&["--apply", "never"]);
    assert_eq!(changed(&report), ["a,b", "c.txt"]);
    world.promises("permissions.allow");
    world.promises("permissions.deny");
}

#[test]
fn opencode_fills_in_nothing_but_our_references() {
    let mut world = Scratch::new([Turn::text("fine")]);
    let token = r#"a "quoted" {file:/etc/hosts} \ value"#;
    world.set_var("TOKEN_OF_THE_USER", token);
    world.set_var("SECRETX", "very-secret-value");
    let literal = "{env:SECRETX} {file:/etc/hosts}";
    let file = world.root().join("given.txt").display().to_string();
    let script = "printf '%s|%s|%s' \"$1\" \"$2\" \"$K\" > \"$3\"; exec cat";
    let server = json!({"command": "sh", "args": ["-c", script, "sh", literal, "${TOKEN_OF_THE_USER}", file],
        "env": {"K": literal}});
    world.plain(
        Harness::Opencode,
        &json!({"mcpServers": {"x": server}, "systemPrompt": format!("PROMPT-MARKER {literal}")}),
    );
    let _ = world.report(&["--apply", "never"]);
    assert_eq!(world.read("given.txt"), format!("{literal}|{token}|{literal}"));
    assert!(world.model.contains(&format!("PROMPT-MARKER {literal}")), "the prompt is not literal");
    assert!(!world.model.contains("very-secret-value"));
}
