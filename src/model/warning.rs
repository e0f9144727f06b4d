//! A warning as a value: a stable code for programs and a message for people. How it is shown is decided in `ui`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a warning is about. Programs match on these words, so they never change meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WarningCode {
    /// A configuration, persona, role or rule file has a problem.
    InvalidFile,
    /// A layer is empty, listed twice, or not the one that the user may expect.
    Layer,
    /// Two personas have the same display name.
    SameName,
    /// Something in a persona has no effect in this run.
    NotUsed,
    /// Something in a persona is weaker than it says.
    NotEnforced,
    /// A skill is missing or was left out.
    Skill,
    /// The mount is weaker than usual, or absent.
    Mount,
    /// Something that was hidden could be read.
    Exposed,
    /// A directory of the project cannot be read, and is hidden.
    Unreadable,
    /// The harness reported something, or its version is unknown.
    Harness,
    /// The agent changed the harness's configuration, which stays as it was.
    HarnessConfig,
    /// The run used up what it may have of processes, memory or disk space.
    Limit,
    /// Changes that are not applied.
    NotApplied,
    /// Commits, refs or stashes of the agent.
    Commits,
    /// Something could not be checked for secrets.
    SecretScan,
    /// Piped text was cut, or is not quite what was piped.
    Stdin,
    /// A path that was named matches nothing.
    NoMatch,
    /// A persona or role replaces or changes another one.
    Overrides,
    /// The id of a persona that was deleted is used again.
    ReusedId,
    /// A persona extends one that does not exist.
    MissingBase,
    /// A persona weakens protection, or one of a pack starts programs.
    Power,
    /// Something was left as the user has it, although the pack has another version.
    Conflict,
    /// A persona, or all of them, no longer belongs to a pack.
    PackOwnership,
    /// The source of a pack could mean something else, too.
    AmbiguousSource,
    /// A part of an imported agent was guessed, changed or left out.
    Conversion,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    pub code: WarningCode,
    pub message: String,
}

impl Warning {
    pub fn new(code: WarningCode, message: impl Into<String>) -> Warning {
        Warning { code, message: message.into() }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
