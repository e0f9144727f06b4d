//! Where opencode keeps the user's configuration and its state: lists of names, tried with opencode 1.18.33.

use crate::harness::job::{HarnessPlan, Job};
use crate::model::mount::{CONVERSATION_DIR, HarnessConfig, Logins};
use crate::model::template::Template;
use std::path::PathBuf;

/// What it installs beside its configuration for plugins, in every run that finds it missing.
const INSTALLED: [&str; 5] = [".gitignore", "bun.lock", "node_modules", "package-lock.json", "package.json"];

/// What it writes beside its logins.
const DATA: [&str; 9] =
    ["*.db", "*.db-shm", "*.db-wal", "log", "plans", "repos", "snapshot", "storage", "tool-output"];

/// All of it is configuration in the end. Its data directory has git directories that every opencode runs git on, programs that
/// it starts, logins and a database with accounts whose servers say what to run. So nothing is written through, and
/// the conversation of a session is in the session.
pub fn protect(plan: &mut HarnessPlan, job: &Job) {
    let below = |variable: &str, usual: &str| {
        let said = job.env.get(variable).filter(|dir| !dir.is_empty()).map(PathBuf::from);
        said.or_else(|| job.home.map(|home| home.join(usual))).map(|dir| dir.join("opencode"))
    };
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    if let Some(dir) = below("XDG_CONFIG_HOME", ".config") {
        plan.config.push(HarnessConfig { dir, scratch: names(&INSTALLED), ..HarnessConfig::default() });
    }
    if let Some(dir) = below("XDG_DATA_HOME", ".local/share") {
        let logins = Logins { file: "auth.json".into(), renewed: names(&["access", "expires", "refresh"]) };
        plan.config.push(HarnessConfig {
            dir,
            scratch: names(&DATA),
            logins: Some(logins),
            ..HarnessConfig::default()
        });
    }
    if let Some(dir) = below("XDG_STATE_HOME", ".local/state") {
        plan.config.push(HarnessConfig { dir, scratch: names(&["*"]), ..HarnessConfig::default() });
    }
    if job.protects_config {
        plan.session_directory(CONVERSATION_DIR, "conversation");
        let database = format!("{CONVERSATION_DIR}/opencode.db");
        plan.env.insert("OPENCODE_DB".into(), Template::session(&database));
    }
}
