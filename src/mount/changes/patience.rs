//! How long texts are compared in one go. When the time is up, comparisons get coarser, not wrong: an agent could otherwise keep
//! the runner busy with texts that have hardly a line in common.

use std::time::{Duration, Instant};

/// One comparison.
const ONE: Duration = Duration::from_millis(500);
/// All of them together.
const ALL: Duration = Duration::from_secs(5);
/// One of those that come after that: what is small is compared as usual.
const LEAST: Duration = Duration::from_millis(10);

pub(super) struct Patience {
    until: Instant,
}

impl Patience {
    pub(super) fn new() -> Patience {
        Patience { until: Instant::now() + ALL }
    }

    /// When a comparison that begins now is to end.
    pub(super) fn deadline(&self) -> Instant {
        let now = Instant::now();
        self.until.clamp(now + LEAST, now + ONE)
    }

    pub(super) fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_comparison_takes_more_than_its_share() {
        let now = Instant::now();
        let fresh = Patience::new();
        assert!(!fresh.is_over() && fresh.deadline() >= now + ONE && fresh.deadline() < now + ALL);
        let over = Patience { until: now };
        assert!(over.is_over() && over.deadline() >= now + LEAST && over.deadline() < now + ONE);
    }
}
