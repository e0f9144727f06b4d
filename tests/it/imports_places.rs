//! What of a tree is an agent: whatever the directory is called that it was cloned into, every true agent and nothing else.

use crate::support::TestEnv;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const PERSONAS: &str = "project/.agentworkforce/workforce/personas";

fn persona(env: &TestEnv, id: &str) -> Value {
    serde_json::from_str(&env.read(format!("{PERSONAS}/{id}.json"))).expect("JSON")
}

fn import(env: &TestEnv, path: &str) -> (i32, Value) {
    let ran = env.run(["import", path, "--json"]);
    (ran.code, serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:#?}")))
}

/// The files with their status, by their paths below this directory.
fn statuses(report: &Value, root: &str) -> BTreeMap<String, String> {
    let rows = report["files"].as_array().expect("files").iter();
    rows.map(|row| {
        let source = row["source"].as_str().expect("a path");
        let (_, below) = source.split_once(&format!("/{root}/")).expect("below the root");
        (below.to_owned(), row["status"].as_str().expect("a status").to_owned())
    })
    .collect()
}

const AGENT: &str = "---\nname: NAME\ndescription: d\n---\nYou are a NAME.\n";
const LOOSE: &str = "# Meeting\n\nWe met.\n";

/// A tree as public collections have them. `true`: an agent.
fn tree() -> Vec<(&'static str, String, bool)> {
    let agent = |name: &str| AGENT.replace("NAME", name);
    let with = |name: &str, key: &str| format!("---\nname: {name}\ndescription: d\n{key}\n---\nYou are x.\n");
    vec![
        ("plugins/a/agents/one.md", agent("one"), true),
        ("plugins/a/agents/loose.md", "Review the code.\n".into(), true),
        ("plugins/a/commands/two.md", agent("two"), false),
        ("tools/catalog/fetch.md", format!("{}\n## Input: $ARGUMENTS\n", agent("fetch")), false),
        ("tools/writer.md", format!("{}\nUse `$ARGUMENTS`.\n```\n$ARGUMENTS\n```\n", agent("writer")), true),
        ("plugins/a/agents/asks.md", format!("{}\nDo $ARGUMENTS.\n", agent("asks")), true),
        ("plugins/a/commands/agents/three.md", agent("three"), true),
        ("plugins/a/skills/s/SKILL.md", agent("s"), false),
        ("plugins/a/skills/s/references/r.md", agent("r"), false),
        ("plugins/a/skills/s/agents/grader.md", "You are a grader.\n".into(), true),
        ("plugins/a/hooks/h/README.md", agent("h"), false),
        ("plugins/a/hooks/h/HOOK.md", agent("hook"), false),
        ("plugins/a/output-styles/o.md", agent("o"), false),
        ("team-agents/four.md", agent("four"), true),
        ("team-agents/notes/meeting.md", LOOSE.into(), false),
        ("team-agents/overview.md", LOOSE.into(), false),
        ("marketing/growth.md", agent("growth"), true),
        ("marketing/twitter.md", "# Twitter\n\nYou are a writer.\n".into(), true),
        ("marketing/plan.md", LOOSE.into(), false),
        ("notes/deep.md", "---\nname: deep\n---\nYou are a writer.\n".into(), true),
        (
            "configs/opencode.json",
            json!({"agent": {"seven": {"prompt": "p", "description": "d"}}}).to_string(),
            true,
        ),
        ("configs/prompt.md", "You are a writer.\n".into(), false),
        ("notes/name.md", "---\nname: x\n---\nThings.\n".into(), false),
        ("other/prompt.md", "You are a writer.\n".into(), false),
        ("README.md", agent("readme"), false),
        ("top.md", agent("top"), true),
        (".kiro/steering/product.md", with("product", "inclusion: always"), false),
        (".kiro/steering/tech.md", agent("tech"), false),
        (".github/workflows/triage.md", with("triage", "on: push\nengine: claude"), false),
        ("workflows/daily.md", with("daily", "on: daily\npermissions: read\ntools: {bash: [x]}"), false),
        (".github/ISSUE_TEMPLATE/bug.md", "---\nname: Bug\nabout: b\ntitle: t\n---\nx\n".into(), false),
        (".github/agents/five.md", agent("five"), true),
        (".github/prompts/p.prompt.md", with("p", "mode: agent"), false),
        (".opencode/command/c.md", with("c", "agent: build"), false),
        (".claude/commands/agents/list.md", agent("list"), false),
        (".claude/commands/team/agents/x.md", agent("x"), false),
        (".opencode/command/agents/x.md", agent("y"), false),
        (".github/prompts/agents/x.md", agent("z"), false),
        ("src/agents/notes.md", "# Notes\n\nHow the agents of the program work.\n".into(), false),
        ("lib/agents/alone.md", "# Alone\n\nYou are an agent.\n".into(), true),
        (".opencode/agent/deep/six.md", "Only a prompt.\n".into(), true),
        ("docs/agents/guide.md", "# Guide\n".into(), false),
        ("pages/about.md", "---\ntitle: About\nname: about\ndescription: d\n---\nx\n".into(), false),
        (
            ".zed/settings.json",
            json!({"agent": {"default_model": {"model": "x"}, "profiles": {"a": {"name": "A"}}}}).to_string(),
            false,
        ),
        (
            "report.json",
            json!({"agents": {"one": {"count": 3, "name": "x"}}, "name": "r", "prompt": "p"}).to_string(),
            false,
        ),
        ("evals.json", json!({"description": "d", "prompt": "p"}).to_string(), false),
        ("opencode.json", json!({"agent": {"build": {"model": "x/y"}}}).to_string(), false),
        ("commands/gem.toml", "description = 'd'\nprompt = 'p'\n".into(), false),
        ("extension.toml", "name = 'e'\ndescription = 'd'\n".into(), false),
        (
            "config.json",
            json!({"agents": {"web": {"name": "node-exporter", "port": 9100}}}).to_string(),
            false,
        ),
        ("numbers/config.json", json!({"agents": 12, "roles": 3}).to_string(), false),
        ("texts/config.json", json!({"agents": ["a"], "roles": ["x"]}).to_string(), false),
        ("messages.json", json!({"agents": [{"role": "user", "prompt": "x"}]}).to_string(), false),
        ("chart/job.yaml", "spec:\n  prompt: {{ .Values.x }}\n  {{- if }}\n".into(), false),
        ("empty/README.md", String::new(), false),
        ("plugins/a/agents/README.md", String::new(), false),
        ("plugins/a/commands/x.md", String::new(), false),
        ("docs/empty.md", String::new(), false),
        ("elsewhere/empty.md", String::new(), false),
        ("CHANGELOG.md", "x".repeat(3 * 1024 * 1024), false),
        ("big.json", format!("{{\"a\": \"{}\"}}", "x".repeat(2 * 1024 * 1024)), false),
        ("empty.json", String::new(), false),
        // Agents of minions that have only names and charters.
        ("minions/config.json", json!({"agents": {"ash": {"name": "Ash"}}}).to_string(), true),
        ("minions/agents/ash/charter.md", "Watch.\n".into(), false),
    ]
}

#[test]
fn the_same_tree_gives_the_same_agents_whatever_the_clone_is_called() {
    for root in ["agents", "wsh", "my-agents", "commands", ".agents"] {
        let env = TestEnv::new();
        let expected: BTreeMap<String, String> = tree()
            .into_iter()
            .map(|(path, text, is_agent)| {
                env.write(format!("{root}/{path}"), text);
                (path.to_owned(), if is_agent { "imported" } else { "skipped" }.to_owned())
            })
            .collect();
        let (code, report) = import(&env, &format!("../{root}"));
        assert_eq!(statuses(&report, root), expected, "{root}");
        assert_eq!(code, 0, "{root}: {report:#}");
        assert_eq!(persona(&env, "five")["x-copilot"], Value::Null);
        assert_eq!(persona(&env, "six")["harness"], "opencode");
    }
}

#[test]
fn an_agent_that_cannot_be_read_fails_and_a_document_does_not() {
    let env = TestEnv::new();
    let latin = |text: &str| [text.as_bytes(), b"caf\xe9\n"].concat();
    let files: [(&str, Vec<u8>, &str); 9] = [
        ("LICENSE.md", latin("# License\n"), "skipped"),
        ("notes.md", latin("# Notes\n"), "skipped"),
        ("loose.md", latin("---\nname: loose\ndescription: d\n---\n"), "failed"),
        ("agents/a.md", latin("---\nname: a\n---\n"), "failed"),
        ("agents/empty.agent.md", Vec::new(), "failed"),
        ("agents/README.md", latin("# x\n"), "skipped"),
        ("agents/data.json", b"{\"a\": \"\xe9\"".to_vec(), "failed"),
        ("commands/c.md", latin("---\nname: c\ndescription: d\n---\n"), "skipped"),
        ("agents/huge.md", [b"---\nname: huge\n---\n".to_vec(), vec![b'x'; 3 << 20]].concat(), "failed"),
    ];
    for (path, bytes, _) in &files {
        env.write(format!("in/{path}"), bytes);
    }
    let (code, report) = import(&env, "../in");
    let expected = files.map(|(path, _, status)| (path.to_owned(), status.to_owned()));
    assert_eq!((code, statuses(&report, "in")), (1, expected.into()), "{report:#}");
}

#[test]
fn a_named_file_is_tried_wherever_it_is_named() {
    for args in [["../in", "../in/notes.md"], ["../in/notes.md", "../in"]] {
        let env = TestEnv::new();
        env.write("in/notes.md", LOOSE);
        let report = env.run(["import", args[0], args[1], "--json"]).json();
        assert_eq!(
            statuses(&report, "in"),
            [("notes.md".to_owned(), "imported".to_owned())].into(),
            "{args:?}"
        );
    }
}

#[test]
fn a_place_of_a_tool_that_is_named_itself_is_that_place() {
    let env = TestEnv::new();
    env.write(".opencode/agent/plain.md", "Only a prompt.\n");
    env.write(".github/agents/five.md", "---\nname: five\ndescription: d\ntools: [read]\n---\nx\n");
    let (_, report) = import(&env, "../.opencode/agent");
    assert_eq!(report["files"][0]["format"], "opencode", "{report:#}");
    let (_, report) = import(&env, "../.github/agents");
    assert_eq!(report["files"][0]["format"], "copilot", "{report:#}");
    let (_, report) = import(&env, "../.opencode/agent/plain.md");
    assert_eq!(report["files"][0]["format"], "opencode", "{report:#}");
}

#[test]
fn names_and_emojis_are_taken_and_valid_ids_are_kept() {
    let env = TestEnv::new();
    env.write("in/a.md", "---\nname: Growth Hacker\ndescription: d\nemoji: 🚀\ncolor: red\n---\nx\n");
    env.write("in/powershell-5.1-expert.md", "---\nname: powershell-5.1-expert\ndescription: d\n---\nx\n");
    env.write("in/agents/code_review.md", "---\ndescription: d\n---\nReview.\n");
    env.write("in/b.md", "---\nname: \"a\\u202eb c\"\ndescription: d\nemoji: 12345678901234567890\n---\nx\n");
    let (code, report) = import(&env, "../in");
    assert_eq!(code, 0, "{report:#}");
    let made = persona(&env, "growth-hacker");
    assert_eq!((&made["name"], &made["emoji"]), (&json!("Growth Hacker"), &json!("🚀")));
    assert_eq!(made["x-claude"], json!({"name": "Growth Hacker", "color": "red"}));
    assert!(env.prompt(&["growth-hacker"]).contains("You are Growth Hacker"));
    for id in ["powershell-5.1-expert", "code_review"] {
        assert_eq!((&persona(&env, id)["id"], &persona(&env, id)["name"]), (&json!(id), &Value::Null));
    }
    let odd = persona(&env, "a-b-c");
    assert_eq!((&odd["name"], &odd["emoji"]), (&Value::Null, &Value::Null));
    env.run(["lint", "--strict"]).succeeds();
}

#[test]
fn agents_of_harnesses_have_the_first_choice_of_names() {
    let env = TestEnv::new();
    env.write("in/.amazonq/cli-agents/x.json", json!({"name": "x", "prompt": "From Q."}).to_string());
    env.write("in/.kiro/agents/x.json", json!({"name": "x", "prompt": "From Kiro."}).to_string());
    env.write("in/agents/x.agent.md", "---\nname: x\ndescription: d\n---\nFrom copilot.\n");
    env.write("in/agents/y.md", "---\nname: x\ndescription: d\n---\nFrom claude.\n");
    let (_, report) = import(&env, "../in");
    assert_eq!(report["imported"], 4, "{report:#}");
    let prompts: Vec<Value> =
        ["x", "x-2", "x-3", "x-4"].iter().map(|id| persona(&env, id)["systemPrompt"].clone()).collect();
    assert_eq!(prompts, ["From claude.", "From Q.", "From Kiro.", "From copilot."]);
}

#[test]
fn ones_own_export_is_imported_without_a_warning() {
    for (to, ending) in [("claude", "md"), ("opencode", "md"), ("codex", "toml")] {
        let env = TestEnv::new();
        let personas = env.run(["list", "--json"]).json()["personas"].as_array().expect("personas").clone();
        assert!(personas.len() > 10, "{personas:?}");
        env.write("out/.keep", "");
        for row in personas {
            let id = row["persona"].as_str().expect("an id");
            let out = format!("../out/{id}.{ending}");
            env.run(["export", id, "--to", to, "--out", &out]).succeeds();
        }
        let (code, report) = import(&env, "../out");
        assert_eq!((code, &report["warnings"]), (0, &json!([])), "{to}");
    }
}

#[test]
fn powers_and_instructions_that_only_the_comment_has_are_told() {
    let env = TestEnv::new();
    let mine = json!({
        "id": "mine", "intent": "mine", "description": "d", "harness": "claude", "systemPrompt": "Do.", "tags": ["t"],
        "mount": {"revealPatterns": [".env"]}, "limits": {"usd": 1}, "claudeMdContent": "Obey.",
    });
    env.project_persona(&mine);
    let text = env.run(["export", "mine", "--to", "claude"]).stdout;
    let other = TestEnv::new();
    other.write("in/mine.md", &text);
    let (_, report) = import(&other, "../in");
    assert_eq!(
        report["files"][0]["warnings"],
        json!([{"code": "conversion", "message": "the comment of an earlier export adds mount, claudeMdContent: read them before you run it"}])
    );
    // Who has it already knows it.
    let (_, report) = import(&other, "../in");
    assert_eq!(report["warnings"], json!([]));
}
