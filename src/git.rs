//! Runs the `git` command so that nothing an agent or the environment wrote can make it run other code.
//! It knows no repository layout.

use crate::host::{Host, interruption, own_project};
use crate::tool::{self, Bounds, Finished, ToolError};
use anyhow::{Context, bail};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
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
    own_project::add(directory);
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
    pass_over_pipes(&mut command);
    command
}

/// Who commits, where the environment says it and no configuration does.
const IDENTITY: [&str; 6] = [
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_DATE",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_DATE",
];

/// A git command that commits on the user's behalf.
pub fn committing(directory: &Path) -> Command {
    let mut command = command(directory);
    command.envs(std::env::vars_os().filter(|(name, _)| IDENTITY.iter().any(|known| name == *known)));
    command
}

/// Where one of the user's own settings is a pipe or device, git does without it: it would wait for it. An agent may have left it in
/// the home.
fn pass_over_pipes(command: &mut Command) {
    let said = |name: &str| {
        let value = std::env::vars_os().find(|(key, _)| key == name).map(|(_, value)| value);
        value.filter(|value| !value.is_empty()).map(PathBuf::from)
    };
    let home = said("HOME");
    let xdg = said("XDG_CONFIG_HOME").or_else(|| Some(home.as_ref()?.join(".config")));
    let in_xdg = |name: &str| xdg.as_ref().map(|xdg| xdg.join("git").join(name));
    let kind = |path: &Path| path.metadata().ok().map(|found| found.file_type());
    let waits = |path: &PathBuf| kind(path).is_some_and(|kind| !kind.is_file() && !kind.is_dir());
    let mut files = match said("GIT_CONFIG_GLOBAL") {
        Some(global) => vec![global],
        None => [home.map(|home| home.join(".gitconfig")), in_xdg("config")].into_iter().flatten().collect(),
    };
    let is_beside = ["ignore", "attributes"].iter().filter_map(|name| in_xdg(name)).any(|path| waits(&path));
    if !is_beside && !files.iter().any(waits) {
        return;
    }
    files.retain(|file| kind(file).is_some_and(|kind| kind.is_file()));
    command.env("GIT_CONFIG_GLOBAL", files.first().map_or(Path::new("/dev/null"), PathBuf::as_path));
    if is_beside {
        command.env("XDG_CONFIG_HOME", "/nonexistent");
    }
}

/// The git of the machine: not one that a project has brought along. Looked for again when what was found turns out to be in one.
fn program() -> PathBuf {
    static FOUND: Mutex<Option<PathBuf>> = Mutex::new(None);
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = found.as_ref().filter(|known| !own_project::contains(known)) {
        return known.clone();
    }
    let host = Host::of_this_process().ok();
    *found = host.and_then(|host| tool::find(&host, "git"));
    found.clone().unwrap_or_else(|| "/nonexistent/git".into())
}

/// Asks for [`system_config`] while the caller does something else. Whoever needs the answer waits for it there.
pub fn ask_for_system_config() {
    let _ = std::thread::Builder::new().spawn(system_config);
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
            let programs = [Some(program()), real].into_iter().flatten();
            programs.filter_map(|path| Some(path.parent()?.parent()?.join("etc/gitconfig"))).collect()
        };
        said.filter(|found: &Vec<PathBuf>| !found.is_empty()).unwrap_or_else(beside)
    })
}

/// The variables of this process whose names and values are Unicode.
pub fn environment() -> BTreeMap<String, String> {
    let unicode =
        |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
    std::env::vars_os().filter_map(unicode).collect()
}

/// Settings that the user's environment has, of those that are named, in lower case.
pub fn settings_of_environment(names: &[&str]) -> Vec<(String, String)> {
    let pairs = settings_in(&environment());
    pairs.into_iter().filter(|(key, _)| names.contains(&key.as_str())).collect()
}

/// Every setting that an environment has (`GIT_CONFIG_COUNT`, `GIT_CONFIG_PARAMETERS`), with keys in lower case.
pub fn settings_in(env: &BTreeMap<String, String>) -> Vec<(String, String)> {
    // Quoted for a shell: `'key'='value'` or `'key=value'`. A key may have the sign in it, so that each may be the one.
    let parameters = env.get("GIT_CONFIG_PARAMETERS").and_then(|text| shlex::split(text));
    let mut found = Vec::new();
    for word in parameters.iter().flatten() {
        let signs = word.match_indices('=').map(|(at, _)| at).take(16);
        found.extend(signs.map(|at| (word[..at].to_ascii_lowercase(), word[at + 1..].to_owned())));
    }
    let count: usize = env.get("GIT_CONFIG_COUNT").and_then(|count| count.trim().parse().ok()).unwrap_or(0);
    let pair = |number: usize| {
        let key = env.get(&format!("GIT_CONFIG_KEY_{number}"))?.to_ascii_lowercase();
        Some((key, env.get(&format!("GIT_CONFIG_VALUE_{number}"))?.clone()))
    };
    found.extend((0..count.min(env.len())).filter_map(pair));
    found
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
