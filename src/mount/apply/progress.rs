//! Counts the progress of this process's apply, for others to display.

use std::sync::atomic::{AtomicUsize, Ordering};

/// How many applies are running: one, except in tests.
static UNDERWAY: AtomicUsize = AtomicUsize::new(0);
static STEPS: AtomicUsize = AtomicUsize::new(0);
static DONE: AtomicUsize = AtomicUsize::new(0);

/// Exists while an apply is running.
pub(super) struct Underway;

impl Underway {
    pub(super) fn begin() -> Underway {
        STEPS.store(0, Ordering::Relaxed);
        DONE.store(0, Ordering::Relaxed);
        UNDERWAY.fetch_add(1, Ordering::Relaxed);
        Underway
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        UNDERWAY.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Sets the total number of steps.
pub(super) fn expect(steps: usize) {
    DONE.store(0, Ordering::Relaxed);
    STEPS.store(steps, Ordering::Relaxed);
}

/// Counts one finished step.
pub(super) fn advance() {
    DONE.fetch_add(1, Ordering::Relaxed);
}

/// The number of finished steps and the total, which is zero while unknown; `None` if no apply is running.
pub fn now() -> Option<(usize, usize)> {
    let is_underway = UNDERWAY.load(Ordering::Relaxed) > 0;
    is_underway.then(|| (DONE.load(Ordering::Relaxed), STEPS.load(Ordering::Relaxed)))
}
