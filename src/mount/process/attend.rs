//! Supervises a child until it ends: forwards signals, enforces time limits, reads its pipes if there is a listener, and stops
//! together with it at a terminal. Interactive runs, headless runs and checks share this one loop, which needs no threads. It does
//! not interpret the output: that is the listener's job.

use super::cgroup::Exhausted;
use super::child::{ChildCommand, ChildEvent, Helper, Left, RunningChild, start_error};
use super::descendants;
use super::disk_meter::DiskMeter;
use super::inside::protocol::{Group, Report};
use super::signals::SignalInbox;
use super::stdio::{ChildStdio, never_wait};
use super::terminal::{OutputTerminal, SharedTerminal, has_job_control};
use crate::exit::Exit;
use crate::mount::error::MountError;
use anyhow::{Result, bail};
use nix::sys::signal::{Signal, kill, raise};
use nix::unistd::Pid;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::ioctl_fionread;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// How long a command may take to end after it was asked to, before it is killed.
const GRACE: Duration = Duration::from_secs(5);

/// How often a listener is called, even if nothing happened.
const TICK: Duration = Duration::from_millis(250);

/// No run lasts this long. Longer limits are ignored, because adding them to the clock could overflow.
const LONGEST: Duration = Duration::from_hours(24 * 365 * 10);

/// Every process in our group, including ourselves.
const OWN_GROUP: Pid = Pid::from_raw(0);

/// When a child is ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TimeLimits {
    pub wall: Option<Duration>,
    /// Silence, while the listener reports that nothing is in progress.
    pub idle: Option<Duration>,
}

/// A number of seconds as a limit; `None` if it is longer than any run.
pub fn limit_of(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok().filter(|limit| *limit < LONGEST)
}

/// The limit that a command was ended at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReachedLimit {
    Wall,
    Idle,
    Disk,
}

/// Which pipe something came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    Stdout,
    Stderr,
}

/// Receives what a child writes.
pub trait Listener {
    fn output(&mut self, channel: Channel, bytes: &[u8]);
    /// Whether the child is busy: silence then does not count as idle time.
    fn is_at_work(&self) -> bool {
        false
    }
    fn tick(&mut self) {}
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Code(i32),
    Signal(i32),
    /// Everything was killed before the command exited on its own.
    Killed,
}

/// The outcome of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChildOutcome {
    pub ending: Ending,
    /// How many times it was stopped and continued together with us.
    pub stops: u32,
    /// The limit that was reached, if any.
    pub reached: Option<ReachedLimit>,
    /// The limits that the kernel enforced meanwhile.
    pub exhausted: Exhausted,
    /// The signal that asked us to end, if any.
    pub interrupted_by: Option<i32>,
}

impl ChildOutcome {
    /// The exit code that a wrapper passes on.
    pub fn exit(&self) -> Exit {
        let signal = |number: i32| Exit::Signal(u8::try_from(number).unwrap_or(0));
        if self.reached.is_some() {
            return Exit::TimedOut;
        }
        match (self.interrupted_by, self.ending) {
            (Some(number), _) | (None, Ending::Signal(number)) => signal(number),
            (None, Ending::Code(code)) => Exit::Harness(u8::try_from(code).unwrap_or(1)),
            (None, Ending::Killed) => signal(9),
        }
    }
}

/// Catches the runner's own signals from now on: no number of Ctrl-C ends us before the work is safe.
pub fn catch_runner_signals() -> Result<SignalInbox> {
    Ok(SignalInbox::catch(&[SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP, SIGCONT])?)
}

impl Helper {
    /// Runs a command to completion. At a terminal it stays in our session and owns the terminal while it runs; otherwise it gets
    /// its own session.
    pub fn run(
        &self,
        command: &ChildCommand,
        mut stdio: ChildStdio,
        signals: &mut SignalInbox,
        limit: Option<Duration>,
    ) -> Result<ChildOutcome> {
        let relay = std::mem::take(&mut stdio.relay);
        let mut terminal = SharedTerminal::of_this_process();
        let output = OutputTerminal::of_this_process();
        let group = match &terminal {
            Some(terminal) if terminal.is_lent() => Group::Foreground,
            Some(_) => Group::Background,
            None => Group::Own,
        };
        let limits = TimeLimits { wall: limit, idle: None };
        let outcome = self.contained(|| {
            let child = self.spawn(command, stdio, group)?;
            attend(child, command, terminal.as_mut(), self.watch(limits), signals, None)
        });
        if let Some(terminal) = &terminal {
            terminal.take_back();
        }
        if let Some(output) = &output {
            output.take_back();
        }
        let is_left =
            |error: &anyhow::Error| matches!(error.downcast_ref(), Some(MountError::NotEnded { .. }));
        if !outcome.as_ref().is_err_and(is_left) {
            relay.finish();
        }
        let outcome = outcome?;
        if terminal.is_some() {
            interrupt_own_group(outcome.ending, signals);
        }
        let is_explained = outcome.interrupted_by.is_some()
            || outcome.reached.is_some()
            || outcome.exhausted != Exhausted::default();
        if outcome.ending == Ending::Killed && !is_explained {
            bail!("the processes of the mount ended without a report");
        }
        Ok(outcome)
    }

    /// Runs a command without a terminal and passes all of its piped output to the listener.
    pub fn run_with_listener(
        &self,
        command: &ChildCommand,
        stdio: ChildStdio,
        limits: TimeLimits,
        signals: &mut SignalInbox,
        listener: &mut dyn Listener,
    ) -> Result<ChildOutcome> {
        self.contained(|| {
            let child = self.spawn(command, stdio, Group::Own)?;
            attend(child, command, None, self.watch(limits), signals, Some(listener))
        })
    }

    /// Nothing that was started outlives this. Without a PID namespace, a process inside could have killed our init; its
    /// orphans are then reparented to us, and we end them.
    fn contained(&self, run: impl FnOnce() -> Result<ChildOutcome>) -> Result<ChildOutcome> {
        let Some(group) = &self.control_group else { return self.contained_by_processes(run) };
        let before = group.exhausted();
        let result = self.contained_by_processes(|| {
            let result = run();
            group.kill();
            result
        });
        result.map(|outcome| ChildOutcome { exhausted: group.exhausted().since(before), ..outcome })
    }

    fn contained_by_processes<T>(&self, run: impl FnOnce() -> Result<T>) -> Result<T> {
        if self.spec.pid_namespace {
            return run();
        }
        match descendants::none_left(run)? {
            Some(result) => result,
            None => Err(MountError::NotEnded { timed_out: false }.into()),
        }
    }

    fn watch(&self, limits: TimeLimits) -> Watch {
        let layers = || self.spec.overlays.iter().map(|overlay| overlay.upper.to_path_buf()).collect();
        Watch::new(limits, self.disk_limit.map(|limit| DiskMeter::new(layers(), limit)))
    }
}

/// Supervises the child until everything that it started is gone and all of its output is read.
fn attend(
    mut child: RunningChild,
    command: &ChildCommand,
    mut terminal: Option<&mut SharedTerminal>,
    mut watch: Watch,
    signals: &mut SignalInbox,
    mut listener: Option<&mut dyn Listener>,
) -> Result<ChildOutcome> {
    let mut pipes = Vec::new();
    if listener.is_some() {
        pipes.push(Pipe::of(child.take_stdout(), Channel::Stdout)?);
        pipes.push(Pipe::of(child.take_stderr(), Channel::Stderr)?);
        watch.ends_at = command.ends_at.unwrap_or(SIGTERM);
    }
    let mut stops = 0;
    let ending = loop {
        let tick = listener.is_some().then_some(TICK);
        wait(&child, signals, &pipes, watch.until_next_deadline(tick))?;
        for signal in signals.take() {
            match signal {
                // The terminal has already delivered its signals to the child; they are not meant for us.
                SIGINT | SIGQUIT if terminal.is_some() => {}
                // A wrapped command gets every signal; a run with a listener is killed at the second one.
                SIGINT | SIGQUIT | SIGTERM | SIGHUP => {
                    watch.interrupt(signal, &mut child, listener.is_some());
                }
                SIGCONT => {
                    if terminal.as_deref_mut().is_some_and(SharedTerminal::lend) {
                        child.lend_terminal();
                    }
                    child.resume();
                }
                _ => {}
            }
        }
        if let Some(listener) = listener.as_deref_mut() {
            for pipe in &mut pipes {
                if pipe.read(listener) > 0 {
                    watch.last_output = Instant::now();
                }
            }
        }
        watch.check(listener.as_deref().is_some_and(Listener::is_at_work), &mut child);
        if let Some(listener) = listener.as_deref_mut() {
            listener.tick();
        }
        match child.next(Some(Duration::ZERO))? {
            ChildEvent::TimedOut | ChildEvent::Report(Report::Started | Report::Ended) => {}
            ChildEvent::Report(Report::Stopped(_)) => {
                stops += 1;
                stop_with(&mut child, terminal.as_deref_mut());
            }
            ChildEvent::Report(Report::Exited(code)) => break Ending::Code(code),
            ChildEvent::Report(Report::Signaled(signal)) => break Ending::Signal(signal),
            ChildEvent::Report(Report::Failed(failure)) => {
                let program = command.argv.first().map(|name| name.to_string_lossy()).unwrap_or_default();
                return Err(start_error(failure, program.into_owned()).into());
            }
            ChildEvent::Report(Report::StillOpen(reason)) => {
                return Err(MountError::StillOpen { reason }.into());
            }
            ChildEvent::Closed => break Ending::Killed,
        }
        if watch.is_forced {
            // Only its end can follow; the code below waits for that.
            break Ending::Killed;
        }
    };
    // After this, everything that it started is gone: the pipes hold all remaining output, and the work can be compared.
    match child.finish() {
        Left::Nothing => drop(child),
        Left::OpenView(reason) => return Err(MountError::StillOpen { reason }.into()),
        Left::Process => return Err(watch.not_ended().into()),
    }
    if let Some(listener) = listener {
        for pipe in &mut pipes {
            pipe.read_rest(listener);
        }
    }
    tracing::debug!(?ending, reached = ?watch.reached, interrupted_by = ?watch.interrupted_by, "command ended");
    let (reached, interrupted_by) = (watch.reached, watch.interrupted_by);
    Ok(ChildOutcome { ending, stops, reached, exhausted: Exhausted::default(), interrupted_by })
}

/// The child was stopped, so we stop too, with the rest of our group (a script, the other end of a pipe), as if the child were in
/// it. Continuing us continues the child, because SIGCONT is among the signals that we catch. If nobody is watching or nobody
/// could continue us, the child is continued at once: a script must not hang.
fn stop_with(child: &mut RunningChild, terminal: Option<&mut SharedTerminal>) {
    if let Some(terminal) = terminal.filter(|_| has_job_control()) {
        terminal.leave_to_shell();
        let _ = kill(OWN_GROUP, Signal::SIGTSTP);
        // Sent to this thread. Sent to the process, it might stop us only after the child was continued.
        let _ = raise(Signal::SIGSTOP);
    } else {
        child.resume();
    }
}

/// A Ctrl-C that ended the child was meant for the whole job: a surrounding script must not go on with its next line.
fn interrupt_own_group(ending: Ending, signals: &mut SignalInbox) {
    for (number, signal) in [(SIGINT, Signal::SIGINT), (SIGQUIT, Signal::SIGQUIT)] {
        if ending == Ending::Signal(number) {
            let _ = kill(OWN_GROUP, signal);
            signals.forget(number);
        }
    }
}

/// The clock of a run: its limits, and how far its shutdown has progressed.
struct Watch {
    limits: TimeLimits,
    disk: Option<DiskMeter>,
    started: Instant,
    last_output: Instant,
    reached: Option<ReachedLimit>,
    interrupted_by: Option<i32>,
    /// The signal that asks it to end.
    ends_at: i32,
    /// Whether it was asked to end.
    is_ending: bool,
    /// When the request turns into a kill; `None` once it has.
    forced_at: Option<Instant>,
    /// Whether everything was killed.
    is_forced: bool,
}

impl Watch {
    fn new(limits: TimeLimits, disk: Option<DiskMeter>) -> Watch {
        let started = Instant::now();
        Watch {
            limits,
            disk,
            started,
            last_output: started,
            reached: None,
            interrupted_by: None,
            ends_at: SIGTERM,
            is_ending: false,
            forced_at: None,
            is_forced: false,
        }
    }

    /// Forwards the signal, or in place of one to end that which the child ends at, and starts the grace period; a second signal kills
    /// everything if `ends_at_second` is set.
    fn interrupt(&mut self, signal: i32, child: &mut RunningChild, ends_at_second: bool) {
        if self.interrupted_by.is_some() && ends_at_second {
            self.force(child);
            return;
        }
        self.interrupted_by.get_or_insert(signal);
        let is_to_end = ends_at_second && matches!(signal, SIGTERM | SIGHUP);
        child.signal(if is_to_end { self.ends_at } else { signal });
        self.ask_to_end(Instant::now());
    }

    fn force(&mut self, child: &mut RunningChild) {
        child.end();
        self.is_forced = true;
    }

    fn not_ended(&self) -> MountError {
        MountError::NotEnded { timed_out: self.reached.is_some() }
    }

    /// Starts the grace period, once.
    fn ask_to_end(&mut self, now: Instant) {
        if !self.is_ending {
            self.is_ending = true;
            self.forced_at = Some(now + GRACE);
        }
    }

    fn check(&mut self, is_at_work: bool, child: &mut RunningChild) {
        let now = Instant::now();
        if self.is_ending {
            if self.forced_at.take_if(|at| now >= *at).is_some() {
                self.force(child);
            }
            return;
        }
        if is_at_work {
            self.last_output = now;
        }
        let over = |since: Instant, limit: Option<Duration>| limit.is_some_and(|limit| now - since >= limit);
        let reached = if over(self.started, self.limits.wall) {
            ReachedLimit::Wall
        } else if over(self.last_output, self.limits.idle) {
            ReachedLimit::Idle
        } else if self.disk.as_mut().is_some_and(DiskMeter::is_over) {
            ReachedLimit::Disk
        } else {
            return;
        };
        self.reached = Some(reached);
        child.signal(self.ends_at);
        self.ask_to_end(now);
    }

    /// Time until the next deadline or tick; `None` if there is neither.
    fn until_next_deadline(&self, tick: Option<Duration>) -> Option<Duration> {
        let now = Instant::now();
        let until = |since: Instant, limit: Option<Duration>| {
            limit.map(|limit| (since + limit).saturating_duration_since(now))
        };
        let waits = if self.is_ending {
            [self.forced_at.map(|at| at.saturating_duration_since(now)), None, None, tick]
        } else {
            let disk = self.disk.as_ref().map(|disk| disk.next().saturating_duration_since(now));
            [until(self.started, self.limits.wall), until(self.last_output, self.limits.idle), disk, tick]
        };
        // Rounding down to zero would busy-wait until the clock reaches the deadline.
        waits.into_iter().flatten().min().map(|wait| wait.max(Duration::from_millis(1)))
    }
}

/// One of the child's output pipes.
struct Pipe {
    /// `None` once it is closed.
    file: Option<File>,
    buffer: Vec<u8>,
    channel: Channel,
}

impl Pipe {
    fn of<P: Into<OwnedFd>>(pipe: Option<P>, channel: Channel) -> Result<Pipe> {
        let file = pipe.map(|pipe| File::from(pipe.into()));
        if let Some(file) = &file {
            never_wait(file)?;
        }
        Ok(Pipe { file, buffer: vec![0; 64 * 1024], channel })
    }

    /// Reads once, and returns how many bytes were available.
    fn read(&mut self, listener: &mut dyn Listener) -> usize {
        let Some(file) = &mut self.file else { return 0 };
        match file.read(&mut self.buffer) {
            Ok(0) => self.file = None,
            Ok(count) => {
                listener.output(self.channel, &self.buffer[..count]);
                return count;
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => self.file = None,
        }
        0
    }

    /// Reads what is there by now. Somebody outside may have been handed the other end, and write on for ever.
    fn read_rest(&mut self, listener: &mut dyn Listener) {
        let mut left = self.fd().and_then(|fd| ioctl_fionread(fd).ok()).unwrap_or(0);
        while left > 0 {
            match self.read(listener) {
                0 => break,
                count => left = left.saturating_sub(count as u64),
            }
        }
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.file.as_ref().map(AsFd::as_fd)
    }
}

fn wait(
    child: &RunningChild,
    signals: &SignalInbox,
    pipes: &[Pipe],
    timeout: Option<Duration>,
) -> Result<()> {
    if child.has_waiting() {
        return Ok(());
    }
    let mut ready = vec![
        PollFd::from_borrowed_fd(child.status_fd(), PollFlags::IN),
        PollFd::from_borrowed_fd(signals.wake_fd(), PollFlags::IN),
    ];
    ready.extend(pipes.iter().filter_map(Pipe::fd).map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
    let timeout = timeout.map(|time| Timespec::try_from(time).expect("no wait is that long"));
    match poll(&mut ready, timeout.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(errno) => Err(std::io::Error::from(errno).into()),
    }
}
