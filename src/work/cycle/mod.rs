//! The loop around a piece of work: runs attempts, measures them, corrects, and applies what is approved. The only part of `work` that
//! touches the world; what is decided is decided by the pure parts.

pub mod bench;
mod changes;
mod executions;
mod outside;
mod tree_bench;
