//! A dry run is a run that stops before it starts: every refusal is the same both ways.

use crate::support::harness::weaver;
use crate::support::mount::{BINARY, Identity, World};
use crate::support::sessions::Did;
use serde_json::{Value, json};
use std::fs;
use std::process::Stdio;

fn world() -> World {
    World::with_harness(Identity::Own, "begins; echo made > made.txt; answers done")
}

/// Both ways of the same request: the code of the refusal, its exit code, and that nothing was started or written.
#[track_caller]
fn is_refused(world: &World, flags: &[&str], refusal: &str, exit: i32) -> Value {
    is_refused_by(world, flags, refusal, exit, &|all| world.agent(all))
}

#[track_caller]
fn is_refused_by(
    world: &World,
    flags: &[&str],
    refusal: &str,
    exit: i32,
    agent: &dyn Fn(&[&str]) -> Did,
) -> Value {
    let home = || world.outside("find \"$HOME\" | sort");
    let before = home();
    let mut dry = vec!["weaver", "-p", "do it", "--dry-run", "--json"];
    dry.extend(flags);
    let planned = agent(&dry);
    let plan = planned.json();
    assert_eq!(planned.code, exit, "{plan:#}");
    assert_eq!(plan["schemaVersion"], 2);
    assert_eq!(plan["refusals"][0]["code"], refusal, "{:#}", plan["refusals"]);
    assert_eq!(home(), before, "a dry run writes nothing");

    let mut real = vec!["weaver", "-p", "do it", "--json"];
    real.extend(flags);
    let ran = agent(&real);
    let report = ran.json();
    assert_eq!(ran.code, exit, "{report:#}");
    assert_eq!(report["outcome"]["status"], "not-started", "{report:#}");
    assert_eq!(report["error"]["exitCode"], exit);
    assert_eq!(report["error"]["message"], plan["refusals"][0]["message"]);
    assert!(!report["error"]["hints"].as_array().unwrap().is_empty(), "{report:#}");
    assert_eq!(world.session_count(), 0);
    assert!(!world.record("argv").exists(), "the harness was started");
    plan
}

#[test]
fn invalid_files_are_refused_both_ways() {
    let world = world();
    fs::create_dir(world.project().join(".agentignore")).unwrap();
    is_refused(&world, &[], "invalid-files", 2);
}

#[test]
fn a_root_that_cannot_be_mounted_is_refused_both_ways() {
    is_refused(&world(), &["--root", "/"], "root", 2);
}

#[test]
fn holding_changes_back_without_a_mount_is_refused_both_ways() {
    is_refused(&world(), &["--mount", "none", "--apply", "never"], "nothing-to-hold", 2);
}

#[test]
fn asking_without_a_terminal_is_refused_both_ways() {
    is_refused(&world(), &["--apply", "ask"], "no-terminal", 2);
}

#[test]
fn a_budget_of_zero_is_refused_both_ways() {
    is_refused(&world(), &["--max-usd", "0"], "zero-budget", 4);
    let world = world();
    let mut persona = weaver();
    persona["limits"] = json!({"usd": 0});
    world.persona(&persona);
    is_refused(&world, &[], "zero-budget", 4);
}

#[test]
fn a_sandbox_level_that_a_copy_cannot_give_is_refused_both_ways() {
    let plan = is_refused(&world(), &["--mount", "copy", "--sandbox", "project"], "sandbox-unavailable", 4);
    assert_eq!(plan["refusals"][0]["causes"], json!(["`project` needs the overlay"]));
}

/// Where no namespace can be made and no capability is left, there is no overlay.
const WITHOUT_NAMESPACES: &str = "echo 0 > /proc/sys/user/max_user_namespaces && \
    exec setpriv --bounding-set=-all --inh-caps=-all --ambient-caps=-all \"$@\"";

#[test]
fn an_overlay_or_level_that_this_machine_cannot_give_is_refused_both_ways() {
    let world = world();
    for (flags, refusal, exit) in [
        (["--mount", "overlay"], "overlay-unavailable", 2),
        (["--sandbox", "project"], "sandbox-unavailable", 4),
    ] {
        is_refused_by(&world, &flags, refusal, exit, &|all| {
            let mut command = world.program("unshare");
            command.args([
                "--user",
                "--map-root-user",
                "sh",
                "-c",
                WITHOUT_NAMESPACES,
                "sh",
                BINARY,
                "agent",
            ]);
            let path = format!("{}:{}", world.path("bin").display(), std::env::var("PATH").unwrap());
            Did::of(&command.args(all).env("PATH", path).stdin(Stdio::null()).output().unwrap())
        });
    }
}

#[test]
fn what_is_not_enforced_is_refused_by_strict_both_ways() {
    let world = world();
    let plan = is_refused(&world, &["--strict", "--mount", "copy"], "not-enforced", 4);
    let causes: Vec<&str> = plan["refusals"][0]["causes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cause| cause.as_str().unwrap())
        .collect();
    assert!(causes.contains(&"mount.sandbox: unsupported (`project` needs the overlay)"), "{causes:?}");
    let mut persona = weaver();
    persona["skills"] = json!([{"id": "odd", "source": "odd://nowhere"}]);
    world.persona(&persona);
    is_refused(&world, &["--strict"], "not-enforced", 4);
}

#[test]
fn strict_raises_the_sandbox_and_the_matrix_says_so() {
    let world = world();
    let plan = world.agent(&["weaver", "-p", "x", "--dry-run", "--json", "--strict"]).json();
    assert_eq!(plan["mount"]["sandbox"], "project");
    let row = plan["enforcement"].as_array().unwrap().iter().find(|row| row["field"] == "mount.sandbox");
    assert_eq!(row.map(|row| &row["level"]), Some(&json!("enforced")), "{plan:#}");
}

#[test]
fn a_missing_harness_or_skill_only_warns_in_a_dry_run() {
    let world = world();
    let mut persona = weaver();
    persona["skills"] = json!([{"id": "gone", "source": "./no-such-skill"}]);
    world.persona(&persona);
    fs::remove_file(world.path("bin/claude")).unwrap();
    let did = world.agent_with_only(&world.path("bin"), &["weaver", "-p", "x", "--dry-run", "--json"]);
    let plan = did.json();
    assert_eq!(did.code, 0, "{plan:#}");
    let warnings: Vec<(&str, &str)> = plan["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|warning| (warning["code"].as_str().unwrap(), warning["message"].as_str().unwrap()))
        .collect();
    assert!(warnings.contains(&("harness", "`claude` was not found in `PATH`")), "{warnings:?}");
    assert!(warnings.contains(&("skill", "skill `gone` was not found: ./no-such-skill")), "{warnings:?}");
}

#[test]
fn the_plan_holds_every_decision() {
    let world = world();
    let plan = world.agent(&[
        "weaver",
        "-p",
        "x",
        "--dry-run",
        "--json",
        "--apply",
        "never",
        "--include-ignored",
        "--keep",
        "--offline",
        "--check",
        "true",
        "--check-timeout",
        "7",
        "--timeout",
        "60",
    ]);
    let plan = plan.json();
    assert_eq!(
        plan["changes"],
        json!({"apply": "never", "includeIgnored": true, "merge": true, "keep": true})
    );
    assert_eq!(plan["checks"], json!([{"command": "true", "timeoutSeconds": 7.0}]));
    assert_eq!((&plan["offline"], &plan["strict"]), (&json!(true), &json!(false)));
    assert_eq!(plan["limits"]["wallSeconds"], 60.0);
    assert_eq!(plan["refusals"], json!([]));
}
