//! The private view of a project and the way back: makes the view that a plan asks for, runs commands in it, says what changed,
//! whether it may be applied, apply and undo. It decides no policy and prints nothing.

pub mod apply;
pub mod base;
pub mod changes;
pub mod child;
pub mod cleanup;
pub mod compare;
pub mod copy;
mod copy_file;
pub mod diff;
mod duplicate;
mod git_copy;
pub mod git_export;
pub(crate) mod git_refs;
mod heavy;
pub(crate) mod index_file;
pub mod inside;
mod late;
pub mod manifest;
pub mod manifest_take;
pub mod mount_table;
pub mod open;
pub mod plant;
pub mod probe;
pub(crate) mod quick_rules;
pub mod repository;
pub mod root;
pub mod run;
pub mod signals;
mod ssh;
pub mod stat;
pub mod survey;
pub mod terminal;
pub mod tree;
#[cfg(debug_assertions)]
pub mod try_out;
pub mod walk;

#[cfg(test)]
mod engine_tests;

pub use child::{ChildCommand, ChildStdio, RunningChild};
pub use late::{came_later, hide_what_came_later};
pub use open::{OpenMount, OpenRequest, open, reopen};
pub use plant::PlantedFile;
pub use run::{ChildOutcome, Ending, catch_runner_signals};
pub use signals::SignalInbox;
