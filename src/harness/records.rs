//! Where a harness notes which conversation a run has, as plain data: in a terminal it does not say so. No file is opened here.

use crate::model::event::Event;
use crate::model::report::Usage;
use serde_json::Value;

/// What the records say about a run in a terminal. An agent can write most of them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RecordedRun {
    pub usage: Usage,
    pub model: Option<String>,
    /// What the user said first.
    pub task: Option<String>,
}

impl RecordedRun {
    /// Adds what happened next in the conversation.
    pub fn add(&mut self, event: Event) {
        match event {
            Event::Task { text } if self.task.is_none() => self.task = Some(text),
            Event::Usage(usage) => self.usage = usage,
            _ => {}
        }
    }
}

/// The records of one harness.
#[derive(Debug, Clone, Copy)]
pub struct Records {
    pub current: Current,
    /// Where each conversation is a file of its own, if that is so.
    pub files: Option<ConversationFiles>,
    /// What a run in a terminal used, where no conversation is a file.
    pub usage: Option<UsageNote>,
    /// A conversation goes on only in the directory that it began in.
    pub keeps_directory: bool,
}

/// A file in the session directory with a JSON value, and what it means.
#[derive(Debug, Clone, Copy)]
pub struct UsageNote {
    pub file: &'static str,
    pub read: fn(&Value) -> RecordedRun,
}

/// What says which conversation a run has. Paths are relative to the session directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Current {
    /// The run has the id that it was given: its command line has a place for it.
    Given,
    /// The directory has a file `<id>.lock` for each conversation that is open.
    Locks(&'static str),
    /// The file holds the id of the conversation that something was said in last.
    File(&'static str),
}

/// Files `<id>.jsonl`, or with something before the id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConversationFiles {
    /// The directory below that of the harness's state.
    pub dir: &'static str,
    /// How many directories deep in it they are.
    pub depth: usize,
    /// A directory of state that is in the session directory.
    pub in_session: Option<&'static str>,
}
