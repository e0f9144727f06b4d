//! Arguments of the commands that add to the catalogue and choose from it.

use super::values::harness_names;
use clap::Args;

#[derive(Debug, Args)]
pub struct CreateArgs {
    /// Its id: a lower-case slug such as `api-reviewer`
    pub id: String,
    /// Build on this persona of a lower layer: only what differs is written
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
    /// What it is good at, with commas
    #[arg(long, value_name = "A,B")]
    pub expertise: Option<String>,
    /// Which harness serves it
    #[arg(long, value_name = harness_names())]
    pub harness: Option<String>,
    /// Which model; left out, the harness picks
    #[arg(long)]
    pub model: Option<String>,
    /// Where it goes: `project`, `user` or a directory
    #[arg(long, alias = "in", value_name = "project|user|DIR")]
    pub to: Option<String>,
    /// Print the file, write nothing
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Args)]
pub struct PickArgs {
    /// What is to be done, in your own words
    #[arg(required = true, value_name = "TASK")]
    pub task: Vec<String>,
    /// How many to show
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    pub limit: u16,
    /// Give the task to the best one
    #[arg(long)]
    pub launch: bool,
    /// With --launch: say what would run, start nothing
    #[arg(long)]
    pub dry_run: bool,
}
