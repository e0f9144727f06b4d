//! Delivery of the persona's instruction file, seen by the harness itself, on every harness and backend.

use crate::support::harness::weaver;
use crate::support::mount::{Identity, World, read};
use crate::support::sessions::BACKENDS;
use crate::support::with;
use serde_json::json;
use std::fs;

const OWN: &str = "PERSONA TEXT\nwithout a last line break";
/// The harness and its instruction file.
const FILES: [(&str, &str); 3] = [("claude", "CLAUDE.md"), ("opencode", "AGENTS.md"), ("codex", "AGENTS.md")];

fn world(mode: &str) -> World {
    let world = World::with_harness(
        Identity::Own,
        "begins; for f in CLAUDE.md AGENTS.md; do if test -e $f; then cp $f \"$record/$f\"; else rm -f \"$record/$f\"; fi; done; git status --porcelain > \"$record/status\"; answers done",
    );
    let dir = world.home().join(".agentworkforce/workforce/personas");
    fs::write(dir.join("weaver.md"), OWN).unwrap();
    let modes = json!({"claudeMdMode": mode, "agentsMdMode": mode});
    world.persona(&with(weaver(), &modes));
    world
}

/// What the harness found at its instruction file.
fn delivered(world: &World, harness: &str, file: &str, backend: &str) -> String {
    let (report, code) = world.report(&["--harness", harness, "--mount", backend]);
    assert_eq!(code, 0, "{report:#}");
    assert_eq!(report["changes"], json!([]), "{report:#}");
    assert_eq!(world.recorded("status"), "", "git sees it");
    assert_eq!(read(world.project().join("CLAUDE.md")), "REPO-CLAUDE\n");
    assert_eq!(read(world.project().join("AGENTS.md")), "REPO-AGENTS\n");
    world.recorded(file)
}

#[test]
fn overwrite_gives_exactly_the_personas_bytes() {
    let world = world("overwrite");
    for (harness, file) in FILES {
        for backend in BACKENDS {
            assert_eq!(delivered(&world, harness, file, backend), OWN);
        }
        let other = if file == "CLAUDE.md" { "AGENTS.md" } else { "CLAUDE.md" };
        let seen = world.record(other).exists();
        assert!(!seen || harness != "claude", "claude sees the repository's {other}");
    }
}

#[test]
fn extend_gives_the_real_file_a_separator_and_the_personas_text() {
    let world = world("extend");
    for (harness, file) in FILES {
        let real = if file == "CLAUDE.md" { "REPO-CLAUDE\n" } else { "REPO-AGENTS\n" };
        for backend in BACKENDS {
            assert_eq!(delivered(&world, harness, file, backend), format!("{real}\n\n---\n\n{OWN}"));
        }
    }
}

#[test]
fn extend_without_a_real_file_is_the_personas_text_without_a_warning() {
    let world = world("extend");
    world.outside("git rm -q CLAUDE.md AGENTS.md && git commit -qm gone");
    for (harness, file) in FILES {
        let (report, code) = world.report(&["--harness", harness]);
        assert_eq!(code, 0, "{report:#}");
        assert_eq!(world.recorded(file), OWN);
        assert!(!report["warnings"].to_string().contains(".md"), "{report:#}");
        assert!(!world.project().join(file).exists());
    }
}

#[test]
fn install_in_repo_warns_and_writes_nothing() {
    for mode in ["overwrite", "extend"] {
        let world = world(mode);
        for (harness, file) in FILES {
            let (report, code) = world.report(&["--harness", harness, "--install-in-repo"]);
            assert_eq!(code, 0, "{report:#}");
            let warnings = report["warnings"].to_string();
            assert!(warnings.contains(&format!("{file} of the persona is not written")), "{warnings}");
            let real = if file == "CLAUDE.md" { "REPO-CLAUDE\n" } else { "REPO-AGENTS\n" };
            assert_eq!(world.recorded(file), real);
            assert_eq!(read(world.project().join(file)), real);
            assert_eq!(report["mount"]["backend"], "none");
        }
        assert_eq!(world.outside("git status --porcelain"), "");
    }
}

#[test]
fn an_agent_that_edits_its_instruction_file_is_told_on() {
    for (harness, file) in FILES {
        let world = world("overwrite");
        world.harness(harness, &format!("begins; echo more >> {file}; answers done"));
        let (report, code) = world.report(&["--harness", harness]);
        assert_eq!(code, 0, "{report:#}");
        assert_eq!(report["protected"][0]["path"], file, "{report:#}");
        assert_eq!(report["changes"], json!([]));
    }
}
