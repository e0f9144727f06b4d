//! The command line itself: help, exit codes, JSON, settings, sources, schemas, inputs and references, and a dry run.

use crate::support::{TestEnv, flat, warnings, with};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::process::Stdio;

const CONFIG: &str = "home/.agentworkforce/workforce/config.json";

fn config(env: &TestEnv) -> Value {
    serde_json::from_str(&env.read(CONFIG)).expect("JSON")
}

fn validator(env: &TestEnv, format: &str) -> jsonschema::Validator {
    let schema = env.run(["schema", format]).json();
    assert!(jsonschema::meta::is_valid(&schema), "{format}");
    jsonschema::validator_for(&schema).expect("a schema")
}

#[track_caller]
fn is_valid(validator: &jsonschema::Validator, value: &Value) {
    let errors: Vec<String> =
        validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?} in {value:#}");
}

// --- Help and usage --------------------------------------------------------------------------------------------------

#[test]
fn help_is_grouped_the_way_people_look_for_things() {
    let env = TestEnv::new();
    let help = env.run(["--help"]).succeeds().stdout.clone();
    let groups = ["Run:", "Look:", "Make:", "Share:", "Set up:", "Options:"];
    let places: Vec<usize> =
        groups.iter().map(|group| help.find(group).unwrap_or_else(|| panic!("{group}: {help}"))).collect();
    assert!(places.is_sorted(), "{help}");
    let group_of = |command: &str| {
        let at = help.find(&format!("\n  {command} ")).unwrap_or_else(|| panic!("{command}: {help}"));
        groups[places.iter().filter(|place| **place < at).count() - 1]
    };
    for (command, group) in [
        ("agent", "Run:"),
        ("list", "Look:"),
        ("show", "Look:"),
        ("lint", "Look:"),
        ("persona", "Make:"),
        ("role", "Make:"),
        ("schema", "Make:"),
        ("install", "Share:"),
        ("update", "Share:"),
        ("uninstall", "Share:"),
        ("pack", "Share:"),
        ("sources", "Share:"),
        ("config", "Set up:"),
        ("completions", "Set up:"),
        ("man", "Set up:"),
    ] {
        assert_eq!(group_of(command), group, "{command}");
    }
    assert_eq!(env.run(["-h"]).stdout, help);
    for command in [
        "agent",
        "list",
        "show",
        "lint",
        "persona",
        "role",
        "schema",
        "install",
        "update",
        "uninstall",
        "pack",
        "sources",
        "config",
        "completions",
        "man",
    ] {
        assert!(env.run([command, "--help"]).succeeds().stdout.contains("--json"), "{command}");
    }
}

#[test]
fn without_a_terminal_the_bare_program_prints_its_help() {
    let env = TestEnv::new();
    let before = env.everything();
    let ran = env.run::<&str>([]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, env.run(["--help"]).stdout.as_str()));
    assert_eq!(env.everything(), before);
}

#[test]
fn the_version_is_one_line() {
    let env = TestEnv::new();
    for flag in ["--version", "-V"] {
        let ran = env.run([flag]);
        assert_eq!((ran.code, ran.stdout.lines().count()), (0, 1));
        assert!(ran.stdout.starts_with(&format!("agentworkforce {}", env!("CARGO_PKG_VERSION"))), "{ran:#?}");
    }
}

#[test]
fn an_unknown_command_or_flag_gets_a_did_you_mean() {
    let env = TestEnv::new();
    env.run(["lits"]).fails(2, "unrecognized subcommand 'lits'").fails(2, "'list'");
    env.run(["list", "--jsn"]).fails(2, "'--json'");
    env.run(["agent", "engineer", "--dryrun"]).fails(2, "'--dry-run'");
    env.run(["role", "lsit"]).fails(2, "'list'");
    env.run(["schema", "person"]).fails(2, "'persona'");
    // The same in JSON.
    let error = env.run(["list", "--harnes", "x", "--json"]).fails_in_json(2, "usage");
    assert!(error["hints"].to_string().contains("--harness"), "{error:#}");
    let error = env.run(["agent", "--json"]).fails_in_json(2, "usage");
    assert!(error["message"].as_str().unwrap().contains("PERSONA"), "{error:#}");
}

#[test]
fn every_error_is_one_json_object_on_stdout_in_json_mode() {
    let mut env = TestEnv::new();
    env.user_persona(&with(flat("needs", "x"), &json!({"inputs": {"A": {}}})));
    env.user_persona(&json!({"id": "broken", "tags": 7}));
    let usage: [&[&str]; 12] = [
        &["show", "nobody"],
        &["agent", "nobody", "--dry-run"],
        &["agent", "engineer@x", "--dry-run"],
        &["agent", "needs", "--dry-run"],
        &["agent", "broken", "--dry-run"],
        &["agent", "engineer"],
        &["config", "get", "nope"],
        &["config", "set", "limits.usd", "x"],
        &["role", "show", "nope"],
        &["persona", "rename", "nobody", "x"],
        &["sources", "add", "/nonexistent"],
        &["nonsense"],
    ];
    for command in usage {
        let mut command = command.to_vec();
        command.push("--json");
        let ran = env.run(&command);
        let error = ran.fails_in_json(2, "usage");
        let message = error["message"].as_str().unwrap();
        assert!(!message.is_empty() && !message.ends_with('.'), "{error:#}");
        assert!(error["causes"].is_array() && error["hints"].is_array(), "{error:#}");
        assert!(
            ran.stderr.starts_with("error: ") && ran.stderr.contains(message.lines().next().unwrap()),
            "{ran:#?}"
        );
    }
    env.run(["agent", "engineer", "--harness", "opencode", "--strict", "--dry-run", "--json"])
        .fails_in_json(4, "refused");
    env.set_var("AGENTWORKFORCE_FEATURE_AGENT_RENAME", "0");
    env.run(["persona", "rename", "ripley", "x", "--json"]).fails_in_json(2, "usage");
}

#[test]
fn json_without_a_task_or_a_dry_run_is_refused() {
    let env = TestEnv::new();
    env.run(["agent", "engineer", "--json"]).fails(2, "`--json` needs a task or `--dry-run`");
    env.run(["agent", "engineer", "--json", "--dry-run"]).succeeds();
    env.run(["agent", "engineer", "--dry-run", "-p", "  "]).fails(2, "the task is empty");
    env.run(["agent", "engineer", "--dry-run", "-p", "x", "--prompt-file", "y"])
        .fails(2, "cannot be used with");
    env.run(["agent", "engineer", "--dry-run", "--prompt-file", "/nonexistent"]).fails(2, "/nonexistent");
}

#[test]
fn a_task_comes_from_a_flag_a_file_or_standard_input() {
    let env = TestEnv::new();
    let file = env.write("task.md", "do this\n");
    let stdin = env
        .run_with_input(["agent", "engineer", "--dry-run", "--json", "--prompt-file", "-"], "do that\n")
        .json();
    for (plan, task) in [
        (env.plan(&["engineer", "-p", "do it"]), "do it"),
        (env.plan(&["engineer", "--prompt-file", file.to_str().unwrap()]), "do this\n"),
        (stdin, "do that\n"),
    ] {
        assert_eq!(
            (&plan["prompt"], &plan["mode"], &plan["command"]["stdin"]),
            (&json!(task), &json!("headless"), &json!("prompt"))
        );
        assert!(!plan["command"]["args"].to_string().contains(task.trim()), "a task is on no command line");
    }
    let plan = env.plan(&["engineer"]);
    assert_eq!((&plan["prompt"], &plan["mode"]), (&json!(null), &json!("interactive")));
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let env = TestEnv::new();
    let commands: [&[&str]; 7] = [
        &["list"],
        &["list", "--json"],
        &["--help"],
        &["show", "engineer", "--prompt"],
        &["schema", "plan"],
        &["completions", "bash"],
        &["man"],
    ];
    for args in commands {
        let mut child = env.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(
            (output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()),
            (Some(0), ""),
            "{args:?}"
        );
    }
    // A disk that is full is one.
    if let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") {
        let output = env
            .command(["list"])
            .stdout(full)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
            .wait_with_output()
            .unwrap();
        assert_eq!(output.status.code(), Some(125));
        assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write to standard output"));
    }
}

#[test]
fn completions_exist_for_every_shell_and_the_manual_is_a_page() {
    let env = TestEnv::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = env.run(["completions", shell]).succeeds().stdout.clone();
        if shell == "bash" {
            let file = env.write("completions", &script);
            let read = std::process::Command::new("bash").arg("-n").arg(file).status();
            assert!(read.expect("bash runs").success());
        }
        assert!(
            script.len() > 2000 && script.contains("agentworkforce") && script.contains("dry-run"),
            "{shell}"
        );
    }
    env.run(["completions", "sh"]).fails(2, "bash");
    let page = env.run(["man"]).succeeds().stdout.clone();
    assert!(page.contains(".TH agentworkforce 1") && page.contains("persona"), "{page}");
    // Every command and every flag is in it, and what it says of exit codes is what the README says.
    for words in ["agentworkforce agent ", "agentworkforce sessions apply ", "agentworkforce role create "] {
        assert!(page.contains(&format!(".SS {words}")), "{words}\n{page}");
    }
    assert!(page.contains("\\-\\-persona\\-ref <REF>") && page.contains("overlay (Copy"), "{page}");
    for code in ["124", "125", "126, 127", "128+n"] {
        assert!(page.contains(&format!("\n.B {code}\n")), "{code}");
    }
    // A line that starts with a dot is a request, and these are all that we make.
    for line in page.lines().filter(|line| line.starts_with(['.', '\''])) {
        let request = line.split(' ').next().unwrap_or_default();
        assert!([".TH", ".SH", ".SS", ".TP", ".B"].contains(&request), "{line}");
    }
}

// --- JSON of the incumbent -------------------------------------------------------------------------------------------

#[test]
fn list_keeps_the_keys_of_the_incumbent_and_adds_ours() {
    let env = TestEnv::new();
    env.user_persona(&with(flat("p", "x"), &json!({"model": "opus", "tags": ["a"]})));
    let row = env.row("p");
    let theirs = json!({"persona": "p", "source": "user", "harness": "claude", "model": "opus", "intent": "p", "tags": ["a"], "description": "p for tests", "rating": "best-value"});
    for (key, value) in theirs.as_object().unwrap() {
        assert_eq!(&row[key], value, "{key}");
    }
    let keys: Vec<&str> = row.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        keys[..8],
        ["persona", "source", "harness", "model", "intent", "tags", "description", "rating"]
    );
    assert_eq!(keys[8..], ["name", "emoji", "role", "expertise", "file", "runnable", "reason"]);
    let list = env.run(["list", "--all", "--json"]).json();
    let rows = list["personas"].as_array().unwrap();
    let ids: Vec<&str> = rows.iter().map(|row| row["persona"].as_str().unwrap()).collect();
    assert!(ids.is_sorted(), "{ids:?}");
    let tiers: Vec<&Value> =
        rows.iter().filter(|row| row["persona"] == "engineer").map(|row| &row["rating"]).collect();
    assert_eq!(tiers, ["best", "best-value", "minimum"]);
    assert!(rows.iter().all(|row| row["expertise"].is_array()));
}

#[test]
fn show_keeps_the_keys_of_the_incumbent_and_adds_ours() {
    let env = TestEnv::new();
    let shown = env.run(["show", "engineer", "--json"]).json();
    assert_eq!((&shown["source"], &shown["spec"]["id"]), (&json!("library"), &json!("engineer")));
    assert_eq!(
        shown["spec"]["tiers"].as_object().unwrap().keys().collect::<Vec<_>>(),
        ["best-value"],
        "limited to those shown"
    );
    assert_eq!(
        env.run(["show", "engineer@best", "--json"]).json()["spec"]["tiers"]
            .as_object()
            .unwrap()
            .keys()
            .collect::<Vec<_>>(),
        ["best"]
    );
    assert_eq!(
        env.run(["show", "engineer", "--all", "--json"]).json()["spec"]["tiers"].as_object().unwrap().len(),
        3
    );
    env.run(["show", "engineer@best", "--all"]).fails(2, "`--all`");
    for key in ["name", "expertise", "role", "tier", "tiers", "harness", "version", "runnable"] {
        assert!(!shown[key].is_null(), "{key}");
    }
}

#[test]
fn sources_list_keeps_the_keys_of_the_incumbent() {
    let env = TestEnv::new();
    env.project_persona(&flat("p", "x"));
    env.config(&json!({"personaDirs": ["packs", "personas"], "defaultCreateTarget": "user"}));
    let list = env.run(["sources", "list", "--json"]).json();
    let home = env.workforce();
    let text = |path: std::path::PathBuf| path.display().to_string();
    assert_eq!(
        list,
        json!({
            "schemaVersion": 1, "configPath": text(home.join("config.json")), "defaultCreateTarget": "user",
            "personaDirs": [text(home.join("packs")), text(home.join("personas"))],
            "sources": [
                {"cascade": "1", "config": "", "source": "cwd", "exists": "yes", "dir": text(env.project().join(".agentworkforce/workforce/personas"))},
                {"cascade": "2", "config": "1", "source": "dir:1", "exists": "no", "dir": text(home.join("packs"))},
                {"cascade": "3", "config": "2", "source": "user", "exists": "no", "dir": text(home.join("personas"))},
                {"cascade": "4", "config": "", "source": "library", "exists": "yes", "dir": "(built-in)"},
            ]
        })
    );
    let human = env.run(["sources", "list"]).succeeds().stdout.clone();
    assert!(
        human.starts_with(&format!(
            "Config: {}\nDefault create target: user\n",
            text(home.join("config.json"))
        )),
        "{human}"
    );
    assert!(human.contains("CASCADE  CONFIG  SOURCE   EXISTS  DIR"), "{human}");
}

// --- Sources and settings --------------------------------------------------------------------------------------------

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
            "defaultModel" => (vec!["-odd"], json!("-odd")),
            "bareMode" | "hermetic" => (vec!["true"], json!(true)),
            "limits.turns" => (vec!["7"], json!(7)),
            "limits.usd" => (vec!["0"], json!(0)),
            key if key.starts_with("limits.") => (vec!["1.5"], json!(1.5)),
            "mount.backend" => (vec!["copy"], json!("copy")),
            "mount.sandbox" => (vec!["strict"], json!("strict")),
            key if key.starts_with("mount.") => (vec!["*.key", "!a.key"], json!(["*.key", "!a.key"])),
            "sidecar.codex" => (vec!["skip"], json!("skip")),
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
    let refused: [(&[&str], &str); 9] = [
        (&["defaultHarness", "cluade"], "did you mean `claude`?"),
        (&["defaultHarnes", "claude"], "did you mean `defaultHarness`?"),
        (&["bareMode", "maybe"], "must be true or false"),
        (&["limits.usd", "-1"], "must be a number from 0 on"),
        (&["limits.turns", "1.5"], "must be a whole number"),
        (&["limits.wallSeconds", "soon"], "must be a number"),
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
        (&json!("overlay"), &json!("project"), &json!({"turns": 9}))
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

// --- Schemas ---------------------------------------------------------------------------------------------------------

#[test]
fn every_schema_is_valid_and_real_files_satisfy_it() {
    let env = TestEnv::new();
    for format in ["persona", "role", "plan", "report", "config"] {
        let schema = env.run(["schema", format]).json();
        assert!(jsonschema::meta::is_valid(&schema), "{format}");
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema", "{format}");
    }
    let (persona, role, plan) =
        (validator(&env, "persona"), validator(&env, "role"), validator(&env, "plan"));
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("personas");
    for (dir, validator) in [(dir.clone(), &persona), (dir.join("roles"), &role)] {
        let mut seen = 0;
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "json") {
                is_valid(validator, &serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap());
                seen += 1;
            }
        }
        assert!(seen >= 8);
    }
    let list = env.run(["list", "--json"]).json();
    for row in list["personas"].as_array().unwrap() {
        let shown = env.run(["show", row["persona"].as_str().unwrap(), "--all", "--json"]).json();
        is_valid(&persona, &shown["spec"]);
    }
    for value in [
        json!({"id": "x", "extends": "engineer", "$schema": "./s.json", "inputs": {"A": null}, "mcpServers": {"m": null}, "permissions": {"removeAllow": ["Bash"]}}),
        json!({"id": "x", "tiers": {"best": {"model": "y"}}, "unknown": 1}),
    ] {
        is_valid(&persona, &value);
    }
    for value in [
        json!({}),
        json!({"id": "a b"}),
        json!({"id": "x", "tags": "y"}),
        json!({"id": "x", "claudeMd": "x.txt"}),
        json!({"id": "x", "tiers": {"best": {"harness": "vim"}}}),
    ] {
        assert!(!persona.is_valid(&value), "{value}");
    }
    assert!(!plan.is_valid(&json!({})));
    env.run(["schema", "nonsense"]).fails(2, "persona");
}

#[test]
fn a_plan_with_everything_in_it_satisfies_its_schema() {
    let mut env = TestEnv::new();
    env.set_var("SECRET", "s");
    env.user_persona(&with(flat("p", "x"), &json!({
        "name": "P", "emoji": "🐈", "role": "engineer", "expertise": ["a"], "model": "opus", "env": {"A": "$SECRET"}, "inputs": {"B": "b"},
        "mcpServers": {"m": {"command": "c", "args": ["$SECRET"]}}, "skills": [{"id": "s", "source": "./s.md"}], "claudeMdContent": "c", "agentsMdContent": "a",
        "permissions": {"allow": [], "deny": ["Bash(rm:*)"], "mode": "plan"}, "limits": {"usd": 1, "turns": 2, "wallSeconds": 3, "idleSeconds": 4},
        "mount": {"ignoredPatterns": ["x"], "readonlyPatterns": ["y"], "revealPatterns": ["z"], "includePatterns": ["i"], "sandbox": "strict"},
        "harnessSettings": {"reasoning": "high", "webSearch": true, "sandboxMode": "read-only"}, "hermetic": true, "bareMode": true
    })));
    let schema = validator(&env, "plan");
    for harness in ["claude", "opencode", "codex"] {
        for more in [&[][..], &["-p", "task", "--", "--extra", "arg"]] {
            let mut args = vec!["p", "--harness", harness];
            args.extend(more);
            let plan = env.plan(&args);
            is_valid(&schema, &plan);
            assert_eq!(
                plan["command"]["args"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .rev()
                    .take(2)
                    .rev()
                    .any(|arg| arg == "--extra"),
                !more.is_empty()
            );
        }
    }
}

// --- Inputs ----------------------------------------------------------------------------------------------------------

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
    ran.fails(2, "needs 2 more input value(s)")
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

// --- References and servers ------------------------------------------------------------------------------------------

const SECRET: &str = "hunter2-is-the-secret";

fn with_secrets() -> TestEnv {
    let mut env = TestEnv::new();
    env.set_var("TOKEN", SECRET);
    env.set_var("EMPTY", "");
    env.user_persona(&with(flat("p", "x"), &json!({
        "env": {"WHOLE": "$TOKEN", "PART": "a ${TOKEN} b", "BARE": "a $TOKEN b", "LOWER": "${token}", "GONE": "$MISSING", "EMPTIED": "x${EMPTY}"},
        "mcpServers": {
            "local": {"command": "run", "args": ["--key=${TOKEN}", "$TOKEN", "plain"], "env": {"K": "$TOKEN", "N": "${MISSING}"}},
            "web": {"type": "http", "url": "https://mcp.example/x", "headers": {"Authorization": "Bearer ${TOKEN}", "X-Key": "$TOKEN", "X-Mix": "a${TOKEN}b", "X-Gone": "$MISSING", "X-Plain": "p"}},
            "no-url": {"url": "https://${MISSING}/"}, "no-arg": {"command": "c", "args": ["${EMPTY}"]}, "no-command": {"command": "$MISSING"}
        }
    })));
    env
}

#[test]
fn a_plan_shows_references_and_never_values() {
    let env = with_secrets();
    for harness in ["claude", "opencode", "codex"] {
        for mode in [&[][..], &["-p", "task"]] {
            let mut args = vec!["agent", "p", "--dry-run", "--json", "--harness", harness];
            args.extend(mode);
            let ran = env.run(&args);
            assert!(!ran.stdout.contains(SECRET) && !ran.stderr.contains(SECRET), "{harness}");
            let plan = ran.json();
            let found = &plan["command"]["env"];
            assert_eq!(
                json!([
                    found["WHOLE"],
                    found["PART"],
                    found["BARE"],
                    found["LOWER"],
                    found["GONE"],
                    found["EMPTIED"]
                ]),
                json!(["${TOKEN}", "a ${TOKEN} b", "a $TOKEN b", "${token}", null, null]),
                "{harness}"
            );
            assert_eq!(plan["mcpServers"], json!(["local", "web"]), "{harness}");
            let said = warnings(&plan);
            for words in [
                "env.GONE",
                "env.EMPTIED",
                "mcpServers.no-url",
                "mcpServers.no-arg",
                "mcpServers.no-command",
                "mcpServers.local.env.N",
                "mcpServers.web.headers.X-Gone",
            ] {
                assert_eq!(
                    said.iter().filter(|text| text.starts_with(&format!("{words} is left out"))).count(),
                    1,
                    "{words}: {said:#?}"
                );
            }
        }
    }
    for command in [
        vec!["show", "p"],
        vec!["show", "p", "--json"],
        vec!["agent", "p", "--dry-run"],
        vec!["lint", "--json"],
        vec!["list", "--json"],
    ] {
        assert!(!env.run(&command).stdout.contains(SECRET), "{command:?}");
    }
}

#[test]
fn each_harness_is_given_the_servers_in_its_own_way() {
    let env = with_secrets();
    let file = |harness: &str, purpose: &str| {
        let plan = env.plan(&["p", "--harness", harness]);
        let files = plan["files"].as_array().unwrap().clone();
        files.iter().find(|file| file["purpose"] == purpose).unwrap()["content"].as_str().unwrap().to_owned()
    };
    let claude: Value = serde_json::from_str(&file("claude", "MCP servers")).unwrap();
    assert_eq!(
        claude,
        json!({"mcpServers": {
            "local": {"type": "stdio", "command": "run", "args": ["--key=${TOKEN}", "${TOKEN}", "plain"], "env": {"K": "${TOKEN}"}},
            "web": {"type": "http", "url": "https://mcp.example/x", "headers": {"Authorization": "Bearer ${TOKEN}", "X-Key": "${TOKEN}", "X-Mix": "a${TOKEN}b", "X-Plain": "p"}}
        }})
    );
    let opencode: Value = serde_json::from_str(&file("opencode", "opencode config")).unwrap();
    assert_eq!(
        opencode["mcp"],
        json!({
            "local": {"type": "local", "command": ["run", "--key={env:TOKEN}", "{env:TOKEN}", "plain"], "environment": {"K": "{env:TOKEN}"}, "enabled": true},
            "web": {"type": "remote", "url": "https://mcp.example/x", "headers": {"Authorization": "Bearer {env:TOKEN}", "X-Key": "{env:TOKEN}", "X-Mix": "a{env:TOKEN}b", "X-Plain": "p"}, "enabled": true}
        })
    );
    let codex = file("codex", "codex profile");
    for line in [
        "[mcp_servers.\"local\"]",
        "env_vars = [\"TOKEN\"]",
        "[mcp_servers.\"web\"]",
        "url = \"https://mcp.example/x\"",
        "bearer_token_env_var = \"TOKEN\"",
        "http_headers = { \"X-Plain\" = \"p\" }",
    ] {
        assert!(codex.lines().any(|found| found == line), "{line}: {codex}");
    }
    // Strict only where it can be: a persona without servers gets none of the repository's either.
    let args = env.plan(&["engineer"])["command"]["args"].to_string();
    assert!(args.contains("--strict-mcp-config"), "{args}");
}

// --- Strict, terminals, a dry run ------------------------------------------------------------------------------------

#[test]
fn strict_refuses_what_is_not_enforced() {
    let env = TestEnv::new();
    env.user_persona(&flat("p", "x"));
    env.run(["agent", "p", "--dry-run", "--strict"]).succeeds();
    let demands =
        with(flat("p", "x"), &json!({"permissions": {"deny": ["WebFetch"]}, "limits": {"turns": 3}}));
    env.user_persona(&demands);
    env.run(["agent", "p", "--dry-run", "--strict", "-p", "x"]).succeeds();
    env.run(["agent", "p", "--dry-run", "--strict", "-p", "x", "--harness", "codex"])
        .fails(4, "is refused by `--strict`")
        .fails(4, "permissions.deny: advisory")
        .fails(4, "limits.turns: unsupported");
    let ran = env.run(["agent", "p", "--dry-run", "--strict", "--mount", "none"]);
    ran.fails(4, "mount.hidden: unsupported");
    assert_eq!(ran.stdout, "", "nothing is planned");
    env.user_persona(&with(flat("p", "x"), &json!({"env": {"A": "$MISSING"}})));
    env.run(["agent", "p", "--dry-run", "--strict"]).fails(4, "env.A is left out");
}

#[test]
fn escape_sequences_of_a_file_are_shown_and_not_obeyed() {
    let mut env = TestEnv::new();
    // Colour is forced, so that nothing is taken out on the way to the pipe.
    env.set_var("CLICOLOR_FORCE", "1");
    let hostile = "evil\u{1b}]0;owned\u{7}\u{1b}[2J\r\u{202e}\u{9b}31m";
    env.user_persona(&with(flat("p", "x"), &json!({
        "description": hostile, "tags": [hostile], "role": hostile, "expertise": [hostile], "model": hostile, "env": {"K": hostile},
        "skills": [{"id": hostile, "source": hostile}], "inputs": {"A": {"default": hostile}}, "permissions": {"allow": [hostile], "deny": [hostile]},
        "mount": {"ignoredPatterns": [hostile]}, "mcpServers": {hostile: {"command": hostile}}, hostile: 1
    })));
    env.user_persona(&json!({"id": "bad", "tags": 7, hostile: 1, "harness": hostile}));
    env.user_persona(&json!({"id": "worse", "extends": hostile}));
    env.user_persona(
        &json!({"id": "handler", "intent": hostile, "onEvent": hostile, "description": hostile}),
    );
    env.user_role("crew", &json!({"label": "Crew", "charter": hostile, "defaultModel": hostile}));
    env.write(format!("home/.agentworkforce/workforce/personas/{}.json", "file\u{1b}[31m"), "{");
    env.config(&json!({"defaultModel": hostile, "defaultCreateTarget": hostile, hostile: 1}));
    let commands: Vec<Vec<&str>> = vec![
        vec!["list"],
        vec!["list", "--all"],
        vec!["show", "p"],
        vec!["show", "handler"],
        vec!["show", "p", "--origins"],
        vec!["show", "p", "--files"],
        vec!["show", "p", "--enforcement"],
        vec!["agent", "p", "--dry-run"],
        vec!["agent", "p", "--dry-run", "-p", hostile],
        vec!["agent", "bad", "--dry-run"],
        vec!["agent", "worse", "--dry-run"],
        vec!["agent", "p", "--dry-run", "--strict"],
        vec!["agent", hostile, "--dry-run"],
        vec!["agent", "p", "--dry-run", "--harness", hostile],
        vec!["lint"],
        vec!["role", "list"],
        vec!["role", "show", "crew"],
        vec!["role", "show", hostile],
        vec!["config", "list"],
        vec!["config", "get", "defaultModel"],
        vec!["config", "get", hostile],
        vec!["sources", "list"],
        vec!["sources", "remove", hostile],
        vec!["persona", "set", "p", "--role", hostile],
    ];
    for command in commands {
        let ran = env.run(&command);
        for (stream, text) in [("stdout", &ran.stdout), ("stderr", &ran.stderr)] {
            // Our own colours are the only sequences, and they are plain.
            let mut rest = text.replace('\u{1b}', "\u{1b}\u{0}");
            for style in ["[0m", "[1m", "[2m", "[31m", "[33m", "[36m", "[4m", "[32m"] {
                rest = rest.replace(&format!("\u{1b}\u{0}{style}"), "");
            }
            let hostile =
                rest.chars().find(|c| (c.is_control() && *c != '\n' && *c != '\t') || *c == '\u{202e}');
            assert_eq!(hostile, None, "{command:?} {stream}: {text:?}");
            assert!(!text.contains("file\u{1b}[31m"), "{command:?} {stream}: {text:?}");
        }
    }
    // In JSON the text is whole.
    let row = env.row("p");
    assert_eq!(row["description"], hostile);
}

#[test]
fn a_dry_run_and_every_other_look_write_nothing() {
    let env = with_secrets();
    env.project_persona(&with(
        flat("q", "x"),
        &json!({"claudeMd": "q.md", "skills": [{"id": "s", "source": "./s.md"}]}),
    ));
    env.write("project/.agentworkforce/workforce/personas/q.md", "sidecar");
    env.write("project/src/main.rs", "fn main() {}");
    env.write("project/CLAUDE.md", "real");
    env.config(&json!({"limits": {"turns": 3}}));
    let before = env.everything();
    for harness in ["claude", "opencode", "codex"] {
        for id in ["p", "q", "engineer", "ripley"] {
            env.run(["agent", id, "--dry-run", "--harness", harness]).succeeds();
            env.run(["agent", id, "--dry-run", "--json", "--harness", harness, "-p", "task"]).succeeds();
            env.run(["agent", id, "--dry-run", "--json", "--harness", harness, "--install-in-repo"])
                .succeeds();
        }
    }
    for command in [
        vec!["list"],
        vec!["show", "q"],
        vec!["show", "q", "--prompt"],
        vec!["show", "q", "--origins"],
        vec!["show", "q", "--files"],
        vec!["show", "q", "--enforcement"],
        vec!["lint"],
        vec!["role", "list"],
        vec!["role", "show", "engineer"],
        vec!["sources", "list"],
        vec!["config", "list"],
        vec!["config", "features"],
        vec!["config", "get", "limits.turns"],
        vec!["schema", "plan"],
        vec!["completions", "zsh"],
        vec!["man"],
        vec!["--help"],
        vec!["--version"],
    ] {
        assert!([0, 1].contains(&env.run(&command).code), "{command:?}");
    }
    assert_eq!(env.everything(), before);
}

#[test]
fn warnings_go_to_stderr_and_data_to_stdout() {
    let env = TestEnv::new();
    env.user_persona(&with(flat("p", "x"), &json!({"odd": 1})));
    let ran = env.run(["list", "--json"]);
    assert!(ran.stderr.starts_with("warning: "), "{ran:#?}");
    assert_eq!(ran.json()["warnings"].as_array().unwrap().len(), 1);
    let ran = env.run(["show", "p", "--prompt"]);
    assert_eq!((ran.stdout.as_str(), ran.stderr.lines().count()), ("x", 1), "{ran:#?}");
}

#[test]
fn show_files_and_enforcement_answer_what_they_are_asked() {
    let env = TestEnv::new();
    env.write("project/.agentignore", "# secrets\nprivate/\n");
    env.write("project/.agentreadonly", "*.lock\n");
    env.write("project/.p.agentignore", "!private/ok.txt\nmine.txt\n");
    for file in ["private/a", "x.lock", "mine.txt", "src/a.rs", ".env"] {
        env.write(format!("project/{file}"), "x");
    }
    env.user_persona(&flat("p", "x"));
    let decision = |path: &str| {
        let found = env.run(["show", "p", "--files", path, "--json"]).json();
        format!("{} {}", found["decision"].as_str().unwrap(), found["rule"]["origin"].as_str().unwrap_or("-"))
    };
    assert_eq!(decision("src/a.rs"), "writable -");
    assert!(decision("private/a").starts_with("hidden .agentignore"), "{}", decision("private/a"));
    assert!(decision("x.lock").starts_with("readonly .agentreadonly"), "{}", decision("x.lock"));
    assert!(decision("mine.txt").starts_with("hidden .p.agentignore"), "{}", decision("mine.txt"));
    assert!(decision(".env").starts_with("hidden "), "{}", decision(".env"));
    env.run(["show", "p", "--files", "/etc/passwd"]).fails(2, "is outside");
    let rows = env.run(["show", "engineer", "--enforcement", "--harness", "codex", "--json"]).json();
    assert!(
        rows["enforcement"]
            .as_array()
            .unwrap()
            .iter()
            .any(|row| row["field"] == "permissions.deny" && row["level"] == "advisory"),
        "{rows:#}"
    );
}

#[test]
fn a_named_path_without_files_is_an_error_and_a_file_outside_the_layers_is_checked() {
    let env = TestEnv::new();
    env.project_persona(&json!({"id": "good", "intent": "x", "systemPrompt": "p"}));
    env.write("project/draft.json", "{bad json");
    env.run(["lint", "draft.json"]).fails_with_output(1, "draft.json:1:2");
    env.write("project/notes/readme.txt", "x");
    env.run(["lint", "notes"]).fails(2, "has no persona or role file");
    env.write("project/personas/broken.json", r#"{"id": "broken", "tags": 5}"#);
    env.run(["lint", "."]).fails_with_output(1, "personas/broken.json");
}

#[test]
fn a_bypass_on_codex_leaves_no_permission_enforced_and_strict_refuses() {
    let env = TestEnv::new();
    env.project_persona(&json!({"id": "dz", "intent": "x", "harness": "codex", "systemPrompt": "p",
        "permissions": {"allow": ["Read"], "deny": ["Edit", "Write"], "mode": "plan"},
        "harnessSettings": {"dangerouslyBypassApprovalsAndSandbox": true, "sandboxMode": "read-only"}}));
    let plan = env.plan(&["dz"]);
    let rows = plan["enforcement"].as_array().expect("rows");
    let unsupported: Vec<&str> = rows
        .iter()
        .filter(|row| row["level"] == "unsupported")
        .map(|row| row["field"].as_str().expect("a field"))
        .collect();
    assert_eq!(
        unsupported,
        ["harnessSettings.sandboxMode", "permissions.allow", "permissions.deny", "permissions.mode"]
    );
    env.run(["agent", "dz", "--dry-run", "--strict"]).fails(4, "refused by `--strict`");
}

#[test]
fn a_sandbox_that_cannot_be_had_is_refused() {
    let env = TestEnv::new();
    for backend in ["copy", "none"] {
        env.run(["agent", "engineer", "--dry-run", "--sandbox", "strict", "--mount", backend])
            .fails(4, "needs the overlay");
    }
    env.run(["agent", "engineer", "--dry-run", "--sandbox", "strict"]).succeeds();
    env.run(["agent", "engineer", "--dry-run", "--root", "missing"]).fails(2, "--root missing");
}

#[test]
fn a_variable_that_the_run_needs_for_itself_is_not_taken_from_the_persona() {
    let env = TestEnv::new();
    env.project_persona(&json!({"id": "e", "intent": "x", "harness": "codex", "systemPrompt": "p",
        "env": {"CODEX_HOME": "/x"}}));
    let plan = env.plan(&["e"]);
    assert_eq!(plan["command"]["env"]["CODEX_HOME"], "{session}/codex-home");
    assert!(plan["warnings"].to_string().contains("env.CODEX_HOME is left out"), "{plan:#}");
}

#[test]
fn an_overlay_of_nothing_is_told_from_what_was_meant() {
    let env = TestEnv::new();
    env.project_persona(&json!({"id": "debuger", "tiers": {"best": {"model": "sonnet"}}}));
    let ran = env.run(["lint", "debuger"]);
    assert!(ran.stdout.contains("did you mean `debugger`?"), "{ran:#?}");
}

#[test]
fn what_is_as_good_as_misspelt_is_told() {
    let env = TestEnv::new();
    env.project_persona(&json!({"id": "silent", "intent": "x", "systemPrompt": "", "harness": "claude"}));
    env.project_persona(&json!({"id": "typo", "intent": "x", "systemPrompt": "look at $TARGT and $HOME",
        "inputs": {"TARGET": {"description": "what to look at"}}, "harnessSettings": {"reasoning": "hihg"},
        "mount": {"ignoredPatterns": ["./secrets"]}}));
    let report = env.run(["lint", "--json"]).json();
    let problems = report["problems"].as_array().expect("a list");
    let told: Vec<String> = problems
        .iter()
        .map(|problem| format!("{} {}", problem["key"].as_str().unwrap_or_default(), problem["message"]))
        .collect();
    for wanted in ["neither prompt nor charter", "$TARGT", "hihg", "pattern `./secrets` matches nothing"] {
        assert_eq!(told.iter().filter(|text| text.contains(wanted)).count(), 1, "{wanted}: {told:#?}");
    }
    assert_eq!(told.len(), 4, "{told:#?}");
    let plan = env.plan(&["typo", "--input", "TARGET=x"]);
    assert!(plan["warnings"].to_string().contains("`./secrets` matches nothing"), "{plan:#}");
}
