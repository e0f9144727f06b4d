//! What an adapter consists of: plain facts about a harness, and three functions. It decides nothing about a run.

use super::events::EventReader;
use super::job::{HarnessPlan, Job};
use super::login::{Login, UserFiles};
use super::records::Records;
use super::transcript::Transcripts;
use crate::resolve::sidecar::Channel;
use crate::rules::layer::folded;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// A harness as the rest of the program sees it.
#[derive(Debug)]
pub struct Adapter {
    /// The program in `PATH`.
    pub program: &'static str,
    /// The npm package that provides it.
    pub package: &'static str,
    /// The instruction file that it reads by itself.
    pub sidecar: Channel,
    /// Patterns for its configuration in a project, hidden so that the persona decides.
    pub project_config: &'static [&'static str],
    /// Files of a project, relative to a directory, that it takes MCP servers from.
    pub server_files: &'static [&'static str],
    /// Files of a project that it takes hooks from: `hooks` by event.
    pub hook_files: &'static [&'static str],
    /// Where the user's own MCP servers are.
    pub user_servers: Option<UserServers>,
    /// What the agent of a run is called there begins with this: an agent of the user's own with the persona's id would be merged into
    /// it, permissions and all.
    pub agent_prefix: &'static str,
    /// The kind of agent file that `export` writes for it, if there is one.
    pub agent_file: Option<AgentFile>,
    /// Words in the names of its models, where it runs no others; empty where it takes those of any provider.
    pub model_words: &'static [&'static str],
    /// A resumed run reports the tokens of the whole conversation instead of its own.
    pub counts_whole_conversation: bool,
    /// It reports only those edits as denied that it would have asked about, not those that a rule denies.
    pub denied_edits_are_questions: bool,
    /// The signal at which a headless run of it does nothing more. At SIGTERM, claude ends its tool, tells the model so and goes on.
    pub ends_at: i32,
    /// Where it notes which conversation a run has.
    pub records: Records,
    /// Where it has its conversations, and who reads them.
    pub transcripts: Transcripts,
    /// How a user logs in.
    pub login_hint: &'static str,
    /// A run in the terms of this harness. Pure.
    pub plan: fn(&Job) -> HarnessPlan,
    /// A reader for the output of one headless run of this agent, by the name that it has there.
    pub reader: fn(&str) -> Box<dyn EventReader>,
    /// Whether the user is logged in, as far as files and environment tell.
    pub login: fn(&dyn UserFiles) -> Login,
}

impl Adapter {
    /// What the agent of a persona is called there.
    pub fn agent_name(&self, persona_id: &str) -> String {
        format!("{}{persona_id}", self.agent_prefix)
    }

    /// Whether a model looks like one of its own, as far as its name tells.
    pub fn has_model(&self, name: &str) -> bool {
        let lower = name.to_lowercase();
        lower.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| self.model_words.contains(&word))
    }

    /// The command that installs it.
    pub fn install_command(&self) -> String {
        format!("npm install -g {}", self.package)
    }
}

/// The user's own MCP servers.
#[derive(Debug)]
pub struct UserServers {
    /// Says the directory of the files.
    pub variable: &'static str,
    /// The usual one, below the home directory.
    pub usual: &'static str,
    pub files: &'static [&'static str],
    /// Whether a run that does not inherit them goes without them.
    pub only_inherited: bool,
    /// It starts the servers in this file of every directory above the project, too.
    pub in_directories_above: Option<&'static str>,
}

/// The agent files that `export` can write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentFile {
    ClaudeMarkdown,
    OpencodeMarkdown,
    CodexToml,
}

/// Configuration of the known coding agents. Whatever the harness of a run is, the next one may read the rest, and run what it
/// finds there. opencode takes `CONTEXT.md` for instructions where neither of its other names is there, and its terminal loads the
/// plugins that `tui.json` names.
pub const ANY_PROJECT_CONFIG: [&str; 14] = [
    "CLAUDE.md",
    "CLAUDE.local.md",
    ".claude",
    ".mcp.json",
    "AGENTS.md",
    "AGENTS.override.md",
    "CONTEXT.md",
    ".opencode",
    "opencode.json*",
    "tui.json",
    "tui.jsonc",
    ".codex",
    ".agents",
    ".skills",
];

/// Whether configuration of some harness has this name, in any case.
pub fn is_project_config(name: &OsStr) -> bool {
    // A walk asks for every file of a project.
    if !matches!(
        name.as_bytes().first(),
        Some(b'.' | b'a' | b'A' | b'c' | b'C' | b'o' | b'O' | b't' | b'T' | 0x80..)
    ) {
        return false;
    }
    let name = folded(name);
    ANY_PROJECT_CONFIG.iter().any(|known| match known.strip_suffix('*') {
        Some(start) => name.starts_with(start.as_bytes()),
        None => name.eq_ignore_ascii_case(known.as_bytes()),
    })
}
