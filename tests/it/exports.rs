//! `export`: personas as agent files of other tools, and back.

use crate::support::{TestEnv, flat, with};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

const HARNESSES: [&str; 3] = ["claude", "opencode", "codex"];

fn builtins(env: &TestEnv) -> Vec<String> {
    let list = env.run(["list", "--json"]).json();
    let rows = list["personas"].as_array().expect("rows").iter();
    rows.map(|row| row["persona"].as_str().expect("an id").to_owned()).collect()
}

/// A persona of the library as it is embedded: with its sidecars as text.
fn built_in(id: &str) -> Value {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("personas");
    let read = |name: &str| std::fs::read_to_string(dir.join(name)).expect("a file of the library");
    let mut persona: Value = serde_json::from_str(&read(&format!("{id}.json"))).expect("JSON");
    let object = persona.as_object_mut().expect("an object");
    for key in ["claudeMd", "agentsMd"] {
        if let Some(file) = object.remove(key) {
            object.insert(format!("{key}Content"), read(file.as_str().expect("a path")).into());
        }
    }
    persona
}

fn export(env: &TestEnv, selector: &str, to: &str) -> Value {
    env.run(["export", selector, "--to", to, "--json"]).json()
}

/// Exports to a file, imports it in a project of its own, and returns that project with the report of the export.
fn there_and_back(env: &TestEnv, selector: &str, to: &str) -> (TestEnv, Value) {
    let report = export(env, selector, to);
    let other = TestEnv::new();
    let name = report["fileName"].as_str().expect("a name");
    other.write(format!("in/{name}"), report["content"].as_str().expect("a text"));
    let imported = other.run(["import", "../in", "--json"]).json();
    assert_eq!(imported["files"][0]["format"], to, "{imported:#}");
    (other, report)
}

/// What a run is decided to be, without what the two projects differ in by nature.
fn decided(env: &TestEnv, id: &str, harness: &str) -> Value {
    let plan = env.plan(&[id, "--harness", harness]);
    let prompt = plan["systemPrompt"].as_str().expect("a prompt").trim_end().to_owned();
    let files = plan["files"].as_array().expect("files").iter();
    let config = files
        .filter_map(|file| file["content"].as_str())
        .find(|text| text.contains("opencode.ai/config.json"));
    let config: Value = config.map_or(Value::Null, |text| serde_json::from_str(text).expect("JSON"));
    json!({"permission": config["agent"][id]["permission"], "prompt": prompt, "model": plan["model"]["value"], "limits": plan["limits"]})
}

fn fate<'r>(report: &'r Value, field: &str) -> &'r Value {
    let fields = report["fields"].as_array().expect("fields");
    let found = fields.iter().find(|fate| fate["field"] == field);
    found.unwrap_or_else(|| panic!("{field} is not in {report:#}"))
}

#[test]
fn every_built_in_comes_back_as_the_same_persona_from_every_format() {
    let env = TestEnv::new();
    let ids = builtins(&env);
    assert!(ids.len() >= 18, "{ids:?}");
    for id in &ids {
        let original = built_in(id);
        for harness in HARNESSES {
            let (other, report) = there_and_back(&env, id, harness);
            let file = other.project().join(format!(".agentworkforce/workforce/personas/{id}.json"));
            let persona: Value =
                serde_json::from_str(&std::fs::read_to_string(&file).expect("imported")).expect("JSON");
            assert_eq!(decided(&env, id, harness), decided(&other, id, harness), "{id} through {harness}");
            assert_eq!(persona, original, "{id} through {harness}");
            // Once more: what has been through it stays the same. Without an intent it is an overlay of the built-in there, whose
            // patterns of the mount are added to, so that the same ones are in it twice.
            if original.get("intent").is_some() {
                assert_eq!(
                    export(&other, id, harness)["content"],
                    report["content"],
                    "{id} through {harness}"
                );
            }
            other.run(["lint", "--strict"]).succeeds();
        }
    }
}

#[test]
fn the_account_speaks_of_every_field_of_the_persona() {
    let env = TestEnv::new();
    env.project_persona(&with(
        flat("whole", "Do $WHAT."),
        &json!({
            "tags": ["t"], "name": "W", "emoji": "x", "expertise": ["e"], "model": "opus",
            "inputs": {"WHAT": {"default": "it"}, "MUST": {}}, "env": {"A": "$B"},
            "mcpServers": {"s": {"command": "c", "args": ["${TOKEN}"]}},
            "permissions": {"allow": ["Read", "Foo(bar)"], "deny": ["Edit", "Write"], "mode": "plan"},
            "mount": {"ignoredPatterns": ["x"]}, "limits": {"turns": 3, "usd": 1.5, "wallSeconds": 60},
            "harnessSettings": {"reasoning": "high", "timeoutSeconds": 9, "sandboxMode": "workspace-write"},
            "claudeMdContent": "side", "hermetic": true, "x-team": 1, "skills": [{"id": "s", "source": "./s"}],
        }),
    ));
    let persona: Value =
        serde_json::from_str(&env.read("project/.agentworkforce/workforce/personas/whole.json")).unwrap();
    for harness in HARNESSES {
        let report = export(&env, "whole", harness);
        let spoken: Vec<&str> =
            report["fields"].as_array().unwrap().iter().map(|fate| fate["field"].as_str().unwrap()).collect();
        for key in persona.as_object().unwrap().keys() {
            let is_spoken_of = |field: &&str| *field == key || field.starts_with(&format!("{key}."));
            assert!(spoken.iter().any(is_spoken_of), "{key} to {harness}: {spoken:?}");
        }
        assert_eq!(fate(&report, "skills.s")["fate"], "dropped");
        assert_eq!(fate(&report, "claudeMdContent")["fate"], "kept");
        assert_eq!(fate(&report, "mount")["fate"], "kept");
    }
    assert_eq!(
        fate(&export(&env, "whole", "codex"), "mcpServers.s")["why"],
        "codex does not allow a variable there"
    );
    assert_eq!(
        fate(&export(&env, "whole", "opencode"), "permissions.allow.Foo(bar)")["why"],
        "opencode has no such permission"
    );
}

#[test]
fn an_export_has_no_value_of_the_environment() {
    let mut env = TestEnv::new();
    env.project_persona(&with(
        flat("p", "Token $TOKEN and $GIVEN."),
        &json!({"inputs": {"TOKEN": {}, "GIVEN": {"default": "d"}}, "mcpServers": {"s": {"url": "https://x", "headers": {"K": "$TOKEN"}}}}),
    ));
    env.set_var("TOKEN", "hunter2");
    env.set_var("GIVEN", "hunter3");
    for harness in HARNESSES {
        let ran = env.run(["export", "p", "--to", harness]);
        assert!(!ran.succeeds().stdout.contains("hunter"), "{ran:#?}");
        assert!(ran.stdout.contains("Token $TOKEN and d."), "{ran:#?}");
    }
}

#[test]
fn servers_and_limits_survive_the_way_through_claude_and_codex() {
    let env = TestEnv::new();
    let servers = json!({
        "local": {"command": "npx", "args": ["-y", "x"], "env": {"A": "b", "TOKEN": "$TOKEN"}},
        "remote": {"url": "https://example.com", "headers": {"Authorization": "Bearer ${T}", "X": "$Y", "Z": "z"}},
    });
    env.project_persona(&with(
        flat("p", "Do."),
        &json!({"mcpServers": servers, "limits": {"turns": 3, "usd": 1.5}}),
    ));
    for harness in HARNESSES {
        let (other, _) = there_and_back(&env, "p", harness);
        let made: Value =
            serde_json::from_str(&other.read("project/.agentworkforce/workforce/personas/p.json")).unwrap();
        assert_eq!(made["mcpServers"], servers, "{harness}");
        assert_eq!(made["limits"], json!({"turns": 3, "usd": 1.5}), "{harness}");
    }
}

#[test]
fn what_an_import_kept_goes_back_to_its_place() {
    let env = TestEnv::new();
    let text = "---\nname: Big Name\ndescription: Use it. Examples:\\n<example>x</example>\ncolor: red\nmemory: user\n---\n\nDo it.\n";
    env.write("in/a.md", text);
    env.run(["import", "../in"]).succeeds();
    let content = export(&env, "big-name", "claude")["content"].as_str().unwrap().to_owned();
    for line in ["name: \"Big Name\"", "color: \"red\"", "memory: \"user\"", "\\\\n<example>x</example>\""] {
        assert!(content.contains(line), "{line} is not in {content}");
    }
}

#[test]
fn a_file_that_is_there_is_kept_unless_it_may_be_replaced() {
    let env = TestEnv::new();
    std::fs::create_dir(env.root().join("out")).unwrap();
    env.run(["export", "debugger", "--to", "codex", "--out", "../out", "--dry-run"]).succeeds();
    assert!(!env.root().join("out/debugger.toml").exists());
    env.run(["export", "debugger", "--to", "codex", "--out", "../out"]).succeeds();
    env.run(["export", "debugger", "--to", "codex", "--out", "../out"]).succeeds();
    env.write("out/debugger.toml", "mine");
    env.run(["export", "debugger", "--to", "codex", "--out", "../out"]).fails_with_output(1, "not changed");
    assert_eq!(env.read("out/debugger.toml"), "mine");
    env.run(["export", "debugger", "--to", "codex", "--out", "../out", "--overwrite"]).succeeds();
    assert!(env.read("out/debugger.toml").contains("developer_instructions"));
}

#[test]
fn wrong_names_are_said() {
    let env = TestEnv::new();
    env.run(["export", "debuger", "--to", "claude"]).fails(2, "did you mean `debugger`?");
    env.run(["export", "debugger", "--to", "goose"]).fails(2, "`goose` is not a harness");
    env.run(["export", "debugger@worst", "--to", "claude"]).fails(2, "worst");
}
