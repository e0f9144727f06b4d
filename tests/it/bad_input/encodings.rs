//! Files and names that are no text, or text in an odd dress.

use super::{CONFIG, USER, good_one_does_not_run, good_one_still_works, world};
use crate::support::{flat, warnings, with};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

#[test]
fn bytes_that_are_no_text_are_named_with_their_place() {
    let env = world();
    env.write(format!("{USER}/bad.json"), b"{\n  \"id\": \"bad\",\n  \"name\": \"\xff\xfe\"\n}");
    env.run(["agent", "bad", "--dry-run"]).fails(2, "bad.json:3:12: is not UTF-8 text from here on");
    good_one_still_works(&env, "bad.json:3:12");
    // UTF-16, as some editors save it.
    let wide: Vec<u8> = "{\"id\": \"bad\"}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    env.write(format!("{USER}/bad.json"), [b"\xff\xfe".as_slice(), &wide].concat());
    env.run(["agent", "bad", "--dry-run"]).fails(2, "bad.json:1:1: is not UTF-8 text");
    std::fs::remove_file(env.root().join(USER).join("bad.json")).unwrap();
    // Without its sidecar or its charter a persona would be somebody else.
    env.user_persona(&with(flat("p", "x"), &json!({"claudeMd": "p.md", "role": "crew"})));
    env.write(format!("{USER}/p.md"), b"\xff");
    env.user_role("crew", &json!({"label": "Crew", "charterFile": "crew.md"}));
    env.write("home/.agentworkforce/workforce/roles/crew.md", b"a\xff");
    let plan = env.refused_plan(2, &["p"]);
    let said = plan["refusals"][0]["causes"].to_string();
    assert!(said.contains("p.md") && said.contains("crew.md:1:2"), "{said}");
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_are_fine() {
    let env = world();
    env.write(format!("{USER}/bom.json"), "\u{feff}{\r\n  \"id\": \"bom\",\r\n  \"harness\": \"claude\",\r\n  \"systemPrompt\": \"a\\r\\nb\",\r\n  \"tgas\": []\r\n}\r\n");
    assert_eq!(env.prompt(&["bom"]), "a\r\nb");
    assert!(
        warnings(&env.plan(&["bom"])).iter().any(|text| text.contains("bom.json:5:3: tgas")),
        "places are right: {:?}",
        warnings(&env.plan(&["bom"]))
    );
    env.run(["persona", "rename", "bom", "Bom"]).succeeds();
    assert_eq!(env.row("bom")["name"], "Bom");
    env.write(CONFIG, "\u{feff}{\r\n\"defaultHarness\": \"codex\"\r\n}");
    assert_eq!(env.run(["config", "get", "defaultHarness"]).stdout, "codex\n");
}

fn odd(dir: &Path) -> PathBuf {
    dir.join(OsStr::from_bytes(b"b\xffd"))
}

#[test]
fn a_file_name_that_is_no_text_is_no_trouble() {
    let env = world();
    let file = odd(&env.root().join(USER)).with_extension("json");
    std::fs::write(&file, flat("odd", "odd prompt").to_string()).unwrap();
    assert_eq!(env.prompt(&["odd"]), "odd prompt");
    env.run(["list"]).succeeds();
    assert!(env.row("odd")["file"].as_str().unwrap().ends_with("b\u{fffd}d.json"));
    for command in [
        vec!["show", "odd"],
        vec!["show", "odd", "--json"],
        vec!["show", "odd", "--origins"],
        vec!["show", "odd", "--origins", "--json"],
        vec!["lint"],
        vec!["lint", "--json"],
    ] {
        env.run(&command).succeeds();
    }
    env.run(["persona", "rename", "odd", "Odd", "--json"]).succeeds();
    assert_eq!(serde_json::from_slice::<Value>(&std::fs::read(&file).unwrap()).unwrap()["name"], "Odd");
    env.run(["persona", "set", "odd", "--tags", "x", "--json"]).succeeds();
    std::fs::write(&file, "{").unwrap();
    good_one_does_not_run(&env, "b\u{fffd}d.json:1:1");
    std::fs::write(&file, flat("odd", "odd prompt").to_string()).unwrap();
    env.run(["persona", "delete", "odd", "--json"]).succeeds();
    assert!(!file.exists());
}

#[test]
fn a_role_file_whose_name_is_no_key_is_named() {
    let env = world();
    env.user_role("Upper", &json!({"label": "Upper"}));
    let file = odd(&env.workforce().join("roles")).with_extension("json");
    std::fs::write(&file, r#"{"label": "Odd"}"#).unwrap();
    let ran = env.run(["role", "list"]);
    assert!(ran.code == 0 && ran.stderr.contains("Upper.json: is not named after a role key"), "{ran:#?}");
    assert!(ran.stderr.contains("b\u{fffd}d.json: is not named after a role key"), "{ran:#?}");
    env.run(["role", "list", "--json"]).succeeds();
    assert_eq!(env.run(["lint", "--json"]).code, 1);
}

#[test]
fn a_project_and_a_home_whose_names_are_no_text_work_or_say_why() {
    let mut env = world();
    let project = odd(&env.root());
    std::fs::create_dir_all(project.join(".git")).unwrap();
    std::fs::create_dir_all(project.join(".agentworkforce/workforce/personas")).unwrap();
    std::fs::write(
        project.join(".agentworkforce/workforce/personas/here.json"),
        flat("here", "here").to_string(),
    )
    .unwrap();
    env.set_cwd(&project);
    for command in [
        vec!["list"],
        vec!["list", "--json"],
        vec!["show", "here"],
        vec!["show", "here", "--json"],
        vec!["show", "here", "--files", "--json"],
        vec!["agent", "here", "--dry-run"],
        vec!["agent", "here", "--dry-run", "--json"],
        vec!["sources", "list", "--json"],
        vec!["lint", "--json"],
        vec!["persona", "rename", "here", "Here", "--json"],
    ] {
        env.run(&command).succeeds();
    }
    let home = odd(&env.home());
    for command in [
        vec!["list"],
        vec!["config", "list", "--json"],
        vec!["sources", "list", "--json"],
        vec!["agent", "engineer", "--dry-run", "--json"],
        vec!["persona", "rename", "ripley", "Newt", "--json"],
    ] {
        let ran = env.run_changed(&command, |command| {
            command.env("HOME", &home);
        });
        ran.fails(2, "HOME");
    }
}

#[test]
fn arguments_that_are_no_text_are_refused() {
    let env = world();
    let ran = env.run([OsStr::new("show"), OsStr::from_bytes(b"\xff")]);
    assert_eq!(ran.code, 2, "{ran:#?}");
    let ran = env.run_changed(["agent", "good", "--dry-run", "--json"], |command| {
        command.env("ODD", OsStr::from_bytes(b"\xff"));
    });
    assert_eq!(ran.code, 0, "{ran:#?}");
}
