//! claude (Claude Code): what it is called, what it reads, and its plan, events and login.

mod events;
mod login;
mod plan;
mod transcript;
mod user_config;

use super::adapter::{ANY_PROJECT_CONFIG, Adapter, AgentFile, UserServers};
use crate::harness::records::{ConversationFiles, Current, Records};
use crate::harness::transcript::Transcripts;
use crate::resolve::sidecar::Channel;
use signal_hook::consts::SIGINT;

pub static ADAPTER: Adapter = Adapter {
    program: "claude",
    package: "@anthropic-ai/claude-code",
    sidecar: Channel::ClaudeMd,
    project_config: &ANY_PROJECT_CONFIG,
    server_files: &[".mcp.json"],
    hook_files: &[".claude/settings.json", ".claude/settings.local.json"],
    user_servers: Some(UserServers {
        variable: "CLAUDE_CONFIG_DIR",
        usual: "",
        files: &[".claude.json"],
        only_inherited: true,
        in_directories_above: Some(".mcp.json"),
    }),
    agent_prefix: "",
    agent_file: Some(AgentFile::ClaudeMarkdown),
    model_words: &["claude", "opus", "sonnet", "haiku", "opusplan"],
    counts_whole_conversation: false,
    denied_edits_are_questions: true,
    ends_at: SIGINT,
    records: Records {
        current: Current::Given,
        files: Some(ConversationFiles { dir: "projects", depth: 1, in_session: None }),
        usage: None,
        keeps_directory: true,
    },
    transcripts: Transcripts::Lines(|| Box::<transcript::Transcript>::default()),
    login_hint: "run `claude` and log in, or set ANTHROPIC_API_KEY",
    plan: plan::plan,
    reader: |_| Box::<events::Claude>::default(),
    login: login::login,
};
