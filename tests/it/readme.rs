//! The README and `docs` as a user follows them: every console example is run, in order, and says what is shown there.

use crate::support::TestEnv;
use crate::support::terminal::without_terminal;
use serde_json::json;
use std::path::Path;
use std::process::{Command, Stdio};

/// Does the task of the README's example. Where there is a `greet.sh`, it breaks it and says otherwise, and mends it the next time.
const CLAUDE: &str = r#"#!/bin/sh
if [ "$1" = --version ]; then echo "2.1.197 (stand-in)"; exit 0; fi
cat > /dev/null
said="I added farewell.txt."
report() {
  [ -z "${AGENTWORKFORCE_REPORT:-}" ] || printf '{"schema_version":"worker-report.v1","status":"completed","task":"x","files_changed":[%s],"commit":null,"summary":"%s","memory_updates":[],"nonce":"%s"}' "$1" "$said" "$AGENTWORKFORCE_NONCE" > "$AGENTWORKFORCE_REPORT"
}
if [ ! -e greet.sh ]; then
echo goodbye > farewell.txt
report '"farewell.txt"'
elif grep -q world greet.sh; then
said="greet defaults to the world, and says other names as before."
echo 'greet() { echo "hello, ${1:-world}"; }' > greet.sh
report '"greet.sh"'
else
said="greet defaults to the world, all tests pass."
echo 'greet() { echo "hello, world"; }' > greet.sh
report '"greet.sh","README.md"'
fi
echo '{"type":"system","subtype":"init","session_id":"s","model":"stand-in"}'
echo '{"type":"result","subtype":"success","is_error":false,"result":"'"$said"'","session_id":"s"}'
"#;

/// A command of a document with the lines that it is shown to print.
struct Example {
    command: String,
    shown: Vec<String>,
}

/// The README and all of `docs`, by path.
fn documents() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = vec!["README.md".to_owned()];
    for entry in std::fs::read_dir(root.join("docs")).expect("docs") {
        let name = entry.expect("an entry").file_name().into_string().expect("a plain name");
        if Path::new(&name).extension().is_some_and(|extension| extension == "md") {
            paths.push(format!("docs/{name}"));
        }
    }
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), document(&path))).collect()
}

fn document(path: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// `$ ` starts a command, `> ` goes on with it, everything else is what it prints.
fn examples(text: &str) -> Vec<Example> {
    let mut found: Vec<Example> = Vec::new();
    for block in text.split("```console\n").skip(1) {
        for line in block.split("\n```").next().unwrap_or_default().lines() {
            if let Some(command) = line.strip_prefix("$ ") {
                found.push(Example { command: command.to_owned(), shown: Vec::new() });
            } else if let (Some(rest), Some(last)) = (line.strip_prefix("> "), found.last_mut()) {
                last.command.push('\n');
                last.command.push_str(rest);
            } else if let Some(last) = found.last_mut() {
                last.shown.push(line.to_owned());
            }
        }
    }
    found
}

/// Whether the shown lines are in the output in this order; a line or a tail of `...` stands for anything.
fn shows(output: &str, shown: &[String]) -> Result<(), String> {
    let mut lines = output.lines().map(str::trim_end);
    for wanted in shown.iter().map(|line| line.trim_end()).filter(|line| *line != "...") {
        let fits = |line: &str| match wanted.split_once("...") {
            Some((start, end)) => line.starts_with(start) && line.ends_with(end),
            None => line == wanted,
        };
        if !lines.by_ref().any(fits) {
            return Err(format!("`{wanted}` is not in its place in:\n{output}"));
        }
    }
    Ok(())
}

/// A world with the program and a stand-in for an installed harness; `tests/real` has the real ones.
struct Reader {
    env: TestEnv,
    path: String,
}

impl Reader {
    fn new() -> Reader {
        let env = TestEnv::new();
        let bin = Path::new(env!("CARGO_BIN_EXE_agentworkforce")).parent().expect("a directory");
        let harness = env.write("bin/claude", CLAUDE);
        std::fs::set_permissions(&harness, std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .expect("ours");
        let usual = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{}:{usual}", bin.display(), env.root().join("bin").display());
        Reader { env, path }
    }

    /// Runs a text as somebody does who pastes it; what it prints on stdout, if it succeeds.
    fn runs(&self, text: &str, variables: &[(&str, &str)]) -> Result<String, String> {
        let mut words = without_terminal();
        words.push("bash");
        let output = Command::new(words[0])
            .args(&words[1..])
            .args(["-euo", "pipefail", "-c", text])
            .current_dir(self.env.project())
            .env_clear()
            .env("HOME", self.env.home())
            .env("PATH", &self.path)
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .output()
            .expect("bash runs");
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        let stderr = String::from_utf8_lossy(&output.stderr);
        if output.status.success() { Ok(stdout) } else { Err(format!("$ {text}\n{stdout}{stderr}")) }
    }
}

/// Runs the examples of a document in order, in a world of its own.
fn follow(path: &str, examples: &[Example]) {
    let reader = Reader::new();
    for example in examples {
        let stdout = reader.runs(&example.command, &[]).unwrap_or_else(|said| panic!("{path}: {said}"));
        if let Err(problem) = shows(&stdout, &example.shown) {
            panic!("{path}: $ {}\n{problem}", example.command);
        }
    }
}

/// A clone of a repository with one commit and no personas, as a CI system makes it.
fn checkout() -> Reader {
    let reader = Reader::new();
    let made = reader.runs(
        "rm -rf .git && git init -q -b main . && git config user.name you && git config user.email you@example.com
         echo hello > greeting.txt && git add . && git commit -qm start
         git clone -q --bare . ../origin.git && git remote add origin \"$PWD/../origin.git\"
         git switch -qc change && echo goodbye > greeting.txt && git commit -qam change",
        &[],
    );
    made.unwrap();
    reader
}

#[test]
fn the_ci_recipe_runs_verbatim_in_a_repository_without_personas() {
    let text = document("README.md");
    let (_, below) = text.split_once("\n## In CI\n").expect("a heading");
    let recipe = below.split("```sh\n").nth(1).and_then(|rest| rest.split("\n```").next()).expect("a recipe");
    let reader = checkout();
    assert_eq!(reader.runs(recipe, &[]).unwrap(), "I added farewell.txt.\n");
    assert_eq!(reader.runs("git status --short", &[]).unwrap(), "?? review.md\n");
}

/// The texts under this key, wherever it is.
fn under(value: &serde_json::Value, key: &str, found: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(object) => {
            for (name, value) in object {
                match value {
                    serde_json::Value::String(text) if name == key => found.push(text.clone()),
                    serde_json::Value::Array(list) if name == key => {
                        found.extend(list.iter().filter_map(|text| text.as_str().map(str::to_owned)));
                    }
                    other => under(other, key, found),
                }
            }
        }
        serde_json::Value::Array(list) => list.iter().for_each(|value| under(value, key, found)),
        _ => {}
    }
}

#[test]
fn the_files_for_ci_systems_are_valid_and_what_they_run_works() {
    let text = document("docs/containers.md");
    for (file, key, commands) in [(".github/workflows/agents.yml", "run", 2), (".gitlab-ci.yml", "script", 5)]
    {
        let (_, below) = text.split_once(&format!("<!-- ci file: {file} -->")).expect(file);
        let yaml =
            below.split("```yaml\n").nth(1).and_then(|rest| rest.split("\n```").next()).expect("a file");
        let value: serde_json::Value =
            serde_saphyr::from_str(yaml).unwrap_or_else(|error| panic!("{file}: {error}"));
        let mut texts = Vec::new();
        under(&value, key, &mut texts);
        texts.retain(|text| !text.contains("apt-get") && !text.contains("npm install"));
        assert_eq!(texts.len(), commands, "{file}: {texts:#?}");
        let reader = checkout();
        reader.runs("git fetch -q origin", &[]).unwrap();
        let summary = reader.env.root().join("summary").display().to_string();
        for text in &texts {
            let variables = [("TASK", "Add a farewell; $(touch ran)"), ("GITHUB_STEP_SUMMARY", &*summary)];
            reader.runs(text, &variables).unwrap_or_else(|said| panic!("{file}: {said}"));
        }
        assert!(reader.env.read("project/agent.patch").contains("+++ b/farewell.txt"), "{file}");
        assert_eq!(reader.env.read("project/review.md"), "I added farewell.txt.\n", "{file}");
        assert!(!reader.env.project().join("ran").exists(), "the task was run by the shell");
        // The next job has the same home; in the one after that the agent changes nothing.
        for claude in [CLAUDE, &CLAUDE.replace("echo goodbye > farewell.txt\n", "")] {
            reader.env.write("bin/claude", claude);
            reader.runs("rm agent.patch", &[]).unwrap();
            for text in texts.iter().filter(|text| !text.starts_with("git fetch")) {
                let variables = [("TASK", "Add a farewell"), ("GITHUB_STEP_SUMMARY", &*summary)];
                reader.runs(text, &variables).unwrap_or_else(|said| panic!("{file}: {said}"));
            }
            assert_eq!(reader.env.project().join("agent.patch").exists(), claude == CLAUDE, "{file}");
        }
    }
}

#[test]
fn every_console_example_works() {
    for (path, text) in documents() {
        let examples = examples(&text);
        assert!(!examples.is_empty(), "{path} has lost its examples");
        follow(&path, &examples);
    }
}

#[test]
fn the_reference_is_what_the_program_prints() {
    let env = TestEnv::new();
    let mut text = document("docs/personas.md");
    for format in ["persona", "role", "config"] {
        let start = format!("<!-- made by: agentworkforce schema {format} --markdown -->\n");
        let at = text.find(&start).expect("a mark") + start.len();
        let end = at + text[at..].find("<!-- end -->").expect("an end");
        let printed = env.run(["schema", format, "--markdown"]).succeeds().stdout.clone();
        text.replace_range(at..end, &format!("\n{printed}\n"));
    }
    if std::env::var_os("AGENTWORKFORCE_RECORD").is_some() {
        std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/personas.md"), &text)
            .expect("writable");
    }
    pretty_assertions::assert_eq!(
        document("docs/personas.md"),
        text,
        "`docs/recording/record` writes it anew"
    );
    env.run(["schema", "plan", "--markdown"]).fails(2, "persona, role and config");
}

#[test]
fn every_setting_is_explained() {
    let env = TestEnv::new();
    let reference = document("docs/personas.md");
    let (_, below) = reference.split_once("\n## Settings\n").expect("a heading");
    let settings = env.run(["config", "list", "--json"]).json();
    for setting in settings["settings"].as_array().expect("settings") {
        let key = setting["key"].as_str().expect("a key");
        let last = key.rsplit('.').next().expect("a word");
        let named = below.contains(&format!("| `{last}` |")) || below.contains(&format!("`{key}`"));
        assert!(named, "{key} is not in docs/personas.md");
    }
}

/// The backquoted words that begin the rows of the tables in a section.
fn explained<'t>(text: &'t str, heading: &str) -> Vec<&'t str> {
    let (_, below) = text.split_once(heading).expect("a heading");
    let section = below.split("\n## ").next().expect("a section");
    let cells = section.lines().filter_map(|line| line.strip_prefix("| `")?.split(" |").next());
    cells.flat_map(|cell| cell.trim_end_matches('`').split("`, `")).collect()
}

#[test]
fn every_field_of_a_contract_and_every_check_is_explained() {
    let env = TestEnv::new();
    let text = document("docs/work.md");
    let schema = env.run(["schema", "contract"]).json();
    let mut fields: Vec<&str> =
        schema["properties"].as_object().expect("properties").keys().map(String::as_str).collect();
    let mut rows = explained(&text, "\n## The contract file\n");
    fields.sort_unstable();
    rows.sort_unstable();
    assert_eq!(rows, fields);
    let flags = ["work", "x", "--check", "sh test.sh", "--review", "code-reviewer", "--dry-run", "--json"];
    let plan = env.run(flags).json();
    let checks: Vec<&str> = plan["checks"]
        .as_array()
        .expect("checks")
        .iter()
        .map(|name| name.as_str().expect("a name"))
        .collect();
    let rows = explained(&text, "\n## What is measured\n");
    assert_eq!(rows, checks);
}

/// The table of `docs/harnesses.md`, held against the plans of one persona that demands everything.
#[test]
fn the_table_of_what_is_enforced_says_what_plans_say() {
    let env = TestEnv::new();
    env.project_persona(&json!({
        "id": "x", "intent": "x", "harness": "claude", "systemPrompt": "x", "hermetic": true, "env": {"A": "b"},
        "inherit": ["instructions", "mcp", "hooks"],
        "limits": {"turns": 3, "usd": 1, "wallSeconds": 4}, "harnessSettings": {"reasoning": "high"},
        "permissions": {"allow": ["Read"], "deny": ["Bash"], "mode": "plan"}, "mcpServers": {"a": {"command": "b"}},
    }));
    let text = document("docs/harnesses.md");
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| line.starts_with("| `") && (line.contains("enforced") || line.contains("advisory")))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    assert!(rows.len() > 10, "the table is gone");
    for (column, harness, model) in
        [(1, "claude", "opus"), (2, "opencode", "openai/gpt"), (3, "codex", "gpt")]
    {
        let args = ["agent", "x", "-p", "y", "--dry-run", "--json", "--harness", harness, "--model", model];
        let plan = env.run(args).json();
        let matrix = plan["enforcement"].as_array().expect("a matrix");
        for row in &rows {
            let field = row[0].trim_matches('`');
            let known = matrix.iter().find(|entry| entry["field"] == field);
            let level =
                known.unwrap_or_else(|| panic!("{harness}: {field}"))["level"].as_str().expect("a level");
            assert!(row[column].starts_with(level), "{harness}: {field} is {level}, not {}", row[column]);
        }
    }
}

/// Scripts match on these words, so `docs/ci.md` lists all of them and no others.
#[test]
fn every_code_of_a_warning_and_a_refusal_is_explained() {
    let env = TestEnv::new();
    let text = document("docs/ci.md");
    for (format, name, heading) in [
        ("report", "WarningCode", "\n### Warnings\n"),
        ("plan", "RefusalCode", "\n## Dry runs and refusals\n"),
    ] {
        let schema = env.run(["schema", format]).json();
        let variants = schema["$defs"][name]["oneOf"].as_array().expect("variants");
        let mut codes: Vec<&str> =
            variants.iter().map(|variant| variant["const"].as_str().expect("a word")).collect();
        let (_, below) = text.split_once(heading).expect("a heading");
        let section = below.split("\n## ").next().expect("a section");
        let mut explained: Vec<&str> =
            section.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
        codes.sort_unstable();
        explained.sort_unstable();
        assert_eq!(explained, codes, "the table below {heading}");
    }
}

/// `benches/run --docs` writes between two marks; figures of the program are worth little without what stood beside it.
#[test]
fn the_table_of_benchmarks_has_its_floors() {
    let page = document("docs/performance.md");
    let (_, below) = page.split_once("\n<!-- benches/run -->\n").expect("a mark");
    let (table, _) = below.split_once("\n<!-- end of benches/run -->\n").expect("an end");
    for row in
        ["`--version`", "`list --json`", "agent, 20,000 files", "open an overlay", "open a copy", "400 MB"]
    {
        assert!(table.contains(row), "{row} is not in the table");
    }
    for floor in ["`true`", "`find`", "`cp -a`", "the harness alone"] {
        assert!(table.contains(&format!("| {floor} |")), "{floor} is not in the table");
    }
    assert!(table.contains("Measured on 20") && table.contains("`benches/run`"), "when, and by what");
}

#[test]
fn no_link_between_the_documents_leads_nowhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (path, text) in documents() {
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.contains("://") {
                continue;
            }
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() {
                root.join(&path)
            } else {
                root.join(&path).parent().expect("a directory").join(file)
            };
            assert!(target.exists(), "{path}: {link}");
            if !heading.is_empty() {
                let there = std::fs::read_to_string(&target).expect("text");
                assert!(there.lines().any(|line| anchor(line) == heading), "{path}: {link}");
            }
        }
    }
}

/// How a heading is addressed; nothing for other lines.
fn anchor(line: &str) -> String {
    let Some(title) = line.strip_prefix('#') else { return String::new() };
    let title = title.trim_start_matches('#').trim().to_lowercase();
    title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c)).collect::<String>().replace(' ', "-")
}
