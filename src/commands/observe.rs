//! Shows a run as it happens: who starts, the steps of the agent with a status line, warnings, or a stream of JSON lines. Decides
//! nothing.

use super::notify::{Notice, Notifier};
use super::{banner, say, sessions};
use crate::host::{Host, terminal};
use crate::model::amounts::{self, counted};
use crate::model::event::Event;
use crate::model::mount::Backend;
use crate::model::plan::{ApplyPolicy, Mode, RunPlan};
use crate::model::printable::printable;
use crate::model::report::Status;
use crate::model::warning::WarningCode;
use crate::mount::apply::progress;
use crate::mount::changes::diff::printable_name;
use crate::run::observer::{Failure, Live};
use crate::run::{FinishedRun, Observer, RunEvent};
use crate::session::SessionState;
use crate::ui::Ui;
use crate::ui::bar::Bar;
use crate::ui::progress::Progress;
use crate::ui::steps::{Detail, Steps, usage_parts};
use crate::ui::text::wrapped;
use serde_json::Value;
use std::path::Path;
use std::time::Instant;

/// How much of a run is shown on stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// Steps, and below them a line that is redrawn.
    Live,
    /// That line alone: the steps are shown elsewhere.
    StatusOnly,
    /// A line for each step, as in a log.
    Lines,
    /// Only who starts and how it ended.
    Ends,
    /// Nothing but warnings and what was decided about the changes.
    Nothing,
}

impl Shown {
    /// For a run that is to be quiet, or whose events are a stream on stdout.
    pub fn of(host: &Host, quiet: bool, stream: bool, ui: &Ui) -> Shown {
        match (quiet, stream, host.shows_progress() && terminal::is_in_front()) {
            (true, _, _) => Shown::Nothing,
            (false, true, true) if ui.is_on_terminal() => Shown::StatusOnly,
            (false, true, true) if ui.is_piped() => Shown::Lines,
            (false, _, true) => Shown::Live,
            (false, true, false) => Shown::Ends,
            (false, false, false) => Shown::Lines,
        }
    }

    fn draws(self) -> bool {
        matches!(self, Shown::Live | Shown::StatusOnly)
    }

    fn has_steps(self) -> bool {
        matches!(self, Shown::Live | Shown::Lines)
    }
}

pub struct RunObserver<'a> {
    ui: &'a mut Ui,
    host: &'a Host,
    /// For the apply at the end.
    bar: Option<Bar>,
    stream: bool,
    shown: Shown,
    steps: Steps,
    progress: Progress,
    notifier: Option<Notifier>,
    notice: Notice,
    began: Instant,
    /// Whether the user is asked about the changes, if there are any.
    asks: bool,
    /// Whether to say where a command at a terminal runs.
    greets_command: bool,
}

impl<'a> RunObserver<'a> {
    pub fn new(ui: &'a mut Ui, host: &'a Host, shown: Shown) -> RunObserver<'a> {
        let detail = if shown == Shown::Lines { Detail::Line } else { Detail::Brief };
        let mut steps = Steps::new(detail);
        if !ui.is_json() {
            steps = steps.without_result();
        }
        RunObserver {
            ui,
            host,
            bar: None,
            stream: false,
            shown,
            steps,
            progress: Progress::start(),
            notifier: None,
            notice: Notice::default(),
            began: Instant::now(),
            asks: false,
            greets_command: false,
        }
    }

    /// Prints the events as JSON lines.
    #[must_use]
    pub fn streaming(self, stream: bool) -> RunObserver<'a> {
        RunObserver { stream, ..self }
    }

    /// Tells the user when a long run has ended.
    #[must_use]
    pub fn notifying(self, notifier: Option<Notifier>) -> RunObserver<'a> {
        RunObserver { notifier, ..self }
    }

    /// Says at the start where a command is.
    #[must_use]
    pub fn greeting_command(self, greets_command: bool) -> RunObserver<'a> {
        RunObserver { greets_command, ..self }
    }

    /// Says something between the steps.
    pub fn say(&mut self, text: &str) {
        self.ui.end_progress();
        self.ui.say(text);
        self.progress.interrupted(self.shown.draws());
    }

    /// One line of a stream.
    pub fn json_line(&mut self, line: &str) {
        self.ui.json_line(line);
        self.progress.interrupted(self.shown.draws());
    }

    /// The end of a run that was not told already, because nobody was asked about its changes.
    pub fn notify_of(&mut self, finished: Result<&FinishedRun, ()>) {
        match finished {
            Ok(finished) => {
                self.notice.outcome = Some(finished.outcome.status);
                self.notice.changes = Some(finished.changes.state);
            }
            Err(()) => self.notice.outcome = Some(Status::Failed),
        }
        self.notify();
    }

    fn notify(&mut self) {
        if let Some(notifier) = self.notifier.take() {
            self.notice.took = self.began.elapsed();
            notifier.tell(&self.notice, self.host, self.ui);
        }
    }

    fn columns(&self) -> Option<usize> {
        self.host.stderr_is_terminal.then(|| self.ui.columns())
    }

    fn say_steps(&mut self, lines: Vec<String>) {
        if self.shown.has_steps() && !lines.is_empty() {
            self.ui.say_lines(lines.into_iter());
            self.progress.interrupted(self.shown.draws());
        }
    }

    fn agent_event(&mut self, event: &Event) {
        if self.stream {
            let line = serde_json::to_string(event).expect("our own events always serialise");
            self.ui.json_line(&line);
            self.progress.interrupted(self.shown.draws());
        }
        let columns = self.columns();
        let lines = self.steps.take(event, columns);
        self.say_steps(lines);
        let changes_status = !matches!(event, Event::Raw { .. } | Event::Usage(_) | Event::Ended { .. });
        if self.shown.draws() && changes_status {
            self.progress.interrupted(true);
        }
    }
}

impl Observer for RunObserver<'_> {
    fn event(&mut self, event: &RunEvent<'_>) {
        match event {
            RunEvent::Warning(warning) => {
                self.ui.warning(printable(&warning.message));
                self.progress.interrupted(self.shown.draws());
            }
            RunEvent::Opened { session, plan, record, directory } => {
                self.steps.relative_to(&record.root.display().to_string());
                self.steps.relative_to(&directory.display().to_string());
                self.asks = plan.changes.apply == ApplyPolicy::Ask;
                self.notice.opened(session, plan);
                if plan.agent().is_none_or(|agent| agent.mode == Mode::Interactive) {
                    // The user ends an interactive run and needs no notification.
                    self.notifier = None;
                }
                self.began = Instant::now();
                self.progress = Progress::start();
                if self.shown != Shown::Nothing {
                    let columns = self.columns();
                    let says_where = self.greets_command && !self.ui.is_json();
                    let home = self.host.home_dir();
                    banner::say(plan, record, columns, home.as_deref(), says_where, self.ui);
                }
            }
            RunEvent::Agent(event) => self.agent_event(event),
            RunEvent::AttemptEnded { .. } => {
                let rest = self.steps.rest(self.columns());
                self.say_steps(rest);
                self.ui.end_progress();
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
            RunEvent::Concluded { status, result, failure, leaks, changes } => {
                if !self.ui.is_json() {
                    self.say_conclusion(*result, *failure);
                    for leak in *leaks {
                        let place = printable(&leak.place);
                        self.ui.warning(format!("the value of `{}` is in {place}", leak.variable));
                    }
                }
                if self.asks && *changes > 0 {
                    // Now, because the question waits for the user.
                    self.notice.outcome = Some(*status);
                    self.notify();
                }
            }
            RunEvent::CheckEnded(_) => {}
        }
    }

    fn tick(&mut self, live: &Live<'_>) {
        if self.shown.draws() && terminal::is_in_front() {
            self.progress.draw(&self.steps, live.changed_files, self.ui);
        } else if self.shown == Shown::Lines
            && let Some(line) = self.progress.after_silence(&self.steps, live.changed_files)
        {
            self.ui.say(&line);
        }
    }
}

impl RunObserver<'_> {
    fn say_conclusion(&mut self, result: Option<&str>, failure: Option<Failure<'_>>) {
        if let Some(result) = result {
            self.ui.line(printable(result));
            self.ui.flush();
        }
        if let Some(failure) = failure {
            self.ui.explain(&say::run_failure(&failure));
        }
    }
}

/// How a headless run ended: time, turns, cost, files, session.
pub fn say_end(finished: &FinishedRun, plan: &RunPlan, host: &Host, ui: &mut Ui) {
    if plan.agent().is_none_or(|agent| agent.mode != Mode::Headless) {
        return;
    }
    let report = finished.report.as_ref();
    let seconds = report.and_then(|report| report["timings"]["harness"].as_f64()).unwrap_or_default();
    let changes: Vec<&Value> =
        report.and_then(|report| report["changes"].as_array()).into_iter().flatten().collect();
    let files = changes.iter().filter(|change| change["directory"] != true).count();
    let changes = match (changes.len(), files) {
        (0, _) if finished.record.backend == Backend::None => None,
        (0, _) => Some("no changes".to_owned()),
        (directories, 0) => Some(format!("{} changed", counted(directories, "directory"))),
        _ => Some(format!("{} changed", counted(files, "file"))),
    };
    let became = match finished.changes.state {
        SessionState::Applied | SessionState::Discarded | SessionState::Held => {
            Some(finished.changes.state.name().to_owned())
        }
        _ => None,
    };
    let time = amounts::seconds(seconds);
    let mut parts = vec![format!("{} in {time}", finished.outcome.status.words())];
    parts.extend(usage_parts(&finished.outcome.usage));
    parts.extend(changes);
    // A run that could not do what it was asked for may have nothing else to show for it.
    match finished.outcome.denied.len() {
        0 => {}
        1 => parts.push("1 call not allowed".to_owned()),
        count => parts.push(format!("{count} calls not allowed")),
    }
    parts.extend(became);
    parts.push(format!("session {}", finished.session));
    let line = parts.join(", ");
    let columns = if host.stderr_is_terminal { ui.columns() } else { usize::MAX };
    ui.say_lines(wrapped(&line, columns).into_iter());
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
                "`agentworkforce sessions diff {session}` shows it, `agentworkforce sessions apply {session}` applies it"
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
