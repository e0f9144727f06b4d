//! What is measured, and what follows from it.

use super::{status, world};
use serde_json::{Value, json};

const BROKEN: &str = "add() { echo $(($1 - $2)); }\n";

#[test]
fn an_honest_run_is_approved_and_applied() {
    let world = world("mend; report '\"calc.sh\"'");
    let (verdict, code) = world.verdict(&[]);
    assert_eq!((code, &verdict["verdict"]), (0, &json!("APPROVE")), "{verdict:#}");
    assert_eq!(verdict["apply"]["status"], "applied");
    assert_eq!(status(&verdict, "validation/1"), "passed");
    assert!(world.text("calc.sh").contains('+'));
    let argv = world.recorded_argv();
    assert!(argv.contains(&"--disallowedTools=Task".to_owned()), "{argv:?}");
}

#[test]
fn a_lie_is_caught_corrected_and_the_second_attempt_is_applied() {
    let world =
        world("if [ $n = 2 ]; then mend; else echo '# looks good' >> calc.sh; fi; report '\"calc.sh\"'");
    let (verdict, code) = world.verdict(&[]);
    assert_eq!((code, &verdict["verdict"]), (0, &json!("APPROVE")), "{verdict:#}");
    let attempts = verdict["attempts"].as_array().unwrap();
    let strategies: Vec<&Value> = attempts.iter().map(|attempt| &attempt["strategy"]).collect();
    assert_eq!(strategies, ["first", "retry"]);
    assert!(world.text("calc.sh").contains('+'));
    let second = world.recorded("stdin.2");
    assert!(second.contains("sh check.sh"), "the correction names the command: {second}");
    assert!(world.recorded_argv().contains(&"--resume=talk-1".to_owned()), "the conversation goes on");
}

#[test]
fn what_never_works_is_held_and_needs_a_word_to_be_applied() {
    let world = world("echo \"# $n\" >> calc.sh; report '\"calc.sh\"'");
    let (verdict, code) = world.verdict(&[]);
    assert_eq!(code, 1, "{verdict:#}");
    assert_ne!(verdict["verdict"], "APPROVE");
    assert_eq!(world.text("calc.sh"), BROKEN, "the project is as it was");
    let session = verdict["session"].as_str().unwrap();
    let refused = world.worked(&["sessions", "apply", session]);
    assert_eq!(refused.code, 4, "{}", refused.stderr);
    refused.says("not approved").says("--unverified");
    assert_eq!(world.listed()[0]["heldBecause"], "not-approved");
    assert_eq!(world.worked(&["sessions", "apply", session, "--unverified"]).code, 0);
    assert!(world.text("calc.sh").contains("# 1"));
}

#[test]
fn what_is_out_of_scope_is_put_back_before_the_next_attempt() {
    let world = world(
        "mend; if [ $n = 1 ]; then echo more >> notes.md; report '\"calc.sh\",\"notes.md\"'; else report '\"calc.sh\"'; fi",
    );
    let (verdict, code) = world.verdict(&["--files", "calc.sh"]);
    assert_eq!((code, &verdict["verdict"]), (0, &json!("APPROVE")), "{verdict:#}");
    assert_eq!(verdict["attempts"][0]["signal"]["blockerType"], "scope_drift");
    assert_eq!(verdict["attempts"][1]["strategy"], "rephrase");
    assert_eq!(world.text("notes.md"), "notes\n");
    assert!(world.text("calc.sh").contains('+'));
}

#[test]
fn the_same_failure_with_the_same_changes_is_a_loop_and_is_skipped() {
    let world = world("echo 'add() { echo 4; }' > calc.sh; report '\"calc.sh\"'");
    let (verdict, code) = world.verdict(&["--attempts", "5"]);
    assert_eq!((code, &verdict["verdict"]), (1, &json!("SKIPPED")), "{verdict:#}");
    let attempts = verdict["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 3, "first, a loop that is rephrased, a loop that is skipped");
    assert_eq!(attempts[1]["signal"]["blockerType"], "loop");
}

#[test]
fn a_command_sees_neither_harness_keys_nor_what_git_ignores() {
    let world = world("mkdir -p build; echo fake > build/passes; mend; report '\"calc.sh\"'");
    let check = "test -z \"$AGENTWORKFORCE_SESSION$AGENTWORKFORCE_NONCE$ANTHROPIC_API_KEY\" && ! test -e build/passes && test -d \"$TMPDIR\"";
    let mut command = world.work_command(&[
        "work",
        "mend add",
        "--as",
        "hand",
        "--check",
        check,
        "--check",
        "sh check.sh",
        "--apply",
        "never",
        "--json",
    ]);
    let output = command.env("ANTHROPIC_API_KEY", "sk-test-0123456789").output().unwrap();
    let verdict: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(verdict["verdict"], "APPROVE", "{verdict:#}");
    assert_eq!(verdict["apply"]["status"], "held");
}
