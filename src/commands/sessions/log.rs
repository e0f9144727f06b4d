//! `sessions log`: what was asked, said and done in a session, as text, as it is recorded or as JSON; with `--follow` until the session
//! ends. Changes nothing.

use super::{answer, config};
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::model::event::RecordedEvent;
use crate::model::secrets::SHORTEST;
use crate::model::tier::Harness;
use crate::model::warning::{Warning, WarningCode};
use crate::run::transcript::{AttemptOutcome, Source, SourceKind, Transcript, TranscriptItem};
use crate::session::{Session, Sessions};
use crate::ui::steps::{Detail, Steps};
use crate::ui::{DIM, Ui, printable};
use serde::Serialize;
use serde_json::json;
use std::time::{Duration, Instant};

/// How often a session that runs is looked at.
const PAUSE: Duration = Duration::from_millis(200);
/// A tool that takes longer is shown before its end.
const LONG: Duration = Duration::from_secs(1);

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
    outcome: Option<AttemptOutcome>,
}

pub(super) fn run(sessions: &Sessions, id: &str, request: LogRequest, ui: &mut Ui) -> Result<Exit> {
    if ui.is_json() && (request.follow || request.raw) {
        return Err(CommandError::usage("`--json` is one object, which can neither be followed nor be raw")
            .hint("`--follow --raw` prints the recorded lines as they come; most are JSON"));
    }
    let session = sessions.store.find(id)?;
    let shortest = config(sessions.host)?.settings.secrets.min_length.unwrap_or(SHORTEST);
    let mut transcript = Transcript::open(&session, sessions.host, shortest)?;
    if ui.is_json() {
        return json_answer(&session, &mut transcript, ui);
    }
    let mut log = Log::new(&session, request.raw);
    loop {
        // Before it is read: what comes afterwards is read next time.
        let is_live = session.exists() && session.is_live()?;
        transcript.read(!is_live, &mut |item| log.show(&item, ui))?;
        if !is_live || !request.follow || ui.is_closed() {
            return Ok(log.finish(is_live.then_some(&transcript), ui));
        }
        log.wait(&transcript, ui);
        std::thread::sleep(PAUSE);
    }
}

/// Prints the items of a transcript.
struct Log<'a> {
    session: &'a Session,
    raw: bool,
    steps: Steps,
    /// Whether the last attempt has ended as far as is recorded.
    is_over: bool,
    missing: Option<String>,
    /// When the last event came.
    last: Instant,
    /// The user knows that the conversation comes at the end.
    is_announced: bool,
}

impl<'a> Log<'a> {
    fn new(session: &'a Session, raw: bool) -> Log<'a> {
        let mut steps = Steps::new(Detail::Whole);
        if let Ok(Some(record)) = session.record() {
            steps.relative_to(&record.root.display().to_string());
            steps.relative_to(&session.dir.join(&record.data).display().to_string());
        }
        Log { session, raw, steps, is_over: false, missing: None, last: Instant::now(), is_announced: false }
    }

    fn show(&mut self, item: &TranscriptItem, ui: &mut Ui) {
        match item {
            TranscriptItem::Attempt { number, source, harness } => {
                self.is_over = false;
                self.missing = (source.kind == SourceKind::Nothing).then(|| missing(*harness));
                if *number > 1 && !self.raw {
                    ui.line(format!("{DIM}attempt {number}{DIM:#}"));
                }
                if let Some(missing) = &self.missing {
                    ui.flush();
                    ui.warning(printable(missing));
                }
            }
            TranscriptItem::Line { raw, .. } if self.raw => ui.foreign(&format!("{raw}\n")),
            TranscriptItem::Line { events, .. } => {
                self.last = Instant::now();
                for event in events {
                    for line in self.steps.take(&event.event, None) {
                        ui.line(line);
                    }
                }
            }
            TranscriptItem::Incomplete(why) => {
                ui.flush();
                ui.warning(*why);
            }
            TranscriptItem::Ended(outcome) => {
                self.is_over = true;
                if !self.raw {
                    self.rest(ui);
                    let reason =
                        outcome.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
                    let text = format!("{}{reason}", outcome.status.words());
                    ui.line(format!("{DIM}{}{DIM:#}", printable(&text)));
                }
            }
        }
    }

    /// Shows what is known while nothing comes.
    fn wait(&mut self, transcript: &Transcript, ui: &mut Ui) {
        if !self.raw && self.last.elapsed() >= LONG {
            self.running(ui);
        }
        ui.flush();
        if transcript.comes_at_the_end() && !std::mem::replace(&mut self.is_announced, true) {
            ui.say(&at_the_end(transcript));
        }
    }

    fn running(&mut self, ui: &mut Ui) {
        for line in self.steps.running() {
            ui.line(line);
        }
    }

    fn rest(&mut self, ui: &mut Ui) {
        for line in self.steps.rest(None) {
            ui.line(line);
        }
    }

    /// `running`: the transcript of a session that goes on.
    fn finish(mut self, running: Option<&Transcript>, ui: &mut Ui) -> Exit {
        match running {
            _ if self.raw => {}
            Some(_) => self.running(ui),
            None => self.rest(ui),
        }
        ui.flush();
        if let Some(transcript) = running.filter(|transcript| transcript.comes_at_the_end()) {
            ui.say(&at_the_end(transcript));
        } else if running.is_some() {
            let id = &self.session.id;
            ui.hint(format!("it is running: `agentworkforce sessions log {id} --follow` goes on with it"));
        } else if !self.is_over && !self.raw && self.missing.is_none() {
            ui.say("it was killed before it ended");
        }
        if self.missing.is_some() { Exit::Failed } else { Exit::Done }
    }
}

fn missing(harness: Option<Harness>) -> String {
    match harness {
        Some(harness) => format!(
            "there is no transcript: {harness} has no record of the conversation any more, or nothing was said"
        ),
        None => "there is no transcript".to_owned(),
    }
}

fn at_the_end(transcript: &Transcript) -> String {
    let harness =
        transcript.harness().map_or_else(|| "the harness".to_owned(), |harness| harness.to_string());
    format!(
        "a conversation with {harness} at a terminal cannot be followed: it is shown once the run has ended"
    )
}

fn json_answer(session: &Session, transcript: &mut Transcript, ui: &mut Ui) -> Result<Exit> {
    let entry = session.entry()?;
    let (mut attempts, mut warnings) = (Vec::<Attempt>::new(), Vec::new());
    let mut exit = Exit::Done;
    transcript.read(!entry.live, &mut |item| match (item, attempts.last_mut()) {
        (TranscriptItem::Attempt { number, source, harness }, _) => {
            exit = Exit::Done;
            if source.kind == SourceKind::Nothing {
                warnings.push(Warning::new(WarningCode::Harness, missing(harness)));
                exit = Exit::Failed;
            }
            attempts.push(Attempt { number, source, events: Vec::new(), outcome: None });
        }
        (TranscriptItem::Line { events, .. }, Some(attempt)) => attempt.events.extend(events),
        (TranscriptItem::Incomplete(why), _) => warnings.push(Warning::new(WarningCode::Harness, why)),
        (TranscriptItem::Ended(outcome), Some(attempt)) => attempt.outcome = Some(outcome),
        (TranscriptItem::Line { .. } | TranscriptItem::Ended(_), None) => {}
    })?;
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
    Ok(exit)
}
