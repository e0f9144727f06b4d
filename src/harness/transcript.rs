//! What a harness keeps of its conversations, as events. In a terminal it tells us nothing while it runs, but most keep what was said
//! and done. Reads no file and starts nothing: lines or a value go in, events come out.

use super::events::text;
use crate::model::event::{Event, RecordedEvent};
use jiff::Timestamp;
use serde_json::Value;

/// Where a harness has its conversations, and who can read them.
#[derive(Debug, Clone, Copy)]
pub enum Transcripts {
    /// Each is a file as `Records` say, with a JSON value in each line, whose time is in `timestamp`.
    Lines(fn() -> Box<dyn TranscriptReader>),
    /// They are in a database, and the harness prints one of them as a JSON value.
    Exported(Export),
    /// It keeps none.
    Nowhere,
}

/// Reads the file of a conversation, a line at a time. Outputs of tools stay whole, so that secrets are found in them.
pub trait TranscriptReader {
    fn read(&mut self, line: Value) -> Vec<Event>;

    /// The model of the last answer.
    fn model(&self) -> Option<&str>;
}

/// The time of an attempt: one file may have the conversation of several.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    pub from: Option<Timestamp>,
    pub until: Option<Timestamp>,
}

impl Span {
    /// Whether a time in RFC 3339 is in it. What has no time is.
    pub fn has(&self, at: Option<&str>) -> bool {
        let Some(at) = at.and_then(|at| at.parse::<Timestamp>().ok()) else { return true };
        self.from.is_none_or(|from| at >= from) && self.until.is_none_or(|until| at < until)
    }

    /// What a line of a conversation's file means; nothing if it is of another time.
    pub fn events(&self, line: &str, reader: &mut dyn TranscriptReader) -> Vec<RecordedEvent> {
        let Ok(value) = serde_json::from_str::<Value>(line) else { return Vec::new() };
        let at = text(&value["timestamp"]).map(str::to_owned);
        if !self.has(at.as_deref()) {
            return Vec::new();
        }
        let events = reader.read(value).into_iter();
        events.map(|event| RecordedEvent { at: at.clone(), event }).collect()
    }
}

/// How a harness prints a conversation.
#[derive(Debug, Clone, Copy)]
pub struct Export {
    /// The arguments before the id of the conversation.
    pub args: &'static [&'static str],
    /// The variable that says where the database is.
    pub database_variable: &'static str,
    /// Its name where the session has its own.
    pub own_database: &'static str,
    /// The user's database: the variable of its data directory, that directory below the user's home, and the file in it.
    pub users_database: (&'static str, &'static str, &'static str),
    /// What it printed.
    pub read: fn(&Value) -> Vec<RecordedEvent>,
}
