//! Which directory a run is about: the plan, its rules and the mount speak of the same one.

use crate::support::{TestEnv, flat};
use serde_json::{Value, json};

#[test]
fn a_directory_that_only_looks_like_a_repository_does_not_take_the_rules_of_the_real_one_away() {
    let mut env = TestEnv::new();
    env.user_persona(&flat("p", "x"));
    env.write("project/.agentignore", "private/\n");
    env.write("project/private/plan.txt", "x");
    std::fs::create_dir_all(env.project().join("sub/.git")).expect("a directory");
    let project = env.project();
    env.set_cwd("project/sub");
    let plan = env.plan(&["p"]);
    assert_eq!(plan["mount"]["root"].as_str(), project.to_str(), "{plan:#}");
    assert_eq!(plan["mount"]["cwd"], "sub");
    assert!(plan["mount"]["rules"].to_string().contains("private/"), "{plan:#}");
}

#[test]
fn a_plan_says_that_a_run_here_would_be_refused() {
    let mut env = TestEnv::new();
    env.user_persona(&flat("p", "x"));
    env.set_cwd("home");
    let ran = env.run(["agent", "p", "--dry-run", "--json"]);
    let plan: Value = serde_json::from_str(&ran.stdout).expect("a plan");
    assert_eq!((ran.code, &plan["refusals"][0]["code"]), (2, &json!("root")), "{plan:#}");
    assert_eq!(env.plan(&["p", "--mount", "none"])["refusals"], json!([]));
    env.run(["agent", "p", "-p", "x"]).fails(2, "it is the home directory");
}
