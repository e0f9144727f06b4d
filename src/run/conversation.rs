//! Which conversation of a harness belongs to a session, so that it can be continued: note as soon as the harness says it.

use super::error::RunError;
use crate::launch::staging;
use crate::model::plan::{AgentPlan, Conversation};
use crate::model::tier::Harness;
use crate::mount::fs::plain_copy::PlainCopy;
use crate::mount::fs::tree::Tree;
use crate::session::{Session, SessionStore};
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::path::Path;

const FILE: &str = "harness.json";

/// What `harness.json` of a session says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConversationNote {
    pub harness: Harness,
    pub persona: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

/// A session that is continued.
#[derive(Debug)]
pub struct Resumed {
    pub session: Session,
    pub note: ConversationNote,
}

impl ConversationNote {
    pub fn write(&self, session: &Session) -> Result<()> {
        session.write_json(FILE, self)
    }

    pub fn conversation(&self) -> Conversation {
        let known = self.session_id.clone().filter(|id| is_plain(id));
        known.map_or(Conversation::Latest, Conversation::Id)
    }
}

/// Whether an id is one that a harness gives: it becomes an argument, and must not be taken for an option.
pub(super) fn is_plain(id: &str) -> bool {
    const LONGEST: usize = 128;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    id.len() <= LONGEST && id.chars().all(is_plain) && id.starts_with(|c: char| c.is_ascii_alphanumeric())
}

/// Takes the conversation along into a new session, where the harness keeps it in the old one. The agent could write there:
/// nothing but plain files is taken, and not more than a conversation needs.
pub fn take_along(agent: &AgentPlan, from: &Path, to: &Path) -> Result<()> {
    if from == to {
        return Ok(());
    }
    let (from, to) = (Tree::open(from)?, Tree::open(to)?);
    let mut copy = PlainCopy::default();
    for place in staging::conversation_places(agent)? {
        let copied = copy.copy((&from, &place), (&to, &place), &|_| false);
        copied.with_context(|| format!("{} cannot be taken along", from.path().join(&place).display()))?;
    }
    Ok(())
}

/// The named session, if this persona on this harness can continue it.
pub fn find(store: &SessionStore, wanted: &str, persona: &str, harness: Option<Harness>) -> Result<Resumed> {
    let session = store.find(wanted)?;
    let Some(note) = session.read_json::<ConversationNote>(FILE)? else {
        return Err(RunError::NoConversation { session: session.id.to_string() }.into());
    };
    if note.persona != persona {
        let session = session.id.to_string();
        let (owner, persona) = (note.persona, persona.to_owned());
        return Err(RunError::OtherPersona { session, owner, persona }.into());
    }
    if let Some(asked) = harness.filter(|harness| *harness != note.harness) {
        let session = session.id.to_string();
        return Err(RunError::OtherHarness { session, owner: note.harness, asked }.into());
    }
    Ok(Resumed { session, note })
}
