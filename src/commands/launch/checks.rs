//! The checks of a run: each in a view of the result that is thrown away, so that no check alters what is applied.

use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::launch::check;
use crate::model::mount::Backend;
use crate::model::report::ReportedCheck;
use crate::model::secrets::Secrets;
use crate::mount::fs::cleanup;
use crate::mount::process::attend::{TimeLimits, limit_of};
use crate::mount::{OpenMount, SignalInbox};
use std::ffi::OsString;
use std::path::Path;

/// What is to be checked, and how.
pub struct Asked<'a> {
    pub commands: &'a [String],
    pub timeout: Option<f64>,
    pub env: &'a [(OsString, Option<OsString>)],
    pub secrets: &'a Secrets,
}

/// Runs the checks in order; the first that fails is the last that runs.
pub fn run(
    open: &OpenMount,
    asked: &Asked<'_>,
    session_dir: &Path,
    signals: &mut SignalInbox,
) -> Result<Vec<ReportedCheck>> {
    let limits = TimeLimits { wall: asked.timeout.and_then(limit_of), idle: None };
    let mut reported = Vec::new();
    for (index, line) in asked.commands.iter().enumerate() {
        let number = index + 1;
        let log_file = format!("check-{number}.log");
        let scratch = session_dir.join(format!("check-{number}"));
        let view = match open.record.backend {
            Backend::Overlay => open.scratch_view(&scratch)?,
            Backend::Copy => open.scratch_copy(&scratch)?,
            Backend::Auto | Backend::None => open.same_view()?,
        };
        let outcome =
            check::run(&view, line, asked.env, limits, &session_dir.join(&log_file), asked.secrets, signals);
        drop(view);
        cleanup::remove_tree(&scratch)?;
        let outcome = outcome?;
        if let Some(signal) = outcome.attended.interrupted_by {
            let exit = Exit::Signal(u8::try_from(signal).unwrap_or(0));
            return Err(CommandError::new(exit, format!("interrupted while the check `{line}` ran")));
        }
        let passed = outcome.passed();
        reported.push(ReportedCheck {
            command: line.clone(),
            exit_code: outcome.exit_code(),
            seconds: outcome.seconds,
            log_file: session_dir.join(log_file).display().to_string(),
            sha256: outcome.sha256,
        });
        if !passed {
            break;
        }
    }
    Ok(reported)
}
