//! Runs commands in a mount: starts them behind our helper, which creates the namespaces, and supervises them until they end.
//! `view` decides how a mount is laid out; what the commands changed is for `changes`.

pub mod attend;
pub mod cgroup;
pub mod child;
pub mod descendants;
pub mod disk_meter;
mod fresh_temp;
pub mod inside;
pub(crate) mod mount_table;
pub mod probe;
pub mod signals;
mod ssh;
pub mod stdio;
mod terminal;
pub mod userns;

pub use attend::{ChildOutcome, Ending, catch_runner_signals};
pub use child::{ChildCommand, RunningChild};
pub use signals::SignalInbox;
pub use stdio::ChildStdio;
