//! `config` and `sources`: every setting can be set, read and taken out, and does what it says.

use super::{CONFIG, config, is_valid, validator};
use crate::support::TestEnv;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

#[test]
fn sources_are_added_and_removed_by_number_or_path() {
    let mut env = TestEnv::new();
    env.config(&json!({"unknown": {"k": 1}, "defaultHarness": "codex"}));
    for name in ["one", "two", "three"] {
        std::fs::create_dir(env.root().join(name)).unwrap();
    }
    let root = env.root();
    let path = |name: &str| root.join(name).display().to_string();
    let user = env.workforce().join("personas").display().to_string();
    env.run(["sources", "add", &path("one")]).succeeds();
    assert_eq!(config(&env)["personaDirs"], json!([user, path("one")]), "the user's own directory stays");
    env.run(["sources", "add", "../two", "--position", "1"]).succeeds();
    assert_eq!(config(&env)["personaDirs"], json!([path("two"), user, path("one")]));
    env.run(["sources", "add", &path("one")]).fails(2, "is configured already");
    env.run(["sources", "add", &path("none")]).fails(2, "is not a directory");
    env.run(["sources", "add", &path("three"), "--position", "9"])
        .fails(2, "position 9 is not between 1 and 4");
    env.run(["sources", "add", &path("three"), "--position", "0"]).fails(2, "position 0");
    env.run(["sources", "remove", "9"]).fails(2, "`9` is not a configured directory");
    env.run(["sources", "remove", "0"]).fails(2, "`0` is not a configured directory");
    env.run(["sources", "remove", &path("three")]).fails(2, "is not a configured directory");
    env.run(["sources", "remove", "1"]).succeeds();
    env.run(["sources", "remove", &path("one")]).succeeds();
    assert_eq!(config(&env), json!({"unknown": {"k": 1}, "defaultHarness": "codex", "personaDirs": [user]}));
    env.set_cwd("home");
    std::fs::create_dir(env.home().join("tilde")).unwrap();
    let done = env.run(["sources", "add", "~/tilde", "--json"]).json();
    assert_eq!((&done["action"], &done["dir"]), (&json!("added"), &json!(path("home/tilde"))));
    env.run(["sources", "remove", "tilde"]).succeeds();
}

#[test]
fn every_setting_can_be_set_read_listed_and_taken_out() {
    let env = TestEnv::new();
    env.config(&json!({"unknown": [1, {"deep": null}], "mount": {"other": 1}, "$schema": "x"}));
    env.write(CONFIG, env.read(CONFIG) + "\n");
    let before = env.read(CONFIG);
    let list = env.run(["config", "list", "--json"]).json();
    assert_eq!(list["unknownKeys"], json!(["unknown", "$schema"]));
    let mut seen = 0;
    for row in list["settings"].as_array().unwrap() {
        let key = row["key"].as_str().unwrap();
        assert!(!row["description"].as_str().unwrap().is_empty(), "{key}");
        let (values, value): (Vec<&str>, Value) = match key {
            "personaDirs" => (vec!["~/a", "b"], json!(["~/a", "b"])),
            "defaultCreateTarget" => (vec!["user"], json!("user")),
            "defaultHarness" => (vec!["codex"], json!("codex")),
            "defaultModel" => (vec!["odd-"], json!("odd-")),
            "bareMode" | "hermetic" | "mount.merge" => (vec!["true"], json!(true)),
            "inherit" => (vec!["mcp", "skills"], json!(["mcp", "skills"])),
            "limits.turns" => (vec!["7"], json!(7)),
            "limits.usd" => (vec!["0"], json!(0)),
            "limits.processes" | "limits.memoryMb" | "limits.diskMb" => (vec!["100"], json!(100)),
            key if key.starts_with("limits.") => (vec!["1.5"], json!(1.5)),
            "mount.backend" => (vec!["copy"], json!("copy")),
            "mount.sandbox" => (vec!["strict"], json!("strict")),
            "mount.gitCredentials" => (vec!["keep"], json!("keep")),
            "mount.devices" => (vec!["fuse", "nvidia*"], json!(["fuse", "nvidia*"])),
            "mount.sockets" => (vec!["ssh-agent", "/run/x"], json!(["ssh-agent", "/run/x"])),
            key if key.starts_with("mount.") => (vec!["*.key", "!a.key"], json!(["*.key", "!a.key"])),
            "secrets.minLength" => (vec!["8"], json!(8)),
            "sessions.keepDays" | "sessions.keepGb" => (vec!["30"], json!(30)),
            "notify" => (vec!["notify-send", "-u", "low"], json!(["notify-send", "-u", "low"])),
            "notifyAfterSeconds" => (vec!["0"], json!(0)),
            "sidecar.codex" => (vec!["skip"], json!("skip")),
            "worker.self_review.default_rules" | "worker.self_review.extra_rules" => {
                (vec!["own-rule", "other-rule"], json!(["own-rule", "other-rule"]))
            }
            "tdd.enforce.enabled" => (vec!["off"], json!(false)),
            "plans_file" => (vec!["docs/Plan.md"], json!("docs/Plan.md")),
            "context.summarizer" => (vec!["docs-writer"], json!("docs-writer")),
            key if key.starts_with("context.") => (vec!["200"], json!(200)),
            key if key.starts_with("features.") => (vec!["off"], json!(false)),
            other => panic!("a new setting needs a line in this test: {other}"),
        };
        assert_eq!(row["value"], json!(null), "{key}");
        assert_eq!(env.run(["config", "get", key]).code, 1, "{key} is not set");
        assert_eq!(env.run(["config", "get", key, "--json"]).json()["isSet"], false);
        let mut command = vec!["config", "set", key];
        command.extend(&values);
        env.run(&command).succeeds();
        assert_eq!(env.run(["config", "get", key, "--json"]).json()["value"], value, "{key}");
        assert_eq!(
            env.run(["config", "get", key]).succeeds().stdout,
            values.join("\n").replace("off", "false") + "\n"
        );
        assert!(env.run(["config", "list"]).succeeds().stdout.contains(key));
        assert_eq!(config(&env)["unknown"], json!([1, {"deep": null}]), "{key}");
        is_valid(&validator(&env, "config"), &config(&env));
        env.run(["config", "unset", key]).succeeds();
        assert_eq!(env.read(CONFIG), before, "{key}: what was there is there again");
        seen += 1;
    }
    assert!(seen >= 16, "{seen}");
}

#[test]
fn settings_that_make_no_sense_are_refused_and_nothing_is_written() {
    let env = TestEnv::new();
    env.config(&json!({"defaultHarness": "codex"}));
    let before = env.everything();
    let refused: [(&[&str], &str); 11] = [
        (&["defaultHarness", "cluade"], "did you mean `claude`?"),
        (&["defaultHarnes", "claude"], "did you mean `defaultHarness`?"),
        (&["bareMode", "maybe"], "must be true or false"),
        (&["limits.usd", "-1"], "must be a number of at least 0"),
        (&["limits.turns", "1.5"], "must be a whole number"),
        (&["limits.wallSeconds", "soon"], "must be a number"),
        (&["limits.processes", "0"], "must be a whole number of at least 1"),
        (&["limits.memoryMb", "much"], "must be a number"),
        (&["mount.backend", "fuse"], "is not one of"),
        (&["defaultModel", "a", "b"], "takes one value, not 2"),
        (&["sidecar.codex", "no"], "is not one of mount, skip"),
    ];
    for (words, says) in refused {
        let mut command = vec!["config", "set"];
        command.extend(words);
        env.run(&command).fails(2, says);
    }
    env.run(["config", "get", "nope"]).fails(2, "there is no setting `nope`").fails(2, "config list");
    env.run(["config", "unset", "nope"]).fails(2, "there is no setting `nope`");
    assert_eq!(env.everything(), before);
}

#[test]
fn settings_have_the_effect_they_promise() {
    let env = TestEnv::new();
    env.user_persona(&json!({"id": "p", "role": "free text", "systemPrompt": "x"}));
    for (key, value) in [
        ("defaultHarness", "codex"),
        ("defaultModel", "gpt"),
        ("mount.backend", "overlay"),
        ("mount.sandbox", "project"),
        ("limits.turns", "9"),
        ("limits.memoryMb", "64"),
    ] {
        env.run(["config", "set", key, value]).succeeds();
    }
    env.run(["config", "set", "mount.ignoredPatterns", "private/", "*.pem"]).succeeds();
    let plan = env.plan(&["p"]);
    assert_eq!(
        (&plan["harness"], &plan["model"]),
        (&json!({"kind": "codex", "from": "config"}), &json!({"value": "gpt", "from": "config"}))
    );
    assert_eq!(
        (&plan["mount"]["backend"], &plan["mount"]["sandbox"], &plan["limits"]),
        (&json!("overlay"), &json!("project"), &json!({"turns": 9, "memoryMb": 64}))
    );
    let from_config: Vec<&Value> = plan["mount"]["rules"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|rule| rule["source"] == "config")
        .map(|rule| &rule["pattern"])
        .collect();
    assert_eq!(from_config, ["private/", "*.pem"]);
    let shown = env.run(["show", "p", "--files", "private/x", "--json"]).json();
    assert_eq!((&shown["decision"], &shown["rule"]["pattern"]), (&json!("hidden"), &json!("private/")));
}
