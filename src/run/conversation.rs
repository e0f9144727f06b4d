//! Which conversation of a harness belongs to a session, so that it can be continued: note as soon as the harness says it.

use super::error::RunError;
use super::records::{RunRecords, Seen, is_plain};
use super::request::Resume;
use crate::launch::staging;
use crate::model::plan::{AgentPlan, Conversation};
use crate::model::tier::Harness;
use crate::mount::fs::plain_copy::PlainCopy;
use crate::mount::fs::tree::Tree;
use crate::session::{Session, SessionState, SessionStore};
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

const FILE: &str = "harness.json";

/// What `harness.json` of a session says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConversationNote {
    pub harness: Harness,
    pub persona: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The harness was there, and nobody has said anything to it: there is no conversation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nothing_said: bool,
    /// Where the user's harness has its state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_dir: Option<PathBuf>,
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

    /// `None` for a session without a harness.
    pub fn read(session: &Session) -> Result<Option<ConversationNote>> {
        session.read_json(FILE)
    }

    /// What a run that goes on continues; `None` begins anew.
    pub fn conversation(&self) -> Option<Conversation> {
        match self.session_id.clone().filter(|id| is_plain(id)) {
            Some(id) => Some(Conversation::Id(id)),
            None if self.nothing_said => None,
            None => Some(Conversation::Latest),
        }
    }

    /// Another conversation, whose id is known only if it was given to the harness.
    pub fn begin(&mut self, given: Option<String>) {
        (self.session_id, self.nothing_said) = (given, false);
    }

    /// Notes after a run which conversation it had, as its records say. One that was continued stays, unless another was begun.
    pub fn settle(&mut self, begins: bool, seen: &Seen, records: &RunRecords) {
        let last = seen.ids.iter().rev().find(|id| records.has(id)).cloned();
        if begins || last.is_some() {
            let given = self.session_id.take();
            let is_known = seen.is_recorded || given.is_some();
            self.session_id = last.or(given.filter(|id| records.has(id)));
            self.nothing_said = is_known && self.session_id.is_none();
        }
    }
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

/// The session that is meant, if this persona on this harness can continue it.
pub fn find(
    store: &SessionStore,
    wanted: &Resume,
    persona: &str,
    harness: Option<Harness>,
    root: &Path,
) -> Result<Resumed> {
    let session = match wanted {
        Resume::Session(wanted) => store.find(wanted)?,
        Resume::Last => last(store, None, root)?,
        Resume::LastOfPersona => last(store, Some(persona), root)?,
    };
    // Where only the user's version was preferred, the mount is still there.
    let is_discarded = session.status()?.is_some_and(|status| status.state == SessionState::Discarded);
    if is_discarded && session.work()?.is_none() {
        return Err(RunError::Discarded { session: session.id.to_string() }.into());
    }
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

/// The session of this project that was used last or, of a persona, the last of its conversations. Those in which nothing was said
/// come after all others: there is nothing to continue.
fn last(store: &SessionStore, persona: Option<&str>, root: &Path) -> Result<Session> {
    let mut empty = None;
    for entry in store.list_by_use()?.iter().filter(|entry| entry.is_of_project(root)) {
        let Some(session) = store.listed(entry) else { continue };
        let Some(persona) = persona else { return Ok(session) };
        let Some(note) = ConversationNote::read(&session).ok().flatten() else { continue };
        match note.conversation() {
            _ if note.persona != persona => {}
            Some(_) => return Ok(session),
            None => empty = empty.or(Some(session)),
        }
    }
    let none = || RunError::NoSessionYet { persona: persona.map(str::to_owned), root: root.to_path_buf() };
    Ok(empty.ok_or_else(none)?)
}
