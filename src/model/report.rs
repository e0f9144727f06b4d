//! What a run was and how it ended: the object that a headless run prints and that its session keeps.

use super::change_kind::ChangeKind;
use super::mount::{Backend, Sandbox};
use super::plan::PersonaRef;
use super::raw_path::RawPath;
use super::tier::{Harness, Tier};
use super::warning::Warning;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunReport {
    pub schema_version: u32,
    /// Id of the session; none where nothing was started, because then nothing is left behind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// What the agent was asked; none for an interactive run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// RFC 3339, UTC.
    pub started_at: String,
    pub persona: ReportedPersona,
    /// The commit that the project's personas were taken from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persona_ref: Option<PersonaRef>,
    pub harness: ReportedHarness,
    pub outcome: Outcome,
    /// The agent's final text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    pub usage: Usage,
    pub mount: ReportedMount,
    pub changes: Vec<ReportedChange>,
    /// Writes to hidden or read-only paths: never applied, never silent.
    pub protected: Vec<ReportedRule>,
    pub conflicts: Vec<RawPath>,
    pub commits: Vec<ReportedCommit>,
    pub checks: Vec<ReportedCheck>,
    /// Values of variables that turned up where they do not belong; never the value itself.
    pub leaks: Vec<ReportedLeak>,
    pub apply: ReportedApply,
    pub warnings: Vec<Warning>,
    /// Seconds by phase.
    pub timings: BTreeMap<String, f64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReportedPersona {
    pub id: String,
    pub name: String,
    pub tier: Tier,
    /// The layer it came from.
    pub origin: String,
    pub version: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportedHarness {
    pub kind: Harness,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The harness's own id of the conversation, to resume it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    pub status: Status,
    /// The runner's exit code.
    pub exit_code: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub harness_exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    Completed,
    Failed,
    TimedOut,
    Interrupted,
    NotStarted,
}

impl Status {
    /// As it is in reports.
    pub fn name(self) -> &'static str {
        match self {
            Status::Completed => "completed",
            Status::Failed => "failed",
            Status::TimedOut => "timed-out",
            Status::Interrupted => "interrupted",
            Status::NotStarted => "not-started",
        }
    }

    /// In a sentence.
    pub fn words(self) -> &'static str {
        match self {
            Status::TimedOut => "timed out",
            Status::NotStarted => "not started",
            other => other.name(),
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReportedMount {
    pub backend: Backend,
    pub root: String,
    /// The level that was reached.
    pub sandbox: Sandbox,
    pub hidden: Vec<ReportedRule>,
    pub readonly: Vec<ReportedRule>,
}

/// A path with the rule that decided about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReportedRule {
    pub path: RawPath,
    pub rule: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReportedChange {
    pub path: RawPath,
    pub kind: ChangeKind,
    /// It is or was a directory.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub directory: bool,
    /// Lines, where the file is text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub added: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removed: Option<u64>,
    /// It is part of a persona layer or a rule file: it changes what agents may do.
    #[serde(rename = "affectsAgents", default, skip_serializing_if = "std::ops::Not::not")]
    pub affects_agents: bool,
    /// You changed the file too, and the result has both.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub merged: bool,
    /// You saved and restored the file while the agent had it: its version may hold what you saved in between.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub touched: bool,
    pub applied: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReportedCommit {
    pub id: String,
    pub subject: String,
    /// The ref under `refs/agentworkforce/` that keeps it.
    pub reference: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportedCheck {
    pub command: String,
    pub exit_code: i32,
    pub seconds: f64,
    pub log_file: String,
    pub sha256: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReportedLeak {
    pub variable: String,
    /// A path of the project, or what was written.
    pub place: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReportedApply {
    pub status: ApplyStatus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ApplyStatus {
    Applied,
    Held,
    Discarded,
    Nothing,
    Conflict,
}
