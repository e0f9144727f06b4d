//! Arguments of the commands that look at personas and change nothing.

use super::ProjectFrom;
use super::values::name_and_value;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct ListArgs {
    /// One row for every tier instead of the default tier
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
    /// One row a persona: the default, accepted for old scripts
    #[arg(long, hide = true)]
    pub recommended: bool,
    /// Accepted for old scripts
    #[arg(long, hide = true)]
    pub display_description: bool,
    /// Leave the descriptions out
    #[arg(long)]
    pub no_display_description: bool,
    #[command(flatten)]
    pub from: ProjectFrom,
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// An id or intent of `agentworkforce list`; without a tier, its default one
    #[arg(value_name = "PERSONA[@TIER]")]
    pub selector: String,
    /// Which file set each field
    #[arg(long)]
    pub origins: bool,
    /// The system prompt, exactly as the harness is given it
    #[arg(long)]
    pub prompt: bool,
    /// The path rules with what they match, or the decision for one path
    #[arg(long, value_name = "PATH", num_args = 0..=1)]
    #[allow(clippy::option_option)]
    pub files: Option<Option<PathBuf>>,
    /// What becomes of each demand on the harness
    #[arg(long)]
    pub enforcement: bool,
    /// Every tier, where the persona has several
    #[arg(long)]
    pub all: bool,
    /// Look at it on this harness
    #[arg(long, value_name = "HARNESS")]
    pub harness: Option<String>,
    /// A value for an input of the persona; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = name_and_value)]
    pub input: Vec<(String, String)>,
    #[command(flatten)]
    pub from: ProjectFrom,
}

#[derive(Debug, Args)]
pub struct LintArgs {
    /// Files, directories or persona ids; without any, every layer
    #[arg(value_name = "PATH|ID")]
    pub targets: Vec<String>,
    /// Warnings count as errors
    #[arg(long)]
    pub strict: bool,
    #[command(flatten)]
    pub from: ProjectFrom,
}

#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// Which format
    #[arg(value_enum)]
    pub format: SchemaFormat,
    /// As a reference to read, in Markdown: persona, role and config
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
}
