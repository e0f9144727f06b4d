//! The terminal of the person who started us, wherever stdin, stdout and stderr lead to. It is found and opened here; who is asked
//! what is decided elsewhere.

use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use nix::unistd::{Pid, getpgrp, tcgetpgrp, tcsetpgrp};
use rustix::fs::{Mode, OFlags};
use rustix::termios::{
    OptionalActions, QueueSelector, Termios, isatty, tcflush, tcgetattr, tcgetwinsize, tcsetattr,
};
use std::fs::File;
use std::io::{self, stderr, stdin};
use std::os::fd::{AsFd, BorrowedFd};

/// The terminal that controls a process, under the name that it has for each.
const CONTROLLING: &str = "/dev/tty";

/// A terminal that can be written to and read from.
#[derive(Debug)]
pub struct UserTerminal {
    input: File,
    output: File,
    /// It controls us, so that it knows which process group is in the foreground.
    is_controlling: bool,
}

impl UserTerminal {
    /// The terminal that controls us, else one that is both our input and our error output.
    pub fn open() -> Option<UserTerminal> {
        if let Some(input) = controlling() {
            return Some(UserTerminal { output: input.try_clone().ok()?, input, is_controlling: true });
        }
        if !isatty(stdin()) || !isatty(stderr()) {
            return None;
        }
        let duplicate = |fd: BorrowedFd<'_>| fd.try_clone_to_owned().ok().map(File::from);
        let (input, output) = (duplicate(stdin().as_fd())?, duplicate(stderr().as_fd())?);
        Some(UserTerminal { input, output, is_controlling: false })
    }

    /// Whether it is ours to ask at: no other process group has it. A question from the background would stop us, or be answered
    /// by what was typed for somebody else.
    pub fn is_ours(&self) -> bool {
        !self.is_controlling || tcgetpgrp(&self.input).is_ok_and(|front| front == getpgrp())
    }

    pub fn input(&self) -> BorrowedFd<'_> {
        self.input.as_fd()
    }

    /// For whoever writes to it.
    pub fn output(&self) -> io::Result<File> {
        self.output.try_clone()
    }

    /// Forgets what was typed: it was meant for something else, or nobody typed it.
    pub fn forget_typed(&self) {
        let _ = tcflush(&self.input, QueueSelector::IFlush);
    }

    /// Lends it to another process group until it is taken back.
    pub fn lend(&self, group: Pid) {
        if self.is_controlling {
            without_being_stopped(|| {
                let _ = tcsetpgrp(&self.input, group);
            });
        }
    }

    /// Puts our process group into the foreground again, and the settings back to what they were.
    pub fn take_back(&self, settings: Option<&Termios>) {
        without_being_stopped(|| {
            if self.is_controlling {
                let _ = tcsetpgrp(&self.input, getpgrp());
            }
            if let Some(settings) = settings {
                let _ = tcsetattr(&self.input, OptionalActions::Drain, settings);
            }
        });
        self.forget_typed();
    }

    /// How it treats what is typed.
    pub fn settings(&self) -> Option<Termios> {
        tcgetattr(&self.input).ok()
    }

    /// Whether there are jobs that it can be lent to.
    pub fn is_controlling(&self) -> bool {
        self.is_controlling
    }

    /// Rows and columns, if it knows them.
    pub fn size(&self) -> Option<(u16, u16)> {
        let size = tcgetwinsize(&self.output).ok()?;
        (size.ws_row > 0 && size.ws_col > 0).then_some((size.ws_row, size.ws_col))
    }
}

/// A background process that touches the terminal is stopped by SIGTTOU, unless it holds that signal back.
pub fn without_being_stopped(action: impl FnOnce()) {
    let mut held = SigSet::empty();
    held.add(Signal::SIGTTOU);
    let before = held.thread_swap_mask(SigmaskHow::SIG_BLOCK);
    action();
    if let Ok(before) = before {
        let _ = before.thread_set_mask();
    }
}

/// Whether somebody may sit at a terminal, in the foreground or not.
pub fn is_there() -> bool {
    controlling().is_some() || isatty(stdin()) || isatty(stderr()) || has_terminal_number()
}

/// Whether a line on stderr can be drawn again: no other process group has that terminal. From the background it would be drawn over
/// what others write.
pub fn is_in_front() -> bool {
    tcgetpgrp(stderr()).map_or(true, |front| front == getpgrp())
}

fn controlling() -> Option<File> {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(CONTROLLING, flags, Mode::empty()).ok()?);
    isatty(&file).then_some(file)
}

/// Whether the kernel says that a terminal controls us, although its file is missing here.
fn has_terminal_number() -> bool {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name in front may hold anything; state, parent, group and session come before the terminal.
    let number = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(4));
    number.is_some_and(|number| number != "0")
}
