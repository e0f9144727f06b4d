//! Lends the terminal to a child and takes it back. It reads and writes no text.

use crate::host::terminal::without_being_stopped;
use nix::unistd::{Pid, getpgrp, getpid, getppid, getsid, setpgid, tcgetpgrp, tcsetpgrp};
use rustix::fs::{Gid, Mode, Uid, fchmod, fchown, fstat};
use rustix::stdio::{stderr, stdout};
use rustix::termios::{
    Action, OptionalActions, QueueSelector, Termios, isatty, tcflow, tcflush, tcgetattr, tcsetattr,
};
use std::io::stdin;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The terminal that is our input, while a child shares it.
#[derive(Debug)]
pub struct SharedTerminal {
    /// Its settings before the child had it.
    settings: Option<Termios>,
    /// A child that shares the terminal can change this permanently, whatever is mounted over its path.
    access: Option<Access>,
    /// Whether the child has it: not while the user's shell has it, and not before we are brought to the foreground.
    is_lent: bool,
}

impl SharedTerminal {
    /// `None` without a terminal. Lends it to the child if we own it.
    pub fn of_this_process() -> Option<SharedTerminal> {
        let mut terminal = isatty(stdin()).then(|| SharedTerminal {
            settings: None,
            access: Access::of(stdin()),
            is_lent: false,
        })?;
        terminal.lend();
        Some(terminal)
    }

    pub fn is_lent(&self) -> bool {
        self.is_lent
    }

    /// Lends it if we own it, that is, if our process group is in the foreground.
    pub fn lend(&mut self) -> bool {
        let is_ours = tcgetpgrp(stdin()).is_ok_and(|front| front == getpgrp());
        if is_ours {
            self.settings = self.settings.take().or_else(|| tcgetattr(stdin()).ok());
            self.is_lent = true;
        }
        is_ours
    }

    /// Called before we stop, when the user's shell takes it.
    pub fn leave_to_shell(&mut self) {
        self.is_lent = false;
    }

    /// Puts our process group back into the foreground and the settings back to what they were: a killed child may have left
    /// the terminal to a group that is gone, or raw. What was typed and not read is forgotten: it was meant for the child, or
    /// comes from it, and must not reach a question of ours or the user's shell.
    pub fn take_back(&self) {
        // Needed even if the child only wrote to it.
        if let Some(access) = self.access {
            access.restore(stdin());
        }
        if !self.is_lent {
            return;
        }
        without_being_stopped(|| {
            let mut group = getpgrp();
            // Inside another run, our group may have no id in this namespace. Then we need a new one.
            if group.as_raw() == 0 && setpgid(Pid::from_raw(0), Pid::from_raw(0)).is_ok() {
                group = getpid();
            }
            let _ = tcsetpgrp(stdin(), group);
            // While output is stopped, waiting for it would never end.
            let _ = tcflow(stdin(), Action::OOn);
            if let Some(settings) = &self.settings {
                let _ = tcsetattr(stdin(), OptionalActions::Drain, settings);
            }
            let _ = tcflush(stdin(), QueueSelector::IFlush);
        });
    }
}

/// A terminal that is our output but not our input, while a child writes to it. It is not lent, but the child can change it anyway.
#[derive(Debug)]
pub struct OutputTerminal {
    terminal: OwnedFd,
    settings: Option<Termios>,
    access: Option<Access>,
}

impl OutputTerminal {
    /// `None` without one, or if it is our input as well and therefore already lent.
    pub fn of_this_process() -> Option<OutputTerminal> {
        if isatty(stdin()) {
            return None;
        }
        let is_terminal = |fd: &BorrowedFd<'_>| isatty(fd);
        let terminal = [stdout(), stderr()].into_iter().find(is_terminal)?;
        let terminal = terminal.try_clone_to_owned().ok()?;
        let settings = is_ours(&terminal).then(|| tcgetattr(&terminal).ok()).flatten();
        Some(OutputTerminal { access: Access::of(&terminal), settings, terminal })
    }

    /// Undoes what the child did to it, even if its output was stopped.
    pub fn take_back(&self) {
        if let Some(access) = self.access {
            access.restore(&self.terminal);
        }
        // In the background its settings are somebody else's.
        let Some(settings) = self.settings.as_ref().filter(|_| is_ours(&self.terminal)) else { return };
        without_being_stopped(|| {
            let _ = tcflow(&self.terminal, Action::OOn);
            let _ = tcsetattr(&self.terminal, OptionalActions::Drain, settings);
        });
    }
}

/// Whether no other process group has the terminal. One that does not control us has none.
fn is_ours(terminal: &OwnedFd) -> bool {
    tcgetpgrp(terminal).map_or(true, |front| front == getpgrp())
}

/// Who may open a terminal, whatever its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Access {
    owner: Uid,
    group: Gid,
    mode: Mode,
}

impl Access {
    fn of(terminal: impl AsFd) -> Option<Access> {
        let stat = fstat(terminal).ok()?;
        let (owner, group) = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
        Some(Access { owner, group, mode: Mode::from_raw_mode(stat.st_mode) })
    }

    /// As far as we may: only root gives a terminal away, and takes it back.
    fn restore(self, terminal: impl AsFd) {
        let now = Access::of(&terminal);
        if now.is_none_or(|now| (now.owner, now.group) != (self.owner, self.group)) {
            let _ = fchown(&terminal, Some(self.owner), Some(self.group));
        }
        if now.is_none_or(|now| now.mode != self.mode) {
            let _ = fchmod(&terminal, self.mode);
        }
    }
}

/// Whether our parent can continue us if we stop: it is in our session.
pub fn has_job_control() -> bool {
    let session = getsid(None);
    session.is_ok() && getsid(Some(getppid())) == session
}
