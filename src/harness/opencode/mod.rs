//! opencode: what it is called, what it reads, and its plan, events and login.

mod events;
mod log_line;
mod login;
mod permission;
mod plan;
mod transcript;
mod usage_note;
mod user_config;

use super::adapter::{ANY_PROJECT_CONFIG, Adapter, AgentFile, UserServers};
use crate::harness::records::{Current, Records};
use crate::harness::transcript::Transcripts;
use crate::resolve::sidecar::Channel;
use signal_hook::consts::SIGTERM;

pub static ADAPTER: Adapter = Adapter {
    program: "opencode",
    package: "opencode-ai",
    sidecar: Channel::AgentsMd,
    project_config: &ANY_PROJECT_CONFIG,
    server_files: &[".opencode/opencode.json", ".opencode/opencode.jsonc", "opencode.json", "opencode.jsonc"],
    hook_files: &[],
    user_servers: Some(UserServers {
        variable: "XDG_CONFIG_HOME",
        usual: ".config",
        files: &["opencode/config.json", "opencode/opencode.json", "opencode/opencode.jsonc"],
        only_inherited: false,
        in_directories_above: None,
    }),
    agent_prefix: "agentworkforce/",
    agent_file: Some(AgentFile::OpencodeMarkdown),
    model_words: &[],
    counts_whole_conversation: false,
    denied_edits_are_questions: false,
    ends_at: SIGTERM,
    records: Records {
        current: Current::File(plan::CONVERSATION_NOTE),
        files: None,
        usage: Some(usage_note::USAGE_NOTE),
        keeps_directory: true,
    },
    transcripts: Transcripts::Exported(transcript::EXPORT),
    login_hint: "opencode auth login",
    plan: plan::plan,
    reader: |agent| Box::new(events::Opencode::new(agent)),
    login: login::login,
};
