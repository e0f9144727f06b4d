//! The arguments of the commands for packs.

use super::LayerArg;
use super::values::positive;
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct InstallArgs {
    /// A directory, a .tgz, a persona's .json, a git url or an npm package; without one, `--locked` restores all that the lock names
    #[arg(required_unless_present = "locked")]
    pub source: Option<String>,
    /// Only this persona of the pack; may be repeated
    #[arg(long, value_name = "ID", requires = "source")]
    pub persona: Vec<String>,
    /// Which layer it goes to
    #[arg(long, value_enum, default_value_t = LayerArg::Project, value_name = "LAYER")]
    pub to: LayerArg,
    /// Replace files that are there already
    #[arg(long)]
    pub overwrite: bool,
    /// Take personas that set `dangerouslyBypassApprovalsAndSandbox`; without it a pack that brings one is refused
    #[arg(long)]
    pub allow_bypass: bool,
    /// Fetch and check everything, and write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Refuse what agentworkforce.lock does not name, byte by byte
    #[arg(long, conflicts_with = "overwrite")]
    pub locked: bool,
    /// How long fetching may take, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = positive, default_value = "180")]
    pub timeout: f64,
}

#[derive(Debug, Args)]
pub struct UpdateArgs {
    /// The packs; without any, all that are installed
    #[arg(value_name = "PACK")]
    pub packs: Vec<String>,
    /// Show what would change as a diff, and write nothing
    #[arg(long)]
    pub diff: bool,
    /// Fetch and check everything, and write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Keep these personas as you have them, on top of the new version; without an ID, all that you changed.
    /// A role is `role:KEY`. The lock notes it, and the next change by the pack is a conflict again
    #[arg(long, value_name = "ID", num_args = 0.., conflicts_with_all = ["diff", "take_theirs"])]
    pub keep_mine: Option<Vec<String>>,
    /// Take these personas as the pack has them, over what you changed; without an ID, all that are in conflict
    #[arg(long, value_name = "ID", num_args = 0.., conflicts_with = "diff")]
    pub take_theirs: Option<Vec<String>>,
    /// Take personas that newly set `dangerouslyBypassApprovalsAndSandbox`; without it their pack is not updated
    #[arg(long)]
    pub allow_bypass: bool,
    /// Which layer
    #[arg(long, value_enum, default_value_t = LayerArg::Project, value_name = "LAYER")]
    pub to: LayerArg,
    /// How long fetching may take for each pack, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = positive, default_value = "180")]
    pub timeout: f64,
}

#[derive(Debug, Args)]
pub struct UninstallArgs {
    /// The pack, as agentworkforce.lock names it
    pub pack: String,
    /// Say what would be removed, and remove nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Which layer
    #[arg(long, value_enum, default_value_t = LayerArg::Project, value_name = "LAYER")]
    pub to: LayerArg,
}

#[derive(Debug, Args)]
pub struct PackArgs {
    /// The directory of the pack
    pub dir: PathBuf,
    /// The archive; default: `<name>-<version>.tgz` here
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Replace an archive that is there already
    #[arg(long)]
    pub overwrite: bool,
    /// Check everything, and write nothing
    #[arg(long)]
    pub dry_run: bool,
}
