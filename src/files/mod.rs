//! Writes our own JSON files so that nothing is lost: locked, re-read, edited as a map, replaced in one step.
//! Knows nothing about what the keys mean.

pub mod backup;
pub mod json_file;
pub mod lock;
