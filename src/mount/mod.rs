//! The private view of a project and the way back: creates the view that a plan describes, runs commands in it, determines what changed,
//! applies it and undoes it. It decides no policy and prints nothing.
//!
//! | room | job |
//! |---|---|
//! | `fs` | files and directories: stat, walk, copy, remove, without following links |
//! | `git` | repositories: private copies of them, and the agent's commits exported to the real one |
//! | `changes` | what differs from the project at launch, and which of it may be applied |
//! | `process` | runs commands inside: namespaces, signals, the terminal, limits |
//! | `view` | makes what the commands see: overlay or copy, with hidden and injected files |
//! | `apply` | brings changes into the project, journaled; undo, redo, recover |
//!
//! In this order: a room uses only those above it.

pub mod apply;
pub mod changes;
mod crash_points;
pub mod error;
pub mod fs;
pub mod git;
pub mod process;
pub mod view;

#[cfg(test)]
mod engine_tests;

pub use crash_points::CrashPoints;
pub use error::MountError;
pub use process::cgroup::limit_obstacles;
pub use process::{
    ChildCommand, ChildOutcome, ChildStdio, Ending, RunningChild, SignalInbox, catch_runner_signals, probe,
    userns,
};
pub use view::{
    ChangedFiles, InjectedFile, NotApplied, OpenMount, OpenRequest, ScratchView, UpperListing, ViewOf,
};
pub use view::{hide_newly_hidden, newly_hidden, open, reopen, root};
