//! What a harness keeps of its conversations, as events. In a terminal it tells us nothing while it runs, but most keep what was said
//! and done. Reads no file and starts nothing: lines or a value go in, events come out.

use crate::model::event::RecordedEvent;
use serde_json::Value;

/// Where a harness has its conversations, and who can read them.
#[derive(Debug, Clone, Copy)]
pub enum Transcripts {
    /// Each is a file as `Records` say, with a JSON value in each line.
    Lines(fn() -> Box<dyn TranscriptReader>),
    /// They are in a database, and the harness prints one of them as a JSON value.
    Exported(Export),
    /// It keeps none.
    Nowhere,
}

/// Reads the file of a conversation, a line at a time.
pub trait TranscriptReader {
    fn read(&mut self, line: &str) -> Vec<RecordedEvent>;
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

/// An event with the time that the harness gives it.
pub(super) fn recorded(at: Option<&str>, event: crate::model::event::Event) -> RecordedEvent {
    RecordedEvent { at: at.map(str::to_owned), event }
}
