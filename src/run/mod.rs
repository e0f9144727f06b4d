//! The engine: one run from a request to a report. `prepare -> open -> attempt* -> review -> check -> finish -> report`.
//! It knows no command line and no terminal: it tells an [`Observer`] what happens and asks a [`Decider`] what a person decides.
//! A dry run is a run that stops after `prepare`.

mod above;
pub mod attempt;
pub mod base_files;
pub mod checks;
pub mod command_views;
pub mod conversation;
pub mod debug_log;
mod denied_edits;
pub mod drive;
pub mod engine;
pub mod error;
mod export;
mod facts;
pub mod finish;
pub mod frozen;
mod in_order;
mod inject;
mod named_by_personas;
pub mod observer;
pub mod open;
pub mod outcome;
pub mod persona_parts;
mod places;
pub mod prepare;
mod recorder;
mod records;
pub mod report;
pub mod repository_facts;
pub mod request;
mod review;
mod reviewed;
mod setup;
mod setup_files;
mod skills;
mod terms;
pub mod transcript;
mod tree_files;
mod users_config;
mod version;
mod view;
pub mod watch;

pub use crate::launch::error::LaunchError;
pub use drive::{FailedRun, FinishedRun};
pub use engine::Engine;
pub use error::RunError;
pub use facts::missing_skills;
pub use observer::{Decider, Decision, Observer, Offer, RunEvent};
pub use prepare::Prepared;
pub use request::{RunRequest, Subject};
