//! The transcript of a session: what was asked, said and done in each attempt, from its events or the harness's own records.
//! It can be read while the session runs. Prints nothing.

use super::attempt::{ATTEMPTS_DIR, COMMAND_FILE, OUTCOME_FILE, TASK_FILE};
use super::conversation::ConversationNote;
use super::error::RunError;
use super::export;
use super::in_order::InOrder;
use super::records::{RunRecords, is_plain};
use crate::files::regular;
use crate::harness::adapter;
use crate::harness::transcript::{Span, TranscriptReader, Transcripts};
use crate::host::Host;
use crate::launch::lines::Lines;
use crate::launch::record::EVENTS_FILE;
use crate::model::event::{Event, RecordedEvent, shortened_output};
use crate::model::raw_path::RawPath;
use crate::model::report::Status;
use crate::model::secrets::Secrets;
use crate::model::tier::Harness;
use crate::session::Session;
use anyhow::Result;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The longest task that is shown.
const LONGEST_TASK: u64 = 1 << 20;
/// As much of a file is read at a time.
const PIECE: usize = 256 << 10;
/// As much of the record of an attempt is read: an agent may have written it.
const LARGEST: u64 = 256 << 20;

/// Items of a transcript, in order.
#[derive(Debug, Clone, PartialEq)]
pub enum TranscriptItem {
    /// The harness or command was started once more.
    Attempt { number: u32, source: Source, harness: Option<Harness> },
    /// A line as it is recorded, and what it means.
    Line { raw: String, events: Vec<RecordedEvent> },
    /// Why the transcript of the attempt is not complete.
    Incomplete(&'static str),
    /// The attempt is over.
    Ended(AttemptOutcome),
}

/// Where an attempt is recorded.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Source {
    pub kind: SourceKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<RawPath>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SourceKind {
    /// The events of a headless run.
    Events,
    /// The harness's own record of the conversation.
    Conversation,
    /// There is no record.
    Nothing,
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptOutcome {
    pub status: Status,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Reads a session, from its first attempt on.
pub struct Transcript<'a> {
    session: &'a Session,
    host: &'a Host,
    note: Option<ConversationNote>,
    secrets: Secrets,
    /// The attempt that is read; 0 before the first.
    attempt: u32,
    reading: Reading,
    /// How its events say that it ended.
    ended: Option<AttemptOutcome>,
    /// The conversation that the harness printed, for all attempts.
    exported: Option<Vec<RecordedEvent>>,
}

/// How far an attempt is read.
enum Reading {
    /// Nothing of it is there yet.
    Waiting,
    Events(Tail),
    Conversation {
        tail: Tail,
        reader: Box<dyn TranscriptReader>,
        span: Span,
        /// Whether any of it is of this attempt.
        is_found: bool,
    },
    /// A conversation that can only be read as a whole.
    Whole,
    /// There is no record, and none will come.
    Nothing,
    Done,
}

impl<'a> Transcript<'a> {
    /// Fails for a session without an agent. Values of secrets count from `shortest` characters on.
    pub fn open(session: &'a Session, host: &'a Host, shortest: usize) -> Result<Transcript<'a>> {
        let note = ConversationNote::read(session)?;
        let has_events = session.dir.join(EVENTS_FILE).exists();
        if note.is_none() && !has_events && (is_command(session)? || has_ended(session)?) {
            return Err(RunError::NoTranscript { session: session.id.to_string() }.into());
        }
        let plan: Value = session.read_json("plan.json").ok().flatten().unwrap_or_default();
        let references = plan["references"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let values = references.filter_map(|name| Some((name, host.env.get(name)?)));
        Ok(Transcript {
            session,
            host,
            note,
            secrets: Secrets::at_least(shortest, values),
            attempt: 0,
            reading: Reading::Done,
            ended: None,
            exported: None,
        })
    }

    /// Whether what is said now can be read only when the run has ended.
    pub fn comes_at_the_end(&self) -> bool {
        let harness = self.harness().map(|harness| adapter(harness).transcripts);
        let is_exported = matches!(harness, Some(Transcripts::Exported(_)));
        let has_task = || self.dir(self.attempt).is_some_and(|dir| dir.join(TASK_FILE).exists());
        matches!(self.reading, Reading::Whole)
            || (matches!(self.reading, Reading::Waiting) && is_exported && !has_task())
    }

    /// Hands on everything that is new since the last time. `is_over`: the session has ended, so that no more comes.
    pub fn read(&mut self, is_over: bool, each: &mut dyn FnMut(TranscriptItem)) -> Result<()> {
        loop {
            let next = self.dir(self.attempt + 1);
            let is_last = next.is_none();
            // Written after the last of the events.
            let outcome = self.outcome();
            let no_more = is_over || !is_last || outcome.is_some();
            self.read_attempt(no_more, each)?;
            // Earlier versions kept no outcome.
            let outcome = outcome.or_else(|| self.ended.take_if(|_| no_more));
            if let Reading::Conversation { is_found: is_found @ false, .. } = &mut self.reading
                && no_more
            {
                *is_found = true;
                each(TranscriptItem::Incomplete(
                    "nothing in the harness's record is from the time of this attempt",
                ));
            }
            if let (Some(outcome), false) = (outcome, matches!(self.reading, Reading::Done)) {
                self.reading = Reading::Done;
                each(TranscriptItem::Ended(outcome));
            }
            if is_last {
                return Ok(());
            }
            self.attempt += 1;
            self.ended = None;
            self.reading = Reading::Waiting;
        }
    }

    /// Where an attempt has its records. Earlier versions had one, in the session directory itself.
    fn dir(&self, number: u32) -> Option<PathBuf> {
        let dir = self.session.dir.join(ATTEMPTS_DIR).join(number.to_string());
        let old = || number == 1 && self.session.dir.join(EVENTS_FILE).is_file();
        if dir.is_dir() { Some(dir) } else { old().then(|| self.session.dir.clone()) }
    }

    fn outcome(&self) -> Option<AttemptOutcome> {
        let file = self.dir(self.attempt)?.join(OUTCOME_FILE);
        serde_json::from_slice(&regular::read(&file, LONGEST_TASK).ok()?).ok()
    }

    /// `no_more`: what is not there now does not come.
    fn read_attempt(&mut self, no_more: bool, each: &mut dyn FnMut(TranscriptItem)) -> Result<()> {
        let Some(dir) = self.dir(self.attempt) else { return Ok(()) };
        if matches!(self.reading, Reading::Waiting) {
            self.reading = self.begin(&dir, no_more, each);
        }
        let until = self.dir(self.attempt + 1).and_then(|next| started(&next));
        let is_complete = match &mut self.reading {
            Reading::Events(tail) => {
                let ended = &mut self.ended;
                tail.read(no_more, &mut |raw| {
                    let event = serde_json::from_str::<RecordedEvent>(raw).ok();
                    if let Some(Event::Ended { ok, reason, .. }) = event.as_ref().map(|event| &event.event) {
                        let status = if *ok { Status::Completed } else { Status::Failed };
                        *ended = Some(AttemptOutcome { status, reason: reason.clone() });
                    }
                    each(TranscriptItem::Line { raw: raw.to_owned(), events: event.into_iter().collect() });
                })?
            }
            Reading::Conversation { tail, reader, span, is_found } => {
                span.until = until;
                let secrets = &self.secrets;
                let mut in_order = InOrder::default();
                let is_complete = tail.read(no_more, &mut |raw| {
                    let events = span.events(raw, reader.as_mut());
                    // Of another attempt, or without a meaning for people.
                    let Some(first) = events.first() else { return };
                    *is_found = true;
                    let at = first.at.as_ref().and_then(|at| at.parse().ok());
                    let raw = secrets.redact(raw);
                    let events = events.iter().filter_map(|event| redacted(event, secrets)).collect();
                    if let Some(line) = in_order.push(at, TranscriptItem::Line { raw, events }) {
                        each(line);
                    }
                })?;
                in_order.rest().for_each(&mut *each);
                is_complete
            }
            Reading::Whole if no_more => {
                self.reading = Reading::Done;
                self.read_exported(&dir, each)?;
                if let Some(outcome) = self.outcome() {
                    each(TranscriptItem::Ended(outcome));
                }
                true
            }
            Reading::Waiting | Reading::Whole | Reading::Nothing | Reading::Done => true,
        };
        if !is_complete {
            each(TranscriptItem::Incomplete("the record is too large: the rest is left out"));
        }
        Ok(())
    }

    /// Looks where the attempt is recorded, and says so once that is known.
    fn begin(&mut self, dir: &Path, no_more: bool, each: &mut dyn FnMut(TranscriptItem)) -> Reading {
        let number = self.attempt;
        let mut begins = |harness, kind, file: Option<PathBuf>| {
            let source = Source { kind, file: file.map(RawPath::from) };
            each(TranscriptItem::Attempt { number, source, harness });
        };
        let events = dir.join(EVENTS_FILE);
        if let Some(tail) = Tail::open(&events) {
            begins(self.harness(), SourceKind::Events, Some(events));
            if let Ok(task) = regular::read(&dir.join(TASK_FILE), LONGEST_TASK) {
                let text = self.secrets.redact(&String::from_utf8_lossy(&task));
                let task =
                    RecordedEvent { at: started(dir).map(|at| at.to_string()), event: Event::Task { text } };
                let raw = serde_json::to_string(&task).expect("our own events always serialise");
                each(TranscriptItem::Line { raw, events: vec![task] });
            }
            return Reading::Events(tail);
        }
        let is_headless = dir.join(TASK_FILE).exists();
        if !is_headless {
            // Which conversation it has may have been noted since.
            self.note = ConversationNote::read(self.session).ok().flatten().or(self.note.take());
            match self.note.as_ref().map(|note| adapter(note.harness).transcripts) {
                Some(Transcripts::Lines(reader)) => {
                    if let Some((path, file)) = self.conversation() {
                        begins(self.harness(), SourceKind::Conversation, Some(path));
                        let span = Span { from: started(dir), until: None };
                        let (tail, reader) = (Tail::of(file), reader());
                        return Reading::Conversation { tail, reader, span, is_found: false };
                    }
                }
                Some(Transcripts::Exported(_)) if self.id().is_some() => {
                    begins(self.harness(), SourceKind::Conversation, None);
                    return Reading::Whole;
                }
                Some(Transcripts::Exported(_) | Transcripts::Nowhere) | None => {}
            }
        }
        if no_more {
            begins(self.harness(), SourceKind::Nothing, None);
            return Reading::Nothing;
        }
        Reading::Waiting
    }

    fn id(&self) -> Option<&str> {
        self.note.as_ref()?.session_id.as_deref().filter(|id| is_plain(id))
    }

    fn conversation(&self) -> Option<(PathBuf, File)> {
        let note = self.note.as_ref()?;
        let records = RunRecords {
            records: adapter(note.harness).records,
            session_dir: &self.session.dir,
            state_dir: note.state_dir.as_deref(),
        };
        records.open(self.id()?)
    }

    /// A conversation that the harness has to print.
    fn read_exported(&mut self, dir: &Path, each: &mut dyn FnMut(TranscriptItem)) -> Result<()> {
        let (Some(note), Some(id)) = (&self.note, self.id()) else { return Ok(()) };
        let Transcripts::Exported(how) = adapter(note.harness).transcripts else { return Ok(()) };
        if self.exported.is_none() {
            let printed =
                export::conversation(&how, adapter(note.harness), id, &self.session.dir, self.host)?;
            self.exported = Some((how.read)(&printed));
        }
        let until = self.dir(self.attempt + 1).and_then(|next| started(&next));
        let span = Span { from: started(dir), until };
        let events = self.exported.iter().flatten().filter(|event| span.has(event.at.as_deref()));
        for event in events.filter_map(|event| redacted(event, &self.secrets)) {
            let raw = serde_json::to_string(&event)?;
            each(TranscriptItem::Line { raw, events: vec![event] });
        }
        Ok(())
    }

    /// The harness of the session, where that is known.
    pub fn harness(&self) -> Option<Harness> {
        self.note.as_ref().map(|note| note.harness)
    }
}

/// Whether no harness runs in it.
fn is_command(session: &Session) -> Result<bool> {
    let status = session.status()?;
    Ok(status.is_some_and(|status| status.runs.last().is_some_and(|run| run.harness.is_none())))
}

fn has_ended(session: &Session) -> Result<bool> {
    Ok(!session.is_live()? || !session.entry()?.state.is_active())
}

/// The event without values of secrets, and no longer than those that we record.
fn redacted(event: &RecordedEvent, secrets: &Secrets) -> Option<RecordedEvent> {
    let mut value = serde_json::to_value(event).ok()?;
    secrets.redact_json(&mut value);
    let mut event: RecordedEvent = serde_json::from_value(value).ok()?;
    if let Event::ToolFinished { output: Some(output), .. } = &mut event.event {
        *output = shortened_output(output);
    }
    Some(event)
}

/// When an attempt began. Earlier versions did not note it.
fn started(dir: &Path) -> Option<Timestamp> {
    let path = dir.join(COMMAND_FILE);
    let noted = regular::read(&path, LONGEST_TASK).ok();
    let noted = noted.and_then(|text| serde_json::from_slice::<Value>(&text).ok());
    let written = || Timestamp::try_from(path.symlink_metadata().ok()?.modified().ok()?).ok();
    noted.and_then(|noted| noted["startedAt"].as_str()?.parse().ok()).or_else(written)
}

/// A file that grows, a line at a time.
struct Tail {
    file: File,
    at: u64,
    lines: Lines,
    is_cut: bool,
}

impl Tail {
    fn open(path: &Path) -> Option<Tail> {
        regular::open(path).ok().map(Tail::of)
    }

    fn of(file: File) -> Tail {
        Tail { file, at: 0, lines: Lines::default(), is_cut: false }
    }

    /// Hands on the lines that are new; with `no_more`, the last one although nothing ends it. False once, when there is more than is
    /// ever read.
    fn read(&mut self, no_more: bool, each: &mut dyn FnMut(&str)) -> Result<bool> {
        let mut each = |line: &[u8]| {
            let line = String::from_utf8_lossy(line);
            if !line.trim_end().is_empty() {
                each(line.trim_end());
            }
        };
        if self.is_cut {
            return Ok(true);
        }
        self.file.seek(SeekFrom::Start(self.at))?;
        let mut piece = vec![0; PIECE];
        loop {
            let count = self.file.read(&mut piece)?;
            if count == 0 {
                break;
            }
            self.at += count as u64;
            if self.at > LARGEST {
                self.is_cut = true;
                return Ok(false);
            }
            self.lines.take(&piece[..count], &mut each);
        }
        if no_more {
            self.lines.finish(each);
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn lines(tail: &mut Tail, no_more: bool) -> Vec<String> {
        let mut lines = Vec::new();
        assert!(tail.read(no_more, &mut |line| lines.push(line.to_owned())).unwrap());
        lines
    }

    #[test]
    fn lines_come_when_they_are_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let mut file = File::create(&path).unwrap();
        let mut tail = Tail::open(&path).unwrap();
        assert!(lines(&mut tail, false).is_empty());
        file.write_all(b"one\ntw").unwrap();
        assert_eq!(lines(&mut tail, false), ["one"]);
        file.write_all(b"o\n\nthr").unwrap();
        assert_eq!(lines(&mut tail, false), ["two"]);
        assert_eq!(lines(&mut tail, true), ["thr"]);
        assert!(lines(&mut tail, true).is_empty());
        assert!(Tail::open(dir.path()).is_none());
    }

    #[test]
    fn a_record_without_an_end_is_read_only_so_far() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let mut file = File::create(&path).unwrap();
        file.write_all("\n".repeat(1 << 20).as_bytes()).unwrap();
        file.write_all(b"one\n").unwrap();
        let mut tail = Tail::open(&path).unwrap();
        let began = std::time::Instant::now();
        assert_eq!(lines(&mut tail, false), ["one"]);
        // One after the other was moved for each line: that took more than a minute.
        assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
        file.set_len(1 << 40).unwrap();
        assert!(!tail.read(true, &mut |_| ()).unwrap());
        assert!(tail.read(true, &mut |line| panic!("{line}")).unwrap());
    }

    #[test]
    fn an_attempt_began_when_it_says_so_whatever_became_of_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(COMMAND_FILE);
        std::fs::write(&path, r#"{"startedAt":"2026-11-18T20:00:01Z"}"#).unwrap();
        assert_eq!(started(dir.path()), "2026-11-18T20:00:01Z".parse().ok());
        std::fs::write(&path, "{}").unwrap();
        let written = path.metadata().unwrap().modified().unwrap();
        assert_eq!(started(dir.path()), Timestamp::try_from(written).ok());
    }
}
