//! The agent files that people already have: every one of the corpus becomes a persona that is accepted and runs.
//!
//! The corpus is not part of this repository; `support/require.rs` says where it is looked for.

use crate::support::TestEnv;
use crate::support::require;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn the_agents_of_the_corpus_are_imported_accepted_and_runnable() {
    let corpus = require::corpus().join("agents");
    let env = TestEnv::new();
    let ran = env.run(["import".as_ref(), corpus.as_os_str(), "--json".as_ref()]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:#?}"));
    let files = report["files"].as_array().expect("files");
    let status = |wanted: &str| files.iter().filter(|row| row["status"] == wanted).count();
    let (imported, failed) = (status("imported"), status("failed"));
    assert!(imported >= 250, "only {imported} of the corpus were imported");
    assert!(failed * 100 <= imported, "{failed} failed beside {imported}");

    let lint = env.run(["lint", "--strict", "--json"]);
    assert_eq!(lint.code, 0, "{lint:#?}");

    let mut refused = Vec::new();
    for row in files.iter().filter(|row| row["status"] == "imported") {
        let id = row["persona"].as_str().expect("an id");
        let file = row["file"].as_str().expect("a file");
        let persona: Value =
            serde_json::from_str(&std::fs::read_to_string(file).expect("written")).expect("JSON");
        let mut args = vec![
            "agent".to_owned(),
            "--dry-run".into(),
            "--json".into(),
            id.into(),
            "--harness".into(),
            "claude".into(),
        ];
        for name in persona["inputs"].as_object().into_iter().flat_map(serde_json::Map::keys) {
            args.extend(["--input".to_owned(), format!("{name}=v")]);
        }
        let ran = env.run(&args);
        if ran.code != 0 {
            refused.push(format!("{id}: {}", ran.stderr));
        }
        accounted(row, &persona);
    }
    assert!(refused.len() * 100 <= imported, "{refused:#?}");
    eprintln!(
        "{imported} imported, {failed} failed, {} passed over, {} not runnable",
        status("skipped"),
        refused.len()
    );
}

/// What a person calls the agents of each collection: its number, and the files that are none.
const COLLECTIONS: [(&str, usize, &[&str]); 5] = [
    // All files; five of them have no frontmatter, and a heading *System Prompt*.
    ("claude-a", 37, &[]),
    ("claude-b", 158, &[]),
    ("codex", 60, &[]),
    // The recipes, without a form for issues and two workflows of GitHub.
    (
        "goose",
        37,
        &[
            ".github_ISSUE_TEMPLATE_submit-recipe.yml",
            ".github_workflows_docs-update-recipe-ref.yml",
            ".github_workflows_recipe-security-scanner.yml",
        ],
    ),
    // Fixtures of a parser; one of them is an agent.
    (
        "opencode",
        1,
        &[
            "packages_opencode_test_config_fixtures_empty-frontmatter.md",
            "packages_opencode_test_config_fixtures_frontmatter.md",
            "packages_opencode_test_config_fixtures_markdown-header.md",
            "packages_opencode_test_config_fixtures_no-frontmatter.md",
        ],
    ),
];

#[test]
fn every_agent_of_a_collection_of_the_corpus_is_imported_and_nothing_else() {
    let corpus = require::corpus().join("agents");
    for (name, agents, others) in COLLECTIONS {
        let collection = corpus.join(name);
        // Under another name it gives the same.
        let env = TestEnv::new();
        let clone = env.root().join("my-agents");
        std::fs::create_dir(&clone).expect("a directory");
        for entry in std::fs::read_dir(&collection).expect("a collection") {
            let entry = entry.expect("a file");
            std::fs::copy(entry.path(), clone.join(entry.file_name())).expect("copied");
        }
        for dir in [&collection, &clone] {
            let ran = env.run(["import".as_ref(), dir.as_os_str(), "--dry-run".as_ref(), "--json".as_ref()]);
            let report = ran.json();
            let skipped: Vec<&str> = report["files"]
                .as_array()
                .expect("files")
                .iter()
                .filter(|row| row["status"] != "imported")
                .map(|row| row["source"].as_str().expect("a path").rsplit('/').next().expect("a name"))
                .collect();
            assert_eq!(report["imported"], agents, "{name}");
            assert_eq!(skipped, others, "{name}");
        }
    }
}

/// The report speaks of exactly the fields that the file has, and what is kept is there.
#[track_caller]
fn accounted(row: &Value, persona: &Value) {
    let source = row["source"].as_str().expect("a path");
    let format = row["format"].as_str().expect("a format");
    let fields = row["fields"].as_array().expect("fields");
    let mut spoken_of = BTreeSet::new();
    for field in fields {
        let name = field["field"].as_str().expect("a name");
        if field["fate"] == "kept" {
            assert!(persona[format!("x-{format}")].get(name).is_some(), "{source}: {name} is not kept");
        }
        if !name.starts_with('(') {
            spoken_of.insert(name.split(['.', '[', ' ']).next().unwrap_or_default().to_owned());
        }
    }
    assert_eq!(spoken_of, fields_of(Path::new(source)), "{source}");
}

/// The fields of a file, found by other means than the import's.
fn fields_of(path: &Path) -> BTreeSet<String> {
    let text = std::fs::read_to_string(path).expect("readable");
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    match ending {
        "toml" => text.parse::<toml::Table>().expect("TOML").keys().cloned().collect(),
        "yaml" | "yml" => keys(&serde_saphyr::from_str::<Value>(&text).expect("YAML")),
        _ => match text.strip_prefix("---\n").and_then(|rest| rest.split_once("---\n")) {
            None => BTreeSet::new(),
            Some((block, _)) => match serde_saphyr::from_str::<Value>(block) {
                Ok(value) => keys(&value),
                Err(_) => by_line(block),
            },
        },
    }
}

fn keys(value: &Value) -> BTreeSet<String> {
    value.as_object().into_iter().flat_map(serde_json::Map::keys).cloned().collect()
}

/// Words before a colon at the start of a line, without the lines of the dialogues in examples.
fn by_line(block: &str) -> BTreeSet<String> {
    let lines = block.lines().filter_map(|line| line.split_once(':')).map(|(key, _)| key.to_owned());
    let is_word =
        |key: &String| !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    lines.filter(is_word).filter(|key| !["user", "assistant", "Context"].contains(&key.as_str())).collect()
}
