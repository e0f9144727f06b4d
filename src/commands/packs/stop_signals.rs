//! Notes signals that ask the process to end, so that none interrupts a write.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Catches the signals from its creation on; the caller checks between steps.
pub struct StopSignals(Arc<AtomicUsize>);

impl StopSignals {
    pub fn catch() -> io::Result<StopSignals> {
        let received = Arc::new(AtomicUsize::new(0));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let number = usize::try_from(signal).map_err(io::Error::other)?;
            signal_hook::flag::register_usize(signal, Arc::clone(&received), number)?;
        }
        Ok(StopSignals(received))
    }

    /// The number of the last signal.
    pub fn received(&self) -> Option<u8> {
        let number = self.0.load(Ordering::Relaxed);
        (number != 0).then(|| u8::try_from(number).unwrap_or(u8::MAX))
    }
}
