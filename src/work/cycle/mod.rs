//! The loop around a piece of work: runs attempts, measures them, corrects, and applies what is approved. The only part of `work` that
//! touches the world; what is decided is decided by the pure parts.

mod base;
mod changes;
pub mod command_runner;
pub mod drive;
mod executions;
mod finish;
pub mod holdout;
mod judge;
mod judging;
mod measure;
mod outside;
mod part;
pub mod plan;
pub mod prepare;
mod project;
pub mod race;
pub mod record;
pub mod request;
pub mod roles;
pub mod settle;
pub mod tree;
mod tree_copies;
