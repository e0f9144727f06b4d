//! Directories and homes that are missing, unreadable or full of surprises.

use super::{USER, good_one_still_works, no_panic, world};
use crate::support::{Ran, TestEnv};
use pretty_assertions::assert_eq;
use serde_json::json;

#[test]
fn a_directory_that_cannot_be_read_is_a_warning() {
    let env = world();
    let bad = env.write("not-a-dir", "x");
    env.config(&json!({"personaDirs": ["personas", bad, bad.join("below"), "missing"]}));
    let ran = env.run(["list", "--json"]);
    assert!(ran.stderr.contains("not-a-dir: cannot be read"), "{ran:#?}");
    assert!(!ran.stderr.contains("missing"), "a missing directory is silent: {ran:#?}");
    // The good one is in a layer above them, and stands alone.
    good_one_still_works(&env, "not-a-dir: cannot be read");
    env.write("home/.agentworkforce/workforce/roles", "a file");
    assert_eq!(env.prompt(&["engineer"]), TestEnv::new().prompt(&["engineer"]));
    no_panic(&env.run(["role", "list"]));
}

#[test]
fn a_home_that_does_not_exist_is_an_empty_one_and_is_made_by_the_first_write() {
    let mut env = TestEnv::new();
    let home = env.root().join("nobody/home");
    env.set_var("HOME", home.to_str().unwrap());
    let ran = env.run(["list", "--json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    env.run(["agent", "engineer", "--dry-run"]).succeeds();
    env.run(["config", "list"]).succeeds();
    env.run(["sources", "list"]).succeeds();
    assert!(!home.exists(), "reading makes nothing");
    env.run(["persona", "rename", "ripley", "Newt"]).succeeds();
    assert!(home.join(".agentworkforce/workforce/personas/ripley.json").is_file());
}

#[test]
fn without_a_home_the_message_says_what_to_set() {
    let env = world();
    for value in [None, Some(""), Some("  "), Some("relative/home")] {
        let run = |args: &[&str]| {
            env.run_changed(args, |command| {
                command.env_remove("HOME");
                if let Some(value) = value {
                    command.env("HOME", value);
                }
            })
        };
        run(&["list"]).fails(2, "`HOME` is not set").fails(2, "AGENT_WORKFORCE_HOME");
        run(&["persona", "rename", "ripley", "x"]).fails(2, "`HOME` is not set");
        run(&["config", "set", "defaultModel", "x"]).fails(2, "`HOME` is not set");
        run(&["list", "--json"]).fails_in_json(2, "usage");
        for works in [
            vec!["--help"],
            vec!["--version"],
            vec!["schema", "persona"],
            vec!["completions", "bash"],
            vec!["man"],
        ] {
            run(&works).succeeds();
        }
        let moved = env.run_changed(["agent", "good", "--dry-run", "--json"], |command| {
            command.env_remove("HOME").env("AGENT_WORKFORCE_HOME", env.workforce());
        });
        moved.succeeds();
    }
}

#[test]
fn a_home_that_cannot_be_written_is_refused_clearly_and_reading_goes_on() {
    // As root permission bits stop nobody, so a file stands where the directory should be.
    let mut env = TestEnv::new();
    let file = env.write("blocked", "I am a file");
    env.set_var("AGENT_WORKFORCE_HOME", file.join("home").to_str().unwrap());
    assert_eq!(env.run(["list"]).code, 0);
    env.run(["agent", "engineer", "--dry-run"]).fails(2, "config.json: cannot be read");
    for command in [
        vec!["persona", "rename", "ripley", "Newt"],
        vec!["persona", "set", "ripley", "--tags", "x"],
        vec!["role", "set", "engineer", "--label", "X"],
        vec!["config", "set", "defaultModel", "x"],
        vec!["config", "unset", "defaultModel"],
    ] {
        let ran = env.run(&command);
        assert_eq!(ran.code, 2, "{command:?}: {ran:#?}");
        assert!(ran.stderr.contains("blocked") && ran.stderr.contains("hint: "), "{command:?}: {ran:#?}");
    }
    assert_eq!(env.read("blocked"), "I am a file");
    // The home itself is fine but the place for personas is a file.
    let env = TestEnv::new();
    env.write(USER, "I am a file");
    env.run(["persona", "rename", "ripley", "Newt"]).fails(2, "personas");
    assert_eq!(env.read(USER), "I am a file");
    env.run(["show", "ripley"]).succeeds();
    env.run(["agent", "ripley", "--dry-run"]).fails(2, "personas: cannot be read");
}

#[test]
fn a_log_that_cannot_be_written_is_said_clearly() {
    let env = world();
    env.write("home/.agentworkforce/workforce/logs", "a file");
    let ran = env.run(["persona", "rename", "good", "Good"]);
    no_panic(&ran);
    assert!(ran.stderr.contains("logs"), "{ran:#?}");
}

#[test]
fn a_working_directory_that_is_gone_is_said_clearly() {
    let env = world();
    let gone = env.root().join("gone");
    std::fs::create_dir(&gone).unwrap();
    let ran = std::process::Command::new("sh")
        .args(["-c", "cd \"$1\" && rmdir \"$1\" && exec \"$2\" list", "sh"])
        .arg(&gone)
        .arg(env!("CARGO_BIN_EXE_agentworkforce"))
        .env("HOME", env.home())
        .output()
        .unwrap();
    Ran::of(&ran)
        .fails(2, "the working directory cannot be read")
        .fails(2, "change to a directory that exists");
}
