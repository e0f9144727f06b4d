//! Edits that a headless run may not make, because nobody can be asked or because the persona says so.

use crate::support::agent::changed;
use crate::support::wishes::{shell, write};
use crate::support::{Scratch, Turn};
use agentworkforce::model::tier::Harness;
use serde_json::{Value, json};

/// A run in which the model wants to write `made.txt`; its report and exit code.
fn run(harness: Harness, permissions: &Value, flags: &[&str]) -> (Value, Option<i32>, Scratch) {
    let world = Scratch::new([]);
    let file = if flags.contains(&"copy") { "made.txt".into() } else { world.project().join("made.txt") };
    world.model.script([write(harness, &file.display().to_string()), Turn::text("that is all")]);
    world.plain(harness, &json!({ "permissions": permissions }));
    let (report, ran) = world.report(flags);
    (report, ran.code, world)
}

#[track_caller]
fn fails(harness: Harness, permissions: &Value, flags: &[&str]) {
    let (report, code, _) = run(harness, permissions, flags);
    assert_eq!(
        (code, &report["outcome"]["status"]),
        (Some(1), &json!("failed")),
        "{permissions}: {report:#}"
    );
    let reason = report["outcome"]["reason"].as_str().expect("a reason");
    assert!(
        reason.starts_with("the agent was not allowed to edit made.txt: this persona asks first"),
        "{reason}"
    );
    assert!(reason.contains("set `permissions.mode` of the persona to `acceptEdits`"), "{reason}");
    assert_eq!(report["result"], "that is all", "{report:#}");
}

#[track_caller]
fn completes(harness: Harness, permissions: &Value) -> Vec<String> {
    let (report, code, _) = run(harness, permissions, &[]);
    assert_eq!(
        (code, &report["outcome"]["status"]),
        (Some(0), &json!("completed")),
        "{permissions}: {report:#}"
    );
    changed(&report).into_iter().map(str::to_owned).collect()
}

#[test]
fn an_edit_that_nobody_could_be_asked_about_fails_the_run() {
    for permissions in [json!({}), json!({"mode": "default"}), json!({"allow": ["Read"]})] {
        fails(Harness::Claude, &permissions, &[]);
    }
    fails(Harness::Claude, &json!({"mode": "default"}), &["--mount", "copy"]);
    fails(Harness::Claude, &json!({"deny": ["Edit(docs/**)"]}), &[]);
    fails(Harness::Opencode, &json!({"mode": "default"}), &[]);
}

#[test]
fn an_edit_that_the_persona_forbids_does_not() {
    for harness in [Harness::Claude, Harness::Opencode] {
        for permissions in [
            json!({"mode": "plan"}),
            json!({"mode": "default", "deny": ["Edit", "Write", "NotebookEdit"]}),
            json!({"mode": "acceptEdits", "deny": ["Edit(**/made.txt)", "Write(**/made.txt)"]}),
        ] {
            assert_eq!(completes(harness, &permissions), <[&str; 0]>::default(), "{harness} {permissions}");
        }
        assert_eq!(completes(harness, &json!({"mode": "acceptEdits"})), ["made.txt"], "{harness}");
    }
    // Whatever claude would ask about: a file that is read-only for the persona is its decision.
    let world = Scratch::new([]);
    world.model.script([write(Harness::Claude, "made.txt"), Turn::text("that is all")]);
    world.plain(Harness::Claude, &json!({"mount": {"readonlyPatterns": ["*"]}}));
    world.succeeds(&[]);
}

#[test]
fn what_was_done_in_another_way_or_is_not_of_the_project_is_no_failure() {
    let world = Scratch::new([]);
    let outside = world.root().join("outside.txt").display().to_string();
    world.model.script([
        write(Harness::Claude, "made.txt"),
        write(Harness::Claude, &outside),
        shell(Harness::Claude, "echo written > made.txt"),
        Turn::text("that is all"),
    ]);
    world.plain(Harness::Claude, &json!({"permissions": {"allow": ["Bash"]}}));
    let report = world.succeeds(&[]);
    assert_eq!(changed(&report), ["made.txt"], "{report:#}");
    assert!(report["warnings"].to_string().contains("not allowed: Write("), "{report:#}");
}

/// The named personas, and what `create` writes: `pick --launch` and a first try must not end in nothing.
#[test]
fn built_in_and_created_personas_do_their_work_headless() {
    let file_of = |persona: &str| if persona.contains("lambert") { "docs/made.md" } else { "made.txt" };
    for persona in ["dallas", "ralph", "rebecca", "lambert", "fresh", "fresh-of-role"] {
        let world = Scratch::new([]);
        world.write("project/docs/.keep", "");
        let file = file_of(persona);
        let call = world.project().join(file).display().to_string();
        world.model.script([write(Harness::Claude, &call), Turn::text("that is all")]);
        let create: &[&str] = match persona {
            "fresh" => &["create", "fresh"],
            "fresh-of-role" => &["create", "fresh-of-role", "--role", "engineer"],
            _ => &["list"],
        };
        world.run(&mut world.agentworkforce(create), "").succeeds();
        let ran = world.run(&mut world.agentworkforce(["agent", persona, "write it", "--json"]), "");
        let report: Value =
            serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:#?}"));
        assert_eq!(
            (ran.code, &report["apply"]["status"]),
            (Some(0), &json!("applied")),
            "{persona}: {report:#}"
        );
        assert_eq!(world.read(format!("project/{file}")), "written\n", "{persona}");
    }
    // Ripley only explores: that it may not write is no failure.
    let world = Scratch::new([write(Harness::Claude, "made.txt"), Turn::text("that is all")]);
    let ran = world.run(&mut world.agentworkforce(["agent", "ripley", "look around", "--json"]), "");
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert!(!world.project().join("made.txt").exists());
}
