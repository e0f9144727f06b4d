//! Runs the `git` command so that nothing an agent or the environment wrote can make it run other code.
//! It knows no repository layout.

use crate::host::{Host, interruption};
use crate::tool::{self, Bounds, Finished, ToolError};
use anyhow::{Context, bail};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

/// Settings that would run a program, switched off for every call. `core.attributesFile` and friends stay: they
/// name filters but a filter needs a `filter.*` setting, which the caller's repository would have to bring.
const SAFE: [&str; 16] = [
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.sshCommand=false",
    "-c",
    "protocol.allow=never",
    "-c",
    "core.askPass=false",
    "-c",
    "core.pager=cat",
    "-c",
    "gc.auto=0",
    "-c",
    "maintenance.auto=false",
];

/// Variables that say where the user's own settings are. Every other one could point git at another repository, or make it run
/// something.
const KEPT: [&str; 4] = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM", "GIT_EXEC_PATH"];

/// A git that takes longer to name a file is not waited for.
const SYSTEM_CONFIG: Duration = Duration::from_secs(2);

/// What one git may take of memory, and at once. A few bytes of an agent's may unfold to any amount.
pub const MEMORY: u64 = 2 << 30;
const MOST_AT_ONCE: &str = "1g";

/// A git command that is about to run. It fetches nothing: a repository can name a program for that.
pub fn command(directory: &Path) -> Command {
    let mut command = Command::new(program());
    command.args(SAFE).current_dir(directory);
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"GIT_") && !KEPT.iter().any(|kept| name == *kept) {
            command.env_remove(name);
        }
    }
    command
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_NO_REPLACE_OBJECTS", "1")
        .env("GIT_LITERAL_PATHSPECS", "1")
        .env("GIT_ALLOC_LIMIT", MOST_AT_ONCE)
        .env("LC_ALL", "C")
        .stdin(Stdio::null());
    command
}

/// The git of the machine: not one that the project has brought along.
fn program() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| {
        let host = Host::of_this_process().ok();
        host.and_then(|host| tool::find(&host, "git")).unwrap_or_else(|| "/nonexistent/git".into())
    })
}

/// The configuration of all users of the machine: where it is was decided when this git was built. Asked once.
pub fn system_config() -> &'static [PathBuf] {
    static FOUND: OnceLock<Vec<PathBuf>> = OnceLock::new();
    FOUND.get_or_init(|| {
        let mut ask = command(Path::new("/"));
        // It is asked where the file is, whether it is read or not.
        ask.args(["var", "GIT_CONFIG_SYSTEM"]).env_remove("GIT_CONFIG_NOSYSTEM");
        let limits = Limits { time: SYSTEM_CONFIG, output: 64 * 1024 };
        let said = run_with(ask, None, limits).ok().map(|said| {
            let lines = said.stdout.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
            lines
                .map(|line| PathBuf::from(OsStr::from_bytes(line)))
                .filter(|path| path.is_absolute())
                .collect()
        });
        // Git before 2.42 does not say it: then it is beside the program.
        let beside = || {
            let real = program().canonicalize().ok();
            let programs = [Some(program().to_owned()), real].into_iter().flatten();
            programs.filter_map(|path| Some(path.parent()?.parent()?.join("etc/gitconfig"))).collect()
        };
        said.filter(|found: &Vec<PathBuf>| !found.is_empty()).unwrap_or_else(beside)
    })
}

/// Settings that the user's environment has (`GIT_CONFIG_COUNT`), of those that are named, in lower case.
pub fn settings_of_environment(names: &[&str]) -> Vec<(String, String)> {
    let said: HashMap<String, String> = std::env::vars_os()
        .filter(|(name, _)| name.as_encoded_bytes().starts_with(b"GIT_CONFIG_"))
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let count: usize = said.get("GIT_CONFIG_COUNT").and_then(|count| count.trim().parse().ok()).unwrap_or(0);
    let pair = |number: usize| {
        let key = said.get(&format!("GIT_CONFIG_KEY_{number}"))?.to_ascii_lowercase();
        Some((key, said.get(&format!("GIT_CONFIG_VALUE_{number}"))?.clone()))
    };
    let pairs = (0..count.min(said.len())).filter_map(pair);
    pairs.filter(|(key, _)| names.contains(&key.as_str())).collect()
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
    let bounds = Bounds { time: limits.time, output: limits.output, stop: &stop };
    tool::run_within(&mut command, stdin, bounds, Some(MEMORY))
}
