//! `import`: what other tools' agent files become, what is said about them, and what is never touched.

use crate::support::{Ran, TestEnv};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

const PERSONAS: &str = "project/.agentworkforce/workforce/personas";

fn import(env: &TestEnv, args: &[&str]) -> Ran {
    env.run(["import"].iter().chain(args))
}

fn persona(env: &TestEnv, id: &str) -> Value {
    serde_json::from_str(&env.read(format!("{PERSONAS}/{id}.json"))).expect("JSON")
}

/// The one row of an import of one file.
#[track_caller]
fn row(env: &TestEnv, file: &str, content: &str) -> Value {
    env.write(format!("in/{file}"), content);
    let path = env.root().join("in").join(file);
    let report = import(env, &[path.to_str().expect("Unicode"), "--json"]).json();
    report["files"][0].clone()
}

fn fates(row: &Value) -> BTreeMap<String, String> {
    let mut fates = BTreeMap::new();
    for field in row["fields"].as_array().expect("fields") {
        let text = |key: &str| field[key].as_str().unwrap_or_default().to_owned();
        let what = format!("{} {}{}", text("fate"), text("to"), text("why"));
        fates
            .entry(text("field"))
            .and_modify(|said: &mut String| *said += &format!("; {what}"))
            .or_insert(what);
    }
    fates
}

fn says(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(field, fate)| ((*field).to_owned(), (*fate).to_owned())).collect()
}

#[test]
fn a_claude_subagent_becomes_a_persona_and_every_field_is_accounted_for() {
    let env = TestEnv::new();
    let row = row(
        &env,
        "api.md",
        "---\nname: API Designer\ndescription: Use for APIs. Examples:\\n<example>x</example>\ntools: Read, Grep, Bash(git log:*)\nmodel: inherit\npermissionMode: plan\nmaxTurns: 7\neffort: high\ncolor: red\nmcpServers:\n  docs:\n    command: npx\n    args: [-y, docs]\n---\n\nYou design APIs.\n",
    );
    assert_eq!(
        persona(&env, "api-designer"),
        json!({
            "id": "api-designer", "intent": "api-designer", "description": "Use for APIs.", "name": "API Designer",
            "harness": "claude",
            "permissions": {
                "allow": ["Read", "Grep", "Bash(git log:*)"],
                "deny": ["Edit", "Write", "NotebookEdit", "WebFetch", "WebSearch"], "mode": "plan",
            },
            "limits": {"turns": 7}, "harnessSettings": {"reasoning": "high"},
            "mcpServers": {"docs": {"command": "npx", "args": ["-y", "docs"]}},
            "x-claude": {"name": "API Designer", "description": "Use for APIs. Examples:\\n<example>x</example>", "color": "red"},
            "systemPrompt": "You design APIs.",
        })
    );
    assert_eq!(
        fates(&row),
        says(&[
            ("(body)", "mapped systemPrompt"),
            ("color", "kept x-claude.color"),
            ("description", "mapped description; kept x-claude.description"),
            ("effort", "mapped harnessSettings.reasoning"),
            ("maxTurns", "mapped limits.turns"),
            ("mcpServers", "mapped mcpServers"),
            ("model", "mapped the harness's own model"),
            ("name", "mapped id; mapped name"),
            ("permissionMode", "mapped permissions.mode"),
            ("tools", "mapped permissions.allow"),
            ("tools (those not listed)", "mapped permissions.deny"),
        ])
    );
    env.run(["lint", "--strict"]).succeeds();
    env.plan(&["api-designer"]);
}

#[test]
fn an_opencode_agent_becomes_a_persona() {
    let env = TestEnv::new();
    let row = row(
        &env,
        "docs.md",
        "---\ndescription: Writes docs\nmode: subagent\nmodel: anthropic/claude-sonnet-4\ntemperature: 0.1\nsteps: 4\ntools:\n  write: true\n  websearch: false\npermission:\n  \"*\": ask\n  edit: allow\n  bash:\n    \"*\": ask\n    \"git log*\": allow\n    \"rm *\": deny\n  doom_loop: deny\n---\nWrite.\n",
    );
    assert_eq!(
        persona(&env, "docs"),
        json!({
            "id": "docs", "intent": "docs", "description": "Writes docs", "harness": "opencode",
            "model": "anthropic/claude-sonnet-4", "limits": {"turns": 4},
            "permissions": {
                "allow": ["Write", "Edit", "Bash(git log:*)"], "deny": ["WebSearch", "Bash(rm:*)"], "mode": "default",
            },
            "x-opencode": {"permission.doom_loop": "deny", "mode": "subagent", "temperature": 0.1},
            "systemPrompt": "Write.",
        })
    );
    assert_eq!(row["format"], "opencode");
    env.run(["lint", "--strict"]).succeeds();
}

#[test]
fn the_agents_of_an_opencode_config_become_personas_with_its_servers() {
    let env = TestEnv::new();
    env.write("in/prompts/a.txt", "From a file.");
    env.write("secret.txt", "not yours");
    env.write(
        "in/opencode.jsonc",
        r#"{ // mine
            "theme": "x",
            "mcp": {"d": {"type": "local", "command": ["npx", "d"], "environment": {"T": "{env:TOKEN}"}}},
            "agent": {
                "a": {"prompt": "{file:./prompts/a.txt}", "description": "A"},
                "b": {"prompt": "Be b.", "disable": true},
                "c": {"model": "x/y"},
                "d": {"prompt": "{file:../secret.txt}", "description": "D"},
            },
        }"#,
    );
    let path = env.root().join("in/opencode.jsonc");
    let ran = import(&env, &[path.to_str().unwrap(), "--json"]);
    assert_eq!(ran.code, 1, "{ran:#?}");
    let report: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let statuses: Vec<&Value> =
        report["files"].as_array().unwrap().iter().map(|row| &row["status"]).collect();
    assert_eq!(statuses, ["imported", "imported", "imported", "failed"]);
    assert_eq!(report["files"][3]["reason"], "agent `c` has neither a prompt nor a description");
    assert_eq!(persona(&env, "a")["systemPrompt"], "From a file.");
    assert_eq!(
        persona(&env, "a")["mcpServers"],
        json!({"d": {"command": "npx", "args": ["d"], "env": {"T": "${TOKEN}"}}})
    );
    assert_eq!(persona(&env, "d")["systemPrompt"], "D", "a file outside of what was named is not read");
    let fates = fates(&report["files"][0]);
    assert_eq!(fates["theme"], "dropped a setting of opencode, not of an agent");
    assert_eq!(fates["agent.a.prompt"], "mapped systemPrompt");
}

#[test]
fn a_codex_agent_becomes_a_persona() {
    let env = TestEnv::new();
    let row = row(
        &env,
        "sec.toml",
        "name = \"sec\"\ndescription = \"Looks\"\nmodel = \"gpt-5\"\nmodel_reasoning_effort = \"high\"\nsandbox_mode = \"read-only\"\nnickname_candidates = [\"S\"]\ndeveloper_instructions = \"\"\"\nLook.\n\"\"\"\n[mcp_servers.d]\nurl = \"https://example.com/mcp\"\nbearer_token_env_var = \"D_TOKEN\"\n",
    );
    assert_eq!(
        persona(&env, "sec"),
        json!({
            "id": "sec", "intent": "sec", "description": "Looks", "harness": "codex", "model": "gpt-5",
            "harnessSettings": {"reasoning": "high", "sandboxMode": "read-only"},
            "mcpServers": {"d": {"url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${D_TOKEN}"}}},
            "x-codex": {"nickname_candidates": ["S"]}, "systemPrompt": "Look.",
        })
    );
    assert_eq!(fates(&row)["nickname_candidates"], "kept x-codex.nickname_candidates");
    env.run(["lint", "--strict"]).succeeds();
}

#[test]
fn a_goose_recipe_becomes_a_persona_with_inputs_and_servers() {
    let env = TestEnv::new();
    let row = row(
        &env,
        "r.yaml",
        "version: 1.0.0\ntitle: Analyse PR\ndescription: Explains\ninstructions: Explain {{ pr }} in {{path}}.\nprompt: |\n  Go on with {{ other }}.\nparameters:\n  - {key: pr, input_type: string, requirement: required, description: which}\n  - {key: path, input_type: file, requirement: optional, default: src}\nextensions:\n  - {type: builtin, name: developer, bundled: true}\n  - {type: stdio, name: gh, cmd: uvx, args: [gh], env_keys: [GH_TOKEN], timeout: 30}\n",
    );
    assert_eq!(
        persona(&env, "analyse-pr"),
        json!({
            "id": "analyse-pr", "intent": "analyse-pr", "description": "Explains", "harness": "claude",
            "inputs": {"PR": {"description": "which"}, "RECIPE_PATH": {"default": "src"}},
            "mcpServers": {"gh": {"type": "stdio", "command": "uvx", "args": ["gh"], "env": {"GH_TOKEN": "$GH_TOKEN"}}},
            "x-goose": {"title": "Analyse PR", "parameters[1]": {"input_type": "file"}, "extensions[1]": {"timeout": 30}, "version": "1.0.0"},
            "systemPrompt": "Explain ${PR} in ${RECIPE_PATH}.\n\nGo on with {{ other }}.",
        })
    );
    assert_eq!(
        fates(&row)["extensions[0]"],
        "dropped `developer` is a part of goose; a harness has its own tools"
    );
    env.run(["lint", "--strict"]).succeeds();
    let plan = env.plan(&["analyse-pr", "--input", "PR=7"]);
    assert!(plan["systemPrompt"].as_str().unwrap().starts_with("Explain 7 in src."));
}

#[test]
fn a_recipe_that_is_no_yaml_is_read_key_by_key_and_said_so() {
    let env = TestEnv::new();
    let text = "title: Fix\ndescription: d\nprompt: {{ task }} now\nparameters:\n  - key: task\n    description: what\n";
    let row = row(&env, "fix.yaml", text);
    assert!(row["warnings"][0]["message"].as_str().unwrap().contains("it was read key by key"), "{row:#}");
    let made = persona(&env, "fix");
    assert_eq!(
        (&made["systemPrompt"], &made["inputs"]["TASK"]["description"]),
        (&json!("${TASK} now"), &json!("what"))
    );
}

#[test]
fn a_copilot_agent_becomes_a_persona() {
    let env = TestEnv::new();
    let row = row(
        &env,
        "plan.agent.md",
        "---\nname: Planner\ndescription: Plans\ntools: ['search/changes', 'fetch', 'githubRepo', 'vscode/api', 'github/*']\nmodel: GPT-5\nhandoffs:\n  - label: Go\n    agent: impl\nmcp-servers:\n  gh:\n    type: local\n    command: gh-mcp\n    env:\n      T: ${{ secrets.GH }}\n---\nPlan it.\n",
    );
    assert_eq!(row["format"], "copilot");
    let made = persona(&env, "planner");
    assert_eq!(
        made["permissions"],
        json!({"allow": ["Grep", "Glob", "WebFetch", "mcp__github"], "deny": ["Bash", "Edit", "Write", "NotebookEdit", "WebSearch"]})
    );
    assert_eq!(made["mcpServers"], json!({"gh": {"command": "gh-mcp", "env": {"T": "${GH}"}}}));
    assert_eq!(made["x-copilot"]["model"], "GPT-5");
    assert_eq!(fates(&row)["tools.githubRepo"], "dropped a tool that only copilot has");
    env.run(["lint", "--strict"]).succeeds();
}

#[test]
fn a_minions_config_becomes_personas_and_roles() {
    let env = TestEnv::new();
    env.write("in/agents/ash/charter.md", "Watch.\n");
    let row = row(
        &env,
        "config.json",
        r#"{"port": 1, "roles": {"science-officer": {"label": "Science Officer", "charter": "Know."}},
            "agents": {"ash": {"name": "Ash", "emoji": "🧪", "skills": ["data", "lab"]}, "bishop": {"name": "Bishop", "role": "science-officer"}}}"#,
    );
    assert_eq!(row["format"], "minions");
    assert_eq!(
        persona(&env, "ash"),
        json!({"id": "ash", "intent": "ash", "name": "Ash", "emoji": "🧪", "role": "ash-charter", "expertise": ["data", "lab"], "harness": "claude"})
    );
    assert!(env.prompt(&["ash"]).contains("## Your Charter\nWatch."));
    assert_eq!(persona(&env, "bishop")["role"], "science-officer");
    let role = env.read("project/.agentworkforce/workforce/roles/science-officer.json");
    assert_eq!(
        serde_json::from_str::<Value>(&role).unwrap(),
        json!({"label": "Science Officer", "charter": "Know."})
    );
    env.run(["lint", "--strict"]).succeeds();
    assert!(env.prompt(&["bishop"]).contains("Know."));
}

#[test]
fn a_broken_frontmatter_is_read_key_by_key_and_said_so() {
    let env = TestEnv::new();
    let row = row(
        &env,
        "x.md",
        "\u{feff}---\r\nname: x\r\ndescription: Use when: always, \"really\": yes\r\ntools:\r\n\t- Read\r\n---\r\nDo: it.\r\n",
    );
    assert!(row["warnings"][0]["message"].as_str().unwrap().contains("it was read key by key"), "{row:#}");
    let made = persona(&env, "x");
    assert_eq!(made["description"], "Use when: always, \"really\": yes");
    assert_eq!((&made["permissions"]["allow"], &made["systemPrompt"]), (&json!(["Read"]), &json!("Do: it.")));
}

#[test]
fn one_bad_file_is_named_and_never_stops_the_rest() {
    let env = TestEnv::new();
    env.write("in/good.md", "---\nname: good\ndescription: d\n---\nwork\n");
    env.write("in/empty.md", "");
    env.write("in/blank.md", "---\nname: blank\ntools: Read\n---\n\n");
    env.write("in/bytes.md", b"---\nname: b\ndescription: d\n---\n\xff\xfe\x00");
    env.write("in/bad.toml", "developer_instructions = \"\"\"open");
    env.write("in/huge.md", "x".repeat(3 * 1024 * 1024));
    env.write("in/plain.md", "# Plain\n\nJust text.\n");
    env.write("in/only-description.md", "---\nname: od\ndescription: Does things\n---\n");
    env.write("in/代码.md", "---\nname: 代码审查\ndescription: d\n---\nlook\n");
    env.write("in/README.md", "# Read me\n");
    env.write("in/ARCHITECTURE.md", "# How it is built\n");
    env.write("in/skills/s/SKILL.md", "---\nname: s\ndescription: d\n---\nx\n");
    env.write("in/Cargo.toml", "[package]\nname = \"x\"\n");
    env.write("in/node_modules/m/agent.md", "---\nname: m\n---\nx\n");
    let ran = import(&env, &["../in", "--json"]);
    assert_eq!(ran.code, 1, "{ran:#?}");
    let report: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let found: BTreeMap<String, (String, String)> = report["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            let name = Path::new(row["source"].as_str().unwrap())
                .file_name()
                .unwrap()
                .to_string_lossy()
                .into_owned();
            let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
            (name, (text("status"), text("reason")))
        })
        .collect();
    let expected = [
        ("ARCHITECTURE.md", "skipped", "a document by its name"),
        ("Cargo.toml", "skipped", "not an agent of codex: it has no instructions"),
        ("README.md", "skipped", "a document by its name"),
        ("SKILL.md", "skipped", "a skill, not an agent: name its directory in `skills` of a persona"),
        ("blank.md", "failed", "has neither a prompt nor a description"),
        ("bytes.md", "failed", "is not UTF-8 text from here on, line 5"),
        ("empty.md", "skipped", "is empty"),
        ("good.md", "imported", ""),
        ("huge.md", "skipped", "is larger than 2 MB"),
        ("only-description.md", "imported", ""),
        (
            "plain.md",
            "skipped",
            "it lacks the keys of an agent and is not in a directory `agents`; name the file itself to import it",
        ),
        ("代码.md", "imported", ""),
    ];
    for (name, status, reason) in expected {
        assert_eq!(found[name], (status.to_owned(), reason.to_owned()), "{name}");
    }
    assert_eq!(found["bad.toml"].0, "failed");
    assert_eq!(found.len(), 13, "{found:#?}");
    env.run(["lint", "--strict"]).succeeds();
    assert_eq!(env.run(["list", "--json"]).json()["warnings"], json!([]));
}

#[test]
fn two_files_of_one_name_get_a_number_and_the_same_text_twice_does_not() {
    let env = TestEnv::new();
    env.write("in/a/x.md", "---\nname: x\ndescription: d\n---\none\n");
    env.write("in/b/x.md", "---\nname: x\ndescription: d\n---\ntwo\n");
    env.write("in/c/x.md", "---\nname: x\ndescription: d\n---\none\n");
    let report = import(&env, &["../in", "--json"]).json();
    assert_eq!((&report["imported"], &report["unchanged"]), (&json!(2), &json!(1)));
    assert_eq!(persona(&env, "x")["systemPrompt"], "one");
    assert_eq!(persona(&env, "x-2")["systemPrompt"], "two");
    assert_eq!(persona(&env, "x-2")["intent"], "x-2");
    let warnings = report["files"][1]["warnings"].to_string();
    assert!(warnings.contains("this one was named `x-2`"), "{warnings}");
    let again = import(&env, &["../in", "--json"]).json();
    assert_eq!(
        (&again["imported"], &again["unchanged"]),
        (&json!(0), &json!(3)),
        "the second time changes nothing"
    );
}

#[test]
fn what_is_there_is_never_overwritten_unasked() {
    let env = TestEnv::new();
    env.write("in/x.md", "---\nname: x\ndescription: d\n---\nold\n");
    import(&env, &["../in"]).succeeds();
    import(&env, &["../in"]).succeeds();
    env.write("in/x.md", "---\nname: x\ndescription: d\n---\nnew\n");
    let before = env.everything();
    import(&env, &["../in"]).fails_with_output(1, "`--overwrite` replaces it");
    import(&env, &["../in", "--dry-run", "--overwrite"]).succeeds();
    assert_eq!(env.everything(), before);
    import(&env, &["../in", "--overwrite"]).succeeds();
    assert_eq!(persona(&env, "x")["systemPrompt"], "new");
}

#[test]
fn a_link_in_the_place_of_a_persona_is_not_written_through() {
    let env = TestEnv::new();
    env.write("in/x.md", "---\nname: x\ndescription: d\n---\nnew\n");
    let outside = env.write("outside.json", "mine");
    std::fs::create_dir_all(env.root().join(PERSONAS)).unwrap();
    std::os::unix::fs::symlink(&outside, env.root().join(PERSONAS).join("x.json")).unwrap();
    import(&env, &["../in", "--overwrite"]).fails_with_output(1, "not changed");
    assert_eq!(env.read("outside.json"), "mine");
}

#[test]
fn links_in_a_tree_are_not_followed() {
    let env = TestEnv::new();
    env.write("in/good.md", "---\nname: good\ndescription: d\n---\nwork\n");
    env.write("elsewhere/secret.md", "---\nname: secret\ndescription: d\n---\nsecret\n");
    std::os::unix::fs::symlink("../elsewhere/secret.md", env.root().join("in/link.md")).unwrap();
    std::os::unix::fs::symlink("../elsewhere", env.root().join("in/dir")).unwrap();
    std::os::unix::fs::symlink(".", env.root().join("in/loop")).unwrap();
    let report = import(&env, &["../in", "--json"]).json();
    assert_eq!((&report["imported"], &report["skipped"]), (&json!(1), &json!(1)));
    assert!(!env.root().join(PERSONAS).join("secret.json").exists());
}

#[test]
fn a_dry_run_writes_nothing_and_says_the_same() {
    let env = TestEnv::new();
    env.write("in/x.md", "---\nname: x\ndescription: d\n---\nwork\n");
    let before = env.everything();
    let dry = import(&env, &["../in", "--dry-run", "--json"]).json();
    assert_eq!(env.everything(), before);
    let mut real = import(&env, &["../in", "--json"]).json();
    real["dryRun"] = json!(true);
    assert_eq!(dry, real);
}

#[test]
fn personas_go_to_the_project_the_user_or_a_directory() {
    let env = TestEnv::new();
    env.write("in/x.md", "---\nname: x\ndescription: d\n---\nwork\n");
    import(&env, &["../in", "--to", "user"]).succeeds();
    assert!(env.workforce().join("personas/x.json").is_file());
    import(&env, &["../in", "--to", "../mine"]).succeeds();
    assert!(env.root().join("mine/x.json").is_file());
    env.run(["config", "set", "defaultCreateTarget", "../other"]).succeeds();
    import(&env, &["../in"]).succeeds();
    assert!(env.root().join("other/x.json").is_file());
}

#[test]
fn a_path_that_is_not_there_or_names_no_agent_is_an_error() {
    let env = TestEnv::new();
    env.write("in/x.md", "---\nname: x\ndescription: d\n---\nwork\n");
    env.write("in/notes.json", "{}");
    let before = env.everything();
    import(&env, &["../in", "../nowhere"]).fails(2, "nowhere cannot be read");
    import(&env, &["../in/notes.json"]).fails_with_output(1, "not a recipe");
    import(&env, &[]).fails(2, "PATH");
    import(&env, &["../in", "--from", "cluade"]).fails(2, "claude");
    assert_eq!(env.everything(), before);
}

#[test]
fn the_format_can_be_said() {
    let env = TestEnv::new();
    env.write("in/x.md", "---\nname: x\ndescription: d\n---\nwork\n");
    import(&env, &["../in", "--from", "opencode"]).succeeds();
    assert_eq!(persona(&env, "x")["harness"], "opencode");
}

#[test]
fn names_with_escape_sequences_are_shown_harmless() {
    let env = TestEnv::new();
    env.write("in/a\u{1b}[31m.md", "---\nname: \"x\\e[31m\"\ndescription: d\nweird\u{1b}: 1\n---\nwork\n");
    let ran = import(&env, &["../in"]);
    assert!(!ran.stdout.contains('\u{1b}'), "{ran:#?}");
}

#[test]
fn files_that_are_made_to_cost_are_read_quickly_or_refused() {
    let env = TestEnv::new();
    let deep = "[".repeat(100_000);
    env.write("in/agents/deep.md", format!("---\nname: deep\nx: {deep}\n---\nbody\n"));
    env.write("in/deep.toml", format!("developer_instructions = \"x\"\nx = {deep}"));
    env.write("in/opencode.json", format!("{{\"agent\": {{\"a\": {{\"prompt\": \"x\"}}}}, \"z\": {deep}"));
    env.write("in/agents/lines.md", format!("---\n{}---\nbody\n", "k: : x\n".repeat(50_000)));
    env.write(
        "in/agents/open.md",
        format!("---\nname: open\nd: a: b\n{}---\nbody\n", "<example>\nq: 1\n".repeat(10_000)),
    );
    let grow: String = ('b'..='h')
        .map(|c| format!("{c}: &{c} [{}]\n", vec![format!("*{}", (c as u8 - 1) as char); 9].join(",")))
        .collect();
    env.write("in/agents/grow.md", format!("---\nname: grow\na: &a [x]\n{grow}---\nbody\n"));
    let start = std::time::Instant::now();
    let ran = import(&env, &["../in", "--json"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let report: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!((&report["imported"], &report["failed"]), (&json!(4), &json!(2)));
    assert!(start.elapsed().as_secs() < 60, "it took {:?}", start.elapsed());
    env.run(["lint", "--strict"]).succeeds();
}
