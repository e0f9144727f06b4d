//! Catches signals and keeps them until the caller takes them; the caller decides what they mean.

use crate::host::interruption;
use signal_hook::consts::{SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The signals that ask us to end.
const ENDING: [i32; 4] = [SIGINT, SIGQUIT, SIGTERM, SIGHUP];

/// Caught signals. From its creation to the end of the process these signals no longer end us.
#[derive(Debug)]
pub struct SignalInbox {
    wake: UnixStream,
    caught: Vec<(i32, Arc<AtomicBool>)>,
}

impl SignalInbox {
    /// Catches these signals, except those that were already ignored when we started (`nohup`, a background job of a script): we and
    /// the child keep ignoring them. Uses handlers, not the signal mask, because a child would inherit the mask.
    pub fn catch(signals: &[i32]) -> io::Result<SignalInbox> {
        let ignored = ignored_signals();
        let (wake, ring) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        ring.set_nonblocking(true)?;
        let mut caught = Vec::new();
        for &signal in signals {
            // If SIGCHLD stayed ignored, no child could be waited for; without SIGCONT, none could be continued.
            if ignored & (1 << (signal - 1)) != 0 && ![SIGCHLD, SIGCONT].contains(&signal) {
                continue;
            }
            let flag = Arc::new(AtomicBool::new(false));
            // The flag first: whoever is woken must find it raised.
            signal_hook::flag::register(signal, Arc::clone(&flag))?;
            if ENDING.contains(&signal) {
                let number = usize::try_from(signal).unwrap_or_default();
                signal_hook::flag::register_usize(signal, interruption::flag(), number)?;
            }
            signal_hook::low_level::pipe::register(signal, ring.try_clone()?)?;
            caught.push((signal, flag));
        }
        Ok(SignalInbox { wake, caught })
    }

    /// The signals that came since the last time.
    pub fn take(&mut self) -> Vec<i32> {
        interruption::clear();
        let mut bytes = [0_u8; 64];
        while self.wake.read(&mut bytes).is_ok_and(|count| count > 0) {}
        let raised =
            |(signal, flag): &(i32, Arc<AtomicBool>)| flag.swap(false, Ordering::SeqCst).then_some(*signal);
        self.caught.iter().filter_map(raised).collect()
    }

    /// Takes this one signal, whether it came or not.
    pub fn forget(&mut self, signal: i32) {
        for (_, flag) in self.caught.iter().filter(|(caught, _)| *caught == signal) {
            flag.store(false, Ordering::SeqCst);
        }
        if interruption::signal() == Some(signal) {
            interruption::clear();
        }
    }

    /// The signal that asks us to end, if one came; it stays to be taken.
    pub fn asked_to_end(&self) -> Option<i32> {
        let raised =
            |(signal, flag): &&(i32, Arc<AtomicBool>)| ENDING.contains(signal) && flag.load(Ordering::SeqCst);
        self.caught.iter().find(raised).map(|(signal, _)| *signal)
    }

    /// Readable when there is something to take.
    pub fn wake_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}

/// The signals that this process ignores, as a set of bits.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0)
}
