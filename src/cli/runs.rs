//! Arguments of the commands that run something: `agent` and `mount`.

use super::values::{harness_names, name_and_value, not_negative, positive};
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// Where the project's own personas and rules are read.
#[derive(Debug, Args)]
pub struct ProjectFrom {
    /// Take the project's personas, roles, sidecars and rule files from this git ref, not from the working tree
    #[arg(long, value_name = "REF", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    persona_ref: Option<String>,
}

impl ProjectFrom {
    pub fn persona_ref(&self) -> Option<&str> {
        self.persona_ref.as_deref()
    }
}

/// What becomes of a run's changes.
#[derive(Debug, Args)]
pub struct ChangesArgs {
    /// What becomes of the changes; default: ask on a terminal, else auto
    #[arg(long, value_enum, value_name = "WHEN")]
    pub apply: Option<ApplyArg>,
    /// Apply changes to paths that git ignores, too
    #[arg(long)]
    pub include_ignored: bool,
    /// Keep the mount after its changes were applied, to look at it or to resume
    #[arg(long)]
    pub keep: bool,
}

#[derive(Debug, Args)]
pub struct AgentArgs {
    /// Who runs: an id or intent of `agentworkforce list`, and the tier best, best-value or minimum
    #[arg(value_name = "PERSONA[@TIER]")]
    pub selector: String,
    /// Decide everything, start nothing, write nothing, and print the plan
    #[arg(long)]
    pub dry_run: bool,
    /// Do this one task without conversation, then end
    #[arg(short, long, value_name = "TEXT", conflicts_with = "prompt_file")]
    pub prompt: Option<String>,
    /// The same with the task from a file; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub prompt_file: Option<PathBuf>,
    /// A value for an input of the persona; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = name_and_value)]
    pub input: Vec<(String, String)>,
    /// Run on this harness instead of the tier's
    #[arg(long, value_name = harness_names())]
    pub harness: Option<String>,
    /// Use this model instead of the tier's
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// How the private view of the project is made
    #[arg(long, value_enum, value_name = "BACKEND")]
    pub mount: Option<BackendArg>,
    /// Work in the real directory: no mount, no sidecars (the same as --mount none)
    #[arg(long, conflicts_with = "mount")]
    pub install_in_repo: bool,
    /// Mount this directory instead of the repository's top level
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Refuse the run (exit 4) unless this is protected
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub sandbox: Option<SandboxArg>,
    /// End the run after so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = positive)]
    pub timeout: Option<f64>,
    /// End the run after so many seconds in which the harness says nothing and no tool is at work
    #[arg(long, value_name = "SECONDS", value_parser = positive)]
    pub idle_timeout: Option<f64>,
    /// End the run after so many turns of the model
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_turns: Option<u64>,
    /// End the run when it has cost so many US dollars
    #[arg(long, value_name = "USD", value_parser = not_negative)]
    pub max_usd: Option<f64>,
    /// Refuse instead of warn: everything the persona demands must be enforced
    #[arg(long)]
    pub strict: bool,
    #[command(flatten)]
    pub changes: ChangesArgs,
    /// A command that must succeed on the result before anything is applied; may be repeated
    #[arg(long, value_name = "COMMAND")]
    pub check: Vec<String>,
    /// End a check, as failed, after so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = positive, requires = "check")]
    pub check_timeout: Option<f64>,
    /// Go on with the conversation and the mount of this session
    #[arg(long, value_name = "SESSION")]
    pub resume: Option<String>,
    /// Print what the agent does as JSON, an event a line, and the report last
    #[arg(long)]
    pub stream_json: bool,
    /// Take skills from the cache only, never from the network
    #[arg(long)]
    pub offline: bool,
    /// Arguments for the harness itself
    #[arg(last = true, value_name = "HARNESS ARGS")]
    pub harness_args: Vec<String>,
    #[command(flatten)]
    pub from: ProjectFrom,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum BackendArg {
    /// Overlay where it works here, else copy, with the reason
    Auto,
    /// Copy-on-write at the project's own path (Linux)
    Overlay,
    /// A copy of the project in the session
    Copy,
    /// The real directory: no review, nothing hidden
    None,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum SandboxArg {
    /// Demand nothing
    Off,
    /// The real project cannot be written and hidden files cannot be opened from inside
    Project,
    /// Besides, only the mount, temp directories, caches and the harness's own state can be written
    Strict,
}

#[derive(Debug, Args)]
pub struct MountArgs {
    /// See what this persona sees: its rules and its sidecar
    #[arg(long, value_name = "PERSONA[@TIER]")]
    pub persona: Option<String>,
    #[command(flatten)]
    pub changes: ChangesArgs,
    /// How the private view of the project is made
    #[arg(long, value_enum, value_name = "BACKEND")]
    pub mount: Option<BackendArg>,
    /// Mount this directory instead of the repository's top level
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Refuse the run (exit 4) unless this is protected
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub sandbox: Option<SandboxArg>,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
    #[command(flatten)]
    pub from: ProjectFrom,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ApplyArg {
    /// Apply when the run succeeded and nothing is in conflict
    Auto,
    /// Ask at the terminal
    Ask,
    /// Hold the changes in the session
    Never,
}
