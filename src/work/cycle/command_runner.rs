//! Where the commands of a contract are run: in views of a run, or in copies of a working tree. Both show the same mixtures of the state
//! at launch and the changes.

use super::changes;
use super::holdout::Holdout;
use super::part::Part;
use super::tree_copies::{TreeCopies, TreeView};
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
pub enum CommandRunner<'b, 'run> {
    Run {
        open: &'b mut OpenRun<'run>,
        /// The engine's changes that are in the change set, with the directories that they need.
        changes: Vec<Change>,
    },
    Tree(&'b mut TreeCopies),
}

/// An open view of either kind.
#[allow(clippy::large_enum_variant, reason = "there is one at a time")]
pub enum OpenView {
    Run(CommandView),
    Tree(TreeView),
}

impl OpenView {
    /// Lays hidden tests over the view.
    pub fn lay_over(&mut self, holdout: &Holdout) -> Result<()> {
        match self {
            OpenView::Run(view) => view.lay_over(&holdout.files),
            OpenView::Tree(view) => view.lay_over(&holdout.dir),
        }
    }

    /// What commands have written in it.
    pub fn written(&self) -> BTreeSet<PathBuf> {
        match self {
            OpenView::Run(view) => view.written(),
            OpenView::Tree(_) => BTreeSet::new(),
        }
    }

    /// Files of the user that it cannot show as they were at launch.
    pub fn unknown(&self) -> Vec<PathBuf> {
        match self {
            OpenView::Run(view) => view.changed_by_user().map(Path::to_path_buf).collect(),
            OpenView::Tree(_) => Vec::new(),
        }
    }
}

impl<'b, 'run> CommandRunner<'b, 'run> {
    /// The views of a run. What is not in the change set is not in them.
    pub fn of_run(open: &'b mut OpenRun<'run>, all: &[Change], set: &ChangeSet) -> CommandRunner<'b, 'run> {
        let by_products: Vec<RawPath> = set.by_products.iter().map(RawPath::from).collect();
        CommandRunner::Run { open, changes: changes::without(all, &by_products) }
    }

    pub fn view(&mut self, part: Part<'_>) -> Result<OpenView> {
        Ok(match self {
            CommandRunner::Run { open, changes } => {
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
                OpenView::Run(open.command_view(measured)?)
            }
            CommandRunner::Tree(tree) => OpenView::Tree(tree.view(part)?),
        })
    }

    pub fn run(&mut self, view: &OpenView, command: ViewCommand<'_>) -> Result<CheckOutcome> {
        match (self, view) {
            (CommandRunner::Run { open, .. }, OpenView::Run(view)) => open.run_in(view, command),
            (CommandRunner::Tree(tree), OpenView::Tree(view)) => tree.run(view, command),
            _ => anyhow::bail!("a view belongs to another place"),
        }
    }
}
