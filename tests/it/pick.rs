//! `pick`: the persona that fits a task comes first, with the reason, the same on every call.

use crate::support::{TestEnv, flat, with};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

fn pick(env: &TestEnv, task: &str) -> Value {
    env.run(["pick", task, "--json"]).json()
}

fn best(env: &TestEnv, task: &str) -> String {
    pick(env, task)["candidates"][0]["persona"].as_str().expect("a candidate").to_owned()
}

#[test]
fn everyday_tasks_find_the_built_in_for_them() {
    let env = TestEnv::new();
    let cases = [
        ("why is CI red?", "ci-fixer"),
        ("review my pull request", "code-reviewer"),
        ("there is a crash in the parser, find the bug", "debugger"),
        ("write tests for the payment module", "test-writer"),
        ("update the README", "docs-writer"),
        ("is this secure against injection?", "security-reviewer"),
        ("clean up duplicated code", "refactorer"),
        ("can we release version 2?", "release-checker"),
        ("explain how this codebase works", "explorer"),
        ("design the architecture of a new service", "architect"),
        ("make a persona for my team", "persona-maker"),
        ("fix the flaky tests", "ci-fixer"),
        ("the build is failing on main", "ci-fixer"),
        ("fix the failing GitHub Actions workflow", "ci-fixer"),
        ("find memory leaks", "debugger"),
        ("the app hangs on startup", "debugger"),
        ("debug why the request times out", "debugger"),
        ("this function is 400 lines long, split it up", "refactorer"),
        ("remove dead code", "refactorer"),
        ("rename the User class everywhere", "refactorer"),
        ("check for SQL injection and leaked secrets", "security-reviewer"),
        ("is the login endpoint vulnerable?", "security-reviewer"),
        ("audit our npm dependencies for vulnerabilities", "security-reviewer"),
        ("where is the user session created?", "explorer"),
        ("what does the scheduler module do", "explorer"),
        ("implement OAuth login", "engineer"),
        ("new REST endpoint for orders", "engineer"),
        ("document the public API", "docs-writer"),
        ("fix typo in docs", "docs-writer"),
        ("write a tutorial for newcomers", "docs-writer"),
        ("review this diff for bugs", "code-reviewer"),
        ("write unit tests for utils.py", "test-writer"),
        ("plan the migration from mysql to postgres", "architect"),
        ("which requirements are not implemented yet", "analyst"),
        ("prepare the 1.4 release", "release-checker"),
        ("upgrade dependencies to the latest version", "engineer"),
        ("make the page load faster", "debugger"),
        ("increase test coverage of the auth package", "test-writer"),
        ("pipeline is broken after merging", "ci-fixer"),
        ("add a dark mode toggle to the settings page", "engineer"),
        ("set up a docker container for the typescript service", "dallas"),
    ];
    let wrong: Vec<String> = cases
        .iter()
        .map(|(task, id)| (task, id, best(&env, task)))
        .filter(|(_, id, found)| *id != found)
        .map(|(task, id, found)| format!("{task}: {found}, not {id}"))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_reason_that_is_only_related_says_so() {
    let env = TestEnv::new();
    env.project_persona(&with(flat("zebra", "x"), &json!({"description": "Ends every vulnerability"})));
    let text = env.run(["pick", "zebra exploit", "--limit", "1"]);
    assert!(text.succeeds().stdout.contains("exploit (≈ vulnerability)"), "{text:#?}");
    let reasons = &pick(&env, "zebra exploit")["candidates"][0]["reasons"];
    assert_eq!(reasons[1], json!({"word": "exploit", "related": "vulnerability", "fields": ["description"]}));
}

#[test]
fn the_reason_names_the_words_and_where_they_stand() {
    let env = TestEnv::new();
    env.project_persona(&with(
        flat("zebra-groomer", "x"),
        &json!({"description": "Grooms zebras", "tags": ["stripes"]}),
    ));
    let report = pick(&env, "My zebra needs grooming; mind the stripes");
    assert_eq!(report["schemaVersion"], 2);
    let first = &report["candidates"][0];
    assert_eq!(first["persona"], "zebra-groomer");
    assert_eq!(
        first["reasons"],
        json!([
            {"word": "zebra", "fields": ["id", "intent", "description"]},
            {"word": "grooming", "fields": ["id", "intent", "description"]},
            {"word": "stripes", "fields": ["tags"]},
        ])
    );
    let text = env.run(["pick", "groom", "the", "zebra", "--limit", "1"]);
    assert!(text.succeeds().stdout.contains("    matches: groom, zebra"), "{text:#?}");
}

#[test]
fn equals_stand_by_id_and_the_limit_holds() {
    let env = TestEnv::new();
    for id in ["quux-b", "quux-a", "quux-c"] {
        env.project_persona(
            &json!({"id": id, "intent": "i", "description": "d", "harness": "claude", "systemPrompt": "x"}),
        );
    }
    let ids = |report: &Value| -> Vec<String> {
        let list = report["candidates"].as_array().expect("candidates").iter();
        list.map(|candidate| candidate["persona"].as_str().expect("an id").to_owned()).collect()
    };
    assert_eq!(ids(&pick(&env, "quux")), ["quux-a", "quux-b", "quux-c"]);
    assert_eq!(ids(&env.run(["pick", "quux", "--limit", "2", "--json"]).json()), ["quux-a", "quux-b"]);
}

#[test]
fn without_a_terminal_launch_prints_the_command() {
    let env = TestEnv::new();
    let ran = env.run(["pick", "review it's diff", "--launch"]);
    assert_eq!(ran.succeeds().stdout, "agentworkforce agent code-reviewer -p \"review it's diff\"\n");
    let report = env.run(["pick", "review it", "--launch", "--json"]).json();
    assert_eq!(report["command"], json!(["agentworkforce", "agent", "code-reviewer", "-p", "review it"]));
    assert_eq!(report["launched"], false);
}

#[test]
fn a_dry_run_of_the_launch_prints_the_plan_and_starts_nothing() {
    let env = TestEnv::new();
    let before = env.everything();
    let ran = env.run(["pick", "review my diff", "--launch", "--dry-run"]);
    let plan = env.run(["agent", "code-reviewer", "-p", "review my diff", "--dry-run"]);
    assert!(ran.succeeds().stdout.ends_with(&plan.succeeds().stdout), "{ran:#?}");
    let report = env.run(["pick", "review my diff", "--launch", "--dry-run", "--json"]).json();
    assert_eq!(
        (&report["plan"]["persona"]["id"], &report["launched"]),
        (&json!("code-reviewer"), &json!(false))
    );
    assert_eq!(report["plan"]["schemaVersion"], 2);
    assert_eq!(env.everything(), before);
}

#[test]
fn no_match_is_said_and_fails() {
    let env = TestEnv::new();
    env.run(["pick", "xyzzy"]).fails_with_output(1, "no persona matches this task");
    env.run(["pick", " "]).fails(2, "the task is empty");
    env.run(["pick"]).fails(2, "TASK");
    env.run(["pick", "x", "--limit", "0"]).fails(2, "limit");
}
