//! Where the commands of a contract are run: in views of a run, or in copies of a working tree. Both show the same mixtures of the state
//! at launch and the changes.

use super::changes;
use super::part::Part;
use super::tree_bench::{TreeBench, TreeView};
use crate::launch::check::CheckOutcome;
use crate::model::raw_path::RawPath;
use crate::mount::changes::Change;
use crate::run::command_views::{CommandView, Measured, ViewCommand};
use crate::run::open::OpenRun;
use crate::work::evidence::ChangeSet;
use anyhow::Result;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A place for commands.
pub enum Bench<'b, 'run> {
    Run {
        open: &'b mut OpenRun<'run>,
        /// The engine's changes that are in the change set, with the directories that they need.
        changes: Vec<Change>,
    },
    Tree(&'b mut TreeBench),
}

/// An open view of either kind.
#[allow(clippy::large_enum_variant, reason = "there is one at a time")]
pub enum BenchView {
    Run(CommandView),
    Tree(TreeView),
}

impl BenchView {
    /// Lays files over the view that the worker never sees.
    pub fn lay_over(&mut self, dir: &Path) -> Result<()> {
        match self {
            BenchView::Run(view) => view.lay_over(dir),
            BenchView::Tree(view) => view.lay_over(dir),
        }
    }

    /// What commands have written in it.
    pub fn written(&self) -> BTreeSet<PathBuf> {
        match self {
            BenchView::Run(view) => view.written(),
            BenchView::Tree(_) => BTreeSet::new(),
        }
    }

    /// Files of the user that it cannot show as they were at launch.
    pub fn unknown(&self) -> Vec<PathBuf> {
        match self {
            BenchView::Run(view) => view.changed_by_user().map(Path::to_path_buf).collect(),
            BenchView::Tree(_) => Vec::new(),
        }
    }
}

impl<'b, 'run> Bench<'b, 'run> {
    /// The views of a run. What is not in the change set is not in them.
    pub fn of_run(open: &'b mut OpenRun<'run>, all: &[Change], set: &ChangeSet) -> Bench<'b, 'run> {
        let by_products: Vec<RawPath> = set.by_products.iter().map(RawPath::from).collect();
        Bench::Run { open, changes: changes::without(all, &by_products) }
    }

    pub fn view(&mut self, part: Part<'_>) -> Result<BenchView> {
        Ok(match self {
            Bench::Run { open, changes } => {
                let partly;
                let measured = match part {
                    Part::Nothing => Measured::Base,
                    Part::All => Measured::With(changes),
                    Part::Without(paths) => {
                        partly = changes::without(changes, paths);
                        Measured::With(&partly)
                    }
                    Part::Only(paths) => {
                        partly = changes::only(changes, paths);
                        Measured::With(&partly)
                    }
                    Part::WithIgnored => Measured::WithIgnored,
                };
                BenchView::Run(open.command_view(measured)?)
            }
            Bench::Tree(tree) => BenchView::Tree(tree.view(part)?),
        })
    }

    pub fn run(&mut self, view: &BenchView, command: ViewCommand<'_>) -> Result<CheckOutcome> {
        match (self, view) {
            (Bench::Run { open, .. }, BenchView::Run(view)) => open.run_in(view, command),
            (Bench::Tree(tree), BenchView::Tree(view)) => tree.run(view, command),
            _ => anyhow::bail!("a view belongs to another place"),
        }
    }
}
