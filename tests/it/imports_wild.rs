//! Agent files as people really write them: what is meant is found, what is lost is told, nothing is made up.

use crate::support::TestEnv;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const PERSONAS: &str = "project/.agentworkforce/workforce/personas";

fn persona(env: &TestEnv, id: &str) -> Value {
    serde_json::from_str(&env.read(format!("{PERSONAS}/{id}.json"))).expect("JSON")
}

/// The report of an import of this directory, whatever its exit code.
fn report(env: &TestEnv, path: &str) -> Value {
    let ran = env.run(["import", path, "--json"]);
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:#?}"))
}

/// Imports one file, and returns its row.
fn import(env: &TestEnv, file: &str, text: &str) -> Value {
    env.write(format!("one/{file}"), text);
    report(env, &format!("../one/{file}"))["files"][0].clone()
}

/// Every row by the name of its file: status, persona and reason.
fn rows(report: &Value) -> BTreeMap<String, (String, String, String)> {
    let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let rows = report["files"].as_array().expect("files").iter();
    rows.map(|row| {
        let name = text(row, "source").rsplit('/').next().unwrap_or_default().to_owned();
        (name, (text(row, "status"), text(row, "persona"), text(row, "reason")))
    })
    .collect()
}

fn fields(row: &Value) -> Vec<&str> {
    row["fields"]
        .as_array()
        .expect("fields")
        .iter()
        .map(|field| field["field"].as_str().expect("text"))
        .collect()
}

#[test]
fn plain_values_are_the_text_that_stands_there() {
    let env = TestEnv::new();
    env.write(
        "in/agents/a.md",
        "---\nname: on\ndescription: no\nmodel: 1.10\ncolor: 007\nversion: 1.10\nhidden: true\nmaxTurns: 7\ntools: [y, 08]\n---\nx\n",
    );
    env.write("in/agents/b.agent.md", "---\ndescription: y\nagent: y\n---\nx\n");
    env.write(
        "in/c.yaml",
        "title: 007\ndescription: off\ninstructions: on\nparameters:\n  - key: n\n    description: 1.10\n    default: 010\nextensions:\n  - type: stdio\n    name: 1.0\n    cmd: npx\n    args: [08080, no]\n    timeout: 300\n",
    );
    report(&env, "../in");
    let a = persona(&env, "on");
    assert_eq!((&a["description"], &a["model"]), (&json!("no"), &Value::Null));
    assert_eq!(a["x-claude"], json!({"model": "1.10", "color": "007", "version": "1.10", "hidden": true}));
    assert_eq!((&a["limits"]["turns"], &a["permissions"]["allow"]), (&json!(7), &json!(["y", "08"])));
    let b = persona(&env, "b");
    assert_eq!((&b["description"], &b["x-copilot"]["agent"]), (&json!("y"), &json!("y")));
    let c = persona(&env, "007");
    assert_eq!((&c["description"], &c["systemPrompt"]), (&json!("off"), &json!("on")));
    assert_eq!(c["inputs"], json!({"N": {"description": "1.10", "default": "010"}}));
    assert_eq!(c["mcpServers"], json!({"1.0": {"type": "stdio", "command": "npx", "args": ["08080", "no"]}}));
    assert_eq!(c["x-goose"]["extensions[0]"], json!({"timeout": 300}));
}

#[test]
fn frontmatter_of_the_wild_is_found_and_read() {
    let env = TestEnv::new();
    let name = |id: &str| (id.to_owned(), "d".to_owned(), "body".to_owned());
    let cases: [(&str, &str, (String, String, String)); 24] = [
        ("colon", "---\nname: colon\ndescription: d\nnote: a: b: c\n---\nbody\n", name("colon")),
        ("tabs", "---\nname:\ttabs\ndescription:\td\ntools:\n\t- Read\n---\nbody\n", name("tabs")),
        ("bom", "\u{feff}---\r\nname: bom\r\ndescription: d\r\n---\r\nbody\r\n", name("bom")),
        ("cr", "---\rname: cr\rdescription: d\r---\rbody\r", name("cr")),
        ("dup", "---\nname: other\nname: dup\ndescription: e\ndescription: d\n---\nbody\n", name("dup")),
        ("anchor", "---\nname: &n anchor\ndescription: d\nother: *n\n---\nbody\n", name("anchor")),
        ("open", "---\nname: open\ndescription: d\n\nbody\n", name("open")),
        ("blank", "\n\n---\nname: blank\ndescription: d\n---\nbody\n", name("blank")),
        ("comment", "<!-- c\n-->\n---\nname: comment\ndescription: d\n---\nbody\n", name("comment")),
        ("ticks", "```yaml\n---\nname: ticks\ndescription: d\n---\n```\nbody\n", name("ticks")),
        ("whole", "````chatagent\n---\nname: whole\ndescription: d\n---\nbody\n````\n", name("whole")),
        ("indented", "  ---\n  name: indented\n  description: d\n  ---\nbody\n", name("indented")),
        ("capitals", "---\nName: Capitals\nDescription: d\nTools: Read\n---\nbody\n", name("capitals")),
        ("toml", "+++\nname = \"toml\"\ndescription = \"d\"\n+++\nbody\n", name("toml")),
        ("json", "---\n{\"name\": \"json\", \"description\": \"d\"}\n---\nbody\n", name("json")),
        ("list", "---\n- name: list\n- description: d\n---\nbody\n", name("list")),
        ("nbsp", "---\nname:\u{a0}nbsp\ndescription:\u{a0}d\n---\nbody\n", name("nbsp")),
        ("dashes", "----\nname: dashes\ndescription: d\n----\nbody\n", name("dashes")),
        ("spaces", "---   \nname : spaces   \ndescription : d   \n---   \nbody\n", name("spaces")),
        ("quote", "---\nname: quote\ndescription: d\nx: \"He said \"hi\"\"\n---\nbody\n", name("quote")),
        ("sign", "---\nname: sign\ndescription: d\nowner: @me and `you`\n---\nbody\n", name("sign")),
        ("rocket", "---\nname: 🚀 Rocket 🚀\ndescription: d\n---\nbody\n", name("rocket")),
        ("up", "---\nname: ../../up\ndescription: d\n---\nbody\n", name("up")),
        (
            "example",
            "---\nname: example\ndescription: d <example>Context: a: b\nuser: \"x: y\"\n<commentary>\nfoo: bar\n</commentary>\n</example>\nmodel: opus\n---\nbody\n",
            name("example"),
        ),
    ];
    for (file, text, _) in &cases {
        env.write(format!("in/agents/{file}.md"), text);
    }
    let report = report(&env, "../in");
    assert_eq!(report["failed"], 0, "{report:#}");
    for (_, _, expected) in &cases {
        let made = persona(&env, &expected.0);
        let text = |key: &str| made[key].as_str().unwrap_or_default().to_owned();
        assert_eq!((text("id"), text("description"), text("systemPrompt")), *expected);
    }
    assert_eq!(persona(&env, "example")["model"], "opus");
    assert_eq!(persona(&env, "capitals")["permissions"]["allow"], json!(["Read"]));
    let capitals =
        report["files"].as_array().unwrap().iter().find(|row| row["persona"] == "capitals").unwrap();
    assert!(fields(capitals).contains(&"Name"), "{capitals:#}");
    env.run(["lint", "--strict"]).succeeds();
}

#[test]
fn a_list_without_tools_denies_and_a_star_does_not() {
    let env = TestEnv::new();
    let weighty = json!(["Bash", "Edit", "Write", "NotebookEdit", "WebFetch", "WebSearch"]);
    env.write("in/agents/none.md", "---\nname: none\ndescription: d\ntools: []\n---\nx\n");
    env.write("in/agents/none-too.agent.md", "---\ndescription: d\ntools: []\n---\nx\n");
    env.write("in/agents/unsaid.md", "---\nname: unsaid\ndescription: d\ntools:\n---\nx\n");
    env.write("in/agents/star.md", "---\nname: star\ndescription: d\ntools: *\n---\nx\n");
    env.write(
        "in/.opencode/agent/off.md",
        "---\ndescription: d\ntools:\n  \"*\": false\n  bash: yes\n  webfetch: no\n---\nx\n",
    );
    env.write("in/.opencode/agent/all.md", "---\ndescription: d\ntools: \"*\"\n---\nx\n");
    report(&env, "../in");
    assert_eq!(persona(&env, "none")["permissions"], json!({"deny": weighty}));
    assert_eq!(persona(&env, "none-too")["permissions"], json!({"deny": weighty}));
    for id in ["unsaid", "star", "all"] {
        assert_eq!(persona(&env, id)["permissions"], Value::Null, "{id}");
    }
    let off = &persona(&env, "off")["permissions"];
    assert_eq!(off["allow"], json!(["Bash"]));
    for tool in ["Edit", "Write", "WebFetch"] {
        assert!(off["deny"].as_array().unwrap().contains(&json!(tool)), "{off}");
    }
}

#[test]
fn a_role_of_minions_is_accounted_for_and_its_charter_stays_in_the_tree() {
    let env = TestEnv::new();
    env.write("x.md", "not yours");
    env.write("in/charters/two.md", "---\nname: two\ndescription: no agent\n---\nTwo.");
    env.write("in/agents/d/charter.md", "Watch.");
    env.write("in/roles/unused/charter.md", "Nobody's.");
    env.write(
        "in/config.json",
        r#"{"roles": {"one": {"label": "One", "charterFile": "../x.md", "color": "red", "model": "opus"}, "two": {"charterFile": "charters/two.md"}},
            "agents": {"a": {"role": "one"}, "c": {"charterFile": "/etc/hostname"}, "d": {"colour": "blue"}}}"#,
    );
    let report = report(&env, "../in");
    assert_eq!(
        (&report["imported"], &report["roles"]["imported"], &report["failed"]),
        (&json!(2), &json!(3), &json!(1))
    );
    let row = |wanted: &str| {
        let rows = report["files"].as_array().unwrap();
        rows.iter().find(|row| row["role"] == wanted || row["persona"] == wanted).expect("a row").clone()
    };
    let one = row("one");
    assert_eq!(
        fields(&one),
        ["roles.one.charterFile", "roles.one.label", "roles.one.color", "roles.one.model"]
    );
    assert_eq!(one["fields"][0]["why"], "`../x.md` is outside of what is imported and was not read");
    assert!(one["warnings"].to_string().contains("has its charter in `../x.md`"), "{one:#}");
    let role = env.read("project/.agentworkforce/workforce/roles/one.json");
    assert!(!role.contains("not yours"), "{role}");
    assert_eq!(fields(&row("two")), ["roles.two.charterFile"]);
    let failed = report["files"].as_array().unwrap().iter().find(|row| row["status"] == "failed").unwrap();
    assert_eq!(
        failed["reason"],
        "agent `c` has its charter in `/etc/hostname`, which is outside of what is imported and was not read"
    );
    assert_eq!(rows(&report)["two.md"].2, "imported as a part of config.json");
    let charters: Vec<&Value> = report["files"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["source"].as_str().unwrap().ends_with("charter.md"))
        .map(|row| &row["status"])
        .collect();
    assert_eq!(charters, ["skipped", "skipped"]);
    let said = env.run(["import", "../in", "--dry-run", "--to", "../elsewhere"]).stdout;
    assert!(said.contains("would import 2 personas") && said.contains("would import 3 roles"), "{said}");
}

#[test]
fn files_in_a_prompt_of_opencode_are_put_in_where_they_are_in_the_tree() {
    let env = TestEnv::new();
    env.write("secret.txt", "not yours");
    env.write("in/p.md", "---\nname: p\ndescription: no agent\n---\nFrom p.\n");
    env.write("in/dir/keep", "");
    env.write(
        "in/opencode.jsonc",
        r#"{ /* c */ "agent": {
            "one": {"prompt": "A {file:./q.txt} b {env:FOO} {file:nope.md} {file:../secret.txt} {file:", "description": "d"},
            "two": {"prompt": "{file:./nope.md}"}, "three": {"prompt": "{file:dir}"}, "four": {"prompt": " {file:p.md} "},
            "build": {"model": "x/y"}, "five": "text",
        }, }"#,
    );
    env.write("in/q.txt", "Q\n");
    let report = report(&env, "../in");
    assert_eq!(
        persona(&env, "one")["systemPrompt"],
        "A Q b {env:FOO} {file:nope.md} {file:../secret.txt} {file:"
    );
    let warnings = report["files"][0]["warnings"].to_string();
    for text in [
        "`nope.md`, which does not exist",
        "`../secret.txt`, which is outside",
        "`{env:FOO}` in the prompt is not replaced",
    ] {
        assert!(warnings.contains(text), "{text} is not in {warnings}");
    }
    assert!(persona(&env, "four")["systemPrompt"].as_str().unwrap().contains("From p."));
    let reasons: Vec<&str> =
        report["files"].as_array().unwrap().iter().filter_map(|row| row["reason"].as_str()).collect();
    assert_eq!(
        reasons,
        [
            "agent `two` has its prompt in `./nope.md`, which does not exist",
            "agent `three` has its prompt in `dir`, which is not a file",
            "agent `five` is not an object",
            "imported as a part of opencode.jsonc",
        ]
    );
    assert!(fields(&report["files"][0]).contains(&"agent.build"), "{report:#}");
}

#[test]
fn a_tree_is_no_list_of_agents_and_what_is_passed_over_is_told() {
    let env = TestEnv::new();
    let files = [
        ("posts/hello.md", "---\ntitle: Hello\ndate: 2024-01-01\ndescription: x\n---\npost\n", "skipped"),
        ("notes.md", "# Notes\n\nthings\n", "skipped"),
        ("rules/x.mdc", "---\ndescription: x\nglobs: \"*.ts\"\n---\nrule\n", "skipped"),
        ("chart.yaml", "a: {{ .Values.x }}\n", "skipped"),
        ("broken.toml", "[a\n", "skipped"),
        ("broken.json", "{", "skipped"),
        ("half.toml", "developer_instructions = \"x\"\nname = x\n", "failed"),
        ("agents/plain.md", "You are the one who does it.\n", "imported"),
        ("lib/real.md", "---\nname: real\ndescription: d\n---\nx\n", "imported"),
        ("opencode.json", "{\"agent\": {}}", "skipped"),
    ];
    for (path, text, _) in files {
        env.write(format!("in/{path}"), text);
    }
    let report = report(&env, "../in");
    let rows = rows(&report);
    for (path, _, status) in files {
        let name = path.rsplit('/').next().unwrap();
        assert_eq!(rows[name].0, status, "{path}: {rows:#?}");
    }
    let said = env.run(["import", "../in", "--dry-run"]).stdout;
    for text in [
        "broken.toml",
        "is not valid TOML: line 1",
        "chart.yaml",
        "is not valid YAML",
        "broken.json",
        "a page or a post, not an agent (hello.md)",
        "a rule for an editor",
        "unchanged  real",
        "a config of opencode without agents",
    ] {
        assert!(said.contains(text), "{text} is not in {said}");
    }
    env.run(["import", "../in/notes.md", "../in/posts/hello.md"]).succeeds();
    assert_eq!(persona(&env, "notes")["systemPrompt"], "# Notes\n\nthings");
    env.write("empty/readme.txt", "x");
    let ran = env.run(["import", "../empty"]);
    ran.fails_with_output(1, "nothing to import: no file has the extension of an agent file");
    assert!(env.run(["import", "../in/posts", "--json"]).stdout.contains("no agent in 1 file"));
}

#[test]
fn a_dry_run_says_would() {
    let env = TestEnv::new();
    env.write("in/agents/a.md", "---\nname: a\ndescription: d\n---\nx\n");
    let said = env.run(["import", "../in", "--dry-run"]).stdout;
    assert!(said.contains("would import  a") && said.contains("would import 1 persona"), "{said}");
    assert!(!said.contains("imported"), "{said}");
}

#[test]
fn profiles_and_agents_in_a_config_of_codex_become_personas() {
    let env = TestEnv::new();
    env.write(
        "in/config.toml",
        "model = \"gpt\"\n[profiles.deep]\nmodel = \"gpt-x\"\ndeveloper_instructions = \"Think.\"\n[profiles.deep.mcp_servers.s]\ncommand = \"c\"\n[profiles.bare]\nmodel = \"y\"\n[[agents]]\nname = \"Two\"\ninstructions = \"Do.\"\n",
    );
    let report = report(&env, "../in");
    assert_eq!(report["imported"], 2, "{report:#}");
    let deep = persona(&env, "deep");
    assert_eq!(
        (&deep["model"], &deep["systemPrompt"], &deep["mcpServers"]["s"]["command"]),
        (&json!("gpt-x"), &json!("Think."), &json!("c"))
    );
    assert_eq!(persona(&env, "two")["systemPrompt"], "Do.");
    assert!(fields(&report["files"][0]).contains(&"profiles.deep.mcp_servers"), "{report:#}");
}

#[test]
fn a_server_that_is_switched_off_stays_off() {
    let env = TestEnv::new();
    env.write(
        "in/opencode.json",
        r#"{"mcp": {"on": {"type": "local", "command": ["a"]}, "off": {"type": "local", "command": ["b"], "enabled": false}},
            "agent": {"x": {"prompt": "p", "description": "d"}}}"#,
    );
    report(&env, "../in");
    let made = persona(&env, "x");
    assert_eq!(made["mcpServers"], json!({"on": {"command": "a"}}));
    assert_eq!(made["x-opencode"]["mcp.off"]["enabled"], false);
}

#[test]
fn the_first_of_several_documents_is_the_recipe() {
    let env = TestEnv::new();
    env.write(
        "in/r.yaml",
        "---\ntitle: One\ndescription: d\ninstructions: |\n  do\n---\ntitle: Two\ninstructions: no\n",
    );
    let report = report(&env, "../in");
    assert_eq!(persona(&env, "one")["systemPrompt"], "do");
    assert!(report["files"][0]["warnings"].to_string().contains("several YAML documents"), "{report:#}");
}

#[test]
fn a_key_that_is_said_twice_is_told_and_the_last_one_holds() {
    let env = TestEnv::new();
    let told = |row: &Value, key: &str| {
        assert!(row["warnings"].to_string().contains(&format!("`{key}` occurs more than once")), "{row:#}");
        let field = format!("{key} (before the last)");
        let fields = row["fields"].as_array().expect("fields");
        assert!(fields.iter().any(|fate| fate["field"] == field && fate["fate"] == "dropped"), "{row:#}");
    };
    let row = import(
        &env,
        "a.md",
        "---\nname: a\ndescription: d\nmodel: opus\ntools: Write\n\"tools\": Read\n? model\n: haiku\n---\nx\n",
    );
    assert_eq!(
        (&persona(&env, "a")["permissions"]["allow"], &persona(&env, "a")["model"]),
        (&json!(["Read"]), &json!("haiku"))
    );
    told(&row, "tools");
    told(&row, "model");
    // No YAML: each line that starts so is a key.
    let row = import(
        &env,
        "b.md",
        "---\nname: b\ndescription: Use: it: now\nmodel: opus\ntools: Write\nmodel: haiku\n'tools': Read\n\"color\": red\n7: seven\n? memory\n: user\n---\nx\n",
    );
    let made = persona(&env, "b");
    assert_eq!((&made["permissions"]["allow"], &made["model"]), (&json!(["Read"]), &json!("haiku")));
    assert_eq!(made["x-claude"], json!({"color": "red", "7": "seven", "memory": "user"}));
    told(&row, "tools");
    told(&row, "model");
    let row = import(&env, "c.yaml", "title: C\ndescription: d\nprompt: one\nprompt: two\n");
    assert_eq!(persona(&env, "c")["systemPrompt"], "two");
    told(&row, "prompt");
    let row = import(&env, "d.md", "---\nname: d\ndescription: d\nhooks: {a: 1, a: 2}\n---\nx\n");
    assert!(row["warnings"].to_string().contains("a key occurs more than once"), "{row:#}");
}

fn dropped(row: &Value) -> BTreeMap<&str, &str> {
    let fields = row["fields"].as_array().expect("fields").iter();
    let dropped = fields.filter(|fate| fate["fate"] == "dropped");
    dropped.map(|fate| (fate["field"].as_str().unwrap(), fate["why"].as_str().unwrap())).collect()
}

#[test]
fn what_a_server_loses_is_told_with_its_reason() {
    let env = TestEnv::new();
    let text = "---\nname: a\ndescription: d\nmcpServers:\n  s:\n    command: c\n    description: About s\n    display_name: S\n    env: {GOOD: x, my-var: y, NONE: null}\n  t:\n    url: https://example.com\n    command: c\n    args: [d]\n    headers: {A: null, B: b}\n  u:\n    url: https://example.com\n    headers: [A, B]\n---\nx\n";
    let row = import(&env, "a.md", text);
    let made = persona(&env, "a");
    assert_eq!(
        made["mcpServers"],
        json!({
            "s": {"command": "c", "env": {"GOOD": "x"}},
            "t": {"url": "https://example.com", "headers": {"B": "b"}},
            "u": {"url": "https://example.com"},
        })
    );
    let lost = dropped(&row);
    for (field, why) in [
        ("mcpServers.s.description", "a description of the server"),
        ("mcpServers.s.display_name", "a description of the server"),
        ("mcpServers.s.env.my-var", "not the name of a variable"),
        ("mcpServers.s.env.NONE", "has a value that is not text"),
        ("mcpServers.t.command", "a url"),
        ("mcpServers.t.args", "a url"),
        ("mcpServers.t.headers.A", "has a value that is not text"),
    ] {
        assert!(lost.get(field).is_some_and(|said| said.contains(why)), "{field}: {lost:#?}");
    }
    assert_eq!(made["x-claude"]["mcpServers.u"], json!({"headers": ["A", "B"]}));
    let row = import(
        &env,
        "b.yaml",
        "title: B\ndescription: d\nprompt: Do {{x|default(\"z\")}} and {{ y | upper }} and {{ v | default('w') }}.\nparameters:\n  - {key: x}\n  - {key: y}\n  - {key: v, default: k}\nextensions:\n  - {type: stdio, name: s, cmd: c, env_keys: [GOOD, my-key]}\n",
    );
    let lost = dropped(&row);
    assert!(lost["extensions[0].env_keys.my-key"].contains("not the name of a variable"), "{lost:#?}");
    let made = persona(&env, "b");
    assert_eq!(made["systemPrompt"], "Do ${X} and ${Y} and ${V}.");
    // A default in the text is the default of the input, where that has none of its own.
    assert_eq!(
        (&made["inputs"]["X"], &made["inputs"]["V"]),
        (&json!({"default": "z"}), &json!({"default": "k"}))
    );
    let warnings = row["warnings"].to_string();
    for text in ["upper", "default('w')"] {
        assert!(warnings.contains(text), "{warnings}");
    }
}

#[test]
fn roles_go_where_the_layer_of_the_personas_finds_them() {
    let env = TestEnv::new();
    let config = r#"{"roles": {"officer": {"label": "O", "charter": "Know."}}, "agents": {"ash": {"name": "Ash", "role": "officer", "prompt": "p"}}}"#;
    env.write("in/config.json", config);
    env.run(["import", "../in", "--to", ".agentworkforce/workforce/personas"]).succeeds();
    assert!(env.project().join(".agentworkforce/workforce/roles/officer.json").is_file());
    assert!(env.prompt(&["ash"]).contains("Know."));
    // The layer itself, a directory that is like a layer's, and any other.
    env.run(["import", "../in", "--to", ".agentworkforce/workforce"]).succeeds();
    assert!(!env.project().join(".agentworkforce/workforce/ash.json").exists());
    env.run(["import", "../in", "--to", "../pack/personas"]).succeeds();
    assert!(env.root().join("pack/roles/officer.json").is_file());
    env.run(["import", "../in", "--to", "../mine"]).succeeds();
    assert!(
        env.root().join("mine/roles/officer.json").is_file() && env.root().join("mine/ash.json").is_file()
    );
    // A configured directory has its roles in itself, whatever it is called.
    env.write("other/personas/keep.txt", "");
    let other = env.root().join("other/personas");
    env.run(["config", "set", "personaDirs", other.to_str().unwrap()]).succeeds();
    env.run(["import", "../in", "--to", "../other/personas"]).succeeds();
    assert!(env.root().join("other/personas/roles/officer.json").is_file());
}

#[test]
fn a_broken_file_among_agents_is_a_failure() {
    let env = TestEnv::new();
    env.write("in/agents/good.md", "---\nname: good\ndescription: d\n---\nx\n");
    for name in ["a.toml", "b.yaml", "c.json"] {
        env.write(format!("in/agents/{name}"), "[a\n");
        env.write(format!("in/lib/other-{name}"), "[a\n");
    }
    let ran = env.run(["import", "../in", "--json"]);
    assert_eq!(ran.code, 1, "{ran:#?}");
    let report: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let rows = rows(&report);
    for name in ["a.toml", "b.yaml", "c.json"] {
        assert_eq!((rows[name].0.as_str(), rows[&format!("other-{name}")].0.as_str()), ("failed", "skipped"));
    }
}

#[test]
fn the_account_says_where_nothing_was_written() {
    let env = TestEnv::new();
    let fate = |row: &Value, field: &str| {
        let fields = row["fields"].as_array().expect("fields");
        let found: Vec<&Value> = fields.iter().filter(|fate| fate["field"] == field).collect();
        assert_eq!(found.len(), 1, "{field}: {row:#}");
        format!("{} {}", found[0]["fate"].as_str().unwrap(), found[0]["to"].as_str().unwrap_or_default())
    };
    let row = import(&env, "a.md", "---\nname: a\ndescription: d\ntools: \"*\"\n---\nx\n");
    assert_eq!(fate(&row, "tools"), "mapped no limit, as without it");
    let row =
        import(&env, "b.md", "---\nname: b\ndescription: d\ntools: {Read: true, Write: false}\n---\nx\n");
    assert_eq!(
        persona(&env, "b")["permissions"],
        json!({"allow": ["Read"], "deny": ["Write"]}),
        "capitals are no other tools: {row:#}"
    );
    let row = import(&env, "c.md", "---\ndescription: d\nmode: all\ntools: {odd: true}\n---\nx\n");
    assert_eq!(fate(&row, "tools"), "kept x-opencode.tools");
    assert!(!row["fields"].to_string().contains("\"to\":\"permissions\""), "{row:#}");
    let config = r#"{"mcp": {"off": {"type": "local", "command": ["b"], "enabled": false}}, "agent": {"x": {"prompt": "p", "description": "d"}}}"#;
    let row = import(&env, "opencode.json", config);
    assert_eq!(
        persona(&env, "x")["x-opencode"],
        json!({"mcp.off": {"type": "local", "command": ["b"], "enabled": false}})
    );
    assert_eq!(fate(&row, "mcp"), "kept x-opencode of each persona");
}

#[test]
fn a_charter_beside_an_agent_that_has_its_own_words_is_said_to_be_unused() {
    let env = TestEnv::new();
    env.write("in/agents/ash/charter.md", "Not read.");
    env.write("in/agents/bishop/charter.md", "Read.");
    env.write("in/config.json", r#"{"agents": {"ash": {"charter": "Own."}, "bishop": {"name": "B"}}}"#);
    let report = report(&env, "../in");
    assert_eq!(persona(&env, "ash")["systemPrompt"], "Own.");
    let reasons: BTreeMap<String, String> = report["files"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["source"].as_str().unwrap().ends_with("charter.md"))
        .map(|row| {
            let source = row["source"].as_str().unwrap().rsplit('/').nth(1).unwrap().to_owned();
            (source, row["reason"].as_str().unwrap().to_owned())
        })
        .collect();
    assert_eq!(reasons["bishop"], "imported as a part of config.json");
    assert!(reasons["ash"].contains("that no imported config names"), "{reasons:?}");
}
