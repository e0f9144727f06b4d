//! There and back: what is exported and imported again is the same persona, and an edit on the way is not lost.

use crate::support::{TestEnv, flat, with};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

const HARNESSES: [&str; 3] = ["claude", "opencode", "codex"];
const PERSONAS: &str = "project/.agentworkforce/workforce/personas";

fn export(env: &TestEnv, selector: &str, to: &str) -> Value {
    env.run(["export", selector, "--to", to, "--json"]).json()
}

fn persona(env: &TestEnv, id: &str) -> Value {
    serde_json::from_str(&env.read(format!("{PERSONAS}/{id}.json"))).expect("JSON")
}

/// Imports this text in a world of its own. Returns that world and the report.
fn imported(name: &str, text: &str) -> (TestEnv, Value) {
    let env = TestEnv::new();
    env.write(format!("in/agents/{name}"), text);
    let ran = env.run(["import", "../in", "--json"]);
    let report = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:#?}"));
    (env, report)
}

fn rich() -> Value {
    with(
        flat(
            "rich",
            "Look at $WHAT, then at ${MUST}. Line\r\n\n---\nname: not a key\n# agentworkforce: {}\n\"\"\"\n",
        ),
        &json!({
            "intent": "looking", "tags": ["t", "ü"], "name": "Rich", "emoji": "🧪", "role": "keeper", "expertise": ["a b", "c"],
            "defaultTier": "best",
            "inputs": {"WHAT": {"default": "it", "description": "d"}, "MUST": {"env": "M"}, "OPT": {"optional": true}},
            "env": {"A": "$B", "C": "d"},
            "mcpServers": {
                "s": {"command": "c", "args": ["${TOKEN}", "x"], "env": {"K": "$OTHER"}},
                "r": {"type": "sse", "url": "https://example.com/x", "headers": {"H": "a ${T} b"}},
            },
            "skills": [{"id": "remote", "source": "https://github.com/a/b", "description": "d"}],
            "permissions": {"allow": ["Read", "Foo(bar)", "mcp__s__t"], "deny": ["Edit", "Write(x/**)"], "mode": "plan"},
            "mount": {"ignoredPatterns": ["x", "!y"], "readonlyPatterns": ["z/"], "revealPatterns": [".env"], "sandbox": "project"},
            "limits": {"turns": 3, "usd": 1.5, "wallSeconds": 60, "idleSeconds": 0.5, "processes": 9, "memoryMb": 512, "diskMb": 100},
            "harnessSettings": {"reasoning": "high", "timeoutSeconds": 9, "sandboxMode": "workspace-write", "webSearch": true},
            "claudeMdContent": "side", "claudeMdMode": "extend", "agentsMdContent": "other",
            "tiers": {
                "best": {"harness": "codex", "model": "gpt", "systemPrompt": "Best at $WHAT."},
                "minimum": {"harness": "claude", "model": "haiku", "harnessSettings": {"reasoning": "low"}},
            },
            "hermetic": true, "bareMode": false, "x-team": {"a": [1, null, 1.5]}, "unknownThing": "\u{7f}\u{2028}",
            "description": "Long. ".repeat(200).trim(),
        }),
    )
}

#[test]
fn a_rich_persona_with_its_role_and_all_tiers_is_the_same_from_every_tier_and_format() {
    let env = TestEnv::new();
    env.project_persona(&rich());
    env.project_role("keeper", &json!({"label": "Keeper", "charter": "Keep it.", "defaultModel": "opus"}));
    for harness in HARNESSES {
        for tier in ["best", "minimum"] {
            let report = export(&env, &format!("rich@{tier}"), harness);
            let content = report["content"].as_str().unwrap();
            let name = report["fileName"].as_str().unwrap();
            for text in [
                content.to_owned(),
                content.replace("\r\n", "\n").replace('\n', "\r\n"),
                format!("\u{feff}{content}\n\n"),
            ] {
                let (other, imported) = imported(name, &text);
                assert_eq!(imported["roles"]["imported"], 1, "{imported:#}");
                assert_eq!(persona(&other, "rich"), rich(), "{tier} through {harness}");
                let role = other.read("project/.agentworkforce/workforce/roles/keeper.json");
                assert_eq!(
                    serde_json::from_str::<Value>(&role).unwrap(),
                    json!({"label": "Keeper", "charter": "Keep it.", "defaultModel": "opus"})
                );
                assert_eq!(export(&other, &format!("rich@{tier}"), harness)["content"], report["content"]);
                let warnings = imported["files"][0]["warnings"].to_string();
                assert!(warnings.contains("the comment of an earlier export adds"), "{warnings}");
                assert!(!warnings.contains("edited since"), "{warnings}");
            }
        }
    }
}

#[test]
fn what_cannot_travel_is_named_by_the_export() {
    let env = TestEnv::new();
    env.write(format!("{PERSONAS}/side.md"), "side");
    env.write(format!("{PERSONAS}/s/SKILL.md"), "---\nname: s\ndescription: d\n---\nx");
    env.project_persona(&with(
        flat("p", "Do."),
        &json!({
            "claudeMd": "side.md", "claudeMdMode": "extend",
            "skills": [{"id": "s", "source": "./s"}, {"id": "r", "source": "https://github.com/a/b"}],
            "harnessSettings": {"dangerouslyBypassApprovalsAndSandbox": true, "webSearch": true},
        }),
    ));
    for harness in HARNESSES {
        let report = export(&env, "p", harness);
        let dropped: Vec<&str> = report["fields"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|field| field["fate"] == "dropped")
            .map(|field| field["field"].as_str().unwrap())
            .collect();
        for field in
            ["claudeMd", "claudeMdMode", "skills.s", "harnessSettings.dangerouslyBypassApprovalsAndSandbox"]
        {
            assert!(dropped.contains(&field), "{field} is not in {dropped:?}");
        }
        let (other, _) = imported(report["fileName"].as_str().unwrap(), report["content"].as_str().unwrap());
        let expected = with(
            flat("p", "Do."),
            &json!({"skills": [{"id": "r", "source": "https://github.com/a/b"}], "harnessSettings": {"webSearch": true}}),
        );
        assert_eq!(persona(&other, "p"), expected, "{harness}");
        other.run(["lint", "--strict"]).succeeds();
        let said = env.run(["export", "p", "--to", harness]).stderr;
        assert!(said.contains("not in the file: claudeMd: a file beside the persona"), "{said}");
        assert!(said.contains("only in the comment"), "{said}");
    }
}

#[test]
fn what_was_edited_in_the_exported_file_wins_and_is_told() {
    let env = TestEnv::new();
    env.project_persona(&with(
        flat("p", "Do the $WHAT job."),
        &json!({
            "emoji": "🧪", "role": "engineer", "expertise": ["e"], "tags": ["t"], "model": "opus",
            "inputs": {"WHAT": {"default": "small"}}, "limits": {"usd": 2},
        }),
    ));
    let edits: [(&str, &[(&str, &str)]); 3] = [
        (
            "claude",
            &[
                ("model: \"opus\"", "model: haiku"),
                ("p for tests", "Another text"),
                ("Do the small job.", "Do the large job."),
            ],
        ),
        (
            "opencode",
            &[
                ("model: \"opus\"", "model: haiku"),
                ("p for tests", "Another text"),
                ("Do the small job.", "Do the large job."),
            ],
        ),
        (
            "codex",
            &[
                ("model = \"opus\"", "model = \"haiku\""),
                ("p for tests", "Another text"),
                ("Do the small job.", "Do the large job."),
            ],
        ),
    ];
    for (harness, edits) in edits {
        let report = env.run(["export", "p", "--to", harness, "--json"]).json();
        let mut text = String::new();
        for line in report["content"].as_str().unwrap().lines() {
            let mut line = line.to_owned();
            if !line.starts_with("# agentworkforce") {
                for (from, to) in edits {
                    line = line.replace(from, to);
                }
            }
            text.push_str(&(line + "\n"));
        }
        let (other, imported) = imported(report["fileName"].as_str().unwrap(), &text);
        let mut expected = persona(&env, "p");
        expected["description"] = json!("Another text");
        expected["systemPrompt"] = json!("Do the large job.");
        if harness == "claude" {
            expected["model"] = json!("haiku");
        } else {
            // The model of claude is no model of theirs, so there was none in the file.
            expected["model"] = persona(&other, "p")["model"].clone();
        }
        expected.as_object_mut().unwrap().remove("inputs");
        assert_eq!(persona(&other, "p"), expected, "{harness}");
        let warnings = imported["files"][0]["warnings"].to_string();
        assert!(warnings.contains("edited since the export"), "{warnings}");
        assert!(warnings.contains("systemPrompt"), "{warnings}");
        assert!(warnings.contains("does not use the inputs WHAT"), "{warnings}");
    }
}

#[test]
fn a_new_name_and_a_broken_comment_are_taken_as_they_are() {
    let env = TestEnv::new();
    let report = export(&env, "debugger", "opencode");
    let (other, _) = imported("my-debugger.md", report["content"].as_str().unwrap());
    let made = persona(&other, "my-debugger");
    assert_eq!(
        (&made["id"], &made["intent"], &made["role"]),
        (&json!("my-debugger"), &json!("debugging"), &json!("engineer"))
    );
    let broken = report["content"].as_str().unwrap().replace("# agentworkforce: {", "# agentworkforce: {{");
    let (other, imported) = imported("debugger.md", &broken);
    assert!(imported["files"][0]["warnings"].to_string().contains("is invalid"), "{imported:#}");
    assert_eq!(persona(&other, "debugger")["role"], Value::Null);
}

#[test]
fn a_role_in_a_comment_cannot_name_another_place_or_come_unasked() {
    let env = TestEnv::new();
    env.project_persona(&with(flat("p", "Do."), &json!({"role": "keeper"})));
    env.project_role("keeper", &json!({"label": "Keeper", "charter": "Keep it."}));
    let report = export(&env, "p", "codex");
    let content = report["content"].as_str().unwrap();
    for (from, to) in [
        ("{\"key\":\"keeper\"", "{\"key\":\"../../../evil\""),
        ("{\"key\":\"keeper\"", "{\"key\":\"engineer\""),
    ] {
        assert!(content.contains(from), "{content}");
        let (other, imported) = imported("p.toml", &content.replace(from, to));
        assert_eq!(imported["roles"]["imported"], 0, "{imported:#}");
        assert!(!other.everything().keys().any(|path| path.contains("evil") || path.contains("/roles/")));
    }
    let (other, _) = imported("p.toml", &content.replace("\"id\":\"p\"", "\"id\":\"../../evil\""));
    assert!(!other.everything().keys().any(|path| path.contains("evil")));
}
