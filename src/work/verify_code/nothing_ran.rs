//! Whether tests ran at all: a runner that exits with 0 in the middle proves nothing.

use super::{execution, script_of, short};
use crate::model::verdict::{Blocker, Check, CheckName, CheckSeverity};
use crate::work::evidence::{Evidence, Execution, View};
use crate::work::runners::runner_prints_summary;

/// `nothing-ran`: a known runner that exits with 0 without its summary, or runs no test where the base ran some.
pub fn nothing_ran(evidence: &Evidence) -> Check {
    let id = CheckName::NothingRan;
    let expected = "test runners come to their end and run tests";
    let mut lines = Vec::new();
    let mut ran = 0_u64;
    let mut is_known = false;
    let mut was_run = false;
    for (index, command) in evidence.contract.validation_commands.iter().enumerate() {
        let Some(run) = execution(evidence, index, View::Result).filter(|run| run.passed()) else { continue };
        was_run = true;
        let base = execution(evidence, index, View::Base);
        let before = base.and_then(|base| base.summary.as_ref());
        // A command whose base passes without a summary never prints one to its end.
        let never_ends = base.is_some_and(|base| {
            base.passed() && !base.summary.as_ref().is_some_and(|summary| summary.is_complete)
        });
        match &run.summary {
            Some(summary) => {
                is_known = true;
                ran = ran.saturating_add(summary.ran());
                let ran_before = before.map_or(0, super::super::evidence::TestSummary::ran);
                if !summary.is_complete && !never_ends {
                    lines.push(format!(
                        "{}: exit 0, but {} did not print its summary",
                        command.name(),
                        summary.runner
                    ));
                } else if summary.ran() == 0 && ran_before > 0 {
                    lines.push(format!(
                        "{}: exit 0, but no test ran; {ran_before} ran on the base",
                        command.name()
                    ));
                }
            }
            None if before.is_some_and(|before| before.is_complete) => {
                let runner = before.map_or("", |before| before.runner.as_str());
                lines.push(format!(
                    "{}: exit 0, but no sign of {runner}, which ran on the base",
                    command.name()
                ));
            }
            None => {
                let script = script_of(evidence, &command.command);
                if !never_ends && runner_prints_summary(&command.command, script.as_deref()) {
                    lines.push(format!("{}: exit 0, but the test runner printed no summary", command.name()));
                }
            }
        }
    }
    if !was_run {
        return Check::skipped(id, "no command passed");
    }
    if !lines.is_empty() {
        let observed = lines[0].clone();
        return Check::failed(id, CheckSeverity::Critical, Some(Blocker::Partial), expected, observed)
            .with_evidence(short(lines));
    }
    let observed = match (is_known, ran) {
        (true, 0) => "no test ran on either side: confidence at most medium".to_owned(),
        (true, ran) => format!("{ran} tests ran"),
        (false, _) => "no known test runner".to_owned(),
    };
    Check::passed(id, expected, observed)
}

/// Whether a known runner was there and no test ran: confidence is at most medium.
pub fn ran_no_tests(evidence: &Evidence) -> bool {
    let runs = evidence.executions.iter().filter(|run| run.on == View::Result);
    let mut summaries = runs.filter_map(|run: &Execution| run.summary.as_ref()).peekable();
    summaries.peek().is_some() && summaries.all(|summary| summary.ran() == 0)
}
