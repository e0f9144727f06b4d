//! `mount`: runs any command in a private view of the project, then brings its work back or holds it.

use super::observe::{self, RunObserver, Shown};
use super::review::ReviewPrompt;
use super::{explain, request, say, sessions};
use crate::cli::MountArgs;
use crate::error::Result;
use crate::exit::Exit;
use crate::host::Host;
use crate::model::mount_record::MountRecord;
use crate::model::warning::Warning;
use crate::run::debug_log::DebugLog;
use crate::run::prepare::Probing;
use crate::run::{Engine, FinishedRun, RunRequest};
use crate::session::Applied;
use crate::session::SessionState;
use crate::ui::{Ui, printable};
use crate::workforce::Workforce;
use serde::Serialize;

/// What `mount --json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct MountReport<'a> {
    schema_version: u32,
    session: &'a str,
    outcome: ReportedOutcome,
    mount: &'a MountRecord,
    /// `None` where the changes were not applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    applied: Option<&'a Applied>,
    state: SessionState,
    warnings: &'a [Warning],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ReportedOutcome {
    exit_code: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    command_exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<i32>,
}

pub fn run(args: &MountArgs, host: &Host, log: DebugLog, ui: &mut Ui) -> Result<Exit> {
    let workforce = Workforce::open_at(host, args.from.persona_ref())?;
    say::persona_ref(&workforce, ui);
    let request = request::of_mount(args, super::is_attended())?;
    // The object is all that may be on our stdout.
    let request = RunRequest { reserve_stdout: ui.is_json(), ..request };
    let engine = Engine::new(&workforce, log)?;
    let prepared = engine.prepare(&request, Probing::Keep)?;
    let mut prompt = ReviewPrompt { host };
    let finished = {
        let on_terminal = host.stdin_is_terminal && host.stderr_is_terminal;
        let mut observer = RunObserver::new(ui, host, Shown::Ends).greeting_command(on_terminal);
        engine.run(prepared, &mut observer, &mut prompt)
    };
    let finished = finished.map_err(|failed| explain::failed_run(*failed).0)?;
    if ui.is_json() {
        ui.json(&report(&finished));
    } else {
        if let Some(applied) = &finished.changes.applied {
            for warning in &applied.warnings {
                ui.warning(printable(&warning.to_string()));
            }
        }
        observe::say_changes_end(&finished, ui);
    }
    sessions::tidy(&workforce, host, ui);
    Ok(finished.exit)
}

fn report(finished: &FinishedRun) -> MountReport<'_> {
    MountReport {
        schema_version: 2,
        session: &finished.session,
        outcome: ReportedOutcome {
            exit_code: finished.exit.code(),
            command_exit_code: finished.outcome.harness_exit_code,
            signal: finished.outcome.signal,
        },
        mount: &finished.record,
        applied: finished.changes.applied.as_ref(),
        state: finished.changes.state,
        warnings: &finished.warnings,
    }
}
