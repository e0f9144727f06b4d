//! Asks the person at the terminal for a line, and watches for signals meanwhile: a prompt must not block them.

use crate::host::terminal::UserTerminal;
use crate::run::observer::Signals;
use crate::ui::Ui;
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

/// Asks at a terminal that is ours.
pub struct Prompter<'a> {
    terminal: &'a UserTerminal,
    /// `None` where signals have their usual effect.
    signals: Option<&'a mut dyn Signals>,
    began: Instant,
    /// What was typed beyond the last line.
    typed: Vec<u8>,
    /// The signal that told us to end: no further question is asked.
    ended_by: Option<i32>,
}

impl<'a> Prompter<'a> {
    pub fn new(terminal: &'a UserTerminal, signals: Option<&'a mut dyn Signals>) -> Prompter<'a> {
        let mut prompter =
            Prompter { terminal, signals, began: Instant::now(), typed: Vec::new(), ended_by: None };
        prompter.forget();
        prompter
    }

    /// The answer to a question. What came before it is no answer.
    pub fn ask(&mut self, question: &str, ui: &mut Ui) -> Answer {
        if let Some(signal) = self.ended_by {
            return Answer::Signal(signal);
        }
        self.terminal.forget_typed();
        self.typed.clear();
        ui.say(question);
        let answer = self.line();
        if let Answer::Signal(signal) = answer {
            self.ended_by = Some(signal);
        }
        answer
    }

    /// Whether the answer is yes.
    pub fn confirms(&mut self, question: &str, ui: &mut Ui) -> bool {
        let answer = self.ask(&format!("{question} [y/N]"), ui);
        matches!(answer, Answer::Line(sure) if matches!(sure.trim(), "y" | "Y" | "yes"))
    }

    /// Forgets what was typed, and the signals that came.
    pub fn forget(&mut self) {
        self.terminal.forget_typed();
        self.typed.clear();
        if let Some(signals) = &mut self.signals {
            signals.take();
        }
    }

    fn line(&mut self) -> Answer {
        loop {
            if let Some(end) = self.typed.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.typed.drain(..=end).collect();
                return Answer::Line(String::from_utf8_lossy(&line).into_owned());
            }
            if let Some(signal) = self.heard() {
                return Answer::Signal(signal);
            }
            let input = self.terminal.input();
            let mut ready = vec![PollFd::from_borrowed_fd(input, PollFlags::IN)];
            ready.extend(
                self.signals.iter().map(|signals| PollFd::from_borrowed_fd(signals.wake_fd(), PollFlags::IN)),
            );
            if !matches!(poll(&mut ready, None), Ok(_) | Err(rustix::io::Errno::INTR)) {
                return Answer::End;
            }
            if ready[0].revents().is_empty() {
                continue;
            }
            let mut bytes = [0_u8; 1024];
            match rustix::io::read(input, &mut bytes) {
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
        for signal in self.signals.as_mut().map(|signals| signals.take()).unwrap_or_default() {
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
