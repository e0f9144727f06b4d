//! Arguments of `import` and `export`.

use super::values::harness_names;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct ImportArgs {
    /// Agent files, or directories of them
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// The format of the files; `auto` detects it by name and content
    #[arg(long, value_enum, default_value_t = FromArg::Auto, value_name = "FORMAT")]
    pub from: FromArg,
    /// Where to write the personas: `project`, `user` or a directory
    #[arg(long = "in", alias = "to", value_name = "project|user|DIR")]
    pub to: Option<String>,
    /// Replace existing personas and roles that differ
    #[arg(long)]
    pub overwrite: bool,
    /// Show what would be written without writing it
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
    /// Kiro agents (`.kiro/agents/*.json`)
    Kiro,
    /// minions `config.json`
    Minions,
}

#[derive(Debug, Args)]
pub struct ExportArgs {
    /// An id, intent or unique name from `agentworkforce list`; without a tier, the default tier
    #[arg(value_name = "PERSONA[@TIER]")]
    pub selector: String,
    /// The tool to write it for
    #[arg(long, value_name = harness_names())]
    pub to: String,
    /// The file, or an existing directory for it; by default it is printed
    #[arg(long, short, value_name = "PATH")]
    pub out: Option<PathBuf>,
    /// Replace an existing file that differs
    #[arg(long, requires = "out")]
    pub overwrite: bool,
    /// Show what would be written without writing it
    #[arg(long)]
    pub dry_run: bool,
}
