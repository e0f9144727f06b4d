//! Shows a run as it happens: warnings, a progress line on a terminal, or a stream of JSON lines. Decides nothing.

use super::{say, sessions};
use crate::host::Host;
use crate::model::mount::Backend;
use crate::model::mount_record::MountRecord;
use crate::model::plan::{ApplyPolicy, RunPlan};
use crate::model::printable::printable;
use crate::model::warning::WarningCode;
use crate::mount::apply::progress;
use crate::mount::changes::diff::printable_name;
use crate::run::observer::Live;
use crate::run::{FinishedRun, Observer, RunEvent};
use crate::session::SessionState;
use crate::ui::Ui;
use crate::ui::bar::Bar;
use crate::ui::progress::Progress;
use std::path::Path;

pub struct RunObserver<'a> {
    ui: &'a mut Ui,
    host: &'a Host,
    /// For the apply at the end.
    bar: Option<Bar>,
    stream: bool,
    progress: Option<Progress>,
}

impl<'a> RunObserver<'a> {
    pub fn new(ui: &'a mut Ui, host: &'a Host, stream: bool, on_terminal: bool) -> RunObserver<'a> {
        RunObserver { ui, host, bar: None, stream, progress: on_terminal.then(Progress::start) }
    }
}

impl Observer for RunObserver<'_> {
    fn event(&mut self, event: &RunEvent<'_>) {
        match event {
            RunEvent::Warning(warning) => self.ui.warning(printable(&warning.message)),
            RunEvent::Opened { plan, record } => {
                if plan.agent().is_none() && self.progress.is_some() && !self.ui.is_json() {
                    say_where(record, plan, self.ui);
                }
                let hidden = plan.inherit.hidden_line().filter(|_| record.backend != Backend::None);
                if let Some(hidden) = hidden.filter(|_| !self.ui.is_json()) {
                    self.ui.say(&printable(&format!("hidden from {}: {hidden}", plan.name())));
                }
            }
            RunEvent::Agent(event) => {
                if self.stream {
                    let line = serde_json::to_string(event).expect("our own events always serialise");
                    self.ui.json_line(&line);
                }
                if let Some(progress) = &mut self.progress {
                    progress.note(event);
                }
            }
            RunEvent::AttemptEnded { .. } => {
                if self.progress.as_ref().is_some_and(Progress::is_shown) {
                    self.ui.end_progress();
                }
                if self.bar.is_none() && !self.ui.is_json() {
                    self.bar = Bar::start(self.host, "applying", progress::now);
                }
            }
            RunEvent::CheckEnded(check) if !self.ui.is_json() => {
                let verdict = if check.exit_code == 0 { "passed" } else { "failed" };
                self.ui.say(&format!("check {verdict}: {}", printable(&check.command)));
                if check.exit_code != 0 {
                    say::check_output(Path::new(&check.log_file), self.ui);
                }
            }
            RunEvent::Concluded { result, failure, leaks } if !self.ui.is_json() => {
                if let Some(result) = result {
                    self.ui.line(printable(result));
                    self.ui.flush();
                }
                if let Some(failure) = failure {
                    self.ui.explain(&say::run_failure(failure));
                }
                for leak in *leaks {
                    let place = printable(&leak.place);
                    self.ui.warning(format!("the value of `{}` is in {place}", leak.variable));
                }
            }
            RunEvent::CheckEnded(_) | RunEvent::Concluded { .. } => {}
        }
    }

    fn tick(&mut self, live: &Live<'_>) {
        if let Some(progress) = &mut self.progress {
            progress.draw(live.changed_files, self.ui);
        }
    }
}

/// Where somebody at a terminal is now, and what becomes of what is done here: it looks like the project itself.
fn say_where(record: &MountRecord, plan: &RunPlan, ui: &mut Ui) {
    let root = printable_name(record.root.as_ref());
    let what = match record.backend {
        Backend::Overlay => format!("a private view of {root} (overlay)"),
        Backend::Copy => format!("a private copy of {root}"),
        Backend::Auto | Backend::None => {
            ui.say(&format!("this is {root} itself, not a private view; every change is final"));
            return;
        }
    };
    let then = match plan.changes.apply {
        ApplyPolicy::Ask => "you are asked about the changes when it ends",
        ApplyPolicy::Auto => "the changes are applied when it ends with success",
        ApplyPolicy::Never => "the changes are held in the session when it ends",
    };
    ui.say(&format!("this is {what}: nothing you do here reaches the project yet; {then}"));
    ui.hint("leave a shell with `exit` or Ctrl-D");
}

/// What became of the changes.
pub fn say_changes_end(finished: &FinishedRun, ui: &mut Ui) {
    let session = &finished.session;
    match (&finished.changes.applied, finished.changes.state) {
        (Some(applied), _) => sessions::say_applied(applied, ui),
        (None, SessionState::Held) => {
            if finished.changes.needs_approval {
                let held =
                    finished.warnings.iter().rev().find(|warning| warning.code == WarningCode::NotApplied);
                ui.warning(printable(&held.map_or_else(String::new, ToString::to_string)));
            }
            ui.say(&format!("the work is held in session {session}"));
            ui.hint(format!(
                "`agentworkforce sessions diff {session}` shows it, `sessions apply {session}` applies it"
            ));
        }
        (None, SessionState::Discarded) => ui.say("discarded"),
        (None, _) if finished.record.backend == Backend::None => {
            let root = printable_name(finished.record.root.as_ref());
            ui.say(&format!("changes were made directly in {root} and were not tracked"));
        }
        (None, _) => ui.say("no changes"),
    }
    // The harness names a command of its own, which would be without the persona and in the real files.
    let persona = finished.report.as_ref().and_then(|report| report["persona"]["id"].as_str());
    if let Some(persona) = persona.filter(|_| finished.changes.state == SessionState::Held) {
        ui.hint(format!("`{}` goes on with it", sessions::resume_command(persona, session)));
    }
}
