//! Which sandbox levels this machine reaches, and why not: each is tried on an empty project, as a run would have it.
//! Nothing of it is left behind.

use crate::model::mount::{Backend, Sandbox};
use crate::model::mount_facts::MountFacts;
use crate::tool::{self, Bounds};
use serde::Serialize;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// A mount takes some milliseconds.
const PATIENCE: Duration = Duration::from_secs(20);
const MOST_OUTPUT: u64 = 256 * 1024;

/// Whether a level is available here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReachedLevel {
    pub level: Sandbox,
    pub available: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The levels, weakest first. `scratch` is an empty directory on the filesystem that sessions are on.
pub fn reached(facts: &MountFacts, scratch: &Path) -> Vec<ReachedLevel> {
    let (backend, why) = facts.choose(Backend::Auto);
    let known = match (facts.best_sandbox(backend), backend) {
        (Sandbox::Off, Backend::Overlay) => Some("root needs a PID namespace for it".to_owned()),
        (Sandbox::Off, _) => Some(why.unwrap_or_else(|| "the mount is not an overlay".to_owned())),
        (Sandbox::Project | Sandbox::Strict, _) => None,
    };
    let level = |level: Sandbox| {
        let reason = match level {
            Sandbox::Off => None,
            level => known.clone().or_else(|| try_level(level, scratch).err()),
        };
        ReachedLevel { level, available: reason.is_none(), reason }
    };
    [Sandbox::Off, Sandbox::Project, Sandbox::Strict].map(level).to_vec()
}

/// Runs a command that changes nothing at this level.
fn try_level(level: Sandbox, scratch: &Path) -> Result<(), String> {
    let (project, home) = (scratch.join(format!("{}-project", level.name())), scratch.join("levels-home"));
    let made = std::fs::create_dir_all(&project).and_then(|()| std::fs::create_dir_all(&home));
    made.map_err(|error| format!("it cannot be tried: {error}"))?;
    let program = std::env::current_exe().map_err(|error| format!("it cannot be tried: {error}"))?;
    let mut command = Command::new(&program);
    command.args(["mount", "--mount", "overlay", "--apply", "never", "--sandbox", level.name(), "--root"]);
    command.arg(&project).arg("--").arg(&program).arg("--version").current_dir(&project);
    command.env("AGENT_WORKFORCE_HOME", &home).env_remove("AGENTWORKFORCE_LOG");
    let bounds = Bounds { time: PATIENCE, output: MOST_OUTPUT, stop: &|| false };
    let finished = tool::run(&mut command, None, bounds).map_err(|error| error.to_string())?;
    if finished.status.success() {
        return Ok(());
    }
    // The innermost cause says most.
    let said = finished.stderr.lines().map(str::trim);
    let cause = said.clone().filter_map(|line| line.strip_prefix("caused by: ")).next_back();
    let error = said.filter_map(|line| line.strip_prefix("error: ")).next_back();
    Err(cause.or(error).unwrap_or("a run at this level does not start").to_owned())
}
