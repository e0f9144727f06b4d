//! What runs and judges the work: whether the work changed it. What tests say is for other checks.

mod conftest;
mod dependencies;
mod kinds;
mod manifest_json;
mod manifest_toml;
mod named;
mod sections;
mod tasks;

use super::excerpt;
use super::listed_path::normal;
use crate::model::contract::Guard;
use crate::model::verdict::{Blocker, Check, CheckName, CheckSeverity};
use crate::work::evidence::{ChangedFile, Evidence, FileState, Node};
use crate::work::path_kind::{extension, file_name, is_test};
use named::Named;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// One side of a file.
#[derive(Clone, Copy)]
pub enum Side<'t> {
    Missing,
    Text(&'t str),
    /// A link, a directory, or nothing that can be read as text.
    Unreadable,
}

impl<'t> Side<'t> {
    fn of(state: Option<&'t FileState>) -> Side<'t> {
        match state.map(|state| &state.node) {
            None => Side::Missing,
            Some(Node::File(Some(text))) => Side::Text(text.strip_prefix('\u{feff}').unwrap_or(text)),
            Some(_) => Side::Unreadable,
        }
    }

    pub fn text(self) -> &'t str {
        match self {
            Side::Text(text) => text,
            Side::Missing | Side::Unreadable => "",
        }
    }
}

/// A file of which some parts are looked at, before and after.
pub struct Edit<'t> {
    pub path: &'t str,
    pub before: Side<'t>,
    pub after: Side<'t>,
    pub evidence: &'t Evidence,
    pub named: &'t Named,
}

/// What was found, the worst first when it is shown.
#[derive(Default)]
pub struct Findings(BTreeMap<CheckSeverity, BTreeSet<String>>);

impl Findings {
    pub fn major(&mut self, path: &str, what: &str) {
        self.add(CheckSeverity::Major, path, what);
    }

    fn add(&mut self, severity: CheckSeverity, path: &str, what: &str) {
        let what = excerpt::quote(what);
        self.0.entry(severity).or_default().insert(format!("{}: {what}", excerpt::name(path)));
    }
}

pub fn validators(evidence: &Evidence) -> Check {
    let expected = "what runs and judges the work stays as it is";
    let named = Named::of(evidence);
    let listed = listed_literally(evidence);
    let old_directories = old_directories(evidence);
    let mut findings = Findings::default();
    for file in &evidence.changes.files {
        let old = file.renamed_from.as_ref().map(|old| old.0.to_string_lossy());
        let name = file.name();
        judge(evidence, file, &name, &named, &listed, &old_directories, &mut findings);
        // The old name of a rename is in the list too, as deleted.
        if let Some(old) = old.filter(|old| evidence.changes.find(old).is_none()) {
            judge_whole(&old, &named, &listed, &old_directories, true, &mut findings);
        }
    }
    let lines: Vec<String> = findings.0.values().rev().flatten().cloned().collect();
    if lines.is_empty() {
        return Check::passed(CheckName::Validators, expected, "untouched");
    }
    let observed = format!("{} changed", excerpt::count(lines.len(), "validator"));
    if evidence.contract.validators == Guard::MayChange {
        let observed = format!("{observed}, as the contract allows");
        return Check::passed(CheckName::Validators, expected, observed).with_evidence(lines);
    }
    if findings.0.contains_key(&CheckSeverity::Major) {
        let blocker = Some(Blocker::ScopeDrift);
        return Check::failed(CheckName::Validators, CheckSeverity::Major, blocker, expected, observed)
            .with_evidence(lines);
    }
    Check::failed(CheckName::Validators, CheckSeverity::Minor, None, expected, observed).with_evidence(lines)
}

/// Paths that `files` names one by one: naming a validator permits to edit it.
fn listed_literally(evidence: &Evidence) -> HashSet<String> {
    let files = evidence.contract.files.as_deref().unwrap_or_default();
    files
        .iter()
        .filter(|path| !path.contains(['*', '?', '[']) && !path.ends_with('/'))
        .filter_map(|path| normal(path))
        .collect()
}

/// All directories of the base: a validator in a new one judges only what is new.
fn old_directories(evidence: &Evidence) -> HashSet<&str> {
    let mut directories = HashSet::from([""]);
    for path in evidence.base.paths.iter() {
        directories.extend(path.match_indices('/').map(|(end, _)| &path[..end]));
    }
    directories
}

fn judge(
    evidence: &Evidence,
    file: &ChangedFile,
    path: &str,
    named: &Named,
    listed: &HashSet<String>,
    old_directories: &HashSet<&str>,
    findings: &mut Findings,
) {
    let is_file = |state: &FileState| matches!(state.node, Node::File(_));
    if let (Some(before), Some(after)) = (&file.before, &file.after)
        && before.hash == after.hash
        && is_file(before) == is_file(after)
    {
        return;
    }
    let edit = Edit {
        path,
        before: Side::of(file.before.as_ref()),
        after: Side::of(file.after.as_ref()),
        evidence,
        named,
    };
    let is_new_package = file.before.is_none() && !old_directories.contains(directory(path));
    let name = file_name(path).to_lowercase();
    if kinds::is_data(path) {
        return;
    }
    match name.as_str() {
        "package.json" => manifest_json::package(&edit, is_new_package, findings),
        "composer.json" => manifest_json::composer(&edit, findings),
        "cargo.toml" => manifest_toml::cargo(&edit, is_new_package, findings),
        "pyproject.toml" => manifest_toml::pyproject(&edit, is_new_package, findings),
        "pipfile" => manifest_toml::pipfile(&edit, findings),
        "setup.cfg" => sections::setup_cfg(&edit, findings),
        "conftest.py" => conftest::conftest(&edit, findings),
        _ if dependencies::looks_at(&name) => dependencies::lines(&edit, &name, findings),
        _ => {
            if is_test(path) && extension(path) == "py" {
                conftest::test_module(&edit, findings);
            }
            let is_judged = kinds::is_validator(path) || kinds::is_script(path, named) && !is_test(path);
            if is_judged && listed.contains(path) {
                tasks::named_file(&edit, &name, findings);
            } else {
                judge_whole(path, named, listed, old_directories, file.before.is_some(), findings);
            }
        }
    }
}

/// A validator of which every change counts.
fn judge_whole(
    path: &str,
    named: &Named,
    listed: &HashSet<String>,
    old_directories: &HashSet<&str>,
    was_there: bool,
    findings: &mut Findings,
) {
    if listed.contains(path) || kinds::is_data(path) {
        return;
    }
    let what: Cow<'_, str> = if kinds::shadows_runner(path) {
        "named like the program that runs the tests".into()
    } else if kinds::is_script(path, named) && !is_test(path) {
        "run by a command".into()
    } else if kinds::is_validator(path) {
        if !was_there && !old_directories.contains(directory(path)) && !kinds::is_effective_anywhere(path) {
            findings.add(CheckSeverity::Minor, path, "configuration of new files");
            return;
        }
        "decides what the commands mean".into()
    } else {
        return;
    };
    findings.major(path, &what);
}

fn directory(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}
