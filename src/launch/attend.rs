//! Stays with a child that has no terminal to its end: reads its pipes, watches the clock and passes signals on.
//! One loop; no thread and no runtime, because nothing here ever waits for anything else. What the output means is for the listener.

use crate::error::Result;
use crate::mount::child::{Heard, start_error};
use crate::mount::inside::protocol::Report;
use crate::mount::run::GRACE;
use crate::mount::{ChildCommand, Ending, RunningChild, SignalInbox};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// How often the listener is called, whether something happened or not.
const TICK: Duration = Duration::from_millis(250);

/// When a child is ended.
#[derive(Debug, Clone, Copy, Default)]
pub struct TimeLimits {
    pub wall: Option<Duration>,
    /// Without a word, while nothing is at work.
    pub idle: Option<Duration>,
}

/// No run lasts longer than the machine; a limit beyond this is none, and no clock can count to it.
const LONGEST: Duration = Duration::from_hours(24 * 365 * 10);

/// So many seconds as a limit; nothing where they are more than anybody will wait for.
pub fn limit_of(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok().filter(|limit| *limit < LONGEST)
}

/// Which limit was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeLimit {
    Wall,
    Idle,
}

/// Which pipe something came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    Stdout,
    Stderr,
}

/// Who hears what a child writes.
pub trait Listener {
    fn output(&mut self, channel: Channel, bytes: &[u8]);
    /// Whether silence means something now.
    fn is_at_work(&self) -> bool {
        false
    }
    fn tick(&mut self) {}
}

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attended {
    pub ending: Ending,
    pub reached: Option<TimeLimit>,
    /// The signal that told us to end, if one did.
    pub interrupted_by: Option<i32>,
}

/// Stays with the child until everything that it started is gone and all of its output is read.
pub fn attend(
    mut child: RunningChild,
    command: &ChildCommand,
    limits: TimeLimits,
    signals: &mut SignalInbox,
    listener: &mut dyn Listener,
) -> Result<Attended> {
    let mut pipes =
        [Pipe::of(child.take_stdout(), Channel::Stdout)?, Pipe::of(child.take_stderr(), Channel::Stderr)?];
    let mut watch = Watch::new(limits);
    let ending = loop {
        wait(&child, signals, &pipes, watch.patience())?;
        for signal in signals.take() {
            if [SIGINT, SIGQUIT, SIGTERM, SIGHUP].contains(&signal) {
                watch.interrupt(signal, &mut child);
            }
        }
        for pipe in &mut pipes {
            if pipe.read(listener) {
                watch.last_output = Instant::now();
            }
        }
        watch.check(listener.is_at_work(), &mut child);
        listener.tick();
        match child.next(Some(Duration::ZERO))? {
            Heard::Nothing | Heard::Report(Report::Started) => {}
            // Nobody could continue it.
            Heard::Report(Report::Stopped(_)) => child.resume(),
            Heard::Report(Report::Exited(code)) => break Ending::Code(code),
            Heard::Report(Report::Signaled(signal)) => break Ending::Signal(signal),
            Heard::Report(Report::Failed(failure)) => {
                let program = command.argv.first().map(|name| name.to_string_lossy()).unwrap_or_default();
                return Err(start_error(&failure, &program));
            }
            Heard::Closed => break Ending::Killed,
        }
    };
    // Everything that it started is gone after this, so the pipes hold all that will ever come.
    drop(child);
    for pipe in &mut pipes {
        while pipe.read(listener) {}
    }
    Ok(Attended { ending, reached: watch.reached, interrupted_by: watch.interrupted_by })
}

/// The clock of a run: what it may take, and how far its end has got.
struct Watch {
    limits: TimeLimits,
    started: Instant,
    last_output: Instant,
    reached: Option<TimeLimit>,
    interrupted_by: Option<i32>,
    /// When the asked-for end becomes a forced one.
    forced_at: Option<Instant>,
}

impl Watch {
    fn new(limits: TimeLimits) -> Watch {
        let started = Instant::now();
        Watch { limits, started, last_output: started, reached: None, interrupted_by: None, forced_at: None }
    }

    /// The first signal asks the harness to end, the next one does not wait for it.
    fn interrupt(&mut self, signal: i32, child: &mut RunningChild) {
        if self.interrupted_by.is_some() {
            child.end();
            return;
        }
        self.interrupted_by = Some(signal);
        child.signal(signal);
        self.forced_at.get_or_insert_with(|| Instant::now() + GRACE);
    }

    fn check(&mut self, is_at_work: bool, child: &mut RunningChild) {
        let now = Instant::now();
        if self.forced_at.is_some_and(|at| now >= at) {
            child.end();
            return;
        }
        if self.forced_at.is_some() {
            return;
        }
        if is_at_work {
            self.last_output = now;
        }
        let over = |since: Instant, limit: Option<Duration>| limit.is_some_and(|limit| now - since >= limit);
        let reached = if over(self.started, self.limits.wall) {
            TimeLimit::Wall
        } else if over(self.last_output, self.limits.idle) {
            TimeLimit::Idle
        } else {
            return;
        };
        self.reached = Some(reached);
        child.signal(SIGTERM);
        self.forced_at = Some(now + GRACE);
    }

    /// How long nothing can happen that only the clock would tell.
    fn patience(&self) -> Duration {
        let now = Instant::now();
        let until = |since: Instant, limit: Option<Duration>| {
            limit.map(|limit| (since + limit).saturating_duration_since(now))
        };
        let forced = self.forced_at.map(|at| at.saturating_duration_since(now));
        let waits =
            [until(self.started, self.limits.wall), until(self.last_output, self.limits.idle), forced];
        waits.into_iter().flatten().min().unwrap_or(TICK).clamp(Duration::from_millis(1), TICK)
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
            let flags = rustix::fs::fcntl_getfl(file).map_err(std::io::Error::from)?;
            rustix::fs::fcntl_setfl(file, flags | OFlags::NONBLOCK).map_err(std::io::Error::from)?;
        }
        Ok(Pipe { file, buffer: vec![0; 64 * 1024], channel })
    }

    /// Reads what is there, once; false when there is nothing.
    fn read(&mut self, listener: &mut dyn Listener) -> bool {
        let Some(file) = &mut self.file else { return false };
        match file.read(&mut self.buffer) {
            Ok(0) => self.file = None,
            Ok(count) => {
                listener.output(self.channel, &self.buffer[..count]);
                return true;
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => self.file = None,
        }
        false
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.file.as_ref().map(AsFd::as_fd)
    }
}

fn wait(child: &RunningChild, signals: &SignalInbox, pipes: &[Pipe], patience: Duration) -> Result<()> {
    if child.has_waiting() {
        return Ok(());
    }
    let mut ready = vec![
        PollFd::from_borrowed_fd(child.status_fd(), PollFlags::IN),
        PollFd::from_borrowed_fd(signals.wake_fd(), PollFlags::IN),
    ];
    ready.extend(pipes.iter().filter_map(Pipe::fd).map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
    let timeout = Timespec::try_from(patience).expect("no wait is that long");
    match poll(&mut ready, Some(&timeout)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(errno) => Err(std::io::Error::from(errno).into()),
    }
}
