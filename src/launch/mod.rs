//! Launches a plan in an open mount: puts the generated files in place, starts the harness, reads what it does and ends it when
//! a limit is reached. It decides nothing about the work that the harness leaves, and prints nothing.

pub mod check;
pub mod error;
pub mod headless;
pub(crate) mod lines;
pub mod program;
pub mod record;
pub mod staging;
