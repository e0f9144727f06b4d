//! Which changed files are tests, and which further views the commands are run in.

use super::weakened_markers::assertions;
use crate::model::contract::Contract;
use crate::model::raw_path::RawPath;
use crate::work::evidence::{ChangeSet, ChangedFile, View};
use crate::work::path_kind::{is_ci, is_fixture, is_runner_configuration, is_test};
use crate::work::source::{Language, TestCase, inline_tests, masked, test_cases};
use std::collections::HashSet;

/// Something that judges the work: a test, its data, or what runs it.
fn judges(path: &str) -> bool {
    is_test(path) || is_fixture(path) || is_runner_configuration(path) || is_ci(path)
}

/// The paths to put back for [`View::OldTests`]: tests, snapshots, fixtures and validators of the base that changed or are gone.
pub fn existing_tests_changed(changes: &ChangeSet) -> Vec<RawPath> {
    let changed = changes.files.iter().filter(|file| file.before.is_some() && file.before != file.after);
    changed.filter(|file| judges(&file.name())).map(|file| file.path.clone()).collect()
}

/// The tests and fixtures of the result that are new or changed, for [`View::OnlyTests`].
pub fn changed_tests(changes: &ChangeSet) -> Vec<RawPath> {
    let is_tests = |file: &&ChangedFile| {
        let name = file.name();
        // A conftest is what tests need to run; the rest of the configuration judges.
        is_test(&name) || is_fixture(&name) || name.rsplit('/').next() == Some("conftest.py")
    };
    let changed = changes.files.iter().filter(|file| file.after.is_some() && file.before != file.after);
    changed.filter(is_tests).map(|file| file.path.clone()).collect()
}

/// Whether a changed Rust file outside the tests holds changed `#[cfg(test)]` items: they cannot be told from the code by path.
pub fn has_inline_tests(changes: &ChangeSet) -> bool {
    changes.files.iter().any(|file| {
        let name = file.name();
        if Language::of(&name) != Some(Language::Rust) || is_test(&name) {
            return false;
        }
        let items = |text: Option<&str>| -> Vec<String> {
            let text = text.unwrap_or("");
            inline_tests(text).into_iter().filter_map(|range| text.get(range).map(str::to_owned)).collect()
        };
        let after = items(file.text_after());
        !after.is_empty() && after != items(file.text_before())
    })
}

/// The inline tests that a changed Rust file has now and that no changed file had before, if they assert something.
pub fn new_inline_tests(changes: &ChangeSet) -> Vec<String> {
    let cases = |text: Option<&str>| {
        let text = text.unwrap_or("").to_owned();
        let cases = test_cases(&text, Language::Rust);
        (text, cases)
    };
    let files = || changes.files.iter().filter(|file| Language::of(&file.name()) == Some(Language::Rust));
    let old: HashSet<String> =
        files().flat_map(|file| cases(file.text_before()).1).map(|case| case.name).collect();
    let mut found = Vec::new();
    for file in files().filter(|file| !is_test(&file.name())) {
        let (text, cases) = cases(file.text_after());
        let code = masked(&text, Language::Rust);
        let ranges = inline_tests(&text);
        let is_new = |case: &TestCase| {
            let above = code.get(..case.range.start).unwrap_or("");
            let own = &above[above.rfind(['}', ';', '{']).map_or(0, |at| at + 1)..];
            let asserts = assertions(code.get(case.range.clone()).unwrap_or(""), Language::Rust) > 0
                || own.contains("#[should_panic");
            asserts
                && !old.contains(&case.name)
                && ranges.iter().any(|range| range.contains(&case.range.start))
        };
        found.extend(cases.into_iter().filter(is_new).map(|case| case.name));
    }
    found
}

/// The further executions that the checks need, beyond base and result. [`View::WithIgnored`] only where a command failed.
pub fn wanted_views(contract: &Contract, changes: &ChangeSet) -> Vec<View> {
    let mut views = Vec::new();
    if !existing_tests_changed(changes).is_empty() {
        views.push(View::OldTests);
    }
    if (contract.tdd_required || contract.prove) && !changed_tests(changes).is_empty() {
        views.push(View::OnlyTests);
    }
    if !changes.ignored.is_empty() {
        views.push(View::WithIgnored);
    }
    views
}
