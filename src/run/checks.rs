//! The checks of a run: each in a view that is thrown away, so that no check alters what is applied.

use super::error::RunError;
use super::observer::{Observer, RunEvent};
use super::open::OpenRun;
use crate::launch::check;
use crate::model::plan::PlannedCheck;
use crate::model::report::ReportedCheck;
use crate::mount::ViewOf;
use crate::mount::fs::cleanup;
use crate::mount::process::attend::{TimeLimits, limit_of};
use anyhow::Result;

impl OpenRun<'_> {
    /// Runs a command on the result and records how it ended.
    pub fn check(&mut self, check: &PlannedCheck, observer: &mut dyn Observer) -> Result<ReportedCheck> {
        let number = self.report.checks.len() + 1;
        let scratch = self.session.dir.join(format!("check-{number}"));
        let log = self.session.dir.join(format!("check-{number}.log"));
        let view = self.mount.view_of(ViewOf::Result, &scratch)?.mount;
        tracing::info!(check = number, "check started");
        let limits = TimeLimits { wall: check.timeout_seconds.and_then(limit_of), idle: None };
        let env = self.env.clone();
        let signals = &mut self.signals;
        let outcome = check::run(&view, &check.command, &env, limits, &log, &self.secrets, signals);
        drop(view);
        cleanup::remove_tree(&scratch)?;
        let outcome = outcome?;
        if let Some(signal) = outcome.attended.interrupted_by {
            return Err(RunError::CheckInterrupted { command: check.command.clone(), signal }.into());
        }
        let reported = ReportedCheck {
            command: check.command.clone(),
            exit_code: outcome.exit_code(),
            seconds: outcome.seconds,
            log_file: log.display().to_string(),
            sha256: outcome.sha256,
        };
        tracing::info!(check = number, code = reported.exit_code, "check ended");
        observer.event(&RunEvent::CheckEnded(&reported));
        self.report.checks.push(reported.clone());
        Ok(reported)
    }

    /// Runs the checks of the plan in order; the first that fails is the last that runs.
    pub fn run_checks(&mut self, observer: &mut dyn Observer) -> Result<()> {
        for check in self.run.plan.checks.clone() {
            let reported = self.check(&check, observer)?;
            if reported.exit_code != 0 {
                let reason =
                    format!("the check `{}` ended with code {}", reported.command, reported.exit_code);
                if let Some(outcome) = &mut self.report.outcome {
                    outcome.fail(reason);
                }
                break;
            }
        }
        Ok(())
    }
}
