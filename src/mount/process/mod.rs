//! Runs commands in a mount: starts them behind a helper of ours that makes the namespaces, and stays with them to their end.
//! How a mount is laid out is decided in `view`; what the commands changed is not looked at.

pub mod attend;
pub mod cgroup;
pub mod child;
mod descendants;
pub mod disk_meter;
mod fresh_temp;
pub mod inside;
pub(crate) mod mount_table;
pub mod probe;
pub mod signals;
mod ssh;
pub mod stdio;
mod terminal;

pub use attend::{ChildOutcome, Ending, catch_runner_signals};
pub use child::{ChildCommand, RunningChild};
pub use signals::SignalInbox;
pub use stdio::ChildStdio;
