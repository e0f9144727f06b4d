//! JSON schemas of what a worker hands in: a strict one that a harness can be held to, and the formats for people and programs.

use crate::model::contract::{SELF_REVIEW_RULES, TDD_RULE};
use crate::model::worker_report::{ADVISOR_REQUEST, WORKER_REPORT};
use serde_json::{Value, json};

const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The schema of a final answer. Strict, as the harnesses want it: every key is required, none may be added, and what does not apply
/// is null.
pub fn worker_report_schema(nonce_required: bool) -> Value {
    let nonce = if nonce_required { json!({"type": "string"}) } else { json!({"type": ["string", "null"]}) };
    let properties = json!({
        "schema_version": {"type": "string", "enum": [WORKER_REPORT]},
        "status": {"type": "string", "enum": ["completed", "failed", "escalated"]},
        "task": {"type": "string"},
        "files_changed": {"type": "array", "items": {"type": "string"}},
        "commit": {"type": ["string", "null"]},
        "branch": {"type": ["string", "null"]},
        "worktreePath": {"type": ["string", "null"]},
        "summary": {"type": "string"},
        "memory_updates": {"type": "array", "items": {"type": "string"}},
        "effort_applied": {"type": ["string", "null"]},
        "effort_sufficient": {"type": ["boolean", "null"]},
        "turns_used": {"type": ["integer", "null"]},
        "task_complexity_note": {"type": ["string", "null"]},
        "nonce": nonce,
        "noop": {"type": ["string", "null"], "description": "why nothing had to be changed; null if something was"},
        "self_review": {"type": "array", "items": strict(&json!({
            "rule": {"type": "string"},
            "verified": {"type": "boolean"},
            "evidence": {"type": "string"},
        }))},
        "escalation_reason": {"type": ["string", "null"], "description": "for failed and escalated; null for completed"},
    });
    strict(&properties)
}

fn strict(properties: &Value) -> Value {
    let required: Vec<&String> = properties.as_object().map(|map| map.keys().collect()).unwrap_or_default();
    json!({"type": "object", "required": required, "additionalProperties": false, "properties": properties})
}

/// The format `worker-report.v1`, as a file may have it: unknown fields are kept.
pub fn worker_report_format() -> Value {
    let rules: Vec<&str> = SELF_REVIEW_RULES.into_iter().chain([TDD_RULE]).collect();
    json!({
        "$schema": DRAFT,
        "title": WORKER_REPORT,
        "description": "What a worker says about its work. Every field that can be observed is measured by the runner.",
        "type": "object",
        "properties": {
            "schema_version": {"const": WORKER_REPORT},
            "status": {"enum": ["completed", "failed", "escalated"]},
            "task": text("the task"),
            "files_changed": {
                "type": ["array", "null"], "items": {"type": "string"},
                "description": "every path that was added, changed, renamed or deleted, relative to the project",
            },
            "commit": text("the commit that has the work, if there is one"),
            "branch": text("the branch of the commit"),
            "worktreePath": text("where the work was done"),
            "summary": text("what was done, in a few sentences; the message of a commit is made from it"),
            "memory_updates": {"type": ["array", "null"], "description": "what is worth knowing next time"},
            "effort_applied": {"description": "how much effort was spent"},
            "effort_sufficient": {"description": "whether that was enough"},
            "turns_used": {"description": "how many turns it took"},
            "task_complexity_note": {"description": "what made the task harder or easier than it looked"},
            "nonce": text("the value of AGENTWORKFORCE_NONCE"),
            "noop": {"anyOf": [{"type": ["string", "null"]}, {"const": false}], "description": "why nothing had to be changed"},
            "self_review": {
                "type": ["array", "null"],
                "description": format!("one item a rule, in this order: {}", rules.join(", ")),
                "items": {
                    "type": "object",
                    "required": ["rule", "verified", "evidence"],
                    "properties": {
                        "rule": {"type": "string"},
                        "verified": {"type": "boolean"},
                        "evidence": {"type": "string"},
                    },
                },
            },
            "escalation_reason": text("why the worker gave up, or what a person has to decide"),
        },
        "required": ["status"],
        "anyOf": [
            {
                "properties": {"status": {"const": "completed"}, "files_changed": {"type": "array"}, "nonce": {"type": "string"}},
                "required": ["files_changed", "nonce"],
            },
            {
                "properties": {"status": {"enum": ["failed", "escalated"]}, "escalation_reason": {"type": "string", "pattern": "\\S"}},
                "required": ["escalation_reason"],
            },
        ],
    })
}

/// The format `advisor-request.v1`.
pub fn advisor_request_schema() -> Value {
    json!({
        "$schema": DRAFT,
        "title": ADVISOR_REQUEST,
        "description": "A question that a worker hands in instead of going on.",
        "type": "object",
        "properties": {
            "schema_version": {"const": ADVISOR_REQUEST},
            "task_id": text("the id of the task"),
            "reason_code": {"enum": [
                "needs-spike", "security-sensitive", "state-migration", "retry-threshold", "pivot-required", "advisor-required",
            ]},
            "trigger_hash": text("computed by the runner; what a worker writes is replaced"),
            "question": {"type": "string", "pattern": "\\S"},
            "attempt": {"type": ["integer", "null"], "minimum": 0},
            "last_error": text("the last error"),
            "context_summary": {"type": ["array", "null"], "items": {"type": "string"}},
            "nonce": text("the value of AGENTWORKFORCE_NONCE; required in a final answer"),
        },
        "required": ["reason_code", "question"],
    })
}

fn text(description: &str) -> Value {
    json!({"type": ["string", "null"], "description": description})
}
