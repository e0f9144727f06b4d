//! Where a harness notes which conversation a run has, as plain data: in a terminal it does not say so. Its records are read a line
//! at a time, by readers in the harnesses' folders; no file is opened here.

use crate::model::report::Usage;

/// What the records say about a run in a terminal. An agent can write most of them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RecordedRun {
    pub usage: Usage,
    pub model: Option<String>,
    /// What the user said first.
    pub task: Option<String>,
}

/// Reads the records of one conversation, a line at a time.
pub trait RecordReader {
    fn read(&mut self, line: &str);

    fn recorded(&mut self) -> RecordedRun;
}

/// Whether something was recorded at or after a time; both are RFC 3339 in UTC. Their fractions may differ in length.
pub fn is_since(time: &str, since: &str) -> bool {
    const SECONDS: usize = "2026-11-18T10:00:00".len();
    time.get(..SECONDS) >= since.get(..SECONDS)
}

/// The records of one harness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Records {
    pub current: Current,
    /// Where each conversation is a file of its own, if that is so.
    pub files: Option<ConversationFiles>,
    /// A file in the session directory with what a run in a terminal used, where no conversation is a file.
    pub usage: Option<&'static str>,
    /// A conversation goes on only in the directory that it began in.
    pub keeps_directory: bool,
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
