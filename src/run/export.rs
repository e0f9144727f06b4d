//! Has a harness print a conversation that it keeps in a database. It runs in an empty home and directory, without variables of its
//! own: nothing of the user's or of a project decides what it does.

use crate::harness::Adapter;
use crate::harness::transcript::Export;
use crate::host::{Host, interruption};
use crate::model::mount::CONVERSATION_DIR;
use crate::tool::{self, Bounds};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const LONGEST: Duration = Duration::from_mins(1);
const MOST_OUTPUT: u64 = 256 << 20;

/// The conversation with this id.
pub fn conversation(
    how: &Export,
    adapter: &Adapter,
    id: &str,
    session_dir: &Path,
    host: &Host,
) -> Result<Value> {
    let program = adapter.program;
    let Some(found) = tool::find(host, program) else {
        bail!("`{program}` is not in `PATH`, and only it can read its conversations");
    };
    let own = session_dir.join(CONVERSATION_DIR).join(how.own_database);
    let database = if own.is_file() { own } else { users(how, host) };
    if !database.is_file() {
        bail!("{} is missing: {program} keeps its conversations there", database.display());
    }
    let empty = tempfile::tempdir().context("no temporary directory")?;
    let mut command = Command::new(found);
    command.args(how.args).arg(id).current_dir(empty.path());
    // Configuration, permissions and plugins can be in variables.
    let prefix = format!("{}_", program.to_uppercase());
    for variable in host.env.keys().filter(|variable| variable.starts_with(&prefix)) {
        command.env_remove(variable);
    }
    command.env(how.database_variable, &database);
    for variable in ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"] {
        command.env(variable, empty.path());
    }
    let stop = || interruption::signal().is_some();
    let bounds = Bounds { time: LONGEST, output: MOST_OUTPUT, stop: &stop };
    let finished = tool::run(&mut command, None, bounds)?;
    if !finished.status.success() {
        let last = finished.stderr.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        bail!("`{program}` cannot print the conversation: {} {last}", finished.status);
    }
    let text = String::from_utf8_lossy(&finished.stdout);
    // Some versions say first what they do.
    let begin = text.find('{').unwrap_or_default();
    serde_json::from_str(&text[begin..]).with_context(|| format!("what `{program}` printed is not JSON"))
}

fn users(how: &Export, host: &Host) -> PathBuf {
    let (variable, usual, file) = how.users_database;
    let data = host.var(variable).map(PathBuf::from).filter(|dir| dir.is_absolute());
    data.unwrap_or_else(|| host.home_dir().unwrap_or_default().join(usual)).join(file)
}
