//! Whether a signal asked this process to end and nobody has dealt with it yet. For loops that may be long; who catches signals
//! and what they mean is decided elsewhere.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

static ASKED: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);

/// For whoever catches signals: holds the number of the last one, or zero.
pub fn flag() -> Arc<AtomicUsize> {
    Arc::clone(&ASKED)
}

/// The signal that waits for an answer.
pub fn signal() -> Option<i32> {
    i32::try_from(ASKED.load(Ordering::SeqCst)).ok().filter(|&signal| signal != 0)
}

/// The signal was dealt with.
pub fn clear() {
    ASKED.store(0, Ordering::SeqCst);
}

/// An error if a signal waits.
pub fn check() -> io::Result<()> {
    match signal() {
        None => Ok(()),
        Some(signal) => Err(io::Error::other(format!("stopped by signal {signal}"))),
    }
}
