//! Packs: directories of personas with the files that they name, shared as a path, an archive, a git repository or an npm
//! package. A pack is read into memory and checked there; what it changes is decided as a value; then everything is
//! written in one step. Nothing in a pack is ever executed.

pub mod apply;
pub(crate) mod archive;
mod assets;
pub mod contents;
pub mod decide;
#[cfg(test)]
mod decide_tests;
mod directory;
pub mod drift;
pub mod edits;
pub mod error;
mod exchange;
pub mod fetch;
mod git;
mod journal;
mod limits;
pub mod lockfile;
mod npm;
pub mod policy;
pub mod powers;
pub mod record;
mod references;
mod risky_variables;
mod single_persona;
pub mod source;
pub mod target;
pub mod tree;
pub mod write_archive;
