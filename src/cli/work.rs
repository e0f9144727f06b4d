//! Arguments of the commands about work with a contract: `work`, `verify` and `contract`.

use super::runs::{ApplyArg, BackendArg, ProjectFrom, SandboxArg};
use super::values::{not_negative, seconds};
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// What a contract says, as flags.
#[derive(Debug, Clone, Default, Args)]
pub struct ContractArgs {
    /// The id of the task; by default made from its words
    #[arg(long, value_name = "ID")]
    pub task_id: Option<String>,
    /// Free text for the worker
    #[arg(long, value_name = "TEXT")]
    pub context: Option<String>,
    /// What may change: a path, `dir/` or a glob; may be repeated. By default everything but what judges the work
    #[arg(long, value_name = "PATH")]
    pub files: Vec<String>,
    /// A command that must succeed on the result; may be repeated. By default the project's own tests
    #[arg(long, value_name = "COMMAND")]
    pub check: Vec<String>,
    /// A command that installs what the checks need, where it is missing; may be repeated
    #[arg(long, value_name = "COMMAND")]
    pub setup: Vec<String>,
    /// The file that says what is right
    #[arg(long, value_name = "FILE")]
    pub spec: Option<String>,
    /// Why there is no such file
    #[arg(long, value_enum, value_name = "REASON", conflicts_with = "spec")]
    pub spec_skip: Option<SpecSkipArg>,
    /// How the work is done
    #[arg(long, value_enum, value_name = "MODE")]
    pub mode: Option<ModeArg>,
    /// A test has to be red first
    #[arg(long)]
    pub tdd: bool,
    /// A check has to fail without the change and pass with it
    #[arg(long)]
    pub prove: bool,
    /// A persona that judges what no command can
    #[arg(long, value_name = "PERSONA[@TIER]")]
    pub review: Option<String>,
    /// A persona that is asked where the worker is stuck
    #[arg(long, value_name = "PERSONA[@TIER]")]
    pub advisor: Option<String>,
    /// A persona that splits the task where it is too large
    #[arg(long, value_name = "PERSONA[@TIER]")]
    pub planner: Option<String>,
    /// How much effort the worker is to spend, in words of its own
    #[arg(long, value_name = "TEXT")]
    pub effort: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SpecSkipArg {
    DocsOnly,
    MechanicalChange,
    ExistingSpecSufficient,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ModeArg {
    /// One worker, in the project
    Solo,
    /// The same on codex
    Codex,
    /// A lead owns the plan file; commits go to a branch
    Breezing,
}

#[derive(Debug, Args)]
pub struct WorkArgs {
    /// What to do, or a contract: a JSON file
    #[arg(value_name = "TASK|CONTRACT.json", required_unless_present_any = ["resume", "decided"])]
    pub task: Vec<String>,
    #[command(flatten)]
    pub contract: ContractArgs,
    /// Who does it, by default `worker`; several, separated by commas, race, and the best verified result is applied
    #[arg(long = "as", value_name = "PERSONA[@TIER],...", value_delimiter = ',')]
    pub personas: Vec<String>,
    /// How many racers work at the same time
    #[arg(long, value_name = "N", default_value = "2", value_parser = clap::value_parser!(u8).range(1..=16))]
    pub jobs: u8,
    /// Discard the results of the others in a race
    #[arg(long)]
    pub discard_others: bool,
    /// How many attempts there are
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub attempts: Option<u32>,
    /// When to apply an approved result; by default, ask at the terminal; auto only if there is none
    #[arg(long, value_enum, value_name = "WHEN")]
    pub apply: Option<ApplyArg>,
    /// Commit what is applied, with the worker's summary
    #[arg(long)]
    pub commit: bool,
    /// Go on with this session
    #[arg(long, value_name = "SESSION", conflicts_with = "task")]
    pub resume: Option<String>,
    /// Do not run the checks on the project as it was
    #[arg(long)]
    pub no_base: bool,
    /// End everything after this time: seconds, or with a unit as in 90s, 5m or 1h30m
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub timeout: Option<f64>,
    /// Start no further attempt when everything has cost this many US dollars
    #[arg(long, value_name = "USD", value_parser = not_negative)]
    pub max_usd: Option<f64>,
    /// Print the contract, its commands, every check and the prompts without starting or writing anything
    #[arg(long)]
    pub dry_run: bool,
    /// Print events as JSON lines, ending with the verdict
    #[arg(long)]
    pub stream_json: bool,
    /// Do not show the agent's steps and the status line
    #[arg(short, long)]
    pub quiet: bool,
    /// How to make the private view of the project
    #[arg(long, value_enum, value_name = "BACKEND")]
    pub mount: Option<BackendArg>,
    /// Refuse the run (exit 4) unless this protection level is available
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub sandbox: Option<SandboxArg>,
    /// Show paths that the built-in rules hide, as a gitignore pattern; may be repeated
    #[arg(long, value_name = "PATTERN", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub reveal: Vec<String>,
    /// Use only cached skills; do not access the network for them
    #[arg(long)]
    pub offline: bool,
    #[command(flatten)]
    pub from: ProjectFrom,
    /// A contract that this program has decided itself, for a racer
    #[arg(long, hide = true, value_name = "FILE")]
    pub decided: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// The contract: a JSON file
    #[arg(long, value_name = "FILE")]
    pub contract: PathBuf,
    /// The state before the work: a git ref
    #[arg(long, value_name = "REF")]
    pub base: String,
    /// The worker's report
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Do not run the checks on the base
    #[arg(long)]
    pub no_base: bool,
}

#[derive(Debug, Subcommand)]
pub enum ContractCommand {
    /// Write a contract, from flags or from the row of this id in a plan file
    New(Box<ContractNewArgs>),
    /// Check a contract: all its problems, with line numbers
    Check {
        /// The contract
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Mark a draft as approved, so that it can be run
    Approve {
        /// The contract
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
pub struct ContractNewArgs {
    /// The id of the task
    #[arg(value_name = "ID")]
    pub id: String,
    /// What to do; by default, what the row of the plan file says
    #[arg(long, value_name = "TEXT")]
    pub task: Option<String>,
    /// What has to be true at the end; may be repeated
    #[arg(long, value_name = "TEXT")]
    pub done: Vec<String>,
    /// A command that must succeed on the result; may be repeated
    #[arg(long, value_name = "COMMAND")]
    pub check: Vec<String>,
    /// What is not part of the task; may be repeated
    #[arg(long, value_name = "TEXT")]
    pub non_goal: Vec<String>,
    /// What is dangerous about it; may be repeated
    #[arg(long, value_name = "FLAG")]
    pub risk: Vec<String>,
    /// A test has to be red first
    #[arg(long)]
    pub tdd: bool,
    /// A persona that judges what no command can
    #[arg(long, value_name = "PERSONA")]
    pub review: Option<String>,
    /// The plan file; by default the one of the config
    #[arg(long, value_name = "FILE")]
    pub plan: Option<PathBuf>,
    /// Where to write it; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Replace a file that is there
    #[arg(long)]
    pub force: bool,
}
