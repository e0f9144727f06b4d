//! `sessions log`: what was asked, said and done in a session, as text, as it is recorded or as JSON; with `--follow` until the session
//! ends. Changes nothing.

use super::answer;
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::model::event::RecordedEvent;
use crate::model::warning::{Warning, WarningCode};
use crate::run::transcript::{Heard, Over, Source, SourceKind, Transcript};
use crate::session::{Session, Sessions};
use crate::ui::steps::{Detail, Steps};
use crate::ui::{DIM, Ui, printable};
use serde::Serialize;
use serde_json::json;
use std::time::Duration;

/// How often a session that runs is looked at.
const PAUSE: Duration = Duration::from_millis(200);

/// What is printed of a session.
#[derive(Debug, Clone, Copy)]
pub(super) struct LogRequest {
    pub follow: bool,
    pub raw: bool,
}

/// An attempt in the JSON answer.
#[derive(Debug, Serialize)]
struct Attempt {
    number: u32,
    source: Source,
    events: Vec<RecordedEvent>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<Over>,
}

pub(super) fn run(sessions: &Sessions, id: &str, request: LogRequest, ui: &mut Ui) -> Result<Exit> {
    if ui.is_json() && (request.follow || request.raw) {
        return Err(CommandError::usage("`--json` is one object, which can neither be followed nor be raw")
            .hint("`--follow --raw` prints the recorded lines as they come; most are JSON"));
    }
    let session = sessions.store.find(id)?;
    let mut transcript = Transcript::open(&session, sessions.host)?;
    if ui.is_json() {
        return json_answer(&session, &mut transcript, ui);
    }
    let mut log = Log::new(&session, request.raw);
    loop {
        // Before it is read: what comes afterwards is read next time.
        let is_live = session.exists() && session.is_live()?;
        for heard in transcript.read(!is_live)? {
            log.show(&heard, &transcript, ui);
        }
        ui.flush();
        if !is_live || !request.follow || ui.is_closed() {
            return Ok(log.finish(is_live, ui));
        }
        std::thread::sleep(PAUSE);
    }
}

/// Prints what is heard.
struct Log<'a> {
    session: &'a Session,
    raw: bool,
    steps: Steps,
    /// Whether the last attempt has ended as far as is recorded.
    is_over: bool,
    missing: Option<String>,
}

impl<'a> Log<'a> {
    fn new(session: &'a Session, raw: bool) -> Log<'a> {
        let mut steps = Steps::new(Detail::Whole);
        if let Ok(Some(record)) = session.record() {
            steps.relative_to(&record.root.display().to_string());
            steps.relative_to(&session.dir.join(&record.data).display().to_string());
        }
        Log { session, raw, steps, is_over: false, missing: None }
    }

    fn show(&mut self, heard: &Heard, transcript: &Transcript, ui: &mut Ui) {
        match heard {
            Heard::Attempt { number, source } => {
                self.is_over = false;
                self.missing = (source.kind == SourceKind::Nothing).then(|| missing(transcript));
                if *number > 1 && !self.raw {
                    ui.line(format!("{DIM}attempt {number}{DIM:#}"));
                }
                if let Some(missing) = &self.missing {
                    ui.flush();
                    ui.warning(printable(missing));
                }
            }
            Heard::Line { raw, .. } if self.raw => {
                ui.foreign(raw);
                ui.text("\n");
            }
            Heard::Line { events, .. } => {
                for event in events {
                    for line in self.steps.take(&event.event, None) {
                        ui.line(line);
                    }
                }
            }
            Heard::Over(over) => {
                self.is_over = true;
                if !self.raw {
                    self.rest(ui);
                    let reason = over.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
                    let text = format!("{}{reason}", over.status.replace('-', " "));
                    ui.line(format!("{DIM}{}{DIM:#}", printable(&text)));
                }
            }
        }
    }

    fn rest(&mut self, ui: &mut Ui) {
        for line in self.steps.rest(None) {
            ui.line(line);
        }
    }

    fn finish(mut self, is_live: bool, ui: &mut Ui) -> Exit {
        if !self.raw && !is_live {
            self.rest(ui);
        }
        ui.flush();
        if is_live {
            let id = &self.session.id;
            ui.hint(format!("it is running: `agentworkforce sessions log {id} --follow` goes on with it"));
        } else if !self.is_over && !self.raw && self.missing.is_none() {
            ui.say("it did not end by itself: its runner is gone");
        }
        if self.missing.is_some() { Exit::Failed } else { Exit::Done }
    }
}

fn missing(transcript: &Transcript) -> String {
    match transcript.harness() {
        Some(harness) => format!(
            "there is no transcript: {harness} has no record of the conversation any more, or nothing was said"
        ),
        None => "there is no transcript".to_owned(),
    }
}

fn json_answer(session: &Session, transcript: &mut Transcript, ui: &mut Ui) -> Result<Exit> {
    let entry = session.entry()?;
    let (mut attempts, mut warnings) = (Vec::<Attempt>::new(), Vec::new());
    for heard in transcript.read(!entry.live)? {
        match (heard, attempts.last_mut()) {
            (Heard::Attempt { number, source }, _) => {
                if source.kind == SourceKind::Nothing {
                    warnings.push(Warning::new(WarningCode::Harness, missing(transcript)));
                }
                attempts.push(Attempt { number, source, events: Vec::new(), outcome: None });
            }
            (Heard::Line { events, .. }, Some(attempt)) => attempt.events.extend(events),
            (Heard::Over(over), Some(attempt)) => attempt.outcome = Some(over),
            (Heard::Line { .. } | Heard::Over(_), None) => {}
        }
    }
    answer(
        &json!({
            "session": entry.id,
            "state": entry.state,
            "live": entry.live,
            "attempts": attempts,
            "warnings": warnings,
        }),
        ui,
    );
    Ok(Exit::Done)
}
