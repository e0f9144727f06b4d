//! Everything a run will do, decided, as one printable value. `--dry-run --json` is this value; a run obeys it.

use super::decided::{Decided, InputValue, Level};
use super::demand::Demand;
use super::inherit::PlannedInherit;
use super::limits::Limits;
use super::mount::MountSpec;
use super::persona::SidecarMode;
use super::raw_path::RawPath;
use super::source::Source;
use super::template::Template;
use super::tier::{Harness, Tier};
use super::warning::Warning;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Everything that a run does and every reason for which it would be refused.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunPlan {
    pub schema_version: u32,
    /// The commit that the project's personas, roles, sidecars and rule files come from, instead of the working tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persona_ref: Option<PersonaRef>,
    #[serde(flatten)]
    pub subject: PlannedSubject,
    /// The session that goes on; left out if a new one begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continues: Option<String>,
    /// What it takes over from its last run, because the command line says nothing else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub carried_over: Vec<CarriedOver>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sidecar: Option<PlannedSidecar>,
    /// What is taken over from the repository's own setup.
    #[serde(default, skip_serializing_if = "PlannedInherit::says_nothing")]
    pub inherit: PlannedInherit,
    pub mount: MountSpec,
    pub limits: Limits,
    /// Which of the persona's settings hold in this run, and by what means.
    pub enforcement: Vec<Enforcement>,
    /// Commands that must succeed on the result.
    pub checks: Vec<PlannedCheck>,
    pub changes: ChangePolicy,
    /// Whether the run is refused when something is not enforced.
    pub strict: bool,
    /// Whether it is run although it ignores restrictions of the persona; left out if not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ignore_unsupported: bool,
    /// Whether skills come from the cache only.
    pub offline: bool,
    /// Whether skills are fetched again, however young the copy in the cache is; left out if not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refresh_skills: bool,
    /// Why a run of this plan is not started; empty if it is.
    pub refusals: Vec<Refusal>,
    pub warnings: Vec<Warning>,
}

/// What a run is about: a persona on its harness, or any command.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum PlannedSubject {
    Agent(Box<AgentPlan>),
    Command(Box<CommandPlan>),
}

/// A harness that runs as a persona.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentPlan {
    pub persona: PlannedPersona,
    pub harness: PlannedHarness,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Decided<String>>,
    /// How hard the model thinks, where the persona says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    pub mode: Mode,
    pub command: PlannedCommand,
    /// The system prompt, exactly.
    pub system_prompt: String,
    /// The task of a headless run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Files that are written for the harness, in the session directory or in the mount, mode 0600.
    pub files: Vec<PlannedFile>,
    /// Where the user's harness has its state.
    #[serde(skip)]
    pub state_dir: Option<PathBuf>,
    pub skills: Vec<PlannedSkill>,
    /// Where the harness finds them, once they are staged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skills_path: Option<Template>,
    pub inputs: Vec<InputValue>,
    pub mcp_servers: Vec<String>,
    /// Variables that the run passes on by name; their values are in no file that is written.
    pub references: Vec<String>,
    /// For every field of the persona: the files that set it, lowest layer first.
    pub origins: BTreeMap<String, Vec<Source>>,
}

/// Any command, in the view of the project that a persona would have or in one without a persona.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandPlan {
    pub argv: Vec<RawPath>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persona: Option<PlannedPersona>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlannedCheck {
    pub command: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<f64>,
}

/// A decision about the result that a session keeps when it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CarriedOver {
    /// The checks.
    Checks,
    /// That its changes are never applied by a run.
    ApplyNever,
}

/// What becomes of the changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangePolicy {
    pub apply: ApplyPolicy,
    /// Whether paths that git ignores are applied too.
    pub include_ignored: bool,
    /// Whether edits to different lines of one file, yours and the agent's, are merged.
    pub merge: bool,
    /// Whether the mount stays after its changes were applied.
    pub keep: bool,
}

/// When changes are applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ApplyPolicy {
    /// When the run succeeded.
    Auto,
    /// When the person at the terminal says so.
    Ask,
    Never,
}

/// A reason for which a run is not started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Refusal {
    pub code: RefusalCode,
    pub message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
}

/// What is in the way of a run. Programs match on these words, so they never change meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RefusalCode {
    /// Configuration, persona or rule files cannot be read, and they may forbid something.
    InvalidFiles,
    /// The directory cannot be mounted.
    Root,
    /// `--apply never` without a mount.
    NothingToHold,
    /// `--apply ask` without a terminal.
    NoTerminal,
    /// The budget is zero.
    ZeroBudget,
    /// The overlay was demanded and does not work here.
    OverlayUnavailable,
    /// The sandbox level was demanded and is not available.
    SandboxUnavailable,
    /// The persona has restrictions that this runner does not know how to enforce.
    Unsupported,
    /// `--strict`, and something is not enforced.
    NotEnforced,
}

/// A git ref and the commit that it stood for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PersonaRef {
    #[serde(rename = "ref")]
    pub reference: String,
    pub commit: String,
}

impl PersonaRef {
    /// Enough of the commit's name for people.
    pub fn short(&self) -> &str {
        self.commit.get(..12).unwrap_or(&self.commit)
    }
}

impl std::fmt::Display for PersonaRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.reference, self.short())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlannedPersona {
    pub id: String,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emoji: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<PlannedRole>,
    pub expertise: Vec<String>,
    pub tier: Tier,
    /// The layer and file that make it what it is here.
    pub origin: Source,
    /// Hash of the merged persona before inputs are filled in.
    pub version: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlannedRole {
    /// The key, where a role file stands behind it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    pub label: String,
    /// The file that the charter came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub charter_origin: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlannedHarness {
    pub kind: Harness,
    pub from: Level,
}

/// The harness's own conversation that a run goes on with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Conversation {
    Id(String),
    /// The last one in this directory: which one it was is not known.
    Latest,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// A person at a terminal; stdio is inherited.
    Interactive,
    /// One task, no terminal, ends with a report.
    Headless,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlannedCommand {
    pub program: String,
    pub args: Vec<Template>,
    /// What is added to the user's own environment. Secrets are references, never values.
    pub env: BTreeMap<String, Template>,
    pub stdin: Stdin,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Stdin {
    /// The terminal of the user.
    Inherit,
    /// The task, then end of file.
    Prompt,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlannedFile {
    pub path: Template,
    pub purpose: String,
    #[serde(flatten)]
    pub body: FileBody,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FileBody {
    /// Written with this text.
    Content(Template),
    /// A directory of links to these entries of the user's own directory, `*` for all of them.
    LinksTo(LinkFarm),
    /// An empty directory.
    Directory(bool),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LinkFarm {
    pub directory: String,
    pub entries: Vec<String>,
    /// Linked even where they are not there yet, so that what the harness makes of them is the user's: files, and with a slash
    /// at the end directories.
    pub new: Vec<String>,
    /// What the harness keeps in the directory itself from one attempt to the next. Everything else is made anew: an earlier
    /// attempt could have left configuration.
    pub kept: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlannedSidecar {
    /// The file in the mount, relative to its root.
    pub target: String,
    pub mode: SidecarMode,
    /// The key and file that declared it.
    pub origin: String,
    /// The persona's own text, exactly.
    pub content: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlannedSkill {
    pub id: String,
    pub source: String,
    pub kind: SkillKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

impl RunPlan {
    /// The agent's part of the plan; `None` where a command runs.
    pub fn agent(&self) -> Option<&AgentPlan> {
        match &self.subject {
            PlannedSubject::Agent(agent) => Some(agent),
            PlannedSubject::Command(_) => None,
        }
    }

    /// What the session is named after.
    pub fn name(&self) -> &str {
        match &self.subject {
            PlannedSubject::Agent(agent) => &agent.persona.id,
            PlannedSubject::Command(command) => {
                command.persona.as_ref().map_or("mount", |persona| &persona.id)
            }
        }
    }

    /// The settings that do not hold in this run.
    pub fn not_enforced(&self) -> impl Iterator<Item = &Enforcement> {
        self.enforcement.iter().filter(|row| row.level != EnforcementLevel::Enforced)
    }
}

impl AgentPlan {
    /// The directory that relative skill sources are anchored to: that of the file that declares the skills.
    pub fn skills_dir(&self) -> Option<&std::path::Path> {
        self.origins.get("skills").and_then(|sources| sources.last()).and_then(Source::dir)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SkillKind {
    /// A directory with SKILL.md, or a single `.md`.
    Local,
    /// A git repository, with an optional `#name` or `/tree/<ref>/<path>`.
    Git,
    /// A prpm package.
    Prpm,
    /// A form of skills.sh.
    SkillsSh,
    /// No known form; the run goes on without it.
    Unknown,
}

/// What becomes of one demand of the persona.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Enforcement {
    #[schemars(with = "String")]
    pub field: Demand,
    pub level: EnforcementLevel,
    pub how: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EnforcementLevel {
    /// The harness, the mount or the runner enforces it.
    Enforced,
    /// The agent is asked to comply; nothing stops it.
    Advisory,
    /// It has no effect on this harness.
    Unsupported,
}
