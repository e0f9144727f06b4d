//! What a caller adds to the run of a persona. Plain data; the plan says how each of it is carried out.

use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RunExtras {
    /// A section of the system prompt, after the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_section: Option<String>,
    /// The name of a directory in the session that the harness may write to. It is outside the project and never applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lent_directory: Option<String>,
    /// The harness must not start other agents, whatever the persona's permissions say.
    pub no_subagents: bool,
    /// What the final answer has to look like, where the harness can be held to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// The result is measured: the state at launch is needed even if nothing changed.
    pub keeps_base: bool,
    /// The id of the task, if this is work with a contract: its result counts only once it is approved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work: Option<String>,
}
