//! Arguments of the commands that run something: `agent` and `mount`.

use super::values::{harness_names, name_and_value, not_negative, seconds};
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// Where the project's own personas and rules are read from.
#[derive(Debug, Args)]
pub struct ProjectFrom {
    /// Read the project's personas, roles, sidecars and rule files from this git ref, not from the working tree
    #[arg(long, value_name = "REF", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    persona_ref: Option<String>,
}

impl ProjectFrom {
    pub fn persona_ref(&self) -> Option<&str> {
        self.persona_ref.as_deref()
    }
}

/// What happens to a run's changes.
#[derive(Debug, Args)]
pub struct ChangesArgs {
    /// When to apply the changes; by default, ask at the terminal; auto only if there is none
    #[arg(long, value_enum, value_name = "WHEN")]
    pub apply: Option<ApplyArg>,
    /// Also apply changes to paths that git ignores
    #[arg(long)]
    pub include_ignored: bool,
    /// Do not merge: every file that you changed too is a conflict
    #[arg(long)]
    pub no_merge: bool,
    /// Let the run change what decides about agents: personas, roles, rule files; without a persona, configuration of harnesses too
    #[arg(long)]
    pub allow_layer_changes: bool,
    /// Keep the mount after its changes are applied, to inspect it or to resume
    #[arg(long)]
    pub keep: bool,
}

/// What a persona sees of what is hidden by default.
#[derive(Debug, Args)]
pub struct ShownArgs {
    /// Take these over from the repository's own setup, instead of what the persona says; `all` takes everything, `none` nothing
    #[arg(long, value_name = "KIND,...", value_delimiter = ',', value_enum)]
    pub inherit: Vec<InheritArg>,
    /// Show paths that the built-in rules hide, as a gitignore pattern; may be repeated
    #[arg(long, value_name = "PATTERN", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub reveal: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum InheritArg {
    /// CLAUDE.md, AGENTS.md and the like
    Instructions,
    /// Commands of the repository
    Commands,
    /// Skills of the repository
    Skills,
    /// MCP servers of the repository, and yours
    Mcp,
    /// Hooks of the repository: commands that the harness runs by itself
    Hooks,
    /// All of these
    All,
    /// Nothing
    None,
}

#[derive(Debug, Args)]
pub struct AgentArgs {
    /// An id, intent or unique name from `agentworkforce list`, with an optional tier: best, best-value or minimum
    #[arg(value_name = "PERSONA[@TIER]")]
    pub selector: String,
    /// Run headless: do this one task, then exit (the same as -p); text that is piped in is given to the agent with it
    #[arg(value_name = "TASK", conflicts_with_all = ["prompt", "prompt_file"])]
    pub task: Vec<String>,
    /// Print the plan without starting or writing anything
    #[arg(long)]
    pub dry_run: bool,
    /// Run headless: do this one task, then exit
    #[arg(short, long, value_name = "TEXT", conflicts_with = "prompt_file")]
    pub prompt: Option<String>,
    /// Read the task from a file; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub prompt_file: Option<PathBuf>,
    /// Do not read text that is piped in
    #[arg(long)]
    pub no_stdin: bool,
    /// A value for an input of the persona; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = name_and_value)]
    pub input: Vec<(String, String)>,
    /// Run on this harness instead of the tier's
    #[arg(long, value_name = harness_names())]
    pub harness: Option<String>,
    /// Use this model instead of the tier's
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// How to make the private view of the project
    #[arg(long, value_enum, value_name = "BACKEND")]
    pub mount: Option<BackendArg>,
    /// Work in the real directory: no mount, no sidecars (the same as --mount none)
    #[arg(long, conflicts_with = "mount")]
    pub install_in_repo: bool,
    /// Mount this directory instead of the repository's top level
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    #[command(flatten)]
    pub shown: ShownArgs,
    /// Refuse the run (exit 4) unless this protection level is available
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub sandbox: Option<SandboxArg>,
    /// End the run after this time: seconds, or with a unit as in 90s, 5m or 1h30m
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub timeout: Option<f64>,
    /// End the run after this time without output while no tool is running
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub idle_timeout: Option<f64>,
    /// End the run after this many model turns
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_turns: Option<u64>,
    /// End the run when it has cost this many US dollars
    #[arg(long, value_name = "USD", value_parser = not_negative)]
    pub max_usd: Option<f64>,
    /// Refuse to run unless every setting of the persona is enforced
    #[arg(long)]
    pub strict: bool,
    /// Run although the persona has restrictions that this runner ignores: monthlyBudgetUsd, workspace_manifest
    #[arg(long)]
    pub ignore_unsupported: bool,
    #[command(flatten)]
    pub changes: ChangesArgs,
    /// A command that must succeed before changes are applied; may be repeated
    #[arg(long, value_name = "COMMAND")]
    pub check: Vec<String>,
    /// Fail a check after this time
    #[arg(long, value_name = "TIME", value_parser = seconds, requires = "check")]
    pub check_timeout: Option<f64>,
    /// Do not run the checks of the session that is continued
    #[arg(long, conflicts_with = "check")]
    pub no_checks: bool,
    /// Continue the conversation of this session, or of the last one in this project, in its mount
    #[arg(long, value_name = "SESSION|last", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub resume: Option<String>,
    /// Continue the last conversation with this persona in this project
    #[arg(short, long = "continue", conflicts_with = "resume")]
    pub continue_last: bool,
    /// Print events as JSON lines, ending with the report
    #[arg(long)]
    pub stream_json: bool,
    /// Do not show who starts, the agent's steps and the status line; warnings and the result are still printed
    #[arg(short, long)]
    pub quiet: bool,
    /// Use only cached skills; do not access the network for them
    #[arg(long)]
    pub offline: bool,
    /// Fetch skills again; otherwise a fetched skill is used for a day
    #[arg(long, conflicts_with = "offline")]
    pub refresh_skills: bool,
    #[command(flatten)]
    pub npm: NpmFlags,
    /// Arguments for the harness itself
    #[arg(last = true, value_name = "HARNESS ARGS")]
    pub harness_args: Vec<String>,
    #[command(flatten)]
    pub from: ProjectFrom,
}

/// Flags of the npm tool that scripts may still have. They are not in the help: each is explained when it is used.
#[derive(Debug, Args)]
pub struct NpmFlags {
    /// No launch metadata is written anyway
    #[arg(long, hide = true)]
    pub no_launch_metadata: bool,
    /// The same as --refresh-skills
    #[arg(long, hide = true, conflicts_with = "offline")]
    pub no_skill_cache: bool,
    /// The same as --refresh-skills
    #[arg(long, hide = true, conflicts_with = "offline")]
    pub check_upstream: bool,
    /// A fetched skill is used for a day anyway
    #[arg(long, hide = true)]
    pub no_check_upstream: bool,
}

impl NpmFlags {
    /// What each of the flags in use means here.
    pub fn explained(&self) -> Vec<&'static str> {
        let all = [
            (self.no_launch_metadata, "`--no-launch-metadata` has no effect: no launch metadata is written"),
            (self.no_skill_cache, "`--no-skill-cache` means `--refresh-skills`: skills are fetched again"),
            (self.check_upstream, "`--check-upstream` means `--refresh-skills`: skills are fetched again"),
            (
                self.no_check_upstream,
                "`--no-check-upstream` has no effect: a fetched skill is used for a day",
            ),
        ];
        all.into_iter().filter(|(used, _)| *used).map(|(_, meaning)| meaning).collect()
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum BackendArg {
    /// Overlay where available, otherwise copy
    Auto,
    /// Copy-on-write at the project's own path (Linux)
    Overlay,
    /// A copy of the project in the session
    Copy,
    /// The real directory: no review, nothing is hidden
    None,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum SandboxArg {
    /// No requirement
    Off,
    /// The real project cannot be written and hidden files cannot be opened from inside
    Project,
    /// Also, nothing outside can be written: temporary directories, caches and the harness's state are private
    Strict,
}

#[derive(Debug, Args)]
pub struct MountArgs {
    /// Use this persona's rules and sidecar
    #[arg(long, value_name = "PERSONA[@TIER]")]
    pub persona: Option<String>,
    #[command(flatten)]
    pub shown: ShownArgs,
    #[command(flatten)]
    pub changes: ChangesArgs,
    /// How to make the private view of the project
    #[arg(long, value_enum, value_name = "BACKEND")]
    pub mount: Option<BackendArg>,
    /// Mount this directory instead of the repository's top level
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Refuse the run (exit 4) unless this protection level is available
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub sandbox: Option<SandboxArg>,
    /// Run although the persona has restrictions that this runner ignores: monthlyBudgetUsd, workspace_manifest
    #[arg(long)]
    pub ignore_unsupported: bool,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
    #[command(flatten)]
    pub from: ProjectFrom,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ApplyArg {
    /// Apply if the run succeeded and there are no conflicts
    Auto,
    /// Ask on the terminal
    Ask,
    /// Keep the changes in the session
    Never,
}
