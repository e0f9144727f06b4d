//! The files people already have: every persona of the corpus loads, and runs at every tier it offers.
//!
//! The corpus is not part of this repository; `support/require.rs` says where it is looked for.

use crate::support::TestEnv;
use crate::support::require;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const PERSONAS: &str = "home/.agentworkforce/workforce/personas";

struct Sample {
    path: PathBuf,
    id: String,
    shape: Shape,
    /// Names of inputs, to have a value for each.
    inputs: Vec<String>,
    json: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Shape {
    Tiers,
    Flat,
    Handler,
}

fn json_files(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    files.sort();
    files
}

fn samples(corpus: &Path) -> Vec<Sample> {
    let mut dirs: Vec<PathBuf> =
        ["flat", "tiers", "handler"].map(|kind| corpus.join("personas").join(kind)).into();
    if let Ok(packs) = std::fs::read_dir(corpus.join("packs")) {
        dirs.extend(packs.map(|pack| pack.expect("readable").path().join("personas")));
    }
    dirs.iter().flat_map(|dir| json_files(dir)).map(sample).collect()
}

fn sample(path: PathBuf) -> Sample {
    let text = std::fs::read_to_string(&path).expect("readable");
    let json: Value =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let has = |key: &str| json.get(key).is_some_and(|value| !value.is_null());
    let shape = match (has("tiers"), has("harness")) {
        (true, _) => Shape::Tiers,
        (false, true) => Shape::Flat,
        (false, false) => Shape::Handler,
    };
    let inputs =
        json["inputs"].as_object().map(|inputs| inputs.keys().cloned().collect()).unwrap_or_default();
    let id = json["id"].as_str().unwrap_or_else(|| panic!("{}: no id", path.display())).to_owned();
    Sample { path, id, shape, inputs, json }
}

/// Ids repeat, so every batch has each of them at most once.
fn batches(samples: Vec<Sample>) -> Vec<Vec<Sample>> {
    let mut batches: Vec<Vec<Sample>> = Vec::new();
    for sample in samples {
        let is_free =
            |batch: &&mut Vec<Sample>| !batch.iter().any(|other| other.id.eq_ignore_ascii_case(&sample.id));
        match batches.iter_mut().find(is_free) {
            Some(batch) => batch.push(sample),
            None => batches.push(vec![sample]),
        }
    }
    batches
}

/// The persona with the files that it names beside it.
fn place(env: &TestEnv, sample: &Sample) {
    let name = sample.path.file_name().expect("a name");
    let copy = env.root().join(PERSONAS).join(name);
    std::fs::create_dir_all(copy.parent().expect("a parent")).expect("writable");
    std::fs::copy(&sample.path, &copy).unwrap_or_else(|error| panic!("{}: {error}", sample.path.display()));
    for key in ["claudeMd", "agentsMd"] {
        if let Some(file) = sample.json[key].as_str() {
            let from = sample.path.parent().expect("a parent").join(file);
            let to = copy.parent().expect("a parent").join(file);
            if from.is_file() && !to.exists() {
                std::fs::create_dir_all(to.parent().expect("a parent")).expect("writable");
                std::fs::copy(from, to).expect("writable");
            }
        }
    }
}

#[test]
fn every_persona_of_the_corpus_loads_and_runs_at_every_tier_it_offers() {
    let corpus = require::corpus();
    let samples = samples(&corpus);
    assert!(!samples.is_empty(), "{} has no personas", corpus.display());
    let (files, mut plans) = (samples.len(), 0);
    let mut counts: BTreeMap<Shape, usize> = BTreeMap::new();
    for batch in batches(samples) {
        let env = TestEnv::new();
        for sample in &batch {
            place(&env, sample);
        }
        let errors = lint_errors(&env);
        let list = env.run(["list", "--all", "--json"]).json();
        let rows: Vec<&Value> = list["personas"].as_array().expect("rows").iter().collect();
        for sample in &batch {
            let name = sample.path.display();
            *counts.entry(sample.shape).or_default() += 1;
            let own: Vec<&Value> =
                rows.iter().copied().filter(|row| row["persona"] == sample.id.as_str()).collect();
            assert!(!own.is_empty(), "{name} is not listed: {:#}", list["warnings"]);
            assert!(
                own.iter().all(|row| row["source"] == "user"),
                "{name} is hidden by the library: {:#}",
                list["warnings"]
            );
            let file = sample.path.file_name().expect("a name").to_string_lossy();
            assert!(!errors.iter().any(|problem| problem.contains(&*file)), "{name}: {errors:#?}");
            if sample.shape == Shape::Handler {
                assert_eq!(own.len(), 1, "{name}");
                assert_eq!(own[0]["runnable"], false, "{name}");
                assert!(
                    own[0]["reason"].as_str().is_some_and(|reason| reason.contains("handler")),
                    "{name}: {:#}",
                    own[0]
                );
                env.run(["agent", &sample.id, "--dry-run"]).fails(2, "cannot be run");
                continue;
            }
            let tiers: Vec<&str> = own.iter().filter_map(|row| row["rating"].as_str()).collect();
            if sample.shape == Shape::Tiers {
                assert_eq!(tiers.len(), sample.json["tiers"].as_object().expect("tiers").len(), "{name}");
            } else {
                assert_eq!(tiers, ["best", "best-value", "minimum"], "{name}");
            }
            for tier in tiers {
                plan(&env, sample, tier);
                plans += 1;
            }
        }
    }
    println!("corpus: {files} files load ({counts:?}), {plans} plans resolve");
}

/// Errors that lint has about files, but for sidecars that did not come along.
fn lint_errors(env: &TestEnv) -> Vec<String> {
    let ran = env.run(["lint", "--json"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:#?}"));
    let problems = report["problems"].as_array().expect("problems").iter();
    problems
        .filter(|problem| problem["severity"] == "error")
        .filter(|problem| !problem["message"].as_str().unwrap_or_default().contains("sidecar file not found"))
        .map(ToString::to_string)
        .collect()
}

/// The plan is what the file says: its harness, its model, its prompt.
fn plan(env: &TestEnv, sample: &Sample, tier: &str) {
    let name = format!("{}@{tier}", sample.path.display());
    let selector = format!("{}@{tier}", sample.id);
    let inputs: Vec<String> = sample.inputs.iter().map(|input| format!("--input={input}=value")).collect();
    let runtime = if sample.shape == Shape::Tiers { &sample.json["tiers"][tier] } else { &sample.json };
    let harness = runtime["harness"].as_str().unwrap_or_else(|| panic!("{name}: no harness"));
    let mut args = vec!["agent", &selector, "--dry-run", "--json"];
    args.extend(inputs.iter().map(String::as_str));
    let known = ["claude", "opencode", "codex"].contains(&harness);
    if !known {
        env.run(&args).fails(2, "does not launch");
        args.extend(["--harness", "claude"]);
    }
    let plan = env.run(&args).json();
    assert_eq!(plan["persona"]["id"], sample.id.as_str(), "{name}");
    assert_eq!(plan["persona"]["tier"], tier, "{name}");
    if known {
        assert_eq!(plan["harness"]["kind"], harness, "{name}");
        assert_eq!(plan["model"]["value"], runtime["model"], "{name}");
    }
    if let Some(prompt) = runtime["systemPrompt"]
        .as_str()
        .filter(|prompt| !prompt.contains('$') && !prompt.contains("<harness>"))
    {
        let found = plan["systemPrompt"].as_str().expect("text");
        assert!(prompt.trim().is_empty() || found == prompt, "{name}: the prompt is not the authored one");
    }
}

#[test]
fn published_packs_that_claude_would_start_without_instructions_are_warned_about() {
    let corpus = require::corpus();
    let mut warned = 0;
    for sample in samples(&corpus)
        .into_iter()
        .filter(|sample| sample.shape == Shape::Flat && sample.json["harness"] == "claude")
    {
        let has = |key: &str| sample.json.get(key).is_some_and(|value| !value.is_null());
        let lost = (has("agentsMd") || has("agentsMdContent")) && !has("claudeMd") && !has("claudeMdContent");
        let env = TestEnv::new();
        place(&env, &sample);
        let ran = env.run(["lint", &sample.id]);
        assert_eq!(
            ran.stdout.contains("which claude does not read"),
            lost,
            "{}: {ran:#?}",
            sample.path.display()
        );
        warned += usize::from(lost);
    }
    println!("corpus: {warned} claude personas have instructions for other harnesses only");
}
