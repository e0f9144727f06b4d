//! Runs a helper program (git, npx, `<harness> --version`) with a time limit and no terminal, and ends all of it.
//! It knows no program by name; harnesses themselves are run by others.

pub mod at_terminal;
pub mod guard;
pub mod version;

use crate::host::{Host, own_project};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, getrlimit, kill_process_group, pidfd_open, prlimit,
};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// What is kept of the error output; the end of it says why.
const STDERR_TAIL: u64 = 8 * 1024;
/// Where git looks for its own programs first.
const GIT_PROGRAMS: &str = "GIT_EXEC_PATH";
/// How often a running program is looked at.
const POLL: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// How long a program may run and how much it may say.
#[derive(Clone, Copy)]
pub struct Bounds<'a> {
    pub time: Duration,
    pub output: u64,
    /// Asked again and again: whether the user wants to stop.
    pub stop: &'a dyn Fn() -> bool,
}

/// A program that has ended by itself.
#[derive(Debug)]
pub struct Finished {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    /// The end of it.
    pub stderr: String,
}

#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    #[error("`{program}` cannot be started: {error}")]
    Start { program: String, error: std::io::Error },
    #[error("`{program}` did not end within {seconds} s")]
    TimedOut { program: String, seconds: u64 },
    #[error("`{program}` printed more than {limit} bytes")]
    TooMuch { program: String, limit: u64 },
    #[error("stopped")]
    Stopped,
    #[error("the output of `{program}` cannot be read: {error}")]
    Output { program: String, error: std::io::Error },
}

/// What `PATH` has under a name.
pub enum Lookup {
    Found(PathBuf),
    /// Only a file that may not be run.
    NotExecutable(PathBuf),
    Missing,
}

/// Looks on the user's `PATH`, as a shell would. What is found may be a file of the project: it is for the inside of a mount.
pub fn look_up(host: &Host, name: &str) -> Lookup {
    let files = on_path(host, name);
    let (runnable, not): (Vec<PathBuf>, Vec<PathBuf>) = files.partition(|file| is_executable(file));
    let first = |files: Vec<PathBuf>| files.into_iter().next();
    match first(runnable) {
        Some(file) => Lookup::Found(file),
        None => first(not).map_or(Lookup::Missing, Lookup::NotExecutable),
    }
}

/// The executable file of this name on the user's `PATH` that may be run outside of a mount.
pub fn find(host: &Host, name: &str) -> Option<PathBuf> {
    on_path(host, name).find(|file| is_executable(file) && !own_project::contains(file))
}

fn on_path(host: &Host, name: &str) -> impl Iterator<Item = PathBuf> {
    let path = host.env.get("PATH").map_or("", String::as_str);
    std::env::split_paths(path).map(move |dir| host.cwd.join(dir).join(name)).filter(|file| file.is_file())
}

fn is_executable(file: &Path) -> bool {
    rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok()
}

/// Takes what is relative or in a project out of a command's `PATH`. Programs start others by name: a launcher that is a script
/// (`#!/usr/bin/env node`), git its ssh and merge tools.
pub fn hide_project_programs(command: &mut Command) {
    let is_outside = |dir: &PathBuf| dir.is_absolute() && !own_project::contains(&dir.join("program"));
    if let Some(path) = value_for(command, "PATH") {
        let path = std::env::join_paths(std::env::split_paths(&path).filter(is_outside));
        command.env("PATH", path.unwrap_or_default());
    }
    if value_for(command, GIT_PROGRAMS).is_some_and(|dir| !is_outside(&dir.into())) {
        command.env_remove(GIT_PROGRAMS);
    }
}

/// A variable as a command would have it.
fn value_for(command: &Command, name: &str) -> Option<OsString> {
    let own = command.get_envs().find(|(key, _)| *key == name);
    own.map_or_else(|| std::env::var_os(name), |(_, value)| value.map(OsStr::to_owned))
}

/// Something to read for a program.
pub fn input(bytes: &[u8]) -> std::io::Result<Stdio> {
    in_memory(bytes).map(Stdio::from)
}

/// A file that is in no directory, to be read from its start.
pub fn in_memory(bytes: &[u8]) -> std::io::Result<File> {
    let mut file = File::from(memfd_create("agentworkforce", MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(file)
}

/// Runs a prepared command without a terminal: no input unless `stdin` has some, output goes into memory. Whatever it started is ended
/// with it, since nobody would do so later.
pub fn run(
    command: &mut Command,
    stdin: Option<Stdio>,
    bounds: Bounds<'_>,
) -> std::result::Result<Finished, ToolError> {
    run_within(command, stdin, bounds, None)
}

/// The same with a limit of memory, in bytes.
pub fn run_within(
    command: &mut Command,
    stdin: Option<Stdio>,
    bounds: Bounds<'_>,
    memory: Option<u64>,
) -> std::result::Result<Finished, ToolError> {
    hide_project_programs(command);
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    let program = program.to_string_lossy().into_owned();
    let failed = |error| ToolError::Output { program: program.clone(), error };
    // Files, not pipes: a grandchild that keeps a pipe open cannot make us wait.
    let (mut stdout, mut stderr) = (in_memory(&[]).map_err(failed)?, in_memory(&[]).map_err(failed)?);
    command
        .stdin(stdin.unwrap_or_else(Stdio::null))
        .stdout(stdout.try_clone().map_err(failed)?)
        .stderr(stderr.try_clone().map_err(failed)?)
        .process_group(0);
    let child = spawn(command).map_err(|error| ToolError::Start { program: program.clone(), error })?;
    if let Some(memory) = memory {
        limit_memory(&child, memory);
    }
    let mut group = Group::of(child).map_err(failed)?;
    let started = Instant::now();
    while !group.ends_soon().map_err(failed)? {
        if started.elapsed() >= bounds.time {
            return Err(ToolError::TimedOut { program, seconds: bounds.time.as_secs() });
        }
        if (bounds.stop)() {
            return Err(ToolError::Stopped);
        }
        let written = stdout.metadata().map_err(failed)?.len() + stderr.metadata().map_err(failed)?.len();
        if written > bounds.output {
            return Err(ToolError::TooMuch { program, limit: bounds.output });
        }
    }
    let status = group.end().map_err(failed)?;
    if stdout.metadata().map_err(failed)?.len() > bounds.output {
        return Err(ToolError::TooMuch { program, limit: bounds.output });
    }
    let mut said = Vec::new();
    stdout.seek(SeekFrom::Start(0)).map_err(failed)?;
    stdout.take(bounds.output).read_to_end(&mut said).map_err(failed)?;
    let from = stderr.metadata().map_err(failed)?.len().saturating_sub(STDERR_TAIL);
    stderr.seek(SeekFrom::Start(from)).map_err(failed)?;
    let mut complained = Vec::new();
    stderr.take(STDERR_TAIL).read_to_end(&mut complained).map_err(failed)?;
    Ok(Finished { status, stdout: said, stderr: String::from_utf8_lossy(&complained).into_owned() })
}

/// Limits what a program that has just been started may take of memory, as do all that it starts. Files that it maps to read them do
/// not count. A lower limit of the user's stays.
pub fn limit_memory(child: &Child, bytes: u64) {
    let least = |limit: Option<u64>| Some(limit.map_or(bytes, |limit| limit.min(bytes)));
    let ours = getrlimit(Resource::Data);
    let limit = Rlimit { current: least(ours.current), maximum: least(ours.maximum) };
    if let Err(error) = prlimit(Some(Pid::from_child(child)), Resource::Data, limit) {
        tracing::debug!(%error, "the memory of a program is not limited");
    }
}

/// A program that is being replaced at this moment is busy for a few milliseconds.
fn spawn(command: &mut Command) -> std::io::Result<Child> {
    let mut tries = 0;
    loop {
        match command.spawn() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy && tries < 20 => {
                tries += 1;
                std::thread::sleep(Duration::from_millis(10));
            }
            spawned => return spawned,
        }
    }
}

/// A child in a process group of its own. The group is ended while the child is not yet reaped, so that its number
/// cannot belong to anybody else.
struct Group {
    child: Child,
    /// Readable when the child has ended.
    end: Option<OwnedFd>,
    reaped: bool,
}

impl Group {
    fn of(child: Child) -> std::io::Result<Group> {
        let mut group = Group { child, end: None, reaped: false };
        group.end = group.pid().map(|pid| pidfd_open(pid, PidfdFlags::empty())).transpose()?;
        Ok(group)
    }

    fn pid(&self) -> Option<Pid> {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
    }

    /// Whether the child ends within a moment.
    fn ends_soon(&self) -> std::io::Result<bool> {
        let Some(end) = &self.end else { return Ok(true) };
        match poll(&mut [PollFd::new(end, PollFlags::IN)], Some(&POLL)) {
            Err(rustix::io::Errno::INTR) => Ok(false),
            other => Ok(other? > 0),
        }
    }

    fn end(&mut self) -> std::io::Result<ExitStatus> {
        if let Some(pid) = self.pid().filter(|_| !self.reaped) {
            // Fails where nobody is left, which is what we want.
            let _ = kill_process_group(pid, Signal::KILL);
        }
        self.reaped = true;
        self.child.wait()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.reaped {
            let _ = self.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(milliseconds: u64) -> Bounds<'static> {
        Bounds { time: Duration::from_millis(milliseconds), output: 1000, stop: &|| false }
    }

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn output_status_and_the_end_of_stderr_come_back() {
        let done = run(&mut sh("cat; echo out; echo why >&2; exit 3"), None, bounds(20_000)).unwrap();
        assert_eq!((done.status.code(), &*done.stdout, &*done.stderr), (Some(3), &b"out\n"[..], "why\n"));
    }

    #[test]
    fn a_program_that_hangs_is_ended_with_its_children() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("pid");
        let script = format!("sleep 300 & echo $! > {}; wait", file.display());
        let error = run(&mut sh(&script), None, bounds(1_000)).unwrap_err();
        assert!(matches!(error, ToolError::TimedOut { .. }), "{error}");
        assert_gone(&file);
    }

    #[test]
    fn what_a_program_leaves_running_ends_with_it() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("pid");
        let script = format!("sleep 300 & echo $! > {}", file.display());
        let started = Instant::now();
        assert!(run(&mut sh(&script), None, bounds(60_000)).unwrap().status.success());
        assert!(started.elapsed() < Duration::from_secs(30));
        assert_gone(&file);
    }

    /// A killed process is a zombie until its new parent looks after it.
    fn assert_gone(file: &Path) {
        let pid = std::fs::read_to_string(file).unwrap();
        let stat = PathBuf::from(format!("/proc/{}/stat", pid.trim()));
        for _ in 0..500 {
            match std::fs::read_to_string(&stat) {
                Ok(text) if !text.contains(") Z ") => std::thread::sleep(Duration::from_millis(10)),
                _ => return,
            }
        }
        panic!("{} still runs", pid.trim());
    }

    #[test]
    fn too_much_output_and_a_stop_end_it_too() {
        let error = run(&mut sh("yes; sleep 300"), None, bounds(60_000)).unwrap_err();
        assert!(matches!(error, ToolError::TooMuch { .. }), "{error}");
        let stop = Bounds { stop: &|| true, ..bounds(60_000) };
        assert!(matches!(run(&mut sh("sleep 300"), None, stop), Err(ToolError::Stopped)));
    }

    #[test]
    fn only_executable_files_are_found() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("plain"), "").unwrap();
        std::fs::write(dir.path().join("prog"), "").unwrap();
        std::fs::set_permissions(dir.path().join("prog"), std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::create_dir(dir.path().join("dir")).unwrap();
        let path = format!("/nonexistent:{}", dir.path().display());
        let host = Host {
            env: [("PATH".to_owned(), path)].into(),
            cwd: dir.path().to_owned(),
            stdin_is_terminal: false,
            stderr_is_terminal: false,
        };
        assert_eq!(find(&host, "prog"), Some(dir.path().join("prog")));
        assert_eq!((find(&host, "plain"), find(&host, "dir")), (None, None));
    }
}
