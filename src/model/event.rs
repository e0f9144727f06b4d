//! What an agent does while it works, in one vocabulary for all harnesses. `--stream-json` prints these, a line each.

use super::report::Usage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum Event {
    #[serde(rename = "session.started")]
    SessionStarted {
        /// The harness's own id of the conversation.
        harness_session_id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    #[serde(rename = "message")]
    Message { text: String },
    #[serde(rename = "tool.started")]
    ToolStarted {
        id: String,
        name: String,
        /// What it works on, in a few words: a path or a command.
        #[serde(skip_serializing_if = "Option::is_none")]
        subject: Option<String>,
    },
    #[serde(rename = "tool.finished")]
    ToolFinished { id: String, name: String, ok: bool },
    /// All that was used so far.
    #[serde(rename = "usage")]
    Usage(Usage),
    /// Something went wrong; whether the run failed of it is in `ended`.
    #[serde(rename = "error")]
    Error { message: String },
    #[serde(rename = "ended")]
    Ended {
        ok: bool,
        /// The agent's final text.
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A line of the harness that has no meaning here, as it is.
    #[serde(rename = "raw")]
    Raw { value: serde_json::Value },
}
