//! What a piece of work must satisfy: files, commands, definition of done, budgets. Plain data with every default filled in; `work`
//! reads contracts, checks them and finds commands.

use super::tier::Harness;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A contract, decided: what the caller wrote with all defaults.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Contract {
    pub task: String,
    pub task_id: String,
    /// Free text for the worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// What may change: paths, `dir/`, globs. None, in the short form: everything but validators, lock files and CI files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<String>>,
    #[serde(default)]
    pub mode: WorkMode,
    /// The source of truth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec_path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec_skip_reason: Option<SpecSkip>,
    /// In the order in which they are run.
    pub validation_commands: Vec<ValidationCommand>,
    /// Run before them where the view lacks what they need.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setup: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub definition_of_done: Vec<DoneItem>,
    /// Whether tests that were there may change.
    #[serde(default)]
    pub tests: Guard,
    /// Whether what runs them may change.
    #[serde(default)]
    pub validators: Guard,
    /// Hidden tests: a directory outside the project, laid over the view when commands run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holdout_path: Option<String>,
    #[serde(default)]
    pub tdd_required: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skip_tdd_reason: Option<String>,
    /// A command must fail on the base and pass on the result.
    #[serde(default)]
    pub prove: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub risk_flags: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub non_goals: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// Where a commit may go when a file belongs to a nested repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit_target: Option<CommitTarget>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewTerms>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advisor: Option<AdvisorTerms>,
    /// The persona that splits the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planner: Option<String>,
    #[serde(default)]
    pub budgets: Budgets,
    /// The rules that a self-review must answer; none where it is off.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub self_review_rules: Vec<String>,
    /// Whether a report is required, or the runner writes a missing one itself.
    #[serde(default)]
    pub form: ContractForm,
    /// Keys that this version does not know, as they were.
    #[serde(flatten)]
    pub unknown: Map<String, Value>,
}

/// How a contract was given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ContractForm {
    /// As flags of the command line.
    Short,
    #[default]
    File,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WorkMode {
    #[default]
    Solo,
    /// The same on codex.
    Codex,
    /// A lead owns the plan file, and commits go to a branch.
    Breezing,
}

impl WorkMode {
    pub fn name(self) -> &'static str {
        match self {
            WorkMode::Solo => "solo",
            WorkMode::Codex => "codex",
            WorkMode::Breezing => "breezing",
        }
    }

    /// The harness that a mode is named after.
    pub fn harness(self) -> Option<Harness> {
        Harness::ALL.into_iter().find(|harness| harness.name() == self.name())
    }
}

/// Why a contract has no spec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SpecSkip {
    DocsOnly,
    MechanicalChange,
    ExistingSpecSufficient,
}

/// Whether something that judges the work may be changed by it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Guard {
    #[default]
    Frozen,
    MayChange,
}

/// A command that the runner runs on the result, and on the base.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ValidationCommand {
    pub command: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    #[serde(default = "default_timeout")]
    pub timeout_seconds: f64,
    #[serde(default)]
    pub baseline: Baseline,
    /// Who wants it.
    #[serde(default)]
    pub from: CommandOrigin,
}

pub const DEFAULT_TIMEOUT_SECONDS: f64 = 600.0;

fn default_timeout() -> f64 {
    DEFAULT_TIMEOUT_SECONDS
}

impl ValidationCommand {
    pub fn new(command: impl Into<String>, from: CommandOrigin) -> ValidationCommand {
        ValidationCommand {
            command: command.into(),
            label: None,
            timeout_seconds: DEFAULT_TIMEOUT_SECONDS,
            baseline: Baseline::MustPass,
            from,
        }
    }

    /// As people call it.
    pub fn name(&self) -> &str {
        self.label.as_deref().unwrap_or(&self.command)
    }
}

/// What a failure on the base means.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Baseline {
    #[default]
    MustPass,
    /// A failure that is on the base too, with the same failing tests, is tolerated.
    MayFail,
}

/// Who wants a command to be run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CommandOrigin {
    #[default]
    Contract,
    /// The check of a definition of done, by its id.
    DefinitionOfDone(String),
    /// The runner chose it, for this reason.
    Found(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DoneItem {
    pub id: String,
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommitTarget {
    pub repo_root: String,
    pub branch: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewTerms {
    pub persona: String,
    #[serde(default = "yes")]
    pub required: bool,
    #[serde(default = "three")]
    pub max_iterations: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AdvisorTerms {
    pub persona: String,
    #[serde(default = "yes")]
    pub enabled: bool,
    #[serde(default = "three")]
    pub max_consults: u32,
}

fn yes() -> bool {
    true
}

fn three() -> u32 {
    3
}

/// Every limit of a piece of work, in one place.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Budgets {
    pub attempts: u32,
    /// How often only the report is sent back.
    pub report_returns: u32,
    pub stall_seconds: f64,
    /// Bounds everything, races and judges included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
}

impl Default for Budgets {
    fn default() -> Budgets {
        Budgets { attempts: 3, report_returns: 2, stall_seconds: 600.0, wall_seconds: None, usd: None }
    }
}

/// The rules of a self-review, in the order in which they are answered.
pub const SELF_REVIEW_RULES: [&str; 5] = [
    "dry-violation-none",
    "plans-cc-markers-untouched",
    "all-declared-symbols-called",
    "dod-items-verified-with-evidence",
    "no-existing-test-regression",
];

/// The rule that is added where TDD counts.
pub const TDD_RULE: &str = "tdd-red-evidence-attached";
