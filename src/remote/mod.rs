//! Reads what other people's servers have, with the programs that the user has for it, a time limit and no terminal.
//! What is read is data; what it means is decided by whoever asked.

pub mod git_source;
pub mod repository;
pub mod surroundings;
