//! What codex holds for us: its sandbox, what it asks, and what it sends to the model.

use crate::support::agent::changed;
use crate::support::wishes::{offered, shell};
use crate::support::{Scratch, Turn};
use agentworkforce::model::tier::Harness;
use serde_json::{Value, json};

/// A command that tries a write in the project, one in the home and a connection, and says which of them worked.
/// The sums keep what it says apart from the command itself, which the model is sent back, too.
fn tries(world: &Scratch) -> String {
    let address = world.model.url().trim_start_matches("http://").replace(':', "/");
    format!(
        "echo x > in.txt && echo project-$((20+3)); echo x > \"$HOME/out.txt\" && echo home-$((20+3)); \
         bash -c 'exec 3<>/dev/tcp/{address}' && echo network-$((20+3)); true"
    )
}

/// What worked, in a world where nothing is temporary: codex leaves temporary places open.
#[track_caller]
fn worked(more: &Value) -> (Scratch, Vec<&'static str>) {
    let world = Scratch::outside_of_temp();
    let escalated = json!({
        "cmd": "echo x > \"$HOME/escalated.txt\"", "sandbox_permissions": "require_escalated", "justification": "please",
    });
    let asks = Turn::call("exec_command", escalated);
    world.model.script([shell(Harness::Codex, &tries(&world)), asks, Turn::text("that is all")]);
    world.plain(Harness::Codex, more);
    let report = world.succeeds(&["--apply", "never"]);
    let said = |what: &&str| world.model.contains(&format!("{what}-23"));
    let found: Vec<&str> = ["project", "home", "network"].into_iter().filter(said).collect();
    assert_eq!(changed(&report), if found.contains(&"project") { vec!["in.txt"] } else { vec![] }, "{more}");
    assert_eq!(world.home().join("out.txt").exists(), found.contains(&"home"), "{more}");
    // Headless nobody can let a command out of the sandbox.
    let let_out = world.home().join("escalated.txt").exists();
    assert!(!let_out, "{more}: a command was let out of the sandbox, and nobody was asked");
    (world, found)
}

#[test]
fn the_sandbox_holds_what_the_persona_says() {
    let settings = |settings: Value| json!({ "harnessSettings": settings });
    let cases: [(Value, &[&str], &[&str]); 7] = [
        (
            json!({
                "harnessSettings": {"sandboxMode": "read-only", "workspaceWriteNetworkAccess": false},
                "permissions": {"mode": "default"},
            }),
            &[],
            &[
                "harnessSettings.sandboxMode",
                "harnessSettings.workspaceWriteNetworkAccess",
                "permissions.mode",
            ],
        ),
        (json!({"permissions": {"mode": "plan"}}), &[], &["permissions.mode"]),
        (json!({"permissions": {"deny": ["Edit", "Write"]}}), &[], &["permissions.deny"]),
        (
            settings(
                json!({"sandboxMode": "workspace-write", "workspaceWriteNetworkAccess": false, "approvalPolicy": "on-request"}),
            ),
            &["project"],
            &[
                "harnessSettings.sandboxMode",
                "harnessSettings.workspaceWriteNetworkAccess",
                "harnessSettings.approvalPolicy",
            ],
        ),
        (
            settings(json!({"workspaceWriteNetworkAccess": true, "approvalPolicy": "never"})),
            &["project", "network"],
            &["harnessSettings.workspaceWriteNetworkAccess", "harnessSettings.approvalPolicy"],
        ),
        (
            settings(json!({"dangerouslyBypassApprovalsAndSandbox": true})),
            &["project", "home", "network"],
            &["harnessSettings.dangerouslyBypassApprovalsAndSandbox"],
        ),
        (
            json!({"permissions": {"mode": "bypassPermissions"}}),
            &["project", "home", "network"],
            &["permissions.mode"],
        ),
    ];
    for (persona, expected, promised) in cases {
        let (world, found) = worked(&persona);
        assert_eq!(found, expected, "{persona}");
        for field in promised {
            world.promises(field);
        }
    }
}

/// Why these are not promised.
#[test]
fn the_sandbox_does_not_hold_everything() {
    for (mode, network) in [("read-only", true), ("danger-full-access", false)] {
        let settings = json!({"sandboxMode": mode, "workspaceWriteNetworkAccess": network});
        let (world, found) = worked(&json!({ "harnessSettings": settings }));
        assert_eq!(found.contains(&"network"), !network, "{mode}: it can be promised after all");
        assert_eq!(world.row("harnessSettings.workspaceWriteNetworkAccess").0, "unsupported");
    }
    for mode in ["default", "acceptEdits"] {
        let (world, found) = worked(&json!({"permissions": {"mode": mode}}));
        assert_eq!(found, ["project"], "{mode}");
        assert_eq!(world.row("permissions.mode").0, "advisory");
    }
}

#[test]
fn model_effort_and_search_are_in_the_request() {
    let world = Scratch::new([]);
    // The opposite of what the persona says, each time.
    let config = world.read("home/.codex/config.toml");
    for (wanted, users) in [(true, "disabled"), (false, "live")] {
        world.write("home/.codex/config.toml", format!("web_search = \"{users}\"\n{config}"));
        world.model.script([Turn::text("fine")]);
        let settings = json!({"reasoning": "low", "webSearch": wanted});
        world.plain(Harness::Codex, &json!({"model": "openai/gpt-5.5", "harnessSettings": settings}));
        world.succeeds(&[]);
        let request = &world.model.turns().pop().expect("a turn").body;
        assert_eq!(request["model"], "gpt-5.5");
        assert_eq!(request["reasoning"]["effort"], "low");
        let tools = request["tools"].as_array().expect("tools");
        let search = tools.iter().find(|tool| tool["type"] == "web_search");
        assert_eq!(search.is_some_and(|tool| tool["external_web_access"] == true), wanted, "{search:?}");
        assert!(wanted || search.is_none(), "{search:?}");
        for field in ["model", "harnessSettings.reasoning", "harnessSettings.webSearch"] {
            world.promises(field);
        }
    }
}

#[test]
fn hermetic_leaves_the_servers_of_the_user_out() {
    let mut world = Scratch::new([Turn::text("fine"), Turn::text("fine")]);
    // Without the user's config the built-in provider is what there is.
    world.set_var("CODEX_API_KEY", "scratch-key");
    let endpoint = format!("openai_base_url=\"{}/v1\"", world.model.url());
    world.tester(Harness::Codex, &json!({"hermetic": true}));
    let server = world.root().join("server/probe.js").display().to_string();
    let config = world.read("home/.codex/config.toml");
    let users = format!("{config}\n[mcp_servers.users]\ncommand = \"node\"\nargs = [\"{server}\"]\n");
    world.write("home/.codex/config.toml", users);
    let servers = || {
        let tools = offered(&world.model.turns().pop().expect("a turn").body);
        tools.into_iter().filter(|tool| tool.starts_with("mcp__")).collect::<Vec<_>>()
    };
    world.succeeds(&["--", "-c", &endpoint]);
    assert_eq!(servers(), ["mcp__probe"]);
    world.promises("mcpServers");
    // Added to the user's own, it is no promise.
    world.tester(Harness::Codex, &json!({}));
    world.succeeds(&[]);
    assert_eq!(servers(), ["mcp__probe", "mcp__users"]);
    assert_eq!(world.row("mcpServers").0, "advisory");
}
