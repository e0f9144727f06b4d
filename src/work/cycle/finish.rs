//! The end of a piece of work: what is approved is applied, what is not is held, and the verdict is written.

use super::drive::{End, Work, empty_verdict, no_signal};
use super::measure::Measured;
use super::record::write_verdict;
use super::request::{FinishedWork, WorkEvent, WorkObserver, exit_of};
use super::{roles, settle};
use crate::exit::Exit;
use crate::model::plan::ApplyPolicy;
use crate::model::report::Status;
use crate::model::verdict::{Check, CheckName, Ruling, Verdict};
use crate::run::RunEvent;
use crate::run::finish::ApplyGate;
use crate::run::observer::Decider;
use crate::work::evidence::{Evidence, LARGEST_TEXT};
use crate::work::next;
use anyhow::{Context, Result};

impl Work<'_> {
    /// Applies what is approved, holds what is not, and writes the verdict.
    pub(super) fn finish(
        mut self,
        end: &End,
        observer: &mut dyn WorkObserver,
        decider: &mut dyn Decider,
    ) -> Result<FinishedWork> {
        let is_noop = matches!(end, End::Noop);
        let (mut ruling, mut reason, asked) = match end {
            End::Approved => (Ruling::Approve, None, None),
            End::Noop => (Ruling::Skipped, noop_reason(self.last.as_ref()), None),
            End::Stopped(stop) => (stop.ruling, Some(stop.reason.clone()), stop.request.clone()),
            End::Interrupted(signal) => (Ruling::Escalated, Some(format!("ended by signal {signal}")), None),
        };
        if let Some(asked) = asked {
            self.advice.insert(0, serde_json::to_value(asked)?);
        }
        if ruling == Ruling::Approve && !self.is_still_frozen()? {
            ruling = Ruling::Escalated;
            reason = Some("the result has changed since it was verified: nothing is applied".to_owned());
        }
        self.open.review_for_report()?;
        self.write_history()?;
        let verdict = self.verdict(ruling);
        write_verdict(&self.open, &self.open.redacted(&verdict)?)?;
        self.open.note_verdict(ruling)?;
        self.engine.crash_points.at("work: decided");
        let gate = if ruling == Ruling::Approve { ApplyGate::Open } else { ApplyGate::Closed };
        if gate == ApplyGate::Open && self.open.plan().changes.apply == ApplyPolicy::Ask {
            // Whoever is asked next wants to know what was measured.
            let measured = verdict.checks.iter().filter(|check| check.id.name == CheckName::Validation);
            let measured: Vec<&str> = measured.map(|check| check.observed.as_str()).collect();
            let confidence = verdict.signal.confidence.text();
            let text = format!("approved, confidence {confidence}: {}", measured.join("; "));
            observer.work(&WorkEvent::Note(&text));
        }
        let changes = self.open.finish_changes(gate, decider)?;
        self.engine.crash_points.at("work: settled");
        let mut exit = match end {
            End::Interrupted(signal) => Exit::Signal(u8::try_from(*signal).unwrap_or(0)),
            _ => exit_of(ruling, is_noop, changes.exit()),
        };
        let has_run_out = self.outcome.as_ref().is_some_and(|outcome| outcome.status == Status::TimedOut);
        let is_over = next::over_budget(&self.request.contract, &self.history).is_some();
        if ruling != Ruling::Approve && has_run_out && is_over {
            exit = Exit::TimedOut;
        }
        let was_applied = changes.applied.is_some() && ruling == Ruling::Approve;
        let mut commit = None;
        if was_applied && exit == Exit::Done {
            let settled = settle::after_apply(
                self.engine,
                self.request,
                &self.open,
                &changes,
                self.summary().as_deref(),
            );
            commit = settled.commit;
            for warning in settled.warnings {
                observer.event(&RunEvent::Warning(&warning));
                self.warnings.push(warning);
            }
        }
        let verdict = Verdict { apply: self.open.report.applied(), ..self.verdict(ruling) };
        let value = self.open.redacted(&verdict)?;
        write_verdict(&self.open, &value)?;
        self.open
            .write_report(exit, crate::session::kept_report::REPORT_FILE)
            .context("the report could not be written")?;
        self.open.note_end(&changes)?;
        self.open.note_verdict(ruling)?;
        let executions = self.last.map(|last| last.evidence.executions).unwrap_or_default();
        Ok(FinishedWork {
            verdict,
            value,
            reason,
            exit,
            executions,
            contract: self.request.contract.clone(),
            commit,
        })
    }

    /// Whether the mount still has exactly what was verified.
    fn is_still_frozen(&mut self) -> Result<bool> {
        let now = self.open.freeze(LARGEST_TEXT)?;
        Ok(self.last.as_ref().is_some_and(|last| super::changes::is_same(&last.frozen, &now)))
    }

    fn summary(&self) -> Option<String> {
        let report = self.last.as_ref()?.evidence.testimony.report.as_ref()?;
        Some(report.summary.clone()).filter(|summary| !summary.trim().is_empty())
    }

    fn verdict(&self, ruling: Ruling) -> Verdict {
        let record = self.history.attempts.last();
        let checks: Vec<Check> = self.last.as_ref().map(|last| last.checks.clone()).unwrap_or_default();
        let evidence: Option<&Evidence> = self.last.as_ref().map(|last| &last.evidence);
        let mut warnings = self.open.report.warnings.clone();
        warnings.extend(self.warnings.iter().cloned());
        Verdict {
            session: Some(self.open.session().id.to_string()),
            checks,
            signal: record.map_or_else(no_signal, |record| record.signal),
            advice: self.advice.clone(),
            review: self.review.clone(),
            apply: self.open.report.applied(),
            report: evidence.and_then(|evidence| evidence.testimony.raw.clone()),
            followups: roles::followups(self.review.as_ref()),
            warnings,
            ..empty_verdict(self.request, &self.history, ruling)
        }
    }
}

fn noop_reason(last: Option<&Measured>) -> Option<String> {
    let report = last?.evidence.testimony.report.as_ref()?;
    report.noop.as_ref().map(|why| format!("nothing had to be changed: {why}"))
}
