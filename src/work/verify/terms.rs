//! What the contract and the machine demand beside the files: plan markers, the self-review, the spec, the user's own settings.

use super::excerpt;
use super::listed_path::normal;
use crate::model::contract::{SpecSkip, WorkMode};
use crate::model::invisible::shows_something;
use crate::model::verdict::{Blocker, Check, CheckName, CheckSeverity};
use crate::model::worker_report::WorkerStatus;
use crate::work::evidence::{ChangedFile, Evidence, FileState, Node, ReportSource};
use crate::work::path_kind::{extension, is_code, is_document};
use std::collections::{BTreeMap, BTreeSet};

pub fn outside(evidence: &Evidence) -> Check {
    let expected = "your own settings outside the project stay as they are";
    if evidence.outside.is_empty() {
        let observed = format!("unchanged (sandbox: {})", excerpt::name(&evidence.sandbox));
        return Check::passed(CheckName::Outside, expected, observed);
    }
    let observed = format!(
        "{} changed during the run (sandbox: {})",
        excerpt::count(evidence.outside.len(), "file"),
        excerpt::name(&evidence.sandbox)
    );
    Check::failed(CheckName::Outside, CheckSeverity::Critical, Some(Blocker::ScopeDrift), expected, observed)
        .with_evidence(excerpt::names(evidence.outside.iter().map(String::as_str)))
}

/// What the check says, word for word.
pub const MARKERS_ARE_THE_LEADS: &str = "cc:* marker transitions are Lead-owned in Phase C (breezing mode)";

pub fn plan_markers(evidence: &Evidence) -> Check {
    let expected = "the markers of the plan file stay as they are";
    if evidence.contract.mode != WorkMode::Breezing {
        return Check::skipped(CheckName::PlanMarkers, "only in breezing mode");
    }
    let plans = plan_files(evidence);
    if plans.is_empty() {
        return Check::passed(CheckName::PlanMarkers, expected, "the plan file is untouched");
    }
    for file in plans {
        let before = file.text_before().or_else(|| evidence.base.text(&file.name())).unwrap_or_default();
        let after = match &file.after {
            None => "",
            Some(state) => match &state.node {
                Node::File(Some(text)) => text,
                Node::File(None) if file.before.as_ref().is_some_and(|before| before.hash == state.hash) => {
                    before
                }
                Node::File(None) => {
                    let observed = format!("{} is no readable text any more", excerpt::name(&file.name()));
                    return Check::inconclusive(CheckName::PlanMarkers, expected, observed);
                }
                Node::Link(_) | Node::Directory => "",
            },
        };
        let (old, new) = (marker_lines(before), marker_lines(after));
        // Where the sequences are the same, there is a diff without a marker; where they differ, every diff has one.
        if old != new {
            let changed =
                old.iter().zip(&new).position(|(old, new)| old != new).unwrap_or(old.len().min(new.len()));
            let quote =
                |sign: char, line: Option<&&str>| line.map(|line| format!("{sign}{}", excerpt::quote(line)));
            let lines = [quote('-', old.get(changed)), quote('+', new.get(changed))];
            return Check::failed(
                CheckName::PlanMarkers,
                CheckSeverity::Major,
                Some(Blocker::Partial),
                expected,
                MARKERS_ARE_THE_LEADS,
            )
            .with_evidence(lines.into_iter().flatten());
        }
    }
    Check::passed(CheckName::PlanMarkers, expected, "the plan file changed, its markers did not")
}

/// The plan file among the changes: by its name, as the target of a link of that name, and as the file that the name led to.
fn plan_files(evidence: &Evidence) -> Vec<&ChangedFile> {
    let Some(plan) = normal(&evidence.plan_file).filter(|plan| !plan.is_empty()) else { return Vec::new() };
    let changes = &evidence.changes;
    let by_name = changes.find(&plan);
    let target = by_name.and_then(|file| match file.before.as_ref().map(|state| &state.node) {
        Some(Node::Link(target)) => {
            let parent = plan.rsplit_once('/').map_or("", |(parent, _)| parent);
            normal(format!("{parent}/{}", target.0.to_string_lossy()).trim_start_matches('/'))
        }
        _ => None,
    });
    let led_to = evidence.base.text(&plan).filter(|text| by_name.is_none() && !marker_lines(text).is_empty());
    let is_plan = |file: &&ChangedFile| {
        let name = file.name();
        *name == *plan
            || target.as_deref() == Some(&*name)
            || file.renamed_from.as_ref().is_some_and(|old| old.0.to_string_lossy() == plan)
            || led_to.is_some_and(|text| file.text_before() == Some(text))
    };
    changes.files.iter().filter(is_plan).collect()
}

/// Lines that end in a cell with a marker: `^.*\|[[:space:]]*cc:(TODO|WIP|done|unnecessary|pending)[^|]*\|[[:space:]]*$`.
fn marker_lines(text: &str) -> Vec<&str> {
    text.split('\n').filter(|line| has_marker(line)).collect()
}

fn has_marker(line: &str) -> bool {
    const SPACE: [char; 6] = [' ', '\t', '\n', '\r', '\u{b}', '\u{c}'];
    let Some(row) = line.trim_end_matches(SPACE).strip_suffix('|') else { return false };
    let Some((_, cell)) = row.rsplit_once('|') else { return false };
    let Some(marker) = cell.trim_start_matches(SPACE).strip_prefix("cc:") else { return false };
    ["TODO", "WIP", "done", "unnecessary", "pending"].iter().any(|word| marker.starts_with(word))
}

pub fn self_review(evidence: &Evidence) -> Check {
    let expected = "every rule answered once, verified, with evidence";
    let rules = &evidence.contract.self_review_rules;
    if rules.is_empty() {
        return Check::skipped(CheckName::SelfReview, "the contract asks for none");
    }
    let report = match &evidence.testimony.report {
        Some(report) if evidence.testimony.source != ReportSource::Runner => report,
        _ => return Check::skipped(CheckName::SelfReview, "there is no report of the worker"),
    };
    if report.status != WorkerStatus::Completed {
        return Check::skipped(CheckName::SelfReview, "the worker gave up");
    }
    let mut answers: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, item) in report.self_review.iter().enumerate() {
        answers.entry(item.rule.trim()).or_default().push(index);
    }
    let mut problems = Vec::new();
    for rule in rules {
        let shown = excerpt::name(rule);
        match answers.get(rule.as_str()).map_or(&[][..], Vec::as_slice) {
            [] => problems.push(format!("{shown}: not answered")),
            [index] => {
                let item = &report.self_review[*index];
                if !item.verified {
                    problems.push(format!("{shown}: not verified"));
                }
                if !is_said(&item.evidence) {
                    problems.push(format!("{shown}: no evidence"));
                }
            }
            several => problems.push(format!("{shown}: answered {} times", several.len())),
        }
    }
    if problems.is_empty() {
        return Check::passed(CheckName::SelfReview, expected, excerpt::count(rules.len(), "rule"));
    }
    let observed = format!("{} not met", excerpt::count(problems.len(), "demand"));
    Check::failed(CheckName::SelfReview, CheckSeverity::Major, Some(Blocker::Partial), expected, observed)
        .with_evidence(problems)
}

/// Punctuation alone is as good as nothing.
fn is_said(text: &str) -> bool {
    shows_something(text) && text.chars().any(char::is_alphanumeric)
}

pub fn spec(evidence: &Evidence, allows: &dyn Fn(&str) -> bool) -> Check {
    let contract = &evidence.contract;
    let failed = |expected: &str, observed: String, paths: &BTreeSet<String>| {
        Check::failed(CheckName::Spec, CheckSeverity::Major, Some(Blocker::Partial), expected, observed)
            .with_evidence(excerpt::names(paths.iter().map(String::as_str)))
    };
    if let Some(spec) = &contract.spec_path {
        let expected = "the spec stays as it is, unless it is in `files`";
        let changed = spec_changes(evidence, spec);
        if changed.is_empty() {
            return Check::passed(CheckName::Spec, expected, "unchanged");
        }
        // The short form's defaults allow almost everything; they do not name the spec.
        if contract.files.is_some() && changed.iter().all(|path| allows(path)) {
            return Check::passed(CheckName::Spec, expected, "changed, as `files` allows");
        }
        return failed(expected, "the spec was changed by the work that it judges".to_owned(), &changed);
    }
    if contract.spec_skip_reason != Some(SpecSkip::DocsOnly) {
        return Check::skipped(CheckName::Spec, "the contract names no spec");
    }
    let expected = "only documents change: the contract says `docs-only`";
    let mut others: BTreeSet<String> = BTreeSet::new();
    for file in &evidence.changes.files {
        let is_directory = |state: &FileState| state.node == Node::Directory;
        let name = file.name();
        if !file.after.as_ref().or(file.before.as_ref()).is_some_and(is_directory)
            && !belongs_to_documents(&name)
        {
            others.insert(name.into_owned());
        }
    }
    if others.is_empty() {
        return Check::passed(CheckName::Spec, expected, "only documents changed");
    }
    failed(expected, format!("{} changed that is no document", excerpt::count(others.len(), "file")), &others)
}

fn spec_changes(evidence: &Evidence, spec: &str) -> BTreeSet<String> {
    let whole = normal(spec).unwrap_or_default();
    // `docs/spec.md#login` names a part of a file.
    let file_alone = whole.split('#').next().unwrap_or_default().to_owned();
    let is_spec = |name: &str| {
        [&whole, &file_alone].iter().any(|spec| {
            !spec.is_empty()
                && name
                    .strip_prefix(spec.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    };
    let mut changed = BTreeSet::new();
    for file in &evidence.changes.files {
        let old = file.renamed_from.as_ref().map(|old| old.0.to_string_lossy());
        for name in [Some(file.name()), old].into_iter().flatten() {
            if is_spec(&name) {
                changed.insert(name.into_owned());
            }
        }
    }
    changed
}

fn belongs_to_documents(path: &str) -> bool {
    const ENDINGS: [&str; 13] =
        ["mdx", "png", "jpg", "jpeg", "gif", "svg", "webp", "pdf", "drawio", "puml", "mmd", "org", "tex"];
    let first = path.split('/').next().unwrap_or_default().to_lowercase();
    let is_in_docs = matches!(first.as_str(), "docs" | "doc" | "documentation") && !is_code(path);
    is_document(path) || is_in_docs || ENDINGS.contains(&extension(path).as_str())
}
