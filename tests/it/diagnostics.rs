//! What a user can find out when something went wrong: `-v`, `AGENTWORKFORCE_LOG`, the log of a session, the last failure.

use crate::support::harness::weaver;
use crate::support::mount::{Identity, World, read};
use serde_json::json;
use std::fs;

fn world(script: &str) -> World {
    World::with_harness(Identity::Own, script)
}

#[test]
fn every_session_has_a_log_of_its_run_without_values_of_secrets() {
    let world = world("begins; echo made > made.txt; answers done");
    let mut persona = weaver();
    persona["env"] = json!({"TOKEN": "$MY_TOKEN"});
    world.persona(&persona);
    let mut command = world.agent_command(&["weaver", "-p", "use correct-horse-battery", "--json"]);
    let output = command.env("MY_TOKEN", "correct-horse-battery").output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let session = world.sessions().join(report["session"].as_str().unwrap());
    let log = read(session.join("debug.log"));
    for step in
        ["planned", "session opened", "mount opened", "attempt started", "attempt ended", "changes reviewed"]
    {
        assert!(log.contains(step), "`{step}` is not in:\n{log}");
    }
    assert!(!log.contains("correct-horse-battery"), "{log}");
    let mode = fs::metadata(session.join("debug.log")).unwrap();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode.permissions()) & 0o777, 0o600);
    assert!(!String::from_utf8_lossy(&output.stderr).contains("INFO"), "nothing is shown unasked");
}

#[test]
fn a_run_that_fails_before_the_harness_leaves_its_log_and_no_session() {
    let world = world("");
    fs::remove_file(world.path("bin/claude")).unwrap();
    let did = world.agent_with_only(&world.path("bin"), &["weaver", "-p", "x"]);
    let did = did.ends(127);
    did.says("was not found");
    assert_eq!(world.session_count(), 0);
    let log = world.home().join(".agentworkforce/workforce/logs/last-failure.log");
    assert!(did.stderr.contains(&format!("hint: the log is {}", log.display())), "{did:?}");
    let text = read(&log);
    assert!(text.contains("planned") && text.contains("`claude` was not found in `PATH`"), "{text}");
}

#[test]
fn verbose_says_more_the_more_it_is_asked() {
    let world = world("begins; answers done");
    let lines = |flags: &[&str]| {
        let mut all = vec!["weaver", "-p", "x"];
        all.extend(flags);
        let did = world.agent(&all).ends(0);
        let is_log = |line: &&str| line.contains(" INFO ") || line.contains("DEBUG ");
        did.stderr.lines().filter(is_log).count()
    };
    let (quiet, some, more) = (lines(&[]), lines(&["-v"]), lines(&["-vv"]));
    assert_eq!(quiet, 0);
    assert!(some > 3 && more > some, "{some} and {more}");
}

#[test]
fn the_variable_filters_and_a_wrong_value_is_a_usage_error() {
    let world = world("begins; answers done");
    let run = |value: &str| {
        let mut command = world.agent_command(&["weaver", "-p", "x"]);
        let output = command.env("AGENTWORKFORCE_LOG", value).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, said) = run("agentworkforce::mount=debug");
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("DEBUG") && !said.contains("attempt started"), "{said}");
    let (code, said) = run("=,=loud");
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("`AGENTWORKFORCE_LOG` is not valid"), "{said}");
    assert_eq!(world.session_count(), 1);
}

#[test]
fn an_error_after_the_harness_names_the_session_and_its_log() {
    // The agent takes away what apply needs: the session's own rules.
    let world = world(
        "begins; echo made > made.txt; touch \"$record/ready\"; while ! test -e \"$record/go\"; do sleep 0.01; done; answers done",
    );
    let child = world.agent_at_work(&[]);
    let session = fs::read_dir(world.sessions()).unwrap().next().unwrap().unwrap().path();
    fs::remove_file(session.join("rules.json")).unwrap();
    fs::write(world.record("go"), "").unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let id = session.file_name().unwrap().to_str().unwrap();
    assert_eq!(output.status.code(), Some(125), "{said}");
    assert!(said.contains(&format!("its work is kept in session {id}")), "{said}");
    assert!(said.contains(&format!("the log is {}", session.join("debug.log").display())), "{said}");
    assert!(read(session.join("debug.log")).contains("ERROR"));
}

#[test]
fn a_number_that_equals_a_secret_does_not_break_the_report() {
    let world = world(
        r#"begins; echo '{"type":"result","subtype":"success","is_error":false,"result":"it is 123456789012","session_id":"talk-1","num_turns":2,"total_cost_usd":0.5,"usage":{"input_tokens":123456789012,"output_tokens":5},"permission_denials":[]}'"#,
    );
    let mut persona = weaver();
    persona["env"] = json!({"TOKEN": "$MY_TOKEN"});
    world.persona(&persona);
    let mut command = world.agent_command(&["weaver", "-p", "say 123456789012", "--json"]);
    let output = command.env("MY_TOKEN", "123456789012").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["result"], "it is [redacted:MY_TOKEN]");
    let session = world.sessions().join(report["session"].as_str().unwrap());
    assert!(!read(session.join("plan.json")).contains("say 123456789012"));
}

#[test]
fn a_failed_resume_leaves_the_session_as_it_was() {
    let world = world("begins; echo made > made.txt; answers done");
    let (report, _) = world.report(&["--keep"]);
    let id = report["session"].as_str().unwrap();
    let mut persona = weaver();
    persona["skills"] = json!([{"id": "gone", "source": "./no-such-skill"}]);
    world.persona(&persona);
    world.agent(&["weaver", "-p", "more", "--resume", id, "--strict"]).ends(4);
    assert_eq!(world.listed()[0]["state"], "applied");
    let elsewhere = world.path("elsewhere");
    fs::create_dir_all(&elsewhere).unwrap();
    let root = elsewhere.display().to_string();
    for dry in [&[][..], &["--dry-run"]] {
        let mut flags = vec!["weaver", "-p", "more", "--resume", id, "--root", &root];
        flags.extend(dry);
        world.agent(&flags).ends(2).says("belongs to");
    }
}
