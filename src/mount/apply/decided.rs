//! What a person decided about one path: a version, an edited text, some hunks. Plain values; `settle` puts them into a review.

use crate::mount::changes::MergedText;
use crate::mount::changes::hunks::PickedText;
use crate::mount::changes::versions::TextVersions;
use crate::mount::fs::stat::Stat;
use std::sync::Arc;

/// The decision about one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// The project's side that the person saw.
    pub now: Option<Stat>,
    pub choice: Choice,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// Keep the project's version and leave the agent's in the session.
    Ours,
    /// Take the agent's version; the user's goes to the undo copies.
    Theirs,
    /// Write this text, which was made from both versions.
    Text(Arc<PickedText>),
}

impl Choice {
    /// A text that resolves a conflict between these versions.
    pub fn settled(versions: &TextVersions, result: Vec<u8>) -> Choice {
        let TextVersions { base, theirs, mode, .. } = versions;
        let text = MergedText { result, agents: theirs.clone(), base: base.clone() };
        Choice::Text(Arc::new(PickedText { text, theirs: theirs.clone(), mode: *mode, partly: false }))
    }
}
