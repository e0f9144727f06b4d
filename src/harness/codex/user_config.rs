//! Where codex keeps the user's configuration, and what in it is state: lists of names, tried with codex 0.166.0.

use crate::harness::job::HarnessPlan;
use crate::model::mount::{HarnessConfig, Logins};
use std::path::PathBuf;

const CONVERSATIONS: [&str; 2] = ["sessions", "archived_sessions"];

/// All that the databases and lists hold is made again from the conversations.
const SCRATCH: [&str; 11] = [
    "*.sqlite",
    "*.sqlite-shm",
    "*.sqlite-wal",
    ".tmp",
    "cache",
    "history.jsonl",
    "log",
    "models_cache.json",
    "session_index.jsonl",
    "shell_snapshots",
    "tmp",
];

/// The entries with conversations, and lists of them.
pub fn conversations() -> Vec<String> {
    let lists = ["history.jsonl", "session_index.jsonl"];
    CONVERSATIONS.into_iter().chain(lists).map(str::to_owned).collect()
}

/// `config.toml`, `AGENTS.md`, prompts, skills, rules and hooks are in one directory with the conversations, which are of all
/// projects.
pub fn protect(plan: &mut HarnessPlan, dir: PathBuf) {
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    plan.config.push(HarnessConfig {
        dir,
        conversations: names(&CONVERSATIONS),
        scratch: names(&SCRATCH),
        logins: Some(Logins {
            file: "auth.json".into(),
            renewed: names(&["access_token", "id_token", "last_refresh", "refresh_token"]),
        }),
        ..HarnessConfig::default()
    });
}
