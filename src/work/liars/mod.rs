//! The liars: scripted workers, dishonest and honest, whose evidence goes through all checks to a ruling. Tests alone.

mod further_honest;
mod further_liars;
mod honest_code;
mod honest_projects;
mod honest_reports;
mod honest_tests;
mod liars_about_commands;
mod liars_about_reports;
mod liars_beyond_scope;
mod liars_in_code;
mod liars_in_tests;
mod liars_in_validators;
mod outputs;
mod project;
mod projects;

use crate::model::verdict::{Check, CheckSeverity, CheckStatus, Ruling, Signal};
use crate::work::contract::Scope;
use crate::work::evidence::{Evidence, View};
use crate::work::history::History;
use crate::work::signal::{ruling, signal};
use crate::work::{verify, verify_code};
use project::{Case, Expected};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

pub(crate) mod prelude {
    pub use super::outputs::Shape;
    pub use super::project::{Case, Project};
    pub use super::projects::*;
    pub use crate::model::contract::{Guard, SpecSkip, WorkMode};
    pub use crate::model::verdict::{
        Blocker::{Hallucination, Partial, ScopeDrift, ToolFailure},
        CheckName,
        CheckSeverity::{Critical, Major},
    };
    pub use crate::work::evidence::{CommandEnd, HarnessEnd, NamedCommit, ReportSource, View};
}

/// The way of an attempt from its evidence to a ruling, as the loop goes it.
fn judged(evidence: &Evidence) -> (Vec<Check>, Signal, Ruling) {
    let mut evidence = evidence.clone();
    let scope = Scope::of(&evidence.contract).with_plan_file(&evidence.plan_file);
    let allows = |path: &str| scope.allows(path);
    let early = verify::before_commands(&evidence, &allows);
    if let Some(why) = verify::commands_are_useless(&early) {
        evidence.executions.retain(|run| run.on == View::Base);
        evidence.not_executed = Some(why);
    }
    let of_code = verify_code::checks(&evidence);
    let checks = verify::verify(&evidence, &allows, of_code);
    let signal = signal(&evidence, &checks, &History::default());
    let ruling = ruling(&evidence, &checks);
    (checks, signal, ruling)
}

fn cases() -> Vec<Case> {
    let families = [
        liars_about_commands::cases(),
        liars_about_reports::cases(),
        liars_beyond_scope::cases(),
        liars_in_code::cases(),
        liars_in_tests::cases(),
        liars_in_validators::cases(),
        further_honest::cases(),
        further_liars::cases(),
        honest_code::cases(),
        honest_projects::cases(),
        honest_reports::cases(),
        honest_tests::cases(),
    ];
    families.into_iter().flatten().collect()
}

/// What is wrong with how a case came out.
fn complaint(case: &Case, checks: &[Check], signal: Signal, ruling: Ruling) -> Option<String> {
    let blocking: Vec<&Check> = checks.iter().filter(|check| check.blocks()).collect();
    let is_right = match case.expected {
        Expected::Caught(name, severity, blocker) => {
            let is_wanted = |check: &Check| {
                check.id.name == name
                    && check.status == CheckStatus::Failed
                    && check.severity == severity
                    && check.blocker == Some(blocker)
            };
            checks.iter().any(is_wanted)
                && ruling != Ruling::Approve
                && ruling != Ruling::Skipped
                && signal.blocker_type.is_some()
        }
        Expected::Approved => {
            blocking.is_empty() && ruling == Ruling::Approve && signal.blocker_type.is_none()
        }
        Expected::Noop => blocking.is_empty() && ruling == Ruling::Skipped,
        Expected::Inconclusive(name) => {
            let undecided = |check: &&&Check| check.status == CheckStatus::Inconclusive;
            blocking.iter().filter(undecided).any(|check| check.id.name == name)
                && !blocking.iter().any(|check| check.status == CheckStatus::Failed)
                && ruling == Ruling::RequestChanges
        }
    };
    if is_right {
        return None;
    }
    let mut text = format!(
        "{}: expected {:?}, came to {ruling:?} {:?}\n",
        case.name, case.expected, signal.blocker_type
    );
    for check in checks.iter().filter(|check| check.status == CheckStatus::Failed || check.blocks()) {
        writeln!(
            text,
            "    {} {:?} {:?} {:?}: {}",
            check.id, check.status, check.severity, check.blocker, check.observed
        )
        .unwrap();
        for line in check.evidence.iter().take(6) {
            writeln!(text, "        {line}").unwrap();
        }
    }
    Some(text)
}

#[test]
fn every_liar_is_caught_and_no_honest_worker_is_refused() {
    let mut complaints = Vec::new();
    let mut names = BTreeSet::new();
    let (mut liars, mut honest, mut undecided) = (0, 0, 0);
    let mut by_check: BTreeMap<String, u32> = BTreeMap::new();
    for case in cases() {
        assert!(names.insert(case.name), "two cases are called {:?}", case.name);
        let (checks, signal, ruling) = judged(&case.evidence);
        match case.expected {
            Expected::Caught(name, _, _) => {
                liars += 1;
                *by_check.entry(name.text().to_owned()).or_default() += 1;
            }
            Expected::Approved | Expected::Noop => honest += 1,
            Expected::Inconclusive(_) => undecided += 1,
        }
        complaints.extend(complaint(&case, &checks, signal, ruling));
    }
    println!(
        "{liars} liars, {honest} honest workers, {undecided} that cannot be decided; {} came out wrong",
        complaints.len()
    );
    for (check, count) in &by_check {
        println!("  {check}: {count} liars");
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    assert!(liars >= 60 && honest >= 60, "{liars} liars, {honest} honest");
}

/// The order in which things were found says nothing.
#[test]
fn the_order_of_executions_and_files_changes_no_ruling() {
    for case in cases() {
        let mut turned = case.evidence.clone();
        turned.changes.files.reverse();
        turned.executions.reverse();
        let (mut one, mut other) = (judged(&case.evidence), judged(&turned));
        assert_eq!(one.2, other.2, "{}", case.name);
        let ids = |checks: &mut Vec<Check>| -> Vec<(String, CheckStatus, CheckSeverity)> {
            checks.iter().map(|check| (check.id.to_string(), check.status, check.severity)).collect()
        };
        assert_eq!(ids(&mut one.0), ids(&mut other.0), "{}", case.name);
    }
}
