//! Tools, models, servers and limits of other tools' agents: what they are here, and what is not known about them.

use crate::support::TestEnv;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

const PERSONAS: &str = "project/.agentworkforce/workforce/personas";

fn persona(env: &TestEnv, id: &str) -> Value {
    serde_json::from_str(&env.read(format!("{PERSONAS}/{id}.json"))).expect("JSON")
}

/// Imports one file. Returns the persona, its warnings as one text, and the row.
fn imported(env: &TestEnv, file: &str, text: &str) -> (Value, String, Value) {
    env.write(format!("in/{file}"), text);
    let ran = env.run(["import", &format!("../in/{file}"), "--overwrite", "--json"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:#?}"));
    let row = report["files"][0].clone();
    let id = row["persona"].as_str().unwrap_or_else(|| panic!("{report:#}"));
    (persona(env, id), row["warnings"].to_string(), row)
}

fn claude(env: &TestEnv, keys: &str) -> (Value, String, Value) {
    imported(env, "a.md", &format!("---\nname: a\ndescription: d\n{keys}\n---\nx\n"))
}

#[test]
fn names_of_copilots_tools_in_a_file_of_claude_are_translated() {
    let env = TestEnv::new();
    let (made, warnings, _) = claude(&env, "tools: codebase, editFiles, runCommands, fetch, githubRepo");
    assert_eq!(
        made["permissions"],
        json!({"allow": ["Grep", "Glob", "Edit", "Write", "Bash", "WebFetch"], "deny": ["WebSearch"]})
    );
    assert_eq!(warnings, "[]");
    let (made, _, _) = claude(&env, "tools: ['search/usages', 'Bash(git log:*)', runCommands/x]");
    assert_eq!(made["permissions"]["allow"], json!(["Grep", "Glob", "Bash(git log:*)", "Bash"]));
    let (made, _, _) = claude(&env, "disallowedTools: editFiles");
    assert_eq!(made["permissions"], json!({"deny": ["Edit", "Write"]}));
}

#[test]
fn a_list_of_which_nothing_is_known_limits_and_says_so() {
    let env = TestEnv::new();
    let all = json!(["Bash", "Edit", "Write", "NotebookEdit", "WebFetch", "WebSearch"]);
    let (made, warnings, _) = claude(&env, "tools: flux-tool, other_tool");
    assert_eq!(made["permissions"]["deny"], all);
    assert!(warnings.contains("none of its tools is known here (flux-tool, other_tool)"), "{warnings}");
    let (made, warnings, _) =
        imported(&env, "b.agent.md", "---\ndescription: d\ntools: [githubRepo]\n---\nx\n");
    assert_eq!(made["permissions"], json!({"deny": all}));
    assert!(warnings.contains("none of its tools is known here (githubRepo)"), "{warnings}");
    let (made, warnings, _) = claude(&env, "tools: Read, flux-tool");
    assert_eq!(made["permissions"]["allow"], json!(["Read", "flux-tool"]));
    assert!(warnings.contains("tools that are not known here: flux-tool"), "{warnings}");
}

#[test]
fn names_of_models_in_menus_become_ids_or_are_left_out_with_a_warning() {
    let env = TestEnv::new();
    for (said, model) in [
        ("Claude Sonnet 4.5 (copilot)", json!("claude-sonnet-4-5")),
        ("['GPT-5 (copilot)', 'Claude Opus 4.5']", json!("claude-opus-4-5")),
        ("opus", json!("opus")),
        ("inherit", Value::Null),
    ] {
        let (made, warnings, _) = claude(&env, &format!("model: {said}"));
        assert_eq!((&made["model"], warnings.as_str()), (&model, "[]"), "{said}");
    }
    for foreign in ["GPT-5 (copilot)", "Gemini 2.5 Pro", "Raptor mini (Preview)"] {
        let (made, warnings, _) = claude(&env, &format!("model: {foreign}"));
        assert_eq!((&made["model"], &made["x-claude"]["model"]), (&Value::Null, &json!(foreign)));
        assert!(warnings.contains("is not a model of claude: the harness chooses one"), "{warnings}");
    }
    let (made, warnings, _) =
        imported(&env, "b.agent.md", "---\ndescription: d\nmodel: Claude Sonnet 4\n---\nx\n");
    assert_eq!((&made["model"], warnings.as_str()), (&json!("claude-sonnet-4-0"), "[]"));
}

#[test]
fn a_value_that_vs_code_asks_for_becomes_an_input() {
    let env = TestEnv::new();
    let keys = "mcp-servers:\n  s:\n    url: https://example.com\n    headers: {Authorization: \"Bearer ${input:api-key}\"}\n  t:\n    command: t\n    env: {TOKEN: \"${input:token}\"}";
    let (made, _, _) = imported(&env, "asks.agent.md", &format!("---\ndescription: d\n{keys}\n---\nx\n"));
    assert_eq!(made["mcpServers"]["s"]["headers"], json!({"Authorization": "Bearer ${API_KEY}"}));
    assert_eq!(made["mcpServers"]["t"]["env"], json!({"TOKEN": "${TOKEN}"}));
    assert_eq!(
        made["inputs"],
        json!({
            "API_KEY": {"description": "`api-key` of the MCP server `s`"},
            "TOKEN": {"description": "`token` of the MCP server `t`"},
        })
    );
    env.run(["agent", "asks", "--dry-run"]).fails(2, "API_KEY");
    env.plan(&["asks", "--input", "API_KEY=k", "--input", "TOKEN=t"]);
    env.run(["lint", "asks", "--strict"]).succeeds();
}

#[test]
fn tools_of_servers_that_the_file_does_not_define_are_told() {
    let env = TestEnv::new();
    let servers = "mcpServers:\n  my.docs: {command: npx}\n  docs: {command: npx}";
    let (_, warnings, _) = claude(
        &env,
        &format!("tools: Read, mcp__docs, mcp__my_docs__x, mcp__gh__search, mcp__docs2\n{servers}"),
    );
    assert!(
        warnings.contains("that the file does not define: mcp__gh__search, mcp__docs2; add"),
        "{warnings}"
    );
    let (_, warnings, _) = claude(&env, &format!("tools: Read, mcp__docs__a\n{servers}"));
    assert_eq!(warnings, "[]");
    let (_, warnings, _) =
        imported(&env, "b.agent.md", "---\ndescription: d\ntools: [read, 'github/*']\n---\nx\n");
    assert!(warnings.contains("that the file does not define: mcp__github;"), "{warnings}");
}

#[test]
fn what_kiro_limits_is_limited() {
    let env = TestEnv::new();
    env.write("in/.kiro/agents/prompts/dev.md", "You are a developer.\n");
    let agent = json!({
        "name": "dev", "description": "Develops", "prompt": "file://./prompts/dev.md", "model": "claude-sonnet-4.5",
        "tools": ["fs_read", "fs_write", "execute_bash", "@git", "use_aws"],
        "allowedTools": ["fs_*", "@git/status", "web_search"],
        "toolsSettings": {
            "fs_read": {"deniedPaths": ["./secrets/**"]},
            "write": {"allowedPaths": ["src/**"], "deniedPaths": ["Cargo.lock"]},
            "shell": {"deniedCommands": ["git push .*", "a|b"]},
        },
        "mcpServers": {"git": {"command": "git-mcp"}}, "resources": ["file://README.md"],
    });
    env.write("in/.kiro/agents/dev.json", agent.to_string());
    let report = env.run(["import", "../in", "--json"]).json();
    assert_eq!((&report["imported"], &report["skipped"]), (&json!(1), &json!(1)), "{report:#}");
    assert_eq!(report["files"][0]["format"], "kiro");
    let made = persona(&env, "dev");
    assert_eq!(
        made["permissions"],
        json!({
            "allow": ["Read", "Edit", "Write", "mcp__git__status"],
            "deny": ["WebFetch", "WebSearch", "Bash(git push:*)", "Bash"], "mode": "default",
        })
    );
    assert_eq!(made["mount"], json!({"ignoredPatterns": ["secrets/**"], "readonlyPatterns": ["Cargo.lock"]}));
    assert_eq!(
        (&made["systemPrompt"], &made["model"]),
        (&json!("You are a developer."), &json!("claude-sonnet-4-5"))
    );
    assert_eq!(made["x-kiro"]["resources"], json!(["file://README.md"]));
    env.run(["lint", "--strict"]).succeeds();
    env.plan(&["dev"]);
}

#[test]
fn kiros_lists_are_upper_limits_in_every_form() {
    let env = TestEnv::new();
    let json = |keys: Value| {
        let mut agent = json!({"name": "k", "description": "d", "prompt": "p"});
        agent.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
        agent.to_string()
    };
    let all = json!(["Bash", "Edit", "Write", "NotebookEdit", "WebFetch", "WebSearch"]);
    for (keys, allow, deny) in [
        (json!({"allowedTools": ["read"]}), json!(["Read"]), all.clone()),
        (json!({"tools": ["*"], "allowedTools": ["read"]}), json!(["Read"]), Value::Null),
        (json!({"tools": ["@builtin"], "allowedTools": []}), Value::Null, Value::Null),
        (json!({"tools": [], "allowedTools": ["write"]}), Value::Null, all.clone()),
        (
            json!({"tools": ["read", "shell"], "toolsSettings": {"shell": {"denyByDefault": true, "allowedCommands": ["ls"]}}}),
            Value::Null,
            json!(["Edit", "Write", "NotebookEdit", "WebFetch", "WebSearch", "Bash"]),
        ),
    ] {
        let (made, _, row) = imported(&env, ".kiro/agents/k.json", &json(keys.clone()));
        assert_eq!(row["format"], "kiro");
        assert_eq!((&made["permissions"]["allow"], &made["permissions"]["deny"]), (&allow, &deny), "{keys}");
    }
    let markdown = "---\nname: m\ndescription: d\ntools: [read, write]\npermissions:\n  - {capability: read, effect: deny, match: ['.env']}\n  - {capability: shell, effect: allow, match: ['npm *']}\n  - {capability: write, effect: deny}\n---\nBe m.\n";
    let (made, _, _) = imported(&env, ".kiro/agents/m.md", markdown);
    assert_eq!(made["mount"], json!({"ignoredPatterns": [".env"]}));
    assert_eq!(
        made["permissions"]["deny"],
        json!(["Bash", "WebFetch", "WebSearch", "Edit", "Write"]),
        "{made:#}"
    );
}

#[test]
fn what_an_agent_and_a_role_of_minions_say_has_an_effect() {
    let env = TestEnv::new();
    env.write("in/agents/ash/charter.md", "Watch.\n");
    env.write("in/agents/kane/charter.md", "Never read.\n");
    env.write(
        "in/config.json",
        json!({
            "roles": {"coder": {"label": "Coder", "charter": "Code.", "defaultCli": "codex"}, "bare": {"label": "Bare", "defaultCli": "opencode"}},
            "agents": {
                "ash": {"name": "Ash", "role": "bare", "maxBudgetUsd": 0, "hermeticHarness": true, "bareMode": true},
                "kane": {"name": "Kane", "role": "coder"},
                "lambert": {"name": "Lambert", "role": "coder", "cli": "codex", "model": "gpt-5", "maxBudgetUsd": 2.5},
                "parker": {"name": "Parker", "prompt": "p", "cli": "gemini"},
            },
        })
        .to_string(),
    );
    let ran = env.run(["import", "../in", "--json"]);
    let report = ran.json();
    assert_eq!((&report["imported"], &report["roles"]["imported"]), (&json!(4), &json!(3)), "{report:#}");
    let ash = persona(&env, "ash");
    assert_eq!(
        ash,
        json!({
            "id": "ash", "intent": "ash", "name": "Ash", "role": "ash-charter",
            "limits": {"usd": 0}, "hermetic": true, "bareMode": true,
        })
    );
    let role: Value =
        serde_json::from_str(&env.read("project/.agentworkforce/workforce/roles/ash-charter.json"))
            .expect("JSON");
    assert_eq!(role, json!({"label": "Bare", "defaultHarness": "opencode", "charter": "Watch."}));
    let prompt = env.prompt(&["ash"]);
    assert_eq!(prompt.matches("Watch.").count(), 1, "{prompt}");
    env.run(["agent", "ash", "-p", "x"]).fails(4, "usd");
    assert_eq!(env.prompt(&["kane"]).matches("Code.").count(), 1);
    assert!(!env.prompt(&["kane"]).contains("Never read."));
    assert_eq!(env.plan(&["kane"])["harness"]["kind"], "codex");
    let lambert = persona(&env, "lambert");
    assert_eq!((&lambert["harness"], &lambert["model"]), (&json!("codex"), &json!("gpt-5")));
    assert_eq!(lambert["limits"], json!({"usd": 2.5}));
    assert_eq!(persona(&env, "parker")["harness"], "claude");
    assert!(
        report["warnings"].to_string().contains("`gemini` is not a harness: claude is used"),
        "{report:#}"
    );
    env.run(["lint", "--strict"]).succeeds();
}
