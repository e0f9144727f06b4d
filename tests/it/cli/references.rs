//! Env references and MCP servers in plans: names, never values.

use crate::support::{TestEnv, flat, warnings, with};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

pub(super) const SECRET: &str = "hunter2-is-the-secret";

pub(super) fn with_secrets() -> TestEnv {
    let mut env = TestEnv::new();
    env.set_var("TOKEN", SECRET);
    env.set_var("EMPTY", "");
    env.user_persona(&with(flat("p", "x"), &json!({
        "env": {"WHOLE": "$TOKEN", "PART": "a ${TOKEN} b", "BARE": "a $TOKEN b", "LOWER": "${token}", "GONE": "$MISSING", "EMPTIED": "x${EMPTY}"},
        "mcpServers": {
            "local": {"command": "run", "args": ["--key=${TOKEN}", "$TOKEN", "plain"], "env": {"K": "$TOKEN", "N": "${MISSING}"}},
            "web": {"type": "http", "url": "https://mcp.example/x", "headers": {"Authorization": "Bearer ${TOKEN}", "X-Key": "$TOKEN", "X-Mix": "a${TOKEN}b", "X-Gone": "$MISSING", "X-Plain": "p"}},
            "no-url": {"url": "https://${MISSING}/"}, "no-arg": {"command": "c", "args": ["${EMPTY}"]}, "no-command": {"command": "$MISSING"}
        }
    })));
    env
}

#[test]
fn a_plan_shows_references_and_never_values() {
    let env = with_secrets();
    for harness in ["claude", "opencode", "codex"] {
        for mode in [&[][..], &["-p", "task"]] {
            let mut args = vec!["agent", "p", "--dry-run", "--json", "--harness", harness];
            args.extend(mode);
            let ran = env.run(&args);
            assert!(!ran.stdout.contains(SECRET) && !ran.stderr.contains(SECRET), "{harness}");
            let plan = ran.json();
            let found = &plan["command"]["env"];
            assert_eq!(
                json!([
                    found["WHOLE"],
                    found["PART"],
                    found["BARE"],
                    found["LOWER"],
                    found["GONE"],
                    found["EMPTIED"]
                ]),
                json!(["${TOKEN}", "a ${TOKEN} b", "a $TOKEN b", "${token}", null, null]),
                "{harness}"
            );
            assert_eq!(plan["mcpServers"], json!(["local", "web"]), "{harness}");
            let said = warnings(&plan);
            for words in [
                "env.GONE",
                "env.EMPTIED",
                "mcpServers.no-url",
                "mcpServers.no-arg",
                "mcpServers.no-command",
                "mcpServers.local.env.N",
                "mcpServers.web.headers.X-Gone",
            ] {
                assert_eq!(
                    said.iter().filter(|text| text.starts_with(&format!("{words} is left out"))).count(),
                    1,
                    "{words}: {said:#?}"
                );
            }
        }
    }
    for command in [
        vec!["show", "p"],
        vec!["show", "p", "--json"],
        vec!["agent", "p", "--dry-run"],
        vec!["lint", "--json"],
        vec!["list", "--json"],
    ] {
        assert!(!env.run(&command).stdout.contains(SECRET), "{command:?}");
    }
}

#[test]
fn each_harness_is_given_the_servers_in_its_own_way() {
    let env = with_secrets();
    let file = |harness: &str, purpose: &str| {
        let plan = env.plan(&["p", "--harness", harness]);
        let files = plan["files"].as_array().unwrap().clone();
        files.iter().find(|file| file["purpose"] == purpose).unwrap()["content"].as_str().unwrap().to_owned()
    };
    let claude: Value = serde_json::from_str(&file("claude", "MCP servers")).unwrap();
    assert_eq!(
        claude,
        json!({"mcpServers": {
            "local": {"type": "stdio", "command": "run", "args": ["--key=${TOKEN}", "${TOKEN}", "plain"], "env": {"K": "${TOKEN}"}},
            "web": {"type": "http", "url": "https://mcp.example/x", "headers": {"Authorization": "Bearer ${TOKEN}", "X-Key": "${TOKEN}", "X-Mix": "a${TOKEN}b", "X-Plain": "p"}}
        }})
    );
    let opencode: Value = serde_json::from_str(&file("opencode", "opencode config")).unwrap();
    assert_eq!(
        opencode["mcp"],
        json!({
            "local": {"type": "local", "command": ["run", "--key={env:AGENTWORKFORCE_JSON_TOKEN}", "{env:AGENTWORKFORCE_JSON_TOKEN}", "plain"], "environment": {"K": "{env:AGENTWORKFORCE_JSON_TOKEN}"}, "enabled": true},
            "web": {"type": "remote", "url": "https://mcp.example/x", "headers": {"Authorization": "Bearer {env:AGENTWORKFORCE_JSON_TOKEN}", "X-Key": "{env:AGENTWORKFORCE_JSON_TOKEN}", "X-Mix": "a{env:AGENTWORKFORCE_JSON_TOKEN}b", "X-Plain": "p"}, "enabled": true}
        })
    );
    let codex: toml::Table = file("codex", "codex profile").parse().unwrap();
    let script = "K=\"${TOKEN}\"; export K; exec run '--key='\"${TOKEN}\" \"${TOKEN}\" plain";
    assert_eq!(
        serde_json::to_value(&codex["mcp_servers"]).unwrap(),
        json!({
            "local": {"command": "sh", "args": ["-c", script], "env_vars": ["TOKEN"]},
            "web": {
                "url": "https://mcp.example/x",
                "bearer_token_env_var": "TOKEN",
                "http_headers": {"X-Plain": "p"},
                "env_http_headers": {"X-Key": "TOKEN", "X-Mix": "AGENTWORKFORCE_MCP_WEB_2"}
            }
        })
    );
    // Strict only where it can be: a persona without servers gets none of the repository's either.
    let is_strict = |id: &str| env.plan(&[id])["command"]["args"].to_string().contains("--strict-mcp-config");
    assert!(is_strict("code-reviewer"));
    // One that inherits them gets the user's too.
    assert!(!is_strict("engineer"));
}
