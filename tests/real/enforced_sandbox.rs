//! `--sandbox strict` around the real harnesses: they work, their conversation is kept in the session, and they reach nothing
//! else.

use crate::support::agent::changed;
use crate::support::wishes::shell;
use crate::support::{Scratch, Turn};
use agentworkforce::model::tier::Harness;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The files below a directory, which may not exist.
fn files_below(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let below = |path: PathBuf| if path.is_dir() { files_below(&path) } else { vec![path] };
    entries.flat_map(|entry| below(entry.path())).collect()
}

/// The harness has written nothing of its state to the home of the user.
#[track_caller]
fn nothing_is_left_outside(world: &Scratch, before: &[PathBuf]) {
    let ours = world.home().join(".agentworkforce");
    // It makes these when it is asked for its version, which is outside.
    let codexs = world.home().join(".codex/tmp");
    let left: Vec<PathBuf> = files_below(&world.home())
        .into_iter()
        .filter(|path| !path.starts_with(&ours) && !path.starts_with(&codexs) && !before.contains(path))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

/// A file of its configuration, below the home, and what the user has in it.
fn config(harness: Harness) -> (&'static str, &'static str) {
    match harness {
        // Without it claude moves an older setting there by itself.
        Harness::Claude => (".claude/settings.json", "{\"skipDangerousModePermissionPrompt\": true}\n"),
        Harness::Opencode => (".config/opencode/AGENTS.md", "Be kind.\n"),
        Harness::Codex => (".codex/AGENTS.md", "Be kind.\n"),
    }
}

/// What is said about changed configuration.
fn told(report: &Value) -> String {
    let all = report["warnings"].as_array().expect("a list").iter();
    let matching = all.filter(|warning| warning["code"] == "harness-config");
    matching.map(|warning| warning["message"].to_string()).collect()
}

/// The user's own configuration is used, what the agent makes of it is not kept, and the harness itself changes nothing that
/// would be worth a word.
fn configuration_stays_as_it_was(harness: Harness) {
    for attacks in [false, true] {
        let world = Scratch::outside_of_temp();
        let (file, text) = config(harness);
        world.write(format!("home/{file}"), text);
        let login = world.read("home/.claude.json");
        let attack = format!("echo FORGED > ~/{file}; echo FORGED > ~/.claude/CLAUDE.md");
        let script =
            format!("{}; cat ~/{file}; echo tried-$((20+3))", if attacks { &attack } else { "true" });
        // By a script: some harnesses ask before a command that names a path outside of the project.
        world.write("project/try.sh", script);
        world.model.script([shell(harness, "sh try.sh"), Turn::text("that is all")]);
        let settings = json!({"sandboxMode": "danger-full-access"});
        let settings = if harness == Harness::Codex { settings } else { json!({}) };
        world.plain(harness, &json!({"permissions": {"allow": ["Bash"]}, "harnessSettings": settings}));
        let report = world.succeeds(&["--sandbox", "strict"]);
        assert!(world.model.contains("tried-23"), "{}", world.model.requests_text());
        assert_eq!(world.model.contains("FORGED"), attacks, "{}", world.model.requests_text());
        assert_eq!(world.read(format!("home/{file}")), text);
        assert_eq!(world.read("home/.claude.json"), login);
        assert!(!world.home().join(".claude/CLAUDE.md").exists());
        if attacks {
            assert!(told(&report).contains(file), "{report:#}");
        } else {
            assert_eq!(told(&report), "", "{harness}");
        }
    }
}

#[test]
fn claude_cannot_change_its_configuration_in_a_strict_sandbox() {
    configuration_stays_as_it_was(Harness::Claude);
}

#[test]
fn opencode_cannot_change_its_configuration_in_a_strict_sandbox() {
    configuration_stays_as_it_was(Harness::Opencode);
}

#[test]
fn codex_cannot_change_its_configuration_in_a_strict_sandbox() {
    configuration_stays_as_it_was(Harness::Codex);
}

fn only_state_is_writable_and_temp_is_private(harness: Harness) {
    let world = Scratch::outside_of_temp();
    // A machine on which claude never ran, as in CI.
    std::fs::remove_file(world.home().join(".claude.json")).expect("ours");
    let before = files_below(&world.home());
    let temp = tempfile::NamedTempFile::new_in("/tmp").expect("writable");
    let command = format!(
        "echo x > in.txt; echo x > ~/home.txt; echo x > ../beside.txt; echo x > {}; echo tried-$((20+3))",
        temp.path().display()
    );
    world.model.script([shell(harness, &command), Turn::text("that is all")]);
    // codex's own sandbox is not what is looked at here.
    let settings = json!({"sandboxMode": "danger-full-access"});
    let settings = if harness == Harness::Codex { settings } else { json!({}) };
    world.plain(harness, &json!({"permissions": {"allow": ["Bash"]}, "harnessSettings": settings}));
    let report = world.succeeds(&["--sandbox", "strict"]);
    assert!(world.model.contains("tried-23"), "{}", world.model.requests_text());
    assert_eq!(report["mount"]["sandbox"], "strict", "{report:#}");
    assert_eq!(changed(&report), ["in.txt"], "{report:#}");
    assert!(!world.home().join("home.txt").exists() && !world.root().join("beside.txt").exists());
    assert_eq!(std::fs::read_to_string(temp.path()).expect("readable"), "");
    let session = world
        .home()
        .join(".agentworkforce/workforce/sessions")
        .join(report["session"].as_str().expect("an id"));
    assert!(!files_below(&session.join("conversation")).is_empty(), "{harness} kept no conversation");
    nothing_is_left_outside(&world, &before);
}

#[test]
fn claude_works_in_a_strict_sandbox() {
    only_state_is_writable_and_temp_is_private(Harness::Claude);
}

#[test]
fn opencode_works_in_a_strict_sandbox() {
    only_state_is_writable_and_temp_is_private(Harness::Opencode);
}

#[test]
fn codex_works_in_a_strict_sandbox() {
    only_state_is_writable_and_temp_is_private(Harness::Codex);
}

/// In the same mount, and in a new one after the first is applied. The chat is there both times, and not in the user's home.
fn goes_on_in_a_strict_sandbox(harness: Harness) {
    for apply in ["never", "auto"] {
        let world = Scratch::outside_of_temp();
        let before = files_below(&world.home());
        let made = shell(harness, "echo x > made.txt");
        world.model.script([
            made,
            Turn::text("FIRST-ANSWER"),
            Turn::text("SECOND-ANSWER"),
            Turn::text("THIRD-ANSWER"),
        ]);
        world.plain(harness, &json!({"permissions": {"allow": ["Bash"]}}));
        let mut said = vec!["FIRST-ANSWER"];
        let mut last = world.succeeds(&["--sandbox", "strict", "--apply", apply]);
        for answer in ["SECOND-ANSWER", "THIRD-ANSWER"] {
            let id = last["session"].as_str().expect("a session").to_owned();
            // The level is that of the session.
            last = world.succeeds(&["--resume", &id, "--apply", apply]);
            assert_eq!(last["result"], answer, "{harness}: {last:#}");
            assert_eq!(last["mount"]["sandbox"], "strict", "{last:#}");
            let turns = world.model.turns();
            let request = turns.last().expect("a turn").body.to_string();
            for said in &said {
                assert!(request.contains(said), "{harness} {apply}: {said} is forgotten in {request}");
            }
            said.push(answer);
        }
        nothing_is_left_outside(&world, &before);
    }
}

#[test]
fn claude_goes_on_in_a_strict_sandbox() {
    goes_on_in_a_strict_sandbox(Harness::Claude);
}

#[test]
fn opencode_goes_on_in_a_strict_sandbox() {
    goes_on_in_a_strict_sandbox(Harness::Opencode);
}

#[test]
fn codex_goes_on_in_a_strict_sandbox() {
    goes_on_in_a_strict_sandbox(Harness::Codex);
}
