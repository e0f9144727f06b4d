//! What a review says: the changes that may be applied, and everything that may not with the reason.
//! Plain values; they are found and judged in `review`.

use crate::model::change_kind::ChangeKind;
use crate::model::mount::PathRule;
use crate::model::raw_path::RawPath;
use crate::mount::changes::compare::{After, ConflictReason};
use crate::mount::fs::stat::{Kind, Stat};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;

/// How many examples of what was kept out are named.
const EXAMPLES: usize = 20;

/// A change that is the agent's to make.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    pub path: RawPath,
    pub kind: ChangeKind,
    /// What it is in the mount; for a deletion what it was.
    pub node: Kind,
    /// The permission bits in the mount.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conflict: Option<ConflictReason>,
    /// It is part of a persona layer or a rule file: it changes what agents may do.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub affects_agents: bool,
    #[serde(skip)]
    #[schemars(skip)]
    pub after: After,
    /// The project's side as it was compared: what an apply must still find.
    #[serde(skip)]
    #[schemars(skip)]
    pub now: Option<Stat>,
}

/// A write that is never applied, and the rule that says so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Protected {
    pub path: RawPath,
    pub why: ProtectedWhy,
    pub deleted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<PathRule>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProtectedWhy {
    Hidden,
    Readonly,
    /// A file that we put into the mount.
    #[serde(rename = "planted")]
    Injected,
    /// The agent moved it to a protected path: without the other half its deletion would be a loss.
    Moved,
}

/// Changes that are left in the session unless asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KeptOut {
    pub count: u64,
    /// The first few.
    pub examples: Vec<RawPath>,
}

impl KeptOut {
    pub(super) fn add(&mut self, path: &Path) {
        self.count += 1;
        if self.examples.len() < EXAMPLES {
            self.examples.push(path.into());
        }
    }
}

/// The whole answer.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Review {
    /// In path order. Those with a `conflict` need a decision before anything is applied.
    pub changes: Vec<Change>,
    pub protected: Vec<Protected>,
    /// Sockets, fifos and devices that the agent made or removed.
    pub special: Vec<RawPath>,
    /// Directories of the mount that cannot be read.
    pub unreadable: Vec<RawPath>,
    /// Directories that the agent removed and that hold something that is not its to delete.
    pub kept_directories: Vec<RawPath>,
    /// Changes to paths that git ignores.
    pub ignored: KeptOut,
    /// Paths below a `.git` that the agent wrote (overlay only).
    pub git_paths: u64,
    /// A `.git`, or another directory that git takes for a repository, that the agent made or changed and that is no
    /// repository of the project; never applied.
    pub dropped_git: Vec<RawPath>,
    /// Settings and hooks of a repository that the agent wrote; never taken over.
    pub git_settings: Vec<RawPath>,
}

impl Review {
    pub fn conflicts(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(|change| change.conflict.is_some())
    }

    /// Changes that decide what agents may do.
    pub fn affecting_agents(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(|change| change.affects_agents)
    }

    pub fn has_conflicts(&self) -> bool {
        self.conflicts().next().is_some()
    }

    /// Whether there is anything of the agent's that an apply would not bring back.
    pub fn keeps_something_out(&self) -> bool {
        self.ignored.count > 0
            || !self.protected.is_empty()
            || !self.special.is_empty()
            || !self.unreadable.is_empty()
            || !self.dropped_git.is_empty()
    }
}
