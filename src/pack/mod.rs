//! Packs: directories of personas with the files that they name, shared as a path, an archive, a git repository or an npm
//! package. A pack is read once into memory and checked there; what it would write is decided by value; then everything
//! is written in one step. Nothing that is in a pack is ever run.

pub mod apply;
pub(crate) mod archive;
mod assets;
pub mod contents;
pub mod decide;
#[cfg(test)]
mod decide_tests;
mod directory;
pub mod drift;
pub mod fetch;
mod git;
mod journal;
mod limits;
pub mod lockfile;
mod npm;
pub mod powers;
mod references;
pub mod settle;
pub mod settlement;
mod single;
pub mod source;
mod switch;
pub mod target;
pub mod tree;
pub mod write_archive;

use crate::error::CommandError;
use crate::exit::Exit;
use std::fmt::Display;

/// A pack that is not taken as it is. Nothing was written.
fn refused(message: impl Display) -> CommandError {
    CommandError::new(Exit::Failed, message)
}
