//! What the configuration of harnesses in a project leads to under other names: an agent that changes it would decide what the
//! next run, or the user's own harness, is told and starts.

use crate::support::harness::weaver;
use crate::support::mount::{World, for_each_identity, read};
use crate::support::sessions::{BACKENDS, paths};
use crate::support::with;
use serde_json::{Value, json};

/// One real file, and links for each harness; commands of hooks and servers; what personas name.
fn links(world: &World) {
    world.outside("rm -f CLAUDE.md AGENTS.md .mcp.json; rm -rf .claude .codex");
    world.files(&[
        ("ai/claude/settings.json", "{}\n"),
        ("ai/skills/s/SKILL.md", "skill\n"),
        ("ai/mcp.json", "{\"mcpServers\":{}}\n"),
        ("ai/shared/run.sh", "true\n"),
        ("packages/api/cfg/config.toml", "x = 1\n"),
        ("docs/guide.md", "guide\n"),
        ("docs/other.md", "other\n"),
    ]);
    world.outside(
        "ln -s ai/claude .claude; ln -s ../skills ai/claude/skills; ln -s ai/mcp.json .mcp.json
         ln -s ../../shared/run.sh ai/skills/s/run.sh
         ln -s cfg packages/api/.codex; ln -s docs/guide.md AGENTS.md; ln -s AGENTS.md CLAUDE.md
         git add -A; git commit -qm links",
    );
}

/// Writes evil text to paths, and something ordinary.
fn writes(paths: &[&str]) -> String {
    let write = |path: &&str| format!("mkdir -p $(dirname {path}); echo EVIL > {path}; ");
    paths.iter().map(write).collect::<String>() + "echo fine > ok.txt"
}

const LINKED: [&str; 6] = [
    "ai/claude/settings.json",
    "ai/mcp.json",
    "ai/shared/run.sh",
    "ai/skills/new/SKILL.md",
    "docs/guide.md",
    "packages/api/cfg/config.toml",
];

#[track_caller]
fn only_ok_is_applied(world: &World, flags: &[&str], protected: &[&str]) {
    let (report, code) = world.report(flags);
    assert_eq!((code, paths(&report["changes"])), (0, vec!["ok.txt".to_owned()]), "{flags:?}: {report:#}");
    let kept = paths(&report["protected"]);
    for path in protected {
        assert!(kept.contains(&(*path).to_owned()), "{flags:?}: {path} is not in {kept:#?}");
    }
    assert!(!world.outside("grep -rl EVIL . --exclude-dir=.git || true").contains('/'), "{flags:?}");
    world.outside("rm ok.txt");
}

fn flags_of(backend: &str) -> [&str; 2] {
    ["--mount", backend]
}

#[test]
fn what_links_of_the_setup_lead_to_is_not_applied_by_a_persona() {
    for_each_identity(|base| {
        let script = writes(&LINKED) + "; rm -r ai/mcp.json; ln -s ../docs/other.md ai/mcp.json";
        let world = World::with_harness(base.who, &format!("begins; {script}; answers done"));
        links(&world);
        for backend in BACKENDS {
            for harness in ["claude", "codex"] {
                let flags = ["--harness", harness, "--mount", backend];
                only_ok_is_applied(&world, &flags, &LINKED);
            }
            assert_eq!(world.outside("git status --porcelain"), "");
        }
        // In a commit, too.
        let commit = "echo EVIL > docs/guide.md; git add -A; git commit -qm x";
        let did = world.mounted(&["--persona", "weaver", "--json"], commit).ends(0);
        assert_eq!(did.json()["applied"]["git"]["held"][0]["path"], "docs/guide.md", "{did:#?}");
        // What is beside it is ordinary.
        world.mounted(&["--persona", "weaver"], "echo mine > docs/other.md; echo mine > ai/mine").ends(0);
        assert_eq!(world.outside("cat docs/other.md ai/mine"), "mine\nmine\n");
    });
}

#[test]
fn what_links_of_the_setup_lead_to_waits_for_a_person_in_a_mount() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n")]);
        links(&world);
        for backend in BACKENDS {
            for path in LINKED.iter().filter(|path| **path != "docs/guide.md") {
                let did = world.mounted(&flags_of(backend), &writes(&[path])).ends(3);
                did.says("would change what agents may do");
                assert_eq!(world.outside("git status --porcelain"), "", "{backend}: {path}");
            }
            // Instructions are ordinary files there, and so is what they link to.
            world.mounted(&flags_of(backend), "echo more > docs/guide.md").ends(0);
            world.outside("git checkout -q docs/guide.md");
        }
    });
}

#[test]
fn instructions_that_others_import_are_not_applied() {
    for_each_identity(|base| {
        let evil = ["docs/conv.md", "docs/deep/more.md", "docs/new.md", "team/style.md"];
        let world = World::with_harness(base.who, &format!("begins; {}; answers done", writes(&evil)));
        world.files(&[
            ("CLAUDE.md", "Read @docs/conv.md, (@docs/new.md) and mail me@example.org.\n"),
            ("docs/conv.md", "conventions: @deep/more.md\n"),
            ("docs/deep/more.md", "more\n"),
            ("team/style.md", "style\n"),
            ("opencode.json", "{\"instructions\": [\"team/*.md\"]}"),
        ]);
        world.outside("git add -A; git commit -qm imports");
        for backend in BACKENDS {
            only_ok_is_applied(&world, &flags_of(backend), &evil);
        }
    });
}

const STARTED: [&str; 12] = [
    "bin/helper",
    "lib/inner.sh",
    "node/server.js",
    "oc/plugin.js",
    "scripts/mine.sh",
    "scripts/notify.py",
    "scripts/own.sh",
    "scripts/prompt.sh",
    "scripts/status.sh",
    "srvgo/main.go",
    "tools/mcp.sh",
    "tools/oc.sh",
];

fn commands(world: &World) {
    let hook = |command: &str| json!([{"hooks": [{"type": "command", "command": command}]}]);
    let settings = json!({
        "hooks": {"UserPromptSubmit": hook("\"$CLAUDE_PROJECT_DIR\"/scripts/prompt.sh --fast")},
        "statusLine": {"type": "command", "command": "sh scripts/status.sh"},
    });
    let servers = json!({"mcpServers": {
        "sh": {"command": "sh", "args": ["-c", "exec tools/mcp.sh"], "env": {"PATH": "bin:/bin:/usr/bin"}},
        "js": {"command": "node", "args": ["${PWD}/node/server.js"]},
        "go": {"command": "go", "args": ["run", "./srvgo"]},
        "files": {"command": "npx", "args": ["-y", "@scope/server-files", "./src", "."]},
    }});
    let opencode = json!({"plugin": ["./oc/plugin.js", "some-package"], "mcp": {"o": {"type": "local", "command": ["sh", "tools/oc.sh"]}}});
    world.files(&[
        (".claude/settings.json", &settings.to_string()),
        (".mcp.json", &servers.to_string()),
        ("opencode.json", &opencode.to_string()),
        (".codex/config.toml", "notify = ['python3', 'scripts/notify.py']\n"),
        ("src/main.rs", "fn main() {}\n"),
    ]);
    for path in STARTED {
        world.files(&[(
            path,
            if path == "scripts/prompt.sh" { "#!/bin/sh\n. lib/inner.sh\n" } else { "true\n" },
        )]);
    }
    let users = json!({"hooks": {"Stop": hook("sh scripts/mine.sh")}});
    world.write("home/.claude/settings.json", users.to_string());
    let own = json!({"id": "owner", "intent": "x", "harness": "claude", "systemPrompt": "x",
        "mcpServers": {"own": {"command": "sh", "args": ["scripts/own.sh"]}}});
    world.write("project/.agentworkforce/workforce/personas/owner.json", own.to_string());
    world.give();
    world.outside("git add -A; git commit -qm commands");
}

#[test]
fn programs_that_configuration_of_harnesses_starts_are_not_applied() {
    for_each_identity(|base| {
        let script = writes(&STARTED) + "; echo 'fn main() { }' > src/main.rs";
        let world = World::with_harness(base.who, &format!("begins; {script}; answers done"));
        commands(&world);
        for backend in BACKENDS {
            let (report, code) = world.report(&flags_of(backend));
            // What a program only works on is the agent's work.
            let changes = paths(&report["changes"]);
            assert_eq!(
                (code, changes),
                (0, vec!["ok.txt".to_owned(), "src/main.rs".to_owned()]),
                "{report:#}"
            );
            let kept = paths(&report["protected"]);
            assert!(STARTED.iter().all(|path| kept.contains(&(*path).to_owned())), "{backend}: {kept:#?}");
            world.outside("rm ok.txt; git checkout -q .; test -z \"$(git status --porcelain)\"");
            for path in STARTED {
                let did = world.mounted(&flags_of(backend), &writes(&[path])).ends(3);
                did.says("would change what agents may do");
                assert_eq!(world.outside("git status --porcelain"), "", "{backend}: {path}");
            }
            world.mounted(&flags_of(backend), "echo mine > src/main.rs").ends(0);
            world.outside("git checkout -q .");
        }
        // Whoever may change layers may change them, when a person says so.
        world.persona(&with(weaver(), &json!({"mount": {"allowLayerChanges": true}})));
        let (report, code) = world.report(&[]);
        assert_eq!((code, &report["apply"]["status"]), (3, &json!("held")), "{report:#}");
    });
}

/// Work is held, and then the user makes links and configuration that did not exist when the run began.
#[test]
fn held_work_is_judged_by_the_links_and_configuration_of_now() {
    for_each_identity(|world| {
        let evil = ["ai/mcp.json", "scripts/x.sh", "team/workforce/personas/evil.json"];
        for backend in BACKENDS {
            for redone in [false, true] {
                world.outside("rm -rf .git .agentworkforce .mcp.json .claude ai scripts team");
                world.repository(&[("a.txt", "one\n"), ("team/README.md", "x\n")]);
                world.persona(&weaver());
                let did = world.mounted(
                    &["--mount", backend, "--persona", "weaver", "--apply", "never"],
                    &writes(&evil),
                );
                did.ends(0);
                let held = |session: &&Value| session["state"] == "held";
                let id = world.listed().iter().find(held).unwrap()["id"].as_str().unwrap().to_owned();
                if redone {
                    world.aw(["sessions", "apply", &id]).ends(0);
                    world.aw(["sessions", "undo", &id]).ends(0);
                }
                world.files(&[(
                    ".claude/settings.json",
                    r#"{"statusLine": {"type": "command", "command": "sh scripts/x.sh"}}"#,
                )]);
                world.outside("ln -s team .agentworkforce; ln -s ai/mcp.json .mcp.json");
                if redone {
                    let did = world.aw(["sessions", "redo", &id]);
                    assert_ne!(did.code, 0, "{backend}: {did:#?}");
                } else {
                    let did = world.aw(["sessions", "apply", &id]);
                    for path in evil {
                        did.says(path);
                    }
                }
                let left = world.outside("grep -rl EVIL . --exclude-dir=.git || true");
                assert_eq!(left, "", "{backend} {redone}");
                world.aw(["sessions", "discard", &id]);
            }
        }
    });
}

#[test]
fn configuration_of_harnesses_in_another_case_is_not_applied() {
    for_each_identity(|base| {
        let evil = [
            ".Claude/settings.json",
            ".MCP.json",
            ".OpenCode/plugin/p.js",
            "OpenCode.json",
            "Claude.md",
            "agents.md",
            ".agent\u{200d}s/skills/x/SKILL.md",
        ];
        let world = World::with_harness(base.who, &format!("begins; {}; answers done", writes(&evil)));
        for backend in BACKENDS {
            only_ok_is_applied(&world, &flags_of(backend), &evil);
            let commit = "echo EVIL > .MCP.json; git add -A; git commit -qm x";
            let did = world.mounted(&["--mount", backend, "--persona", "weaver", "--json"], commit).ends(0);
            assert_eq!(did.json()["applied"]["git"]["held"][0]["path"], ".MCP.json", "{did:#?}");
        }
    });
}

#[test]
fn what_another_persona_names_is_not_the_agents_to_change() {
    for_each_identity(|base| {
        let evil = ["skills/one/SKILL.md", "skills/one/new.sh", "texts/CLAUDE-reviewer.md"];
        let world = World::with_harness(base.who, &format!("begins; {}; answers done", writes(&evil)));
        world.files(&[("skills/one/SKILL.md", "---\nname: one\n---\n"), ("texts/CLAUDE-reviewer.md", "x\n")]);
        let persona = json!({"id": "r", "intent": "x", "harness": "claude", "systemPrompt": "x",
            "skills": [{"id": "one", "source": "./skills/one"}],
            "tiers": {"best": {"claudeMd": "texts/CLAUDE-reviewer.md"}}});
        world.write("project/r.json", persona.to_string());
        let users = world.home().join(".agentworkforce/workforce/personas");
        let config = json!({"personaDirs": [users, world.project()]});
        world.write("home/.agentworkforce/workforce/config.json", config.to_string());
        world.give();
        for backend in BACKENDS {
            only_ok_is_applied(&world, &flags_of(backend), &evil);
            let did = world.mounted(&flags_of(backend), "echo EVIL > skills/one/SKILL.md").ends(0);
            did.says("not applied: skills/one/SKILL.md");
            assert!(!read(world.project().join("skills/one/SKILL.md")).contains("EVIL"));
        }
    });
}
