//! `persona ...`: what it writes, where, and what it never touches.

use super::{USER_PERSONAS, crew, json_of};
use crate::support::{TestEnv, flat, runtime, with};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

#[test]
fn a_rename_goes_to_the_highest_file_that_has_the_id_else_to_a_user_overlay() {
    let env = crew();
    env.run(["persona", "rename", "engineer", "Newt"]).succeeds();
    assert_eq!(
        env.read(format!("{USER_PERSONAS}/engineer.json")),
        "{\n  \"id\": \"engineer\",\n  \"name\": \"Newt\"\n}\n"
    );
    let user = env.read(format!("{USER_PERSONAS}/kane.json"));
    let project = env.project_persona(&json!({"id": "kane", "description": "here"}));
    env.run(["persona", "rename", "kane", "Brett", "--emoji", "🔩"]).succeeds();
    assert_eq!(
        json_of(&env, project.to_str().unwrap()),
        json!({"id": "kane", "description": "here", "name": "Brett", "emoji": "🔩"})
    );
    assert_eq!(env.read(format!("{USER_PERSONAS}/kane.json")), user);
    env.run(["persona", "rename", "kane", "Brett", "--emoji", ""]).succeeds();
    assert_eq!(json_of(&env, project.to_str().unwrap())["emoji"], "");
    assert_eq!(env.row("kane")["emoji"], json!(null));
}

#[test]
fn a_rename_to_the_same_name_and_emoji_changes_nothing_at_all() {
    let env = crew();
    env.run(["persona", "rename", "kane", "Brett", "--emoji", "🔩"]).succeeds();
    let before = env.everything();
    for command in [
        vec!["persona", "rename", "kane", "Brett"],
        vec!["persona", "rename", "kane", "  Brett  "],
        vec!["persona", "rename", "kane", "Brett", "--emoji", "🔩"],
        vec!["persona", "rename", "ripley", "Ripley"],
    ] {
        let mut json = command.clone();
        json.push("--json");
        assert_eq!(env.run(&json).json()["changed"], false, "{command:?}");
    }
    assert_eq!(env.everything(), before);
    assert_eq!(
        env.run(["persona", "rename", "kane", "Brett", "--emoji", "🔧", "--json"]).json()["changed"],
        true
    );
}

#[test]
fn a_name_that_another_persona_has_is_a_warning_and_not_a_block() {
    let env = crew();
    let ran = env.run(["persona", "rename", "kane", "pArKeR"]);
    ran.fails(0, "warning: persona `parker` has that name too");
    assert_eq!(env.row("kane")["name"], "pArKeR");
    // Also a built-in's name, and an id that serves as a name.
    env.run(["persona", "rename", "kane", "ripley"]).fails(0, "persona `ripley` has that name too");
    env.run(["persona", "rename", "kane", "Debugger"]).fails(0, "persona `debugger` has that name too");
    let own = env.run(["persona", "rename", "kane", "KANE"]);
    assert_eq!((own.code, own.stderr.as_str()), (0, ""));
}

#[test]
fn an_emoji_alone_can_be_changed_and_the_layer_chosen() {
    let env = crew();
    let ran = env.run(["persona", "rename", "dallas", "--emoji", "🛠"]);
    assert!(ran.succeeds().stdout.starts_with("dallas: Dallas 🔧 -> Dallas 🛠 ("), "{ran:#?}");
    assert_eq!(json_of(&env, &format!("{USER_PERSONAS}/dallas.json")), json!({"id": "dallas", "emoji": "🛠"}));
    env.run(["persona", "rename", "dallas"]).fails(2, "required");
    env.run(["persona", "rename", "dallas", "Newt", "--in", "project"]).succeeds();
    assert_eq!(
        json_of(&env, "project/.agentworkforce/workforce/personas/dallas.json"),
        json!({"id": "dallas", "name": "Newt"})
    );
    let log = env.read("home/.agentworkforce/workforce/logs/audit.log");
    assert!(log.contains("rename dallas: Dallas 🔧 -> Dallas 🛠\n"), "{log}");
}

#[test]
fn the_audit_has_the_name_as_it_was_when_the_lock_was_taken() {
    let env = crew();
    let dir = env.root().join(USER_PERSONAS);
    let held = std::fs::File::open(&dir).unwrap();
    held.lock().unwrap();
    let mut child = env.command(["persona", "rename", "kane", "Last"]).spawn().unwrap();
    // It has read the old name, and waits.
    let waits = |line: &str| {
        line.contains("->") && line.split_whitespace().any(|word| word == child.id().to_string())
    };
    let locks = || std::fs::read_to_string("/proc/locks").unwrap();
    assert!(crate::support::mount::soon(|| locks().lines().any(waits)), "{}", locks());
    let mut kane = json_of(&env, &format!("{USER_PERSONAS}/kane.json"));
    kane["name"] = json!("Between");
    env.user_persona(&kane);
    held.unlock().unwrap();
    assert!(child.wait().unwrap().success());
    let log = env.read("home/.agentworkforce/workforce/logs/audit.log");
    assert!(log.ends_with("rename kane: Between -> Last\n"), "{log}");
}

#[test]
fn a_rename_leaves_an_audit_line() {
    let env = crew();
    env.run(["persona", "rename", "kane", "Brett"]).succeeds();
    env.run(["persona", "rename", "engineer", "Newt"]).succeeds();
    let log = env.read("home/.agentworkforce/workforce/logs/audit.log");
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines.len(), 2, "{log}");
    assert!(lines[0].ends_with("rename kane: Kane -> Brett"), "{log}");
    assert!(lines[1].ends_with("rename engineer: engineer -> Newt"), "{log}");
    assert!(lines[0].starts_with("20") && lines[0].split(' ').next().unwrap().ends_with('Z'), "{log}");
}

#[test]
fn names_and_emoji_obey_their_laws() {
    let env = crew();
    let before = env.everything();
    let long = "x".repeat(65);
    for name in [
        "",
        "   ",
        long.as_str(),
        "a\nb",
        "a\u{1b}[31m",
        "a\u{2028}b",
        "a\u{2029}b",
        "a\u{202e}b",
        "a\u{2066}b",
        "a\0b".trim_end_matches("\0b"),
    ] {
        if name == "a" {
            continue;
        }
        env.run(["persona", "rename", "kane", "--", name]).fails(2, "the name must");
    }
    let long = "🐈".repeat(17);
    for emoji in [long.as_str(), "a\tb", "\u{202e}"] {
        env.run(["persona", "rename", "kane", "X", "--emoji", emoji]).fails(2, "the emoji must");
    }
    assert_eq!(env.everything(), before);
    // The limits count scalars, after trimming.
    let most = format!("  {}  ", "é".repeat(64));
    env.run(["persona", "rename", "kane", &most, "--emoji", &"🐈".repeat(16)]).succeeds();
    assert_eq!(env.row("kane")["name"], most.trim());
    // The same laws hold in files.
    for (key, value) in [
        ("name", json!("a\u{202e}b")),
        ("name", json!("x".repeat(65))),
        ("emoji", json!("x".repeat(17))),
        ("name", json!(7)),
    ] {
        env.user_persona(&with(flat("p", "Job"), &json!({key: value})));
        env.run(["agent", "p", "--dry-run"])
            .fails(2, &format!("p.json:7:3: {key}: must"))
            .fails(2, "persona `p` is not valid");
    }
}

#[test]
fn rename_is_the_only_writer_of_names() {
    let env = crew();
    env.run(["persona", "set", "kane", "--name", "X"]).fails(2, "unexpected argument '--name'");
    let help = env.run(["persona", "set", "--help"]).stdout;
    assert!(!help.contains("--name") && !help.contains("--id"), "{help}");
    assert_eq!(env.row("kane")["name"], "Kane");
}

#[test]
fn persona_set_edits_the_overlay_and_nothing_else() {
    let env = TestEnv::new();
    env.run([
        "persona",
        "set",
        "debugger",
        "--role",
        "engineer",
        "--expertise",
        "rust, gdb",
        "--description",
        "D",
        "--tags",
        "a,b",
        "--default-tier",
        "best",
    ])
    .succeeds();
    assert_eq!(
        json_of(&env, &format!("{USER_PERSONAS}/debugger.json")),
        json!({"id": "debugger", "role": "engineer", "expertise": ["rust", "gdb"], "tags": ["a", "b"], "description": "D", "defaultTier": "best"})
    );
    env.run(["persona", "set", "debugger", "--tier", "best", "--harness", "codex", "--model", "gpt"])
        .succeeds();
    assert_eq!(runtime(&env.plan(&["debugger"])), "codex/gpt");
    assert_eq!(
        runtime(&env.plan(&["debugger@minimum"])),
        runtime(&TestEnv::new().plan(&["debugger@minimum"]))
    );
    env.run(["persona", "set", "debugger", "--model", ""]).succeeds();
    env.run(["persona", "set", "debugger", "--role", ""]).succeeds();
    assert_eq!(env.plan(&["debugger"])["persona"].get("role"), None);
    let before = env.everything();
    env.run(["persona", "set", "debugger", "--role", "enginer"]).fails(2, "did you mean `engineer`?");
    env.run(["persona", "set", "debugger", "--harness", "cluade"]).fails(2, "did you mean `claude`?");
    env.run(["persona", "set", "debugger", "--default-tier", "bst"]).fails(2, "did you mean `best`?");
    env.run(["persona", "set", "debugger", "--tier", "best"]).fails(2, "requires `--harness` or `--model`");
    env.run(["persona", "set", "debugger"]).fails(2, "nothing to set");
    env.run(["persona", "set", "debuger", "--tags", "x"]).fails(2, "did you mean `debugger`?");
    assert_eq!(env.everything(), before);
}

#[test]
fn a_file_that_belongs_to_another_persona_is_not_edited() {
    let env = crew();
    for dir in [USER_PERSONAS, "project/.agentworkforce/workforce/personas"] {
        let file =
            env.write(format!("{dir}/engineer.json"), flat(&format!("other-{}", dir.len()), "x").to_string());
        let layer = if dir == USER_PERSONAS { "user" } else { "project" };
        let before = env.everything();
        for command in [["set", "engineer", "--model", "sonnet"], ["rename", "engineer", "--name", "Bob"]] {
            let command =
                if command[0] == "rename" { vec!["rename", "engineer", "Bob"] } else { command.to_vec() };
            let all = [vec!["persona"], command, vec!["--in", layer]].concat();
            env.run(&all)
                .fails(2, &format!("{} belongs to persona `other-", file.display()))
                .fails(2, "hint: rename");
        }
        let without_locks = |files: std::collections::BTreeMap<String, String>| -> Vec<(String, String)> {
            files.into_iter().filter(|(name, _)| !name.contains("lock")).collect()
        };
        assert_eq!(without_locks(env.everything()), without_locks(before));
    }
    env.run(["persona", "set", "engineer", "--model", "sonnet"]).fails(2, "belongs to persona `other-");
}

#[test]
fn persona_delete_moves_the_file_and_its_assets_aside() {
    let env = crew();
    env.write(format!("{USER_PERSONAS}/kane__assets/notes.md"), "notes");
    let done = env.run(["persona", "delete", "KANE", "--json"]).json();
    let kept = std::path::PathBuf::from(done["backup"].as_str().unwrap());
    assert!(kept.starts_with(env.workforce().join("backups")), "{kept:?}");
    assert_eq!(
        serde_json::from_slice::<Value>(&std::fs::read(kept.join("kane.json")).unwrap()).unwrap()["name"],
        "Kane"
    );
    assert_eq!(std::fs::read_to_string(kept.join("kane__assets/notes.md")).unwrap(), "notes");
    env.run(["show", "kane"]).fails(2, "there is no persona `kane`");
    env.run(["persona", "delete", "kane"]).fails(2, "there is no persona `kane`");
    assert_eq!(env.row("parker")["name"], "Parker");
}

#[test]
fn persona_delete_in_the_project_brings_the_lower_one_back() {
    let env = crew();
    env.project_persona(&json!({"id": "kane", "name": "Project Kane"}));
    env.run(["persona", "delete", "kane"]).succeeds();
    assert_eq!((&env.row("kane")["name"], &env.row("kane")["source"]), (&json!("Kane"), &json!("user")));
}

#[test]
fn persona_reset_of_one_takes_its_overlay_away_and_keeps_a_copy() {
    let env = crew();
    env.run(["persona", "rename", "ripley", "Newt"]).succeeds();
    let done = env.run(["persona", "reset", "ripley", "--json"]).json();
    assert_eq!(env.row("ripley")["name"], "Ripley");
    assert_eq!(done["removed"], json!([env.root().join(USER_PERSONAS).join("ripley.json")]));
    assert!(std::path::Path::new(done["backup"].as_str().unwrap()).join("ripley.json").is_file());
    env.run(["persona", "reset", "kane"]).fails(2, "is not built in").fails(2, "persona delete kane");
    assert_eq!(env.row("kane")["name"], "Kane");
}

#[test]
fn persona_reset_of_all_asks_first_and_touches_one_layer_only() {
    let env = crew();
    env.project_persona(&json!({"id": "kane", "name": "Project Kane"}));
    env.run(["persona", "rename", "ripley", "Newt"]).succeeds();
    env.run(["persona", "reset"]).fails(2, "--yes");
    assert_eq!(env.row("ripley")["name"], "Newt");
    let done = env.run(["persona", "reset", "--yes", "--json"]).json();
    let mut kept: Vec<String> = std::fs::read_dir(done["backup"].as_str().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    kept.sort();
    assert_eq!(kept, ["ash.json", "kane.json", "parker.json", "ripley.json"]);
    assert_eq!(env.row("ripley")["name"], "Ripley");
    assert_eq!(env.row("kane")["source"], "cwd");
    env.run(["persona", "reset", "--yes", "--in", "project"]).succeeds();
    env.run(["show", "kane"]).fails(2, "there is no persona");
    assert_eq!(env.run(["persona", "reset", "--yes", "--json"]).json()["removed"], json!([]));
}

#[test]
fn no_command_changes_an_id() {
    let env = crew();
    let help = env.run(["persona", "--help"]).stdout;
    assert_eq!(["rename", "set", "delete", "reset"].map(|word| help.contains(word)), [true; 4]);
    env.run(["persona", "rename", "kane", "Brett"]).succeeds();
    env.run(["persona", "set", "kane", "--tags", "x"]).succeeds();
    assert_eq!(json_of(&env, &format!("{USER_PERSONAS}/kane.json"))["id"], "kane");
    assert_eq!(env.plan(&["kane"])["persona"]["id"], "kane");
}

#[test]
fn lint_warns_of_a_charter_that_embeds_a_name_between_word_boundaries() {
    let env = crew();
    env.user_role(
        "other",
        &json!({"label": "Other", "charter": "Ask Kane. Not Kanesville, not KANE, not kane.\n"}),
    );
    let lint = env.run(["lint", "--json"]).json();
    let found: Vec<&str> = lint["problems"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|p| p["message"].as_str())
        .filter(|text| text.contains("the charter names"))
        .collect();
    assert_eq!(found, ["the charter names `Kane`, which a rename would make stale"]);
    assert_eq!(env.run(["lint", "--strict"]).code, 1);
    env.user_role("other", &json!({"label": "Other", "charter": "Ask Kanesville or KANE.\n"}));
    assert!(!env.run(["lint", "--json"]).stdout.contains("the charter names"));
    // The user's text is never rewritten.
    assert_eq!(env.run(["role", "show", "other", "--json"]).json()["charter"], "Ask Kanesville or KANE.\n");
}
