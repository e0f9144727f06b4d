//! Whether there is a report that can be read and is of this attempt. What it says is measured by the other checks.

use super::excerpt;
use crate::model::contract::ContractForm;
use crate::model::verdict::{Blocker, Check, CheckName, CheckSeverity};
use crate::model::worker_report::WorkerStatus;
use crate::work::evidence::{Evidence, HarnessEnd, ReportSource};
use serde_json::Value;

const EXPECTED: &str = "a valid report of this attempt";

pub fn report(evidence: &Evidence) -> Check {
    let testimony = &evidence.testimony;
    let is_missing =
        testimony.report.is_none() && testimony.request.is_none() && testimony.problems.is_empty();
    let claimed = claimed_files(evidence);
    let failed = |severity, blocker, observed: String| {
        Check::failed(CheckName::Report, severity, Some(blocker), EXPECTED, observed)
            .with_evidence(testimony.problems.iter().map(|problem| excerpt::quote(problem)))
    };
    let has_ended_badly = matches!(evidence.harness, HarnessEnd::Failed(_) | HarnessEnd::Incapable(_));
    if claimed > 0 && evidence.changes.is_empty() && !is_explained(evidence) && !has_ended_badly {
        let observed = format!("claims {}, and nothing changed", excerpt::count(claimed, "changed file"));
        return failed(CheckSeverity::Critical, Blocker::Hallucination, observed);
    }
    if is_missing && testimony.source != ReportSource::Runner {
        if has_ended_badly {
            let observed = "no report: the harness did not end well".to_owned();
            return failed(CheckSeverity::Major, Blocker::ToolFailure, observed);
        }
        if evidence.harness == HarnessEnd::None {
            return Check::skipped(CheckName::Report, "no report was given");
        }
        if evidence.contract.form == ContractForm::Short {
            return Check::skipped(
                CheckName::Report,
                "the worker wrote none; the runner says what it measured",
            );
        }
        return failed(CheckSeverity::Major, Blocker::Partial, "no report".to_owned());
    }
    if !testimony.problems.is_empty() {
        let blocker = if has_ended_badly { Blocker::ToolFailure } else { Blocker::Partial };
        let observed = excerpt::quote(&testimony.problems[0]);
        return failed(CheckSeverity::Major, blocker, observed);
    }
    let what = match (&testimony.report, &testimony.request) {
        (_, Some(request)) => format!("an advisor request: {}", request.reason_code.text()),
        (Some(report), None) => match report.status {
            WorkerStatus::Completed => "completed".to_owned(),
            WorkerStatus::Failed => "failed".to_owned(),
            WorkerStatus::Escalated => "escalated".to_owned(),
        },
        (None, None) => "nothing".to_owned(),
    };
    let observed = match testimony.source {
        ReportSource::File | ReportSource::Nothing => what,
        ReportSource::FinalAnswer => format!("{what}; taken from the final answer"),
        ReportSource::Runner => format!("{what}; written by the runner from what it measured"),
    };
    Check::passed(CheckName::Report, EXPECTED, observed)
}

/// How many files the worker says it changed, also in a report that cannot be accepted.
fn claimed_files(evidence: &Evidence) -> usize {
    let testimony = &evidence.testimony;
    if let Some(report) = &testimony.report {
        let is_claim = testimony.source != ReportSource::Runner && report.status == WorkerStatus::Completed;
        return if is_claim { report.files_changed.len() } else { 0 };
    }
    let Some(Value::Object(raw)) = &testimony.raw else { return 0 };
    if raw.get("status").and_then(Value::as_str) != Some("completed") {
        return 0;
    }
    raw.get("files_changed").and_then(Value::as_array).map_or(0, Vec::len)
}

/// Whether the worker did write something that is not part of the work: then the claim is sloppy, not made up.
fn is_explained(evidence: &Evidence) -> bool {
    let changes = &evidence.changes;
    [&changes.by_products, &changes.ignored, &changes.protected, &changes.restored, &changes.unknown_base]
        .iter()
        .any(|paths| !paths.is_empty())
}
