//! Drives a run through its steps. The order matters: a failure before the harness starts leaves nothing behind, a failure after
//! it never loses its work.

use super::attempt::Ask;
use super::engine::Engine;
use super::error::RunError;
use super::finish::{ApplyGate, Changes};
use super::observer::{Decider, Failure, Observer, RunEvent};
use super::open::OpenRun;
use super::outcome::HarnessOutcome;
use super::prepare::Prepared;
use super::report::{ReportBuilder, without_secrets};
use crate::exit::Exit;
use crate::host::interruption;
use crate::launch::staging;
use crate::model::mount_record::MountRecord;
use crate::model::plan::RunPlan;
use crate::model::report::Status;
use crate::model::secrets::{SHORTEST, Secrets};
use crate::model::warning::{Warning, WarningCode};
use crate::mount::error::MountError;
use crate::session::kept_report::REPORT_FILE;
use crate::session::{Session, SessionState};
use crate::workforce::Workforce;
use anyhow::{Context, Result};
use serde_json::Value;
use std::path::PathBuf;

/// A run that ended, well or not.
pub struct FinishedRun {
    pub exit: Exit,
    pub session: String,
    pub record: MountRecord,
    pub outcome: HarnessOutcome,
    pub changes: Changes,
    /// All warnings of the run, including those that the observer was given.
    pub warnings: Vec<Warning>,
    /// The report of an agent as it is printed and kept, without values of secrets.
    pub report: Option<Value>,
}

/// A run that a failure of our own ended.
pub struct FailedRun {
    pub error: anyhow::Error,
    /// The session that holds the agent's work, if there is one.
    session: Option<Session>,
    /// Where the diagnostics are.
    pub log: Option<PathBuf>,
    plan: RunPlan,
    report: Box<ReportBuilder>,
    secrets: Secrets,
}

impl FailedRun {
    /// Whether the plan itself said no, before anything was tried.
    pub fn is_refusal(&self) -> bool {
        !self.plan.refusals.is_empty()
    }

    /// The session that holds the agent's work, and what it says about it.
    pub fn session(&self) -> Option<(&str, SessionState)> {
        let session = self.session.as_ref()?;
        let state = session.status().ok().flatten().map_or(SessionState::Interrupted, |status| status.state);
        Some((session.id.as_str(), state))
    }

    /// The report of a run that ended this way, which its session keeps too; `None` for a command.
    pub fn report(&self, exit: Exit, reason: String) -> Option<Value> {
        let agent = self.plan.agent()?;
        let report = without_secrets(&self.report.failure(&self.plan, agent, exit, reason), &self.secrets);
        if let Some(session) = &self.session {
            // The disk may be what failed.
            let _ = session.write_json(REPORT_FILE, &report);
            let reason = report["outcome"]["reason"].as_str().map(str::to_owned);
            let _ = session.update_status(|status| {
                let Some(run) = status.runs.last_mut() else { return };
                self.report.note(run);
                run.status = Some(Status::Failed);
                run.reason = reason;
            });
        }
        Some(report)
    }
}

impl<'a> Engine<'a> {
    /// Carries out a plan: one attempt, the plan's checks, and whatever the plan says about the changes.
    pub fn run(
        &'a self,
        run: Prepared,
        observer: &mut dyn Observer,
        decider: &mut dyn Decider,
    ) -> std::result::Result<FinishedRun, Box<FailedRun>> {
        let plan = run.plan.clone();
        let secrets = secrets_of(&plan, self.workforce);
        self.log.redact_with(&secrets);
        let failed = |error, session: Option<Session>, log, report| {
            Box::new(FailedRun { error, session, log, plan: plan.clone(), report, secrets: secrets.clone() })
        };
        let mut report = Box::new(ReportBuilder::new(&plan, self.workforce.host.now()));
        if !plan.refusals.is_empty() {
            return Err(failed(RunError::Refused(plan.refusals.clone()).into(), None, None, report));
        }
        let mut open = match self.open(run, secrets.clone(), &mut report, observer) {
            Ok(open) => open,
            Err(error) => {
                let log = self.log.keep_failure(&self.workforce.layers.home, &error);
                return Err(failed(error, None, log, report));
            }
        };
        let result = self.drive(&mut open, observer, decider).map_err(|error| match interruption::signal() {
            // Whatever it was that failed, it was told to.
            Some(signal) => anyhow::Error::from(MountError::Stopped { signal }).context(error.to_string()),
            None => error,
        });
        if let Some(agent) = open.run.plan.agent()
            && let Err(error) = staging::redact_files(agent, &open.session.dir, &open.secrets)
        {
            tracing::warn!("values of secrets are left in the session: {error:#}");
        }
        match result {
            Ok((exit, changes)) => Ok(open.finished(exit, changes)),
            Err(error) => {
                tracing::error!("{error:#}");
                let started = open.report.session.is_some();
                let log = if started {
                    self.log.path()
                } else {
                    self.log.keep_failure(&self.workforce.layers.home, &error)
                };
                Err(failed(error, started.then_some(open.session), log, Box::new(open.report)))
            }
        }
    }

    /// Opens a run whose steps the caller takes itself.
    pub fn start(&'a self, run: Prepared, observer: &mut dyn Observer) -> Result<OpenRun<'a>> {
        if !run.plan.refusals.is_empty() {
            return Err(RunError::Refused(run.plan.refusals).into());
        }
        let secrets = secrets_of(&run.plan, self.workforce);
        self.log.redact_with(&secrets);
        let mut report = ReportBuilder::new(&run.plan, self.workforce.host.now());
        self.open(run, secrets, &mut report, observer)
    }

    fn drive(
        &self,
        open: &mut OpenRun<'_>,
        observer: &mut dyn Observer,
        decider: &mut dyn Decider,
    ) -> Result<(Exit, Changes)> {
        open.attempt(&Ask::planned(&open.run.plan), observer)?;
        // A signal that came with the end of the run was meant for the run.
        interruption::clear();
        open.hold()?;
        if open.run.plan.agent().is_some() {
            let told = open.report.warnings.len();
            open.review_for_report()?;
            // What is not applied is listed with the changes.
            let new = open.report.warnings[told..].iter();
            for warning in new.filter(|warning| warning.code != WarningCode::NotApplied) {
                observer.event(&RunEvent::Warning(warning));
            }
        }
        open.fail_for_denied_edits()?;
        if open.succeeded() {
            open.run_checks(observer)?;
        }
        let check_failed = open.report.checks.iter().any(|check| check.exit_code != 0);
        let leaks = open.run.plan.strict && open.succeeded() && open.report.has_leaks_in_work;
        if leaks && let Some(outcome) = &mut open.report.outcome {
            outcome.fail("`--strict` does not apply work that contains the value of a secret".into());
        }
        open.tell_conclusion(observer);
        // What failed a check or holds a secret is not applied, not even by asking: it can be applied by hand.
        let gate = if check_failed || leaks { ApplyGate::Closed } else { ApplyGate::Open };
        let changes = open.finish_changes(gate, decider)?;
        let exit = if leaks { Exit::Refused } else { open.exit(&changes) };
        open.write_report(exit, REPORT_FILE).context("the report could not be written")?;
        open.note_end(&changes)?;
        Ok((exit, changes))
    }
}

/// The values that must not turn up in anything that is written.
fn secrets_of(plan: &RunPlan, workforce: &Workforce) -> Secrets {
    let env = &workforce.host.env;
    let names = plan.agent().into_iter().flat_map(|agent| &agent.references);
    let shortest = workforce.config.settings.secrets.min_length.unwrap_or(SHORTEST);
    Secrets::at_least(shortest, names.filter_map(|name| Some((name, env.get(name)?))))
}

impl OpenRun<'_> {
    fn finished(self, exit: Exit, changes: Changes) -> FinishedRun {
        let report =
            self.run.plan.agent().map(|agent| {
                without_secrets(&self.report.report(&self.run.plan, agent, exit), &self.secrets)
            });
        FinishedRun {
            exit,
            session: self.session.id.to_string(),
            record: self.mount.record.clone(),
            outcome: self.report.outcome.clone().expect("it ended"),
            changes,
            warnings: self.report.warnings.clone(),
            report,
        }
    }

    /// Tells what the work came to, before anything is decided about it.
    fn tell_conclusion(&self, observer: &mut dyn Observer) {
        // A command says itself what it has to say.
        let Some(outcome) = self.report.outcome.as_ref().filter(|_| self.run.plan.agent().is_some()) else {
            return;
        };
        let redacted = |text: &String| self.secrets.redact(text);
        let result = outcome.result.as_ref().map(redacted);
        let reason = outcome.reason.as_ref().filter(|_| !outcome.succeeded()).map(redacted);
        let failure = reason.as_deref().map(|reason| Failure {
            status: outcome.status,
            reason,
            session: self.session.id.as_str(),
            log: self.report.log.as_deref(),
        });
        observer.event(&RunEvent::Concluded {
            status: outcome.status,
            result: result.as_deref(),
            failure,
            leaks: &self.report.leaks,
            changes: self.reviewed.as_ref().map_or(0, |reviewed| reviewed.review.changes.len()),
        });
    }
}
