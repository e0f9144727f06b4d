//! Where claude keeps the user's configuration, and what in it is state: lists of names, tried with claude 2.1.197.

use crate::harness::job::{HarnessPlan, Job};
use crate::model::mount::HarnessConfig;
use crate::model::template::Template;
use std::path::PathBuf;

const VARIABLE: &str = "CLAUDE_CONFIG_DIR";

/// Conversations and what belongs to them, and the login.
const STATE: [&str; 7] =
    ["projects/", "file-history/", "todos/", "tasks/", "plans/", "history.jsonl", ".credentials.json"];

/// Files of one process, which another one outside must not find: some of them are shell scripts that claude runs.
const SCRATCH: [&str; 17] = [
    ".claude.json",
    ".claude.json.lock",
    ".last-cleanup",
    ".update.lock",
    "backups",
    "cache",
    "debug",
    "ide",
    "locks",
    "mcp-needs-auth-cache.json",
    "paste-cache",
    "session-env",
    "sessions",
    "shell-snapshots",
    "stats-cache.json",
    "statsig",
    "telemetry",
];

/// Settings, instructions, commands, agents, skills, plugins and hooks are all in one directory with the state.
pub fn protect(plan: &mut HarnessPlan, job: &Job) {
    let said = job.env.get(VARIABLE).filter(|dir| !dir.is_empty()).map(PathBuf::from);
    let usual = || job.home.map(|home| home.join(".claude"));
    let is_usual = said.is_none();
    let Some(dir) = said.or_else(usual) else { return };
    // MCP servers and trust. Only with the variable does claude look for it in the directory, where it can be replaced.
    let copy = job.home.filter(|_| is_usual).map(|home| home.join(".claude.json"));
    if job.protects_config && is_usual {
        plan.env.insert(VARIABLE.into(), Template::text(dir.display().to_string()));
    }
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    plan.config.push(HarnessConfig { dir, state: names(&STATE), scratch: names(&SCRATCH), copy });
}
