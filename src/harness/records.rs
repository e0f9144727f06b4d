//! Where a harness notes which conversation a run has, as plain data: in a terminal it does not say so. Nothing is read here.

/// The records of one harness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Records {
    pub current: Current,
    /// Where each conversation is a file of its own, if that is so.
    pub files: Option<ConversationFiles>,
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
