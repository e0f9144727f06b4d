//! A harness for tests only: the smallest adapter that is complete. It shows that a harness is one folder and one line in the
//! enum, and it is a template for a real one (CONTRIBUTING.md, "Add a harness").

mod events;
mod login;
mod plan;
#[cfg(test)]
mod tests;

use super::adapter::Adapter;
use crate::harness::records::{Current, Records};
use crate::harness::transcript::Transcripts;
use crate::resolve::sidecar::Channel;
use signal_hook::consts::SIGTERM;

pub static ADAPTER: Adapter = Adapter {
    program: "example-agent",
    package: "@example/agent",
    sidecar: Channel::AgentsMd,
    project_config: &["AGENTS.md", ".example"],
    server_files: &[],
    hook_files: &[],
    user_servers: None,
    agent_prefix: "",
    agent_file: None,
    model_words: &[],
    counts_whole_conversation: false,
    denied_edits_are_questions: false,
    ends_at: SIGTERM,
    records: Records { current: Current::Given, files: None, usage: None, keeps_directory: false },
    transcripts: Transcripts::Nowhere,
    login_hint: "example-agent login",
    plan: plan::plan,
    reader: |_| Box::<events::Example>::default(),
    login: login::login,
};
