//! Verification: what was claimed beside what was measured, as checks. Runs nothing; the checks about tests and code are made elsewhere.

mod commit;
mod excerpt;
mod files_changed;
mod fold;
mod harness;
mod lines;
mod links_names;
mod listed_path;
mod nested_repo;
mod quoted_commands;
mod report;
mod scope;
mod shell_words;
mod terms;
mod validators;

pub use nested_repo::nested_repo_request;
pub use terms::MARKERS_ARE_THE_LEADS;

use super::evidence::Evidence;
use crate::model::verdict::{Check, CheckName, CheckStatus};

/// Everything that needs no command to have been run. `allows` says whether the contract lets a path change.
pub fn before_commands(evidence: &Evidence, allows: &dyn Fn(&str) -> bool) -> Vec<Check> {
    in_order(vec![
        harness::harness(evidence),
        report::report(evidence),
        files_changed::files_changed(evidence),
        scope::scope(evidence, allows),
        scope::not_empty(evidence),
        links_names::links_names(evidence),
        commit::commit(evidence),
        commit::git_plumbing(evidence),
        nested_repo::nested_repo(evidence),
        validators::validators(evidence),
        terms::outside(evidence),
        terms::plan_markers(evidence),
        terms::self_review(evidence),
        quoted_commands::quoted_commands(evidence),
        quoted_commands::stale(evidence),
        harness::tools(evidence),
        terms::spec(evidence, allows),
    ])
}

/// Why running the commands would tell nothing new.
pub fn commands_are_useless(checks: &[Check]) -> Option<String> {
    const DECIDE: [CheckName; 3] = [CheckName::Harness, CheckName::Scope, CheckName::NotEmpty];
    let failed = |check: &&Check| {
        DECIDE.contains(&check.id.name) && check.status == CheckStatus::Failed && check.blocks()
    };
    let check = checks.iter().find(failed)?;
    Some(format!("check `{}` failed: {}", check.id, check.observed))
}

/// All checks in the order in which they are shown: those from here, and those about tests and code.
pub fn verify(evidence: &Evidence, allows: &dyn Fn(&str) -> bool, code_checks: Vec<Check>) -> Vec<Check> {
    let mut checks = before_commands(evidence, allows);
    checks.extend(code_checks);
    in_order(checks)
}

fn in_order(mut checks: Vec<Check>) -> Vec<Check> {
    let rank = |name: CheckName| CheckName::ALL.iter().position(|(known, _)| *known == name);
    checks.sort_by_key(|check| (rank(check.id.name), check.id.number));
    checks.into_iter().map(excerpt::bounded).collect()
}

#[cfg(test)]
#[path = "verify_tests.rs"]
mod tests;
