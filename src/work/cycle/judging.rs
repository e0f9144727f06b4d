//! The steps of the loop in which another persona is asked: advice, review, and a task that is split.

use super::drive::{End, Work};
use super::request::{WorkEvent, WorkObserver};
use crate::model::contract::Contract;
use crate::model::verdict::AttemptStrategy;
use crate::model::warning::WarningCode;
use crate::model::worker_report::{AdvisorRequest, TaskPlan};
use crate::work::next::{self, NextAttempt};
use crate::work::signal::{failures, signal};
use crate::work::signature::signature;
use crate::work::{correction, task_plan};
use anyhow::Result;

impl Work<'_> {
    pub(super) fn consult(
        &mut self,
        contract: &Contract,
        asked: &AdvisorRequest,
        observer: &mut dyn WorkObserver,
    ) -> Result<()> {
        let response =
            self.roles.advise(contract, asked, Some(&mut self.open), observer, &mut self.history)?;
        self.advice.extend(response.map(serde_json::to_value).transpose()?);
        self.write_history()?;
        self.engine.crash_points.at("work: advised");
        Ok(())
    }

    pub(super) fn review(&mut self, contract: &Contract, observer: &mut dyn WorkObserver) -> Result<()> {
        let Some(last) = &mut self.last else { return Ok(()) };
        self.history.reviews += 1;
        let reviewed = self.roles.review(contract, last, &mut self.open, observer, &mut self.history)?;
        self.review = reviewed.answer;
        last.checks.retain(|check| check.id != reviewed.check.id);
        last.checks.push(reviewed.check);
        if let Some(mut record) = self.history.attempts.last().cloned() {
            // What came before the attempt decides about its signal.
            let mut before = self.history.clone();
            before.attempts.pop();
            before.last_failures.clone_from(&self.history.failures_before);
            record.checks.clone_from(&last.checks);
            record.signal = signal(&last.evidence, &last.checks, &before);
            record.signature = signature(&last.checks);
            let failed = failures(&last.evidence, &last.checks);
            observer.work(&WorkEvent::Measured {
                number: record.number,
                checks: &record.checks,
                signal: &record.signal,
            });
            self.history.amend(record, failed);
        }
        self.write_history()?;
        self.engine.crash_points.at("work: reviewed");
        Ok(())
    }

    /// Asks the planner; `None` if it gave no usable plan.
    pub(super) fn plan(
        &mut self,
        contract: &Contract,
        observer: &mut dyn WorkObserver,
    ) -> Result<Option<TaskPlan>> {
        self.history.decompositions += 1;
        let plan = self.roles.plan(contract, &mut self.open, observer, &mut self.history)?;
        self.write_history()?;
        match plan {
            Ok(plan) => Ok(Some(plan)),
            Err(problem) => {
                self.warn(WarningCode::NotUsed, format!("the task was not split: {problem}"), observer);
                Ok(None)
            }
        }
    }

    /// The parts of a split task, one after the other. One that is given up does not keep the next from being tried.
    pub(super) fn parts(
        &mut self,
        whole: &Contract,
        plan: &TaskPlan,
        observer: &mut dyn WorkObserver,
    ) -> Result<Option<End>> {
        for part in &plan.subtasks {
            if next::over_budget(whole, &self.history).is_some() {
                break;
            }
            self.earlier = self.last.as_ref().map(|last| last.whole.clone());
            let contract = task_plan::subtask_contract(whole, plan, part);
            self.history.begin_subtask(Some(part.id.clone()));
            let first = NextAttempt {
                strategy: AttemptStrategy::Subtask,
                put_back: Vec::new(),
                prompt: correction::first(&contract),
            };
            match self.contract_loop(&contract, Some(first), observer)? {
                End::Interrupted(signal) => return Ok(Some(End::Interrupted(signal))),
                End::Stopped(stop) => {
                    let text = format!("part `{}` was not finished: {}", part.id, stop.reason);
                    self.warn(WarningCode::NotApplied, text, observer);
                }
                End::Approved | End::Noop => {}
            }
        }
        Ok(None)
    }
}
