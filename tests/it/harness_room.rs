//! A harness is one folder and one line in the enum: no other part of the program names one of them.

use agentworkforce::model::tier::Harness;
use std::path::{Path, PathBuf};

/// Where variants may be named: the enum itself, and the room of the adapters.
const OWNERS: [&str; 2] = ["model/tier.rs", "harness/"];

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).expect("readable") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The code of a file without comments and without its tests, which come last.
fn code_of(text: &str) -> String {
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    code.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

fn variants_named_in(code: &str) -> Vec<String> {
    let variants = Harness::ALL.map(|harness| format!("Harness::{harness:?}"));
    let grouped = code.contains("Harness::{") || code.contains("Harness::*");
    let named = variants.into_iter().filter(|variant| code.contains(variant.as_str()));
    named.chain(grouped.then(|| "a use of variants".to_owned())).collect()
}

#[test]
fn only_its_own_room_names_a_harness() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&src, &mut files);
    assert!(files.len() > 100, "the sources are not here");
    let mut wrong = Vec::new();
    for file in files {
        let name = file.strip_prefix(&src).expect("below src").display().to_string();
        let is_test = name.ends_with("tests.rs") || name.contains("_tests/");
        if is_test || OWNERS.iter().any(|owner| name.starts_with(owner)) {
            continue;
        }
        let text = std::fs::read_to_string(&file).expect("readable");
        wrong.extend(
            variants_named_in(&code_of(&text)).into_iter().map(|variant| format!("{name}: {variant}")),
        );
    }
    assert!(wrong.is_empty(), "ask `harness::adapter` instead: {wrong:#?}");
}

#[test]
fn a_named_variant_is_found() {
    let code = "fn a() { if kind == Harness::Codex {} }\n#[cfg(test)]\nmod tests { Harness::Claude }";
    assert_eq!(variants_named_in(&code_of(code)), ["Harness::Codex"]);
    assert_eq!(variants_named_in(&code_of("use Harness::{Claude};")), ["a use of variants"]);
    assert_eq!(variants_named_in(&code_of("// Harness::Claude\nHarness::ALL")), Vec::<String>::new());
}

#[test]
fn the_harness_for_tests_is_not_in_the_program() {
    assert!(!Harness::names().contains(&"example"), "{:?}", Harness::names());
}
