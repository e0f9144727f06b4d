//! Bad input: a clear message with its place, the right exit code, nothing lost, and a good persona beside it works.

use crate::support::{Ran, TestEnv, flat, warnings, with};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const USER: &str = "home/.agentworkforce/workforce/personas";
const CONFIG: &str = "home/.agentworkforce/workforce/config.json";

/// A world with one good persona.
fn world() -> TestEnv {
    let env = TestEnv::new();
    env.user_persona(&flat("good", "fine"));
    env
}

/// Every command that reads goes on, names the file in a warning, and the good persona works.
#[track_caller]
fn good_one_still_works(env: &TestEnv, named: &str) {
    assert_eq!(env.prompt(&["good"]), "fine");
    for command in
        [vec!["list"], vec!["list", "--json"], vec!["show", "good"], vec!["agent", "good", "--dry-run"]]
    {
        let ran = env.run(&command);
        no_panic(&ran);
        assert!(ran.stdout.contains("good"), "{command:?}: {ran:#?}");
        // Other commands read of a file that they do not need no more than its id.
        let reads_all = command[0] == "list";
        assert!(!reads_all || ran.stderr.contains(named), "{command:?}: {named} is not in {ran:#?}");
    }
    assert!(env.run(["role", "list"]).succeeds().stdout.contains("engineer"));
    let lint = env.run(["lint"]);
    no_panic(&lint);
    assert_eq!(lint.code, 1, "lint turns it into an error: {lint:#?}");
    assert!(lint.stdout.contains(named), "{lint:#?}");
    let lint = env.run(["lint", "--json"]);
    no_panic(&lint);
    let report: Value =
        serde_json::from_str(&lint.stdout).unwrap_or_else(|error| panic!("{error}: {lint:#?}"));
    assert!(report["errors"].as_u64().is_some_and(|errors| errors > 0), "{report:#}");
    env.run(["persona", "rename", "good", "Good"]).succeeds();
    env.run(["persona", "set", "good", "--tags", "x"]).succeeds();
}

#[track_caller]
fn no_panic(ran: &Ran) {
    assert!((0..=4).contains(&ran.code), "{ran:#?}");
    assert!(!ran.stderr.contains("panicked"), "{ran:#?}");
}

// --- One persona file ------------------------------------------------------------------------------------------------

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
        good_one_still_works(&env, &format!("bad.json:{place}"));
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
        (r#""limits": {"turns": 1.5}"#, "7:14: limits.turns: must be a whole number from 1 on"),
        (r#""limits": {"usd": -1}"#, "7:14: limits.usd: must be a number from 0 on"),
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
    assert_eq!(warnings(&plan), Vec::<String>::new());
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
            assert_eq!(report["errors"] == json!(0), validator.is_valid(&file), "{key}: {value}: {report:#}");
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
    assert!(warnings(&env.plan(&["p"])).iter().any(|text| text.contains("deep.json:1:")));
    env.run(["config", "set", "defaultModel", "x"]).fails(2, "config.json");
    assert_eq!(env.read(CONFIG), deep);
}

#[test]
fn a_file_of_fifty_megabytes_is_refused_without_being_read() {
    let env = world();
    let file = std::fs::File::create(env.root().join(USER).join("bad.json")).unwrap();
    file.set_len(50 * 1024 * 1024).unwrap();
    env.run(["agent", "bad", "--dry-run"]).fails(2, "bad.json: is too large: 50 MB, at most 8 MB are read");
    good_one_still_works(&env, "bad.json: is too large");
    // A real one, for the config and a role.
    let big = format!("{{\"x\": \"{}\"}}", "y".repeat(50 * 1024 * 1024));
    env.write(CONFIG, &big);
    env.write("home/.agentworkforce/workforce/roles/big.json", &big);
    env.user_persona(&json!({"id": "p", "role": "big"}));
    let plan = env.plan(&["p"]);
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
    within(&["agent", "good", "--dry-run"]).fails(0, "good.md: claudeMd: sidecar is not a file");
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
    good_one_still_works(&env, "bad.json");
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
        ran.fails(0, "project/.agentworkforce/workforce/personas/good.json:");
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
            .fails(2, "it was left as it is");
        env.run(["persona", "set", "ripley", "--tags", "x"]).fails(2, "ripley.json");
        assert_eq!(env.read(&path), text);
    }
    env.write("home/.agentworkforce/workforce/roles/engineer.json", "{");
    env.run(["role", "set", "engineer", "--label", "X"]).fails(2, "engineer.json");
    assert_eq!(env.read("home/.agentworkforce/workforce/roles/engineer.json"), "{");
}

// --- Encodings and names ---------------------------------------------------------------------------------------------

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
    // In a sidecar and a charter it is a warning, and the run goes on.
    env.user_persona(&with(flat("p", "x"), &json!({"claudeMd": "p.md", "role": "crew"})));
    env.write(format!("{USER}/p.md"), b"\xff");
    env.user_role("crew", &json!({"label": "Crew", "charterFile": "crew.md"}));
    env.write("home/.agentworkforce/workforce/roles/crew.md", b"a\xff");
    let said = warnings(&env.plan(&["p"])).join("\n");
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
    good_one_still_works(&env, "b\u{fffd}d.json:1:1");
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
        no_panic(&ran);
        assert!(ran.code == 0 || ran.stderr.contains("HOME"), "{command:?}: {ran:#?}");
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

// --- Directories and homes -------------------------------------------------------------------------------------------

#[test]
fn a_directory_that_cannot_be_read_is_a_warning() {
    let env = world();
    let bad = env.write("not-a-dir", "x");
    env.config(&json!({"personaDirs": ["personas", bad, bad.join("below"), "missing"]}));
    let ran = env.run(["list", "--json"]);
    assert!(ran.stderr.contains("not-a-dir: cannot be read"), "{ran:#?}");
    assert!(!ran.stderr.contains("missing"), "a missing directory is silent: {ran:#?}");
    good_one_still_works(&env, "not-a-dir: cannot be read");
    env.write("home/.agentworkforce/workforce/roles", "a file");
    assert_eq!(env.prompt(&["engineer"]), TestEnv::new().prompt(&["engineer"]));
    no_panic(&env.run(["role", "list"]));
}

#[test]
fn a_home_that_does_not_exist_is_an_empty_one_and_is_made_by_the_first_write() {
    let mut env = TestEnv::new();
    let home = env.root().join("nobody/home");
    env.set_var("HOME", home.to_str().unwrap());
    let ran = env.run(["list", "--json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    env.run(["agent", "engineer", "--dry-run"]).succeeds();
    env.run(["config", "list"]).succeeds();
    env.run(["sources", "list"]).succeeds();
    assert!(!home.exists(), "reading makes nothing");
    env.run(["persona", "rename", "ripley", "Newt"]).succeeds();
    assert!(home.join(".agentworkforce/workforce/personas/ripley.json").is_file());
}

#[test]
fn without_a_home_the_message_says_what_to_set() {
    let env = world();
    for value in [None, Some(""), Some("  "), Some("relative/home")] {
        let run = |args: &[&str]| {
            env.run_changed(args, |command| {
                command.env_remove("HOME");
                if let Some(value) = value {
                    command.env("HOME", value);
                }
            })
        };
        run(&["list"]).fails(2, "`HOME` is not set").fails(2, "AGENT_WORKFORCE_HOME");
        run(&["persona", "rename", "ripley", "x"]).fails(2, "`HOME` is not set");
        run(&["config", "set", "defaultModel", "x"]).fails(2, "`HOME` is not set");
        run(&["list", "--json"]).fails_in_json(2, "usage");
        for works in [
            vec!["--help"],
            vec!["--version"],
            vec!["schema", "persona"],
            vec!["completions", "bash"],
            vec!["man"],
        ] {
            run(&works).succeeds();
        }
        let moved = env.run_changed(["agent", "good", "--dry-run", "--json"], |command| {
            command.env_remove("HOME").env("AGENT_WORKFORCE_HOME", env.workforce());
        });
        moved.succeeds();
    }
}

#[test]
fn a_home_that_cannot_be_written_is_refused_clearly_and_reading_goes_on() {
    // As root permission bits stop nobody, so a file stands where the directory should be.
    let mut env = TestEnv::new();
    let file = env.write("blocked", "I am a file");
    env.set_var("AGENT_WORKFORCE_HOME", file.join("home").to_str().unwrap());
    assert_eq!(env.run(["list"]).code, 0);
    env.run(["agent", "engineer", "--dry-run"]).succeeds();
    for command in [
        vec!["persona", "rename", "ripley", "Newt"],
        vec!["persona", "set", "ripley", "--tags", "x"],
        vec!["role", "set", "engineer", "--label", "X"],
        vec!["config", "set", "defaultModel", "x"],
        vec!["config", "unset", "defaultModel"],
    ] {
        let ran = env.run(&command);
        assert_eq!(ran.code, 2, "{command:?}: {ran:#?}");
        assert!(ran.stderr.contains("blocked") && ran.stderr.contains("hint: "), "{command:?}: {ran:#?}");
    }
    assert_eq!(env.read("blocked"), "I am a file");
    // The home itself is fine but the place for personas is a file.
    let env = TestEnv::new();
    env.write(USER, "I am a file");
    env.run(["persona", "rename", "ripley", "Newt"]).fails(2, "personas");
    assert_eq!(env.read(USER), "I am a file");
    env.run(["agent", "ripley", "--dry-run"]).succeeds();
}

#[test]
fn a_log_that_cannot_be_written_is_said_clearly() {
    let env = world();
    env.write("home/.agentworkforce/workforce/logs", "a file");
    let ran = env.run(["persona", "rename", "good", "Good"]);
    no_panic(&ran);
    assert!(ran.stderr.contains("logs"), "{ran:#?}");
}

#[test]
fn a_working_directory_that_is_gone_is_said_clearly() {
    let env = world();
    let gone = env.root().join("gone");
    std::fs::create_dir(&gone).unwrap();
    let ran = std::process::Command::new("sh")
        .args(["-c", "cd \"$1\" && rmdir \"$1\" && exec \"$2\" list", "sh"])
        .arg(&gone)
        .arg(env!("CARGO_BIN_EXE_agentworkforce"))
        .env("HOME", env.home())
        .output()
        .unwrap();
    Ran::of(&ran)
        .fails(2, "the working directory cannot be read")
        .fails(2, "change to a directory that exists");
}

// --- The config ------------------------------------------------------------------------------------------------------

#[test]
fn a_config_that_is_half_written_is_a_warning_for_readers_and_untouched_by_writers() {
    let env = world();
    let half = "{\n  \"defaultHarness\": \"codex\",\n  \"unknown\": {\"k\": 1";
    env.write(CONFIG, half);
    let ran = env.run(["agent", "good", "--dry-run", "--json"]);
    assert!(ran.stderr.contains("config.json:3:20: is not valid JSON"), "{ran:#?}");
    assert_eq!(ran.json()["harness"]["kind"], "claude");
    assert_eq!(env.row("good")["source"], "user", "readers fall back to the defaults");
    let other = env.root().join("other");
    std::fs::create_dir(&other).unwrap();
    for command in [
        vec!["config", "set", "defaultModel", "x"],
        vec!["config", "unset", "defaultHarness"],
        vec!["sources", "add", other.to_str().unwrap()],
        vec!["sources", "remove", "1"],
    ] {
        env.run(&command).fails(2, "config.json cannot be edited").fails(2, "it was left as it is");
        assert_eq!(env.read(CONFIG), half, "{command:?}");
    }
    env.run(["agent", "good", "--dry-run", "--strict"]).fails(4, "config.json");
}

#[test]
fn a_wrong_setting_is_left_out_and_the_others_count() {
    let env = world();
    env.config(&json!({"defaultHarness": "vim", "personaDirs": "x", "defaultModel": "opus", "limits": {"turns": "many", "usd": 3}, "mount": 7, "features": {"agent-rename": "no"}, "tpyo": 1}));
    let ran = env.run(["agent", "good", "--dry-run", "--json"]);
    for key in [
        "2:3: defaultHarness",
        "3:3: personaDirs",
        "limits.turns",
        "mount",
        "features.agent-rename",
        "tpyo: unknown field",
    ] {
        assert!(
            ran.stderr.contains(&format!("config.json:{key}")) || ran.stderr.contains(&format!(": {key}")),
            "{key}: {ran:#?}"
        );
    }
    let plan = ran.json();
    assert_eq!((&plan["model"]["value"], &plan["model"]["from"]), (&json!("opus"), &json!("config")));
    for text in ["[]", "7", "\"x\"", "null"] {
        env.write(CONFIG, text);
        env.run(["list"]).fails(0, "config.json: must be a JSON object");
        env.run(["config", "set", "defaultModel", "x"]).fails(2, "must be a JSON object");
        assert_eq!(env.read(CONFIG), text);
    }
}

// --- Many at once ----------------------------------------------------------------------------------------------------

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
    let outcomes: Vec<i32> = std::thread::scope(|scope| {
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
    assert_eq!(outcomes.iter().filter(|code| **code == 0).count(), 1, "{outcomes:?}");
    assert!(outcomes.iter().all(|code| [0, 2].contains(code)), "{outcomes:?}");
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
