//! Arguments of the commands that add to the catalogue and choose from it.

use super::values::harness_names;
use clap::Args;

#[derive(Debug, Args)]
pub struct CreateArgs {
    /// The new persona's id: a lower-case slug such as `api-reviewer`
    pub id: String,
    /// Extend this persona of a lower layer; only the differences are written
    #[arg(long, alias = "overlay", value_name = "ID")]
    pub extends: Option<String>,
    /// The role whose charter it follows
    #[arg(long, value_name = "KEY")]
    pub role: Option<String>,
    /// Display name
    #[arg(long)]
    pub name: Option<String>,
    /// Shown beside the name
    #[arg(long)]
    pub emoji: Option<String>,
    /// When to use it, in one sentence
    #[arg(long)]
    pub description: Option<String>,
    /// What it is good at, separated by commas
    #[arg(long, value_name = "A,B")]
    pub expertise: Option<String>,
    /// What it takes over from the repository's own setup, separated by commas: instructions, commands, skills, mcp, hooks
    #[arg(long, value_name = "KIND,...")]
    pub inherit: Option<String>,
    /// The harness to run it on
    #[arg(long, value_name = harness_names())]
    pub harness: Option<String>,
    /// The model; by default the harness chooses
    #[arg(long)]
    pub model: Option<String>,
    /// Where to write it: `project`, `user` or a directory
    #[arg(long = "in", alias = "to", value_name = "project|user|DIR")]
    pub to: Option<String>,
    /// Print the file without writing it
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Args)]
pub struct PickArgs {
    /// The task, in your own words
    #[arg(required = true, value_name = "TASK")]
    pub task: Vec<String>,
    /// Number of personas to show
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    pub limit: u16,
    /// Run the best match with this task
    #[arg(long)]
    pub launch: bool,
    /// With --launch: show what would run without starting it
    #[arg(long)]
    pub dry_run: bool,
}
