//! Which layers there are, and which one counts.

use super::{USER, description, sources};
use crate::support::{TestEnv, flat, with};
use pretty_assertions::assert_eq;
use serde_json::json;

#[test]
fn the_project_beats_configured_directories_beat_the_library() {
    let env = TestEnv::new();
    assert_eq!(env.row("engineer")["source"], "library");
    env.persona("home/.agentworkforce/workforce/two", &json!({"id": "engineer", "description": "two"}));
    env.persona("home/.agentworkforce/workforce/one", &json!({"id": "engineer", "description": "one"}));
    env.user_persona(&json!({"id": "engineer", "description": "user"}));
    assert_eq!(
        (description(&env, "engineer").as_str(), &env.row("engineer")["source"]),
        ("user", &json!("user"))
    );
    env.config(&json!({"personaDirs": ["one", "two", "personas"]}));
    assert_eq!(
        (description(&env, "engineer").as_str(), &env.row("engineer")["source"]),
        ("one", &json!("dir:1"))
    );
    env.config(&json!({"personaDirs": ["personas", "two"]}));
    assert_eq!(
        (description(&env, "engineer").as_str(), &env.row("engineer")["source"]),
        ("user", &json!("user"))
    );
    env.config(&json!({"personaDirs": ["two", "one"]}));
    env.project_persona(&json!({"id": "engineer", "description": "project"}));
    assert_eq!(
        (description(&env, "engineer").as_str(), &env.row("engineer")["source"]),
        ("project", &json!("cwd"))
    );
    assert_eq!(sources(&env), ["cwd", "dir:1", "dir:2", "library"]);
}

#[test]
fn the_project_is_found_from_a_directory_below() {
    let mut env = TestEnv::new();
    env.project_persona(&flat("p", "of the project"));
    std::fs::create_dir_all(env.project().join("a/b/c")).unwrap();
    env.set_cwd("project/a/b/c");
    assert_eq!(env.prompt(&["p"]), "of the project");
    // The nearest one wins.
    env.persona("project/a/.agentworkforce/workforce/personas", &flat("q", "of a"));
    assert_eq!(env.prompt(&["q"]), "of a");
    env.run(["show", "p"]).fails(2, "there is no persona `p`");
}

#[test]
fn nothing_above_the_git_top_level_is_a_project() {
    let mut env = TestEnv::new();
    env.persona(".agentworkforce/workforce/personas", &flat("p", "above"));
    env.run(["show", "p"]).fails(2, "there is no persona `p`");
    std::fs::create_dir_all(env.project().join("a")).unwrap();
    env.set_cwd("project/a");
    env.run(["show", "p"]).fails(2, "there is no persona `p`");
    // A worktree's `.git` is a file.
    std::fs::remove_dir_all(env.project().join(".git")).unwrap();
    assert_eq!(env.prompt(&["p"]), "above", "without a repository the walk goes on");
    env.write("project/.git", "gitdir: elsewhere\n");
    env.run(["show", "p"]).fails(2, "there is no persona `p`");
}

#[test]
fn nothing_above_the_home_directory_is_a_project_and_the_home_itself_is_none() {
    let mut env = TestEnv::new();
    env.persona(".agentworkforce/workforce/personas", &flat("above", "above"));
    env.user_persona(&flat("mine", "mine"));
    std::fs::create_dir_all(env.home().join("code/x")).unwrap();
    for dir in ["home/code/x", "home"] {
        env.set_cwd(dir);
        env.run(["show", "above"]).fails(2, "there is no persona `above`");
        assert_eq!(env.row("mine")["source"], "user", "{dir}");
        assert_eq!(sources(&env), ["user", "library"], "{dir}");
    }
    // A home that is named through a link is the same home.
    std::os::unix::fs::symlink(env.home(), env.root().join("link")).unwrap();
    env.set_var("HOME", env.root().join("link").to_str().unwrap());
    env.set_cwd("home/code/x");
    env.run(["show", "above"]).fails(2, "there is no persona `above`");
    assert_eq!(env.row("mine")["source"], "user");
}

#[test]
fn a_variable_moves_the_workforce_home() {
    let mut env = TestEnv::new();
    env.user_persona(&flat("old", "old"));
    env.persona("elsewhere/personas", &flat("new", "new"));
    env.write("elsewhere/config.json", r#"{"defaultHarness": "codex"}"#);
    env.set_var("AGENT_WORKFORCE_HOME", &format!("  {}  ", env.root().join("elsewhere").display()));
    assert_eq!(env.row("new")["source"], "user");
    env.run(["show", "old"]).fails(2, "there is no persona `old`");
    env.run(["config", "set", "defaultModel", "gpt"]).succeeds();
    assert_eq!(
        env.read("elsewhere/config.json"),
        "{\n  \"defaultHarness\": \"codex\",\n  \"defaultModel\": \"gpt\"\n}\n"
    );
    env.run(["persona", "rename", "ripley", "Newt"]).succeeds();
    assert!(env.root().join("elsewhere/personas/ripley.json").is_file());
    env.set_var("AGENT_WORKFORCE_HOME", "~/tilde");
    env.persona("home/tilde/personas", &flat("t", "t"));
    assert_eq!(env.row("t")["source"], "user");
    env.set_var("AGENT_WORKFORCE_HOME", "   ");
    assert_eq!(env.row("old")["source"], "user");
}

#[test]
fn the_legacy_variable_moves_only_the_users_personas() {
    let mut env = TestEnv::new();
    env.user_persona(&flat("old", "old"));
    env.user_role("crew", &json!({"label": "Crew", "charter": "C\n"}));
    env.persona("elsewhere", &with(flat("new", "new"), &json!({"role": "crew"})));
    env.set_var("AGENT_WORKFORCE_CONFIG_DIR", env.root().join("elsewhere").to_str().unwrap());
    assert_eq!(env.row("new")["source"], "user");
    assert!(env.prompt(&["new"]).contains("## Your Charter\nC\n"));
    env.run(["show", "old"]).fails(2, "there is no persona `old`");
    env.run(["persona", "rename", "ripley", "Newt"]).succeeds();
    assert!(env.root().join("elsewhere/ripley.json").is_file());
}

#[test]
fn configured_directories_may_be_relative_or_start_at_home_and_replace_the_users() {
    let env = TestEnv::new();
    env.user_persona(&flat("mine", "mine"));
    env.persona("home/.agentworkforce/workforce/packs", &flat("relative", "x"));
    env.persona("home/tilde", &flat("tilde", "x"));
    env.persona("absolute", &flat("absolute", "x"));
    env.config(&json!({"personaDirs": ["./packs/../packs", "~/tilde", env.root().join("absolute")]}));
    assert_eq!(
        ["relative", "tilde", "absolute"].map(|id| env.row(id)["source"].clone()),
        ["dir:1", "dir:2", "dir:3"]
    );
    env.run(["show", "mine"]).fails(2, "there is no persona `mine`");
    env.config(&json!({"personaDirs": []}));
    env.run(["show", "mine"]).fails(2, "there is no persona `mine`");
    assert_eq!(sources(&env), ["library"]);
}

#[test]
fn a_directory_that_is_configured_twice_counts_once_with_a_warning() {
    let env = TestEnv::new();
    env.persona("home/tilde", &flat("p", "x"));
    env.config(&json!({"personaDirs": ["~/tilde", env.home().join("tilde/"), "personas"]}));
    let ran = env.run(["list", "--json"]);
    assert_eq!(ran.stderr.matches("duplicate persona source directory").count(), 1, "{ran:#?}");
    assert_eq!(env.row("p")["source"], "dir:1");
    assert_eq!(sources(&env), ["dir:1", "user", "library"]);
}

#[test]
fn a_configured_directory_is_plain_or_holds_personas_and_roles() {
    let env = TestEnv::new();
    env.persona("plain", &flat("plain", "x"));
    env.persona("pack/personas", &json!({"id": "packed", "role": "packed-role"}));
    env.persona("pack", &flat("outside", "not a persona of the pack"));
    env.write("pack/roles/packed-role.json", r#"{"label": "Packed", "charter": "From the pack.\n"}"#);
    env.write("plain/roles/plain-role.json", r#"{"label": "Plain", "charter": "From plain.\n"}"#);
    env.config(&json!({"personaDirs": [env.root().join("plain"), env.root().join("pack")]}));
    assert_eq!(
        (&env.row("plain")["source"], &env.row("packed")["source"]),
        (&json!("dir:1"), &json!("dir:2"))
    );
    assert!(env.prompt(&["packed"]).ends_with("## Your Charter\nFrom the pack.\n"));
    env.run(["show", "outside"]).fails(2, "there is no persona");
    let roles = env.run(["role", "list", "--json"]).json()["roles"].clone();
    assert_eq!(
        (&roles["packed-role"]["origin"], &roles["plain-role"]["origin"]),
        (&json!("dir:2"), &json!("dir:1"))
    );
}

#[test]
fn only_json_files_directly_in_the_directory_are_personas() {
    let env = TestEnv::new();
    env.user_persona(&flat("real", "x"));
    env.persona(&format!("{USER}/real__assets"), &flat("asset", "x"));
    env.persona(&format!("{USER}/deeper"), &flat("deeper", "x"));
    env.write(format!("{USER}/notes.txt"), "{");
    env.write(format!("{USER}/.hidden.json"), "{");
    std::fs::create_dir(env.root().join(USER).join("dir.json")).unwrap();
    let list = env.run(["list", "--json"]);
    assert_eq!(list.json()["warnings"], json!([]));
    assert_eq!(list.stderr, "");
    for id in ["asset", "deeper"] {
        env.run(["show", id]).fails(2, "there is no persona");
    }
}

#[test]
fn the_id_counts_and_not_the_file_name_and_the_first_of_two_wins() {
    let env = TestEnv::new();
    env.write(format!("{USER}/a-file.json"), flat("real-id", "first").to_string());
    env.write(format!("{USER}/b-file.json"), flat("real-id", "second").to_string());
    assert_eq!(env.prompt(&["real-id"]), "first");
    let ran = env.run(["list"]);
    assert!(
        ran.stderr.contains("b-file.json: duplicate id `real-id`")
            && ran.stderr.contains("a-file.json comes first"),
        "{ran:#?}"
    );
    env.run(["show", "a-file"]).fails(2, "there is no persona");
    // lint finds it by its id, too.
    env.write(format!("{USER}/a-file.json"), with(flat("real-id", "first"), &json!({"tpyo": 1})).to_string());
    let lint = env.run(["lint", "real-id"]);
    assert!(
        lint.stdout.contains("a-file.json:1:") && lint.stdout.contains("tpyo: unknown field"),
        "{lint:#?}"
    );
}
