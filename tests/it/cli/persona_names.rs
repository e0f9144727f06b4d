//! How a persona is called on the command line: by id, by intent, by a name that only one has; and what a wrong one is told.

use crate::support::{TestEnv, flat, with};
use pretty_assertions::assert_eq;
use serde_json::json;

fn named(id: &str, name: &str) -> serde_json::Value {
    with(flat(id, "x"), &json!({"name": name}))
}

#[test]
fn a_persona_can_be_called_by_a_name_that_only_one_has() {
    let env = TestEnv::new();
    env.user_persona(&named("api-guard", "Ångström Guard"));
    for name in ["Ångström Guard", "ångström guard", " ÅNGSTRÖM GUARD "] {
        assert_eq!(env.plan(&[name])["persona"]["id"], "api-guard", "{name}");
    }
    assert_eq!(env.plan(&["Ångström Guard@minimum"])["persona"]["tier"], "minimum");
    env.run(["show", "Ångström Guard"]).succeeds();
    env.run(["mount", "--persona", "Ångström Guard", "--", "true"]).succeeds();
    env.run(["export", "Ångström Guard", "--to", "claude"]).succeeds();
    env.run(["lint", "Ångström Guard"]).succeeds();
    env.run(["persona", "set", "Ångström Guard", "--description", "guards"]).succeeds();
    assert_eq!(env.row("api-guard")["description"], "guards");
    // What it is named now counts, not what it was.
    env.run(["persona", "rename", "Dallas", "Dana"]).succeeds();
    assert_eq!(env.plan(&["dana"])["persona"]["id"], "dallas");
    env.run(["persona", "delete", "Dana"]).fails(2, "the built-in persona `dallas`");
    env.run(["persona", "reset", "Dana"]).succeeds();
    assert_eq!(env.row("dallas")["name"], "Dallas");
    env.run(["persona", "delete", "Ångström Guard"]).succeeds();
    env.run(["show", "api-guard"]).fails(2, "there is no persona");
}

#[test]
fn an_id_comes_before_a_name_and_a_shared_name_is_not_guessed() {
    let env = TestEnv::new();
    env.user_persona(&named("one", "two"));
    env.user_persona(&named("two", "Twin"));
    env.user_persona(&named("three", "twin"));
    assert_eq!(env.plan(&["two"])["persona"]["id"], "two");
    env.run(["agent", "Twin", "-p", "x"])
        .fails(2, "2 personas are named `Twin`")
        .fails(2, "use the id of the one you mean: `three`, `two`");
    // A name that is nearly one leads to the id.
    env.user_persona(&named("x9", "Harbormaster"));
    env.run(["show", "harbourmaster"]).fails(2, "did you mean `x9`?");
}

#[test]
fn a_broken_file_of_a_named_persona_still_refuses_the_run() {
    let env = TestEnv::new();
    env.user_persona(&named("guard", "The Guard"));
    env.project_persona(&json!({"id": "guard", "permissions": {"deny": "Bash"}}));
    let by_id = env.run(["agent", "guard", "-p", "x"]);
    let by_name = env.run(["agent", "the guard", "-p", "x"]);
    assert_eq!((by_name.code, &by_name.stderr), (by_id.code, &by_id.stderr));
    assert_eq!(by_id.code, 2, "{by_id:#?}");
}

#[test]
fn a_mistyped_persona_is_named_first_whatever_else_is_missing() {
    let env = TestEnv::new();
    let missing: [&[&str]; 8] = [
        &[],
        &["--json"],
        &["--stream-json"],
        &["-p", " "],
        &["--prompt-file", "/nonexistent"],
        &["--root", "/nonexistent"],
        &["--harness", "nope"],
        &["--resume", "nope", "-p", "x"],
    ];
    for flags in missing {
        let ran = env.run(["agent", "enginer"].iter().chain(flags));
        ran.fails(2, "error: there is no persona `enginer`\n").fails(2, "did you mean `engineer`?");
        let others = env.run(["agent", "engineer"].iter().chain(flags));
        assert!(others.code != 0 && !others.stderr.contains("persona `eng"), "{flags:?}: {others:#?}");
    }
}
