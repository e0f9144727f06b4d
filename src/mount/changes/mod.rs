//! What the agent changed, which of it may be applied, and why the rest may not: one value for report, diff and apply.
//! It reads the project and the mount and changes neither.

pub mod base;
mod change;
pub mod compare;
mod content;
mod copied;
pub mod diff;
mod git_directory;
mod git_settings;
mod ignored;
pub mod manifest;
pub(crate) mod manifest_take;
pub mod merge;
mod moved;
mod own;
pub mod restored;
mod review;
pub(crate) mod since_launch;
mod three_way;
mod touched;
mod upper;

pub use change::{Change, KeptOut, Protected, ProtectedWhy, Review};
pub use review::{Ignored, review};
pub use three_way::ThreeWay;
pub(crate) use touched::is_git_name;
