//! Runs the `git` command so that nothing an agent or the environment wrote can make it run other code.
//! It knows no repository layout.

use crate::host::interruption;
use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::OsStr;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// What is kept of git's complaints.
const MOST_SAID: u64 = 64 * 1024;
/// How often a waiting guard looks whether a signal came.
const POLL: Duration = Duration::from_millis(50);

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
pub fn run(command: Command) -> anyhow::Result<Output> {
    run_with(command, None, Limits::default())
}

/// The same with input and limits. A signal that asks us to end ends the command, too.
pub fn run_with(command: Command, input: Option<Vec<u8>>, limits: Limits) -> anyhow::Result<Output> {
    let words: Vec<_> = command.get_args().skip(SAFE.len()).map(OsStr::to_string_lossy).collect();
    let words = words.join(" ");
    let output = output_of(command, input, limits).with_context(|| format!("git {words} failed"))?;
    if !output.status.success() {
        bail!("git {words} failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(output)
}

/// The same, whatever the command's exit code is.
pub fn output_of(mut command: Command, input: Option<Vec<u8>>, limits: Limits) -> anyhow::Result<Output> {
    if input.is_some() {
        command.stdin(Stdio::piped());
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().context("cannot run git")?;
    let guard = Guard::over(&child, limits.time);
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (stdout, stderr) = std::thread::scope(|scope| {
        if let (Some(mut stdin), Some(input)) = (stdin, input) {
            // Whoever ends without reading has its reasons.
            scope.spawn(move || stdin.write_all(&input));
        }
        let said = scope.spawn(|| some_of(stderr, MOST_SAID));
        let stdout = some_of(stdout, limits.output);
        if stdout.as_ref().map_or(true, |(_, is_whole)| !is_whole) {
            guard.end();
        }
        (stdout, said.join())
    });
    let status = child.wait()?;
    guard.verdict(limits.time)?;
    let (stdout, is_whole) = stdout?;
    if !is_whole {
        bail!("it printed more than {} bytes", limits.output);
    }
    let stderr = stderr.ok().and_then(Result::ok).map(|(bytes, _)| bytes).unwrap_or_default();
    Ok(Output { status, stdout, stderr })
}

/// At most so many bytes, and whether that is all.
fn some_of(from: Option<impl Read>, most: u64) -> std::io::Result<(Vec<u8>, bool)> {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        from.take(most + 1).read_to_end(&mut bytes)?;
    }
    let is_whole = bytes.len() as u64 <= most;
    bytes.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    Ok((bytes, is_whole))
}

/// Ends a command and all that it started when its time is over, or when a signal asks us to end. The command must be in a
/// process group of its own, and must not be waited for before the guard is gone.
pub struct Guard {
    group: Option<Pid>,
    shared: Arc<(Mutex<State>, Condvar)>,
    watcher: Option<std::thread::JoinHandle<()>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Running,
    Done,
    TimedOut,
    Stopped,
}

impl Guard {
    pub fn over(child: &Child, time: Duration) -> Guard {
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let shared = Arc::new((Mutex::new(State::Running), Condvar::new()));
        let theirs = Arc::clone(&shared);
        let watcher = std::thread::spawn(move || {
            let began = Instant::now();
            let (state, changed) = &*theirs;
            let Ok(mut now) = state.lock() else { return };
            while *now == State::Running {
                let verdict = if began.elapsed() >= time {
                    State::TimedOut
                } else if interruption::signal().is_some() {
                    State::Stopped
                } else {
                    let Ok((next, _)) = changed.wait_timeout(now, POLL) else { return };
                    now = next;
                    continue;
                };
                *now = verdict;
                kill(group);
            }
        });
        Guard { group, shared, watcher: Some(watcher) }
    }

    /// Ends the command now.
    pub fn end(&self) {
        kill(self.group);
    }

    /// An error if the command was ended before its time. The command has been waited for.
    pub fn verdict(mut self, time: Duration) -> anyhow::Result<()> {
        match self.finish() {
            State::TimedOut => bail!("it did not end within {} s", time.as_secs()),
            State::Stopped => bail!("stopped"),
            State::Running | State::Done => Ok(()),
        }
    }

    fn finish(&mut self) -> State {
        let (state, changed) = &*self.shared;
        let found = state.lock().map_or(State::Done, |mut now| {
            let found = *now;
            if found == State::Running {
                *now = State::Done;
            }
            found
        });
        changed.notify_all();
        if let Some(watcher) = self.watcher.take() {
            let _ = watcher.join();
        }
        found
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.finish();
    }
}

fn kill(group: Option<Pid>) {
    if let Some(group) = group {
        // Fails where nobody is left, which is what we want.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_command_that_waits_or_says_too_much_is_ended() {
        let limits = Limits { time: Duration::from_millis(300), output: 1000 };
        let began = Instant::now();
        let error = output_of(sh("sleep 300 & sleep 300"), None, limits).unwrap_err();
        assert!(format!("{error:#}").contains("did not end"), "{error:#}");
        let error =
            output_of(sh("yes"), None, Limits { time: Duration::from_mins(1), ..limits }).unwrap_err();
        assert!(format!("{error:#}").contains("more than 1000"), "{error:#}");
        assert!(began.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn input_and_output_pass_through() {
        let input = vec![b'x'; 500_000];
        let output =
            output_of(sh("cat; echo said >&2; exit 3"), Some(input.clone()), Limits::default()).unwrap();
        assert_eq!((output.status.code(), output.stdout, &*output.stderr), (Some(3), input, &b"said\n"[..]));
    }
}
