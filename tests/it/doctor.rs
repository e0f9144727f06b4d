//! `doctor` with pretended harnesses: what it finds, what it advises, and that it gives nothing away.

use crate::support::{Ran, TestEnv, flat, with};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;

const SECRET: &str = "sk-ant-0123456789abcdef";

/// A machine whose PATH has nothing but what the test puts there.
fn machine() -> TestEnv {
    let mut env = TestEnv::new();
    std::fs::create_dir_all(env.root().join("bin")).expect("writable");
    env.set_var("PATH", &env.root().join("bin").display().to_string());
    env
}

fn program(env: &TestEnv, name: &str, script: &str) {
    let path = env.write(format!("bin/{name}"), format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("ours");
}

fn versions(env: &TestEnv) {
    for (name, says) in [
        ("claude", "2.1.197 (Claude Code)"),
        ("codex", "codex-cli 0.166.0"),
        ("opencode", "1.18.33"),
        ("git", "git version 2.47.3"),
        ("node", "v20.20.2"),
        ("npm", "11.19.1"),
        ("npx", "11.19.1"),
    ] {
        program(env, name, &format!("echo '{says}'"));
    }
}

/// The rows, whatever the exit code; the code must agree with them.
#[track_caller]
fn rows(ran: &Ran) -> Vec<Value> {
    let report: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:#?}"));
    assert_eq!((&report["schemaVersion"], &report["warnings"]), (&json!(2), &json!([])));
    let rows = report["rows"].as_array().expect("rows").clone();
    let has_problem = rows.iter().any(|row| row["status"] == "problem");
    assert_eq!(ran.code, i32::from(has_problem), "{ran:#?}");
    for row in &rows {
        let keys: Vec<&str> = row.as_object().expect("an object").keys().map(String::as_str).collect();
        match row["status"].as_str() {
            Some("ok") => assert_eq!(keys, ["area", "name", "status", "detail"]),
            Some("warning" | "problem") => {
                assert_eq!(keys, ["area", "name", "status", "detail", "fix"]);
                assert!(!row["fix"].as_str().expect("text").is_empty(), "{row:#}");
            }
            other => panic!("{other:?}"),
        }
    }
    rows
}

#[track_caller]
fn row(rows: &[Value], area: &str, name: &str) -> Value {
    let found = rows.iter().find(|row| row["area"] == area && row["name"] == name);
    found.unwrap_or_else(|| panic!("{area}/{name} is not in {rows:#?}")).clone()
}

#[track_caller]
fn says(row: &Value, status: &str, detail: &str) {
    assert_eq!(row["status"], status, "{row:#}");
    assert!(row["detail"].as_str().expect("text").contains(detail), "{detail:?} is not in {row:#}");
}

fn names(env: &TestEnv) -> BTreeSet<String> {
    env.everything().into_keys().collect()
}

#[test]
fn a_machine_with_everything_is_well_and_nothing_is_left_behind() {
    let mut env = machine();
    versions(&env);
    env.set_var("ANTHROPIC_API_KEY", SECRET);
    env.set_var("CODEX_API_KEY", SECRET);
    // codex and opencode make such directories when they are asked for their version.
    let temp = env.root().join("temp");
    std::fs::create_dir(&temp).expect("ours");
    env.set_var("TMPDIR", temp.to_str().expect("text"));
    program(
        &env,
        "codex",
        "mkdir -p \"${CODEX_HOME:-$HOME/.codex}/tmp\" \"$TMPDIR/codex\"; echo 'codex-cli 0.166.0'",
    );
    let before = names(&env);
    let ran = env.run(["doctor", "--json"]);
    let rows = rows(&ran);
    assert_eq!(ran.code, 0, "{ran:#?}");
    assert_eq!(names(&env), before);
    assert!(!ran.stdout.contains(SECRET) && !ran.stderr.contains(SECRET), "{ran:#?}");
    let bin = env.root().join("bin");
    says(&row(&rows, "harness", "claude"), "ok", &format!("2.1.197 at {}/claude", bin.display()));
    says(&row(&rows, "harness", "codex"), "ok", "0.166.0 at ");
    says(&row(&rows, "harness", "opencode"), "ok", "1.18.33 at ");
    says(&row(&rows, "login", "claude"), "ok", "ANTHROPIC_API_KEY");
    says(&row(&rows, "login", "codex"), "ok", "CODEX_API_KEY");
    says(&row(&rows, "login", "opencode"), "ok", "ANTHROPIC_API_KEY");
    for tool in ["git", "node", "npm", "npx"] {
        says(&row(&rows, "tool", tool), "ok", " at ");
    }
    says(&row(&rows, "home", "directory"), "ok", ".agentworkforce/workforce");
    says(&row(&rows, "workforce", "files"), "ok", "no errors");
    says(&row(&rows, "sessions", "all"), "ok", "nothing to decide");
    // What can be had depends on the machine; that it is said does not.
    row(&rows, "mount", "backend");
    row(&rows, "mount", "sandbox");
    let report: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let levels = report["sandbox"].as_array().expect("levels");
    assert_eq!(levels.iter().map(|level| &level["level"]).collect::<Vec<_>>(), ["off", "project", "strict"]);
    for level in levels {
        assert_eq!(level["available"].as_bool(), Some(level["reason"].is_null()), "{level:#}");
        // A run is the proof.
        let name = level["level"].as_str().expect("text");
        let tried = env.run(["mount", "--mount", "auto", "--sandbox", name, "--", "/bin/sh", "-c", ":"]);
        assert_eq!(level["available"].as_bool(), Some(tried.code == 0), "{level:#} {tried:#?}");
    }
    row(&rows, "mount", "limits");
    let limits = report["limits"].as_array().expect("limits");
    let names: Vec<_> = limits.iter().map(|limit| &limit["limit"]).collect();
    assert_eq!(names, ["processes", "memoryMb", "diskMb"]);
    for limit in limits {
        assert_eq!(limit["available"].as_bool(), Some(limit["reason"].is_null()), "{limit:#}");
    }

    let text = env.run(["doctor"]);
    text.succeeds();
    assert!(text.stdout.contains("0 problems, "), "{text:#?}");
    assert!(!text.stdout.contains(SECRET), "{text:#?}");
}

#[test]
fn an_empty_machine_is_told_what_to_install() {
    let env = machine();
    let rows = rows(&env.run(["doctor", "--json"]));
    for (name, package) in
        [("claude", "@anthropic-ai/claude-code"), ("codex", "@openai/codex"), ("opencode", "opencode-ai")]
    {
        let row = row(&rows, "harness", name);
        says(&row, "warning", "not installed");
        assert_eq!(row["fix"], format!("npm install -g {package}"));
    }
    assert!(!rows.iter().any(|row| row["area"] == "login"), "{rows:#?}");
    says(&row(&rows, "harness", "any"), "problem", "no harness can be used");
    assert_eq!(row(&rows, "harness", "any")["fix"], "npm install -g @anthropic-ai/claude-code");
    says(&row(&rows, "tool", "npx"), "warning", "skills from prpm");
    env.run(["doctor"]).fails_with_output(1, "fix: npm install -g opencode-ai");
}

#[test]
fn a_harness_that_answers_nonsense_is_a_problem_and_its_answer_is_not_shown() {
    let mut env = machine();
    versions(&env);
    env.set_var("ANTHROPIC_API_KEY", SECRET);
    program(&env, "claude", "echo \"welcome $ANTHROPIC_API_KEY\"");
    program(&env, "codex", "echo 0.1.0; exit 3");
    env.write("bin/opencode", "#!/nonexistent/interpreter\n");
    let path = env.root().join("bin/opencode");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("ours");
    let ran = env.run(["doctor", "--json"]);
    let found = rows(&ran);
    says(&row(&found, "harness", "claude"), "problem", "--version prints no version");
    says(&row(&found, "harness", "codex"), "problem", "--version ends with exit code 3");
    says(&row(&found, "harness", "opencode"), "problem", "cannot be started");
    assert!(!ran.stdout.contains("welcome") && !ran.stdout.contains(SECRET), "{ran:#?}");
    // A file that nobody may execute.
    env.write("bin/plain/claude", "");
    env.set_var("PATH", &env.root().join("bin/plain").display().to_string());
    says(&row(&rows(&env.run(["doctor", "--json"])), "harness", "claude"), "problem", "is not executable");
}

#[test]
fn one_usable_harness_is_enough() {
    let mut env = machine();
    program(&env, "codex", "echo codex-cli 0.166.0");
    let found = rows(&env.run(["doctor", "--json"]));
    says(&row(&found, "harness", "any"), "problem", "no harness can be used");
    assert_eq!(row(&found, "harness", "any")["fix"], row(&found, "login", "codex")["fix"]);
    env.set_var("CODEX_API_KEY", SECRET);
    let ran = env.run(["doctor", "--json"]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    says(&row(&rows(&ran), "harness", "claude"), "warning", "used by 21 personas");
}

/// One harness, the files and variables of a machine, and what is said about its login.
type LoginCase<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a [(&'a str, &'a str)], &'a str, &'a str);

#[test]
fn logins_are_found_without_a_request_and_without_a_word_of_them() {
    let oauth = format!(r#"{{"claudeAiOauth": {{"accessToken": "{SECRET}", "refreshToken": "{SECRET}"}}}}"#);
    let expired = format!(r#"{{"claudeAiOauth": {{"accessToken": "{SECRET}", "expiresAt": 1000}}}}"#);
    let key_file = format!(r#"{{"OPENAI_API_KEY": "{SECRET}"}}"#);
    let opencode_auth = format!(r#"{{"anthropic": {{"type": "api", "key": "{SECRET}"}}}}"#);
    let provider = "model_provider = \"mine\"\n[model_providers.mine]\nenv_key = \"MY_KEY\"\n";
    let broken = format!("{{ {SECRET}");
    let cases: &[LoginCase] = &[
        ("claude", &[], &[], "warning", "no login of claude's own"),
        ("claude", &[], &[("CLAUDE_CODE_OAUTH_TOKEN", SECRET)], "ok", "CLAUDE_CODE_OAUTH_TOKEN"),
        ("claude", &[("home/.claude/.credentials.json", &oauth)], &[], "ok", ".claude/.credentials.json"),
        ("claude", &[("home/.claude/.credentials.json", &expired)], &[], "warning", "has expired"),
        ("claude", &[("home/.claude/.credentials.json", &broken)], &[], "problem", "is not valid JSON"),
        ("claude", &[("home/.claude/settings.json", r#"{"apiKeyHelper": "x"}"#)], &[], "ok", "apiKeyHelper"),
        ("codex", &[], &[], "warning", "no login of codex's own"),
        ("codex", &[], &[("OPENAI_API_KEY", SECRET)], "warning", "does not read OPENAI_API_KEY"),
        ("codex", &[("home/.codex/auth.json", &key_file)], &[], "ok", ".codex/auth.json"),
        ("codex", &[("home/.codex/auth.json", r#"{"tokens": {}}"#)], &[], "ok", ".codex/auth.json"),
        ("codex", &[("home/.codex/config.toml", provider)], &[], "warning", "wants MY_KEY, which is not set"),
        ("codex", &[("home/.codex/config.toml", provider)], &[("MY_KEY", SECRET)], "ok", "`mine`"),
        ("opencode", &[], &[], "warning", "free models"),
        ("opencode", &[("home/.local/share/opencode/auth.json", &opencode_auth)], &[], "ok", "(anthropic)"),
        ("opencode", &[], &[("OPENROUTER_API_KEY", SECRET)], "ok", "OPENROUTER_API_KEY"),
        (
            "opencode",
            &[("home/.config/opencode/opencode.json", r#"{"provider": {}}"#)],
            &[],
            "ok",
            "provider in",
        ),
    ];
    for (harness, files, vars, status, detail) in cases {
        let mut env = machine();
        program(&env, harness, "echo 1.2.3");
        for (path, text) in *files {
            env.write(path, text);
        }
        for (name, value) in *vars {
            env.set_var(name, value);
        }
        let ran = env.run(["doctor", "--json"]);
        says(&row(&rows(&ran), "login", harness), status, detail);
        assert!(!ran.stdout.contains(SECRET) && !ran.stderr.contains(SECRET), "{ran:#?}");
    }
}

#[test]
fn broken_files_are_counted_and_lint_is_named() {
    let mut env = machine();
    program(&env, "opencode", "echo 1.18.33");
    env.project_persona(&with(flat("p", "x"), &json!({"tiers": 3})));
    let found = rows(&env.run(["doctor", "--json"]));
    let files = row(&found, "workforce", "files");
    says(&files, "problem", "p.json");
    assert_eq!(files["fix"], "agentworkforce lint");
    says(&row(&found, "workforce", "layers"), "ok", "project, user, built-in");
    env.set_var("AGENT_WORKFORCE_HOME", "/proc/none");
    says(&row(&rows(&env.run(["doctor", "--json"])), "home", "directory"), "problem", "cannot be written");
}

#[test]
fn sessions_that_wait_are_counted() {
    let mut env = TestEnv::new();
    env.write("project/a.txt", "a\n");
    for _ in 0..2 {
        env.run(["mount", "--mount", "copy", "--apply", "never", "--", "sh", "-c", "echo b > a.txt"])
            .succeeds();
    }
    let sessions = env.workforce().join("sessions");
    let dir = std::fs::read_dir(sessions).expect("sessions").next().expect("one").expect("readable").path();
    let status = std::fs::read_to_string(dir.join("status.json")).expect("a status");
    std::fs::write(dir.join("status.json"), status.replace("\"held\"", "\"running\"")).expect("writable");
    std::fs::create_dir_all(env.root().join("bin")).expect("writable");
    env.set_var("PATH", &env.root().join("bin").display().to_string());
    program(&env, "opencode", "echo 1.18.33");
    let ran = env.run(["doctor", "--json"]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    let found = rows(&ran);
    let interrupted = row(&found, "sessions", "interrupted");
    says(&interrupted, "warning", "1 whose runner died");
    assert_eq!(interrupted["fix"], "agentworkforce sessions recover");
    says(&row(&found, "sessions", "held"), "warning", "1 with work");
}

#[test]
fn it_is_in_the_help_and_in_the_completions() {
    let env = TestEnv::new();
    assert!(env.run(["--help"]).stdout.contains("  doctor       Check harnesses"));
    assert!(env.run(["__complete", "fish", "--", "doc"]).stdout.starts_with("doctor\t"));
    env.run(["doctor", "--nonsense"]).fails(2, "--nonsense");
}
