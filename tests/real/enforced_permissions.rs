//! Permissions on claude and opencode: what the model wants, the harness does or does not do.

use crate::support::agent::changed;
use crate::support::wishes::{shell_call, write};
use crate::support::{Scratch, Turn};
use agentworkforce::model::tier::Harness;
use serde_json::{Value, json};

/// A bit of everything that a persona may want to allow or deny, at once.
fn wishes(harness: Harness) -> Turn {
    let commands = [
        "sh -c 'echo x > by-sh.txt'",
        "git status --short --branch",
        "git push --quiet origin HEAD:refs/heads/alone",
        "git status && git push --quiet origin HEAD:refs/heads/chained",
        "touch alone.txt",
        "touch chained.txt && sh -c 'echo x > by-chained-sh.txt'",
    ];
    commands.iter().fold(write(harness, "made.txt"), |turn, command| {
        let (name, input) = shell_call(harness, command);
        turn.and_call(name, input)
    })
}

/// A project with a place to push to.
fn world(harness: Harness, permissions: &Value) -> Scratch {
    let mut world = Scratch::new([wishes(harness), Turn::text("that is all")]);
    // claude refuses to go without questions as root, unless it is told that somebody thought about it.
    world.set_var("IS_SANDBOX", "1");
    // Whatever the user likes best, a persona with a list means its list.
    world.write("home/.claude/settings.json", r#"{"permissions": {"defaultMode": "acceptEdits"}}"#);
    world.git(&["init", "--quiet", "--bare", "../remote.git"]);
    world.git(&["remote", "add", "origin", "../remote.git"]);
    world.plain(harness, &json!({ "permissions": permissions }));
    world
}

/// Runs it, and returns what was changed. Nothing may have been pushed, though it could have been.
#[track_caller]
fn changes(world: &Scratch) -> Vec<String> {
    changes_of(world, "completed")
}

/// The same for a run that ends like this.
#[track_caller]
fn changes_of(world: &Scratch, status: &str) -> Vec<String> {
    let (report, _) = world.report(&["--apply", "never"]);
    assert_eq!(report["outcome"]["status"], status, "{report:#}");
    let refs = world.command("git").args(["-C", "../remote.git", "for-each-ref"]).output().expect("git runs");
    assert_eq!(String::from_utf8_lossy(&refs.stdout), "", "it was pushed");
    world.git(&["push", "--quiet", "origin", "HEAD:refs/heads/by-hand"]);
    changed(&report).into_iter().map(str::to_owned).collect()
}

fn planning_changes_nothing(harness: Harness) {
    let world = world(harness, &json!({"mode": "plan"}));
    assert_eq!(changes(&world), <[&str; 0]>::default());
    world.promises("permissions.mode");
}

fn accepted_edits_are_edits_and_not_commands(harness: Harness) {
    let world = world(harness, &json!({"mode": "acceptEdits"}));
    // claude takes harmless commands on files for edits.
    let expected: &[&str] =
        if harness == Harness::Claude { &["alone.txt", "made.txt"] } else { &["made.txt"] };
    assert_eq!(changes(&world), expected);
    world.promises("permissions.mode");
}

fn what_is_allowed_runs_and_a_chained_other_command_does_not(harness: Harness) {
    for mode in [Some("default"), None] {
        // Once is enough for the slow one; the mode is claude's own affair.
        if mode.is_none() && harness == Harness::Opencode {
            continue;
        }
        let mut permissions = json!({"allow": ["Bash(touch:*)", "Bash(git status:*)"]});
        if let Some(mode) = mode {
            permissions["mode"] = mode.into();
        }
        let world = world(harness, &permissions);
        // The file that it also wanted to write is one that somebody would have been asked about.
        assert_eq!(changes_of(&world, "failed"), ["alone.txt"], "{mode:?}");
        world.promises("permissions.allow");
    }
}

fn without_questions_only_what_is_denied_does_not_happen(harness: Harness) {
    let permissions = json!({"mode": "bypassPermissions", "deny": ["Bash(git push:*)", "WebFetch"]});
    let world = world(harness, &permissions);
    let all = ["alone.txt", "by-chained-sh.txt", "by-sh.txt", "chained.txt", "made.txt"];
    assert_eq!(changes(&world), all);
    assert!(world.model.contains("## main"), "git status did not run");
    for field in ["permissions.mode", "permissions.deny"] {
        world.promises(field);
    }
}

#[test]
fn claude_changes_nothing_while_it_plans() {
    planning_changes_nothing(Harness::Claude);
}

#[test]
fn opencode_changes_nothing_while_it_plans() {
    planning_changes_nothing(Harness::Opencode);
}

#[test]
fn claude_accepts_edits_and_not_commands() {
    accepted_edits_are_edits_and_not_commands(Harness::Claude);
}

#[test]
fn opencode_accepts_edits_and_not_commands() {
    accepted_edits_are_edits_and_not_commands(Harness::Opencode);
}

#[test]
fn claude_runs_what_is_allowed_and_nothing_chained_to_it() {
    what_is_allowed_runs_and_a_chained_other_command_does_not(Harness::Claude);
}

#[test]
fn opencode_runs_what_is_allowed_and_nothing_chained_to_it() {
    what_is_allowed_runs_and_a_chained_other_command_does_not(Harness::Opencode);
}

#[test]
fn claude_without_questions_obeys_a_denied_pattern() {
    without_questions_only_what_is_denied_does_not_happen(Harness::Claude);
}

#[test]
fn opencode_without_questions_obeys_a_denied_pattern() {
    without_questions_only_what_is_denied_does_not_happen(Harness::Opencode);
}

/// opencode gives a subagent the permissions of its own name, not those of the agent that calls it.
#[test]
fn opencode_keeps_a_subagent_from_what_the_persona_may_not_do() {
    let (bash, command) = shell_call(Harness::Opencode, "touch by-bash.txt");
    let wishes = || {
        let input = json!({"filePath": "made.txt", "content": "x"});
        Turn::call(bash, command.clone()).and_call("write", input)
    };
    for (agent, is_started) in [("general", false), ("mine", false), ("agentworkforce/tester/helper", true)] {
        let task = json!({"description": "look", "prompt": "SUBTASK", "subagent_type": agent});
        let rest = [Turn::text("done"), Turn::text("that is all")];
        let world = Scratch::new([Turn::call("task", task), wishes()].into_iter().chain(rest));
        let path = "home/.config/opencode/agent/mine.md";
        let mine = "---\ndescription: mine\nmode: subagent\npermission:\n  bash: allow\n---\nGo.\n";
        world.write(path, mine);
        world.plain(
            Harness::Opencode,
            &json!({"permissions": {"mode": "bypassPermissions", "deny": ["Bash"]}}),
        );
        assert_eq!(changes_here(&world), ["made.txt"], "{agent}");
        // The main agent's own requests have the text only in the call that was refused.
        let asked = world.model.turns().iter().filter(|turn| !turn.text.contains("TASK-MARKER")).count();
        assert_eq!(asked > 0, is_started, "{agent}");
        world.promises("permissions.deny");
    }
}

/// An agent of the user's own that has the persona's id has other permissions, and another prompt.
#[test]
fn opencode_takes_no_agent_of_the_users_own_for_the_persona() {
    let (bash, command) = shell_call(Harness::Opencode, "touch by-bash.txt");
    let world = Scratch::new([Turn::call(bash, command), Turn::text("that is all")]);
    let users = "---\ndescription: mine\npermission:\n  bash: allow\n---\nUSERS-PROMPT\n";
    world.write("home/.config/opencode/agent/tester.md", users);
    world.plain(Harness::Opencode, &json!({"permissions": {"mode": "bypassPermissions", "deny": ["Bash"]}}));
    assert_eq!(changes_here(&world), <[&str; 0]>::default());
    assert!(!world.model.contains("USERS-PROMPT"));
}

fn changes_here(world: &Scratch) -> Vec<String> {
    let (report, _) = world.report(&["--apply", "never"]);
    changed(&report).into_iter().map(str::to_owned).collect()
}
