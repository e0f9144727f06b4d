//! The arguments of the commands for packs.

use super::LayerArg;
use super::values::seconds;
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct InstallArgs {
    /// A directory, a .tgz, a persona's .json, a git url or an npm package; without it, `--locked` restores everything in the lock
    #[arg(required_unless_present = "locked")]
    pub source: Option<String>,
    /// Only this persona of the pack; may be repeated
    #[arg(long, value_name = "ID", requires = "source")]
    pub persona: Vec<String>,
    /// The layer to install into
    #[arg(long = "in", alias = "to", value_enum, default_value_t = LayerArg::Project, value_name = "LAYER")]
    pub to: LayerArg,
    /// Replace existing files
    #[arg(long)]
    pub overwrite: bool,
    /// Accept personas that set `dangerouslyBypassApprovalsAndSandbox`; otherwise a pack with one is refused
    #[arg(long)]
    pub allow_bypass: bool,
    /// Fetch and check everything without writing
    #[arg(long)]
    pub dry_run: bool,
    /// Refuse anything that does not match agentworkforce.lock exactly
    #[arg(long, conflicts_with = "overwrite")]
    pub locked: bool,
    /// Time limit for fetching, such as 90s or 5m
    #[arg(long, value_name = "TIME", value_parser = seconds, default_value = "3m")]
    pub timeout: f64,
}

#[derive(Debug, Args)]
pub struct UpdateArgs {
    /// The packs; by default, all installed packs
    #[arg(value_name = "PACK")]
    pub packs: Vec<String>,
    /// Show the changes as a diff without writing
    #[arg(long)]
    pub diff: bool,
    /// Fetch and check everything without writing
    #[arg(long)]
    pub dry_run: bool,
    /// Keep your version of these personas; without an ID, of all that you changed.
    /// A role is `role:KEY`. The lock records it, and the next change in the pack is a conflict again
    #[arg(long, value_name = "ID", num_args = 0.., conflicts_with_all = ["diff", "take_theirs"])]
    pub keep_mine: Option<Vec<String>>,
    /// Take the pack's version of these personas over yours; without an ID, of all conflicts
    #[arg(long, value_name = "ID", num_args = 0.., conflicts_with = "diff")]
    pub take_theirs: Option<Vec<String>>,
    /// Accept personas that newly set `dangerouslyBypassApprovalsAndSandbox`; otherwise their pack is not updated
    #[arg(long)]
    pub allow_bypass: bool,
    /// The layer
    #[arg(long = "in", alias = "to", value_enum, default_value_t = LayerArg::Project, value_name = "LAYER")]
    pub to: LayerArg,
    /// Time limit for fetching each pack, such as 90s or 5m
    #[arg(long, value_name = "TIME", value_parser = seconds, default_value = "3m")]
    pub timeout: f64,
}

#[derive(Debug, Args)]
pub struct UninstallArgs {
    /// The pack's name in agentworkforce.lock
    pub pack: String,
    /// Show what would be removed without removing it
    #[arg(long)]
    pub dry_run: bool,
    /// The layer
    #[arg(long = "in", alias = "to", value_enum, default_value_t = LayerArg::Project, value_name = "LAYER")]
    pub to: LayerArg,
}

#[derive(Debug, Args)]
pub struct PackArgs {
    /// The directory of the pack
    pub dir: PathBuf,
    /// The archive; by default `<name>-<version>.tgz` in the current directory
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Replace an existing archive
    #[arg(long)]
    pub overwrite: bool,
    /// Check everything without writing
    #[arg(long)]
    pub dry_run: bool,
}
