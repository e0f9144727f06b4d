//! How far the apply of this process is, for whoever shows it. It counts; it shows nothing.

use std::sync::atomic::{AtomicUsize, Ordering};

/// How many are under way: one, but for tests.
static UNDERWAY: AtomicUsize = AtomicUsize::new(0);
static STEPS: AtomicUsize = AtomicUsize::new(0);
static DONE: AtomicUsize = AtomicUsize::new(0);

/// An apply, from its beginning to its end.
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

/// It is known how much there is to do.
pub(super) fn expect(steps: usize) {
    DONE.store(0, Ordering::Relaxed);
    STEPS.store(steps, Ordering::Relaxed);
}

/// One step more is done.
pub(super) fn advance() {
    DONE.fetch_add(1, Ordering::Relaxed);
}

/// How many steps are done and how many there are, which is zero as long as nobody knows; `None` if there is no apply.
pub fn now() -> Option<(usize, usize)> {
    let is_underway = UNDERWAY.load(Ordering::Relaxed) > 0;
    is_underway.then(|| (DONE.load(Ordering::Relaxed), STEPS.load(Ordering::Relaxed)))
}
