//! Where the values of inputs come from, and which are missing.

use crate::support::{TestEnv, flat, with};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

#[test]
fn an_input_comes_from_flag_then_variable_then_default() {
    let mut env = TestEnv::new();
    env.user_persona(&with(
        flat("p", "[$A] [${A}] [$O]"),
        &json!({"inputs": {"A": {"default": "d", "env": "FROM"}, "O": {"optional": true}}}),
    ));
    let input = |plan: &Value| {
        format!(
            "{} {}",
            plan["inputs"][0]["value"].as_str().unwrap(),
            plan["inputs"][0]["from"].as_str().unwrap()
        )
    };
    assert_eq!((input(&env.plan(&["p"])).as_str(), env.prompt(&["p"]).as_str()), ("d default", "[d] [d] []"));
    assert_eq!(env.plan(&["p"])["inputs"][1], json!({"name": "O", "value": "", "from": "optional"}));
    env.set_var("A", "not this one");
    env.set_var("FROM", "v");
    assert_eq!(input(&env.plan(&["p"])), "v env:FROM");
    assert_eq!(input(&env.plan(&["p", "--input", "A=f=g"])), "f=g flag");
    assert_eq!(input(&env.plan(&["p", "--input", "A="])), " flag", "an empty value that was given counts");
    assert_eq!(
        env.plan(&["p", "--input", "A=f"])["command"]["env"]["A"],
        "f",
        "set in the child's environment"
    );
    env.set_var("FROM", "");
    assert_eq!(input(&env.plan(&["p"])), "d default", "an empty variable does not");
    // Looking at it shows the same value that a run would have.
    env.set_var("FROM", "seen");
    env.user_persona(&with(flat("p", "[$B]"), &json!({"inputs": {"B": {"env": "FROM"}}})));
    assert!(
        env.run(["show", "p"]).succeeds().stdout.contains("B = \"seen\" (env:FROM)"),
        "{:#?}",
        env.run(["show", "p"])
    );
}

#[test]
fn all_missing_inputs_are_listed_at_once() {
    let env = TestEnv::new();
    env.user_persona(&with(flat("p", "$A $B $C"), &json!({"inputs": {"A": {"description": "the first"}, "B": {"env": "SOME_B"}, "C": "c", "D": {"optional": true}}})));
    let ran = env.run(["agent", "p", "--dry-run"]);
    ran.fails(2, "needs 2 more input values")
        .fails(2, "`A` has no value: the first")
        .fails(2, "`B` has no value")
        .fails(2, "--input A=...");
    assert!(!ran.stderr.contains("`C`") && !ran.stderr.contains("`D`"), "{ran:#?}");
    env.run(["agent", "p", "--dry-run", "--input", "A=1"]).fails(2, "needs 1 more").fails(2, "SOME_B");
    env.run(["agent", "p", "--dry-run", "--input", "A=1", "--input", "B=2"]).succeeds();
    env.run(["agent", "p", "--dry-run", "--input", "A=1", "--input", "B=2", "--input", "E=3"])
        .fails(2, "`E` is not declared");
    env.run(["agent", "p", "--dry-run", "--input", "A"]).fails(2, "NAME=VALUE");
    // Looking needs no values; the prompt as a harness gets it does.
    env.run(["show", "p"]).succeeds();
    env.run(["show", "p", "--prompt"]).fails(2, "needs 2 more");
}
