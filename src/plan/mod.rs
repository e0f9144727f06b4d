//! From a resolved persona to everything a run will do, as pure functions. Starts and touches nothing.

pub mod enforcement;
pub mod mount;
pub mod parts;
pub mod prompt;
pub mod refusals;
pub mod run;
pub mod servers;
mod weakened;
