//! Recognises by its shape what a worker handed in, and lists everything that is wrong with it. Unknown fields are kept.

use crate::model::invisible::shows_something;
use crate::model::printable::printable_name;
use crate::model::worker_report::{
    ADVISOR_REQUEST, AdvisorReason, AdvisorRequest, SelfReviewItem, WORKER_REPORT, WorkerReport, WorkerStatus,
};
use crate::work::evidence::{ReportSource, Testimony};
use serde_json::{Map, Value};

/// More problems are counted, not listed.
const MOST_PROBLEMS: usize = 40;

/// The testimony that a parsed object is.
pub fn recognise(value: Value, source: ReportSource, nonce: Option<&str>) -> Testimony {
    let mut testimony = Testimony { source, ..Testimony::default() };
    match &value {
        Value::Object(object) => {
            let mut fields = Fields { rest: object.clone(), problems: Vec::new() };
            match shape_of(object) {
                Some(Shape::Request) => testimony.request = request(&mut fields, nonce),
                Some(Shape::Report) => testimony.report = report(&mut fields, nonce),
                None => fields
                    .problem("it is neither a worker report nor an advisor request: there is no `status`"),
            }
            testimony.problems = fields.into_problems();
        }
        other => testimony.problems.push(format!("the report must be an object, not {}", kind(other))),
    }
    testimony.raw = Some(value);
    testimony
}

enum Shape {
    Report,
    Request,
}

fn shape_of(object: &Map<String, Value>) -> Option<Shape> {
    let is_present = |key: &str| object.get(key).is_some_and(|value| !value.is_null());
    let version = object.get("schema_version").and_then(Value::as_str);
    if version == Some(ADVISOR_REQUEST) || is_present("reason_code") && !is_present("status") {
        Some(Shape::Request)
    } else if version == Some(WORKER_REPORT) || is_present("status") {
        Some(Shape::Report)
    } else {
        None
    }
}

fn report(fields: &mut Fields, nonce: Option<&str>) -> Option<WorkerReport> {
    fields.version(WORKER_REPORT);
    let status = match fields.text("status").as_deref() {
        Some("completed") => Some(WorkerStatus::Completed),
        Some("failed") => Some(WorkerStatus::Failed),
        Some("escalated") => Some(WorkerStatus::Escalated),
        Some(other) => {
            fields.problem(format!("`status`: `{}` is none of completed, failed, escalated", short(other)));
            None
        }
        None => {
            fields.problem("`status` is missing");
            None
        }
    };
    let is_completed = status == Some(WorkerStatus::Completed);
    if is_completed && fields.rest.get("files_changed").is_none_or(Value::is_null) {
        fields.problem("`files_changed` is missing");
    }
    let mut report = WorkerReport {
        schema_version: fields.text("schema_version").unwrap_or_default(),
        status: status.unwrap_or_default(),
        task: fields.text("task").unwrap_or_default(),
        files_changed: fields.texts("files_changed"),
        commit: fields.text("commit"),
        branch: fields.text("branch"),
        worktree_path: fields.text("worktreePath"),
        summary: fields.text("summary").unwrap_or_default(),
        memory_updates: fields.list("memory_updates"),
        effort_applied: fields.any("effort_applied"),
        effort_sufficient: fields.any("effort_sufficient"),
        turns_used: fields.any("turns_used"),
        task_complexity_note: fields.any("task_complexity_note"),
        nonce: fields.text("nonce").unwrap_or_default(),
        noop: fields.reason("noop"),
        self_review: fields.self_review(),
        escalation_reason: fields.text("escalation_reason"),
        unknown: Map::new(),
    };
    let has_reason = report.escalation_reason.as_deref().is_some_and(shows_something);
    if matches!(status, Some(WorkerStatus::Failed | WorkerStatus::Escalated)) && !has_reason {
        fields.problem("`escalation_reason` is missing");
    }
    // The small form of a failure has no nonce: its directory binds it.
    let is_bound = fields.nonce(&report.nonce, nonce, is_completed);
    report.unknown = std::mem::take(&mut fields.rest);
    (is_bound && status.is_some()).then_some(report)
}

fn request(fields: &mut Fields, nonce: Option<&str>) -> Option<AdvisorRequest> {
    const REASONS: [AdvisorReason; 6] = [
        AdvisorReason::NeedsSpike,
        AdvisorReason::SecuritySensitive,
        AdvisorReason::StateMigration,
        AdvisorReason::RetryThreshold,
        AdvisorReason::PivotRequired,
        AdvisorReason::AdvisorRequired,
    ];
    fields.version(ADVISOR_REQUEST);
    let reason = match fields.text("reason_code") {
        Some(text) => {
            let known = REASONS.into_iter().find(|reason| reason.text() == text);
            if known.is_none() {
                let names: Vec<&str> = REASONS.into_iter().map(AdvisorReason::text).collect();
                let names = names.join(", ");
                fields.problem(format!("`reason_code`: `{}` is none of {names}", short(&text)));
            }
            known
        }
        None => {
            fields.problem("`reason_code` is missing");
            None
        }
    };
    let question = fields.text("question").unwrap_or_default();
    if !shows_something(&question) {
        fields.problem("`question` is missing");
    }
    let attempt = fields.count("attempt");
    let given = fields.text("nonce").unwrap_or_default();
    let is_bound = fields.nonce(&given, nonce, false);
    let request = AdvisorRequest {
        schema_version: fields.text("schema_version").unwrap_or_else(|| ADVISOR_REQUEST.to_owned()),
        task_id: fields.text("task_id").unwrap_or_default(),
        reason_code: reason?,
        trigger_hash: fields.text("trigger_hash").unwrap_or_default(),
        question,
        attempt,
        last_error: fields.text("last_error").unwrap_or_default(),
        context_summary: fields.texts("context_summary"),
    };
    (is_bound && shows_something(&request.question)).then_some(request)
}

/// The fields of an object that were not read yet, and what is wrong with those that were.
struct Fields {
    rest: Map<String, Value>,
    problems: Vec<String>,
}

impl Fields {
    fn problem(&mut self, text: impl Into<String>) {
        self.problems.push(text.into());
    }

    fn into_problems(mut self) -> Vec<String> {
        if self.problems.len() > MOST_PROBLEMS {
            let more = self.problems.len() - MOST_PROBLEMS;
            self.problems.truncate(MOST_PROBLEMS);
            self.problems.push(format!("and {more} more"));
        }
        self.problems
    }

    fn wrong(&mut self, place: &str, expected: &str, found: &Value) {
        self.problem(format!("`{place}` must be {expected}, not {}", kind(found)));
    }

    /// Null means the same as a field that is not there: a strict schema demands every key.
    fn any(&mut self, key: &str) -> Option<Value> {
        self.rest.shift_remove(key).filter(|value| !value.is_null())
    }

    fn text(&mut self, key: &str) -> Option<String> {
        match self.any(key)? {
            Value::String(text) => Some(text),
            other => {
                self.wrong(key, "a text", &other);
                None
            }
        }
    }

    /// `false` says that the field does not apply.
    fn reason(&mut self, key: &str) -> Option<String> {
        match self.any(key)? {
            Value::String(text) => Some(text).filter(|text| shows_something(text)),
            Value::Bool(false) => None,
            other => {
                self.wrong(key, "a text with the reason", &other);
                None
            }
        }
    }

    fn list(&mut self, key: &str) -> Vec<Value> {
        match self.any(key) {
            Some(Value::Array(values)) => values,
            Some(other) => {
                self.wrong(key, "a list", &other);
                Vec::new()
            }
            None => Vec::new(),
        }
    }

    fn texts(&mut self, key: &str) -> Vec<String> {
        let mut texts = Vec::new();
        for (index, value) in self.list(key).into_iter().enumerate() {
            match value {
                Value::String(text) => texts.push(text),
                other => self.wrong(&format!("{key}[{index}]"), "a text", &other),
            }
        }
        texts
    }

    fn count(&mut self, key: &str) -> u32 {
        let Some(value) = self.any(key) else { return 0 };
        let count = value.as_u64().and_then(|count| u32::try_from(count).ok());
        if count.is_none() {
            self.wrong(key, "a whole number", &value);
        }
        count.unwrap_or_default()
    }

    fn self_review(&mut self) -> Vec<SelfReviewItem> {
        let mut items = Vec::new();
        for (index, value) in self.list("self_review").into_iter().enumerate() {
            let place = format!("self_review[{index}]");
            let Value::Object(object) = value else {
                self.wrong(&place, "an object", &value);
                continue;
            };
            let mut item = SelfReviewItem::default();
            for (key, value) in object {
                match (key.as_str(), value) {
                    ("rule", Value::String(text)) => item.rule = text,
                    ("evidence", Value::String(text)) => item.evidence = text,
                    ("verified", Value::Bool(verified)) => item.verified = verified,
                    ("rule" | "evidence", other) => self.wrong(&format!("{place}.{key}"), "a text", &other),
                    ("verified", other) => self.wrong(&format!("{place}.{key}"), "true or false", &other),
                    _ => {}
                }
            }
            items.push(item);
        }
        items
    }

    fn version(&mut self, expected: &str) {
        if let Some(Value::String(version)) = self.rest.get("schema_version")
            && version != expected
        {
            let problem = format!("`schema_version` must be `{expected}`, not `{}`", short(version));
            self.problem(problem);
        }
    }

    /// Whether it may be of this attempt. The nonce that is expected is never repeated in a problem.
    fn nonce(&mut self, given: &str, expected: Option<&str>, is_required: bool) -> bool {
        match expected {
            Some(_) if given.is_empty() => {
                if is_required {
                    self.problem("`nonce` is missing");
                }
                true
            }
            Some(expected) if given != expected => {
                self.problem("`nonce` is not the one of this attempt");
                false
            }
            _ => true,
        }
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn short(text: &str) -> String {
    let cut = text.floor_char_boundary(60);
    let more = if cut < text.len() { "…" } else { "" };
    format!("{}{more}", printable_name(&text[..cut]))
}
