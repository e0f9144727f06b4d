//! From a resolved persona to everything a run will do, as pure functions. Starts and touches nothing.

pub mod mount;
pub mod run;
pub mod servers;
