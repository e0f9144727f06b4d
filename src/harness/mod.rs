//! One folder per harness: how a run is expressed in its terms, how its output is read, and where its login is. Nothing is started here and no file is read; CONTRIBUTING.md says how to add a harness.

use crate::model::tier::Harness;

mod adapter;
mod claude;
mod codex;
pub mod events;
#[cfg(test)]
mod example;
pub mod job;
mod login;
mod opencode;
pub mod records;
mod stderr_summary;
mod subject;
pub mod transcript;

pub use adapter::{ANY_PROJECT_CONFIG, Adapter, AgentFile, UserServers, is_project_config};
pub use login::{Login, UserFiles};

/// Everything that the rest of the program knows about a harness.
pub fn adapter(harness: Harness) -> &'static Adapter {
    match harness {
        Harness::Claude => &claude::ADAPTER,
        Harness::Opencode => &opencode::ADAPTER,
        Harness::Codex => &codex::ADAPTER,
        #[cfg(test)]
        Harness::Example => &example::ADAPTER,
    }
}

#[cfg(test)]
mod tests;
