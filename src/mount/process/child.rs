//! Starts a command in an open mount and reports how it ends. The caller decides how its stdio is connected and when to signal or
//! end it.

use super::stdio::ChildStdio;
use crate::model::mount_facts::OverlayWay;
use crate::mount::error::MountError;
use crate::mount::process::cgroup::ControlGroup;
use crate::mount::process::fresh_temp::FreshTemp;
use crate::mount::process::inside::protocol::{
    CONTROL_FD, Failure, GROUP_FD, Group, HELPER, HelperSpec, LOCK_FD, Order, Report, STATUS_FD, Stage,
    drain_lines, line,
};
use anyhow::{Context, Result};
use command_fds::{CommandFdExt, FdMapping};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::File;
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long everything inside may take to disappear after it was killed.
const PATIENCE: Duration = Duration::from_secs(5);

/// What to run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChildCommand {
    /// The program and its arguments. A plain name is looked up in `PATH`, inside.
    pub argv: Vec<OsString>,
    /// Changes to our own environment: a value, or `None` to remove the variable.
    pub env: Vec<(OsString, Option<OsString>)>,
    /// The signal that ends it without a terminal, if not SIGTERM.
    pub ends_at: Option<i32>,
}

/// A command that was started. Dropping it also ends everything that it started.
#[derive(Debug)]
pub struct RunningChild {
    helper: Child,
    /// Only we hold this end. When it closes, the processes inside know that we are gone.
    control: Option<PipeWriter>,
    status: PipeReader,
    buffer: Vec<u8>,
    waiting: VecDeque<Report>,
    closed: bool,
    /// It did not end in time, and we no longer wait for it.
    is_given_up: bool,
    temp: Option<FreshTemp>,
}

/// What is left of a command after it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Left {
    Nothing,
    /// No process is left, but the view can still be changed; says why.
    OpenView(String),
    /// A process that cannot be ended, because it is stuck in the kernel or frozen. We no longer wait for it; the helper holds the
    /// session's lock until it is gone.
    Process,
}

/// What [`RunningChild::next`] returned with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChildEvent {
    Report(Report),
    /// The time is up.
    TimedOut,
    /// Nothing more will come: all processes inside are gone.
    Closed,
}

/// How commands are started in a mount: through our own binary, which first sets up what the spec describes.
#[derive(Debug)]
pub struct Helper {
    /// Our own binary.
    pub program: PathBuf,
    pub spec: HelperSpec,
    /// The session's lock, which our processes inside also hold.
    pub lock: Option<File>,
    /// What enforces the run's limits of processes and memory.
    pub control_group: Option<Arc<ControlGroup>>,
    /// How much disk space the overlays may use together, in bytes.
    pub disk_limit: Option<u64>,
}

impl Helper {
    /// For a second view that is thrown away: writes to it are not limited, and no harness with its own sandbox runs in it.
    pub fn try_clone(&self) -> std::io::Result<Helper> {
        let lock = self.lock.as_ref().map(File::try_clone).transpose()?;
        let control_group = self.control_group.clone();
        Ok(Helper {
            program: self.program.clone(),
            spec: HelperSpec { nested_sandbox: false, ..self.spec.clone() },
            lock,
            control_group,
            disk_limit: None,
        })
    }

    /// Starts a command. The report [`Report::Started`] or [`Report::Failed`] follows.
    pub fn spawn(&self, command: &ChildCommand, stdio: ChildStdio, group: Group) -> Result<RunningChild> {
        let mut spec = self.spec.clone();
        spec.group = group;
        let temp = spec.temp.as_deref().map(|dir| {
            FreshTemp::make(dir)
                .with_context(|| format!("`{}`: temporary files cannot be kept", dir.display()))
        });
        let temp = temp.transpose()?;
        spec.temp = temp.as_ref().map(|temp| temp.dir.clone().into());
        let (control_in, control) = std::io::pipe()?;
        let (status, status_out) = std::io::pipe()?;
        let mut fds = vec![
            FdMapping { parent_fd: control_in.into(), child_fd: CONTROL_FD },
            FdMapping { parent_fd: status_out.into(), child_fd: STATUS_FD },
        ];
        if let Some(lock) = &self.lock {
            fds.push(FdMapping { parent_fd: OwnedFd::from(lock.try_clone()?), child_fd: LOCK_FD });
        }
        if let Some(group) = &self.control_group {
            let entrance = group.entrance().context("the limits of the run cannot be set")?;
            fds.push(FdMapping { parent_fd: entrance.into(), child_fd: GROUP_FD });
            spec.limited = true;
        }
        let mut helper = Command::new(&self.program);
        helper
            .arg0("agentworkforce")
            .arg(HELPER)
            .arg(serde_json::to_string(&spec).expect("our own specs always serialise"))
            .args(&command.argv)
            .env("PWD", &*spec.workdir)
            .stdin(stdio.stdin)
            .stdout(stdio.stdout)
            .stderr(stdio.stderr);
        if let Some(ssh) = self.ssh_command() {
            helper.env("GIT_SSH_COMMAND", ssh);
        }
        for (name, value) in &command.env {
            match value {
                Some(value) => helper.env(name, value),
                None => helper.env_remove(name),
            };
        }
        helper.fd_mappings(fds).expect("different numbers");
        let child =
            helper.spawn().with_context(|| format!("`{}` cannot be started", self.program.display()))?;
        // Dropping `helper` closes our copies of the child's ends of the pipes.
        drop(helper);
        Ok(RunningChild {
            helper: child,
            control: Some(control),
            status,
            buffer: Vec::new(),
            waiting: VecDeque::new(),
            closed: false,
            is_given_up: false,
            temp,
        })
    }

    /// What git needs to use ssh inside, unless the user has configured that.
    fn ssh_command(&self) -> Option<String> {
        let said = ["GIT_SSH_COMMAND", "GIT_SSH"].iter().any(|name| std::env::var_os(name).is_some());
        if self.spec.way != OverlayWay::UserNamespace || said {
            return None;
        }
        let system = std::fs::read_to_string("/etc/ssh/ssh_config").unwrap_or_default();
        let user = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".ssh/config"));
        crate::mount::process::ssh::command_for_git(&system, user.filter(|path| path.is_file()).as_deref())
    }
}

impl RunningChild {
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.helper.stdin.take()
    }

    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.helper.stdout.take()
    }

    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.helper.stderr.take()
    }

    /// Readable when [`RunningChild::next`] has a report, for callers with their own loop.
    pub fn status_fd(&self) -> BorrowedFd<'_> {
        self.status.as_fd()
    }

    /// Whether a report is already buffered, in which case the descriptor may never become readable.
    pub fn has_waiting(&self) -> bool {
        self.closed || !self.waiting.is_empty()
    }

    /// The next report; waits for it for at most `patience`.
    pub fn next(&mut self, patience: Option<Duration>) -> Result<ChildEvent> {
        loop {
            if let Some(report) = self.waiting.pop_front() {
                return Ok(ChildEvent::Report(report));
            }
            if self.closed {
                return Ok(ChildEvent::Closed);
            }
            let mut ready = [PollFd::new(&self.status, PollFlags::IN)];
            let timeout = patience.map(|time| Timespec::try_from(time).expect("no wait is that long"));
            match poll(&mut ready, timeout.as_ref()) {
                Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(ChildEvent::TimedOut),
                Ok(_) => self.read()?,
                Err(errno) => return Err(std::io::Error::from(errno).into()),
            }
        }
    }

    fn read(&mut self) -> Result<()> {
        let mut bytes = [0_u8; 4096];
        match self.status.read(&mut bytes) {
            Ok(0) => self.closed = true,
            Ok(count) => {
                self.buffer.extend_from_slice(&bytes[..count]);
                self.waiting.extend(drain_lines(&mut self.buffer));
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Sends a signal to the child (to its whole group if it has its own).
    pub fn signal(&mut self, signal: i32) {
        self.order(Order::Signal(signal));
    }

    /// Continues a stopped child.
    pub fn resume(&mut self) {
        self.order(Order::Continue);
    }

    /// Puts the child's process group into the foreground.
    pub fn lend_terminal(&mut self) {
        self.order(Order::LendTerminal);
    }

    /// Kills everything. [`ChildEvent::Closed`] follows when nothing is left.
    pub fn end(&mut self) {
        self.control = None;
    }

    /// Kills everything and waits until nothing is left.
    pub fn finish(&mut self) -> Left {
        self.end();
        let deadline = Instant::now() + PATIENCE;
        let left = || deadline.saturating_duration_since(Instant::now());
        // What follows the end of the last process takes as long as the disk needs.
        let (mut is_ended, mut open) = (false, None);
        while !left().is_zero() || is_ended {
            match self.next((!is_ended).then(left)) {
                Ok(ChildEvent::Report(Report::Ended)) => is_ended = true,
                Ok(ChildEvent::Report(Report::StillOpen(reason))) => open = Some(reason),
                Ok(ChildEvent::Report(_) | ChildEvent::TimedOut) => {}
                Ok(ChildEvent::Closed) | Err(_) => break,
            }
        }
        loop {
            match self.helper.try_wait() {
                Ok(None) if left().is_zero() && !is_ended => break,
                Ok(None) => std::thread::sleep(Duration::from_millis(1)),
                Ok(Some(_)) | Err(_) => return open.map_or(Left::Nothing, Left::OpenView),
            }
        }
        self.is_given_up = true;
        self.temp.iter_mut().for_each(FreshTemp::keep);
        Left::Process
    }

    fn order(&mut self, order: Order) {
        if let Some(control) = &mut self.control {
            // If the processes inside are gone, the other pipe reports it.
            let _ = control.write_all(&line(&order));
        }
    }
}

impl Drop for RunningChild {
    fn drop(&mut self) {
        if !self.is_given_up {
            self.finish();
        }
    }
}

/// Why a command did not start.
pub(super) fn start_error(failure: Failure, program: String) -> MountError {
    const NOT_FOUND: i32 = rustix::io::Errno::NOENT.raw_os_error();
    match (failure.stage, failure.errno) {
        (Stage::Exec, Some(NOT_FOUND)) => MountError::ProgramNotFound { program },
        (Stage::Exec, _) => MountError::ProgramNotExecutable { program, reason: failure.message },
        _ => MountError::CannotMount { reason: failure.message },
    }
}
