//! The checks of a run: each in a view that is thrown away, so that no check alters what is applied.

use super::observer::{Observer, RunEvent};
use super::open::OpenRun;
use super::outcome::limits_reached;
use crate::launch::check::CheckCommand;
use crate::model::amounts::counted;
use crate::model::plan::PlannedCheck;
use crate::model::raw_path::RawPath;
use crate::model::report::ReportedCheck;
use crate::model::warning::{Warning, WarningCode};
use crate::mount::changes::diff::printable_name;
use crate::mount::fs::cleanup;
use crate::mount::process::attend::{TimeLimits, limit_of};
use crate::mount::{NotApplied, ViewOf};
use anyhow::Result;

impl OpenRun<'_> {
    /// Runs a command on the result, on the project as at launch, or on that with some of the result's paths, and records
    /// how it ended. The result is what an apply would make of the project: a check says nothing about what is never applied.
    pub fn check(
        &mut self,
        check: &PlannedCheck,
        on: ViewOf<'_>,
        observer: &mut dyn Observer,
    ) -> Result<ReportedCheck> {
        let number = self.report.checks.len() + 1;
        let _step = tracing::info_span!("check", number).entered();
        let scratch = self.session.dir.join(format!("check-{number}"));
        let log = self.session.dir.join(format!("check-{number}.log"));
        let refused = match on {
            ViewOf::Result => self.review()?.map(NotApplied::from),
            _ => None,
        };
        if refused.is_some() && number == 1 {
            self.warn_of_ignored(observer);
        }
        let on = refused.as_ref().map_or(on, ViewOf::Applied);
        let view = self.mount.view_of(on, &scratch)?;
        tracing::info!(?on, "check started");
        for path in &view.changed_by_user {
            let name = printable_name(path.as_ref());
            let text =
                format!("check {number} saw your newer version of {name}: the one at launch is not kept");
            let warning = Warning::new(WarningCode::Mount, text);
            observer.event(&RunEvent::Warning(&warning));
            self.report.warnings.push(warning);
        }
        let limits = TimeLimits { wall: check.timeout_seconds.and_then(limit_of), idle: None };
        let env = self.env.clone();
        let command = CheckCommand { line: &check.command, env: &env, limits, log: &log, tap: &mut |_| {} };
        let outcome = self.attend(&view, command);
        drop(view);
        cleanup::remove_tree(&scratch)?;
        let outcome = outcome?;
        for warning in limits_reached(&outcome.attended, self.run.plan.limits) {
            let warning = Warning { message: format!("check {number}: {warning}"), ..warning };
            observer.event(&RunEvent::Warning(&warning));
            self.report.warnings.push(warning);
        }
        let reported = ReportedCheck {
            command: check.command.clone(),
            exit_code: outcome.exit_code(),
            seconds: outcome.seconds,
            log_file: log.display().to_string(),
            sha256: outcome.sha256,
        };
        tracing::info!(code = reported.exit_code, "check ended");
        observer.event(&RunEvent::CheckEnded(&reported));
        self.report.checks.push(reported.clone());
        Ok(reported)
    }

    /// What git ignores is not applied and yet seen by checks, which need what the agent installed.
    fn warn_of_ignored(&mut self, observer: &mut dyn Observer) {
        let Some(reviewed) = &self.reviewed else { return };
        let seen = &reviewed.review.ignored;
        if seen.outside_heavy == 0 {
            return;
        }
        let names: Vec<String> =
            seen.examples_outside_heavy.iter().map(|path| printable_name(path.as_ref())).collect();
        let more = seen.outside_heavy - names.len() as u64;
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let text = format!(
            "checks see what the agent changed and git ignores, which is not applied: {}{more}",
            names.join(", ")
        );
        let warning = Warning::new(WarningCode::NotApplied, text);
        observer.event(&RunEvent::Warning(&warning));
        self.report.warnings.push(warning);
    }

    /// Puts paths back to what they were at launch, so that the next attempt or apply does not have them.
    pub fn put_back(&mut self, paths: &[RawPath]) -> Result<()> {
        self.reviewed = None;
        self.mount.put_back(paths)
    }

    /// Runs all checks of the plan in order: whoever mends what one of them found wants to know about the others.
    pub fn run_checks(&mut self, observer: &mut dyn Observer) -> Result<()> {
        let checks = self.run.plan.checks.clone();
        let mut failed = Vec::new();
        for check in &checks {
            let reported = self.check(check, ViewOf::Result, observer)?;
            if reported.exit_code != 0 {
                failed.push(reported);
            }
        }
        let code = |check: &ReportedCheck| format!("`{}` ended with code {}", check.command, check.exit_code);
        let reason = match failed.as_slice() {
            [] => return Ok(()),
            [one] => format!("the check {}", code(one)),
            several => {
                let codes: Vec<String> = several.iter().map(code).collect();
                format!(
                    "{} of {} failed: {}",
                    several.len(),
                    counted(checks.len(), "check"),
                    codes.join(", ")
                )
            }
        };
        if let Some(outcome) = &mut self.report.outcome {
            outcome.fail(reason);
        }
        Ok(())
    }
}
