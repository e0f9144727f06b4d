//! Code that is no test and takes the assertions of a test library away from those who call them.

use crate::work::evidence::ChangedFile;
use crate::work::path_kind::{is_code, is_document, is_fixture, is_runner_configuration, is_test};
use crate::work::source::{Language, tokens};
use std::collections::HashMap;

const SCRIPT: [&str; 9] = [
    "assert",
    "node:assert",
    "assert/strict",
    "node:assert/strict",
    "node:test",
    "chai",
    "expect",
    "vitest",
    "@jest/globals",
];
const PYTHON: [&str; 4] = ["unittest", "pytest", "_pytest", "nose"];
const RUST: [&str; 6] =
    ["assert", "assert_eq", "assert_ne", "debug_assert", "debug_assert_eq", "debug_assert_ne"];

/// What a changed file puts in the place of assertions, where it did not before.
pub fn patched(file: &ChangedFile, before: &str) -> Vec<String> {
    let name = file.name();
    let is_judge = is_test(&name) || is_fixture(&name) || is_runner_configuration(&name);
    let (Some(language), Some(after)) = (Language::of(&name), file.text_after()) else { return Vec::new() };
    if is_judge || is_document(&name) || !is_code(&name) {
        return Vec::new();
    }
    let mut known: HashMap<String, usize> = HashMap::new();
    for patch in patches(before, language) {
        *known.entry(patch).or_default() += 1;
    }
    let is_new = |patch: &String| match known.get_mut(patch) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    };
    let new = patches(after, language).into_iter().filter(is_new);
    new.map(|patch| format!("{name}: `{patch}` replaces assertions")).collect()
}

fn patches(text: &str, language: Language) -> Vec<String> {
    let all = tokens(text, language);
    match language {
        Language::Rust => {
            let words: Vec<&str> = all.iter().map(String::as_str).filter(|token| *token != "\n").collect();
            let is_patch = |three: &&[&str]| {
                RUST.contains(&three[2])
                    && (three[0] == "macro_rules" && three[1] == "!"
                        || three[1] == "as"
                        || three[1] == "macro")
            };
            words.windows(3).filter(is_patch).map(|three| three.join(" ")).collect()
        }
        Language::Script => {
            let words: Vec<&str> = all.iter().map(String::as_str).filter(|token| *token != "\n").collect();
            assigned(&words, &script_names(&words), &SCRIPT)
        }
        Language::Python => {
            let words: Vec<&str> = all.iter().map(String::as_str).collect();
            assigned(&words, &python_names(&words), &PYTHON)
        }
        _ => Vec::new(),
    }
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '$')
}

fn names_module(token: Option<&&str>, modules: &[&str]) -> bool {
    token.and_then(|token| token.strip_prefix('"')).is_some_and(|name| modules.contains(&name))
}

/// Names by which a file knows a library of assertions, or a part of it.
fn script_names<'t>(words: &[&'t str]) -> Vec<&'t str> {
    let mut found = Vec::new();
    for at in 0..words.len() {
        let is_required = words[at] == "require" && names_module(words.get(at + 2), &SCRIPT);
        let is_imported = words[at] == "from" && names_module(words.get(at + 1), &SCRIPT);
        if !is_required && !is_imported {
            continue;
        }
        let start = words[..at]
            .iter()
            .rev()
            .take(60)
            .take_while(|word| !matches!(**word, "import" | "const" | "let" | "var" | ";" | "("));
        let left: Vec<&str> = start.copied().collect();
        // A call of what is required has no name.
        if is_imported || left.first() == Some(&"=") && !left.contains(&".") {
            found.extend(left.into_iter().filter(|word| is_name(word) && !matches!(*word, "as" | "type")));
        }
    }
    found
}

fn python_names<'t>(words: &[&'t str]) -> Vec<&'t str> {
    let mut found = vec!["__builtins__", "builtins"];
    for line in words.split(|word| *word == "\n") {
        let is_import = matches!(line.first(), Some(&("import" | "from")));
        if !is_import || !line.get(1).is_some_and(|module| PYTHON.contains(module)) {
            continue;
        }
        let names = match line.iter().position(|word| *word == "import") {
            Some(at) => &line[at + 1..],
            None => continue,
        };
        let is_mock = |name: &str| matches!(name, "mock" | "patch" | "Mock" | "MagicMock" | "as");
        if !line.contains(&"mock") {
            found.extend(names.iter().copied().filter(|name| is_name(name) && !is_mock(name)));
        }
    }
    found
}

/// Assignments to a part of a library, by a name of it or where it is loaded.
fn assigned(words: &[&str], names: &[&str], modules: &[&str]) -> Vec<String> {
    const LOADS: [&str; 3] = ["require", "__import__", "import_module"];
    const SETS: [&str; 7] =
        ["assign", "defineProperty", "defineProperties", "setattr", "delattr", "set", "object"];
    const GLOBALS: [&str; 3] = ["global", "globalThis", "window"];
    let mut found = Vec::new();
    for at in 0..words.len() {
        let is_part = at > 0 && words[at - 1] == ".";
        let is_loaded = LOADS.contains(&words[at]) && names_module(words.get(at + 2), modules);
        let is_named = names.contains(&words[at]) && !is_part;
        let is_global = GLOBALS.contains(&words[at])
            && words.get(at + 2).is_some_and(|name| matches!(*name, "assert" | "expect" | "test" | "it"));
        let is_registered = words[at] == "sys"
            && words.get(at + 2) == Some(&"modules")
            && names_module(words.get(at + 4), modules);
        let end = match is_loaded {
            true => at + 4,
            false if is_named || is_global || is_registered => at + 1,
            false => continue,
        };
        let is_builtin = matches!(words[at], "builtins" | "__builtins__");
        let (last, after) = parts(words, end);
        let is_assigned = after > end
            && words.get(after) == Some(&"=")
            && !matches!(words.get(after + 1), Some(&("=" | ">")))
            && !matches!(last, "maxDiff" | "longMessage")
            && (!is_builtin || last.to_lowercase().contains("assert"));
        let opens = at >= 2 && words[at - 1] == "(" && SETS.contains(&words[at - 2]);
        let is_set = opens && matches!(words.get(after), Some(&",")) && !is_builtin;
        if is_assigned || is_set {
            let start = if is_set { at - 2 } else { at };
            let text = words[start..after.min(start + 20)].iter().map(|word| word.replace('"', ""));
            found.push(text.collect::<String>());
        }
    }
    found
}

/// The last name of `.a.b["c"]` that begins here, and where it ends.
fn parts<'t>(words: &[&'t str], from: usize) -> (&'t str, usize) {
    let (mut at, mut last) = (from, "");
    loop {
        match words.get(at) {
            Some(&".") if words.get(at + 1).is_some_and(|name| is_name(name)) => {
                last = words[at + 1];
                at += 2;
            }
            Some(&"[") => {
                let Some(length) = words[at..].iter().take(20).position(|word| *word == "]") else { break };
                last = words[at + 1].trim_start_matches('"');
                at += length + 1;
            }
            _ => break,
        }
    }
    (last, at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::verify_code::sample::Sample;

    fn found(path: &str, before: &str, after: &str) -> Vec<String> {
        patched(&Sample::new("x").changed(path, before, after).evidence.changes.files[0], before)
    }

    #[test]
    fn code_that_replaces_assertions_is_found() {
        for (path, text) in [
            ("src/a.js", "require('node:assert').strictEqual = () => {}\n"),
            ("src/a.js", "const assert = require('assert')\nassert.equal = assert['ok'] = () => {}\n"),
            ("src/a.js", "import { strict as a } from \"node:assert\"\na\n  .equal = () => {}\n"),
            ("src/a.js", "const a = require('assert')\nfor (const k in a) a[k] = () => {}\n"),
            ("src/a.js", "Object.assign(require('assert'), { equal() {} })\n"),
            ("src/a.js", "globalThis.expect = () => proxy\n"),
            ("a.py", "import unittest\nunittest.TestCase.assertEqual = lambda *a: None\n"),
            ("a.py", "from unittest import TestCase as T\nT.assertTrue = print\n"),
            ("a.py", "import unittest\nsetattr(unittest.TestCase, 'assertEqual', print)\n"),
            ("a.py", "import sys\nsys.modules['unittest'] = fake\n"),
            ("a.py", "import builtins\nbuiltins.AssertionError = Quiet\n"),
            ("src/a.rs", "#[macro_export]\nmacro_rules! assert_eq { ($($t:tt)*) => {} }\n"),
            ("src/a.rs", "pub use crate::nothing as assert;\n"),
        ] {
            assert!(!found(path, "", text).is_empty(), "{text}");
            assert!(found(path, text, &format!("{text}\n")).is_empty(), "{text}");
        }
    }

    #[test]
    fn code_that_only_asserts_is_honest() {
        for (path, text) in [
            ("src/a.js", "const assert = require('assert')\nassert.equal(a, b)\nlet x = assert.ok\n"),
            ("src/a.js", "// require('assert').equal = 1\nconst s = \"require('assert').equal = 1\"\n"),
            ("src/a.js", "const assert = require('./mine')\nassert.equal = f\nif (assert.ok === f) {}\n"),
            ("test/a.test.js", "const assert = require('assert')\nassert.near = f\n"),
            ("a.py", "import unittest\n\nclass Base(unittest.TestCase):\n    maxDiff = None\n"),
            ("a.py", "x = 'unittest.TestCase.assertEqual = 1'\n# unittest.TestCase.fail = 1\n"),
            ("a.py", "import builtins\nbuiltins._ = gettext\n"),
            ("src/a.rs", "macro_rules! assert_close { () => {} }\n// macro_rules! assert\n"),
            ("src/a.rs", "fn f() { assert_eq!(1, \"macro_rules! assert_eq\".len()); }\n"),
        ] {
            assert!(found(path, "", text).is_empty(), "{text}");
        }
    }
}
