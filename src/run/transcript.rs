//! The transcript of a session: what was asked, said and done in each attempt, as its events or the harness's own records have it.
//! It can be read while the session runs. Prints nothing.

use super::attempt::{ATTEMPTS_DIR, COMMAND_FILE, OUTCOME_FILE, TASK_FILE};
use super::conversation::ConversationNote;
use super::error::RunError;
use super::export;
use super::records::{RunRecords, is_plain};
use crate::files::regular;
use crate::harness::adapter;
use crate::harness::transcript::{Span, TranscriptReader, Transcripts};
use crate::host::Host;
use crate::launch::record::EVENTS_FILE;
use crate::model::event::{Event, RecordedEvent, shortened_output};
use crate::model::raw_path::RawPath;
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
/// A line that is longer is passed over.
const LONGEST_LINE: usize = 16 << 20;

/// What is heard, in its order.
#[derive(Debug, Clone, PartialEq)]
pub enum Heard {
    /// The harness or command was started once more.
    Attempt { number: u32, source: Source },
    /// A line as it is recorded, and what it means.
    Line { raw: String, events: Vec<RecordedEvent> },
    /// The attempt is over.
    Over(Over),
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
pub struct Over {
    pub status: String,
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
    ended: Option<Over>,
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
    },
    /// A conversation that can only be had as a whole.
    Whole,
    /// There is no record, and none will come.
    Nothing,
    Done,
}

impl<'a> Transcript<'a> {
    /// Fails for a session without an agent.
    pub fn open(session: &'a Session, host: &'a Host) -> Result<Transcript<'a>> {
        let note = ConversationNote::read(session)?;
        let has_events = session.dir.join(EVENTS_FILE).exists();
        if note.is_none() && !has_events && has_ended(session)? {
            return Err(RunError::NoTranscript { session: session.id.to_string() }.into());
        }
        let plan: Value = session.read_json("plan.json").ok().flatten().unwrap_or_default();
        let references = plan["references"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let secrets = Secrets::new(references.filter_map(|name| Some((name, host.env.get(name)?))));
        Ok(Transcript { session, host, note, secrets, attempt: 0, reading: Reading::Done, ended: None })
    }

    /// Everything that is new since the last time. `is_over`: the session has ended, so that no more comes.
    pub fn read(&mut self, is_over: bool) -> Result<Vec<Heard>> {
        let mut heard = Vec::new();
        loop {
            let next = self.dir(self.attempt + 1);
            let is_last = next.is_none();
            // Written after the last of the events.
            let over = self.outcome();
            let no_more = is_over || !is_last || over.is_some();
            self.read_attempt(no_more, &mut heard)?;
            // Earlier versions kept no outcome.
            let over = over.or_else(|| self.ended.take_if(|_| no_more));
            if let (Some(over), false) = (over, matches!(self.reading, Reading::Done)) {
                self.reading = Reading::Done;
                heard.push(Heard::Over(over));
            }
            if is_last {
                return Ok(heard);
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

    fn outcome(&self) -> Option<Over> {
        let file = self.dir(self.attempt)?.join(OUTCOME_FILE);
        serde_json::from_slice(&regular::read(&file, LONGEST_TASK).ok()?).ok()
    }

    /// `no_more`: what is not there now does not come.
    fn read_attempt(&mut self, no_more: bool, heard: &mut Vec<Heard>) -> Result<()> {
        let Some(dir) = self.dir(self.attempt) else { return Ok(()) };
        if matches!(self.reading, Reading::Waiting) {
            self.reading = self.begin(&dir, no_more, heard);
        }
        let until = self.dir(self.attempt + 1).and_then(|next| started(&next));
        match &mut self.reading {
            Reading::Events(tail) => {
                for raw in tail.lines(no_more)? {
                    let event = serde_json::from_str::<RecordedEvent>(&raw).ok();
                    if let Some(Event::Ended { ok, reason, .. }) = event.as_ref().map(|event| &event.event) {
                        let status = if *ok { "completed" } else { "failed" };
                        self.ended = Some(Over { status: status.to_owned(), reason: reason.clone() });
                    }
                    heard.push(Heard::Line { raw, events: event.into_iter().collect() });
                }
            }
            Reading::Conversation { tail, reader, span } => {
                span.until = until;
                for raw in tail.lines(no_more)? {
                    let events = span.events(&raw, reader.as_mut());
                    // Of another attempt, or without a meaning for people.
                    if events.is_empty() {
                        continue;
                    }
                    let raw = self.secrets.redact(&raw);
                    let events = events.iter().filter_map(|event| redacted(event, &self.secrets)).collect();
                    heard.push(Heard::Line { raw, events });
                }
            }
            Reading::Whole if no_more => {
                self.reading = Reading::Done;
                heard.extend(self.exported(&dir)?);
                heard.extend(self.outcome().map(Heard::Over));
            }
            Reading::Waiting | Reading::Whole | Reading::Nothing | Reading::Done => {}
        }
        Ok(())
    }

    /// Looks where the attempt is recorded, and says so once that is known.
    fn begin(&mut self, dir: &Path, no_more: bool, heard: &mut Vec<Heard>) -> Reading {
        let number = self.attempt;
        let mut begins = |kind, file: Option<PathBuf>| {
            let source = Source { kind, file: file.map(RawPath::from) };
            heard.push(Heard::Attempt { number, source });
        };
        let events = dir.join(EVENTS_FILE);
        if let Some(tail) = Tail::open(&events) {
            begins(SourceKind::Events, Some(events));
            if let Ok(task) = regular::read(&dir.join(TASK_FILE), LONGEST_TASK) {
                let text = self.secrets.redact(&String::from_utf8_lossy(&task));
                let task =
                    RecordedEvent { at: started(dir).map(|at| at.to_string()), event: Event::Task { text } };
                let raw = serde_json::to_string(&task).expect("our own events always serialise");
                heard.push(Heard::Line { raw, events: vec![task] });
            }
            return Reading::Events(tail);
        }
        let is_headless = dir.join(TASK_FILE).exists();
        if !is_headless {
            // Which conversation it has may have been noted since.
            self.note = ConversationNote::read(self.session).ok().flatten().or(self.note.take());
            match self.note.as_ref().map(|note| adapter(note.harness).transcripts) {
                Some(Transcripts::Lines(reader)) => {
                    if let Some((file, tail)) =
                        self.conversation().and_then(|file| Some((file.clone(), Tail::open(&file)?)))
                    {
                        begins(SourceKind::Conversation, Some(file));
                        let span = Span { from: started(dir), until: None };
                        return Reading::Conversation { tail, reader: reader(), span };
                    }
                }
                Some(Transcripts::Exported(_)) if self.id().is_some() => {
                    begins(SourceKind::Conversation, None);
                    return Reading::Whole;
                }
                Some(Transcripts::Exported(_) | Transcripts::Nowhere) | None => {}
            }
        }
        if no_more {
            begins(SourceKind::Nothing, None);
            return Reading::Nothing;
        }
        Reading::Waiting
    }

    fn id(&self) -> Option<&str> {
        self.note.as_ref()?.session_id.as_deref().filter(|id| is_plain(id))
    }

    fn conversation(&self) -> Option<PathBuf> {
        let note = self.note.as_ref()?;
        let records = RunRecords {
            records: adapter(note.harness).records,
            session_dir: &self.session.dir,
            state_dir: note.state_dir.as_deref(),
        };
        // The agent could write there: a link would lead to any file.
        let is_file = |path: &PathBuf| path.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
        records.file(self.id()?).filter(is_file)
    }

    /// A conversation that the harness has to print.
    fn exported(&self, dir: &Path) -> Result<Vec<Heard>> {
        let (Some(note), Some(id)) = (&self.note, self.id()) else { return Ok(Vec::new()) };
        let Transcripts::Exported(how) = adapter(note.harness).transcripts else { return Ok(Vec::new()) };
        let printed = export::conversation(&how, adapter(note.harness), id, &self.session.dir, self.host)?;
        let until = self.dir(self.attempt + 1).and_then(|next| started(&next));
        let span = Span { from: started(dir), until };
        let events = (how.read)(&printed).into_iter().filter(|event| span.has(event.at.as_deref()));
        let line = |event: RecordedEvent| {
            let event = redacted(&event, &self.secrets)?;
            let raw = serde_json::to_string(&event).ok()?;
            Some(Heard::Line { raw, events: vec![event] })
        };
        Ok(events.filter_map(line).collect())
    }

    /// The harness of the session, where that is known.
    pub fn harness(&self) -> Option<Harness> {
        self.note.as_ref().map(|note| note.harness)
    }
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

/// When an attempt began.
fn started(dir: &Path) -> Option<Timestamp> {
    let written = dir.join(COMMAND_FILE).symlink_metadata().and_then(|metadata| metadata.modified()).ok()?;
    Timestamp::try_from(written).ok()
}

/// A file that grows, a line at a time.
struct Tail {
    file: File,
    at: u64,
    begun: Vec<u8>,
}

impl Tail {
    fn open(path: &Path) -> Option<Tail> {
        Some(Tail { file: regular::open(path).ok()?, at: 0, begun: Vec::new() })
    }

    /// The lines that are new; with `no_more`, the last one although nothing ends it.
    fn lines(&mut self, no_more: bool) -> Result<Vec<String>> {
        self.file.seek(SeekFrom::Start(self.at))?;
        let mut lines = Vec::new();
        let mut piece = vec![0; PIECE];
        loop {
            let count = self.file.read(&mut piece)?;
            if count == 0 {
                break;
            }
            self.at += count as u64;
            self.begun.extend_from_slice(&piece[..count]);
            while let Some(end) = memchr::memchr(b'\n', &self.begun) {
                let line: Vec<u8> = self.begun.drain(..=end).collect();
                lines.push(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
            if self.begun.len() > LONGEST_LINE {
                self.begun.clear();
            }
        }
        if no_more && !self.begun.is_empty() {
            lines.push(String::from_utf8_lossy(&std::mem::take(&mut self.begun)).trim_end().to_owned());
        }
        lines.retain(|line| !line.is_empty());
        Ok(lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn lines_come_when_they_are_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let mut file = File::create(&path).unwrap();
        let mut tail = Tail::open(&path).unwrap();
        assert!(tail.lines(false).unwrap().is_empty());
        file.write_all(b"one\ntw").unwrap();
        assert_eq!(tail.lines(false).unwrap(), ["one"]);
        file.write_all(b"o\n\nthr").unwrap();
        assert_eq!(tail.lines(false).unwrap(), ["two"]);
        assert_eq!(tail.lines(true).unwrap(), ["thr"]);
        assert!(tail.lines(true).unwrap().is_empty());
        assert!(Tail::open(dir.path()).is_none());
    }
}
