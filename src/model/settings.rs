//! The user's settings, typed. Reading and writing `config.json` happens in `load` and `commands`.

use super::inherit::Inherit;
use super::limits::Limits;
use super::mount::{Backend, Device, GitCredentials, Sandbox};
use super::tier::Harness;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// The settings, typed; `None` and empty where the file says nothing.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Settings {
    pub persona_dirs: Option<Vec<String>>,
    pub default_create_target: Option<String>,
    pub default_harness: Option<String>,
    pub default_model: Option<String>,
    pub bare_mode: Option<bool>,
    pub hermetic: Option<bool>,
    /// For personas that do not say.
    pub inherit: Option<Vec<Inherit>>,
    pub limits: Limits,
    pub mount: MountSettings,
    pub sidecar: SidecarSettings,
    pub secrets: SecretSettings,
    pub sessions: SessionSettings,
    /// How the user is told that a headless run has ended.
    pub notify: Option<Notify>,
    /// From which length of a run on.
    pub notify_after_seconds: Option<f64>,
    pub worker: WorkerSettings,
    pub tdd: TddSettings,
    /// The plan file, relative to the project.
    #[serde(rename = "plans_file")]
    pub plans_file: Option<String>,
    pub context: ContextSettings,
    pub features: BTreeMap<String, bool>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MountSettings {
    pub backend: Option<Backend>,
    pub sandbox: Option<Sandbox>,
    pub ignored_patterns: Vec<String>,
    pub readonly_patterns: Vec<String>,
    pub reveal_patterns: Vec<String>,
    pub devices: Vec<Device>,
    pub sockets: Vec<String>,
    pub git_credentials: GitCredentials,
    pub merge: Option<bool>,
}

/// How the user is told that a run has ended.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "NotifyValue")]
pub enum Notify {
    Off,
    /// The bell of the terminal.
    Bell,
    /// A program and its arguments.
    Command(Vec<String>),
}

/// As the file has it.
#[derive(Deserialize)]
#[serde(untagged)]
enum NotifyValue {
    Word(NotifyWord),
    Command(Vec<String>),
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum NotifyWord {
    Off,
    Bell,
}

impl From<NotifyValue> for Notify {
    fn from(value: NotifyValue) -> Notify {
        match value {
            NotifyValue::Word(NotifyWord::Off) => Notify::Off,
            NotifyValue::Word(NotifyWord::Bell) => Notify::Bell,
            NotifyValue::Command(words) => Notify::Command(words),
        }
    }
}

/// What counts as a secret in logs and reports.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SecretSettings {
    /// Values of referenced variables from this length on.
    pub min_length: Option<usize>,
}

/// What `work` asks of workers. Its keys are those of the contract format: snake_case.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct WorkerSettings {
    pub self_review: SelfReviewSettings,
}

/// The rules that a self-review answers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct SelfReviewSettings {
    /// Instead of the built-in ones.
    pub default_rules: Option<Vec<String>>,
    pub extra_rules: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct TddSettings {
    pub enforce: TddEnforceSettings,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct TddEnforceSettings {
    pub enabled: Option<bool>,
}

impl TddSettings {
    /// Whether `tdd_required` of a contract counts. It does unless the config says no: a contract that asks for red tests means it.
    pub fn is_enforced(&self) -> bool {
        self.enforce.enabled.unwrap_or(true)
    }
}

/// How much context an attempt gets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ContextSettings {
    /// Number of messages from which on they are shortened.
    pub threshold: Option<usize>,
    /// The persona that sums up older messages.
    pub summarizer: Option<String>,
    pub budgets: ContextBudgets,
}

impl ContextSettings {
    /// Where the config does not say.
    pub const THRESHOLD: usize = 12;

    pub fn threshold(&self) -> usize {
        self.threshold.unwrap_or(ContextSettings::THRESHOLD)
    }
}

/// Lengths of the sections of a context, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ContextBudgets {
    pub directive: usize,
    /// The summary of the conversation.
    pub conversation: usize,
    /// The recent messages.
    pub messages: usize,
    pub validation: usize,
}

impl Default for ContextBudgets {
    fn default() -> ContextBudgets {
        ContextBudgets { directive: 500, conversation: 300, messages: 800, validation: 400 }
    }
}

impl Settings {
    pub const PLANS_FILE: &str = "Plans.md";

    /// The plan file, relative to the project.
    pub fn plans_file(&self) -> &str {
        self.plans_file.as_deref().unwrap_or(Settings::PLANS_FILE)
    }
}

/// How long finished sessions are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionSettings {
    /// 0 for ever.
    pub keep_days: Option<u64>,
    pub keep_gb: Option<u64>,
}

impl SessionSettings {
    /// Where the config does not say.
    pub const KEEP_DAYS: u64 = 90;

    pub fn keep_days(&self) -> Duration {
        match self.keep_days.unwrap_or(SessionSettings::KEEP_DAYS) {
            0 => Duration::MAX,
            days => Duration::from_secs(days.saturating_mul(24 * 60 * 60)),
        }
    }
}

/// How each harness gets its sidecar, by the name of the harness.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct SidecarSettings(BTreeMap<String, Value>);

impl SidecarSettings {
    /// Whether the user wants this harness to get none.
    pub fn skips(&self, harness: Harness) -> bool {
        self.0.get(harness.name()).and_then(Value::as_str) == Some("skip")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn settings_of_work_have_the_names_of_its_formats() {
        let settings: Settings = serde_json::from_value(json!({
            "worker": {"self_review": {"default_rules": ["a"], "extra_rules": ["b"]}},
            "tdd": {"enforce": {"enabled": false}},
            "plans_file": "docs/Plan.md",
            "context": {"threshold": 3, "summarizer": "writer", "budgets": {"directive": 9}},
        }))
        .unwrap();
        assert_eq!(settings.worker.self_review.default_rules, Some(vec!["a".to_owned()]));
        assert_eq!(settings.worker.self_review.extra_rules, ["b"]);
        assert!(!settings.tdd.is_enforced() && Settings::default().tdd.is_enforced());
        assert_eq!((settings.plans_file(), Settings::default().plans_file()), ("docs/Plan.md", "Plans.md"));
        assert_eq!((settings.context.threshold(), Settings::default().context.threshold()), (3, 12));
        assert_eq!(
            settings.context.budgets,
            ContextBudgets { directive: 9, conversation: 300, messages: 800, validation: 400 }
        );
    }
}
