//! Where codex keeps the user's configuration, and what in it is state: lists of names, tried with codex 0.166.0.

use crate::harness::job::HarnessPlan;
use crate::model::mount::HarnessConfig;
use std::path::PathBuf;

/// Conversations and the login.
const STATE: [&str; 5] =
    ["sessions/", "archived_sessions/", "history.jsonl", "session_index.jsonl", "auth.json"];

/// The databases are not written through: their locks and logs are files beside them, which a codex outside would not share.
/// All that they hold is made again from the conversations.
const SCRATCH: [&str; 9] = [
    "*.sqlite",
    "*.sqlite-shm",
    "*.sqlite-wal",
    ".tmp",
    "cache",
    "log",
    "models_cache.json",
    "shell_snapshots",
    "tmp",
];

/// The entries with conversations.
pub fn conversations() -> Vec<String> {
    let of_login = |name: &&&str| **name == "auth.json";
    STATE.iter().filter(|name| !of_login(name)).map(|name| name.trim_end_matches('/').to_owned()).collect()
}

/// `config.toml`, `AGENTS.md`, prompts, skills, rules and hooks are in one directory with the state.
pub fn protect(plan: &mut HarnessPlan, dir: PathBuf) {
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    plan.config.push(HarnessConfig {
        dir,
        state: names(&STATE),
        scratch: names(&SCRATCH),
        ..HarnessConfig::default()
    });
}
