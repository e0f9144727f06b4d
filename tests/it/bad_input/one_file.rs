//! A persona file that is wrong is named with its place, and hides no other.

use super::{CONFIG, USER, good_one_does_not_run, good_one_still_works, no_panic, world};
use crate::support::{Ran, TestEnv, flat, warnings, with};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

#[test]
fn invalid_json_is_named_with_line_and_column() {
    for (text, place, says) in [
        ("", "1:1", "EOF"),
        ("{", "1:1", "EOF"),
        ("{\n  \"id\": \"bad\",\n}", "3:1", "trailing comma"),
        ("{\n  \"id\": \"bad\"\n  \"harness\": \"claude\"\n}", "3:3", "expected `,` or `}`"),
        ("{'id': 'bad'}", "1:2", "key must be a string"),
        ("{\"id\": \"bad\"} x", "1:15", "trailing characters"),
        ("{\"id\": \"bad\", \"limits\": {\"usd\": 1e999}}", "1:", "out of range"),
        ("// no comments\n{\"id\": \"bad\"}", "1:1", "expected value"),
        ("{\"id\": \"bad\", \"id\": \"worse\"}", "1:", "duplicate"),
        ("{\"id\": \"\\ud800\"}", "1:", ""),
    ] {
        let env = world();
        env.write(format!("{USER}/bad.json"), text);
        let ran = env.run(["agent", "bad", "--dry-run"]);
        ran.fails(2, "persona `bad` is not valid").fails(2, &format!("bad.json:{place}")).fails(2, says);
        // Whom these are about cannot be seen.
        if ["", "{", "{\"id\": \"\\ud800\"}"].contains(&text) {
            good_one_does_not_run(&env, &format!("bad.json:{place}"));
        } else {
            good_one_still_works(&env, &format!("bad.json:{place}"));
        }
    }
}

#[test]
fn a_file_that_is_no_object_is_named() {
    for text in ["[]", "\"bad\"", "7", "null", "[{\"id\": \"bad\"}]"] {
        let env = world();
        env.write(format!("{USER}/bad.json"), text);
        env.run(["agent", "bad", "--dry-run"]).fails(2, "bad.json").fails(2, "object");
        good_one_still_works(&env, "bad.json");
    }
}

#[test]
fn a_file_without_a_usable_id_is_named() {
    for (id, says) in [
        (json!(null), "has no `id`"),
        (json!(""), "id"),
        (json!("  "), "id"),
        (json!(7), "id: must be text, not a number"),
        (json!("a b"), "must be a slug"),
        (json!("a/b"), "must be a slug"),
        (json!("../x"), "must start with a letter or a digit"),
        (json!("-x"), "must start with a letter or a digit"),
        (json!("a..b"), "must not contain `..`"),
        (json!("x."), "must not contain `..` or end in `.`"),
        (json!("x.lock"), "`.lock`"),
        (json!("é"), "must start with a letter or a digit"),
        (json!("x".repeat(200)), "at most 128"),
    ] {
        let env = world();
        env.write(format!("{USER}/bad.json"), with(flat("x", "y"), &json!({"id": id})).to_string());
        env.run(["agent", "bad", "--dry-run"]).fails(2, "bad.json").fails(2, says);
        good_one_still_works(&env, "bad.json");
    }
}

#[test]
fn wrong_types_are_named_with_their_place_and_key() {
    let cases = [
        (r#""tags": "one""#, "7:3: tags: must be a list, not text"),
        (r#""tags": [1]"#, "7:12: tags[0]: must be text, not a number"),
        (r#""name": ["x"]"#, "7:3: name: must be text, not a list"),
        (r#""harness": "cluade""#, "7:3: harness: `cluade` is not a harness"),
        (r#""tiers": []"#, "7:3: tiers: must be an object, not a list"),
        (r#""tiers": {"best": "codex"}"#, "7:13: tiers.best: must be an object, not text"),
        (
            r#""tiers": {"best": {"harnessSettings": {"timeoutSeconds": "60"}}}"#,
            "7:42: tiers.best.harnessSettings.timeoutSeconds: must be a number, not text",
        ),
        (
            r#""harnessSettings": {"timeoutSeconds": 0}"#,
            "7:23: harnessSettings.timeoutSeconds: must be a number above 0",
        ),
        (
            r#""harnessSettings": {"sandboxMode": "none"}"#,
            "7:23: harnessSettings.sandboxMode: `none` is not one of",
        ),
        (r#""permissions": {"mode": "yolo"}"#, "7:19: permissions.mode: `yolo` is not one of"),
        (r#""permissions": {"allow": "Read"}"#, "7:19: permissions.allow: must be a list, not text"),
        (r#""permissions": {"deny": [""]}"#, "7:28: permissions.deny[0]: must not be blank"),
        (r#""inputs": {"lower": "x"}"#, "7:14: inputs.lower: the name must be an upper-case name"),
        (r#""inputs": {"A": 7}"#, "7:14: inputs.A: must be"),
        (r#""inputs": {"A": {"env": "low er"}}"#, "7:20: inputs.A.env: must be an upper-case name"),
        (r#""env": {"A": 7}"#, "7:11: env.A: must be text, not a number"),
        (r#""mcpServers": {"m": {"type": "pipe"}}"#, "7:24: mcpServers.m.type: `pipe` is not one of"),
        (
            r#""mcpServers": {"m": {"args": ["x"]}}"#,
            "7:18: mcpServers.m: the server has no `command` or `url`",
        ),
        (
            r#""mcpServers": {"m": {"type": "http", "command": "x"}}"#,
            "7:18: mcpServers.m: the server has no `url`",
        ),
        (
            r#""mcpServers": {"m": {"command": "x", "args": "y"}}"#,
            "7:40: mcpServers.m.args: must be a list, not text",
        ),
        (r#""skills": {"id": "s"}"#, "7:3: skills: must be a list, not an object"),
        (r#""skills": [{"id": "s"}]"#, "7:14: skills[0]: the skill has no `source`"),
        (r#""limits": {"turns": 1.5}"#, "7:14: limits.turns: must be a whole number of at least 1"),
        (r#""limits": {"processes": 0}"#, "7:14: limits.processes: must be a whole number of at least 1"),
        (r#""limits": {"memoryMb": "1g"}"#, "7:14: limits.memoryMb: must be a whole number, not text"),
        (r#""limits": {"diskMb": -1}"#, "7:14: limits.diskMb: must be a whole number of at least 1"),
        (r#""limits": {"usd": -1}"#, "7:14: limits.usd: must be a number of at least 0"),
        (
            r#""mount": {"ignoredPatterns": [7]}"#,
            "7:33: mount.ignoredPatterns[0]: must be text, not a number",
        ),
        (r#""bareMode": "yes""#, "7:3: bareMode: must be true or false, not text"),
        (r#""defaultTier": "bst""#, "7:3: defaultTier: `bst` is not one of best, best-value, minimum"),
        (r#""extends": """#, "7:3: extends: must not be blank"),
        (r#""intent": 7"#, "7:3: intent: must be text, not a number"),
    ];
    for (line, says) in cases {
        let env = world();
        let text = format!(
            "{{\n  \"id\": \"bad\",\n  \"$a\": 1,\n  \"$b\": 1,\n  \"$c\": 1,\n  \"systemPrompt\": \"x\",\n  {line}\n}}\n"
        );
        env.write(format!("{USER}/bad.json"), text);
        let ran = env.run(["agent", "bad", "--dry-run"]);
        ran.fails(2, "persona `bad` is not valid").fails(2, &format!("bad.json:{says}"));
        assert_eq!(env.prompt(&["good"]), "fine");
        let lint = env.run(["lint", "bad"]);
        assert!(lint.code == 1 && lint.stdout.contains(&format!("bad.json:{says}")), "{lint:#?}");
    }
}

#[test]
fn null_is_not_said_wherever_it_stands() {
    let env = world();
    env.user_persona(&with(flat("p", "$A $B"), &json!({
        "tiers": null, "permissions": {"allow": null, "mode": null}, "limits": {"usd": null}, "mount": null, "tags": null,
        "inputs": {"A": {"default": "a", "optional": null, "env": null}, "B": {"default": null, "optional": true}, "C": null},
        "mcpServers": {"m": {"command": "x", "args": null, "env": {"K": null, "L": "l"}, "headers": null, "url": null}, "n": null},
        "skills": [{"id": null, "source": "./s.md", "description": null}], "env": {"K": null}, "bareMode": null
    })));
    let plan = env.plan(&["p"]);
    assert_eq!((&plan["systemPrompt"], &plan["mcpServers"]), (&json!("a "), &json!(["m"])));
    assert_eq!(warnings(&plan), ["skill `s` was not found: ./s.md"]);
    assert_eq!(plan["skills"][0]["id"], "s");
}

#[test]
fn the_schema_and_the_checker_agree_on_what_a_key_may_hold() {
    let env = TestEnv::new();
    let schema = env.run(["schema", "persona"]).json();
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let mut file = json!({"id": "p", "role": "engineer"});
    let mut compared = 0;
    for key in schema["properties"].as_object().unwrap().keys() {
        // A base has to exist, and an id that changes is another persona.
        if key == "extends" || key == "id" {
            continue;
        }
        for value in [
            json!(7),
            json!("t"),
            json!(["t"]),
            json!([7]),
            json!({"k": 7}),
            json!(true),
            json!(null),
            json!(-1),
        ] {
            let before = file.get(key).cloned();
            file[key] = value.clone();
            let path = env.write("some/p.json", file.to_string());
            let lint = env.run(["lint", path.to_str().unwrap(), "--json"]);
            let report: Value =
                serde_json::from_str(&lint.stdout).unwrap_or_else(|error| panic!("{error}: {lint:#?}"));
            assert_eq!(
                report["counts"]["errors"] == json!(0),
                validator.is_valid(&file),
                "{key}: {value}: {report:#}"
            );
            match before {
                Some(before) => file[key] = before,
                None => drop(file.as_object_mut().unwrap().shift_remove(key)),
            }
            compared += 1;
        }
    }
    assert!(compared > 300, "{compared}");
}

#[test]
fn several_problems_of_one_file_are_all_said_at_once() {
    let env = world();
    env.user_persona(&with(flat("bad", "x"), &json!({"tags": 1, "name": 2, "tiers": {"best": 3}})));
    let ran = env.run(["agent", "bad", "--dry-run"]);
    for key in [": tags: ", ": name: ", ": tiers.best: "] {
        ran.fails(2, key);
    }
    let error = env.run(["agent", "bad", "--dry-run", "--json"]).fails_in_json(2, "usage");
    assert_eq!(error["causes"].as_array().unwrap().len(), 3, "{error:#}");
}

#[test]
fn deep_nesting_is_an_error_and_not_a_crash() {
    for (open, close) in [("[", "]"), ("{\"k\":", "}")] {
        for depth in [200, 10_000, 200_000] {
            let env = world();
            let inner = if open == "[" { "" } else { "1" };
            let text =
                format!("{{\"id\": \"bad\", \"x\": {}{inner}{}}}", open.repeat(depth), close.repeat(depth));
            env.write(format!("{USER}/bad.json"), text);
            let ran = env.run(["agent", "bad", "--dry-run"]);
            ran.fails(2, "bad.json:1:").fails(2, "recursion limit");
            let list = env.run(["list"]);
            no_panic(&list);
            assert!(list.stderr.contains("bad.json"), "{list:#?}");
            assert_eq!(env.prompt(&["good"]), "fine");
            no_panic(&env.run(["lint", "--json"]));
            env.run(["persona", "rename", "bad", "x"]).fails(2, "recursion limit");
        }
    }
    // The same in a role, in the config and where a whole file is expected to be an object.
    let env = world();
    let deep = format!("{{\"x\": {}{}}}", "[".repeat(10_000), "]".repeat(10_000));
    env.write(CONFIG, &deep);
    env.write("home/.agentworkforce/workforce/roles/deep.json", &deep);
    env.user_persona(&json!({"id": "p", "role": "deep"}));
    assert_eq!(env.prompt(&["good"]), "fine");
    assert!(warnings(&env.refused_plan(2, &["p"])).iter().any(|text| text.contains("deep.json:1:")));
    env.run(["config", "set", "defaultModel", "x"]).fails(2, "config.json");
    assert_eq!(env.read(CONFIG), deep);
}

#[test]
fn a_file_of_fifty_megabytes_is_refused_without_being_read() {
    let env = world();
    let file = std::fs::File::create(env.root().join(USER).join("bad.json")).unwrap();
    file.set_len(50 * 1024 * 1024).unwrap();
    env.run(["agent", "bad", "--dry-run"]).fails(2, "bad.json: is too large: 50 MB, at most 8 MB are read");
    good_one_does_not_run(&env, "bad.json: is too large");
    // A real one, for the config and a role.
    let big = format!("{{\"x\": \"{}\"}}", "y".repeat(50 * 1024 * 1024));
    env.write(CONFIG, &big);
    env.write("home/.agentworkforce/workforce/roles/big.json", &big);
    env.user_persona(&json!({"id": "p", "role": "big"}));
    let plan = env.refused_plan(2, &["p"]);
    assert!(
        warnings(&plan).iter().any(|text| text.contains("big.json: is too large")),
        "{:?}",
        warnings(&plan)
    );
    env.run(["config", "set", "defaultModel", "x"]).fails(2, "is too large");
}

#[test]
fn a_fifo_or_a_device_does_not_hang_anything() {
    let env = world();
    for name in ["bad.json", "good.md"] {
        let made =
            std::process::Command::new("mkfifo").arg(env.root().join(USER).join(name)).status().unwrap();
        assert!(made.success());
    }
    let within = |args: &[&str]| {
        let mut child = env
            .command(args)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let start = std::time::Instant::now();
        while child.try_wait().unwrap().is_none() {
            if start.elapsed().as_secs() > 10 {
                child.kill().unwrap();
                panic!("{args:?} hangs");
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        Ran::of(&child.wait_with_output().unwrap())
    };
    within(&["agent", "bad", "--dry-run"]).fails(2, "bad.json: is not a file");
    within(&["list"]).fails(0, "bad.json: is not a file");
    assert_eq!(within(&["lint"]).code, 1);
    env.user_persona(&with(flat("good", "fine"), &json!({"claudeMd": "good.md"})));
    within(&["agent", "good", "--dry-run"]).fails(2, "good.md: claudeMd: sidecar is not a file");
    std::os::unix::fs::symlink("/dev/zero", env.root().join(USER).join("zero.json")).unwrap();
    within(&["list"]).fails(0, "zero.json: is not a file");
}

#[test]
fn a_dangling_link_is_named() {
    let env = world();
    std::os::unix::fs::symlink("nowhere.json", env.root().join(USER).join("bad.json")).unwrap();
    std::os::unix::fs::symlink("loop.json", env.root().join(USER).join("loop.json")).unwrap();
    env.run(["agent", "bad", "--dry-run"]).fails(2, "bad.json: is a link to a file that does not exist");
    env.run(["agent", "loop", "--dry-run"]).fails(2, "loop.json: cannot be read");
    good_one_does_not_run(&env, "bad.json");
}

#[test]
fn cycles_and_missing_bases_never_hide_the_others() {
    let env = world();
    env.user_persona(&json!({"id": "a", "extends": "b"}));
    env.user_persona(&json!({"id": "b", "extends": "a"}));
    env.user_persona(&json!({"id": "c", "extends": "nobody"}));
    env.run(["agent", "a", "--dry-run"]).fails(2, "a.json:3:3: extends: extends cycle: a -> b -> a");
    env.run(["agent", "c", "--dry-run"]).fails(2, "c.json:3:3: extends: extends `nobody` does not match");
    assert_eq!(env.prompt(&["good"]), "fine");
    let list = env.run(["list"]);
    assert_eq!(list.code, 0);
    assert_eq!(list.stderr.matches("extends cycle").count(), 2, "{list:#?}");
    assert_eq!(env.run(["lint", "--json"]).stdout.matches("\"severity\": \"error\"").count(), 3);
}

#[test]
fn a_broken_file_of_a_higher_layer_leaves_the_lower_persona_usable_with_a_warning() {
    let env = world();
    for text in [
        "{",
        r#"{"id": "good", "tags": 7}"#,
        r#"{"id": "good", "extends": "nobody"}"#,
        r#"{"id": "good", "claudeMdMode": "extend"}"#,
    ] {
        env.write("project/.agentworkforce/workforce/personas/good.json", text);
        let ran = env.run(["agent", "good", "--dry-run"]);
        ran.fails(2, "project/.agentworkforce/workforce/personas/good.json:");
        assert_eq!(env.prompt(&["good"]), "fine");
        let list = env.run(["list"]);
        assert!(
            list.stderr.contains("project/.agentworkforce/workforce/personas/good.json:"),
            "{text}: {list:#?}"
        );
    }
}

#[test]
fn a_broken_file_is_never_written_over() {
    let env = world();
    let path = format!("{USER}/ripley.json");
    for text in
        ["{\"id\": \"ripley\", ", "[]", "\u{feff}{\"id\": \"ripley\"", "{\"id\": \"ripley\", \"x\": }"]
    {
        env.write(&path, text);
        env.run(["persona", "rename", "ripley", "Newt"])
            .fails(2, "ripley.json")
            .fails(2, "it was not changed");
        env.run(["persona", "set", "ripley", "--tags", "x"]).fails(2, "ripley.json");
        assert_eq!(env.read(&path), text);
    }
    env.write("home/.agentworkforce/workforce/roles/engineer.json", "{");
    env.run(["role", "set", "engineer", "--label", "X"]).fails(2, "engineer.json");
    assert_eq!(env.read("home/.agentworkforce/workforce/roles/engineer.json"), "{");
}
