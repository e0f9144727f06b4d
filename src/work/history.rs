//! What happened in a piece of work so far: attempts, advice, what was spent. It is written to disk after each step, so that work that
//! was interrupted goes on with its counts. It decides nothing.

use crate::model::verdict::{AttemptRecord, AttemptStrategy, Blocker};
use crate::model::worker_report::{AdvisorReason, AdvisorResponse};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct History {
    /// All attempts of the work in order, those of its parts included.
    pub attempts: Vec<AttemptRecord>,
    /// The part that is being worked on; none for the whole task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subtask: Option<String>,
    /// How many attempts there were when it began.
    pub subtask_start: usize,
    /// How often only the report was sent back, in this part.
    pub report_returns: u32,
    /// How often nothing moved for too long, in this part.
    pub stalls: u32,
    /// How often a reviewer was asked, in this part.
    pub reviews: u32,
    pub consults: Vec<Consult>,
    /// How often the task was split.
    pub decompositions: u32,
    /// What was spent on everything, races and judges included.
    pub spent_usd: f64,
    pub elapsed_seconds: f64,
    /// What the last attempt failed of: ids of checks, names of tests.
    pub last_failures: BTreeSet<String>,
    /// Those of the attempt before.
    pub failures_before: BTreeSet<String>,
}

/// An advisor that was asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Consult {
    pub trigger_hash: String,
    pub reason: AdvisorReason,
    /// How many attempts there had been.
    pub attempt: usize,
    /// None if it gave no valid answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<AdvisorResponse>,
}

impl History {
    /// Adds an attempt that ended, with what it failed of ([`super::signal::failures`]).
    pub fn record(&mut self, attempt: AttemptRecord, failures: BTreeSet<String>) {
        if attempt.strategy == AttemptStrategy::ReportOnly {
            self.report_returns += 1;
        }
        self.spent_usd += attempt.usage.cost_usd.filter(|cost| cost.is_finite()).unwrap_or(0.0).max(0.0);
        self.attempts.push(attempt);
        self.failures_before = std::mem::replace(&mut self.last_failures, failures);
    }

    /// Replaces the last attempt, after a reviewer added a check to it.
    pub fn amend(&mut self, attempt: AttemptRecord, failures: BTreeSet<String>) {
        self.attempts.pop();
        self.attempts.push(attempt);
        self.last_failures = failures;
    }

    /// Adds the answer of an advisor, or that there was none.
    pub fn record_consult(
        &mut self,
        trigger_hash: String,
        reason: AdvisorReason,
        response: Option<AdvisorResponse>,
    ) {
        let attempt = self.attempts.len();
        self.consults.push(Consult { trigger_hash, reason, attempt, response });
    }

    /// Begins a part of the task, or the whole again (`None`). Budgets belong to the part and start anew; what was spent, advice and
    /// splits belong to the whole.
    pub fn begin_subtask(&mut self, id: Option<String>) {
        self.subtask = id;
        self.subtask_start = self.attempts.len();
        self.report_returns = 0;
        self.stalls = 0;
        self.reviews = 0;
        self.last_failures.clear();
        self.failures_before.clear();
    }

    /// The attempts of the current part.
    pub fn current(&self) -> &[AttemptRecord] {
        self.attempts.get(self.subtask_start..).unwrap_or_default()
    }

    /// How many of them count as attempts: returns of the report alone have their own budget.
    pub fn attempts_used(&self) -> u32 {
        let counted = self.current().iter().filter(|attempt| attempt.strategy != AttemptStrategy::ReportOnly);
        u32::try_from(counted.count()).unwrap_or(u32::MAX)
    }

    /// Whether an attempt of the current part went round in circles.
    pub fn has_looped(&self) -> bool {
        self.current().iter().any(|attempt| attempt.signal.blocker_type == Some(Blocker::Loop))
    }

    pub fn was_asked(&self, trigger_hash: &str) -> bool {
        self.consults.iter().any(|consult| consult.trigger_hash == trigger_hash)
    }

    /// The advice that is for the next attempt: given since the last one ended.
    pub fn new_advice(&self) -> impl Iterator<Item = &AdvisorResponse> {
        let now = self.attempts.len();
        self.consults
            .iter()
            .filter(move |consult| consult.attempt == now)
            .filter_map(|consult| consult.response.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::report::Usage;
    use crate::model::verdict::{Confidence, Signal};

    fn attempt(strategy: AttemptStrategy) -> AttemptRecord {
        let signal = Signal {
            confidence: Confidence::Low,
            progress_made: true,
            blocker_type: Some(Blocker::Partial),
            suggested_strategy: None,
        };
        AttemptRecord {
            number: 1,
            strategy,
            checks: Vec::new(),
            signal,
            changes: 1,
            seconds: 2.0,
            usage: Usage { cost_usd: Some(0.25), ..Usage::default() },
            signature: Some("abc".into()),
            change_set: "x".into(),
        }
    }

    #[test]
    fn budgets_start_anew_with_a_part_and_money_does_not() {
        let mut history = History::default();
        history.record(attempt(AttemptStrategy::First), BTreeSet::from(["validation/1".into()]));
        history.record(attempt(AttemptStrategy::ReportOnly), BTreeSet::new());
        history.stalls = 1;
        assert_eq!((history.attempts_used(), history.report_returns), (1, 1));
        history.begin_subtask(Some("part".into()));
        assert_eq!((history.attempts_used(), history.report_returns, history.stalls), (0, 0, 0));
        assert!(history.current().is_empty() && history.last_failures.is_empty());
        assert!((history.spent_usd - 0.5).abs() < 1e-9);
    }

    #[test]
    fn a_history_survives_the_disk() {
        let mut history = History::default();
        history.record(attempt(AttemptStrategy::First), BTreeSet::from(["scope".into()]));
        history.record_consult("t:needs-spike:x".into(), AdvisorReason::NeedsSpike, None);
        let text = serde_json::to_string(&history).unwrap();
        assert!(text.contains("\"subtaskStart\"") && text.contains("\"triggerHash\""), "{text}");
        assert_eq!(serde_json::from_str::<History>(&text).unwrap(), history);
        assert_eq!(serde_json::from_str::<History>("{}").unwrap(), History::default());
    }

    #[test]
    fn what_a_harness_says_it_cost_cannot_lower_the_sum() {
        let mut history = History::default();
        for cost in [-5.0, f64::NAN, f64::INFINITY, 0.5] {
            let usage = Usage { cost_usd: Some(cost), ..Usage::default() };
            history.record(AttemptRecord { usage, ..attempt(AttemptStrategy::Retry) }, BTreeSet::new());
        }
        assert!((history.spent_usd - 0.5).abs() < 1e-9);
    }
}
