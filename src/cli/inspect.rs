//! Arguments of the commands that only read personas: `list`, `show`, `lint`, `schema`.

use super::values::name_and_value;
use super::{ProjectFrom, ShownArgs};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct ListArgs {
    /// One row per tier instead of only the default tier
    #[arg(long, visible_alias = "no-recommended")]
    pub all: bool,
    /// Only this tier
    #[arg(long, visible_alias = "filter-rating", value_name = "TIER")]
    pub tier: Option<String>,
    /// Only personas on this harness
    #[arg(long, visible_alias = "filter-harness", value_name = "HARNESS")]
    pub harness: Option<String>,
    /// Only personas with this tag
    #[arg(long, visible_alias = "filter-tag", value_name = "TAG")]
    pub tag: Option<String>,
    /// One row per persona: the default, accepted for old scripts
    #[arg(long, hide = true)]
    pub recommended: bool,
    /// Accepted for old scripts
    #[arg(long, hide = true)]
    pub display_description: bool,
    /// Do not show descriptions
    #[arg(long)]
    pub no_display_description: bool,
    #[command(flatten)]
    pub from: ProjectFrom,
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// An id, intent or unique name from `agentworkforce list`; without a tier, the default tier
    #[arg(value_name = "PERSONA[@TIER]")]
    pub selector: String,
    /// Show which file set each field
    #[arg(long)]
    pub origins: bool,
    /// Print the system prompt exactly as the harness gets it
    #[arg(long)]
    pub prompt: bool,
    /// Print what it is told under this contract, besides its system prompt
    #[arg(long, value_name = "FILE", conflicts_with_all = ["origins", "prompt", "files", "enforcement"])]
    pub contract: Option<PathBuf>,
    /// Show the path rules and what they match, or the decision for one path
    #[arg(long, value_name = "PATH", num_args = 0..=1)]
    #[allow(clippy::option_option)]
    pub files: Option<Option<PathBuf>>,
    /// Show which settings the harness enforces
    #[arg(long)]
    pub enforcement: bool,
    /// Show every tier, not only the default one
    #[arg(long)]
    pub all: bool,
    /// Show it for this harness
    #[arg(long, value_name = "HARNESS")]
    pub harness: Option<String>,
    /// A value for an input of the persona; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = name_and_value)]
    pub input: Vec<(String, String)>,
    #[command(flatten)]
    pub shown: ShownArgs,
    #[command(flatten)]
    pub from: ProjectFrom,
}

#[derive(Debug, Args)]
pub struct LintArgs {
    /// Files, directories, ids of personas or keys of roles; by default, every layer
    #[arg(value_name = "PATH|ID|KEY")]
    pub targets: Vec<String>,
    /// Treat warnings as errors
    #[arg(long)]
    pub strict: bool,
    #[command(flatten)]
    pub from: ProjectFrom,
}

#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// The format
    #[arg(value_enum)]
    pub format: SchemaFormat,
    /// Print a reference in Markdown instead (persona, role and config)
    #[arg(long)]
    pub markdown: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SchemaFormat {
    /// Persona files, overlays included
    Persona,
    /// Role files
    Role,
    /// What `agent --dry-run --json` prints
    Plan,
    /// What `agent -p ... --json` prints
    Report,
    /// config.json
    Config,
    /// Contract files, for `work`
    Contract,
    /// What `work --json` prints
    Verdict,
    /// What a worker hands in
    WorkerReport,
    /// What a reviewer answers
    ReviewResult,
}
