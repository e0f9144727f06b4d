//! Where claude keeps the user's configuration, and what in it is state: lists of names, tried with claude 2.1.197.

use crate::harness::job::{HarnessPlan, Job};
use crate::model::mount::HarnessConfig;
use crate::model::template::Template;
use std::path::{Path, PathBuf};

const VARIABLE: &str = "CLAUDE_CONFIG_DIR";

/// What belongs to conversations, and the login.
const STATE: [&str; 6] =
    ["file-history/", "todos/", "tasks/", "plans/", "history.jsonl", ".credentials.json"];
/// A longer name of a project's directory is shortened by claude in a way of its own.
const LONGEST: usize = 200;

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
    let mut state: Vec<String> = names(&STATE);
    let conversations = conversations_of(&job.root.join(job.cwd));
    state.extend(conversations.clone());
    let memory = conversations.map(|conversations| dir.join(conversations).join("memory"));
    plan.config.push(HarnessConfig { dir, state, scratch: names(&SCRATCH), copy, logins: None });
    plan.config.extend(memory.map(|dir| HarnessConfig { dir, ..HarnessConfig::default() }));
}

/// Where claude keeps the conversations of one project. Beside them is what it has learned there: instructions to every claude
/// that works on that project later.
fn conversations_of(workdir: &Path) -> Option<String> {
    // Without a slash at its end.
    let workdir: PathBuf = workdir.components().collect();
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_string() } else { "-".repeat(c.len_utf16()) };
    let name: String = workdir.to_str()?.chars().map(plain).collect();
    (name.len() <= LONGEST).then(|| format!("projects/{name}/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_has_the_directory_that_claude_gives_it() {
        let of = |path: &str| conversations_of(Path::new(path));
        assert_eq!(of("/home/me/a_b.c/"), Some("projects/-home-me-a-b-c/".into()));
        assert_eq!(of("/ä/\u{1f600}"), Some("projects/-----/".into()));
        assert_eq!(of(&format!("/{}", "x".repeat(200))), None);
    }
}
