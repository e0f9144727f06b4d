//! Whether everything that changed may change, and whether anything changed at all. Does not read the files.

use super::excerpt;
use crate::model::contract::Baseline;
use crate::model::invisible::shows_something;
use crate::model::verdict::{Blocker, Check, CheckName, CheckSeverity};
use crate::model::worker_report::WorkerStatus;
use crate::work::evidence::{ChangedFile, CommandEnd, Evidence, FileState, HarnessEnd, Node, View};
use std::collections::BTreeSet;

pub fn scope(evidence: &Evidence, allows: &dyn Fn(&str) -> bool) -> Check {
    let expected = match &evidence.contract.files {
        Some(files) => format!("only {} change", excerpt::quote(&files.join(", "))),
        None => "validators, lock files and CI files stay as they are".to_owned(),
    };
    let files = &evidence.changes.files;
    if files.is_empty() {
        return Check::skipped(CheckName::Scope, "nothing changed");
    }
    let mut outside: BTreeSet<String> = BTreeSet::new();
    let mut empty_directories: BTreeSet<String> = BTreeSet::new();
    let filled = filled_directories(files);
    for file in files {
        let name = file.name();
        if let Some(old) = &file.renamed_from {
            let old = old.0.to_string_lossy();
            if !allows(&old) {
                outside.insert(old.into_owned());
            }
        }
        if allows(&name) {
            continue;
        }
        if is_only_directory(file) {
            // A directory comes and goes with what is in it, which is judged by itself.
            if !filled.contains(name.as_ref()) && !allows(&format!("{name}/")) {
                empty_directories.insert(name.into_owned());
            }
        } else {
            outside.insert(name.into_owned());
        }
    }
    if !outside.is_empty() {
        let observed = format!("{} of {} not allowed", outside.len(), excerpt::count(files.len(), "change"));
        return Check::failed(
            CheckName::Scope,
            CheckSeverity::Critical,
            Some(Blocker::ScopeDrift),
            expected,
            observed,
        )
        .with_evidence(excerpt::names(outside.iter().map(String::as_str)));
    }
    if !empty_directories.is_empty() {
        let count = excerpt::count_of(empty_directories.len(), "empty directory", "empty directories");
        return Check::failed(
            CheckName::Scope,
            CheckSeverity::Minor,
            None,
            expected,
            format!("{count} not allowed"),
        )
        .with_evidence(excerpt::names(empty_directories.iter().map(String::as_str)));
    }
    Check::passed(CheckName::Scope, expected, format!("{} of {} allowed", files.len(), files.len()))
}

/// A directory that was made or removed; one whose mode changed is a change of its own.
fn is_only_directory(file: &ChangedFile) -> bool {
    let is_directory = |state: &FileState| state.node == Node::Directory;
    match (&file.before, &file.after) {
        (None, Some(state)) | (Some(state), None) => is_directory(state),
        _ => false,
    }
}

/// All directories that a changed file is in.
fn filled_directories(files: &[ChangedFile]) -> BTreeSet<String> {
    let mut directories = BTreeSet::new();
    for file in files.iter().filter(|file| !is_only_directory(file)) {
        let name = file.name();
        let mut end = name.len();
        while let Some(slash) = name[..end].rfind('/') {
            end = slash;
            if !directories.insert(name[..end].to_owned()) {
                break;
            }
        }
    }
    directories
}

pub fn not_empty(evidence: &Evidence) -> Check {
    let expected = "something changed, or a reason why nothing had to";
    let changes = &evidence.changes;
    if !changes.is_empty() {
        return Check::passed(CheckName::NotEmpty, expected, excerpt::count(changes.files.len(), "change"));
    }
    let testimony = &evidence.testimony;
    if testimony.request.is_some() {
        return Check::skipped(CheckName::NotEmpty, "the worker asks instead of going on");
    }
    if matches!(evidence.harness, HarnessEnd::Failed(_) | HarnessEnd::Incapable(_)) {
        return Check::skipped(CheckName::NotEmpty, "nothing changed; the harness did not end well");
    }
    let report = testimony.report.as_ref();
    if report.is_some_and(|report| report.status != WorkerStatus::Completed) {
        return Check::skipped(CheckName::NotEmpty, "the worker gave up");
    }
    let failed = |observed: &str| {
        let blocker = Some(Blocker::Hallucination);
        Check::failed(CheckName::NotEmpty, CheckSeverity::Critical, blocker, expected, observed)
    };
    let noop = report.and_then(|report| report.noop.as_deref()).filter(|reason| shows_something(reason));
    if let Some(reason) = noop {
        let red = red_on_base(evidence);
        if !red.is_empty() {
            return failed("says that nothing had to change, while a command fails without a change")
                .with_evidence(red.iter().map(|command| excerpt::quote(command)))
                .with_evidence([format!("its reason: {}", excerpt::quote(reason))]);
        }
        return Check::skipped(
            CheckName::NotEmpty,
            format!("nothing had to change: {}", excerpt::quote(reason)),
        );
    }
    let lines = [
        ("changed back", &changes.restored),
        ("ignored", &changes.ignored),
        ("protected", &changes.protected),
        ("by-product", &changes.by_products),
    ];
    let mut check = failed("nothing changed");
    for (title, paths) in lines {
        let names = excerpt::names(paths.iter().take(5).map(String::as_str));
        check = check.with_evidence(names.into_iter().map(|path| format!("{title}: {path}")));
    }
    check
}

/// Commands that must pass and fail before the work begins.
fn red_on_base(evidence: &Evidence) -> BTreeSet<&str> {
    let is_red = |end: &CommandEnd| {
        matches!(end, CommandEnd::Exited(code) if *code != 0) || matches!(end, CommandEnd::Signalled(_))
    };
    let mut red = BTreeSet::new();
    for execution in &evidence.executions {
        // Nothing changed, so the result is the base.
        let is_base = matches!(execution.on, View::Base | View::Result);
        let Some(command) = evidence.contract.validation_commands.get(execution.command) else { continue };
        if is_base && is_red(&execution.end) && command.baseline == Baseline::MustPass {
            red.insert(command.name());
        }
    }
    red
}
