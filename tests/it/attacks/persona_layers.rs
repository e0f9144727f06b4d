//! An agent that rewrites what decides about agents: persona layers, rule files, and links that would become them.

use crate::support::harness::weaver;
use crate::support::mount::{Identity, World, for_each_identity, read};
use crate::support::sessions::{BACKENDS, paths};
use serde_json::json;
use std::fs;

const EVIL: &str = r#"{"id":"evil","intent":"evil","harness":"claude","systemPrompt":"x"}"#;

/// The protected paths of a run in JSON.
fn protected(world: &World, flags: &[&str], script: &str) -> Vec<String> {
    let mut all = vec!["--json"];
    all.extend(flags);
    let did = world.mounted(&all, script).ends(0);
    paths(&did.json()["applied"]["outcome"]["review"]["protected"])
}

#[test]
fn a_link_that_would_become_the_layer_is_not_applied() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n")]);
        for backend in BACKENDS {
            for sandbox in ["off", "project", "strict"] {
                if backend == "copy" && sandbox != "off" {
                    continue;
                }
                let flags = ["--mount", backend, "--sandbox", sandbox];
                let script = format!(
                    "mkdir -p tools/workforce/personas; echo '{EVIL}' > tools/workforce/personas/evil.json
                     ln -s tools .agentworkforce; echo {backend}{sandbox} > a.txt"
                );
                let kept = protected(&world, &flags, &script);
                assert_eq!(kept, [".agentworkforce"], "{flags:?}");
                assert!(world.project().join(".agentworkforce").symlink_metadata().is_err(), "{flags:?}");
                // The rest of the work is ordinary.
                assert_eq!(read(world.project().join("a.txt")), format!("{backend}{sandbox}\n"));
                assert!(!world.aw(["list", "--json"]).stdout.contains("evil"), "{flags:?}");
            }
        }
    });
}

#[test]
fn every_kind_of_entry_with_the_name_of_a_layer_is_protected() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n"), ("packages/api/x", "x\n")]);
        for backend in BACKENDS {
            let script = format!(
                "echo 'x' > .agentworkforce; mkdir -p packages/api/.agentworkforce/workforce/personas
                 echo '{EVIL}' > packages/api/.agentworkforce/workforce/personas/evil.json
                 mkdir -p packages/web; ln -s /tmp packages/web/.AgentWorkforce
                 printf '!.env\\n' > .agentignore; ln -s a.txt .agentreadonly; echo x > .weaver.agentignore
                 mkdir 'packages/.agentreadonly'; echo x > 'packages/.agentwor\u{212a}force'"
            );
            let kept = protected(&world, &["--mount", backend], &script);
            for path in [
                ".agentworkforce",
                ".agentignore",
                ".agentreadonly",
                ".weaver.agentignore",
                "packages/.agentreadonly",
                "packages/.agentwor\u{212a}force",
                "packages/api/.agentworkforce",
                "packages/api/.agentworkforce/workforce/personas/evil.json",
                "packages/web/.AgentWorkforce",
            ] {
                assert!(kept.contains(&path.to_owned()), "{path} is not in {kept:?}");
                assert!(world.project().join(path).symlink_metadata().is_err(), "{path}");
            }
        }
    });
}

#[test]
fn the_layer_of_a_package_is_protected_from_an_agent_and_from_a_command() {
    for_each_identity(|world| {
        let persona = "packages/api/.agentworkforce/workforce/personas/rev.json";
        let mine = weaver().to_string().replace("weaver", "rev");
        world.repository(&[(persona, &mine), ("packages/api/src.txt", "one\n"), ("top.txt", "one\n")]);
        for backend in BACKENDS {
            for flags in [vec!["--mount", backend], vec!["--mount", backend, "--persona", "rev"]] {
                let script = format!(
                    "cd \"$(git rev-parse --show-toplevel)\"; echo '{EVIL}' > {persona}; rm -f {persona}.x; \
                     echo '{EVIL}' > {persona}.x; echo two >> packages/api/src.txt"
                );
                let mut command = world.mounted_command(&flags, &script);
                command.current_dir(world.project().join("packages/api"));
                let did = crate::support::sessions::Did::of(&command.output().unwrap()).ends(0);
                did.says(&format!("not applied: {persona}"));
                assert_eq!(read(world.project().join(persona)), mine, "{flags:?}");
                assert!(!world.project().join(format!("{persona}.x")).exists(), "{flags:?}");
                assert!(read(world.project().join("packages/api/src.txt")).contains("two"));
                world.outside("git checkout -q packages/api/src.txt");
            }
        }
    });
}

#[test]
fn a_headless_agent_cannot_rewrite_its_own_persona() {
    for_each_identity(|who| {
        let mine = "project/.agentworkforce/workforce/personas/weaver.json";
        let world = World::with_harness(
            who.who,
            &format!("begins; echo '{EVIL}' > .agentworkforce/workforce/personas/weaver.json; rm -rf .agentworkforce/workforce/roles
              echo x > .agentworkforce/directive.md; echo x > .agentworkforce/workforce/routing.md; answers done"),
        );
        let role = "project/.agentworkforce/workforce/roles/keeper.json";
        let persona = weaver().to_string();
        world.write(mine, &persona);
        world.write(role, r#"{"label":"Keeper","charter":"Keep."}"#);
        // A rule file of the project cannot open the layer.
        world.write("project/.agentreadonly", "!.agentworkforce/\n!.agentworkforce/**\n");
        world.give();
        world.outside("git add -A; git commit -qm layer");
        let (report, code) = world.report(&["--strict"]);
        let (report, code) = if code == 4 { world.report(&[]) } else { (report, code) };
        assert_eq!(code, 0, "{report:#}");
        let kept = paths(&report["protected"]);
        assert!(kept.contains(&".agentworkforce/workforce/personas/weaver.json".to_owned()), "{report:#}");
        assert_eq!(world.read(mine), persona);
        assert!(world.root().join(role).exists());
        assert!(!world.project().join(".agentworkforce/directive.md").exists());
        assert!(!world.project().join(".agentworkforce/workforce/routing.md").exists());
    });
}

#[test]
fn a_configured_directory_in_the_project_is_protected_through_every_link() {
    for_each_identity(|world| {
        world.repository(&[
            (
                "shared/team/personas/rev.json",
                r#"{"id":"rev","intent":"rev","harness":"claude","systemPrompt":"x"}"#,
            ),
            ("lib/linked.json", r#"{"id":"linked","intent":"l","harness":"claude","systemPrompt":"x"}"#),
            ("evil/personas/rev.json", EVIL),
            ("a.txt", "one\n"),
        ]);
        world.outside("ln -s shared/team team; ln -s ../../../lib/linked.json shared/team/personas/linked.json; git add -A; git commit -qm links");
        let config =
            json!({"personaDirs": [world.project().join("team"), world.project().join("later/on/personas")]});
        world.write("home/.agentworkforce/workforce/config.json", config.to_string());
        world.give();
        for backend in BACKENDS {
            let attacks = [
                ("echo x > shared/team/personas/rev.json", "shared/team/personas/rev.json"),
                ("echo x > shared/team/personas/new.json", "shared/team/personas/new.json"),
                ("mkdir shared/team/roles; echo x > shared/team/roles/r.json", "shared/team/roles/r.json"),
                ("ln -sfn evil team", "team"),
                ("echo x > lib/linked.json", "lib/linked.json"),
                ("ln -s evil later", "later"),
                ("mkdir later; ln -s ../evil later/on", "later/on"),
                ("mkdir -p later/on; ln -s ../../evil/personas later/on/personas", "later/on/personas"),
            ];
            for (script, path) in attacks {
                let before = world.outside("git status --porcelain; cat shared/team/personas/rev.json lib/linked.json; readlink team");
                let kept = protected(&world, &["--mount", backend], script);
                assert!(kept.contains(&path.to_owned()), "{script}: {path} is not in {kept:?}");
                world.outside("rmdir later/on later 2>/dev/null || true");
                let after = world.outside("git status --porcelain; cat shared/team/personas/rev.json lib/linked.json; readlink team");
                assert_eq!(before, after, "{script}");
            }
            // A parent that becomes a link while its layer exists stays what it is.
            let kept = protected(&world, &["--mount", backend], "mv shared s2; ln -s evil shared");
            assert!(kept.contains(&"shared".to_owned()), "{kept:?}");
            assert!(!world.project().join("shared").is_symlink());
            assert!(world.outside("cat shared/team/personas/rev.json").contains("\"rev\""));
            world.outside("rm -rf s2");
            // What is beside the layer is ordinary.
            world.mounted(&["--mount", backend], "echo mine > lib/other.json; echo mine > evil/x").ends(0);
            assert_eq!(read(world.project().join("lib/other.json")), "mine\n");
            world.outside("git clean -qfd");
        }
    });
}

#[test]
fn rule_files_that_are_links_are_protected_with_what_they_lead_to() {
    for_each_identity(|world| {
        world.repository(&[
            ("conf/ignore", "keys.txt\n"),
            ("conf/ro", "a.txt\n"),
            ("conf/other", "b.txt\n"),
            ("conf/nested", "b.txt\n"),
            ("tooling/aw/workforce/personas/rev.json", r#"{"id":"rev","intent":"r","systemPrompt":"x"}"#),
            ("lib/charter.md", "Keep.\n"),
            ("keys.txt", "KEYS-SECRET\n"),
            ("a.txt", "one\n"),
        ]);
        world.outside(
            "ln -s conf/via .agentignore; ln -s ignore conf/via; ln -s conf/ro .agentreadonly
             ln -s ./conf/other .other.agentignore
             mkdir -p packages/api; ln -s ../../conf/nested packages/api/.agentignore
             ln -s ../../tooling/aw packages/api/.agentworkforce
             mkdir -p .agentworkforce/workforce/agents/rev
             ln -s ../../../../lib/charter.md .agentworkforce/workforce/agents/rev/charter.md
             git add -A; git commit -qm links",
        );
        let state =
            "git status --porcelain; git for-each-ref; cat conf/*; readlink conf/via; cat tooling/aw/*/*/*";
        for (backend, level) in
            [("copy", "off"), ("overlay", "off"), ("overlay", "project"), ("overlay", "strict")]
        {
            let flags = ["--mount", backend, "--sandbox", level];
            for (script, path) in [
                ("echo > conf/ignore", "conf/ignore"),
                ("ln -sfn other conf/via", "conf/via"),
                ("echo > conf/ro", "conf/ro"),
                ("rm conf/other", "conf/other"),
                ("mv conf c2; ln -s c2 conf", "conf"),
                ("echo > conf/nested", "conf/nested"),
                ("echo x > tooling/aw/workforce/personas/rev.json", "tooling/aw/workforce/personas/rev.json"),
                ("echo Evil > lib/charter.md", "lib/charter.md"),
            ] {
                let before = world.outside(state);
                let kept = protected(&world, &flags, script);
                assert!(kept.contains(&path.to_owned()), "{flags:?} {script}: {path} is not in {kept:?}");
                world.outside("rm -rf c2");
                assert_eq!(world.outside(state), before, "{flags:?} {script}");
            }
            let seen = world.mounted(&flags, "cat keys.txt || echo hidden").ends(0);
            assert!(seen.stdout.contains("hidden") && !seen.stdout.contains("KEYS"), "{flags:?} {seen:#?}");
        }
        // In a commit, too; what is beside them is ordinary.
        for path in ["conf/ignore", "conf/nested", "lib/charter.md"] {
            let script = format!("echo > {path}; git add -A; git commit -qm x");
            let did = world.mounted(&["--json"], &script).ends(0);
            assert_eq!(did.json()["applied"]["git"]["held"][0]["path"], path, "{did:#?}");
        }
        world.mounted(&[], "echo mine > conf/mine; echo mine > lib/mine").ends(0);
        assert_eq!(world.outside("cat conf/mine lib/mine"), "mine\nmine\n");
    });
}

#[test]
fn a_commit_that_rewrites_a_layer_is_held() {
    let world = World::new(Identity::Own);
    world.repository(&[("a.txt", "one\n"), ("tools/x", "x\n")]);
    let script = "ln -s tools .agentworkforce; git add -A; git commit -qm layer";
    let did = world.mounted(&["--json"], script).ends(0);
    let held = &did.json()["applied"]["git"]["held"][0];
    assert_eq!(held["path"], ".agentworkforce", "{did:#?}");
    assert_eq!(world.outside("git for-each-ref refs/agentworkforce"), "");
}

#[test]
fn a_persons_own_command_may_change_layers_and_the_review_marks_them() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n")]);
        for backend in BACKENDS {
            let script = format!(
                "mkdir -p .agentworkforce/workforce/personas; echo '{EVIL}' > .agentworkforce/workforce/personas/{backend}.json; echo {backend} > a.txt"
            );
            let path = format!(".agentworkforce/workforce/personas/{backend}.json");
            let did =
                world.mounted(&["--mount", backend, "--json", "--allow-layer-changes"], &script).ends(0);
            let applied = did.json()["applied"]["outcome"]["applied"].clone();
            let marked = |path: &str| {
                let all = applied.as_array().unwrap();
                all.iter()
                    .find(|change| change["path"] == path)
                    .unwrap_or_else(|| panic!("{path}: {applied:#}"))["affectsAgents"]
                    .clone()
            };
            assert_eq!((marked(&path), marked("a.txt")), (json!(true), json!(null)), "{applied:#}");
            assert!(world.project().join(&path).exists());
        }
        // For people, too: a held session says so.
        let held =
            world.mounted(&["--allow-layer-changes", "--apply", "never"], "echo x > .agentignore").ends(0);
        drop(held);
        let id = world.listed().iter().find(|session| session["state"] == "held").unwrap()["id"]
            .as_str()
            .unwrap()
            .to_owned();
        world.aw(["sessions", "show", &id]).ends(0).says("changes what agents may do");
        world.aw(["sessions", "apply", &id]).ends(0);
        assert_eq!(read(world.project().join(".agentignore")), "x\n");
    });
}

#[test]
fn a_persona_whose_job_it_is_needs_a_persons_approval() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n")]);
        let persona =
            crate::support::with(weaver(), &json!({"id": "maker", "mount": {"allowLayerChanges": true}}));
        world.persona(&persona);
        let file = world.project().join(".agentignore");
        for backend in BACKENDS {
            // What changes nothing about agents is applied as ever.
            world
                .mounted(&["--mount", backend, "--persona", "maker"], &format!("echo {backend} > a.txt"))
                .ends(0);
            assert_eq!(read(world.project().join("a.txt")), format!("{backend}\n"));
            let did =
                world.mounted(&["--mount", backend, "--persona", "maker"], "echo x > .agentignore").ends(3);
            did.says(".agentignore would change what agents may do").says("--allow-layer-changes");
            assert!(!file.exists());
            let id = world.listed().iter().find(|session| session["state"] == "held").unwrap()["id"]
                .as_str()
                .unwrap()
                .to_owned();
            world.aw(["sessions", "apply", &id]).ends(0).says("changes what agents may do");
            assert_eq!(read(&file), "x\n");
            fs::remove_file(&file).unwrap();
            world
                .mounted(
                    &["--mount", backend, "--persona", "maker", "--allow-layer-changes"],
                    "echo y > .agentignore",
                )
                .ends(0);
            assert_eq!(read(&file), "y\n");
            fs::remove_file(&file).unwrap();
        }
    });
}

#[test]
fn the_plan_and_the_list_of_files_say_so() {
    let world = World::new(Identity::Own);
    world.repository(&[("packages/api/.agentworkforce/workforce/personas/x.json", "{}"), ("a.txt", "one\n")]);
    world.persona(&weaver());
    let maker = crate::support::with(weaver(), &json!({"id": "maker", "mount": {"allowLayerChanges": true}}));
    world.persona(&maker);
    let shown =
        |persona: &str, path: &str| world.aw(["show", persona, "--json", "--files", path]).ends(0).json();
    let path = "packages/api/.agentworkforce/workforce/personas/x.json";
    assert_eq!(shown("weaver", path)["decision"], "readonly");
    assert_eq!(shown("weaver", "new/.agentworkforce")["decision"], "readonly");
    assert_eq!(shown("weaver", "a.txt")["affectsAgents"], false);
    let allowed = shown("maker", path);
    assert_eq!((&allowed["decision"], &allowed["affectsAgents"]), (&json!("writable"), &json!(true)));
    for (persona, words) in [("weaver", "never applied, at every level"), ("maker", "only by a person")] {
        let matrix = world.aw(["show", persona, "--enforcement"]).ends(0);
        matrix.says("mount.layers").says(words);
    }
}

#[test]
fn skills_that_a_persona_names_are_not_the_agents_to_change() {
    for_each_identity(|base| {
        let world = World::with_harness(
            base.who,
            "begins; for f in skills/x/SKILL.md skills/x/new.sh tools/y/SKILL.md other.md; do echo evil >> $f; done; answers done",
        );
        world.files(&[
            ("skills/x/SKILL.md", "---\nname: x\ndescription: d\n---\ngood\n"),
            ("tools/y/SKILL.md", "---\nname: y\n---\n"),
        ]);
        let layer = world.project().join(".agentworkforce/workforce/personas");
        fs::create_dir_all(&layer).unwrap();
        let skills =
            json!([{"id": "x", "source": "./skills/x"}, {"id": "y", "source": "./tools/y/SKILL.md"}]);
        let persona = crate::support::with(weaver(), &json!({ "skills": skills }));
        fs::write(layer.join("weaver.json"), persona.to_string()).unwrap();
        world.give();
        let (report, code) = world.report(&[]);
        assert_eq!(code, 0, "{report:#}");
        assert_eq!(paths(&report["changes"]), ["other.md"], "{report:#}");
        assert!(read(world.project().join("skills/x/SKILL.md")).ends_with("good\n"));
    });
}

#[test]
fn configuration_of_another_harness_is_not_applied() {
    for_each_identity(|base| {
        let script = "begins; for f in .opencode/plugin/x.js opencode.json tui.json tui.jsonc CONTEXT.md .codex/config.toml \
                      .agents/skills/x/SKILL.md .claude/settings.json AGENTS.override.md ok; do mkdir -p $(dirname $f); echo evil > $f; done; answers done";
        let world = World::with_harness(base.who, script);
        for harness in ["claude", "codex", "opencode"] {
            let (report, code) = world.report(&["--harness", harness]);
            assert_eq!(
                (code, paths(&report["changes"])),
                (0, vec!["ok".to_owned()]),
                "{harness}: {report:#}"
            );
            world.outside("rm ok");
        }
    });
}

#[test]
fn configuration_of_harnesses_that_a_command_writes_waits_for_a_person() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n")]);
        let there = |path: &str| world.project().join(path).symlink_metadata().is_ok();
        for backend in BACKENDS {
            let flags = ["--mount", backend];
            for (script, path) in [
                ("echo EVIL > .mcp.json", ".mcp.json"),
                ("mkdir .claude; echo EVIL > .claude/settings.json", ".claude"),
                ("mkdir x; echo EVIL > x/settings.json; ln -s x .claude", ".claude"),
                ("echo EVIL > opencode.jsonc", "opencode.jsonc"),
                ("echo EVIL > tui.json", "tui.json"),
                ("mkdir .codex; echo EVIL > .codex/config.toml", ".codex"),
                ("mkdir -p .agents/skills/x; echo EVIL > .agents/skills/x/SKILL.md", ".agents"),
            ] {
                let did = world.mounted(&flags, &format!("{script}; echo two > a.txt")).ends(3);
                did.says("would change what agents may do").says("--allow-layer-changes");
                assert!(!there(path), "{backend}: {script}");
                assert_eq!(read(world.project().join("a.txt")), "one\n", "{backend}: {script}");
            }
            let did = world.mounted(&flags, "echo MINE > .mcp.json").ends(3);
            let held = world
                .listed()
                .iter()
                .find(|session| did.stderr.contains(session["id"].as_str().unwrap()))
                .cloned();
            let id = held.unwrap()["id"].as_str().unwrap().to_owned();
            world.aw(["sessions", "apply", &id]).ends(0).says("changes what agents may do");
            assert_eq!(read(world.project().join(".mcp.json")), "MINE\n");
            let allowed = ["--mount", backend, "--allow-layer-changes"];
            world.mounted(&allowed, "rm .mcp.json; mkdir .claude; echo MINE > .claude/settings.json").ends(0);
            assert!(there(".claude/settings.json") && !there(".mcp.json"));
            // What is there can be read as ever, and instructions are ordinary files.
            world.mounted(&flags, "grep -q MINE .claude/settings.json && echo docs > CLAUDE.md").ends(0);
            assert!(there("CLAUDE.md"));
            world.outside("rm -r .claude CLAUDE.md");
        }
    });
}
