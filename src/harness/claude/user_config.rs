//! Where claude keeps the user's configuration, and what in it is state: lists of names, tried with claude 2.1.197.

use crate::harness::job::{HarnessPlan, Job};
use crate::model::mount::{HarnessConfig, Logins};
use crate::model::template::Template;
use std::path::PathBuf;

const VARIABLE: &str = "CLAUDE_CONFIG_DIR";

/// What belongs to conversations, of all projects.
const CONVERSATIONS: [&str; 5] = ["projects", "file-history", "todos", "tasks", "plans"];
/// What it has learned in a project: instructions to every claude that works on it later.
const MEMORY: &str = "projects/*/memory";

/// Files of one process, which another one outside must not find: some of them are shell scripts that claude runs.
const SCRATCH: [&str; 18] = [
    ".claude.json",
    ".claude.json.lock",
    ".last-cleanup",
    ".update.lock",
    "backups",
    "cache",
    "debug",
    "history.jsonl",
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

/// Settings, instructions, commands, agents, skills, plugins and hooks are all in one directory with the state. Nothing of it is written through:
/// some of the state is of other projects, and claude acts on it later.
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
    plan.config.push(HarnessConfig {
        dir,
        conversations: names(&CONVERSATIONS),
        instructions: names(&[MEMORY]),
        scratch: names(&SCRATCH),
        copy,
        logins: Some(Logins {
            file: ".credentials.json".into(),
            renewed: names(&["accessToken", "expiresAt", "refreshToken"]),
        }),
    });
}
