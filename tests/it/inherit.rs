//! `inherit`: what a run sees of the repository's own setup of harnesses, and what becomes of the rest.

use crate::support::harness::{HARNESSES, weaver};
use crate::support::mount::{Identity, World, read};
use crate::support::sessions::BACKENDS;
use crate::support::{TestEnv, flat, warnings, with};
use serde_json::{Value, json};

/// A repository with everything that harnesses read.
const SETUP: [(&str, &str); 14] = [
    ("CLAUDE.md", "REPO-CLAUDE\n"),
    ("AGENTS.md", "REPO-AGENTS\n"),
    ("api/CLAUDE.md", "NESTED-CLAUDE\n"),
    (".claude/CLAUDE.md", "INNER-CLAUDE\n"),
    (".claude/commands/deploy.md", "DEPLOY\n"),
    (".claude/skills/knit/SKILL.md", "---\nname: knit\ndescription: KNIT\n---\n"),
    (".agents/skills/sew/SKILL.md", "---\nname: sew\ndescription: SEW\n---\n"),
    (".opencode/command/ship.md", "SHIP\n"),
    (
        ".claude/settings.json",
        r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "HOOK"}]}]}, "env": {"A": "SETTING"}}"#,
    ),
    (".claude/hooks/check.sh", "HOOK-SCRIPT\n"),
    (".claude/agents/other.md", "AGENT\n"),
    (".mcp.json", r#"{"mcpServers": {"repo": {"command": "REPO-SERVER", "env": {"T": "${TOKEN}"}}}}"#),
    (".codex/config.toml", "[mcp_servers.codexs]\ncommand = 'CODEX-SERVER'\n"),
    (
        "opencode.json",
        r#"{"mcp": {"opens": {"type": "local", "command": ["OPEN-SERVER", "x"]}}, "plugin": ["EVIL"]}"#,
    ),
];

/// Lists all files of the setup that the harness can read.
const LISTS: &str = r#"begins; for f in CLAUDE.md AGENTS.md api/CLAUDE.md .claude/CLAUDE.md .claude/commands/deploy.md \
  .claude/skills/knit/SKILL.md .agents/skills/sew/SKILL.md .opencode/command/ship.md .claude/settings.json .claude/hooks/check.sh \
  .claude/agents/other.md .mcp.json .codex/config.toml opencode.json; do if test -s $f; then echo $f; fi; done > "$record/seen"
  git status --porcelain > "$record/status"
  answers done"#;

fn world(more: &Value) -> World {
    let world = World::with_harness(Identity::Own, LISTS);
    world.files(&SETUP);
    world.outside("git add -A -f && git commit -qm setup");
    world.persona(&with(plain(), more));
    world
}

/// Without instructions of its own.
fn plain() -> Value {
    json!({"id": "weaver", "intent": "work", "description": "works", "harness": "claude", "systemPrompt": "You work."})
}

fn seen(world: &World, flags: &[&str]) -> Vec<String> {
    let (report, code) = world.report(flags);
    assert_eq!(code, 0, "{report:#}");
    assert_eq!(report["changes"], json!([]), "{report:#}");
    assert_eq!(world.recorded("status"), "", "git sees it");
    world.recorded("seen").lines().map(str::to_owned).collect()
}

const INSTRUCTIONS: [&str; 4] = ["CLAUDE.md", "AGENTS.md", "api/CLAUDE.md", ".claude/CLAUDE.md"];
const COMMANDS: [&str; 2] = [".claude/commands/deploy.md", ".opencode/command/ship.md"];
const SKILLS: [&str; 2] = [".claude/skills/knit/SKILL.md", ".agents/skills/sew/SKILL.md"];

fn sorted(lists: &[&[&str]]) -> Vec<String> {
    let mut all: Vec<String> = lists.iter().copied().flatten().map(|name| (*name).to_owned()).collect();
    all.sort();
    all
}

#[test]
fn each_kind_shows_its_own_files_on_every_harness_and_backend() {
    let world = world(&json!({}));
    for backend in BACKENDS {
        for harness in HARNESSES {
            let shown = |kinds: &str| {
                let mut seen = seen(&world, &["--harness", harness, "--mount", backend, "--inherit", kinds]);
                seen.sort();
                seen
            };
            assert_eq!(shown("none"), sorted(&[]), "{harness} {backend}");
            assert_eq!(shown("instructions"), sorted(&[&INSTRUCTIONS]), "{harness} {backend}");
            assert_eq!(shown("commands"), sorted(&[&COMMANDS]), "{harness} {backend}");
            assert_eq!(shown("skills"), sorted(&[&SKILLS]), "{harness} {backend}");
            assert_eq!(shown("mcp"), sorted(&[]), "{harness} {backend}");
            assert_eq!(shown("hooks"), sorted(&[&[".claude/hooks/check.sh"]]), "{harness} {backend}");
            let most = shown("instructions,commands,skills,mcp");
            assert_eq!(most, sorted(&[&INSTRUCTIONS, &COMMANDS, &SKILLS]), "{harness} {backend}");
        }
    }
}

#[test]
fn the_flag_replaces_what_the_persona_says_and_the_persona_what_the_config_says() {
    let env = TestEnv::new();
    let kinds = |flags: &[&str]| {
        let plan = env.plan(&[&["x", "-p", "t"], flags].concat());
        (plan["inherit"]["kinds"].clone(), plan["inherit"]["from"].clone())
    };
    env.project_persona(&flat("x", "prompt"));
    assert_eq!(kinds(&[]), (Value::Null, Value::Null));
    env.run(["config", "set", "inherit", "mcp", "instructions"]).succeeds();
    assert_eq!(kinds(&[]), (json!(["instructions", "mcp"]), json!("config")));
    env.project_persona(&with(flat("x", "prompt"), &json!({"inherit": ["skills"]})));
    assert_eq!(kinds(&[]), (json!(["skills"]), json!("persona")));
    assert_eq!(kinds(&["--inherit", "hooks,commands"]), (json!(["commands", "hooks"]), json!("flag")));
    assert_eq!(kinds(&["--inherit", "none"]), (json!([]), json!("flag")));
    // An overlay replaces the whole list.
    env.user_persona(&with(flat("x", "prompt"), &json!({"inherit": ["mcp"]})));
    env.project_persona(&json!({"id": "x", "inherit": []}));
    assert_eq!(kinds(&[]), (json!([]), json!("persona")));
    env.run(["agent", "x", "-p", "t", "--inherit", "none,mcp"]).fails(2, "no other kind");
    env.run(["agent", "x", "-p", "t", "--inherit", "setting"]).fails(2, "setting");
    env.run(["config", "set", "inherit", "everything"]).fails(2, "inherit");
    env.project_persona(&with(flat("y", "prompt"), &json!({"inherit": ["hook"]})));
    env.run(["lint", "y"]).fails_with_output(1, "inherit");
}

#[test]
fn a_sidecar_replaces_its_one_file_and_extend_still_extends() {
    let own = json!({"inherit": ["instructions"], "claudeMdContent": "PERSONA"});
    let world = world(&own);
    for backend in BACKENDS {
        for (mode, expected) in [("overwrite", "PERSONA"), ("extend", "REPO-CLAUDE\n\n\n---\n\nPERSONA")] {
            world.persona(&with(plain(), &with(own.clone(), &json!({"claudeMdMode": mode}))));
            world.harness("claude", "begins; cp CLAUDE.md AGENTS.md \"$record/\"; cat api/CLAUDE.md > \"$record/nested\"; answers done");
            let (report, code) = world.report(&["--mount", backend]);
            assert_eq!(code, 0, "{report:#}");
            assert_eq!(world.recorded("CLAUDE.md"), expected, "{backend}");
            // What is extended is there, whatever is inherited.
            let plan = world
                .agent(&["weaver", "-p", "x", "--inherit", "none", "--dry-run", "--json"])
                .ends(0)
                .json();
            let hidden = plan["inherit"]["hidden"][0]["what"].to_string();
            assert_eq!(hidden.contains("\"CLAUDE.md\""), mode == "overwrite", "{plan:#}");
            assert_eq!(world.recorded("AGENTS.md"), "REPO-AGENTS\n", "{backend}");
            assert_eq!(world.recorded("nested"), "NESTED-CLAUDE\n", "{backend}");
        }
    }
}

#[test]
fn what_is_inherited_is_never_changed() {
    let world = world(&json!({"inherit": ["instructions", "commands", "skills", "hooks"]}));
    world.harness(
        "claude",
        "begins; echo more >> CLAUDE.md; echo more >> .claude/commands/deploy.md; echo new > .claude/commands/new.md; \
         rm -r .claude/skills; echo '{}' > .claude/settings.json; echo '{}' > .mcp.json; echo x >> .claude/hooks/check.sh; echo fine > ok.txt; answers done",
    );
    for backend in BACKENDS {
        let (report, code) = world.report(&["--mount", backend]);
        assert_eq!(code, 0, "{report:#}");
        for (path, text) in SETUP {
            assert_eq!(read(world.project().join(path)), text, "{path}");
        }
        assert!(!world.project().join(".claude/commands/new.md").exists());
        assert_eq!(read(world.project().join("ok.txt")), "fine\n");
        let protected = report["protected"].to_string();
        for path in ["CLAUDE.md", ".claude/commands/new.md", ".claude/settings.json", ".mcp.json"] {
            assert!(protected.contains(&format!("\"{path}\"")), "{path}: {protected}");
        }
        world.outside("rm ok.txt");
    }
}

/// What the harness is configured with, in the plan.
fn configured(world: &World, flags: &[&str]) -> Value {
    let mut all = vec!["weaver", "-p", "do it", "--dry-run", "--json"];
    all.extend(flags);
    world.agent(&all).json()
}

#[test]
fn servers_of_the_repository_go_into_the_configuration_of_every_harness() {
    let world =
        world(&json!({"mcpServers": {"own": {"command": "OWN-SERVER"}, "opens": {"command": "MINE"}}}));
    for harness in HARNESSES {
        let without = configured(&world, &["--harness", harness]);
        assert_eq!(without["mcpServers"], json!(["opens", "own"]), "{harness}");
        assert!(!without.to_string().contains("REPO-SERVER"), "{harness}");
        let plan = configured(&world, &["--harness", harness, "--inherit", "mcp"]);
        assert_eq!(plan["mcpServers"], json!(["codexs", "opens", "own", "repo"]), "{harness}");
        let files = plan["files"].to_string();
        for command in ["REPO-SERVER", "CODEX-SERVER", "OWN-SERVER", "MINE"] {
            assert!(files.contains(command), "{harness}: {command}: {files}");
        }
        // The persona's own wins, and nothing else of such a file is taken.
        assert!(!files.contains("OPEN-SERVER") && !files.contains("EVIL"), "{harness}: {files}");
        assert!(
            warnings(&plan).iter().any(|text| text.contains("mcpServers.repo.env.T is left out")),
            "{plan:#}"
        );
    }
}

#[test]
fn the_users_own_servers_are_there_with_mcp_unless_the_persona_is_hermetic() {
    let world = world(&json!({}));
    let is_strict = |flags: &[&str]| {
        let plan = configured(&world, flags);
        let row =
            plan["enforcement"].as_array().unwrap().iter().find(|row| row["field"] == "inherit.mcp").cloned();
        (
            plan["command"]["args"].to_string().contains("--strict-mcp-config"),
            row.map(|row| row["how"].to_string()),
        )
    };
    assert_eq!(is_strict(&[]), (true, None));
    let (strict, how) = is_strict(&["--inherit", "mcp"]);
    assert!(!strict && how.unwrap().contains("and the user's own"));
    world.persona(&with(plain(), &json!({"hermetic": true, "inherit": ["mcp"]})));
    let (strict, how) = is_strict(&[]);
    assert!(strict && how.unwrap().contains("keeps the user's own out"));
    // claude would start what directories above the project configure.
    world.persona(&with(plain(), &json!({"inherit": ["mcp"]})));
    std::fs::write(world.path(".mcp.json"), r#"{"mcpServers": {"above": {"command": "x"}}}"#).unwrap();
    let plan = configured(&world, &[]);
    let text = plan["files"].to_string();
    assert!(text.contains("disabledMcpjsonServers") && text.contains("above"), "{text}");
}

#[test]
fn hooks_go_into_the_settings_of_claude_and_nothing_else_of_the_repositorys_does() {
    let world = world(&json!({}));
    let settings = |flags: &[&str]| configured(&world, flags)["files"].to_string();
    assert!(!settings(&[]).contains("HOOK"));
    let with_hooks = settings(&["--inherit", "hooks"]);
    assert!(with_hooks.contains("HOOK") && with_hooks.contains("Stop"), "{with_hooks}");
    assert!(!with_hooks.contains("SETTING"), "{with_hooks}");
    // claude's are not codex's, which has its own.
    let codex = settings(&["--harness", "codex", "--inherit", "hooks"]);
    assert!(!codex.contains("HOOK"), "{codex}");
    let hooks = r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "CODEX-HOOK"}]}]}}"#;
    world.files(&[(".codex/hooks.json", hooks), (".codex/hooks/run.py", "x")]);
    let plan = configured(&world, &["--harness", "codex", "--inherit", "hooks"]);
    assert!(plan["files"].to_string().contains("CODEX-HOOK"), "{plan:#}");
    assert!(plan["command"]["args"].to_string().contains("--dangerously-bypass-hook-trust"), "{plan:#}");
    assert!(!settings(&["--harness", "codex"]).contains("CODEX-HOOK"));
    let plan = configured(&world, &["--harness", "opencode", "--inherit", "hooks"]);
    assert!(!plan["files"].to_string().contains("HOOK"), "{plan:#}");
    let rows = plan["enforcement"].as_array().unwrap();
    let row = rows.iter().find(|row| row["field"] == "inherit.hooks").unwrap();
    assert_eq!(row["level"], "unsupported", "{row}");
}

#[test]
fn the_banner_the_plan_and_show_say_what_is_hidden_and_how_to_get_it() {
    let world = world(&json!({"inherit": ["instructions"]}));
    let line = ".claude/commands, .opencode/command, .claude/skills, .agents/skills, .codex/config.toml, opencode.json, .mcp.json, \
                .claude/settings.json (to get them: --inherit instructions,commands,skills,mcp,hooks)";
    let shown = |did: &str| did.split_whitespace().collect::<Vec<_>>().join(" ");
    let run = world.agent(&["weaver", "-p", "do it"]).ends(0);
    assert!(shown(&run.stderr).contains(&format!("hidden from weaver: {line}")), "{}", run.stderr);
    let plan = world.agent(&["weaver", "-p", "do it", "--dry-run"]).ends(0);
    assert!(
        shown(&plan.stdout).contains(&format!("inherit instructions (persona) hidden {line}")),
        "{}",
        plan.stdout
    );
    let show = world.aw(["show", "weaver"]);
    assert!(shown(&show.stdout).contains(&format!("HIDDEN {line}")), "{}", show.stdout);
    // All of it, then nothing.
    let all = world
        .agent(&["weaver", "-p", "do it", "--inherit", "instructions,commands,skills,mcp,hooks"])
        .ends(0);
    assert!(!all.stderr.contains("hidden from"), "{}", all.stderr);
    let json = world.aw(["show", "weaver", "--json"]).json();
    assert_eq!(json["inherit"]["hidden"][0]["kind"], "commands", "{json:#}");
}

#[test]
fn what_a_pattern_shows_is_not_called_hidden() {
    let world = world(&json!({}));
    let hidden = |flags: &[&str]| {
        let plan = configured(&world, flags);
        let list = plan["inherit"]["hidden"].as_array().unwrap().clone();
        list.iter()
            .flat_map(|hidden| hidden["what"].as_array().unwrap().clone())
            .map(|what| what.as_str().unwrap().to_owned())
            .collect::<Vec<String>>()
    };
    let has = |list: &[String], path: &str| list.iter().any(|what| what == path);
    let all = hidden(&[]);
    assert!(
        has(&all, "CLAUDE.md") && has(&all, ".claude/commands") && has(&all, ".claude/skills"),
        "{all:?}"
    );
    let shown = hidden(&["--reveal", "CLAUDE.md"]);
    assert!(!has(&shown, "CLAUDE.md") && has(&shown, ".claude/commands"), "{shown:?}");
    let shown = hidden(&["--reveal", ".claude/commands"]);
    assert!(has(&shown, "CLAUDE.md") && !has(&shown, ".claude/commands"), "{shown:?}");
    let run = world.agent(&["weaver", "-p", "do it", "--reveal", ".claude"]).ends(0);
    assert!(run.stderr.contains("hidden from weaver: CLAUDE.md"), "{}", run.stderr);
    assert!(!run.stderr.contains(".claude/skills"), "{}", run.stderr);
    world.aw(["config", "set", "mount.revealPatterns", ".claude"]).ends(0);
    let shown = hidden(&[]);
    // Settings stay hidden, whatever is revealed.
    assert!(!has(&shown, ".claude/skills") && has(&shown, ".claude/settings.json"), "{shown:?}");
    let show = world.aw(["show", "weaver"]).ends(0).stdout;
    assert!(!show.contains(".claude/skills"), "{show}");
    world.aw(["config", "unset", "mount.revealPatterns"]).ends(0);
    // Hooks of a commit are inherited by nobody, so nobody is told to ask for them.
    let run = world.agent(&["weaver", "-p", "do it", "--persona-ref", "HEAD"]).ends(0);
    assert!(run.stderr.contains("--inherit instructions,commands,skills,mcp)"), "{}", run.stderr);
}

#[test]
fn revealing_works_for_the_setup_or_is_refused_with_the_reason() {
    let world = world(&json!({}));
    assert_eq!(seen(&world, &["--reveal", "CLAUDE.md"]), ["CLAUDE.md", "api/CLAUDE.md", ".claude/CLAUDE.md"]);
    assert_eq!(seen(&world, &["--reveal", ".claude/commands"]), [".claude/commands/deploy.md"]);
    world.aw(["config", "set", "mount.revealPatterns", ".claude"]).ends(0);
    let claude = [".claude/CLAUDE.md", ".claude/commands/deploy.md", ".claude/skills/knit/SKILL.md"];
    assert_eq!(seen(&world, &[]), claude);
    world.aw(["show", "weaver", "--files", ".claude/commands/deploy.md"]).ends(0).says("readonly");
    let (report, _) = world.report(&[]);
    assert!(
        report["warnings"].to_string().contains("settings, hooks and agents in it stay hidden"),
        "{report:#}"
    );
    for pattern in [".mcp.json", ".claude/settings.json", ".codex", "opencode.json*"] {
        world
            .agent(&["weaver", "-p", "t", "--reveal", pattern])
            .ends(2)
            .says("configuration that a harness obeys");
        world.aw(["config", "set", "mount.revealPatterns", pattern]).ends(2).says("stays hidden");
    }
    world.aw(["config", "unset", "mount.revealPatterns"]).ends(0);
    world.persona(&with(plain(), &json!({"mount": {"revealPatterns": [".mcp.json"]}})));
    let (report, _) = world.report(&[]);
    assert!(report["warnings"].to_string().contains("configuration that a harness obeys"), "{report:#}");
    assert_eq!(seen(&world, &[]), <[&str; 0]>::default());
}

#[test]
fn a_session_records_what_it_inherits() {
    let world = world(&json!({"inherit": ["mcp", "instructions"]}));
    let (report, _) = world.report(&["--keep"]);
    let session = world.sessions().join(report["session"].as_str().unwrap());
    let kinds: Value = serde_json::from_str(&read(session.join("inherit.json"))).unwrap();
    assert_eq!(kinds, json!(["instructions", "mcp"]));
}

#[test]
fn in_a_subdirectory_the_setup_of_both_is_there() {
    let world = world(&json!({"inherit": ["commands", "mcp"]}));
    world.files(&[
        ("api/.claude/commands/near.md", "NEAR\n"),
        ("web/.claude/commands/far.md", "FAR\n"),
        ("api/.mcp.json", r#"{"mcpServers": {"repo": {"command": "NEAR-SERVER"}}}"#),
    ]);
    world.harness("claude", "begins; cat .claude/commands/near.md ../.claude/commands/deploy.md ../web/.claude/commands/far.md > \"$record/seen\" 2>&1; answers done");
    let mut command = world.agent_command(&["weaver", "-p", "do it", "--json"]);
    let did = crate::support::sessions::Did::of(
        &command.current_dir(world.project().join("api")).output().unwrap(),
    );
    assert_eq!(did.code, 0, "{did:#?}");
    let seen = world.recorded("seen");
    assert!(seen.contains("NEAR") && seen.contains("DEPLOY") && !seen.contains("FAR\n"), "{seen}");
    let mut command = world.agent_command(&["weaver", "-p", "do it", "--json", "--dry-run"]);
    let plan = crate::support::sessions::Did::of(
        &command.current_dir(world.project().join("api")).output().unwrap(),
    )
    .json();
    assert!(plan["files"].to_string().contains("NEAR-SERVER"), "{plan:#}");
}

#[test]
fn a_persona_with_everything_of_its_own_still_has_it() {
    let world = world(&json!({}));
    world.persona(&with(weaver(), &json!({"inherit": ["instructions"]})));
    std::fs::write(world.home().join(".agentworkforce/workforce/personas/weaver.md"), "OWN").unwrap();
    let seen = seen(&world, &["--harness", "codex"]);
    assert_eq!(seen, ["CLAUDE.md", "AGENTS.md", "api/CLAUDE.md", ".claude/CLAUDE.md"]);
}

#[test]
fn commands_that_write_personas_set_it() {
    let env = TestEnv::new();
    env.run(["create", "helper", "--role", "engineer", "--inherit", "skills, mcp", "--to", "project"])
        .succeeds();
    let kinds = |plan: &Value| plan["inherit"]["kinds"].clone();
    assert_eq!(kinds(&env.plan(&["helper", "-p", "t"])), json!(["skills", "mcp"]));
    env.run(["persona", "set", "helper", "--inherit", "hooks"]).succeeds();
    assert_eq!(kinds(&env.plan(&["helper", "-p", "t"])), json!(["hooks"]));
    env.run(["persona", "set", "helper", "--inherit", ""]).succeeds();
    assert_eq!(kinds(&env.plan(&["helper", "-p", "t"])), json!([]));
    env.run(["persona", "set", "helper", "--inherit", "hook"]).fails(2, "did you mean `hooks`?");
    env.run(["lint", "helper"]).succeeds();
    // The built-in ones that work on code, and one that reviews.
    let all = json!(["instructions", "commands", "skills", "mcp"]);
    for id in ["engineer", "ripley", "ci-fixer"] {
        assert_eq!(kinds(&env.plan(&[id, "-p", "t"])), all, "{id}");
    }
    assert_eq!(kinds(&env.plan(&["security-reviewer", "-p", "t"])), json!(["instructions"]));
    assert_eq!(kinds(&env.plan(&["explorer", "-p", "t"])), Value::Null);
}

#[test]
fn all_is_everything() {
    let world = world(&json!({}));
    let plan = world.agent(&["weaver", "--dry-run", "--json", "--inherit", "all"]).ends(0).json();
    assert_eq!(plan["inherit"]["kinds"], json!(["instructions", "commands", "skills", "mcp", "hooks"]));
    let did = world.agent(&["weaver", "--dry-run", "--inherit", "all,none"]).ends(2);
    did.says("`--inherit none` goes with no other kind");
}

#[test]
fn what_is_hidden_further_down_is_named() {
    let world = world(&json!({}));
    world
        .agent(&["weaver", "--dry-run"])
        .ends(0)
        .says("CLAUDE.md, AGENTS.md, .claude/CLAUDE.md, api/CLAUDE.md");
    let plan = world.agent(&["weaver", "--dry-run", "--reveal", "api/CLAUDE.md"]).ends(0);
    assert!(!plan.stdout.contains("api/CLAUDE.md,"), "{plan:#?}");
}

#[test]
fn permissions_of_inherited_servers_are_open_unless_the_persona_says_something_of_them() {
    let permissions = json!({"allow": ["Read", "mcp__opens__look"], "deny": ["mcp__codexs"]});
    let world = world(&json!({"permissions": permissions, "inherit": ["mcp"]}));
    let servers =
        json!({"docs": {"command": "x"}, "my docs": {"command": "x"}, "external": {"command": "x"}});
    world.files(&[(".mcp.json", &json!({ "mcpServers": servers }).to_string())]);
    let plan = |harness: &str, more: &[&str]| {
        let flags = [&["weaver", "--dry-run", "--json", "--harness", harness], more].concat();
        world.agent(&flags).ends(0).json()
    };
    let content = |plan: &Value, purpose: &str| {
        let files = plan["files"].as_array().unwrap();
        let file = files.iter().find(|file| file["purpose"] == purpose).unwrap();
        file["content"].as_str().unwrap().to_owned()
    };
    let allowed = |plan: &Value| -> Vec<String> {
        let words = plan["command"]["args"].as_array().unwrap().iter().filter_map(Value::as_str);
        words.filter_map(|word| word.strip_prefix("--allowedTools=")).map(str::to_owned).collect()
    };
    let open = ["mcp__codexs", "mcp__docs", "mcp__external", "mcp__my_docs", "Read", "mcp__opens__look"];
    assert_eq!(allowed(&plan("claude", &["-p", "x"])), open);
    // At a terminal claude asks.
    assert_eq!(allowed(&plan("claude", &[])), ["Read", "mcp__opens__look"]);
    let config: Value =
        serde_json::from_str(&content(&plan("opencode", &["-p", "x"]), "opencode config")).unwrap();
    let permission = &config["agent"]["agentworkforce/weaver"]["permission"];
    let decided = ["docs_*", "my_docs_*", "codexs_*", "opens_look", "opens_*", "external_*"];
    let decided = decided.map(|key| permission[key].as_str().unwrap_or("nothing").to_owned());
    assert_eq!(decided, ["allow", "allow", "deny", "allow", "nothing", "nothing"], "{permission:#}");
    let profile: toml::Table = content(&plan("codex", &["-p", "x"]), "codex profile").parse().expect("TOML");
    let servers = &profile["mcp_servers"];
    assert_eq!(servers["codexs"]["enabled"].as_bool(), Some(false));
    assert!(servers["docs"].get("enabled").is_none(), "{servers}");
}
