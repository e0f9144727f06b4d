//! How the harness ended, and which denied tools it used. Reads no report.

use super::excerpt;
use crate::model::verdict::{Blocker, Check, CheckName, CheckSeverity};
use crate::work::evidence::{Evidence, HarnessEnd};

pub fn harness(evidence: &Evidence) -> Check {
    let failed = |blocker, why: &str| {
        let observed = excerpt::quote(why);
        Check::failed(
            CheckName::Harness,
            CheckSeverity::Critical,
            Some(blocker),
            "ends without an error",
            observed,
        )
    };
    match &evidence.harness {
        HarnessEnd::Completed => Check::passed(CheckName::Harness, "ends without an error", "completed"),
        HarnessEnd::Incapable(why) => failed(Blocker::CapabilityGap, why),
        HarnessEnd::Failed(why) => failed(Blocker::ToolFailure, why),
        HarnessEnd::None => Check::skipped(CheckName::Harness, "no harness was run"),
    }
}

pub fn tools(evidence: &Evidence) -> Check {
    let expected = "no denied tool is used";
    if !evidence.used_although_denied.is_empty() {
        let used = evidence.used_although_denied.len();
        return Check::failed(
            CheckName::Tools,
            CheckSeverity::Critical,
            Some(Blocker::ScopeDrift),
            expected,
            format!("{} used although denied", excerpt::count(used, "tool")),
        )
        .with_evidence(excerpt::names(evidence.used_although_denied.iter().map(String::as_str)));
    }
    if evidence.harness == HarnessEnd::None {
        return Check::skipped(CheckName::Tools, "no harness was run");
    }
    let observed = match evidence.denied.len() {
        0 => "none was tried".to_owned(),
        tried => format!("{} tried and not allowed", excerpt::count(tried, "call")),
    };
    Check::passed(CheckName::Tools, expected, observed)
        .with_evidence(excerpt::names(evidence.denied.iter().map(String::as_str)))
}
