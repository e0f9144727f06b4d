//! Lends the terminal to a child and takes it back. It reads and writes no text.

use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use nix::unistd::{Pid, getpgrp, getpid, getppid, getsid, setpgid, tcgetpgrp, tcsetpgrp};
use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcsetattr};
use std::io::stdin;

/// The terminal as it was before a child had it. Nothing if there is none or it is not ours to give.
#[derive(Debug)]
pub struct LentTerminal {
    settings: Option<Termios>,
}

impl LentTerminal {
    pub fn lend() -> Option<LentTerminal> {
        let is_ours = isatty(stdin()) && tcgetpgrp(stdin()).is_ok_and(|front| front == getpgrp());
        is_ours.then(|| LentTerminal { settings: tcgetattr(stdin()).ok() })
    }

    /// Puts our process group back into the foreground and the settings back to what they were: a killed child may have left
    /// the terminal to a group that is gone, or raw.
    pub fn take_back(&self) {
        without_being_stopped(|| {
            let mut group = getpgrp();
            // Inside another run, our group may be one that has no number here. Then we need a new one.
            if group.as_raw() == 0 && setpgid(Pid::from_raw(0), Pid::from_raw(0)).is_ok() {
                group = getpid();
            }
            let _ = tcsetpgrp(stdin(), group);
            if let Some(settings) = &self.settings {
                let _ = tcsetattr(stdin(), OptionalActions::Drain, settings);
            }
        });
    }
}

/// A background process that touches the terminal is stopped by SIGTTOU, unless it holds that signal back.
pub(super) fn without_being_stopped(action: impl FnOnce()) {
    let mut held = SigSet::empty();
    held.add(Signal::SIGTTOU);
    let before = held.thread_swap_mask(SigmaskHow::SIG_BLOCK);
    action();
    if let Ok(before) = before {
        let _ = before.thread_set_mask();
    }
}

/// Whether our parent can continue us if we stop: it is in our session.
pub fn has_job_control() -> bool {
    let session = getsid(None);
    session.is_ok() && getsid(Some(getppid())) == session
}
