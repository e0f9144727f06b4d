//! How work ends without an approval, and how it goes on.

use super::{harness, world};
use crate::support::mount::soon;
use serde_json::{Value, json};

#[test]
fn a_noop_with_a_reason_is_no_failure_where_nothing_is_red() {
    let script = "printf '{\"schema_version\":\"worker-report.v1\",\"status\":\"completed\",\"task\":\"x\",\"files_changed\":[],\
                  \"commit\":null,\"summary\":\"nothing\",\"memory_updates\":[],\"noop\":\"it is there already\",\"nonce\":\"%s\"}' \
                  \"$AGENTWORKFORCE_NONCE\" > \"$AGENTWORKFORCE_REPORT\"";
    let world = world(script);
    let did = world.worked(&["work", "add notes", "--as", "hand", "--check", "test -e notes.md", "--json"]);
    assert_eq!((did.code, &did.json()["verdict"]), (0, &json!("SKIPPED")), "{}", did.stdout);
}

#[test]
fn a_worker_that_gives_up_ends_it() {
    let script = "printf '{\"status\":\"failed\",\"escalation_reason\":\"the spec is wrong\",\"nonce\":\"%s\"}' \
                  \"$AGENTWORKFORCE_NONCE\" > \"$AGENTWORKFORCE_REPORT\"";
    let world = world(script);
    let (verdict, code) = world.verdict(&[]);
    assert_eq!((code, &verdict["verdict"]), (1, &json!("ESCALATED")), "{verdict:#}");
    assert_eq!(verdict["attempts"].as_array().unwrap().len(), 1);
}

#[test]
fn held_work_goes_on_with_its_count() {
    let world = world("echo \"# $n\" >> calc.sh; report '\"calc.sh\"'");
    let (verdict, _) = world.verdict(&["--attempts", "1"]);
    let session = verdict["session"].as_str().unwrap().to_owned();
    let none = world.worked(&["work", "--resume", &session]);
    assert_eq!(none.code, 2, "{}", none.stderr);
    none.says("no attempt is left");
    harness(&world, "mend; report '\"calc.sh\"'");
    let did = world.worked(&["work", "--resume", &session, "--attempts", "2", "--apply", "auto", "--json"]);
    let verdict = did.json();
    assert_eq!((did.code, &verdict["verdict"]), (0, &json!("APPROVE")), "{verdict:#}");
    let numbers: Vec<&Value> = verdict["attempts"].as_array().unwrap().iter().map(|a| &a["number"]).collect();
    assert_eq!(numbers, [1, 2]);
    assert!(world.text("calc.sh").contains('+'));
}

#[test]
fn an_agent_does_not_go_on_with_work_behind_its_contract() {
    let world = world("echo \"# $n\" >> calc.sh; report '\"calc.sh\"'");
    let (verdict, _) = world.verdict(&["--attempts", "1"]);
    let session = verdict["session"].as_str().unwrap().to_owned();
    let did = world.worked(&["agent", "hand", "-p", "apply it", "--resume", &session, "--apply", "auto"]);
    assert_ne!(did.code, 0);
    did.says("contract");
}

#[test]
fn a_kill_at_any_point_applies_nothing_that_is_not_approved() {
    let mut killed = 0;
    for point in (4..64).step_by(6) {
        let world = world("echo \"# $n\" >> calc.sh; report '\"calc.sh\"'");
        let before = world.text("calc.sh");
        let mut command = world.work_command(&[
            "work",
            "mend add",
            "--as",
            "hand",
            "--check",
            "sh check.sh",
            "--apply",
            "auto",
            "--attempts",
            "2",
            "--json",
        ]);
        let output = command.env("AGENTWORKFORCE_TEST_KILL_AT", point.to_string()).output().unwrap();
        if output.status.code().is_none() {
            killed += 1;
            assert!(soon(|| world.worked(&["sessions", "recover"]).code == 0), "point {point}");
        }
        assert_eq!(world.text("calc.sh"), before, "point {point}");
        for session in world.listed() {
            let id = session["id"].as_str().unwrap().to_owned();
            let _ = world.worked(&["sessions", "apply", &id]);
        }
        assert_eq!(world.text("calc.sh"), before, "point {point}");
    }
    assert!(killed > 3, "the points are passed");
}
