//! Our plans against the real harnesses, carried out by hand: what a persona says is what the model is told.

use crate::support::scratch::PATIENCE;
use crate::support::{Scratch, Turn, processes, staged};
use agentworkforce::model::tier::Harness;
use serde_json::{Value, json};
use std::path::Path;

/// A world with a persona that says a bit of everything, and marks where they must not be seen.
fn world(harness: Harness, script: impl IntoIterator<Item = Turn>) -> Option<Scratch> {
    let mut world = Scratch::new(script)?;
    let server = world.write("mcp.mjs", include_str!("support/mcp_server.mjs"));
    let notes = world.root().join("notes.txt");
    world.set_var("NOTE_OF_THE_USER", "SECRET-VALUE");
    world.write("CLAUDE.md", "ABOVE-THE-PROJECT");
    world.write("AGENTS.md", "ABOVE-THE-PROJECT");
    world.persona(&json!({
        "id": "tester", "intent": "testing", "description": "Tests", "harness": harness.name(),
        "systemPrompt": "SYSTEM-PROMPT-MARK",
        "agentsMdContent": "SIDECAR-MARK", "claudeMdContent": "SIDECAR-MARK",
        "mcpServers": {"notes": {
            "command": "node", "args": [server, notes], "env": {"NOTES_SECRET": "$NOTE_OF_THE_USER"},
        }},
        "permissions": {"allow": ["Read", "Edit", "mcp__notes"], "deny": ["WebFetch"]},
    }));
    Some(world)
}

/// The harness's own name for the server's tool.
fn remember(harness: Harness) -> &'static str {
    if harness == Harness::Opencode { "notes_remember" } else { "mcp__notes__remember" }
}

#[track_caller]
fn was_told_the_persona(world: &Scratch, harness: Harness) {
    for mark in ["SYSTEM-PROMPT-MARK", "SIDECAR-MARK", "TASK-MARK", "MCP-TOOL-DESCRIPTION"] {
        assert!(world.model.contains(mark), "{harness}: {mark} is in no request");
    }
    for mark in ["ABOVE-THE-PROJECT", "SECRET-VALUE"] {
        assert!(!world.model.contains(mark), "{harness}: {mark} is in a request");
    }
}

/// The names of the tools that a request offers, at whatever place.
fn offered(request: &Value) -> Vec<String> {
    let name = |tool: &Value| {
        let name = tool["name"].as_str().or_else(|| tool["function"]["name"].as_str());
        name.unwrap_or_default().to_owned()
    };
    request["tools"].as_array().into_iter().flatten().map(name).collect()
}

/// Whether any file below has this in it.
fn holds(dir: &Path, text: &str) -> bool {
    let entries = std::fs::read_dir(dir).expect("readable");
    entries.flatten().any(|entry| match entry.file_type().expect("a type") {
        kind if kind.is_dir() => holds(&entry.path(), text),
        kind if kind.is_file() => {
            let content = std::fs::read(entry.path()).unwrap_or_default();
            content.windows(text.len()).any(|window| window == text.as_bytes())
        }
        _ => false,
    })
}

#[test]
fn a_headless_plan_tells_the_model_what_the_persona_says() {
    for harness in Harness::ALL {
        let call = Turn::call(remember(harness), json!({"note": "A-NOTE"}));
        let Some(world) = world(harness, [call, Turn::text("done")]) else { return };
        let plan = staged::plan(&world, &["tester", "-p", "TASK-MARK"]);
        let ran = world.run(&mut staged::stage(&world, &plan), "TASK-MARK");
        ran.succeeds();
        was_told_the_persona(&world, harness);
        // The server was asked, with the secret in its environment and in no file of ours.
        assert_eq!(world.read("notes.txt"), "A-NOTE SECRET-VALUE\n", "{harness}: {ran:#?}");
        assert!(world.model.contains("MCP-TOOL-ANSWER"), "{harness}");
        assert!(!holds(&world.root().join("session"), "SECRET-VALUE"), "{harness}");
        let tools = offered(&world.model.turns()[0].body);
        for denied in ["WebFetch", "webfetch"] {
            assert!(!tools.iter().any(|tool| tool == denied), "{harness}: {tools:?}");
        }
    }
}

#[test]
fn a_charter_of_a_megabyte_arrives_whole() {
    for harness in Harness::ALL {
        let Some(world) = Scratch::new([Turn::text("done")]) else { return };
        let charter = format!("CHARTER-BEGINS {}CHARTER-ENDS", "Be careful. ".repeat(90_000));
        world.persona(&json!({
            "id": "tester", "intent": "testing", "description": "Tests", "harness": harness.name(),
            "systemPrompt": charter,
        }));
        let plan = staged::plan(&world, &["tester", "-p", "TASK-MARK"]);
        world.run(&mut staged::stage(&world, &plan), "TASK-MARK").succeeds();
        for mark in ["CHARTER-BEGINS", "CHARTER-ENDS", "TASK-MARK"] {
            assert!(world.model.contains(mark), "{harness}: {mark} is in no request");
        }
    }
}

#[test]
fn an_interactive_plan_asks_nothing_first_and_tells_the_model_the_same() {
    for (harness, ready) in [
        (Harness::Claude, "? for shortcuts"),
        (Harness::Opencode, "Ask anything"),
        (Harness::Codex, "Ask Codex to do anything"),
    ] {
        let Some(world) = world(harness, [Turn::text("ANSWER-FROM-THE-MODEL")]) else { return };
        let plan = staged::plan(&world, &["tester"]);
        let mut terminal = world.terminal(&staged::stage(&world, &plan));
        terminal.wait_for(ready, PATIENCE);
        terminal.enter("TASK-MARK");
        terminal.wait_for("ANSWER-FROM-THE-MODEL", PATIENCE);
        was_told_the_persona(&world, harness);
        terminal.quit(PATIENCE);
        assert_eq!(world.leftovers(), [], "{harness}");
    }
}

/// codex leaves a server behind that later terminals share. Work that it did would be outside of our mount, with its
/// own environment instead of ours.
#[test]
fn codex_in_a_terminal_does_its_own_work_though_a_server_of_the_user_runs() {
    let ready = "Ask Codex to do anything";
    let Some(world) = Scratch::new([Turn::text("FIRST-ANSWER")]) else { return };
    let mut users = world.terminal(&world.command("codex"));
    users.wait_for(ready, PATIENCE);
    users.enter("FIRST-TASK");
    users.wait_for("FIRST-ANSWER", PATIENCE);
    users.quit(PATIENCE);
    let servers = || {
        let left = processes::of_world(&world.root());
        left.into_iter().filter(|process| process.command.contains("app-server")).count()
    };
    assert!(servers() > 0, "codex leaves no server behind any more: this test has nothing to show");

    world.persona(&json!({
        "id": "tester", "intent": "testing", "description": "Tests", "harness": "codex",
        "systemPrompt": "SYSTEM-PROMPT-MARK", "harnessSettings": {"sandboxMode": "workspace-write"},
    }));
    let command = "printenv AGENTWORKFORCE_PERSONA > who.txt";
    world.model.script([Turn::call("exec_command", json!({"cmd": command})), Turn::text("SECOND-ANSWER")]);
    let plan = staged::plan(&world, &["tester"]);
    let mut ours = world.terminal(&staged::stage(&world, &plan));
    ours.wait_for(ready, PATIENCE);
    ours.enter("SECOND-TASK");
    ours.wait_for("SECOND-ANSWER", PATIENCE);
    assert!(servers() > 0, "the user's server is gone");
    assert_eq!(world.read("project/who.txt"), "tester\n");
}
