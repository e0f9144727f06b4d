//! What the agent changed, which of it may be applied, and why the rest may not: one value for report, diff and apply.
//! It reads the project and the mount and changes neither.

mod already;
pub mod base;
pub mod base_content;
mod change;
pub mod compare;
mod conflict_base;
mod content;
pub mod content_store;
pub mod contents_take;
mod copied;
pub mod diff;
pub mod earlier;
pub mod frozen;
mod git_settings;
pub mod hunks;
mod ignore_file;
mod ignored;
pub mod manifest;
pub(crate) mod manifest_take;
pub mod markers;
pub mod merge;
mod moved;
mod own;
pub mod patch;
mod path_states;
mod patience;
mod protect;
mod renames;
mod repositories;
pub mod restored;
mod review;
mod settle;
pub(crate) mod since_launch;
mod three_way;
mod touched;
mod upper;
pub mod versions;

pub use change::{Change, KeptOut, Merged, MergedText, Protected, ProtectedWhy, Review};
pub use review::{Ignored, review};
pub use three_way::{Merging, ThreeWay};
pub(crate) use touched::is_git_name;
