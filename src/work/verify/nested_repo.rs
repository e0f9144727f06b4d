//! Repositories inside the project that the work touches, and one above it that a commit would concern. Only asks; changes nothing.

use super::excerpt;
use super::listed_path::normal;
use crate::model::verdict::{Blocker, Check, CheckName, CheckSeverity};
use crate::model::worker_report::{ADVISOR_REQUEST, AdvisorReason, AdvisorRequest};
use crate::work::evidence::Evidence;
use std::collections::BTreeSet;

const EXPECTED: &str = "all changes belong to one repository, or to the one that `commit_target` names";

/// The question that a nested repository leads to. Whoever asks it sees to it that it is asked once.
pub fn nested_repo_request(evidence: &Evidence) -> Option<AdvisorRequest> {
    let places = unexpected(evidence);
    if places.is_empty() {
        return None;
    }
    let task_id = &evidence.contract.task_id;
    let shown = excerpt::names(places.iter().map(String::as_str));
    Some(AdvisorRequest {
        schema_version: ADVISOR_REQUEST.to_owned(),
        task_id: task_id.clone(),
        reason_code: AdvisorReason::NeedsSpike,
        trigger_hash: trigger(task_id),
        question: format!(
            "the work touches {}: where should its changes be committed, and should the contract name it in `commit_target`?",
            excerpt::count_of(places.len(), "nested repository", "nested repositories"),
        ),
        attempt: 0,
        last_error: String::new(),
        context_summary: shown,
    })
}

pub fn nested_repo(evidence: &Evidence) -> Check {
    let places = unexpected(evidence);
    if places.is_empty() {
        return Check::passed(CheckName::NestedRepo, EXPECTED, "no other repository is touched");
    }
    let names = excerpt::names(places.iter().map(String::as_str));
    Check::failed(
        CheckName::NestedRepo,
        CheckSeverity::Major,
        Some(Blocker::Partial),
        EXPECTED,
        format!("{} touched", excerpt::count_of(places.len(), "nested repository", "nested repositories")),
    )
    .with_evidence([trigger(&evidence.contract.task_id)])
    .with_evidence(names)
}

fn trigger(task_id: &str) -> String {
    format!("{task_id}:needs-spike:embedded-git-repo")
}

/// Repositories that the contract does not name as the target of commits.
fn unexpected(evidence: &Evidence) -> BTreeSet<String> {
    let git = &evidence.git;
    let mut places: BTreeSet<String> = git.nested.iter().map(|path| root_of(path)).collect();
    for file in &evidence.changes.files {
        let path = file.name();
        let is_git = |part: &str| part.eq_ignore_ascii_case(".git");
        let Some(position) = path.split('/').position(is_git) else { continue };
        // What is in the repository of the project itself is for `git-plumbing`.
        if position > 0 || !git.is_repository {
            places.insert(path.split('/').take(position).collect::<Vec<_>>().join("/"));
        }
    }
    let has_commit = git.named.as_ref().is_some_and(|commit| commit.exists);
    if git.has_superproject && has_commit {
        places.insert(String::new());
    }
    let target = evidence.contract.commit_target.as_ref().map(|target| root_of(&target.repo_root));
    places
        .into_iter()
        .filter(|place| target.as_ref() != Some(place))
        .map(|place| if place.is_empty() { ".".to_owned() } else { place })
        .collect()
}

/// The directory that a repository is in: `a/lib` for `a/lib/.git`, empty for the root.
fn root_of(path: &str) -> String {
    let path = normal(path).unwrap_or_default();
    match path.strip_suffix(".git") {
        Some(before) if before.is_empty() || before.ends_with('/') => before.trim_end_matches('/').to_owned(),
        _ => path,
    }
}
