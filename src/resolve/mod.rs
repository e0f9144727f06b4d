//! Turns what files say into what was decided: merge, select, compose. Pure: no file, no environment, no clock.

pub mod chain;
pub mod inputs;
pub mod merge;
pub mod persona;
pub mod prompt;
pub mod rank;
pub mod references;
pub mod role;
pub mod select;
pub mod sidecar;
mod stemmer;
