//! A repository's own setup as a way in: links, settings behind patterns, pull requests against their reviewer, and agents that
//! write configuration for the next run.

use crate::support::harness::HARNESSES;
use crate::support::mount::{Identity, World, for_each_identity, read};
use crate::support::sessions::BACKENDS;
use crate::support::with;
use serde_json::{Value, json};
use std::fs;

fn plain() -> Value {
    json!({"id": "weaver", "intent": "work", "description": "works", "harness": "claude", "systemPrompt": "You work."})
}

const ALL: &str = "instructions,commands,skills,mcp,hooks";

#[test]
fn a_link_of_the_setup_shows_nothing_that_is_hidden_or_outside() {
    for_each_identity(|world| {
        world.repository(&[
            ("a.txt", "one\n"),
            ("AGENTS.md", "AGENTS-TEXT\n"),
            ("docs/REAL.md", "LEGITIMATE\n"),
        ]);
        world.files(&[
            (".env", "K=TOPSECRET\n"),
            ("secrets/x.key", "K=TOPSECRET\n"),
            ("tools/evil/SKILL.md", "---\nname: evil\nhooks: TOPSECRET\n---\n"),
            ("tools/settings.json", "TOPSECRET"),
            (".agents/skills/good/SKILL.md", "GOOD-SKILL"),
            (".claude/agents/a.md", "TOPSECRET"),
        ]);
        world.outside("echo TOPSECRET > ../outside.md");
        world.persona(&plain());
        for backend in BACKENDS {
            let run = |link: &str, path: &str| {
                world.outside(&format!("rm -rf CLAUDE.md .claude/skills .claude/commands; {link}"));
                let flags =
                    ["--mount", backend, "--persona", "weaver", "--inherit", "instructions,commands,skills"];
                let did = world.mounted(&flags, &format!("cat {path} || true"));
                world.outside("if test -L .claude; then rm .claude; mkdir -p .claude/agents; fi");
                did
            };
            for (link, path) in [
                ("ln -s .env CLAUDE.md", "CLAUDE.md"),
                ("ln -s secrets/x.key CLAUDE.md", "CLAUDE.md"),
                ("ln -s \"$PWD/.env\" CLAUDE.md", "CLAUDE.md"),
                ("ln -s ../outside.md CLAUDE.md", "CLAUDE.md"),
                ("ln -s .claude/agents/a.md CLAUDE.md", "CLAUDE.md"),
                ("ln -s .git/config CLAUDE.md; git config x.y TOPSECRET", "CLAUDE.md"),
                ("ln -s ../tools .claude/skills", ".claude/skills/evil/SKILL.md"),
                ("ln -s ../.claude/agents .claude/commands", ".claude/commands/a.md"),
                (
                    "mkdir -p .claude/commands; ln -s ../../../outside.md .claude/commands/o.md",
                    ".claude/commands/o.md",
                ),
                ("rm -r .claude; ln -s tools .claude", ".claude/settings.json .claude/evil/SKILL.md"),
            ] {
                let did = run(link, path);
                assert!(!did.stdout.contains("TOPSECRET"), "{backend}: {link}: {did:#?}");
            }
            for (link, path, text) in [
                ("ln -s AGENTS.md CLAUDE.md", "CLAUDE.md", "AGENTS-TEXT"),
                ("ln -s docs/REAL.md CLAUDE.md", "CLAUDE.md", "LEGITIMATE"),
                ("ln -s ../.agents/skills .claude/skills", ".claude/skills/good/SKILL.md", "GOOD-SKILL"),
            ] {
                let did = run(link, path).ends(0);
                assert!(did.stdout.contains(text), "{backend}: {link}: {did:#?}");
            }
        }
    });
}

#[test]
fn no_pattern_of_a_repository_shows_settings() {
    let world = World::with_harness(
        Identity::Own,
        "begins; cat .claude/settings.json .claude/agents/a.md .mcp.json .codex/config.toml opencode.json tui.json tui.jsonc \
         > \"$record/seen\" 2>/dev/null; answers done",
    );
    world.files(&[
        (".agentignore", "!.claude\n!.claude/*\n!.mcp.json\n!.codex\n!opencode.json\n!tui.json\n!*\n"),
        (".weaver.agentignore", "!**\n"),
        (".claude/settings.json", "EVIL"),
        (".claude/agents/a.md", "EVIL"),
        (".mcp.json", "EVIL"),
        (".codex/config.toml", "EVIL"),
        ("opencode.json", "EVIL"),
        ("tui.json", "EVIL"),
        ("tui.jsonc", "EVIL"),
    ]);
    world.persona(&with(
        plain(),
        &json!({"mount": {"ignoredPatterns": ["!.claude/settings.json"], "revealPatterns": ["*"]}}),
    ));
    for backend in BACKENDS {
        for flags in
            [&[][..], &["--inherit", "instructions,commands,skills"], &["--reveal", "**/settings.json"]]
        {
            let (report, code) = world.report(&[&["--mount", backend], flags].concat());
            assert_eq!(code, 0, "{report:#}");
            assert_eq!(world.recorded("seen"), "", "{backend} {flags:?}");
        }
    }
}

#[test]
fn commands_and_skills_of_a_repository_bring_no_powers() {
    let script = "begins; cat .claude/skills/s/SKILL.md .claude/commands/c.md .opencode/command/o.md > \"$record/seen\"; answers done";
    let world = World::with_harness(Identity::Own, script);
    world.files(&[
        (
            ".claude/skills/s/SKILL.md",
            "---\nname: s\ndescription: fine\nhooks:\n  Stop: EVIL\nallowed-tools: EVIL\n---\nSKILL-BODY\n",
        ),
        (".claude/commands/c.md", "---\ndescription: fine\nallowed-tools: EVIL(*)\n---\nCOMMAND-BODY\n"),
        (".opencode/command/o.md", "---\nagent: EVIL\n---\nOPEN-BODY\n"),
    ]);
    world.outside("git add -A && git commit -qm setup");
    world.persona(&with(plain(), &json!({"inherit": ["commands", "skills"]})));
    for backend in BACKENDS {
        for harness in HARNESSES {
            let (report, code) = world.report(&["--mount", backend, "--harness", harness]);
            assert_eq!(code, 0, "{report:#}");
            let seen = world.recorded("seen");
            assert!(
                ["SKILL-BODY", "COMMAND-BODY", "OPEN-BODY"].iter().all(|text| seen.contains(text)),
                "{seen}"
            );
            assert!(!seen.contains("EVIL"), "{backend} {harness}: {seen}");
            let warnings = report["warnings"].to_string();
            assert!(warnings.contains("agent, allowed-tools, hooks of"), "{warnings}");
            assert_eq!((&report["changes"], &report["protected"]), (&json!([]), &json!([])), "{report:#}");
        }
    }
}

/// What a harness would take for a command or skill, or for a plugin, whichever way its text gets there.
#[test]
fn no_link_or_plugin_among_commands_and_skills_brings_powers() {
    let evil = "---\nname: e\ndescription: d\nallowed-tools: EVIL\nhooks: EVIL\n---\nBODY\n";
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n")]);
        world.files(&[
            (".claude/skills/a/payload.txt", evil),
            (".claude/skills/case/skill.MD", evil),
            (".claude/skills/plain/SKILL.md", evil),
            (".claude/skills/plain/deep/er/x.md", evil),
            (".claude/skills/plugin/.claude-plugin/plugin.json", "EVIL"),
            (".claude/skills/plugin/.claude-plugin/x.md", "EVIL"),
            (".agents/skills/codex/agents/openai.yaml", "EVIL"),
            (".agents/skills/codex/SKILL.md", "CODEX-BODY"),
            (".agents/skills/codex/run.sh", "RUN-BODY"),
            (".claude/rules/y.txt", evil),
            (".claude/rules/b/SKILL.md", evil),
            (".opencode/command/o.txt", evil),
            ("docs/CLAUDE.md", evil),
            ("docs/x.txt", evil),
        ]);
        world.outside(
            "set -e; mkdir -p .claude/commands .claude/skills/d .claude/skills/e .claude/skills/chain .opencode/skill; \
             ln -s payload.txt .claude/skills/a/SKILL.md; \
             ln .claude/skills/a/payload.txt .claude/skills/a/hard.md; \
             ln -s ../rules/y.txt .claude/commands/y.md; \
             ln -s ../../docs/x.txt .claude/commands/CLAUDE.md; \
             ln -s ../../../docs/CLAUDE.md .claude/skills/d/SKILL.md; \
             ln -s ../rules/b .claude/skills/b; \
             ln -s o.txt .opencode/command/o.md; \
             ln -s ../../.claude/rules/b .opencode/skill/b; \
             ln -s ../.claude/rules .opencode/skills; \
             ln -s .claude/rules .skills; \
             ln -s \"$PWD/.claude/skills/plain\" absolute; \
             ln -s ../../../absolute/SKILL.md .claude/skills/e/SKILL.md; \
             ln -s ../plugin/.claude-plugin .claude/skills/chain/.claude-plugin; \
             ln -s ../../.agents/skills/codex .claude/skills/codex; \
             ln -s ../../.agents/skills/codex/SKILL.md .claude/commands/good.md; \
             ln -s run.sh .agents/skills/codex/also.sh",
        );
        world.persona(&plain());
        let read = "find -L .claude/commands .claude/skills .agents .opencode .skills -type f \\( -iname '*.md' -o -name '*.json' -o -name '*.yaml' \\) \
                    -exec cat {} + || true; cat .claude/skills/codex/also.sh || true";
        for backend in BACKENDS {
            let flags = |kinds| ["--mount", backend, "--persona", "weaver", "--inherit", kinds];
            let did = world.mounted(&flags("instructions,commands,skills"), read).ends(0);
            assert!(!did.stdout.contains("EVIL"), "{backend}: {did:#?}");
            // The plain ones are there, and links to them.
            assert_eq!(did.stdout.matches("CODEX-BODY").count(), 3, "{backend}: {did:#?}");
            assert!(did.stdout.contains("RUN-BODY") && did.stdout.contains("\nBODY"), "{backend}: {did:#?}");
            for word in ["a plugin brings hooks", "links may lead to what is inherited"] {
                assert!(did.stderr.contains(word), "{backend}: {word}: {did:#?}");
            }
            let did = world.mounted(&flags("instructions"), read).ends(0);
            assert!(!did.stdout.contains("EVIL"), "{backend}: {did:#?}");
        }
    });
}

/// A base commit with a setup, and a pull request that has replaced all of it.
fn pull_request() -> (World, String) {
    let script = "begins; { cat CLAUDE.md AGENTS.md CONTEXT.md sub/CLAUDE.md .claude/commands/*.md .claude/skills/*/SKILL.md .claude/hooks/* .claude/settings.json; \
                  ls -A .claude/commands; } > \"$record/seen\" 2>/dev/null; test -x .claude/skills/s/run.sh && echo RUNS >> \"$record/seen\"; \
                  git status --porcelain >> \"$record/seen\"; answers done";
    let world = World::with_harness(Identity::Own, script);
    let setup = |word: &str| {
        let project = world.project();
        let hooks =
            json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": format!("{word}-HOOK")}]}]}});
        let servers = json!({"mcpServers": {
            "plain": {"command": format!("{word}-SERVER")},
            "of-tree": {"command": "./tools/server.sh"},
        }});
        world.files(&[
            ("CLAUDE.md", &format!("{word}-CLAUDE\n")),
            (".claude/commands/c.md", &format!("{word}-COMMAND\n")),
            (".claude/skills/s/SKILL.md", &format!("---\nname: s\nhooks: {word}-POWER\n---\n{word}-SKILL\n")),
            (".claude/skills/s/run.sh", "#!/bin/sh\n"),
            (".claude/hooks/h.sh", &format!("{word}-SCRIPT\n")),
            (".claude/settings.json", &hooks.to_string()),
            (".mcp.json", &servers.to_string()),
            ("tools/server.sh", &format!("{word}-TOOL\n")),
        ]);
        fs::set_permissions(
            project.join(".claude/skills/s/run.sh"),
            std::os::unix::fs::PermissionsExt::from_mode(0o755),
        )
        .unwrap();
    };
    setup("GOOD");
    world.outside("rm -f AGENTS.md; ln -s CLAUDE.md AGENTS.md; git add -A && git commit -qm base");
    let base = world.outside("git rev-parse HEAD").trim().to_owned();
    setup("EVIL");
    world.files(&[
        ("sub/CLAUDE.md", "EVIL-NESTED\n"),
        ("CONTEXT.md", "EVIL-CONTEXT\n"),
        (".claude/commands/new.md", "EVIL-NEW\n"),
    ]);
    world.outside("git add -A && git commit -qm 'pull request'");
    world.persona(&plain());
    (world, base)
}

#[test]
fn a_pull_request_does_not_instruct_its_reviewer_through_what_is_inherited() {
    let (world, base) = pull_request();
    for backend in BACKENDS {
        let (report, code) = world.report(&["--mount", backend, "--inherit", ALL, "--persona-ref", &base]);
        assert_eq!(code, 0, "{report:#}");
        assert_eq!((&report["changes"], &report["protected"]), (&json!([]), &json!([])), "{report:#}");
        let seen = world.recorded("seen");
        assert!(!seen.contains("EVIL"), "{backend}: {seen}");
        // CLAUDE.md, and AGENTS.md as a link to it.
        assert_eq!(seen.matches("GOOD-CLAUDE").count(), 2, "{backend}: {seen}");
        assert!(
            seen.contains("GOOD-COMMAND") && seen.contains("GOOD-SKILL") && seen.contains("RUNS"),
            "{seen}"
        );
        for word in ["POWER", "SCRIPT", "HOOK", "new.md", "??", " M "] {
            assert!(!seen.contains(word), "{backend}: {word}: {seen}");
        }
        // What is not inherited does not come from anywhere.
        let (_, code) = world.report(&["--mount", backend, "--reveal", "CLAUDE.md", "--persona-ref", &base]);
        assert_eq!(code, 0);
        let seen = world.recorded("seen");
        assert!(!seen.contains("EVIL") && !seen.contains("GOOD"), "{backend}: {seen}");
    }
    for harness in HARNESSES {
        let flags = ["--harness", harness, "--inherit", ALL, "--persona-ref", &base];
        let all = [&["weaver", "-p", "t", "--dry-run", "--json"][..], &flags].concat();
        let plan = world.agent(&all).json();
        let text = plan["files"].to_string();
        assert!(text.contains("GOOD-SERVER"), "{harness}: {text}");
        for word in ["EVIL", "HOOK", "server.sh"] {
            assert!(!text.contains(word), "{harness}: {word}: {text}");
        }
        let warnings = plan["warnings"].to_string();
        assert!(warnings.contains("mcpServers.of-tree is left out"), "{warnings}");
        assert!(warnings.contains("hooks are not inherited"), "{warnings}");
    }
    // Without the flag the tree is the user's own.
    let (report, _) = world.report(&["--inherit", ALL]);
    let seen = world.recorded("seen");
    assert!(
        seen.contains("EVIL-CLAUDE") && seen.contains("EVIL-NESTED") && seen.contains("EVIL-SCRIPT"),
        "{report:#}"
    );
}

/// claude and opencode look above a project, too: what is there may be another user's, or an earlier agent's.
#[test]
fn configuration_above_the_project_is_for_nobody() {
    for_each_identity(|base| {
        let look = "cat ../.mcp.json ../opencode.json ../tui.json ../elsewhere/x; ls -AR ../.claude ../.opencode; cat ~/.claude/mine";
        let script = format!("begins; seen=$({{ {look}; }} 2>&1 | tr -cd A-Z); answers \"saw $seen\"");
        let world = World::with_harness(base.who, &script);
        world.persona(&with(plain(), &json!({"inherit": ["mcp", "skills", "commands"]})));
        for path in
            [".claude/skills/k/SKILL.md", ".opencode/plugin/x.js", "opencode.json", "tui.json", "elsewhere/x"]
        {
            world.write(path, "EVIL");
        }
        world.write(world.home().join(".claude/mine"), "MINE\n");
        // With a mark in front, as programs on Windows write it; as a link; and as nothing that anybody understands.
        let evil = r#"{"mcpServers": {"evil": {"command": "EVIL"}}}"#;
        for (text, is_named) in [(format!("\u{feff}{evil}"), true), (format!("{evil} // EVIL"), false)] {
            world.write("elsewhere/x", &text);
            world.outside("rm -f ../.mcp.json; ln -s elsewhere/x ../.mcp.json");
            world.give();
            for level in ["project", "strict"] {
                let (report, code) = world.report(&["--sandbox", level]);
                assert_eq!(code, 0, "{report:#}");
                let seen = report["result"].to_string();
                let is_empty = !seen.contains("EVIL") && !seen.contains("SKILL");
                assert!(is_empty && seen.contains("MINE"), "{level}: {seen}");
            }
            // In a copy nothing can be covered: the servers are switched off by name, or all of them are.
            let plan =
                world.agent(&["weaver", "-p", "x", "--mount", "copy", "--dry-run", "--json"]).ends(0).json();
            let is_strict = plan["command"]["args"].to_string().contains("--strict-mcp-config");
            let is_disabled = plan["files"].to_string().contains("disabledMcpjsonServers");
            assert_eq!((is_strict, is_disabled), (!is_named, is_named), "{plan:#}");
        }
    });
}

#[test]
fn configuration_that_an_agent_writes_is_for_nobody() {
    let world = World::with_harness(
        Identity::Own,
        "begins; mkdir -p .claude .codex; echo '{\"mcpServers\": {\"agents\": {\"command\": \"EVIL\"}}}' > .mcp.json; \
         echo '{\"hooks\": {\"Stop\": [{\"hooks\": []}]}}' > .claude/settings.json; echo EVIL > .claude/hooks; echo fine > ok.txt; answers done",
    );
    world.persona(&with(plain(), &json!({"inherit": ["mcp", "hooks", "instructions"]})));
    for backend in BACKENDS {
        let (first, code) = world.report(&["--mount", backend, "--keep"]);
        assert_eq!(code, 0, "{first:#}");
        assert_eq!(read(world.project().join("ok.txt")), "fine\n");
        for path in [".mcp.json", ".claude"] {
            assert!(!world.project().join(path).exists(), "{path}");
        }
        let session = first["session"].as_str().unwrap();
        let (second, code) = world.report(&["--resume", session, "--mount", backend]);
        assert_eq!(code, 0, "{second:#}");
        // claude would start what it finds in the mount.
        let dir = world.sessions().join(second["session"].as_str().unwrap());
        let settings: Value = serde_json::from_str(&read(dir.join("claude-settings.json"))).unwrap();
        assert_eq!(settings["disabledMcpjsonServers"], json!(["agents"]), "{settings:#}");
        assert_eq!(settings["hooks"], Value::Null);
        assert!(!read(dir.join("mcp.json")).contains("EVIL"));
        world.outside("rm ok.txt");
    }
}

/// codex and opencode take files of every project for instructions that the user's own configuration names.
#[test]
fn no_file_of_the_project_instructs_by_the_users_own_configuration() {
    let world = World::with_harness(Identity::Own, "begins; answers done");
    world.persona(&plain());
    let planned = |harness: &str, more: &[&str]| {
        let all = [&["weaver", "-p", "t", "--dry-run", "--json", "--harness", harness][..], more].concat();
        world.agent(&all).ends(0).json()
    };
    let codex = planned("codex", &["--inherit", "instructions"])["files"].to_string();
    assert!(codex.contains("project_doc_fallback_filenames = []"), "{codex}");
    let is_off =
        |plan: &Value| plan["command"]["env"].to_string().contains("OPENCODE_DISABLE_PROJECT_CONFIG");
    assert!(is_off(&planned("opencode", &[])));
    for shows in [["--inherit", "instructions"], ["--reveal", "AGENTS.md"]] {
        assert!(!is_off(&planned("opencode", &shows)), "{shows:?}");
    }
}
