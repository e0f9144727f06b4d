//! The commit that the report names, and what the worker did to the repository itself. Asks no repository: the facts were collected.

use super::excerpt;
use crate::model::contract::WorkMode;
use crate::model::verdict::{Blocker, Check, CheckName, CheckSeverity};
use crate::work::evidence::Evidence;

pub fn commit(evidence: &Evidence) -> Check {
    let expected = "the named commit exists, has the changes, and is on the right branch";
    let report = evidence.testimony.report.as_ref();
    let claimed = report.and_then(|report| report.commit.as_deref()).and_then(claim);
    let named = evidence.git.named.as_ref();
    let failed = |observed: String| {
        let blocker = Some(Blocker::Hallucination);
        Check::failed(CheckName::Commit, CheckSeverity::Major, blocker, expected, observed)
    };
    let Some(named) = named else {
        return match claimed {
            None => Check::skipped(CheckName::Commit, "no commit is named"),
            Some(name) if !evidence.git.is_repository => {
                failed(format!("names commit {}, but there is no repository", excerpt::name(name)))
            }
            Some(name) => Check::inconclusive(
                CheckName::Commit,
                expected,
                format!("commit {} was not looked up", excerpt::name(name)),
            ),
        };
    };
    // What the facts name although the report says `none` is no claim.
    if claimed.is_none() && report.is_some_and(|report| report.commit.is_some()) {
        return Check::skipped(CheckName::Commit, "no commit is named");
    }
    let name = excerpt::name(&named.name);
    if !named.exists {
        return failed(format!("commit {name} does not exist"));
    }
    if !named.contains_changes {
        return failed(format!("commit {name} does not contain the changes"));
    }
    let branch = named.branch.as_deref().map(short_branch);
    let on = branch.map_or("on no branch".to_owned(), |branch| format!("on {}", excerpt::name(branch)));
    if let Some(wanted) = wanted_branch(evidence)
        && branch != Some(wanted.as_str())
    {
        return failed(format!("commit {name} is {on}, not on {}", excerpt::name(&wanted)));
    }
    let said = report.and_then(|report| report.branch.as_deref()).and_then(claim).map(short_branch);
    if let (Some(said), Some(branch)) = (said, branch)
        && said != branch
        && said != "HEAD"
    {
        return failed(format!("commit {name} is {on}, the report says {}", excerpt::name(said)));
    }
    Check::passed(CheckName::Commit, expected, format!("{name}, {on}"))
}

/// What is said in place of nothing is no claim.
fn claim(text: &str) -> Option<&str> {
    let text = text.trim();
    let nothing = [
        "",
        "none",
        "null",
        "nil",
        "n/a",
        "na",
        "-",
        "no",
        "no commit",
        "not committed",
        "uncommitted",
        "undefined",
    ];
    (!nothing.contains(&text.to_lowercase().as_str())).then_some(text)
}

fn short_branch(branch: &str) -> &str {
    branch.strip_prefix("refs/heads/").unwrap_or(branch)
}

/// The branch that the mode demands; a nested repository has the one that the contract names.
fn wanted_branch(evidence: &Evidence) -> Option<String> {
    let contract = &evidence.contract;
    if let Some(target) = &contract.commit_target
        && !evidence.git.nested.is_empty()
    {
        return Some(short_branch(&target.branch).to_owned());
    }
    (contract.mode == WorkMode::Breezing).then(|| format!("harness-work/{}", contract.task_id))
}

pub fn git_plumbing(evidence: &Evidence) -> Check {
    let expected = "hooks, configuration and other refs of the repository stay as they are";
    let git = &evidence.git;
    // A path of the repository in the change set would be written to the user's.
    let mut written: Vec<String> = Vec::new();
    for file in &evidence.changes.files {
        let name = file.name();
        let first = name.split('/').next().unwrap_or_default();
        if git.is_repository && first.eq_ignore_ascii_case(".git") {
            written.push(name.into_owned());
        }
    }
    let mut lines = excerpt::names(written.iter().map(String::as_str));
    lines.extend(excerpt::names(git.settings_written.iter().map(String::as_str)));
    lines.extend(excerpt::names(git.refs_moved.iter().map(String::as_str)));
    let settings = git.settings_written.len() + written.len();
    let observed = format!(
        "{} written, {} moved",
        excerpt::count(settings, "setting"),
        excerpt::count(git.refs_moved.len(), "other ref")
    );
    if !written.is_empty() || git.would_be_exported {
        let observed = format!("{observed}; it would reach your repository");
        let blocker = Some(Blocker::ScopeDrift);
        return Check::failed(CheckName::GitPlumbing, CheckSeverity::Critical, blocker, expected, observed)
            .with_evidence(lines);
    }
    if !lines.is_empty() {
        let observed = format!("{observed}; not taken over");
        return Check::failed(CheckName::GitPlumbing, CheckSeverity::Minor, None, expected, observed)
            .with_evidence(lines);
    }
    if !git.is_repository {
        return Check::skipped(CheckName::GitPlumbing, "the project is in no repository");
    }
    Check::passed(CheckName::GitPlumbing, expected, "untouched")
}
