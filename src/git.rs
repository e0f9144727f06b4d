//! Runs the `git` command so that nothing an agent or the environment wrote can make it run other code.
//! It knows no repository layout.

use crate::host::interruption;
use crate::tool::{self, Bounds, Finished, ToolError};
use anyhow::{Context, bail};
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Settings that would run a program, switched off for every call. `core.attributesFile` and friends stay: they
/// name filters but a filter needs a `filter.*` setting, which the caller's repository would have to bring.
const SAFE: [&str; 12] = [
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.sshCommand=false",
    "-c",
    "core.pager=cat",
    "-c",
    "gc.auto=0",
    "-c",
    "maintenance.auto=false",
];

/// Variables that would point git at another repository or make it run something.
const FOREIGN: [&str; 18] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_CEILING_DIRECTORIES",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_EXTERNAL_DIFF",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_PROXY_COMMAND",
    "GIT_EDITOR",
    "GIT_QUARANTINE_PATH",
];

/// A git command that is about to run.
pub fn command(directory: &Path) -> Command {
    let mut command = Command::new("git");
    command.args(SAFE).current_dir(directory);
    for name in FOREIGN {
        command.env_remove(name);
    }
    command
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_NO_REPLACE_OBJECTS", "1")
        .env("GIT_LITERAL_PATHSPECS", "1")
        .env("LC_ALL", "C")
        .stdin(Stdio::null());
    command
}

/// What one call may cost. What an agent left in a repository may be made to cost any amount.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub time: Duration,
    /// Bytes of output.
    pub output: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { time: Duration::from_mins(1), output: 256 << 20 }
    }
}

/// Runs a prepared command and gives its output; a failure names what was run and what git said.
pub fn run(command: Command) -> anyhow::Result<Finished> {
    run_with(command, None, Limits::default())
}

/// The same with input and limits. A signal that asks us to end ends the command, too.
pub fn run_with(command: Command, stdin: Option<Stdio>, limits: Limits) -> anyhow::Result<Finished> {
    let words: Vec<_> = command.get_args().skip(SAFE.len()).map(OsStr::to_string_lossy).collect();
    let words = words.join(" ");
    let finished = output_of(command, stdin, limits).with_context(|| format!("git {words} failed"))?;
    if !finished.status.success() {
        bail!("git {words} failed: {}", finished.stderr.trim());
    }
    Ok(finished)
}

/// The same, whatever the command's exit code is.
pub fn output_of(mut command: Command, stdin: Option<Stdio>, limits: Limits) -> Result<Finished, ToolError> {
    let stop = || interruption::signal().is_some();
    tool::run(&mut command, stdin, Bounds { time: limits.time, output: limits.output, stop: &stop })
}
