//! Bad input: a clear message with its place, the right exit code, nothing lost, and a good persona beside it works.

mod at_once;
mod config;
mod encodings;
mod homes;
mod one_file;

use crate::support::{Ran, TestEnv, flat};
use pretty_assertions::assert_eq;
use serde_json::Value;

const USER: &str = "home/.agentworkforce/workforce/personas";
const CONFIG: &str = "home/.agentworkforce/workforce/config.json";

/// A world with one good persona.
fn world() -> TestEnv {
    let env = TestEnv::new();
    env.user_persona(&flat("good", "fine"));
    env
}

/// Every command that reads goes on, names the file in a warning, and the good persona works.
#[track_caller]
fn good_one_still_works(env: &TestEnv, named: &str) {
    assert_eq!(env.prompt(&["good"]), "fine");
    assert!(env.run(["agent", "good", "--dry-run"]).succeeds().stdout.contains("good"));
    reading_goes_on(env, named);
}

/// The same for a file that could be about any persona: no run starts, because it may be the one that forbids something.
#[track_caller]
fn good_one_does_not_run(env: &TestEnv, named: &str) {
    let ran = env.run(["agent", "good", "--dry-run"]);
    ran.fails(2, "not started: configuration files are invalid").fails(2, named);
    reading_goes_on(env, named);
}

#[track_caller]
fn reading_goes_on(env: &TestEnv, named: &str) {
    for command in [vec!["list"], vec!["list", "--json"], vec!["show", "good"]] {
        let ran = env.run(&command);
        no_panic(&ran);
        assert!(ran.stdout.contains("good"), "{command:?}: {ran:#?}");
        // Other commands read of a file that they do not need no more than its id.
        let reads_all = command[0] == "list";
        assert!(!reads_all || ran.stderr.contains(named), "{command:?}: {named} is not in {ran:#?}");
    }
    assert!(env.run(["role", "list"]).succeeds().stdout.contains("engineer"));
    let lint = env.run(["lint"]);
    no_panic(&lint);
    assert_eq!(lint.code, 1, "lint turns it into an error: {lint:#?}");
    assert!(lint.stdout.contains(named), "{lint:#?}");
    let lint = env.run(["lint", "--json"]);
    no_panic(&lint);
    let report: Value =
        serde_json::from_str(&lint.stdout).unwrap_or_else(|error| panic!("{error}: {lint:#?}"));
    assert!(report["counts"]["errors"].as_u64().is_some_and(|errors| errors > 0), "{report:#}");
    env.run(["persona", "rename", "good", "Good"]).succeeds();
    env.run(["persona", "set", "good", "--tags", "x"]).succeeds();
}

#[track_caller]
fn no_panic(ran: &Ran) {
    assert!((0..=4).contains(&ran.code), "{ran:#?}");
    assert!(!ran.stderr.contains("panicked"), "{ran:#?}");
}
