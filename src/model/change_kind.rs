//! What an agent did to a path.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the agent's version differs from what it started from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    Added,
    Modified,
    Deleted,
    /// Only the permission bits.
    Mode,
    /// A symlink points somewhere else.
    Symlink,
    /// A file became a directory, a directory a symlink, and so on.
    TypeChange,
}

impl ChangeKind {
    /// The word for it in reports and on the screen.
    pub fn name(self) -> &'static str {
        match self {
            ChangeKind::Added => "added",
            ChangeKind::Modified => "modified",
            ChangeKind::Deleted => "deleted",
            ChangeKind::Mode => "mode",
            ChangeKind::Symlink => "symlink",
            ChangeKind::TypeChange => "type-change",
        }
    }
}
