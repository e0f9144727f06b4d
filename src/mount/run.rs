//! Runs a command in an open mount to its end, for a person at the terminal or for a script: stops, signals and the grace period.
//! It does not look at what the command wrote.

use super::child::{ChildCommand, ChildStdio, Heard, RunningChild, start_error};
use super::inside::protocol::{Group, Report};
use super::open::OpenMount;
use super::signals::SignalInbox;
use super::terminal::{LentTerminal, has_job_control};
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use nix::sys::signal::{Signal, kill};
use nix::unistd::getpid;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
use std::time::{Duration, Instant};

/// How long a command may take to end after it was asked to.
pub const GRACE: Duration = Duration::from_secs(5);

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Code(i32),
    Signal(i32),
    /// Everything was ended by us before the command ended by itself.
    Killed,
}

/// What became of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChildOutcome {
    pub ending: Ending,
    /// How often it was stopped and continued with us.
    pub stops: u32,
    /// The signal that told us to end, if one did.
    pub interrupted_by: Option<i32>,
    /// Whether it took longer than it may.
    pub timed_out: bool,
}

impl ChildOutcome {
    /// The exit code that a wrapper passes on.
    pub fn exit(&self) -> Exit {
        let signal = |number: i32| Exit::Signal(u8::try_from(number).unwrap_or(0));
        if self.timed_out {
            return Exit::TimedOut;
        }
        match (self.interrupted_by, self.ending) {
            (Some(number), _) | (None, Ending::Signal(number)) => signal(number),
            (None, Ending::Code(code)) => Exit::Harness(u8::try_from(code).unwrap_or(1)),
            (None, Ending::Killed) => signal(9),
        }
    }
}

/// The signals of the runner itself, caught from now on: no number of Ctrl-C ends us before the work is safe.
pub fn catch_runner_signals() -> Result<SignalInbox> {
    Ok(SignalInbox::catch(&[SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP, SIGCONT])?)
}

impl OpenMount {
    /// Runs a command to its end. At a terminal it stays in our process group, which the terminal's
    /// signals go to; otherwise it gets its own, so that nothing of it is missed.
    pub fn run(
        &self,
        command: &ChildCommand,
        stdio: ChildStdio,
        signals: &mut SignalInbox,
        limit: Option<Duration>,
    ) -> Result<ChildOutcome> {
        let terminal = LentTerminal::lend();
        let group = if terminal.is_some() || rustix::termios::isatty(std::io::stdin()) {
            Group::Ours
        } else {
            Group::Own
        };
        let mut child = self.spawn(command, stdio, group)?;
        let outcome = attend(&mut child, command, signals, group, limit);
        // Before anything else is said: everything inside must be gone before its work is looked at.
        drop(child);
        if let Some(terminal) = terminal {
            terminal.take_back();
        }
        outcome
    }
}

/// Waits for a child's end, passing on what concerns it. For a child whose pipes somebody else reads.
pub fn attend(
    child: &mut RunningChild,
    command: &ChildCommand,
    signals: &mut SignalInbox,
    group: Group,
    limit: Option<Duration>,
) -> Result<ChildOutcome> {
    let mut outcome =
        ChildOutcome { ending: Ending::Killed, stops: 0, interrupted_by: None, timed_out: false };
    let mut deadline: Option<Instant> = None;
    let mut limit = limit.map(|limit| Instant::now() + limit);
    loop {
        wait_for_either(child, signals, deadline.or(limit))?;
        if limit.is_some_and(|limit| Instant::now() >= limit) {
            limit = None;
            outcome.timed_out = true;
            child.signal(SIGTERM);
            deadline.get_or_insert_with(|| Instant::now() + GRACE);
        }
        for signal in signals.take() {
            let ends = match signal {
                SIGTERM | SIGHUP => true,
                // At a terminal the child has had it already; a second one would count twice there.
                SIGINT | SIGQUIT => group == Group::Own,
                SIGCONT => {
                    child.resume();
                    false
                }
                _ => false,
            };
            if ends {
                child.signal(signal);
                outcome.interrupted_by.get_or_insert(signal);
                deadline.get_or_insert_with(|| Instant::now() + GRACE);
            }
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            child.end();
            deadline = None;
        }
        match child.next(Some(Duration::ZERO))? {
            Heard::Nothing | Heard::Report(Report::Started) => {}
            Heard::Report(Report::Stopped(_)) => {
                outcome.stops += 1;
                stop_with(child, group);
            }
            Heard::Report(Report::Exited(code)) => {
                outcome.ending = Ending::Code(code);
                return Ok(outcome);
            }
            Heard::Report(Report::Signaled(signal)) => {
                outcome.ending = Ending::Signal(signal);
                return Ok(outcome);
            }
            Heard::Report(Report::Failed(failure)) => {
                let program = command.argv.first().map(|name| name.to_string_lossy()).unwrap_or_default();
                return Err(start_error(&failure, &program));
            }
            Heard::Closed if outcome.interrupted_by.is_some() || outcome.timed_out => return Ok(outcome),
            Heard::Closed => {
                return Err(CommandError::internal("the processes of the mount ended without saying how"));
            }
        }
    }
}

/// The child was stopped, so are we; whoever continues us continues it. Where nobody could, or nobody is watching, it goes on
/// at once: a script must not hang.
fn stop_with(child: &mut RunningChild, group: Group) {
    if group == Group::Ours && has_job_control() {
        let _ = kill(getpid(), Signal::SIGSTOP);
    }
    child.resume();
}

fn wait_for_either(child: &RunningChild, signals: &SignalInbox, deadline: Option<Instant>) -> Result<()> {
    if child.has_waiting() {
        return Ok(());
    }
    let mut ready = [
        PollFd::from_borrowed_fd(child.status_fd(), PollFlags::IN),
        PollFd::from_borrowed_fd(signals.wake_fd(), PollFlags::IN),
    ];
    let patience = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    let timeout = patience.map(|time| Timespec::try_from(time).expect("no wait is that long"));
    match poll(&mut ready, timeout.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(errno) => Err(std::io::Error::from(errno).into()),
    }
}
