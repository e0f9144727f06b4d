//! A limit stays a limit: what an agent file denies or leaves out, the persona has denied on every harness.

use crate::support::TestEnv;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

const PERSONAS: &str = "project/.agentworkforce/workforce/personas";

fn persona(env: &TestEnv, id: &str) -> Value {
    serde_json::from_str(&env.read(format!("{PERSONAS}/{id}.json"))).expect("JSON")
}

/// Imports one file, and returns its row.
fn import(env: &TestEnv, file: &str, text: &str) -> Value {
    env.write(format!("in/{file}"), text);
    let ran = env.run(["import", &format!("../in/{file}"), "--overwrite", "--json"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:#?}"));
    report["files"][0].clone()
}

/// Exports a persona, edits the file, and imports it into the same project.
fn edited(env: &TestEnv, selector: &str, to: &str, edit: impl Fn(&str) -> String) -> (Value, Value) {
    let report = env.run(["export", selector, "--to", to, "--json"]).json();
    let before = report["content"].as_str().expect("a text");
    let after = edit(before);
    assert_ne!(before, after, "the edit changed nothing");
    let row = import(env, report["fileName"].as_str().expect("a name"), &after);
    (persona(env, selector.split('@').next().expect("an id")), row)
}

/// A text with the line that starts so replaced.
fn with_line(text: &str, start: &str, line: &str) -> String {
    let lines = text.lines().map(|old| if old.starts_with(start) { line } else { old });
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

fn sandbox(env: &TestEnv, id: &str) -> String {
    let plan = env.plan(&[id, "--harness", "codex"]);
    let args: Vec<&str> =
        plan["command"]["args"].as_array().expect("args").iter().filter_map(Value::as_str).collect();
    let at = args.iter().position(|arg| *arg == "--sandbox").expect("a sandbox");
    args[at + 1].to_owned()
}

#[track_caller]
fn denies(persona: &Value, tools: &[&str]) {
    let deny = &persona["permissions"]["deny"];
    for tool in tools {
        assert!(deny.as_array().is_some_and(|deny| deny.contains(&json!(tool))), "{tool} is not in {deny}");
    }
}

#[test]
fn a_further_denial_takes_nothing_from_the_limit_of_a_list() {
    let env = TestEnv::new();
    import(
        &env,
        "a.md",
        "---\nname: a\ndescription: d\ntools: Read, Grep\ndisallowedTools: WebFetch\n---\nx\n",
    );
    let deny = json!(["Bash", "Edit", "Write", "NotebookEdit", "WebFetch", "WebSearch"]);
    assert_eq!(persona(&env, "a")["permissions"], json!({"allow": ["Read", "Grep"], "deny": deny}));
    assert_eq!(sandbox(&env, "a"), "read-only");
    // Denials alone are no list.
    import(&env, "b.md", "---\nname: b\ndescription: d\ndisallowedTools: WebFetch\n---\nx\n");
    assert_eq!(persona(&env, "b")["permissions"], json!({"deny": ["WebFetch"]}));
}

#[test]
fn a_mode_that_the_list_contradicts_is_not_taken() {
    let env = TestEnv::new();
    for (mode, taken) in
        [("acceptEdits", Value::Null), ("bypassPermissions", Value::Null), ("plan", json!("plan"))]
    {
        let text = format!("---\nname: a\ndescription: d\ntools: Read\npermissionMode: {mode}\n---\nx\n");
        let row = import(&env, "a.md", &text);
        assert_eq!(persona(&env, "a")["permissions"]["mode"], taken, "{row:#}");
        let fields = row["fields"].to_string();
        assert_eq!(fields.contains("\"dropped\""), taken.is_null(), "{fields}");
    }
    let text =
        "---\nname: b\ndescription: d\ntools: Read, Edit, Write\npermissionMode: acceptEdits\n---\nx\n";
    import(&env, "b.md", text);
    assert_eq!(persona(&env, "b")["permissions"]["mode"], "acceptEdits");
}

#[test]
fn less_in_an_exported_file_of_claude_is_less_in_the_persona() {
    let env = TestEnv::new();
    let (made, row) =
        edited(&env, "debugger", "claude", |text| with_line(text, "tools:", "tools: [\"Read\"]"));
    assert_eq!(made["permissions"]["allow"], json!(["Read"]));
    denies(&made, &["Edit", "Write", "Bash", "WebFetch", "Bash(git push:*)"]);
    assert_eq!(made["permissions"]["mode"], Value::Null, "{row:#}");
    assert!(row["warnings"].to_string().contains("permissions.deny"), "{row:#}");
    assert_eq!(sandbox(&env, "debugger"), "read-only");
}

#[test]
fn less_in_an_exported_file_of_opencode_is_less_in_the_persona() {
    for action in ["deny", "ask"] {
        let env = TestEnv::new();
        let (made, row) = edited(&env, "debugger", "opencode", |text| {
            text.replacen("\"edit\":\"allow\"", &format!("\"edit\":\"{action}\""), 1)
        });
        assert_ne!(made["permissions"]["mode"], "acceptEdits", "{row:#}");
        let allow = made["permissions"]["allow"].as_array().expect("allowed");
        assert!(!allow.contains(&json!("Edit")), "{made:#}");
        if action == "deny" {
            denies(&made, &["Edit", "Write"]);
            assert_eq!(sandbox(&env, "debugger"), "read-only");
        }
    }
}

#[test]
fn a_smaller_sandbox_in_an_exported_file_of_codex_holds_on_every_tier_and_harness() {
    let env = TestEnv::new();
    let (made, row) = edited(&env, "debugger", "codex", |text| {
        text.replacen("developer_instructions", "sandbox_mode = \"read-only\"\ndeveloper_instructions", 1)
    });
    denies(&made, &["Edit", "Write", "NotebookEdit", "Bash(git push:*)"]);
    assert_eq!(made["permissions"]["mode"], Value::Null, "{row:#}");
    for tier in ["best", "best-value", "minimum"] {
        assert_eq!(sandbox(&env, &format!("debugger@{tier}")), "read-only");
    }
    assert!(row["warnings"].to_string().contains("read-only"), "{row:#}");
}

#[test]
fn a_config_with_a_comment_in_front_is_a_config() {
    for head in ["// my config\n", "/* {mine} */ ", "\u{feff}\n// a\n/* b */\n"] {
        let env = TestEnv::new();
        let text = format!("{head}{{\"agent\": {{\"one\": {{\"prompt\": \"p\", \"description\": \"d\"}}}}}}");
        let row = import(&env, "opencode.jsonc", &text);
        assert_eq!(row["persona"], "one", "{row:#}");
        assert_eq!(persona(&env, "one")["systemPrompt"], "p");
        let recipe =
            format!("{head}{{\"title\": \"Two\", \"description\": \"d\", \"prompt\": \"{{{{ x }}}}\"}}");
        let row = import(&env, "two.json", &recipe);
        assert_eq!((&row["persona"], &row["format"]), (&json!("two"), &json!("goose")), "{row:#}");
        assert_eq!(persona(&env, "two")["systemPrompt"], "{{ x }}");
    }
}

#[test]
fn what_opencode_denies_by_default_is_denied() {
    let env = TestEnv::new();
    import(
        &env,
        "a.md",
        "---\ndescription: d\nmode: all\npermission:\n  \"*\": deny\n  read: allow\n  webfetch: ask\n---\nx\n",
    );
    assert_eq!(
        persona(&env, "a")["permissions"],
        json!({"allow": ["Read"], "deny": ["Bash", "Edit", "Write", "NotebookEdit", "WebSearch"], "mode": "default"})
    );
    assert_eq!(sandbox(&env, "a"), "read-only");
    // The last match wins: what stands before the rule for all is overruled by it.
    import(
        &env,
        "b.md",
        "---\ndescription: d\nmode: all\npermission:\n  edit: allow\n  \"*\": deny\n  bash: allow\n---\nx\n",
    );
    let made = persona(&env, "b");
    assert_eq!(made["permissions"]["allow"], json!(["Bash"]));
    denies(&made, &["Edit", "Write", "WebFetch"]);
    import(&env, "c.md", "---\ndescription: d\nmode: all\npermission: deny\n---\nx\n");
    denies(&persona(&env, "c"), &["Edit", "Write", "Bash", "WebFetch", "WebSearch"]);
    let (made, _) = edited(&env, "debugger", "opencode", |text| {
        text.replacen("\"*\":\"ask\",\"read\"", "\"*\":\"deny\",\"read\"", 1)
    });
    denies(&made, &["WebFetch", "WebSearch", "Bash(git push:*)"]);
}

#[test]
fn a_denial_with_exceptions_stays_a_denial_and_the_exceptions_are_told() {
    let env = TestEnv::new();
    let row = import(
        &env,
        "a.md",
        "---\ndescription: d\nmode: all\npermission:\n  edit: {\"*\": deny, \"docs/**\": allow}\n  bash: {\"*\": deny, \"git status\": allow, \"rm *\": deny}\n  webfetch: {\"a\": allow, \"*\": deny}\n---\nx\n",
    );
    let made = persona(&env, "a");
    denies(&made, &["Edit", "Write", "Bash", "WebFetch"]);
    assert_eq!(made["permissions"]["allow"], Value::Null);
    assert_eq!(sandbox(&env, "a"), "read-only");
    for field in ["permission.edit.docs/**", "permission.bash.git status"] {
        let fields = row["fields"].as_array().expect("fields");
        let fate = fields.iter().find(|fate| fate["field"] == field).expect("an exception");
        assert_eq!(fate["fate"], "dropped", "{fate}");
    }
    // Patterns alone, where all the rest is denied.
    import(
        &env,
        "b.md",
        "---\ndescription: d\nmode: all\npermission:\n  \"*\": deny\n  bash: {\"git *\": allow}\n---\nx\n",
    );
    denies(&persona(&env, "b"), &["Bash", "Edit", "Write"]);
}

#[test]
fn what_a_config_of_opencode_says_of_all_holds_for_each_below_its_own() {
    let env = TestEnv::new();
    let config = r#"{"permission": {"edit": "deny", "bash": {"*": "ask", "rm *": "deny"}}, "tools": {"webfetch": false},
        "agent": {
            "one": {"prompt": "p", "description": "d"},
            "two": {"prompt": "p", "description": "d", "permission": {"edit": "allow", "bash": {"git *": "allow"}}, "tools": {"webfetch": true}}
        }}"#;
    let row = import(&env, "opencode.json", config);
    let one = persona(&env, "one");
    assert_eq!(one["permissions"], json!({"deny": ["WebFetch", "Edit", "Write", "Bash(rm:*)"]}));
    assert_eq!(sandbox(&env, "one"), "read-only");
    assert_eq!(
        persona(&env, "two")["permissions"],
        json!({"allow": ["WebFetch", "Edit", "Write", "Bash(git:*)"], "deny": ["Bash(rm:*)"]})
    );
    let fields = row["fields"].to_string();
    assert!(fields.contains("permissions of each persona"), "{fields}");
}

#[test]
fn a_list_of_tools_is_a_limit_in_a_file_of_opencode_too() {
    let env = TestEnv::new();
    import(&env, "a.md", "---\ndescription: d\nmode: all\ntools: read, Edit\n---\nx\n");
    assert_eq!(
        persona(&env, "a")["permissions"],
        json!({"allow": ["Read", "Edit", "Write"], "deny": ["Bash", "WebFetch", "WebSearch"]})
    );
}

#[test]
fn a_model_in_an_exported_file_comes_with_the_harness_of_the_format() {
    for (to, from, line) in [
        ("opencode", "mode: \"all\"", "mode: \"all\"\nmodel: \"openai/gpt-5\""),
        ("codex", "developer_instructions", "model = \"gpt-5\"\ndeveloper_instructions"),
    ] {
        let env = TestEnv::new();
        let (made, row) = edited(&env, "debugger@best", to, |text| text.replacen(from, line, 1));
        assert_eq!(made["tiers"]["best"]["harness"], to, "{row:#}");
        assert_eq!(made["tiers"]["minimum"]["harness"], "claude");
        let warnings = row["warnings"].to_string();
        assert!(warnings.contains(&format!("the tier `best` runs on {to} now")), "{warnings}");
        env.run(["lint", "debugger", "--strict"]).succeeds();
    }
    let env = TestEnv::new();
    let (made, _) = edited(&env, "explorer@best", "claude", |text| with_line(text, "model:", "model: haiku"));
    assert_eq!(
        (&made["tiers"]["best"]["harness"], &made["tiers"]["best"]["model"]),
        (&json!("claude"), &json!("haiku"))
    );
}

#[test]
fn an_edited_prompt_is_that_of_every_tier_that_shared_it() {
    let env = TestEnv::new();
    let tier = |prompt: Option<&str>| {
        let mut tier = json!({"harness": "claude", "model": "opus", "harnessSettings": {"reasoning": "low", "timeoutSeconds": 9}});
        if let Some(prompt) = prompt {
            tier["systemPrompt"] = json!(prompt);
        }
        tier
    };
    env.write(
        format!("{PERSONAS}/p.json"),
        json!({
            "id": "p", "intent": "p", "description": "d", "systemPrompt": "Common text.",
            "tiers": {"best": tier(None), "best-value": tier(None), "minimum": tier(Some("Small text."))},
        })
        .to_string(),
    );
    let original = env.read(format!("{PERSONAS}/p.json"));
    let (made, row) = edited(&env, "p@best", "claude", |text| with_line(text, "Common text.", "New text."));
    assert_eq!(made["systemPrompt"], "New text.");
    assert_eq!(made["tiers"]["best"]["systemPrompt"], Value::Null);
    assert_eq!(made["tiers"]["minimum"]["systemPrompt"], "Small text.");
    let warnings = row["warnings"].to_string();
    assert!(warnings.contains("the edited prompt is that of best, best-value"), "{warnings}");
    assert!(warnings.contains("minimum keeps its own"), "{warnings}");
    env.write(format!("{PERSONAS}/p.json"), original);
    let (made, row) = edited(&env, "p@minimum", "claude", |text| with_line(text, "Small text.", "New text."));
    assert_eq!(
        (&made["systemPrompt"], &made["tiers"]["minimum"]["systemPrompt"]),
        (&json!("Common text."), &json!("New text."))
    );
    let warnings = row["warnings"].to_string();
    assert!(warnings.contains("best, best-value keep their own"), "{warnings}");
}
