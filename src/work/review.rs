//! What a reviewer answers, as a check. It can lower a verdict, never raise it: an approval is only a passed check beside the others.

use super::last_object::last_object;
use super::signature::plain;
use crate::model::contract::{Contract, DoneItem};
use crate::model::verdict::{Blocker, Check, CheckName, CheckSeverity};
use crate::model::worker_report::{REVIEW_RESULT, ReviewGap, ReviewResult, ReviewVerdict};
use serde_json::{Value, json};

/// Where a line of the result is looked up: path, line from 1.
pub type LineOf<'a> = &'a dyn Fn(&str, usize) -> Option<String>;

/// Reads an answer: `review-result.v1`, by shape.
pub fn parse(answer: &str) -> Result<ReviewResult, String> {
    let value = last_object(answer).ok_or("the answer has no JSON object")?;
    let version = value.get("schema_version").and_then(Value::as_str);
    if version.is_some_and(|version| version != REVIEW_RESULT) {
        return Err(format!("`schema_version` is not `{REVIEW_RESULT}`"));
    }
    serde_json::from_value(value).map_err(|error| plain(&error.to_string()))
}

/// The check that an answer comes to. No answer and an invalid one are inconclusive.
pub fn review_check(
    contract: &Contract,
    answer: Option<&str>,
    line_of: LineOf,
) -> (Check, Option<ReviewResult>) {
    const EXPECTED: &str = "the reviewer approves";
    let unclear =
        |why: String| (optional(contract, Check::inconclusive(CheckName::Review, EXPECTED, why)), None);
    let Some(answer) = answer else { return unclear("the reviewer gave no answer".into()) };
    let result = match parse(answer) {
        Ok(result) => result,
        Err(why) => return unclear(format!("the answer of the reviewer is invalid: {why}")),
    };
    let serious: Vec<&ReviewGap> = result.gaps.iter().filter(|gap| is_serious(gap)).collect();
    let check = if !serious.is_empty() {
        refused(format!("the reviewer asks for {}", count(serious.len())), gap_lines(&serious))
    } else if result.verdict == ReviewVerdict::RequestChanges && result.gaps.is_empty() {
        // A refusal without a reason is no answer that anybody can act on.
        Check::inconclusive(CheckName::Review, EXPECTED, "the reviewer refuses and names no gap")
    } else {
        // Only minor gaps mean approval, whatever the verdict says; an approval is proved.
        let problems = unproved(contract, &result, line_of);
        if problems.is_empty() {
            let minor = result.gaps.len();
            let observed = if minor == 0 { "approved".into() } else { format!("approved, {minor} minor") };
            let notes: Vec<&ReviewGap> = result.gaps.iter().collect();
            Check::passed(CheckName::Review, EXPECTED, observed).with_evidence(gap_lines(&notes))
        } else {
            let observed = "the approval does not cite what it rests on";
            Check::inconclusive(
                CheckName::Review,
                "each item is cited with `path:line` and the line itself",
                observed,
            )
            .with_evidence(problems)
        }
    };
    (optional(contract, check), Some(result))
}

/// Where the contract does not require the review, no answer holds up nothing; a refusal still does.
fn optional(contract: &Contract, check: Check) -> Check {
    let required = contract.review.as_ref().is_none_or(|terms| terms.required);
    if required || check.status != crate::model::verdict::CheckStatus::Inconclusive {
        return check;
    }
    Check { evidence: check.evidence, ..Check::skipped(CheckName::Review, check.observed) }
}

fn count(gaps: usize) -> String {
    crate::model::amounts::counted(gaps, "change")
}

fn refused(observed: String, evidence: Vec<String>) -> Check {
    Check::failed(
        CheckName::Review,
        CheckSeverity::Major,
        Some(Blocker::Partial),
        "the reviewer approves",
        observed,
    )
    .with_evidence(evidence)
}

/// Critical and major count; so does a severity that is none of the known words.
fn is_serious(gap: &ReviewGap) -> bool {
    !matches!(gap.severity.trim().to_lowercase().as_str(), "minor" | "recommendation" | "info" | "nit")
}

fn gap_lines(gaps: &[&ReviewGap]) -> Vec<String> {
    let line = |gap: &&ReviewGap| {
        let mut text = format!("{} {}: {}", plain(&gap.severity), plain(&gap.location), plain(&gap.issue));
        if !gap.suggestion.trim().is_empty() {
            text.push_str(&format!(" ({})", plain(&gap.suggestion)));
        }
        text
    };
    gaps.iter().take(10).map(line).collect()
}

/// Items of the definition of done that the approval does not prove. A contract without any needs one citation, for the task.
fn unproved(contract: &Contract, result: &ReviewResult, line_of: LineOf) -> Vec<String> {
    let whole = [DoneItem { id: "task".into(), text: contract.task.clone(), check: None }];
    let items: &[DoneItem] =
        if contract.definition_of_done.is_empty() { &whole } else { &contract.definition_of_done };
    let mut problems = Vec::new();
    for item in items {
        let cited = |check: &&super::super::model::worker_report::ReviewCheck| {
            check.id == item.id || contract.definition_of_done.is_empty()
        };
        let mut found = Err(format!("{}: not cited", plain(&item.id)));
        // Bounded: a reviewer may repeat itself.
        for check in result.checks.iter().filter(cited).take(20) {
            found = matches(&check.location, &check.quote, line_of)
                .map_err(|why| format!("{}: {why}", plain(&item.id)));
            if says_no(&check.status) {
                found = Err(format!("{}: marked `{}`", plain(&item.id), plain(&check.status)));
                break;
            }
            if found.is_ok() {
                break;
            }
        }
        problems.extend(found.err());
    }
    problems
}

fn says_no(status: &str) -> bool {
    matches!(
        status.trim().to_lowercase().as_str(),
        "failed" | "fail" | "no" | "not-met" | "not_met" | "unmet" | "missing"
    )
}

/// Whether a citation is true: the line is there, and is the one that is quoted.
fn matches(location: &str, quote: &str, line_of: LineOf) -> Result<(), String> {
    let wanted = squeezed(quote);
    if !wanted.contains(|c: char| c.is_alphanumeric()) {
        return Err(format!("no line is quoted for `{}`", plain(location)));
    }
    let (path, number) =
        location.trim().rsplit_once(':').ok_or_else(|| format!("`{}` is no `path:line`", plain(location)))?;
    let number: usize = number
        .parse()
        .ok()
        .filter(|number| *number > 0)
        .ok_or_else(|| format!("`{}` is no `path:line`", plain(location)))?;
    let path = path.strip_prefix("./").unwrap_or(path);
    let line = line_of(path, number).ok_or_else(|| format!("`{}` is not there", plain(location)))?;
    if squeezed(&line) == wanted { Ok(()) } else { Err(format!("`{}` is another line", plain(location))) }
}

/// Indentation and runs of blanks are not compared.
fn squeezed(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// To hold a harness to: all fields required, no others.
pub fn schema() -> Value {
    let text = || json!({"type": "string"});
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["schema_version", "verdict", "type", "reviewer_profile", "checks", "gaps", "followups", "memory_updates"],
        "properties": {
            "schema_version": {"type": "string", "enum": [REVIEW_RESULT]},
            "verdict": {"type": "string", "enum": ["APPROVE", "REQUEST_CHANGES"]},
            "type": text(),
            "reviewer_profile": text(),
            "checks": {"type": "array", "items": {
                "type": "object",
                "additionalProperties": false,
                "required": ["id", "status", "location", "quote"],
                "properties": {
                    "id": text(),
                    "status": {"type": "string", "enum": ["passed", "failed"]},
                    "location": {"type": "string", "description": "path:line"},
                    "quote": {"type": "string", "description": "the line itself"},
                },
            }},
            "gaps": {"type": "array", "items": {
                "type": "object",
                "additionalProperties": false,
                "required": ["severity", "location", "issue", "suggestion"],
                "properties": {
                    "severity": {"type": "string", "enum": ["critical", "major", "minor"]},
                    "location": text(),
                    "issue": text(),
                    "suggestion": text(),
                },
            }},
            "followups": {"type": "array", "items": text()},
            "memory_updates": {"type": "array", "items": {
                "type": "object",
                "additionalProperties": false,
                "required": ["text", "scope"],
                "properties": {"text": text(), "scope": {"type": "string", "enum": ["universal", "task-specific"]}},
            }},
        },
    })
}

#[cfg(test)]
#[path = "review_tests.rs"]
mod tests;
