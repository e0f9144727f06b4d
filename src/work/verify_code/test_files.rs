//! Which changed files are tests, and which further views the commands are run in.

use crate::model::contract::Contract;
use crate::model::raw_path::RawPath;
use crate::work::evidence::{ChangeSet, ChangedFile, View};
use crate::work::path_kind::{is_ci, is_fixture, is_runner_configuration, is_test};
use crate::work::source::{Language, inline_tests};

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
