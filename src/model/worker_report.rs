//! What workers, reviewers, advisors and planners hand in. Every field is testimony; `work` parses and measures it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What a worker says about its work. Unknown fields are kept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WorkerReport {
    pub schema_version: String,
    pub status: WorkerStatus,
    pub task: String,
    pub files_changed: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    #[serde(rename = "worktreePath", skip_serializing_if = "Option::is_none")]
    pub worktree_path: Option<String>,
    pub summary: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub memory_updates: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort_applied: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort_sufficient: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns_used: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_complexity_note: Option<Value>,
    pub nonce: String,
    /// Why nothing had to be changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noop: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub self_review: Vec<SelfReviewItem>,
    /// Of a worker that gave up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub escalation_reason: Option<String>,
    #[serde(flatten)]
    pub unknown: Map<String, Value>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WorkerStatus {
    #[default]
    Completed,
    Failed,
    Escalated,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SelfReviewItem {
    pub rule: String,
    pub verified: bool,
    pub evidence: String,
}

/// A question that the worker, or the runner, cannot answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AdvisorRequest {
    pub schema_version: String,
    pub task_id: String,
    pub reason_code: AdvisorReason,
    /// `task_id:reason_code:signature`; the runner computes it.
    pub trigger_hash: String,
    pub question: String,
    #[serde(default)]
    pub attempt: u32,
    #[serde(default)]
    pub last_error: String,
    #[serde(default)]
    pub context_summary: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AdvisorReason {
    NeedsSpike,
    SecuritySensitive,
    StateMigration,
    RetryThreshold,
    PivotRequired,
    AdvisorRequired,
}

impl AdvisorReason {
    pub fn text(self) -> &'static str {
        match self {
            AdvisorReason::NeedsSpike => "needs-spike",
            AdvisorReason::SecuritySensitive => "security-sensitive",
            AdvisorReason::StateMigration => "state-migration",
            AdvisorReason::RetryThreshold => "retry-threshold",
            AdvisorReason::PivotRequired => "pivot-required",
            AdvisorReason::AdvisorRequired => "advisor-required",
        }
    }
}

/// What an advisor answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AdvisorResponse {
    pub schema_version: String,
    pub decision: AdvisorDecision,
    pub summary: String,
    /// One to four.
    pub executor_instructions: Vec<String>,
    /// From 0 to 1.
    pub confidence: f64,
    pub stop_reason: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum AdvisorDecision {
    Plan,
    Correction,
    Stop,
}

/// What a reviewer answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewResult {
    pub schema_version: String,
    pub verdict: ReviewVerdict,
    #[serde(rename = "type", default)]
    pub kind: String,
    #[serde(default)]
    pub reviewer_profile: String,
    /// For an approval: one per item of the definition of done, with the place that shows it.
    #[serde(default)]
    pub checks: Vec<ReviewCheck>,
    #[serde(default)]
    pub gaps: Vec<ReviewGap>,
    #[serde(default)]
    pub followups: Vec<String>,
    #[serde(default)]
    pub memory_updates: Vec<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ReviewVerdict {
    Approve,
    RequestChanges,
}

/// An item of the definition of done, with the line that shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ReviewCheck {
    pub id: String,
    pub status: String,
    /// `path:line`
    pub location: String,
    /// The line itself.
    pub quote: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ReviewGap {
    pub severity: String,
    pub location: String,
    pub issue: String,
    pub suggestion: String,
}

/// What a planner answers: parts of the task, one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskPlan {
    pub schema_version: String,
    #[serde(default)]
    pub summary: String,
    #[serde(default)]
    pub constraints: Vec<String>,
    /// At most five.
    pub subtasks: Vec<Subtask>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Subtask {
    pub id: String,
    pub task: String,
    /// Within those of the contract.
    pub files: Vec<String>,
}

pub const WORKER_REPORT: &str = "worker-report.v1";
pub const ADVISOR_REQUEST: &str = "advisor-request.v1";
pub const ADVISOR_RESPONSE: &str = "advisor-response.v1";
pub const REVIEW_RESULT: &str = "review-result.v1";
pub const TASK_PLAN: &str = "task-plan.v1";
