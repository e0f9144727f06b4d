//! Which conversation of a harness belongs to a session, so that it can be continued: note as soon as the harness says it.

use super::error::RunError;
use crate::model::plan::Conversation;
use crate::model::tier::Harness;
use crate::session::{Session, SessionStore};
use anyhow::Result;
use serde::{Deserialize, Serialize};

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
        self.session_id.clone().map_or(Conversation::Latest, Conversation::Id)
    }
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
