//! A bar on the terminal for work that takes longer than a moment: how much of it is done. It is drawn while the caller works, and
//! taken away at the end. What is counted is the caller's business.

use super::IS_LINE_DRAWN;
use crate::host::{Host, terminal};
use std::io::{self, Write};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Work that is done by then needs no bar.
const PATIENCE: Duration = Duration::from_secs(1);
const REDRAW: Duration = Duration::from_millis(100);
const CELLS: usize = 30;

/// How many steps are done and how many there are, zero as long as nobody knows; `None` while there is no such work.
pub type Count = fn() -> Option<(usize, usize)>;

/// As long as it lives, it shows what the count says.
pub struct Bar {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Bar {
    /// `None` where there is no terminal that could show it.
    pub fn start(host: &Host, what: &'static str, count: Count) -> Option<Bar> {
        let is_drawn = host.stderr_is_terminal && terminal::is_in_front();
        if !is_drawn || host.var("TERM").is_none_or(|term| term == "dumb") {
            return None;
        }
        let (end, ended) = channel();
        let draw = move || {
            let mut since = None;
            let mut is_shown = false;
            while ended.recv_timeout(REDRAW) == Err(RecvTimeoutError::Timeout) {
                let Some((done, all)) = count() else {
                    since = None;
                    continue;
                };
                if since.get_or_insert_with(Instant::now).elapsed() >= PATIENCE {
                    let text = text(what, done, all);
                    // In the last column a terminal may begin a new line.
                    show(text.get(..columns().saturating_sub(1)).unwrap_or(&text));
                    is_shown = true;
                }
            }
            if is_shown {
                show("");
            }
        };
        let thread = std::thread::Builder::new().spawn(draw).ok()?;
        Some(Bar { end: Some(end), thread: Some(thread) })
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn text(what: &str, done: usize, all: usize) -> String {
    if all == 0 {
        return format!("{what} ...");
    }
    let done = done.min(all);
    let filled = done * CELLS / all;
    let (filled, empty) = ("#".repeat(filled), "-".repeat(CELLS - filled));
    format!("{what} [{filled}{empty}] {:>3} %", done * 100 / all)
}

/// In place of what the line had. Whatever is printed next takes it away first.
fn show(text: &str) {
    let mut err = io::stderr().lock();
    IS_LINE_DRAWN.store(!text.is_empty(), Ordering::Relaxed);
    let _ = write!(err, "\r\x1b[2K{text}").and_then(|()| err.flush());
}

fn columns() -> usize {
    match rustix::termios::tcgetwinsize(io::stderr()) {
        Ok(size) if size.ws_col > 0 => usize::from(size.ws_col),
        _ => 80,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_at_its_end_as_at_its_beginning_and_fits_into_80_columns() {
        assert_eq!(text("applying", 0, 0), "applying ...");
        assert_eq!(text("applying", 1, 2), format!("applying [{}{}]  50 %", "#".repeat(15), "-".repeat(15)));
        for done in 0..=250 {
            assert_eq!(text("applying", done, 200).len(), text("applying", 0, 200).len());
        }
        assert!(text("applying", 200, 200).len() < 80);
        assert!(text("applying", 200, 200).ends_with(" 100 %"));
    }
}
