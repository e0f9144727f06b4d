//! codex: what it is called, what it reads, and its plan, events and login.

mod events;
mod login;
mod plan;
mod profile;
mod transcript;
mod user_config;

use super::adapter::{ANY_PROJECT_CONFIG, Adapter, AgentFile, UserServers};
use crate::harness::records::{ConversationFiles, Current, Records};
use crate::harness::transcript::Transcripts;
use crate::resolve::sidecar::Channel;
use signal_hook::consts::SIGTERM;

pub static ADAPTER: Adapter = Adapter {
    program: "codex",
    package: "@openai/codex",
    sidecar: Channel::AgentsMd,
    project_config: &ANY_PROJECT_CONFIG,
    server_files: &[".codex/config.toml"],
    hook_files: &[".codex/hooks.json", ".codex/config.toml"],
    user_servers: Some(UserServers {
        variable: "CODEX_HOME",
        usual: ".codex",
        files: &["config.toml"],
        only_inherited: false,
        in_directories_above: None,
    }),
    agent_prefix: "",
    agent_file: Some(AgentFile::CodexToml),
    model_words: &["gpt", "o1", "o3", "o4", "codex"],
    counts_whole_conversation: true,
    denied_edits_are_questions: false,
    ends_at: SIGTERM,
    records: Records {
        current: Current::Locks(profile::LOCKS),
        files: Some(ConversationFiles { dir: "sessions", depth: 3, in_session: Some(profile::HOME) }),
        usage: None,
        keeps_directory: false,
    },
    transcripts: Transcripts::Lines(|| Box::<transcript::Transcript>::default()),
    login_hint: "codex login, or set CODEX_API_KEY",
    plan: plan::plan,
    reader: |_| Box::<events::Codex>::default(),
    login: login::login,
};
