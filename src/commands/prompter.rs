//! Asks the person at the terminal for a line, and watches for signals meanwhile: a prompt must not block them.

use crate::run::observer::Signals;
use nix::sys::signal::{Signal, kill};
use nix::unistd::getpid;
use rustix::event::{PollFd, PollFlags, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
use std::io::stdin;
use std::time::{Duration, Instant};

/// A Ctrl-C that was meant for the program that has just ended may still be on its way.
const STRAY: Duration = Duration::from_secs(1);

/// What came instead of a line, or the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Line(String),
    /// The terminal is gone, or Ctrl-D.
    End,
    /// The signal that tells us to end.
    Signal(i32),
}

/// Forgets what was typed before a question: it was meant for something else, or nobody typed it.
pub fn forget_typed() {
    // An input that is not a terminal has nothing to forget.
    let _ = rustix::termios::tcflush(stdin(), rustix::termios::QueueSelector::IFlush);
}

pub struct Prompter<'a> {
    signals: &'a mut dyn Signals,
    began: Instant,
    /// What was typed beyond the last line.
    typed: Vec<u8>,
}

impl<'a> Prompter<'a> {
    pub fn new(signals: &'a mut dyn Signals) -> Prompter<'a> {
        // What came before the question is no answer to it.
        forget_typed();
        signals.take();
        Prompter { signals, began: Instant::now(), typed: Vec::new() }
    }

    pub fn line(&mut self) -> Answer {
        loop {
            if let Some(end) = self.typed.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.typed.drain(..=end).collect();
                // Now, not when the next question is read: by then it may have been answered.
                forget_typed();
                self.typed.clear();
                return Answer::Line(String::from_utf8_lossy(&line).into_owned());
            }
            if let Some(signal) = self.heard() {
                return Answer::Signal(signal);
            }
            let stdin = stdin();
            let mut ready = [
                PollFd::new(&stdin, PollFlags::IN),
                PollFd::from_borrowed_fd(self.signals.wake_fd(), PollFlags::IN),
            ];
            if !matches!(poll(&mut ready, None), Ok(_) | Err(rustix::io::Errno::INTR)) {
                return Answer::End;
            }
            if ready[0].revents().is_empty() {
                continue;
            }
            let mut bytes = [0_u8; 1024];
            match rustix::io::read(&stdin, &mut bytes) {
                Ok(0) => return Answer::End,
                Ok(count) => self.typed.extend_from_slice(&bytes[..count]),
                Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
                // A terminal that was closed.
                Err(_) => return self.heard().map_or(Answer::End, Answer::Signal),
            }
        }
    }

    /// The signal that ends us, if one came. Ctrl-Z stops us here, where nobody else is in the foreground.
    fn heard(&mut self) -> Option<i32> {
        for signal in self.signals.take() {
            match signal {
                SIGTSTP => {
                    let _ = kill(getpid(), Signal::SIGSTOP);
                }
                SIGINT if self.began.elapsed() < STRAY => {}
                SIGINT | SIGQUIT | SIGTERM | SIGHUP => return Some(signal),
                _ => {}
            }
        }
        None
    }
}
