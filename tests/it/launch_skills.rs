//! Skills of a persona, seen by the harness where it looks for them.

use crate::support::harness::weaver;
use crate::support::mount::{Identity, World};
use crate::support::sessions::{BACKENDS, Did};
use crate::support::with;
use serde_json::json;
use std::fs;

const SKILL: &str = "---\nname: knitting\ndescription: how to knit\n---\n\nKnit.\n";

fn world(sources: &serde_json::Value) -> World {
    // Each harness looks where its real one does.
    let world = World::with_harness(
        Identity::Own,
        r#"begins
        case "$(basename "$0")" in
        claude) for arg; do if [ "$last" = --plugin-dir ]; then dir="$arg/skills"; fi; last="$arg"; done ;;
        opencode) dir=$(sed -n 's|.*"\(/.*/skills\)".*|\1|p' "$OPENCODE_CONFIG") ;;
        codex) dir=.agents/skills ;;
        esac
        rm -rf "$record/skills"; cp -r "$dir" "$record/skills"
        git status --porcelain > "$record/status"
        answers done"#,
    );
    let dir = world.home().join(".agentworkforce/workforce/personas");
    fs::create_dir_all(dir.join("skills/knitting")).unwrap();
    fs::write(dir.join("skills/knitting/SKILL.md"), SKILL).unwrap();
    fs::write(dir.join("skills/knitting/pattern.txt"), "purl").unwrap();
    fs::write(dir.join("weaver.md"), "x").unwrap();
    world.persona(&with(weaver(), &json!({ "skills": sources })));
    world
}

#[test]
fn a_local_skill_is_where_each_harness_looks() {
    let world = world(&json!([{"id": "knitting", "source": "./skills/knitting", "description": "x"}]));
    for harness in ["claude", "opencode", "codex"] {
        for backend in BACKENDS {
            let (report, code) = world.report(&["--harness", harness, "--mount", backend]);
            assert_eq!(code, 0, "{harness} {report:#}");
            assert_eq!(world.recorded("skills/knitting/SKILL.md"), SKILL, "{harness}");
            assert_eq!(world.recorded("skills/knitting/pattern.txt"), "purl");
            assert_eq!(world.recorded("status"), "", "{harness}: git sees it");
            assert_eq!(report["changes"], json!([]), "{report:#}");
        }
    }
}

#[test]
fn a_skill_that_cannot_be_had_is_a_warning_and_with_strict_a_refusal() {
    let world = world(&json!([
        {"id": "gone", "source": "./skills/gone", "description": "x"},
        {"id": "knitting", "source": "./skills/knitting", "description": "x"},
    ]));
    let (report, code) = world.report(&[]);
    assert_eq!(code, 0, "{report:#}");
    assert!(report["warnings"].to_string().contains("skill `gone` is left out"), "{report:#}");
    assert_eq!(world.recorded("skills/knitting/SKILL.md"), SKILL);
    let strict: Did = world.agent(&["weaver", "-p", "do it", "--strict"]);
    assert_eq!(strict.code, 4, "{strict:?}");
    assert!(strict.stderr.contains("gone"), "{strict:?}");
}

#[test]
fn offline_names_what_is_not_in_the_cache() {
    let world = world(
        &json!([{"id": "far", "source": "https://127.0.0.1:9/nobody/skills.git#far", "description": "x"}]),
    );
    let (report, code) = world.report(&["--offline"]);
    assert_eq!(code, 0, "{report:#}");
    assert!(report["warnings"].to_string().contains("skill `far` is left out"), "{report:#}");
}
