//! Which of several approved results is applied. It compares what was measured, never what was said.

use crate::model::verdict::{Confidence, Ruling};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// What one of them came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entrant {
    pub persona: String,
    pub ruling: Ruling,
    pub confidence: Confidence,
    pub changed_lines: u64,
    /// None: the harness does not say.
    pub cost_usd: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RaceResult {
    /// By its place in the list; none if none was approved.
    pub best: Option<usize>,
    /// Others that were just as good: the order of the list decided.
    pub ties: Vec<usize>,
}

/// Confidence, then fewer changed lines, then lower cost, then order.
pub fn best(entrants: &[Entrant]) -> RaceResult {
    let approved = || entrants.iter().enumerate().filter(|(_, entrant)| entrant.ruling == Ruling::Approve);
    let mut best: Option<(usize, &Entrant)> = None;
    for (place, entrant) in approved() {
        if best.is_none_or(|(_, other)| compare(entrant, other) == Ordering::Less) {
            best = Some((place, entrant));
        }
    }
    let Some((first, winner)) = best else { return RaceResult { best: None, ties: Vec::new() } };
    let ties =
        approved().filter(|(place, entrant)| *place != first && compare(entrant, winner) == Ordering::Equal);
    RaceResult { best: Some(first), ties: ties.map(|(place, _)| place).collect() }
}

/// Less is better.
fn compare(one: &Entrant, other: &Entrant) -> Ordering {
    // An unknown cost is no low one.
    let cost = |entrant: &Entrant| {
        entrant.cost_usd.filter(|cost| cost.is_finite() && *cost >= 0.0).unwrap_or(f64::INFINITY)
    };
    other
        .confidence
        .cmp(&one.confidence)
        .then(one.changed_lines.cmp(&other.changed_lines))
        .then(cost(one).total_cmp(&cost(other)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entrant(ruling: Ruling, confidence: Confidence, changed_lines: u64, cost: f64) -> Entrant {
        Entrant { persona: "x".into(), ruling, confidence, changed_lines, cost_usd: Some(cost) }
    }

    #[test]
    fn the_best_is_sure_then_small_then_cheap_then_first() {
        use Confidence::{High, Medium};
        use Ruling::{Approve, RequestChanges};
        let cases = [
            (vec![(Approve, Medium, 1, 0.1), (Approve, High, 90, 9.0)], Some(1), vec![]),
            (vec![(Approve, High, 10, 0.1), (Approve, High, 9, 9.0)], Some(1), vec![]),
            (vec![(Approve, High, 9, 0.2), (Approve, High, 9, 0.1)], Some(1), vec![]),
            (
                vec![(Approve, High, 9, 0.1), (Approve, High, 9, 0.1), (Approve, High, 9, 0.1)],
                Some(0),
                vec![1, 2],
            ),
            (vec![(RequestChanges, High, 1, 0.0), (Approve, Medium, 99, 1.0)], Some(1), vec![]),
            (vec![(Approve, High, 9, f64::NAN), (Approve, High, 9, 5.0)], Some(1), vec![]),
            (vec![(Approve, High, 9, -1.0), (Approve, High, 9, 5.0)], Some(1), vec![]),
            (vec![(RequestChanges, High, 1, 0.0)], None, vec![]),
            (vec![], None, vec![]),
        ];
        for (entrants, first, ties) in cases {
            let entrants: Vec<Entrant> = entrants
                .into_iter()
                .map(|(ruling, confidence, lines, cost)| entrant(ruling, confidence, lines, cost))
                .collect();
            assert_eq!(best(&entrants), RaceResult { best: first, ties }, "{entrants:?}");
        }
    }
}
