//! Drives a piece of work: attempt, measure, decide, correct, until it is approved or given up. Every step is written down before the
//! next begins.

use super::executions::BaseRuns;
use super::holdout::Holdout;
use super::measure::{Measured, Measuring, measure};
use super::outside::Outside;
use super::record::{read_history, write_history};
use super::request::{
    FinishedWork, KeptWork, REPORT_DIR, WORKER_REPORT_FILE, WorkEvent, WorkObserver, WorkRequest, exit_of,
    status_of,
};
use super::roles::{self, Roles};
use crate::exit::Exit;
use crate::files::regular;
use crate::host::interruption;
use crate::model::contract::{Contract, ContractForm};
use crate::model::raw_path::RawPath;
use crate::model::report::{ReportedApply, Status, Usage};
use crate::model::run_extras::RunExtras;
use crate::model::verdict::{
    AttemptRecord, AttemptStrategy, Confidence, ContractRef, Ruling, Signal, Verdict,
};
use crate::model::warning::{Warning, WarningCode};
use crate::model::worker_report::AdvisorRequest;
use crate::run::attempt::{Ask, ConversationChoice};
use crate::run::observer::Decider;
use crate::run::open::OpenRun;
use crate::run::outcome::HarnessOutcome;
use crate::run::prepare::Probing;
use crate::run::request::Resume;
use crate::run::{Engine, RunError, RunEvent};
use crate::work::evidence::{ChangeSet, HarnessEnd, ReportSource, Testimony};
use crate::work::history::History;
use crate::work::next::{self, Next, NextAttempt, Stop};
use crate::work::signal::{failures, signal};
use crate::work::signature::{change_set_hash, signature};
use crate::work::{correction, testimony};
use anyhow::Result;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::time::Instant;

/// How the loop of one contract ended.
#[derive(Debug)]
pub(super) enum End {
    Approved,
    Noop,
    Stopped(Stop),
    /// A signal told us to end.
    Interrupted(i32),
}

/// A piece of work under way.
pub(super) struct Work<'w> {
    pub(super) engine: &'w Engine<'w>,
    pub(super) request: &'w WorkRequest,
    pub(super) open: OpenRun<'w>,
    pub(super) history: History,
    pub(super) base: BaseRuns,
    pub(super) paths: Option<BTreeSet<String>>,
    pub(super) outside: Outside,
    /// What had been changed when the part under way began.
    pub(super) earlier: Option<ChangeSet>,
    pub(super) holdout: Option<Holdout>,
    pub(super) roles: Roles<'w>,
    pub(super) last: Option<Measured>,
    pub(super) outcome: Option<HarnessOutcome>,
    pub(super) advice: Vec<Value>,
    pub(super) review: Option<Value>,
    pub(super) warnings: Vec<Warning>,
    pub(super) began: Instant,
    pub(super) elapsed_before: f64,
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
    let mut prepared = engine.prepare(&run, Probing::Keep)?;
    super::plan::expect_mount(&prepared.plan)?;
    if !prepared.plan.refusals.is_empty() {
        return Err(RunError::Refused(prepared.plan.refusals).into());
    }
    let holdout = contract.holdout_path.as_ref().map(|path| engine.workforce.host.absolute(path.as_ref()));
    let holdout = holdout.map(Holdout::read).transpose()?;
    // Before the launch: what a worker writes there later counts for nothing, and its mount shows nothing there.
    if let Some(holdout) = &holdout {
        prepared.plan.mount.above.push(holdout.dir.canonicalize()?);
    }
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
    KeptWork::of(request, contract, work.holdout.as_ref().map(|holdout| &*holdout.dir)).write(&work.open)?;
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
        cost_usd: Some(history.spent_usd).filter(|spent| *spent > 0.0),
        advice: Vec::new(),
        review: None,
        apply: ReportedApply { status: status_of(false) },
        report: None,
        followups: Vec::new(),
        warnings: Vec::new(),
    }
}

pub(super) fn no_signal() -> Signal {
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
    pub(super) fn contract_loop(
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
            holdout: self.holdout.as_ref(),
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

    pub(super) fn elapsed(&self) -> f64 {
        self.elapsed_before + self.began.elapsed().as_secs_f64()
    }

    pub(super) fn write_history(&mut self) -> Result<()> {
        self.history.elapsed_seconds = self.elapsed();
        write_history(&self.open, &self.history)
    }

    pub(super) fn warn(&mut self, code: WarningCode, text: String, observer: &mut dyn WorkObserver) {
        let warning = Warning::new(code, text);
        observer.event(&RunEvent::Warning(&warning));
        self.warnings.push(warning);
    }
}
