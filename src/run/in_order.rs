//! Puts what a harness recorded into the order in which it happened: claude may write an answer down before what it answers. Only
//! neighbours change places, so that a long record needs no more room than a short one.

use jiff::Timestamp;
use std::collections::VecDeque;

/// How many later records one is waited for.
const MOST_WAITING: usize = 64;

/// Records on their way, in the order of their times.
#[derive(Debug)]
pub(super) struct InOrder<T> {
    waiting: VecDeque<(Option<Timestamp>, T)>,
    /// The time of the last one that came; one without a time stays behind it.
    last: Option<Timestamp>,
}

impl<T> Default for InOrder<T> {
    fn default() -> Self {
        InOrder { waiting: VecDeque::new(), last: None }
    }
}

impl<T> InOrder<T> {
    /// Adds a record. Gives the first one, if enough have come after it.
    pub(super) fn push(&mut self, at: Option<Timestamp>, record: T) -> Option<T> {
        self.last = at.or(self.last);
        let at = self.last;
        let place = self.waiting.partition_point(|(earlier, _)| *earlier <= at);
        self.waiting.insert(place, (at, record));
        if self.waiting.len() > MOST_WAITING {
            self.waiting.pop_front().map(|(_, record)| record)
        } else {
            None
        }
    }

    /// What is still waiting.
    pub(super) fn rest(self) -> impl Iterator<Item = T> {
        self.waiting.into_iter().map(|(_, record)| record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ordered(records: &[(Option<i64>, usize)]) -> Vec<usize> {
        let mut in_order = InOrder::default();
        let mut out = Vec::new();
        for (second, record) in records {
            out.extend(in_order.push(second.map(|second| Timestamp::from_second(second).unwrap()), *record));
        }
        out.extend(in_order.rest());
        out
    }

    #[test]
    fn an_answer_that_was_written_first_comes_after_its_question() {
        assert_eq!(ordered(&[(Some(2), 1), (Some(1), 2), (Some(3), 3)]), [2, 1, 3]);
        // The same time, and no time at all, leave the order as it is.
        assert_eq!(
            ordered(&[(Some(2), 1), (Some(2), 2), (None, 3), (Some(1), 4), (None, 5)]),
            [4, 5, 1, 2, 3]
        );
        assert_eq!(ordered(&[(None, 1), (None, 2)]), [1, 2]);
        let many: Vec<(Option<i64>, usize)> =
            (0..500).map(|n| (Some(n), usize::try_from(n).unwrap())).collect();
        assert_eq!(ordered(&many), (0..500).collect::<Vec<_>>());
    }
}
