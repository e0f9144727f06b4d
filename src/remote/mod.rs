//! Reads other people's repositories and packages with the user's programs, a time limit and no terminal.
//! What is read is data; the callers decide what it means.

pub mod error;
pub mod fetch_context;
pub mod git_source;
pub mod repository;
