//! What an agent may not do, in whatever spelling and beside whatever keys: nothing of it gets lost unnoticed, and nothing gets wider.

use crate::support::TestEnv;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

const PERSONAS: &str = "project/.agentworkforce/workforce/personas";

/// Imports one file. Returns the persona of the first agent, and all warnings as one text.
#[track_caller]
fn imported(env: &TestEnv, file: &str, text: &str) -> (Value, String) {
    env.write(format!("in/{file}"), text);
    let ran = env.run(["import", &format!("../in/{file}"), "--overwrite", "--json"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:#?}"));
    let row = &report["files"][0];
    let id = row["persona"].as_str().unwrap_or_else(|| panic!("{report:#}"));
    let made = serde_json::from_str(&env.read(format!("{PERSONAS}/{id}.json"))).expect("JSON");
    (made, row["warnings"].to_string())
}

fn markdown(keys: &str) -> String {
    format!("---\nname: a\ndescription: d\n{keys}\n---\nx\n")
}

#[test]
fn a_key_of_another_tool_takes_no_limit_away() {
    let env = TestEnv::new();
    let all = json!(["Bash", "Edit", "Write", "NotebookEdit", "WebFetch", "WebSearch"]);
    for (file, keys, permissions) in [
        (
            "agents/a.md",
            "argument-hint: x\ndisallowedTools: Bash, Write\npermissionMode: plan",
            json!({"deny": ["Bash", "Write"], "mode": "plan"}),
        ),
        ("agents/a.md", "temperature: 0.2\ndisallowedTools: [Bash]", json!({"deny": ["Bash"]})),
        (
            "agents/a.md",
            "mode: subagent\nallowed-tools: Read, Grep",
            json!({"allow": ["Read", "Grep"], "deny": all}),
        ),
        ("agents/a.md", "steps: 4\npermissionMode: plan\npermission: ask", json!({"mode": "plan"})),
        (
            "agents/a.md",
            "steps: 4\npermissionMode: bypassPermissions\npermission: ask",
            json!({"mode": "default"}),
        ),
        (
            "agents/a.md",
            "temperature: 1\ntools: {bash: false}\npermissionMode: bypassPermissions",
            json!({"deny": ["Bash"]}),
        ),
        (".github/agents/a.agent.md", "tools: ['*']\ndisallowedTools: Bash", json!({"deny": ["Bash"]})),
        (".claude/agents/a.md", "tools: {write: false, bash: false}", json!({"deny": ["Write", "Bash"]})),
        (
            ".claude/agents/a.md",
            "tools: {NotebookEdit: false, Read: true}",
            json!({"allow": ["Read"], "deny": ["NotebookEdit"]}),
        ),
        // Of two lists, what both have.
        (
            "agents/a.md",
            "tools: Read, Bash\nallowed-tools: Read, Edit, Write\ndisallowedTools: Grep\ndisallowed-tools: Glob",
            json!({"allow": ["Read", "Bash", "Edit", "Write"],
                "deny": ["Edit", "Write", "NotebookEdit", "WebFetch", "WebSearch", "Bash", "Grep", "Glob"]}),
        ),
    ] {
        let (made, warnings) = imported(&env, file, &markdown(keys));
        assert_eq!(made["permissions"], permissions, "{keys}: {warnings}");
    }
    for keys in ["argument-hint: x\nmaxTurns: 3", "temperature: 1\nmaxTurns: 3", "color: red\nmaxTurns: 3"] {
        assert_eq!(imported(&env, "agents/a.md", &markdown(keys)).0["limits"]["turns"], 3, "{keys}");
    }
}

#[test]
fn a_limit_that_cannot_be_read_is_told() {
    let env = TestEnv::new();
    for (keys, field) in [
        ("permissionMode: strict", "permissionMode"),
        ("maxTurns: few", "maxTurns"),
        ("temperature: 1\nsteps: few", "steps"),
        ("tools: ''", "tools"),
        ("permissions: [x]", "permissions"),
        ("mode: subagent\ntools: {odd: false}", "tools.odd"),
        ("mode: subagent\npermission: {odd: deny}", "permission.odd"),
    ] {
        let (_, warnings) = imported(&env, "agents/a.md", &markdown(keys));
        assert!(
            warnings.contains(&format!("`{field}`")) && warnings.contains("has no effect"),
            "{keys}: {warnings}"
        );
    }
    let (_, warnings) = imported(&env, "agents/a.md", &markdown("color: red\ntools: Read\nmaxTurns: 3"));
    assert_eq!(warnings, "[]");
}

#[test]
fn a_star_and_a_part_of_a_tool_allow_nothing_unasked() {
    let env = TestEnv::new();
    for file in ["a.agent.md", "agents/a.md"] {
        for tools in ["['*']", "[read, '*']"] {
            let (made, _) = imported(&env, file, &markdown(&format!("tools: {tools}")));
            assert_eq!(made["permissions"], Value::Null, "{file} {tools}");
        }
        let (made, warnings) = imported(
            &env,
            file,
            &markdown("tools: ['search', 'execute/runTests', 'createDirectory', 'read/*']"),
        );
        assert_eq!(
            made["permissions"],
            json!({"allow": ["Grep", "Glob", "Read"], "deny": ["WebFetch", "WebSearch"]})
        );
        assert!(warnings.contains("execute/runTests, createDirectory"), "{warnings}");
        let (made, _) = imported(&env, file, &markdown("disallowedTools: '*'"));
        for tool in ["Bash", "Edit", "Write", "WebFetch", "Read"] {
            assert!(
                made["permissions"]["deny"].as_array().expect("denials").contains(&json!(tool)),
                "{made:#}"
            );
        }
        let (made, _) = imported(&env, file, &markdown("disallowedTools: runTests"));
        assert_eq!(made["permissions"], json!({"deny": ["Bash"]}));
    }
}

#[test]
fn a_server_that_is_off_stays_off_and_its_denied_tools_are_denied() {
    let env = TestEnv::new();
    let servers = json!({
        "off": {"command": "evil", "disabled": true},
        "off2": {"command": "evil", "disabled": "yes"},
        "on": {"command": "good", "disabled": false, "disabledTools": ["del", "x y"]},
    });
    let kiro =
        json!({"name": "k", "description": "d", "prompt": "p", "tools": ["read"], "mcpServers": servers});
    let (made, warnings) = imported(&env, ".kiro/agents/k.json", &kiro.to_string());
    assert_eq!(made["mcpServers"], json!({"on": {"command": "good"}}));
    assert!(
        made["permissions"]["deny"].as_array().expect("denials").contains(&json!("mcp__on__del")),
        "{made:#}"
    );
    // What is no name of a tool cannot be denied alone.
    assert!(made["permissions"]["deny"].as_array().expect("denials").contains(&json!("mcp__on")), "{made:#}");
    assert!(warnings.contains("x y"), "{warnings}");

    let codex = "name = 'c'\ndeveloper_instructions = 'x'\n[mcp_servers.s]\ncommand = 'c'\ndisabled_tools = ['del']\nenabled_tools = ['get']\n";
    let (made, warnings) = imported(&env, ".codex/agents/c.toml", codex);
    assert_eq!(made["permissions"], json!({"deny": ["mcp__s__del"]}));
    assert!(warnings.contains("`enabled_tools`") && warnings.contains("get"), "{warnings}");

    let goose = "title: g\nprompt: p\nextensions:\n- {type: stdio, name: s, cmd: c, available_tools: [get]}\n- {type: stdio, name: t, cmd: c, available_tools: []}\n- {type: stdio, name: u, cmd: c, enabled: false}\n";
    let (made, warnings) = imported(&env, "g.yaml", goose);
    assert_eq!(
        made["mcpServers"],
        json!({"s": {"type": "stdio", "command": "c"}, "t": {"type": "stdio", "command": "c"}})
    );
    assert!(warnings.contains("`available_tools`") && !warnings.contains("server `t`"), "{warnings}");

    let copilot = markdown(
        "mcp-servers:\n  s: {command: c, tools: [get]}\n  t: {command: c, tools: ['*']}\n  u: {command: c, tools: []}",
    );
    let (made, warnings) = imported(&env, "a.agent.md", &copilot);
    assert!(warnings.contains("`tools`") && warnings.contains("server `s`"), "{warnings}");
    assert!(!warnings.contains("server `t`"), "{warnings}");
    assert_eq!(made["permissions"], json!({"deny": ["mcp__u"]}));
}

#[test]
fn denied_tools_of_servers_in_a_config_of_opencode_are_denied() {
    let env = TestEnv::new();
    let config = |all: Value, own: Value| {
        let mut agent = json!({"prompt": "p", "description": "d"});
        agent.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
        let mut config = json!({"mcp": {"gh": {"type": "local", "command": ["gh"]}, "my.db": {"type": "local", "command": ["db"]}}, "agent": {"x": agent}});
        config.as_object_mut().unwrap().extend(all.as_object().unwrap().clone());
        config.to_string()
    };
    for (all, own, permissions) in [
        (json!({"tools": {"gh_*": false}}), json!({}), json!({"deny": ["mcp__gh"]})),
        (json!({"tools": {"gh*": false}}), json!({}), json!({"deny": ["mcp__gh"]})),
        (json!({"tools": {"gh_*": false}}), json!({"tools": {"gh_*": true}}), json!({"allow": ["mcp__gh"]})),
        (
            json!({"tools": {"gh_delete": false, "my_db_*": false}}),
            json!({}),
            json!({"deny": ["mcp__gh__delete", "mcp__my_db"]}),
        ),
        (json!({"permission": {"gh_*": "deny"}}), json!({}), json!({"deny": ["mcp__gh"]})),
        (
            json!({"permission": {"gh_push": "deny", "gh_get": "allow"}}),
            json!({}),
            json!({"allow": ["mcp__gh__get"], "deny": ["mcp__gh__push"]}),
        ),
        // Less than a server, and not one tool: all of the server.
        (json!({"tools": {"gh_del*": false}}), json!({}), json!({"deny": ["mcp__gh"]})),
        (json!({"tools": {"web*": false}}), json!({}), json!({"deny": ["WebFetch", "WebSearch"]})),
        (
            json!({"tools": {"*": false, "read": true, "gh_*": true}}),
            json!({}),
            json!({"allow": ["Read", "mcp__gh"], "deny": ["Bash", "Edit", "Write", "NotebookEdit", "WebFetch", "WebSearch", "mcp__my_db"]}),
        ),
        (
            json!({"permission": {"*": "deny", "read": "allow", "gh_get": "allow"}}),
            json!({}),
            json!({"allow": ["Read", "mcp__gh__get"], "mode": "default",
                "deny": ["Bash", "Edit", "Write", "NotebookEdit", "WebFetch", "WebSearch", "mcp__my_db"]}),
        ),
    ] {
        let (made, warnings) = imported(&env, "opencode.json", &config(all.clone(), own));
        assert_eq!(made["permissions"], permissions, "{all}: {warnings}");
    }
    imported(&env, "opencode.json", &config(json!({"tools": {"gh_*": false}}), json!({})));
    let plan = env.plan(&["x", "--harness", "opencode"]).to_string();
    assert!(plan.contains("gh_*"), "{plan}");
}

#[test]
fn kiros_denials_hold_or_are_told() {
    let env = TestEnv::new();
    let agent = |settings: Value| {
        let agent = json!({"name": "k", "description": "d", "prompt": "p", "tools": ["*"], "toolsSettings": settings});
        imported(&env, ".kiro/agents/k.json", &agent.to_string())
    };
    let (made, warnings) = agent(json!({
        "fs_read": {"deniedPaths": ["*.{key,pem}", "{a,b/{c,d}}/x"]}, "fs_write": {"deniedPaths": ["*.{lock,sum}"]},
    }));
    assert_eq!(
        made["mount"],
        json!({"ignoredPatterns": ["*.key", "*.pem", "a/x", "b/c/x", "b/d/x"], "readonlyPatterns": ["*.lock", "*.sum"]})
    );
    assert_eq!((&made["permissions"]["deny"], warnings.as_str()), (&Value::Null, "[]"));
    // Braces that cannot be expanded.
    let (made, warnings) = agent(json!({"fs_write": {"deniedPaths": ["a{b"]}}));
    assert_eq!((&made["permissions"]["deny"], &made["mount"]), (&json!(["Edit", "Write"]), &Value::Null));
    assert!(warnings.contains("a{b") && warnings.contains("Edit, Write"), "{warnings}");
    // Outside of the project.
    let (made, warnings) = agent(json!({"fs_read": {"deniedPaths": ["~/.ssh/**", "secrets"]}}));
    assert_eq!(
        (&made["permissions"]["deny"], &made["mount"]),
        (&Value::Null, &json!({"ignoredPatterns": ["secrets"]}))
    );
    assert!(warnings.contains("~/.ssh/**") && warnings.contains("outside of the project"), "{warnings}");
    for (settings, denied) in [
        (json!({"shell": {"deniedCommands": ["git (push|commit).*"]}}), json!(["Bash"])),
        (json!({"grep": {"deniedPaths": ["secrets/**"]}}), json!(["Grep"])),
        (json!({"fs_write": {"deniedPaths": ["/etc/**"]}}), json!(["Edit", "Write"])),
        (json!({"web_fetch": {"blocked": ["x"]}}), json!(["WebFetch"])),
    ] {
        let (made, warnings) = agent(settings.clone());
        assert_eq!(made["permissions"]["deny"], denied, "{settings}");
        assert!(warnings.contains("denied altogether"), "{settings}: {warnings}");
    }
}

#[test]
fn kiros_tools_of_servers_that_the_file_does_not_define_are_told() {
    let env = TestEnv::new();
    let agent = json!({"name": "k", "description": "d", "prompt": "p", "tools": ["read", "@git"]});
    let (made, warnings) = imported(&env, ".kiro/agents/k.json", &agent.to_string());
    assert!(warnings.contains("that the file does not define: mcp__git;"), "{warnings}");
    assert_eq!(made["permissions"]["allow"], Value::Null);
}

#[test]
fn a_budget_of_minions_holds_in_any_spelling_and_its_harness_counts() {
    let env = TestEnv::new();
    let agent = |keys: Value| {
        let mut agent = json!({"prompt": "p"});
        agent.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
        imported(&env, "config.json", &json!({"agents": {"x": agent}}).to_string())
    };
    assert_eq!(agent(json!({"maxBudgetUsd": "5"})).0["limits"], json!({"usd": 5}));
    assert_eq!(agent(json!({"maxBudgetUsd": " 2.5 "})).0["limits"], json!({"usd": 2.5}));
    for said in [json!("five"), json!(-1), json!("NaN"), json!([5])] {
        let (made, warnings) = agent(json!({"maxBudgetUsd": said}));
        assert_eq!(made["limits"], Value::Null);
        assert!(
            warnings.contains("`maxBudgetUsd`") && warnings.contains("has no effect"),
            "{said}: {warnings}"
        );
    }
    assert_eq!(agent(json!({"defaultCli": "codex"})).0["harness"], "codex");
    assert_eq!(agent(json!({"cli": "opencode", "defaultCli": "codex"})).0["harness"], "opencode");
}
