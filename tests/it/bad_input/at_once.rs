//! Many writers at once: all succeed, and nothing is lost.

use super::{CONFIG, USER, world};
use crate::support::{TestEnv, flat};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::path::Path;

/// Each of the edits sets a field of its own, so that an edit which another one wrote over is missed afterwards.
#[test]
fn two_hundred_renames_and_edits_at_once_all_succeed_and_lose_nothing() {
    let env = TestEnv::new();
    let ids = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
    for id in ids {
        let file =
            json!({"before": {"x": [1, 2]}, "id": id, "after": "kept", "tiers": {"best": {"future": 1}}});
        env.write(format!("{USER}/{id}.json"), file.to_string());
    }
    env.write(CONFIG, r#"{"unknown": [1], "mount": {"other": 1}}"#);
    let on = |tier: &'static str, flag: &'static str, value: &'static str| {
        vec!["set", "--tier", tier, flag, value]
    };
    let edits: Vec<(&str, Vec<&str>, Value)> = vec![
        ("/name", vec!["rename"], json!("A New Name")),
        ("/tags", vec!["set", "--tags", "x,y"], json!(["x", "y"])),
        ("/expertise", vec!["set", "--expertise", "p"], json!(["p"])),
        ("/description", vec!["set", "--description", "d"], json!("d")),
        ("/role", vec!["set", "--role", "engineer"], json!("engineer")),
        ("/defaultTier", vec!["set", "--default-tier", "minimum"], json!("minimum")),
        ("/harness", vec!["set", "--harness", "codex"], json!("codex")),
        ("/model", vec!["set", "--model", "m"], json!("m")),
        ("/tiers/best/model", on("best", "--model", "b"), json!("b")),
        ("/tiers/best/harness", on("best", "--harness", "claude"), json!("claude")),
        ("/tiers/best-value/model", on("best-value", "--model", "v"), json!("v")),
        ("/tiers/best-value/harness", on("best-value", "--harness", "codex"), json!("codex")),
        ("/tiers/minimum/model", on("minimum", "--model", "m"), json!("m")),
        ("/tiers/minimum/harness", on("minimum", "--harness", "opencode"), json!("opencode")),
    ];
    // A built-in, too, whose overlay does not exist yet, and the config.
    let everyone: Vec<&str> = ids.into_iter().chain(["ripley"]).collect();
    let settings = [
        ("/defaultModel", "defaultModel", "m", json!("m")),
        ("/defaultHarness", "defaultHarness", "codex", json!("codex")),
        ("/limits/turns", "limits.turns", "7", json!(7)),
        ("/limits/usd", "limits.usd", "2", json!(2)),
        ("/limits/idleSeconds", "limits.idleSeconds", "3", json!(3)),
        ("/mount/backend", "mount.backend", "copy", json!("copy")),
        ("/mount/sandbox", "mount.sandbox", "strict", json!("strict")),
        ("/sidecar/codex", "sidecar.codex", "skip", json!("skip")),
        ("/bareMode", "bareMode", "true", json!(true)),
        ("/hermetic", "hermetic", "true", json!(true)),
        ("/features/agent-rename", "features.agent-rename", "true", json!(true)),
        ("/features/agent-library", "features.agent-library", "true", json!(true)),
        ("/defaultCreateTarget", "defaultCreateTarget", "user", json!("user")),
        ("/mount/ignoredPatterns", "mount.ignoredPatterns", "x", json!(["x"])),
        ("/mount/readonlyPatterns", "mount.readonlyPatterns", "x", json!(["x"])),
        ("/mount/revealPatterns", "mount.revealPatterns", "x", json!(["x"])),
        ("/limits/wallSeconds", "limits.wallSeconds", "9", json!(9)),
        ("/personaDirs", "personaDirs", "personas", json!(["personas"])),
    ];
    let mut commands: Vec<Vec<&str>> = Vec::new();
    for id in &everyone {
        for (_, words, _) in &edits {
            let mut command = vec!["persona", words[0], id];
            command.extend(if words[0] == "rename" { &["A New Name"][..] } else { &words[1..] });
            commands.push(command);
        }
    }
    // The settings stand between the others, so that they meet each other as well.
    for (index, (_, key, value, _)) in settings.iter().enumerate() {
        commands.insert(index * 2, vec!["config", "set", key, value]);
    }
    assert_eq!(commands.len(), 200);
    let next = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                while let Some(command) =
                    commands.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
                {
                    let ran = env.run(command);
                    assert_eq!(ran.code, 0, "{command:?}: {ran:#?}");
                    assert!(
                        !ran.stderr.contains("not valid"),
                        "no reader sees half a file: {command:?}: {ran:#?}"
                    );
                }
            });
        }
    });
    for id in &everyone {
        let file: Value = serde_json::from_str(&env.read(format!("{USER}/{id}.json"))).unwrap();
        for (pointer, words, value) in &edits {
            assert_eq!(file.pointer(pointer), Some(value), "{id}: {words:?} was lost: {file:#}");
        }
        if *id != "ripley" {
            let keys: Vec<&str> = file.as_object().unwrap().keys().map(String::as_str).collect();
            assert_eq!(keys[..4], ["before", "id", "after", "tiers"]);
            assert_eq!(
                (&file["before"], &file["tiers"]["best"]["future"]),
                (&json!({"x": [1, 2]}), &json!(1))
            );
        }
    }
    let config: Value = serde_json::from_str(&env.read(CONFIG)).unwrap();
    for (pointer, key, _, value) in &settings {
        assert_eq!(config.pointer(pointer), Some(value), "{key} was lost: {config:#}");
    }
    assert_eq!((&config["unknown"], &config["mount"]["other"]), (&json!([1]), &json!(1)));
    let log = env.read("home/.agentworkforce/workforce/logs/audit.log");
    assert_eq!(log.lines().count(), 182, "one whole line for every change of a persona");
    assert!(log.lines().all(|line| line.contains("Z rename ") || line.contains("Z set ")), "{log}");
    let left: Vec<_> =
        std::fs::read_dir(env.root().join(USER)).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 13, "no temporary file is left: {left:?}");
}

/// All at one persona, where nearly every edit meets another one.
#[test]
fn two_hundred_renames_of_one_persona_all_succeed_and_the_last_one_stands() {
    let env = world();
    let names: Vec<String> = (0..200).map(|n| format!("Name {n}")).collect();
    let next = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                while let Some(name) = names.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    env.run(["persona", "rename", "good", name]).succeeds();
                }
            });
        }
    });
    let name = env.row("good")["name"].as_str().unwrap().to_owned();
    assert!(names.contains(&name), "{name}");
    assert_eq!(env.plan(&["good"])["persona"]["name"], name);
    let log = env.read("home/.agentworkforce/workforce/logs/audit.log");
    assert_eq!(log.lines().filter(|line| line.contains("rename good: ")).count(), 200);
}

#[test]
fn concurrent_creations_of_one_role_let_exactly_one_win() {
    let env = TestEnv::new();
    let mut outcomes: Vec<i32> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..8)
            .map(|n| {
                let env = &env;
                scope.spawn(move || {
                    env.run_with_input(["role", "create", "crew", "--label", "Crew"], &format!("charter {n}"))
                        .code
                })
            })
            .collect();
        handles.into_iter().map(|handle| handle.join().unwrap()).collect()
    });
    outcomes.sort_unstable();
    assert_eq!(outcomes, [0, 2, 2, 2, 2, 2, 2, 2]);
}

#[test]
fn a_linked_file_stays_linked_and_keeps_its_mode() {
    use std::os::unix::fs::PermissionsExt;
    let env = world();
    let real = env.write("dotfiles/p.json", flat("p", "x").to_string());
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o600)).unwrap();
    let link = env.root().join(USER).join("p.json");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    env.run(["persona", "rename", "p", "P"]).succeeds();
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert!(std::fs::read_to_string(&real).unwrap().contains("\"name\": \"P\""));
    assert_eq!(Path::new(&real).metadata().unwrap().permissions().mode() & 0o777, 0o600);
}
