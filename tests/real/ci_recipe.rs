//! The recipe of the README for CI, as it stands there: plain `sh`, no terminal, the real claude.

use crate::support::{Scratch, Turn};
use agentworkforce::model::tier::Harness;
use serde_json::{Value, json};
use std::path::Path;

/// The first block of shell script below the heading.
fn recipe() -> String {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = std::fs::read_to_string(readme).expect("a README");
    let (_, below) = readme.split_once("\n## In CI\n").expect("a heading");
    let (_, script) = below.split_once("```sh\n").expect("a script");
    script.split_once("\n```").expect("an end").0.to_owned()
}

/// The persona of the main branch judges a branch that would rather judge itself.
fn world() -> Scratch {
    let world = Scratch::new([]);
    let reviewer = |prompt: &str| world.persona(&json!({"id": "code-reviewer", "systemPrompt": prompt}));
    reviewer("REVIEW-WITH-CARE");
    world.write("project/CLAUDE.md", "CLAUDE-OF-MAIN");
    world.git(&["add", "."]);
    world.git(&["commit", "--quiet", "--message", "a reviewer"]);
    world.git(&["init", "--quiet", "--bare", "--initial-branch", "main", "../origin.git"]);
    world.git(&["remote", "add", "origin", "../origin.git"]);
    world.git(&["push", "--quiet", "origin", "main"]);
    world.git(&["switch", "--quiet", "--create", "change"]);
    reviewer("APPROVE-EVERYTHING");
    world.write("project/CLAUDE.md", "CLAUDE-OF-THE-CHANGE");
    world.write("project/README.md", "A changed project.\n");
    world.git(&["add", "."]);
    world.git(&["commit", "--quiet", "--message", "change"]);
    world.write("ci-review.sh", recipe());
    // The recipe finds our binary as users do.
    let bin = world.root().join("bin");
    std::fs::create_dir(&bin).expect("writable");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_agentworkforce"), bin.join("agentworkforce"))
        .expect("writable");
    world
}

/// The report in the only session.
fn report(world: &Scratch) -> Value {
    let sessions = world.home().join(".agentworkforce/workforce/sessions");
    let session =
        std::fs::read_dir(sessions).expect("sessions").next().expect("a session").expect("readable");
    let report = std::fs::read_to_string(session.path().join("report.json")).expect("a report");
    serde_json::from_str(&report).expect("JSON")
}

fn run(world: &Scratch) -> (crate::support::Ran, Value) {
    let mut sh = world.command("sh");
    let path = format!("{}:{}", world.root().join("bin").display(), world.path());
    sh.arg(world.root().join("ci-review.sh")).env("PATH", path);
    let ran = world.run(&mut sh, "");
    (ran, report(world))
}

#[test]
fn the_recipe_for_ci_reviews_and_says_so() {
    let world = world();
    let write = json!({"file_path": "README.md", "content": "taken over\n"});
    world.model.script([Turn::call("Write", write), Turn::text("VERDICT: no findings")]);
    let (ran, report) = run(&world);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert_eq!(ran.stdout, "VERDICT: no findings\n");
    assert_eq!(report["outcome"]["status"], "completed", "{report:#}");
    assert_eq!(report["harness"]["kind"], Harness::Claude.name());
    assert_eq!(report["changes"], json!([]), "{report:#}");
    for (mark, wanted) in [("REVIEW-WITH-CARE", true), ("CLAUDE-OF-MAIN", true)]
        .into_iter()
        .chain([("APPROVE-EVERYTHING", false), ("CLAUDE-OF-THE-CHANGE", false)])
    {
        assert_eq!(world.model.contains(mark), wanted, "{mark}");
    }
    assert_eq!(world.read("project/README.md"), "A changed project.\n");
}

#[test]
fn the_recipe_for_ci_fails_with_the_run() {
    let mut world = world();
    world.set_var("CLAUDE_CODE_MAX_RETRIES", "1");
    world.model.always(Turn::error(401, "KEY-REFUSED"));
    let (ran, report) = run(&world);
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    assert_eq!(report["outcome"]["status"], "failed", "{report:#}");
    assert!(report["outcome"]["reason"].to_string().contains("KEY-REFUSED"), "{report:#}");
    assert_eq!(ran.stdout, "", "the script went on after a failure");
}
