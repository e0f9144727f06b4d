//! Which conversation of a harness belongs to a session, so that it can go on: noted as soon as the harness says it.

use crate::error::{CommandError, Result};
use crate::model::plan::Conversation;
use crate::model::tier::Harness;
use crate::session::{Session, SessionStore};
use serde::{Deserialize, Serialize};

const FILE: &str = "harness.json";

/// What `harness.json` of a session says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Noted {
    pub harness: Harness,
    pub persona: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

/// A session that goes on.
#[derive(Debug)]
pub struct Resumed {
    pub session: Session,
    pub noted: Noted,
}

impl Noted {
    pub fn write(&self, session: &Session) -> Result<()> {
        Ok(session.write_json(FILE, self)?)
    }

    pub fn conversation(&self) -> Conversation {
        self.session_id.clone().map_or(Conversation::Latest, Conversation::Id)
    }
}

/// The session that the user names, if this persona on this harness can go on with it.
pub fn find(store: &SessionStore, wanted: &str, persona: &str, harness: Option<Harness>) -> Result<Resumed> {
    let session = store.find(wanted)?;
    let Some(noted) = session.read_json::<Noted>(FILE)? else {
        return Err(CommandError::usage(format!(
            "session `{}` has no conversation to go on with",
            session.id
        ))
        .hint("only runs of `agentworkforce agent` have one"));
    };
    if noted.persona != persona {
        return Err(CommandError::usage(format!(
            "session `{}` is a conversation of persona `{}`, not of `{persona}`",
            session.id, noted.persona
        ))
        .hint(format!("`agentworkforce agent {} --resume {}`", noted.persona, session.id)));
    }
    if let Some(other) = harness.filter(|harness| *harness != noted.harness) {
        return Err(CommandError::usage(format!(
            "session `{}` is a conversation with {}; {other} cannot go on with it",
            session.id, noted.harness
        )));
    }
    Ok(Resumed { session, noted })
}
