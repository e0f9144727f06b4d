//! Drives a piece of work: attempt, measure, decide, correct, until it is approved or given up. Every step is written down before the
//! next begins.

use super::executions::BaseRuns;
use super::measure::{Measured, Measuring, measure};
use super::outside::Outside;
use super::record::{read_history, write_history, write_verdict};
use super::request::{
    FinishedWork, KeptWork, REPORT_DIR, WORKER_REPORT_FILE, WorkEvent, WorkObserver, WorkRequest, exit_of,
    status_of,
};
use super::roles::{self, Roles};
use super::settle;
use crate::exit::Exit;
use crate::files::regular;
use crate::host::interruption;
use crate::model::contract::{Contract, ContractForm};
use crate::model::raw_path::RawPath;
use crate::model::report::{ReportedApply, Status, Usage};
use crate::model::run_extras::RunExtras;
use crate::model::verdict::{
    AttemptRecord, AttemptStrategy, Check, Confidence, ContractRef, Ruling, Signal, Verdict,
};
use crate::model::warning::{Warning, WarningCode};
use crate::model::worker_report::{AdvisorRequest, TaskPlan};
use crate::run::attempt::{Ask, ConversationChoice};
use crate::run::finish::ApplyGate;
use crate::run::observer::Decider;
use crate::run::open::OpenRun;
use crate::run::outcome::HarnessOutcome;
use crate::run::prepare::Probing;
use crate::run::request::Resume;
use crate::run::{Engine, RunError, RunEvent};
use crate::work::evidence::{ChangeSet, Evidence, HarnessEnd, LARGEST_TEXT, ReportSource, Testimony};
use crate::work::history::History;
use crate::work::next::{self, Next, NextAttempt, Stop};
use crate::work::signal::{failures, signal};
use crate::work::signature::{change_set_hash, signature};
use crate::work::{correction, task_plan, testimony};
use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Instant;

/// How the loop of one contract ended.
#[derive(Debug)]
enum End {
    Approved,
    Noop,
    Stopped(Stop),
    /// A signal told us to end.
    Interrupted(i32),
}

/// A piece of work under way.
struct Work<'w> {
    engine: &'w Engine<'w>,
    request: &'w WorkRequest,
    open: OpenRun<'w>,
    history: History,
    base: BaseRuns,
    paths: Option<BTreeSet<String>>,
    outside: Outside,
    /// What had been changed when the part under way began.
    earlier: Option<ChangeSet>,
    holdout: Option<PathBuf>,
    roles: Roles<'w>,
    last: Option<Measured>,
    outcome: Option<HarnessOutcome>,
    advice: Vec<Value>,
    review: Option<Value>,
    warnings: Vec<Warning>,
    began: Instant,
    elapsed_before: f64,
}

/// Carries out a piece of work from its contract to its verdict.
pub fn carry_out<'w>(
    engine: &'w Engine<'w>,
    request: &'w WorkRequest,
    observer: &mut dyn WorkObserver,
    decider: &mut dyn Decider,
) -> Result<FinishedWork> {
    let began = Instant::now();
    let contract = &request.contract;
    let mut roles = Roles::new(engine, request);
    let mut history = History::default();
    let mut resumed = None;
    if let Some(resumption) = &request.resume {
        let session = engine.store.find(&resumption.session)?;
        history = read_history(&session)?;
        resumed = Some(session.id.to_string());
    }
    let mut advice = Vec::new();
    if let Some(asked) = next::before_launch(contract, &history) {
        if !next::can_consult(contract, &history) {
            let reason = "advice is needed before the work begins, and no advisor is named".to_owned();
            return before_launch(request, &history, &asked, reason, advice);
        }
        let response = roles.advise(contract, &asked, None, observer, &mut history)?;
        advice.extend(response.map(serde_json::to_value).transpose()?);
        if let Some(stop) = next::stopped_by_advice(&history) {
            return stopped_before_launch(request, &history, &stop, advice);
        }
        if next::before_launch(contract, &history).is_some() {
            let reason = "the advisor gave no valid answer before the work began".to_owned();
            return before_launch(request, &history, &asked, reason, advice);
        }
    }
    let mut run = request.run_request(correction::first(contract));
    run.extras = RunExtras {
        prompt_section: Some(roles::worker_section(engine, contract)),
        lent_directory: Some(REPORT_DIR.to_owned()),
        no_subagents: true,
        output_schema: Some(testimony::worker_report_schema(true)),
        keeps_base: true,
        work: Some(contract.task_id.clone()),
    };
    run.resume = resumed.map(Resume::Session);
    let prepared = engine.prepare(&run, Probing::Keep)?;
    super::plan::expect_mount(&prepared.plan)?;
    if !prepared.plan.refusals.is_empty() {
        return Err(RunError::Refused(prepared.plan.refusals).into());
    }
    let holdout = contract.holdout_path.as_ref().map(|path| engine.workforce.host.absolute(path.as_ref()));
    let open = engine.start(prepared, observer)?;
    let elapsed_before = history.elapsed_seconds;
    let mut work = Work {
        engine,
        request,
        open,
        history,
        base: BaseRuns::default(),
        paths: None,
        outside: Outside::look(&engine.workforce.host),
        earlier: None,
        holdout,
        roles,
        last: None,
        outcome: None,
        advice,
        review: None,
        warnings: Vec::new(),
        began,
        elapsed_before,
    };
    KeptWork::of(request, contract, work.holdout.as_deref()).write(&work.open)?;
    work.write_history()?;
    engine.crash_points.at("work: begun");
    let ended = work.whole(observer);
    work.open.redact_files();
    match ended {
        Ok(end) => work.finish(&end, observer, decider),
        Err(error) => {
            // What there is stays in the session, unapproved.
            work.open.hold()?;
            Err(match interruption::signal() {
                Some(signal) => anyhow::Error::from(crate::mount::MountError::Stopped { signal })
                    .context(error.to_string()),
                None => error,
            })
        }
    }
}

/// The answer where the question is the answer.
fn before_launch(
    request: &WorkRequest,
    history: &History,
    asked: &AdvisorRequest,
    reason: String,
    mut advice: Vec<Value>,
) -> Result<FinishedWork> {
    advice.insert(0, serde_json::to_value(asked)?);
    let verdict = Verdict { advice, ..empty_verdict(request, history, Ruling::Advisor) };
    finished(request, verdict, Some(reason), Exit::Refused)
}

/// A contract file with neither a spec nor a reason to go without one is not run: it ends as a question.
pub fn needs_spec(request: &WorkRequest) -> Result<FinishedWork> {
    let contract = &request.contract;
    let asked = roles::spike_request(contract);
    let reason =
        "the contract names neither a spec (`spec_path`) nor a reason to go without (`spec_skip_reason`)";
    before_launch(request, &History::default(), &asked, reason.to_owned(), Vec::new())
}

fn stopped_before_launch(
    request: &WorkRequest,
    history: &History,
    stop: &Stop,
    advice: Vec<Value>,
) -> Result<FinishedWork> {
    let verdict = Verdict { advice, ..empty_verdict(request, history, stop.ruling) };
    finished(request, verdict, Some(stop.reason.clone()), exit_of(stop.ruling, false, Exit::Done))
}

fn finished(
    request: &WorkRequest,
    verdict: Verdict,
    reason: Option<String>,
    exit: Exit,
) -> Result<FinishedWork> {
    let value = serde_json::to_value(&verdict)?;
    Ok(FinishedWork {
        verdict,
        value,
        reason,
        exit,
        executions: Vec::new(),
        contract: request.contract.clone(),
        commit: None,
    })
}

/// A verdict without anything measured.
pub fn empty_verdict(request: &WorkRequest, history: &History, ruling: Ruling) -> Verdict {
    Verdict {
        schema_version: 1,
        contract: ContractRef { id: request.contract.task_id.clone(), sha256: request.sha256.clone() },
        session: None,
        persona: Some(request.persona.name.clone()),
        verdict: ruling,
        checks: Vec::new(),
        signal: no_signal(),
        attempts: history.attempts.clone(),
        advice: Vec::new(),
        review: None,
        apply: ReportedApply { status: status_of(false) },
        report: None,
        followups: Vec::new(),
        warnings: Vec::new(),
    }
}

fn no_signal() -> Signal {
    Signal {
        confidence: Confidence::None,
        progress_made: false,
        blocker_type: None,
        suggested_strategy: None,
    }
}

impl Work<'_> {
    /// The whole contract, in parts where it is split.
    fn whole(&mut self, observer: &mut dyn WorkObserver) -> Result<End> {
        let mut contract = self.request.contract.clone();
        let first = match &self.request.resume {
            None => NextAttempt {
                strategy: AttemptStrategy::First,
                put_back: Vec::new(),
                prompt: correction::with_advice(&self.history, &correction::first(&contract)),
            },
            Some(resumption) => {
                // A part that was under way is taken up as a part of the whole.
                self.history.subtask = None;
                if let Some(more) = resumption.attempts {
                    contract.budgets.attempts = self.history.attempts_used().saturating_add(more);
                }
                let is_first = self.history.attempts.is_empty();
                let strategy = if is_first { AttemptStrategy::First } else { AttemptStrategy::Retry };
                let prompt = roles::resumption_prompt(&contract, &self.history);
                NextAttempt { strategy, put_back: Vec::new(), prompt }
            }
        };
        self.contract_loop(&contract, Some(first), observer)
    }

    /// Attempts and measurements of one contract until it is decided. Without a first attempt what there is is measured.
    fn contract_loop(
        &mut self,
        contract: &Contract,
        first: Option<NextAttempt>,
        observer: &mut dyn WorkObserver,
    ) -> Result<End> {
        let mut step = match first {
            Some(attempt) => Next::Attempt(attempt),
            None => {
                self.measure_whole(contract, observer)?;
                self.decide(contract)
            }
        };
        loop {
            step = match step {
                Next::Approve => return Ok(End::Approved),
                Next::NoopSkipped => return Ok(End::Noop),
                Next::Stop(stop) => return Ok(End::Stopped(stop)),
                Next::Attempt(attempt) => {
                    if let Some(end) = self.attempt(contract, &attempt, observer)? {
                        return Ok(end);
                    }
                    self.decide(contract)
                }
                Next::Consult(asked) => {
                    self.consult(contract, &asked, observer)?;
                    self.decide(contract)
                }
                Next::Review => {
                    self.review(contract, observer)?;
                    self.decide(contract)
                }
                Next::Decompose => match self.plan(contract, observer)? {
                    Some(plan) => {
                        if let Some(end) = self.parts(contract, &plan, observer)? {
                            return Ok(end);
                        }
                        self.earlier = None;
                        self.history.begin_subtask(None);
                        self.measure_whole(contract, observer)?;
                        self.decide(contract)
                    }
                    None => self.decide(contract),
                },
            };
        }
    }

    /// What follows from the last measurement.
    fn decide(&self, contract: &Contract) -> Next {
        let none = || Stop {
            ruling: Ruling::Escalated,
            reason: "nothing was measured".into(),
            held: true,
            request: None,
            warn: true,
        };
        let (Some(last), Some(record)) = (&self.last, self.history.attempts.last()) else {
            return Next::Stop(none());
        };
        next::next(contract, &last.evidence, &last.checks, &record.signal, &self.history)
    }

    /// One attempt: the harness works, and what it leaves is measured. Gives an end if a signal came.
    fn attempt(
        &mut self,
        contract: &Contract,
        attempt: &NextAttempt,
        observer: &mut dyn WorkObserver,
    ) -> Result<Option<End>> {
        let began = Instant::now();
        let number = u32::try_from(self.history.attempts.len()).unwrap_or(u32::MAX).saturating_add(1);
        observer.work(&WorkEvent::AttemptStarted {
            number,
            of: contract.budgets.attempts,
            strategy: attempt.strategy,
            subtask: self.history.subtask.as_deref(),
        });
        // Where an earlier part has changed the same file, putting it back would take that, too.
        let is_earlier =
            |path: &RawPath| self.earlier.iter().flat_map(|set| &set.files).any(|file| file.path == *path);
        let put_back: Vec<RawPath> =
            attempt.put_back.iter().filter(|path| !is_earlier(path)).cloned().collect();
        if !put_back.is_empty()
            && let Err(error) = self.open.put_back(&put_back)
        {
            let text = format!("what is out of scope could not be put back: {error:#}");
            self.warn(WarningCode::NotApplied, text, observer);
        }
        self.limit(contract);
        let nonce = self.engine.workforce.host.random_hex(32)?;
        let report = self.open.session().dir.join(REPORT_DIR).join(WORKER_REPORT_FILE);
        let _ = std::fs::remove_file(&report);
        let events = self.open.recorded_events();
        let context = self.roles.context(&events, observer)?;
        let prompt = roles::attempt_prompt(&context, &attempt.prompt, &report, &nonce);
        let conversation = match (attempt.strategy, self.history.attempts.is_empty()) {
            (AttemptStrategy::First, true) => ConversationChoice::Planned,
            (AttemptStrategy::Retry | AttemptStrategy::ReportOnly, _) => ConversationChoice::Same,
            _ => ConversationChoice::New,
        };
        let ask = Ask {
            prompt: Some(prompt),
            conversation,
            env: vec![
                ("AGENTWORKFORCE_REPORT".to_owned(), report.clone().into()),
                ("AGENTWORKFORCE_NONCE".to_owned(), nonce.clone().into()),
            ],
        };
        let outcome = self.open.attempt(&ask, observer)?;
        self.engine.crash_points.at("work: attempt ended");
        if let Some(signal) = outcome.signal.filter(|_| outcome.status == Status::Interrupted) {
            self.outcome = Some(outcome);
            interruption::clear();
            self.open.hold()?;
            return Ok(Some(End::Interrupted(signal)));
        }
        // A signal that came with the end of the run was meant for the run.
        interruption::clear();
        self.open.hold()?;
        self.history.stalls = if outcome.is_stalled { self.history.stalls + 1 } else { 0 };
        let file = regular::open_no_link(&report)
            .and_then(|file| regular::content(file, testimony::LARGEST_REPORT as u64 + 1));
        let said = match file {
            Ok(file) => testimony::collect(Some(&file), outcome.result.as_deref(), Some(&nonce)),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                testimony::collect(None, outcome.result.as_deref(), Some(&nonce))
            }
            // Something is there: it is no missing report, which would be written for the worker.
            Err(error) => testimony::unreadable(&format!("the report cannot be read: {error}")),
        };
        let task = contract.task.clone();
        let is_short = contract.form == ContractForm::Short;
        let has_ended_well = outcome.succeeded();
        let of = move |changes: &_| {
            let is_missing = said.source == ReportSource::Nothing && said.problems.is_empty();
            if is_missing && is_short && has_ended_well {
                return testimony::runner_report(&task, &nonce, changes);
            }
            said.clone()
        };
        let end = roles::harness_end(&outcome);
        let denied = outcome.denied.clone();
        let usage = outcome.usage.clone();
        self.outcome = Some(outcome);
        self.measure(contract, end, denied, &of, observer)?;
        self.record(number, attempt.strategy, began.elapsed().as_secs_f64(), usage, observer)?;
        Ok(None)
    }

    /// Measures what there is without another attempt: the parts of a split task together.
    fn measure_whole(&mut self, contract: &Contract, observer: &mut dyn WorkObserver) -> Result<()> {
        let began = Instant::now();
        let number = u32::try_from(self.history.attempts.len()).unwrap_or(u32::MAX).saturating_add(1);
        let nonce = self.engine.workforce.host.random_hex(32)?;
        let task = contract.task.clone();
        let of = move |changes: &_| testimony::runner_report(&task, &nonce, changes);
        self.measure(contract, HarnessEnd::Completed, Vec::new(), &of, observer)?;
        let seconds = began.elapsed().as_secs_f64();
        self.record(number, AttemptStrategy::Subtask, seconds, Usage::default(), observer)
    }

    fn measure(
        &mut self,
        contract: &Contract,
        harness: HarnessEnd,
        denied: Vec<String>,
        testimony: &dyn Fn(&ChangeSet) -> Testimony,
        observer: &mut dyn WorkObserver,
    ) -> Result<()> {
        let now = Outside::look(&self.engine.workforce.host);
        let measuring = Measuring {
            contract,
            settings: &self.engine.workforce.config.settings,
            harness,
            denied,
            outside: self.outside.changes(&now),
            uses_base: self.request.uses_base,
            holdout: self.holdout.as_deref(),
            base: &mut self.base,
            earlier: self.earlier.as_ref(),
            paths: &mut self.paths,
        };
        self.last = Some(measure(&mut self.open, measuring, testimony, observer)?);
        Ok(())
    }

    /// Notes the attempt that was just measured.
    fn record(
        &mut self,
        number: u32,
        strategy: AttemptStrategy,
        seconds: f64,
        usage: Usage,
        observer: &mut dyn WorkObserver,
    ) -> Result<()> {
        let Some(Measured { evidence, checks, .. }) = &self.last else { return Ok(()) };
        let signal = signal(evidence, checks, &self.history);
        observer.work(&WorkEvent::Measured { number, checks, signal: &signal });
        let record = AttemptRecord {
            number,
            strategy,
            checks: checks.clone(),
            signal,
            changes: evidence.changes.files.len() as u64,
            seconds,
            usage,
            signature: signature(checks),
            change_set: change_set_hash(&evidence.changes),
        };
        let failed = failures(evidence, checks);
        self.history.record(record, failed);
        self.write_history()?;
        self.engine.crash_points.at("work: measured");
        Ok(())
    }

    /// Limits the next attempt to what is left of the budgets.
    fn limit(&mut self, contract: &Contract) {
        let elapsed = self.elapsed();
        let wall = contract.budgets.wall_seconds.map(|most| (most - elapsed).max(1.0));
        let usd = contract.budgets.usd.map(|most| (most - self.history.spent_usd).max(0.01));
        self.open.limit_attempts(wall, usd);
    }

    fn elapsed(&self) -> f64 {
        self.elapsed_before + self.began.elapsed().as_secs_f64()
    }

    fn write_history(&mut self) -> Result<()> {
        self.history.elapsed_seconds = self.elapsed();
        write_history(&self.open, &self.history)
    }

    fn warn(&mut self, code: WarningCode, text: String, observer: &mut dyn WorkObserver) {
        let warning = Warning::new(code, text);
        observer.event(&RunEvent::Warning(&warning));
        self.warnings.push(warning);
    }

    fn consult(
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

    fn review(&mut self, contract: &Contract, observer: &mut dyn WorkObserver) -> Result<()> {
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
    fn plan(&mut self, contract: &Contract, observer: &mut dyn WorkObserver) -> Result<Option<TaskPlan>> {
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
    fn parts(
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
            match self.part(&contract, first, observer)? {
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

    /// A part is not split again.
    fn part(
        &mut self,
        contract: &Contract,
        first: NextAttempt,
        observer: &mut dyn WorkObserver,
    ) -> Result<End> {
        self.contract_loop(contract, Some(first), observer)
    }

    /// Applies what is approved, holds what is not, and writes the verdict.
    fn finish(
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
