//! `inherit` on the real harnesses: what they find of the repository's own setup, and what they do not.

use crate::support::persona::{SECRET, SHOUTED};
use crate::support::wishes::{offered, shout};
use crate::support::{Scratch, Turn};
use agentworkforce::model::tier::Harness;
use serde_json::{Value, json};

const CLAUDE: &str = "REPOS-CLAUDE-MD";
const AGENTS: &str = "REPOS-AGENTS-MD";
const RULE: &str = "REPOS-RULE";
const COMMAND: &str = "REPOS-COMMAND";
const CLAUDE_SKILL: &str = "REPOS-CLAUDE-SKILL";
const SHARED_SKILL: &str = "REPOS-SHARED-SKILL";

/// A repository with instructions, a command and skills for every harness.
fn furnish(world: &Scratch) {
    let described = |name: &str, mark: &str| format!("---\nname: {name}\ndescription: {mark}\n---\n{mark}\n");
    world.write("project/CLAUDE.md", CLAUDE);
    world.write("project/AGENTS.md", AGENTS);
    world.write("project/.claude/rules/rule.md", RULE);
    world.write("project/.claude/commands/deploy.md", described("deploy", COMMAND));
    world.write("project/.opencode/command/deploy.md", described("deploy", COMMAND));
    world.write("project/.claude/skills/knit/SKILL.md", described("knit", CLAUDE_SKILL));
    world.write("project/.agents/skills/sew/SKILL.md", described("sew", SHARED_SKILL));
    world.git(&["add", "--all"]);
    world.git(&["commit", "--quiet", "--message", "setup"]);
}

const MARKS: [&str; 6] = [CLAUDE, AGENTS, RULE, COMMAND, CLAUDE_SKILL, SHARED_SKILL];

/// The marks that a run with these flags shows the model; it changes nothing.
fn marks(harness: Harness, kinds: &str) -> Vec<&'static str> {
    let world = Scratch::new([Turn::text("fine")]);
    furnish(&world);
    world.plain(harness, &json!({}));
    let report = world.succeeds(&["--inherit", kinds]);
    assert_eq!(report["changes"], json!([]), "{report:#}");
    assert_eq!(report["protected"], json!([]), "{report:#}");
    MARKS.into_iter().filter(|mark| world.model.contains(mark)).collect()
}

#[test]
fn claude_sees_instructions_commands_and_skills_of_the_repository() {
    let seen = |kinds: &str| marks(Harness::Claude, kinds);
    assert_eq!(seen("none"), <[&str; 0]>::default());
    assert_eq!(seen("instructions"), [CLAUDE, RULE]);
    assert_eq!(seen("commands"), [COMMAND]);
    assert_eq!(seen("skills"), [CLAUDE_SKILL]);
}

#[test]
fn codex_sees_instructions_and_skills_of_the_repository() {
    let seen = |kinds: &str| marks(Harness::Codex, kinds);
    assert_eq!(seen("none"), <[&str; 0]>::default());
    assert_eq!(seen("instructions"), [AGENTS]);
    assert_eq!(seen("skills"), [SHARED_SKILL]);
}

#[test]
fn opencode_sees_instructions_commands_and_skills_of_the_repository() {
    let seen = |kinds: &str| marks(Harness::Opencode, kinds);
    assert_eq!(seen("none"), <[&str; 0]>::default());
    assert_eq!(seen("instructions"), [AGENTS]);
    assert_eq!(seen("skills"), [CLAUDE_SKILL, SHARED_SKILL]);
    let commanded = |kinds: &str| {
        let world = Scratch::new([Turn::text("fine")]);
        furnish(&world);
        world.plain(Harness::Opencode, &json!({}));
        let (report, _) = world.report(&["--inherit", kinds, "--", "--command", "deploy"]);
        (world.model.contains(COMMAND), report)
    };
    let (has, report) = commanded("commands");
    assert!(has, "{report:#}");
    assert_eq!(report["protected"], json!([]), "{report:#}");
    assert!(!commanded("none").0);
}

/// The server of the repository, in the file that this harness reads, and one of the user's own.
fn furnish_servers(world: &Scratch, harness: Harness) {
    let file = world.server().display().to_string();
    let secret = SECRET.0;
    match harness {
        Harness::Claude => {
            let env = json!({"PROBE_SECRET": format!("${{{secret}}}")});
            let server = json!({"command": "node", "args": [file], "env": env});
            world.write("project/.mcp.json", json!({"mcpServers": {"probe": server}}).to_string());
            // Above the project; not the user's own, and not the repository's.
            world.write(".mcp.json", json!({"mcpServers": {"above": server}}).to_string());
            let mut state: Value = serde_json::from_str(&world.read("home/.claude.json")).expect("JSON");
            state["mcpServers"] = json!({ "users": server });
            world.write("home/.claude.json", state.to_string());
        }
        Harness::Codex => {
            let server =
                |name: &str| format!("\n[mcp_servers.{name}]\ncommand = \"node\"\nargs = [\"{file}\"]\n");
            let env = format!("env = {{PROBE_SECRET = \"${{{secret}}}\"}}\n");
            world.write("project/.codex/config.toml", format!("{}{env}", server("probe")));
            let config = world.read("home/.codex/config.toml");
            let users = server("users") + "env = {PROBE_SECRET = \"of the user\"}\n";
            world.write("home/.codex/config.toml", format!("{config}{users}"));
        }
        Harness::Opencode => {
            let env = json!({"PROBE_SECRET": format!("{{env:{secret}}}")});
            let server = json!({"type": "local", "command": ["node", file], "environment": env});
            world.write("project/opencode.json", json!({"mcp": {"probe": server}}).to_string());
            let path = "home/.config/opencode/opencode.json";
            let mut config: Value = serde_json::from_str(&world.read(path)).expect("JSON");
            config["mcp"] = json!({ "users": server });
            world.write(path, config.to_string());
        }
    }
    world.git(&["add", "--all"]);
    world.git(&["commit", "--quiet", "--message", "servers"]);
}

/// The tools of MCP servers that the model is offered, and whether the one of the repository answers.
fn servers(harness: Harness, more: &Value, flags: &[&str]) -> (Vec<String>, bool) {
    let world = Scratch::new([shout(harness), Turn::text("fine")]);
    furnish_servers(&world, harness);
    let mut persona = json!({"permissions": {"allow": ["mcp__probe", "mcp__users"], "mode": "default"}});
    for (key, value) in more.as_object().expect("an object") {
        persona[key] = value.clone();
    }
    world.plain(harness, &persona);
    let (report, _) = world.report(flags);
    assert_eq!(report["protected"], json!([]), "{report:#}");
    let mut tools = offered(&world.model.turns()[0].body);
    tools.retain(|tool| ["probe", "users", "above"].iter().any(|name| tool.contains(name)));
    (tools, world.model.contains(SHOUTED))
}

#[test]
fn claude_has_the_servers_of_the_repository_and_of_the_user() {
    let tools = |more: &Value, flags: &[&str]| servers(Harness::Claude, more, flags);
    assert_eq!(tools(&json!({}), &[]), (vec![], false));
    let both = vec!["mcp__probe__shout".to_owned(), "mcp__users__shout".to_owned()];
    assert_eq!(tools(&json!({}), &["--inherit", "mcp"]), (both, true));
    let hermetic = json!({"hermetic": true, "inherit": ["mcp"]});
    assert_eq!(tools(&hermetic, &[]), (vec!["mcp__probe__shout".to_owned()], true));
}

#[test]
fn codex_has_the_servers_of_the_repository_and_of_the_user() {
    let (tools, answers) = servers(Harness::Codex, &json!({}), &["--inherit", "mcp"]);
    assert!(answers, "{tools:?}");
    let (tools, answers) = servers(Harness::Codex, &json!({}), &[]);
    assert!(!answers && !tools.iter().any(|tool| tool.contains("probe")), "{tools:?}");
}

#[test]
fn opencode_has_the_servers_of_the_repository_and_of_the_user() {
    let (tools, answers) = servers(Harness::Opencode, &json!({}), &["--inherit", "mcp"]);
    assert_eq!((tools, answers), (vec!["probe_shout".to_owned(), "users_shout".to_owned()], true));
    let (tools, answers) = servers(Harness::Opencode, &json!({}), &[]);
    assert_eq!((tools, answers), (vec!["users_shout".to_owned()], false));
}

/// An allow list that says nothing of a server is no word against it: its author cannot know what a repository has. One that names
/// tools of it means these.
#[test]
fn whoever_inherits_servers_may_use_them_unless_the_persona_says_otherwise() {
    for harness in Harness::ALL {
        let answers = |inherit: &[&str], permissions: Value| {
            let mut all = json!({"allow": ["Read", "Edit"], "mode": "acceptEdits"});
            for (key, value) in permissions.as_object().expect("an object") {
                all[key] = value.clone();
            }
            servers(harness, &json!({"permissions": all, "inherit": inherit}), &[])
        };
        let (tools, answered) = answers(&["mcp"], json!({}));
        assert!(answered, "{harness}: {tools:?}");
        if harness != Harness::Codex {
            assert_eq!(tools.len(), 2, "{harness}: {tools:?}");
        }
        for denied in ["mcp__probe", "mcp__probe__shout"] {
            let (tools, answered) = answers(&["mcp"], json!({"deny": [denied]}));
            assert!(!answered, "{harness}: {denied}: {tools:?}");
        }
        assert!(!answers(&["instructions"], json!({})).1, "{harness}");
        if harness != Harness::Codex {
            let other = json!({"allow": ["Read", "mcp__probe__whisper"]});
            assert!(!answers(&["mcp"], other).1, "{harness}");
        }
    }
}

/// The same for servers that only the user has.
#[test]
fn whoever_inherits_servers_may_use_those_of_the_user() {
    for harness in Harness::ALL {
        for (deny, expected) in [(json!([]), true), (json!(["mcp__users"]), false)] {
            let name = if harness == Harness::Opencode { "users_shout" } else { "mcp__users__shout" };
            let world = Scratch::new([Turn::call(name, json!({"word": "hello"})), Turn::text("fine")]);
            furnish_servers(&world, harness);
            world.plain(
                harness,
                &json!({"permissions": {"allow": ["Read"], "deny": deny}, "inherit": ["mcp"]}),
            );
            let (report, _) = world.report(&[]);
            assert_eq!(world.model.contains("SHOUTED-HELLO"), expected, "{harness} {deny}: {report:#}");
        }
    }
}

#[test]
fn claude_runs_the_hooks_of_the_repository() {
    for (flags, hooked) in [(&["--inherit", "hooks"][..], true), (&["--inherit", "skills,commands"], false)] {
        let world = Scratch::new([Turn::text("fine")]);
        let command = "sh \"$CLAUDE_PROJECT_DIR/.claude/hooks/mark.sh\"";
        let hook = json!({"type": "command", "command": command});
        let settings = json!({"hooks": {"SessionStart": [{"hooks": [hook]}]}});
        world.write("project/.claude/settings.json", settings.to_string());
        let script = "echo hooked > \"$CLAUDE_PROJECT_DIR/hooked.txt\"\n";
        world.write("project/.claude/hooks/mark.sh", script);
        world.git(&["add", "--all"]);
        world.git(&["commit", "--quiet", "--message", "hooks"]);
        world.plain(Harness::Claude, &json!({}));
        world.succeeds(flags);
        assert_eq!(world.project().join("hooked.txt").exists(), hooked, "{flags:?}");
    }
}

#[test]
fn codex_runs_the_hooks_of_the_repository() {
    for (flags, hooked) in [(&["--inherit", "hooks"][..], true), (&["--inherit", "skills"], false)] {
        let world = Scratch::new([Turn::text("fine")]);
        let hook = json!({"type": "command", "command": "sh .codex/hooks/mark.sh"});
        let settings = json!({"hooks": {"SessionStart": [{"hooks": [hook]}]}});
        world.write("project/.codex/hooks.json", settings.to_string());
        world.write("project/.codex/hooks/mark.sh", "echo hooked > hooked.txt\n");
        world.git(&["add", "--all"]);
        world.git(&["commit", "--quiet", "--message", "hooks"]);
        world.plain(Harness::Codex, &json!({}));
        let report = world.succeeds(flags);
        assert_eq!(world.project().join("hooked.txt").exists(), hooked, "{flags:?}: {report:#}");
    }
}

/// Why commands and skills come without their frontmatter's hooks and permissions.
#[test]
fn a_skill_of_the_repository_brings_no_hooks() {
    let world = Scratch::new([Turn::call("Skill", json!({"skill": "knit"})), Turn::text("fine")]);
    let skill = "---\nname: knit\ndescription: KNIT-MARK\nhooks:\n  PostToolUse:\n    - hooks:\n        \
                 - type: command\n          command: touch skilled.txt\n---\nKNIT-BODY\n";
    world.write("project/.claude/skills/knit/SKILL.md", skill);
    world.git(&["add", "--all"]);
    world.git(&["commit", "--quiet", "--message", "skill"]);
    world
        .plain(Harness::Claude, &json!({"inherit": ["skills"], "permissions": {"allow": ["Skill", "Bash"]}}));
    let report = world.succeeds(&[]);
    assert!(world.model.contains("KNIT-BODY"), "{report:#}");
    assert!(
        report["warnings"].to_string().contains("hooks of .claude/skills/knit/SKILL.md left out"),
        "{report:#}"
    );
    assert!(!world.project().join("skilled.txt").exists(), "{report:#}");
}

/// Claude loads a plugin that it finds among the skills without being asked, and follows every link there.
#[test]
fn links_and_plugins_of_the_repository_bring_no_hooks_and_no_permissions() {
    let world = Scratch::new((0..6).map(|_| Turn::text("fine")));
    let mark = |name: &str| world.root().join(format!("tmp/RAN-{name}")).display().to_string();
    let text = |name: &str| {
        let (hook, line) = (mark(&format!("{name}-hook")), mark(&format!("{name}-line")));
        format!(
            "---\nname: {name}\ndescription: d\nallowed-tools: Bash\nhooks: {{UserPromptSubmit: [{{hooks: [{{type: command, \
             command: \"touch {hook}\"}}]}}]}}\n---\nResult: !`touch {line}`\n"
        )
    };
    let hook = |name: &str| json!({"SessionStart": [{"hooks": [{"type": "command", "command": format!("touch {}", mark(name))}]}]});
    world.write("project/.claude/skills/a/payload.txt", text("a"));
    world.write("project/.claude/rules/y.txt", text("y"));
    world.write("project/.claude/rules/b/SKILL.md", text("b"));
    world.write("project/docs/CLAUDE.md", text("d"));
    world.write("project/docs/x.txt", text("x"));
    let plugin = "project/.claude/skills/plugin";
    world.write(format!("{plugin}/.claude-plugin/plugin.json"), json!({"name": "plugin"}).to_string());
    world.write(format!("{plugin}/hooks/hooks.json"), json!({"hooks": hook("plugin")}).to_string());
    let server = json!({"command": "touch", "args": [mark("server")]});
    let manifest = json!({"name": "inline", "hooks": hook("inline"), "mcpServers": {"s": server}});
    world.write("project/.claude/skills/inline/.claude-plugin/plugin.json", manifest.to_string());
    for (target, link) in [
        ("payload.txt", "skills/a/SKILL.md"),
        ("../rules/y.txt", "commands/y.md"),
        ("../../docs/x.txt", "commands/CLAUDE.md"),
        ("../../../docs/CLAUDE.md", "skills/d/SKILL.md"),
        ("../rules/b", "skills/b"),
    ] {
        let link = world.project().join(".claude").join(link);
        std::fs::create_dir_all(link.parent().expect("a parent")).expect("writable");
        std::os::unix::fs::symlink(target, link).expect("writable");
    }
    world.git(&["add", "--all"]);
    world.git(&["commit", "--quiet", "--message", "setup"]);
    let inherit = json!(["instructions", "commands", "skills"]);
    world.plain(Harness::Claude, &json!({"inherit": inherit, "permissions": {"allow": ["Read"]}}));
    for prompt in ["/a", "/y", "/CLAUDE", "/d", "/b", "hello"] {
        let ran = world.run(&mut world.agentworkforce(["agent", "tester", "-p", prompt, "--json"]), "");
        assert_eq!(world.leftovers(), [], "{ran:#?}");
        let left = std::fs::read_dir(world.root().join("tmp")).expect("readable");
        let left: Vec<_> = left.map(|entry| entry.expect("readable").file_name()).collect();
        assert!(!left.iter().any(|name| name.to_string_lossy().starts_with("RAN-")), "{prompt}: {left:?}");
    }
}

/// The user's own configuration may name files of every project as instructions.
#[test]
fn what_the_users_own_configuration_names_in_a_project_instructs_nobody() {
    for harness in [Harness::Codex, Harness::Opencode] {
        let world = Scratch::new([Turn::text("fine")]);
        world.write("project/GUIDE.md", "REPOS-GUIDE");
        world.git(&["add", "--all"]);
        world.git(&["commit", "--quiet", "--message", "guide"]);
        let config = world.read("home/.codex/config.toml");
        world.write(
            "home/.codex/config.toml",
            format!("project_doc_fallback_filenames = [\"GUIDE.md\"]\n{config}"),
        );
        let path = "home/.config/opencode/opencode.json";
        let mut config: Value = serde_json::from_str(&world.read(path)).expect("JSON");
        config["instructions"] = json!(["GUIDE.md"]);
        world.write(path, config.to_string());
        world.plain(harness, &json!({}));
        world.succeeds(&[]);
        assert!(!world.model.contains("REPOS-GUIDE"), "{harness}");
    }
}
