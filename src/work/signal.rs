//! What follows from checks: how sure the result is, what is in the way, and what to do about it. Pure; no model is asked.

use super::evidence::{CommandEnd, Evidence, Execution, HarnessEnd, ReportSource, View};
use super::history::History;
use super::out_of_scope;
use super::signature::{change_set_hash, signature};
use crate::model::contract::Contract;
use crate::model::verdict::{
    AttemptStrategy, Blocker, Check, CheckName, CheckStatus, Confidence, Ruling, Signal, Strategy,
};
use crate::model::worker_report::WorkerStatus;
use std::collections::BTreeSet;

/// Why an approval may be sure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Grounds {
    /// A command failed on the base and passes on the result.
    pub discriminates: bool,
    pub reviewer_approved: bool,
    /// No base to compare with, no test that ran, or no report of the worker itself: medium at most.
    pub limited: bool,
}

/// The rules in their order; the first that matches decides. `history` is what came before this attempt.
pub fn signal(evidence: &Evidence, checks: &[Check], history: &History) -> Signal {
    let judged = judge(evidence, checks, history);
    Signal {
        confidence: judged.0,
        progress_made: progress_made(evidence, checks, history),
        blocker_type: judged.1,
        suggested_strategy: judged.2,
    }
}

type Judgement = (Confidence, Option<Blocker>, Option<Strategy>);

fn judge(evidence: &Evidence, checks: &[Check], history: &History) -> Judgement {
    let blocking: Vec<&Check> = checks.iter().filter(|check| check.blocks()).collect();
    let has = |blocker: Blocker| blocking.iter().any(|check| check.blocker == Some(blocker));
    let nothing_changed = evidence.changes.is_empty();
    let low = if nothing_changed { Confidence::None } else { Confidence::Low };
    let previous = history.current().last();
    // 0: the worker itself gave up.
    if gave_up(evidence) {
        return (Confidence::None, None, Some(Strategy::Escalate));
    }
    // 1: trying again is no use.
    if is_incapable(evidence, &blocking) {
        return (Confidence::None, Some(Blocker::CapabilityGap), Some(Strategy::Escalate));
    }
    // 2: something of ours or of the harness failed, so the rest says little about the work.
    let inconclusive = blocking.iter().any(|check| check.status == CheckStatus::Inconclusive);
    if matches!(evidence.harness, HarnessEnd::Failed(_)) || inconclusive || has(Blocker::ToolFailure) {
        let again = previous.is_some_and(|attempt| attempt.signal.blocker_type == Some(Blocker::ToolFailure));
        let strategy = if again { Strategy::Rephrase } else { Strategy::Retry };
        return (low, Some(Blocker::ToolFailure), Some(strategy));
    }
    if blocking.is_empty() {
        return (approved_confidence(evidence, checks), None, None);
    }
    // 3: the same again. A return of the report alone must leave the change set as it is, so it is no sign there.
    let only_report = is_only_report(&blocking);
    if !only_report && is_same_as_before(evidence, checks, history) {
        let strategy = if history.has_looped() { Strategy::Skip } else { Strategy::Rephrase };
        return (low, Some(Blocker::Loop), Some(strategy));
    }
    // 4 and 5
    if has(Blocker::Hallucination) {
        return (low, Some(Blocker::Hallucination), Some(Strategy::Retry));
    }
    if has(Blocker::ScopeDrift) {
        return (Confidence::Low, Some(Blocker::ScopeDrift), Some(Strategy::Rephrase));
    }
    // 6
    if !only_report {
        let shrank = shrank(&failures(evidence, checks), &history.last_failures);
        let can_split = shrank && evidence.contract.planner.is_some();
        let confidence = if shrank { Confidence::Medium } else { Confidence::Low };
        let strategy = if can_split { Strategy::Decompose } else { Strategy::Retry };
        return (confidence, Some(Blocker::Partial), Some(strategy));
    }
    // 7
    (Confidence::Medium, Some(Blocker::Partial), Some(Strategy::Retry))
}

/// Rules 8 and 9.
fn approved_confidence(evidence: &Evidence, checks: &[Check]) -> Confidence {
    let grounds = grounds(evidence, checks);
    let flawless = !checks.iter().any(|check| check.status == CheckStatus::Failed);
    if flawless && (grounds.discriminates || grounds.reviewer_approved) && !grounds.limited {
        Confidence::High
    } else {
        Confidence::Medium
    }
}

/// Whether the worker itself says that it failed or that a person has to decide.
pub fn gave_up(evidence: &Evidence) -> bool {
    evidence.testimony.report.as_ref().is_some_and(|report| report.status != WorkerStatus::Completed)
}

fn is_incapable(evidence: &Evidence, blocking: &[&Check]) -> bool {
    let missing_here = |check: &Check| {
        check.status == CheckStatus::Inconclusive
            && check.id.number.is_some_and(|number| {
                is_command_missing(&evidence.executions, number - usize::from(number > 0))
            })
    };
    matches!(evidence.harness, HarnessEnd::Incapable(_))
        || blocking.iter().any(|check| check.blocker == Some(Blocker::CapabilityGap) || missing_here(check))
}

/// Whether a shell did not find a command, or may not run it, on the base already: that is not the worker's doing.
fn is_command_missing(executions: &[Execution], command: usize) -> bool {
    executions.iter().any(|run| {
        run.command == command && run.on == View::Base && matches!(run.end, CommandEnd::Exited(126 | 127))
    })
}

/// Checks that a new report alone can satisfy.
fn is_only_report(blocking: &[&Check]) -> bool {
    let is_about_report = |check: &Check| match check.id.name {
        CheckName::Report | CheckName::SelfReview => matches!(check.blocker, None | Some(Blocker::Partial)),
        // Changed and not listed; what was listed and not changed is a hallucination.
        CheckName::FilesChanged => check.blocker == Some(Blocker::Partial),
        _ => false,
    };
    !blocking.is_empty() && blocking.iter().all(|check| is_about_report(check))
}

/// Whether only the report is wrong: it is sent back, and the change set must stay as it is.
pub fn only_report_is_wrong(checks: &[Check]) -> bool {
    is_only_report(&checks.iter().filter(|check| check.blocks()).collect::<Vec<_>>())
}

fn is_same_as_before(evidence: &Evidence, checks: &[Check], history: &History) -> bool {
    let Some(previous) = history.current().last() else { return false };
    let now = signature(checks);
    now.is_some() && now == previous.signature && previous.change_set == change_set_hash(&evidence.changes)
}

/// Names of failed tests that are kept of one command; more count only by their number.
const MOST_NAMES: usize = 500;

/// What an attempt failed of: the ids of the checks that block, and the failed tests of each command.
pub fn failures(evidence: &Evidence, checks: &[Check]) -> BTreeSet<String> {
    let mut result: BTreeSet<String> =
        checks.iter().filter(|check| check.blocks()).map(|check| check.id.to_string()).collect();
    let failed = evidence.executions.iter().filter(|run| run.on == View::Result && !run.passed());
    for run in failed {
        let Some(summary) = &run.summary else { continue };
        let names =
            summary.tests.iter().filter(|(_, outcome)| **outcome == super::evidence::TestOutcome::Failed);
        let before = result.len();
        let command = run.command + 1;
        result.extend(
            names
                .take(MOST_NAMES)
                .map(|(name, _)| format!("validation/{command}: {}", &name[..name.floor_char_boundary(200)])),
        );
        let named = result.len() - before;
        let unnamed =
            usize::try_from(summary.failed).unwrap_or(MOST_NAMES).min(MOST_NAMES).saturating_sub(named);
        result.extend((0..unnamed).map(|number| format!("validation/{command}: test {number}")));
    }
    result
}

fn shrank(now: &BTreeSet<String>, before: &BTreeSet<String>) -> bool {
    now.len() < before.len()
}

/// Whether there is work in scope, and more of it, or less that fails, than before.
pub fn progress_made(evidence: &Evidence, checks: &[Check], history: &History) -> bool {
    if !has_work_in_scope(evidence, checks) {
        return false;
    }
    let Some(previous) = history.current().last() else { return true };
    previous.change_set != change_set_hash(&evidence.changes)
        || shrank(&failures(evidence, checks), &history.last_failures)
}

/// Whether anything is changed that may be.
pub fn has_work_in_scope(evidence: &Evidence, checks: &[Check]) -> bool {
    out_of_scope::paths(evidence, checks).len() < evidence.changes.files.len()
}

/// What an approval rests on.
pub fn grounds(evidence: &Evidence, checks: &[Check]) -> Grounds {
    let passed = |name: CheckName| {
        let of_name = |check: &&Check| check.id.name == name;
        checks.iter().filter(of_name).any(|check| check.status == CheckStatus::Passed)
    };
    let on = |view: View| evidence.executions.iter().filter(move |run| run.on == view);
    let counted: Vec<u64> = on(View::Result)
        .filter_map(|run| run.summary.as_ref())
        .map(super::evidence::TestSummary::ran)
        .collect();
    let no_test_ran = !counted.is_empty() && counted.iter().all(|ran| *ran == 0);
    Grounds {
        discriminates: passed(CheckName::Discriminates)
            || passed(CheckName::TddRed)
            || (0..evidence.contract.validation_commands.len())
                .any(|command| turned_green(&evidence.executions, command)),
        reviewer_approved: passed(CheckName::Review),
        limited: !evidence.uses_base
            || no_test_ran
            || on(View::Result).next().is_none()
            || evidence.testimony.source == ReportSource::Runner,
    }
}

/// Whether a command failed on the base, by its own judgement, and passes on the result.
pub fn turned_green(executions: &[Execution], command: usize) -> bool {
    let runs = |view: View| executions.iter().filter(move |run| run.command == command && run.on == view);
    let green = runs(View::Result).any(Execution::passed) && runs(View::Result).all(Execution::passed);
    let red = |run: &Execution| matches!(run.end, CommandEnd::Exited(code) if !matches!(code, 0 | 126 | 127));
    // With only the changed tests, a load error is no judgement; a failed test is.
    let new_test_red =
        |run: &Execution| red(run) && run.summary.as_ref().is_some_and(|summary| summary.failed > 0);
    green && (runs(View::Base).any(red) || runs(View::OnlyTests).any(new_test_red))
}

/// Whether the worker says that nothing had to be changed, and nothing speaks against it.
pub fn is_noop(evidence: &Evidence, checks: &[Check]) -> bool {
    let says = evidence.testimony.report.as_ref().and_then(|report| report.noop.as_deref());
    says.is_some_and(|reason| !reason.trim().is_empty())
        && evidence.changes.is_empty()
        && !checks.iter().any(Check::blocks)
}

/// What one look at a result comes to, without any going on: the answer of `verify`, and of the last attempt.
pub fn ruling(evidence: &Evidence, checks: &[Check]) -> Ruling {
    if gave_up(evidence) {
        Ruling::Escalated
    } else if checks.iter().any(Check::blocks)
        || matches!(evidence.harness, HarnessEnd::Failed(_) | HarnessEnd::Incapable(_))
    {
        Ruling::RequestChanges
    } else if is_noop(evidence, checks) {
        Ruling::Skipped
    } else {
        Ruling::Approve
    }
}

/// The record of an attempt that ended.
pub fn attempt_strategy_text(strategy: AttemptStrategy) -> &'static str {
    match strategy {
        AttemptStrategy::First => "first",
        AttemptStrategy::Retry => "retry",
        AttemptStrategy::Rephrase => "rephrase",
        AttemptStrategy::ReportOnly => "report only",
        AttemptStrategy::Subtask => "subtask",
    }
}

/// Whether a contract's reviewer has still to be asked.
pub fn review_is_due(contract: &Contract, checks: &[Check]) -> bool {
    contract.review.is_some() && !checks.iter().any(|check| check.id.name == CheckName::Review)
}

#[cfg(test)]
#[path = "signal_tests.rs"]
mod tests;
