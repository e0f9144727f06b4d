//! What the runner measured about a piece of work, and what follows from it. Plain data: `work` makes it.

use super::report::{ReportedApply, Usage};
use super::warning::Warning;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::fmt;
use std::str::FromStr;

/// `verdict.json` in the session, and what `work --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    pub schema_version: u32,
    pub contract: ContractRef,
    /// Id of the session; none for `verify`, which has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persona: Option<String>,
    pub verdict: Ruling,
    /// Those of the last attempt.
    pub checks: Vec<Check>,
    pub signal: Signal,
    pub attempts: Vec<AttemptRecord>,
    /// What all of it has cost, judges included, as far as the harnesses say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    pub advice: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<Value>,
    pub apply: ReportedApply,
    /// The worker's report, as it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<Value>,
    pub followups: Vec<String>,
    pub warnings: Vec<Warning>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContractRef {
    pub id: String,
    pub sha256: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Ruling {
    Approve,
    RequestChanges,
    /// The worker, the advisor or the budget ended it: a person has to decide.
    Escalated,
    /// Advice is needed that nobody here can give.
    Advisor,
    /// There is nothing to apply, or it was given up.
    Skipped,
}

impl Ruling {
    /// As people read it.
    pub fn text(self) -> &'static str {
        match self {
            Ruling::Approve => "approved",
            Ruling::RequestChanges => "changes are requested",
            Ruling::Escalated => "it was escalated",
            Ruling::Advisor => "advice is needed",
            Ruling::Skipped => "it was skipped",
        }
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    #[schemars(with = "String")]
    pub id: CheckId,
    pub status: CheckStatus,
    pub severity: CheckSeverity,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocker: Option<Blocker>,
    /// What should be, in a few words.
    pub expected: String,
    /// What is, in a few words.
    pub observed: String,
    /// Lines that show it: paths, output, quotes. Short, and without values of secrets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
}

impl Check {
    pub fn passed(id: impl Into<CheckId>, expected: impl Into<String>, observed: impl Into<String>) -> Check {
        Check {
            id: id.into(),
            status: CheckStatus::Passed,
            severity: CheckSeverity::Minor,
            blocker: None,
            expected: expected.into(),
            observed: observed.into(),
            evidence: Vec::new(),
        }
    }

    /// A check that had nothing to look at, or whose answer the contract does not ask for.
    pub fn skipped(id: impl Into<CheckId>, why: impl Into<String>) -> Check {
        Check { status: CheckStatus::Skipped, ..Check::passed(id, "", why) }
    }

    /// A failed check. A minor one has no blocker.
    pub fn failed(
        id: impl Into<CheckId>,
        severity: CheckSeverity,
        blocker: Option<Blocker>,
        expected: impl Into<String>,
        observed: impl Into<String>,
    ) -> Check {
        Check { status: CheckStatus::Failed, severity, blocker, ..Check::passed(id, expected, observed) }
    }

    /// A check that could not be made. It is never a pass.
    pub fn inconclusive(
        id: impl Into<CheckId>,
        expected: impl Into<String>,
        observed: impl Into<String>,
    ) -> Check {
        Check {
            status: CheckStatus::Inconclusive,
            severity: CheckSeverity::Major,
            blocker: Some(Blocker::ToolFailure),
            ..Check::passed(id, expected, observed)
        }
    }

    #[must_use]
    pub fn with_evidence(mut self, lines: impl IntoIterator<Item = impl Into<String>>) -> Check {
        self.evidence.extend(lines.into_iter().map(Into::into));
        self
    }

    /// Whether it keeps the work from being approved.
    pub fn blocks(&self) -> bool {
        match self.status {
            CheckStatus::Inconclusive => true,
            CheckStatus::Failed => self.severity != CheckSeverity::Minor,
            CheckStatus::Passed | CheckStatus::Skipped => false,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CheckStatus {
    Passed,
    Failed,
    Skipped,
    /// It could not be decided.
    Inconclusive,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CheckSeverity {
    Minor,
    Major,
    Critical,
}

/// What kind of thing is in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Blocker {
    ToolFailure,
    Hallucination,
    ScopeDrift,
    Partial,
    Loop,
    CapabilityGap,
}

/// What a check is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CheckName {
    Harness,
    Report,
    FilesChanged,
    Scope,
    NotEmpty,
    LinksNames,
    Commit,
    GitPlumbing,
    NestedRepo,
    Validation,
    Regression,
    NothingRan,
    TestsKept,
    OldTests,
    TestsWeakened,
    Validators,
    DependsOnIgnored,
    TestAware,
    Discriminates,
    TddRed,
    Placeholders,
    Outside,
    PlanMarkers,
    SelfReview,
    Evidence,
    Stale,
    Symbols,
    Duplicates,
    Tools,
    Spec,
    Review,
}

impl CheckName {
    pub const ALL: [(CheckName, &'static str); 31] = [
        (CheckName::Harness, "harness"),
        (CheckName::Report, "report"),
        (CheckName::FilesChanged, "files-changed"),
        (CheckName::Scope, "scope"),
        (CheckName::NotEmpty, "not-empty"),
        (CheckName::LinksNames, "links-names"),
        (CheckName::Commit, "commit"),
        (CheckName::GitPlumbing, "git-plumbing"),
        (CheckName::NestedRepo, "nested-repo"),
        (CheckName::Validation, "validation"),
        (CheckName::Regression, "regression"),
        (CheckName::NothingRan, "nothing-ran"),
        (CheckName::TestsKept, "tests-kept"),
        (CheckName::OldTests, "old-tests"),
        (CheckName::TestsWeakened, "tests-weakened"),
        (CheckName::Validators, "validators"),
        (CheckName::DependsOnIgnored, "depends-on-ignored"),
        (CheckName::TestAware, "test-aware"),
        (CheckName::Discriminates, "discriminates"),
        (CheckName::TddRed, "tdd-red"),
        (CheckName::Placeholders, "placeholders"),
        (CheckName::Outside, "outside"),
        (CheckName::PlanMarkers, "plan-markers"),
        (CheckName::SelfReview, "self-review"),
        (CheckName::Evidence, "evidence"),
        (CheckName::Stale, "stale"),
        (CheckName::Symbols, "symbols"),
        (CheckName::Duplicates, "duplicates"),
        (CheckName::Tools, "tools"),
        (CheckName::Spec, "spec"),
        (CheckName::Review, "review"),
    ];

    pub fn text(self) -> &'static str {
        CheckName::ALL.into_iter().find(|(name, _)| *name == self).map_or("", |(_, text)| text)
    }

    /// The check of one command, counted from 1.
    pub fn of(self, number: usize) -> CheckId {
        CheckId { name: self, number: Some(number) }
    }
}

/// `scope`, or `validation/2` for the second command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CheckId {
    pub name: CheckName,
    pub number: Option<usize>,
}

impl From<CheckName> for CheckId {
    fn from(name: CheckName) -> CheckId {
        CheckId { name, number: None }
    }
}

impl fmt::Display for CheckId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name.text())?;
        self.number.map_or(Ok(()), |number| write!(f, "/{number}"))
    }
}

impl FromStr for CheckId {
    type Err = String;

    fn from_str(text: &str) -> Result<CheckId, String> {
        let unknown = || format!("unknown check `{text}`");
        let (name, number) = match text.split_once('/') {
            Some((name, number)) => (name, Some(number.parse().map_err(|_| unknown())?)),
            None => (text, None),
        };
        let found = CheckName::ALL.into_iter().find(|(_, known)| *known == name);
        found.map(|(name, _)| CheckId { name, number }).ok_or_else(unknown)
    }
}

impl Serialize for CheckId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CheckId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<CheckId, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// What follows from the checks, computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Signal {
    pub confidence: Confidence,
    pub progress_made: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocker_type: Option<Blocker>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggested_strategy: Option<Strategy>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    None,
    Low,
    Medium,
    High,
}

impl Confidence {
    pub fn text(self) -> &'static str {
        match self {
            Confidence::None => "none",
            Confidence::Low => "low",
            Confidence::Medium => "medium",
            Confidence::High => "high",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Strategy {
    Retry,
    Rephrase,
    Decompose,
    Skip,
    Escalate,
}

/// How an attempt came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AttemptStrategy {
    First,
    /// In the same conversation, with what failed.
    Retry,
    /// In a new conversation.
    Rephrase,
    /// In the same conversation; only the report may change.
    ReportOnly,
    /// A part of the task that was split off.
    Subtask,
}

/// One attempt, as the verdict keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AttemptRecord {
    pub number: u32,
    pub strategy: AttemptStrategy,
    pub checks: Vec<Check>,
    pub signal: Signal,
    /// Paths that had changed at its end.
    pub changes: u64,
    pub seconds: f64,
    pub usage: Usage,
    /// What it failed of, as one hash: the same twice is a loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// Hash of the change set at its end.
    pub change_set: String,
}
