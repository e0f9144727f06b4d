//! Holds the architecture: who may use whom, and what must not touch the world.

use std::path::{Path, PathBuf};

/// A module and the modules of this crate that it may name.
const EDGES: [(&str, &[&str]); 22] = [
    ("host", &["error"]),
    ("error", &["exit"]),
    ("exit", &[]),
    ("model", &["model"]),
    ("ui", &["ui", "error", "exit", "model"]),
    ("cli", &["cli"]),
    ("git", &[]),
    ("load", &["load", "tool", "git", "model", "host", "error"]),
    ("resolve", &["resolve", "model"]),
    ("plan", &["plan", "resolve", "model"]),
    ("convert", &["convert", "plan", "resolve", "model"]),
    ("store", &["store", "load", "model", "host", "error"]),
    ("tool", &["host"]),
    ("remote", &["remote", "tool", "host"]),
    ("skills", &["skills", "remote", "tool", "store", "plan", "model", "host", "error"]),
    ("pack", &["pack", "remote", "tool", "store", "load", "plan", "model", "host", "error", "exit"]),
    ("mount", &["mount", "git", "plan", "model", "host", "error", "exit"]),
    ("session", &["session", "mount", "plan", "model", "host", "error", "exit"]),
    ("launch", &["launch", "mount", "tool", "model", "host", "error", "exit"]),
    (
        "commands",
        &[
            "commands", "cli", "host", "ui", "error", "exit", "model", "load", "resolve", "plan", "mount",
            "session", "skills", "launch", "store", "tool", "convert", "pack",
        ],
    ),
    // No part of the program: it holds the readers of every stage to their laws.
    (
        "fuzz",
        &[
            "fuzz", "convert", "host", "launch", "load", "model", "mount", "pack", "plan", "remote",
            "resolve", "session", "skills",
        ],
    ),
    ("lib", &["mount", "cli", "commands", "error", "exit", "host", "ui"]),
];

/// What a pure module has no business with.
const IMPURE: [&str; 9] =
    ["std::fs", "std::env", "std::process", "std::io", "std::time", "fs_err", "rustix", "jiff", "tempfile"];

fn sources(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).expect("src is readable") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with("_tests") {
            continue;
        }
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

fn src() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The top-level module that a file belongs to.
fn module_of(file: &Path) -> String {
    let relative = file.strip_prefix(src()).expect("a source file");
    let first = relative.components().next().expect("a name").as_os_str().to_string_lossy().into_owned();
    first.trim_end_matches(".rs").to_owned()
}

/// The code of a file without its tests and comments.
fn code_of(file: &Path) -> String {
    let text = std::fs::read_to_string(file).expect("a source file");
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

fn modules_named_in(code: &str) -> Vec<String> {
    let mut found: Vec<String> = code
        .split("crate::")
        .skip(1)
        .map(|rest| rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect())
        .filter(|name: &String| !name.is_empty())
        .collect();
    found.sort();
    found.dedup();
    found
}

#[test]
fn modules_use_only_what_comes_before_them() {
    let mut wrong = Vec::new();
    for file in sources(&src()) {
        let module = module_of(&file);
        if module == "main" {
            continue;
        }
        let allowed = EDGES.iter().find(|(name, _)| *name == module).map(|(_, allowed)| *allowed);
        let allowed = allowed.unwrap_or_else(|| panic!("{module} is not in the table of edges"));
        for used in modules_named_in(&code_of(&file)) {
            if used != module && !allowed.contains(&used.as_str()) {
                wrong.push(format!("{} uses {used}", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn model_resolve_plan_and_convert_are_pure() {
    let mut wrong = Vec::new();
    for file in sources(&src()) {
        if !["model", "resolve", "plan", "convert"].contains(&module_of(&file).as_str()) {
            continue;
        }
        let code = code_of(&file);
        wrong.extend(
            IMPURE
                .iter()
                .filter(|name| code.contains(**name))
                .map(|name| format!("{}: {name}", file.display())),
        );
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn clap_stays_in_the_command_line() {
    let mut wrong = Vec::new();
    for file in sources(&src()) {
        let allowed = ["cli", "commands", "ui"].contains(&module_of(&file).as_str());
        if !allowed && code_of(&file).contains("clap") {
            wrong.push(file);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn only_the_ui_prints_and_only_the_host_reads_the_process() {
    let mut wrong = Vec::new();
    for file in sources(&src()) {
        let code = code_of(&file);
        let module = module_of(&file);
        // The mount hands this process's environment on to its children, and has processes of its own inside.
        let owners: [(&str, &[&str]); 4] = [
            ("println!", &["ui"]),
            ("eprintln!", &["ui"]),
            ("std::env::var", &["host", "mount"]),
            ("current_dir()", &["host"]),
        ];
        for (word, owners) in owners {
            if code.contains(word) && !owners.contains(&module.as_str()) {
                wrong.push(format!("{}: {word} belongs to {owners:?}", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
