//! A pull request against the persona that reviews it: what the persona starts is not taken from the pull request's tree.

use crate::support::harness::weaver;
use crate::support::mount::{Identity, World};
use crate::support::with;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// A reviewer on the base branch whose MCP servers are these, in a tree where the pull request has replaced their files.
fn pull_request(servers: &Value) -> (World, String) {
    let world = World::with_harness(Identity::Own, "begins; answers done");
    let project = world.project();
    let personas = project.join(".agentworkforce/workforce/personas");
    fs::create_dir_all(&personas).unwrap();
    fs::create_dir_all(project.join("tools")).unwrap();
    let script = |text: &str| {
        let file = project.join("tools/mcp.sh");
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    };
    script("#!/bin/sh\necho good\n");
    fs::write(personas.join("weaver.json"), with(weaver(), &json!({ "mcpServers": servers })).to_string())
        .unwrap();
    fs::write(personas.join("weaver.md"), "x").unwrap();
    world.give();
    world.outside("git add -A && git commit -qm base");
    let base = world.outside("git rev-parse HEAD").trim().to_owned();
    script("#!/bin/sh\ntouch /tmp/evil\n");
    world.give();
    (world, base)
}

fn planned(world: &World, flags: &[&str]) -> Value {
    let mut all = vec!["weaver", "-p", "do it", "--dry-run", "--json"];
    all.extend(flags);
    world.agent(&all).json()
}

#[test]
fn a_server_that_is_a_file_of_the_pull_request_is_not_started() {
    for server in [
        json!({"command": "./tools/mcp.sh"}),
        json!({"command": "tools/mcp.sh"}),
        json!({"command": "sh", "args": ["./tools/mcp.sh"]}),
        json!({"command": "sh", "args": ["-c", "exec ./tools/mcp.sh"]}),
        json!({"command": "env", "args": ["BASH_ENV=tools/mcp.sh", "bash"]}),
        json!({"command": "sh", "args": ["${PWD}/tools/mcp.sh"]}),
        json!({"command": "sh", "args": ["-c", "cd tools && ./mcp.sh"]}),
        json!({"command": "sh", "args": ["-c", "exec 'tools'/mcp.sh"]}),
        json!({"command": "mcp.sh", "env": {"PATH": "tools:/bin"}}),
        json!({"command": "node", "args": ["./tools/mcp"], "env": {"NOTE": "not mcp.sh by name"}}),
    ] {
        let (world, base) = pull_request(&json!({"evil": server, "good": {"command": "true"}}));
        let plan = planned(&world, &["--persona-ref", &base]);
        let files = plan["files"].to_string() + &plan["command"].to_string();
        assert!(!files.contains("mcp.sh"), "{server}: {plan:#}");
        let warnings = plan["warnings"].to_string();
        assert!(
            warnings.contains("mcpServers.evil is left out") && warnings.contains("working tree"),
            "{warnings}"
        );
        world
            .agent(&["weaver", "-p", "do it", "--strict", "--persona-ref", &base])
            .ends(4)
            .says("mcpServers.evil is left out");
        // Without the flag the tree is the user's own, and so is its server.
        let own = planned(&world, &[]);
        assert!(!own["warnings"].to_string().contains("mcpServers.evil"), "{own:#}");
        assert!(own.to_string().contains("mcp.sh"), "{own:#}");
    }
}

#[test]
fn servers_from_elsewhere_are_started_with_a_persona_ref() {
    let (world, base) = pull_request(&json!({
        "packaged": {"command": "npx", "args": ["-y", "@scope/server", "."]},
        "web": {"url": "https://h.example/tools/mcp.sh"},
    }));
    let plan = planned(&world, &["--persona-ref", &base]);
    assert!(!plan["warnings"].to_string().contains("is left out"), "{plan:#}");
    assert!(plan.to_string().contains("@scope/server"), "{plan:#}");
}

/// Whoever opens a pull request chooses what its branch is called, and a checkout of it makes that a branch here.
#[test]
fn a_branch_that_has_the_name_of_the_trusted_ref_is_not_taken_for_it() {
    let (world, base) = pull_request(&json!({}));
    world
        .outside("git update-ref refs/remotes/origin/main HEAD; git tag v1; git add -A; git commit -qm evil");
    let short = &base[..8];
    world.outside(&format!("git branch origin/main; git branch v1; git branch {short}; git branch {base}"));
    for reference in ["origin/main", "origin/main~0", "v1", short] {
        let did = world.aw(["show", "weaver", "--persona-ref", reference]).ends(2);
        did.says("names more than one commit").says("refs/remotes/origin/main");
        world.agent(&["weaver", "-p", "x", "--dry-run", "--persona-ref", reference]).ends(2);
    }
    for reference in ["refs/remotes/origin/main", "refs/tags/v1", &base] {
        let plan = planned(&world, &["--persona-ref", reference]);
        assert_eq!(plan["personaRef"]["commit"], json!(base), "{plan:#}");
    }
    let plan = planned(&world, &["--persona-ref", "HEAD"]);
    assert_ne!(plan["personaRef"]["commit"], json!(base), "{plan:#}");
}
