//! A terminal that is lent to a list: a screen of its own, every key at once. However that ends, it is set back.

use super::chooser::{Chooser, Decision};
use super::keys::KeyReader;
use crate::host::terminal::UserTerminal;
use anstream::{AutoStream, ColorChoice};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{OptionalActions, Termios, tcsetattr};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::{Mutex, PoisonError};

/// The other screen, cleared; lines that are too long do not wrap.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[?7l\x1b[2J\x1b[H";
const LEAVE: &[u8] = b"\x1b[?7h\x1b[?25h\x1b[?1049l";
/// How long the rest of a key may take after its Escape, over a slow connection too.
const REST_OF_KEY: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
/// Of a terminal that does not say.
const USUAL_SIZE: (u16, u16) = (24, 80);

/// What a terminal was like before it was lent.
static LENT: Mutex<Option<(File, Termios)>> = Mutex::new(None);

/// What became of the question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Decided(Decision),
    /// The terminal is gone.
    End,
    /// A signal that tells us to end.
    Signal(i32),
}

/// Sets a lent terminal back, if there is one. For the end of the process, too.
pub fn give_back() {
    let lent = LENT.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some((mut terminal, settings)) = lent {
        let _ = terminal.write_all(LEAVE);
        let _ = tcsetattr(&terminal, OptionalActions::Drain, &settings);
    }
}

struct Lent;

impl Drop for Lent {
    fn drop(&mut self) {
        give_back();
    }
}

/// Signals as something to wait for; they have their usual effect again when this is dropped.
struct Signals {
    fd: SignalFd,
    before: SigSet,
}

impl Signals {
    fn catch() -> io::Result<Signals> {
        let mut set = SigSet::empty();
        // Stopped, we would leave the terminal as it is now.
        let ignored = [Signal::SIGWINCH, Signal::SIGTSTP];
        for signal in
            [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT].into_iter().chain(ignored)
        {
            set.add(signal);
        }
        let before = SigSet::thread_get_mask()?;
        let fd = SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        set.thread_block()?;
        Ok(Signals { fd, before })
    }

    /// The signal that ends us, if one came.
    fn ending(&mut self) -> Option<i32> {
        while let Ok(Some(info)) = self.fd.read_signal() {
            let signal = i32::try_from(info.ssi_signo).unwrap_or(0);
            if signal != Signal::SIGWINCH as i32 && signal != Signal::SIGTSTP as i32 {
                return Some(signal);
            }
        }
        None
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        let _ = self.before.thread_set_mask();
    }
}

/// Shows the list until something is decided.
pub fn choose(chooser: &mut Chooser, terminal: &UserTerminal) -> io::Result<Answer> {
    let settings = terminal.settings().ok_or_else(|| io::Error::other("the terminal has no settings"))?;
    let mut output = terminal.output()?;
    let with_colour = AutoStream::choice(&output) != ColorChoice::Never;
    let mut signals = Signals::catch()?;
    let mut raw = settings.clone();
    raw.make_raw();
    *LENT.lock().unwrap_or_else(PoisonError::into_inner) = Some((terminal.output()?, settings));
    let _lent = Lent;
    tcsetattr(&output, OptionalActions::Drain, &raw)?;
    output.write_all(ENTER)?;
    let mut reader = KeyReader::default();
    loop {
        let (rows, columns) = terminal.size().unwrap_or(USUAL_SIZE);
        let (rows, columns) = (usize::from(rows), usize::from(columns));
        draw(&mut output, &chooser.lines(rows, columns), rows, with_colour)?;
        let mut ready = [
            PollFd::from_borrowed_fd(terminal.input(), PollFlags::IN),
            PollFd::from_borrowed_fd(signals.fd.as_fd(), PollFlags::IN),
        ];
        let patience = reader.is_waiting().then_some(REST_OF_KEY);
        let count = match poll(&mut ready, patience.as_ref()) {
            Err(rustix::io::Errno::INTR) => continue,
            other => other?,
        };
        let has_input = !ready[0].revents().is_empty();
        if let Some(signal) = signals.ending() {
            return Ok(Answer::Signal(signal));
        }
        let mut keys = Vec::new();
        if has_input {
            let mut bytes = [0_u8; 256];
            match rustix::io::read(terminal.input(), &mut bytes) {
                Ok(0) => return Ok(Answer::End),
                Ok(count) => keys = reader.read(&bytes[..count]),
                Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
                Err(_) => return Ok(Answer::End),
            }
        } else if count == 0 {
            keys.extend(reader.give_up());
        }
        if let Some(decision) = keys.into_iter().find_map(|key| chooser.press(key, rows)) {
            return Ok(Answer::Decided(decision));
        }
    }
}

/// All lines in one write, and the cursor behind the first.
fn draw(output: &mut File, lines: &[String], rows: usize, with_colour: bool) -> io::Result<()> {
    let mut frame = String::from("\x1b[?25l");
    for (index, line) in lines.iter().enumerate().skip(1) {
        frame.push_str(&format!("\x1b[{};1H\x1b[2K", index + 1));
        push_line(&mut frame, line, with_colour);
    }
    if lines.len() < rows {
        frame.push_str(&format!("\x1b[{};1H\x1b[J", lines.len() + 1));
    }
    frame.push_str("\x1b[H\x1b[2K");
    if let Some(first) = lines.first() {
        push_line(&mut frame, first, with_colour);
    }
    frame.push_str("\x1b[?25h");
    output.write_all(frame.as_bytes())
}

fn push_line(frame: &mut String, line: &str, with_colour: bool) {
    if with_colour {
        frame.push_str(line);
    } else {
        frame.push_str(&anstream::adapter::strip_str(line).to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::pty::openpty;
    use rustix::termios::tcgetattr;
    use std::io::Read;

    /// As the hook of a panic does it, which runs no destructors.
    #[test]
    fn a_lent_terminal_is_given_back_once() {
        let ends = openpty(None, None).expect("a terminal");
        let (mut master, slave) = (File::from(ends.master), File::from(ends.slave));
        let modes = |terminal: &File| {
            let settings = tcgetattr(terminal).expect("settings");
            (settings.local_modes, settings.input_modes, settings.output_modes)
        };
        let before = tcgetattr(&slave).expect("settings");
        let usual = modes(&slave);
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(&slave, OptionalActions::Now, &raw).expect("ours");
        assert_ne!(modes(&slave), usual);
        *LENT.lock().unwrap() = Some((slave.try_clone().expect("a descriptor"), before));
        let reader = std::thread::spawn(move || {
            let mut bytes = vec![0; LEAVE.len()];
            master.read_exact(&mut bytes).expect("it is told to");
            (bytes, master)
        });
        give_back();
        let (bytes, _master) = reader.join().expect("no panic");
        assert_eq!(bytes, LEAVE);
        assert_eq!(modes(&slave), usual);
        assert!(LENT.lock().unwrap().is_none());
        give_back();
    }
}
