//! Secrets: nothing that a persona refers to by name is written down by us, and what an agent gives away is told.

use crate::support::harness::{HARNESSES, weaver};
use crate::support::mount::{Identity, World, read};
use crate::support::sessions::Did;
use crate::support::with;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

const VALUE: &str = "s3cr3t-value-of-the-token";

fn files_with(dir: &Path, value: &str, found: &mut Vec<PathBuf>) {
    // The kernel's work directories are closed even to their owner.
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            files_with(&entry.path(), value, found);
        } else if kind.is_file() && String::from_utf8_lossy(&fs::read(entry.path()).unwrap()).contains(value)
        {
            found.push(entry.path());
        }
    }
}

fn world(script: &str) -> World {
    let world = World::with_harness(Identity::Own, script);
    world.persona(&with(
        weaver(),
        &json!({
            "env": {"SERVICE_TOKEN": "$MY_TOKEN", "MIXED": "Bearer ${MY_TOKEN}"},
            "mcpServers": {
                "one": {"command": "cat", "args": ["--token=${MY_TOKEN}"], "env": {"T": "$MY_TOKEN"}},
                "two": {"type": "http", "url": "http://127.0.0.1:9/x", "headers": {"Authorization": "Bearer ${MY_TOKEN}", "X": "a ${MY_TOKEN} b"}},
            },
        }),
    ));
    world
}

fn run(world: &World, flags: &[&str]) -> Did {
    let mut all = vec!["weaver", "-p", "do it", "--json"];
    all.extend(flags);
    Did::of(&world.agent_command(&all).env("MY_TOKEN", VALUE).output().unwrap())
}

#[test]
fn the_value_is_in_the_environment_and_nowhere_else() {
    for harness in HARNESSES {
        let world = world(
            "begins; ps -ef > \"$record/ps\" 2>/dev/null || cat /proc/*/cmdline > \"$record/ps\" 2>/dev/null; answers done",
        );
        let did = run(&world, &["--harness", harness, "--keep"]).ends(0);
        assert_eq!(world.recorded_env("SERVICE_TOKEN").as_deref(), Some(VALUE));
        assert_eq!(world.recorded_env("MIXED"), Some(format!("Bearer {VALUE}")));
        assert!(!did.stdout.contains(VALUE) && !did.stderr.contains(VALUE), "{did:?}");
        assert!(!world.recorded("ps").contains(VALUE), "it is on a command line");
        assert!(!world.recorded("argv").contains(VALUE));
        let mut found = Vec::new();
        files_with(&world.home(), VALUE, &mut found);
        assert_eq!(found, Vec::<PathBuf>::new());
        assert_eq!(did.json()["leaks"], json!([]), "{did:?}");
    }
}

#[test]
fn what_the_agent_gives_away_is_told_without_the_value() {
    for harness in HARNESSES {
        let world = world(
            "begins; echo \"key=$SERVICE_TOKEN\" > leak.txt; echo \"$SERVICE_TOKEN\" >&2; answers \"it is $SERVICE_TOKEN\"",
        );
        let did = run(&world, &["--harness", harness, "--apply", "never"]).ends(0);
        assert!(!did.stdout.contains(VALUE) && !did.stderr.contains(VALUE), "{did:?}");
        let report: Value = did.json();
        assert_eq!(
            report["leaks"],
            json!([
                {"variable": "MY_TOKEN", "place": "leak.txt"},
                {"variable": "MY_TOKEN", "place": "the harness's output"},
            ]),
            "{report:#}"
        );
        assert_eq!(report["result"], "it is [redacted:MY_TOKEN]");
        let session = world.sessions().join(report["session"].as_str().unwrap());
        let mut found = Vec::new();
        files_with(&session, VALUE, &mut found);
        // The agent's own work stays as it is; nothing of ours has it.
        assert!(found.iter().all(|path| path.ends_with("leak.txt")), "{found:?}");
        assert!(read(session.join("attempts/1/harness.log")).contains("[redacted:MY_TOKEN]"));
    }
}

#[test]
fn what_a_check_prints_is_redacted() {
    let world = world("begins; answers done");
    let report = run(&world, &["--check", "echo the key is $SERVICE_TOKEN"]).ends(0).json();
    let log = read(report["checks"][0]["logFile"].as_str().unwrap());
    assert_eq!(log, "the key is [redacted:MY_TOKEN]\n");
}

#[test]
fn the_session_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let world = world("begins; answers done");
    let report = run(&world, &[]).ends(0).json();
    let session = world.sessions().join(report["session"].as_str().unwrap());
    assert_eq!(fs::metadata(&session).unwrap().permissions().mode() & 0o777, 0o700);
    // The manifest holds names and times of the project's files and is readable for nobody else by its directory.
    let is_ours = |entry: &fs::DirEntry| entry.path().is_file() && entry.file_name() != "manifest";
    for entry in fs::read_dir(&session).unwrap().flatten().filter(is_ours) {
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode & 0o077, 0, "{:?} is {mode:o}", entry.path());
    }
}

#[test]
fn under_strict_work_with_a_secret_in_it_is_held_and_without_it_told() {
    let script = "begins; echo \"key=$SERVICE_TOKEN\" > leak.txt; echo fine > fine.txt; answers done";
    for backend in ["overlay", "copy"] {
        let world = world(script);
        let did = run(&world, &["--mount", backend, "--apply", "auto"]).ends(0);
        assert_eq!(did.json()["apply"]["status"], "applied", "{did:#?}");
        assert_eq!(did.json()["leaks"][0]["place"], "leak.txt");
    }
    // A persona that `--strict` has nothing against.
    let world = world(script);
    let mut strict = weaver();
    strict["env"] = json!({"SERVICE_TOKEN": "$MY_TOKEN"});
    world.persona(&strict);
    fs::write(world.home().join(".agentworkforce/workforce/personas/weaver.md"), "Work well.\n").unwrap();
    let did = run(&world, &["--strict", "--apply", "auto"]).ends(4);
    let report = did.json();
    assert_eq!(report["apply"]["status"], "held", "{report:#}");
    assert_eq!((&report["outcome"]["status"], &report["outcome"]["exitCode"]), (&json!("failed"), &json!(4)));
    assert!(report["outcome"]["reason"].as_str().unwrap().contains("--strict"), "{report:#}");
    assert!(!world.project().join("leak.txt").exists() && !world.project().join("fine.txt").exists());
    // By hand it can still be had.
    world.aw(["sessions", "apply", report["session"].as_str().unwrap()]).ends(0);
    assert_eq!(read(world.project().join("fine.txt")), "fine\n");
}

#[test]
fn a_secret_in_a_commit_is_told_although_no_file_has_it_any_more() {
    for backend in ["overlay", "copy"] {
        let world = world(
            "begins; echo \"key=$SERVICE_TOKEN\" > leak.txt; git add leak.txt; git commit -qm first
             git rm -q leak.txt; git commit -qm \"without $SERVICE_TOKEN\"; echo fine > fine.txt; git add fine.txt; git commit -qm fine
             answers done",
        );
        let did = run(&world, &["--mount", backend, "--apply", "auto"]).ends(0);
        assert!(!did.stdout.contains(VALUE) && !did.stderr.contains(VALUE), "{did:?}");
        let report = did.json();
        let places: Vec<&str> =
            report["leaks"].as_array().unwrap().iter().map(|leak| leak["place"].as_str().unwrap()).collect();
        assert_eq!(places.len(), 2, "{report:#}");
        assert!(places.contains(&"leak.txt (commits on main)"), "{places:?}");
        assert!(places.iter().any(|place| place.starts_with("the message of commit ")), "{places:?}");
        assert!(!report["warnings"].to_string().contains("not looked into"), "{report:#}");
    }
}
