//! Arguments of the commands that trade agents with other tools.

use super::values::harness_names;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct ImportArgs {
    /// Agent files, or directories of them
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// What the files are; `auto` tells by name and content
    #[arg(long, value_enum, default_value_t = FromArg::Auto, value_name = "FORMAT")]
    pub from: FromArg,
    /// Where the personas go: `project`, `user` or a directory
    #[arg(long, alias = "in", value_name = "project|user|DIR")]
    pub to: Option<String>,
    /// Replace personas that are there and differ
    #[arg(long)]
    pub overwrite: bool,
    /// Decide and say everything, write nothing
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FromArg {
    Auto,
    /// Claude Code subagents (`.md`)
    Claude,
    /// opencode agents (`.md`, `opencode.json`)
    Opencode,
    /// codex agents and profiles (`.toml`)
    Codex,
    /// goose recipes (`.yaml`, `.json`)
    Goose,
    /// GitHub Copilot agents (`.agent.md`)
    Copilot,
    /// minions `config.json`
    Minions,
}

#[derive(Debug, Args)]
pub struct ExportArgs {
    /// An id or intent of `agentworkforce list`; without a tier, its default one
    #[arg(value_name = "PERSONA[@TIER]")]
    pub selector: String,
    /// Whose form to write
    #[arg(long, value_name = harness_names())]
    pub to: String,
    /// The file, or an existing directory for it; without one it is printed
    #[arg(long, short, value_name = "PATH")]
    pub out: Option<PathBuf>,
    /// Replace a file that is there and differs
    #[arg(long, requires = "out")]
    pub overwrite: bool,
    /// Decide and say everything, write nothing
    #[arg(long)]
    pub dry_run: bool,
}
