//! The result of a review: the changes that may be applied, and everything that may not, with the reason. Plain values; `review`
//! finds and judges them.

use crate::model::change_kind::ChangeKind;
use crate::model::mount::PathRule;
use crate::model::raw_path::RawPath;
use crate::mount::changes::compare::{After, ConflictReason};
use crate::mount::fs::heavy::is_heavy;
use crate::mount::fs::stat::{Kind, SET_ID, Stat};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::path::Path;
use std::sync::Arc;

/// How many examples of excluded paths are named.
const EXAMPLES: usize = 20;
/// How many are remembered.
pub(super) const MOST_KEPT: usize = 2000;

/// A change that the agent may make.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    pub path: RawPath,
    pub kind: ChangeKind,
    /// Its kind in the mount; for a deletion, its former kind.
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
    /// The user changed the file too, and the result combines both: edits of different lines, or the mode of one and the content of
    /// the other.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "as_true")]
    #[schemars(with = "bool")]
    pub merged: Option<Arc<Merged>>,
    /// The user saved the file and restored it while the agent had it: the agent's version may hold what was saved in between.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub touched: bool,
    /// Renamed from this file, whose deletion is the other half.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renamed_from: Option<RawPath>,
    /// Renamed to this file, whose addition is the other half.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renamed_to: Option<RawPath>,
    /// Only some hunks of it were picked; the others stay in the session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partly: bool,
    /// The result contains both versions, with conflict markers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub marked: bool,
    #[serde(skip)]
    #[schemars(skip)]
    pub after: After,
    /// The project's side as it was compared; an apply must find it unchanged.
    #[serde(skip)]
    #[schemars(skip)]
    pub now: Option<Stat>,
}

/// The agent's version of a file, and what combining it with the user's gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// The kind of the agent's change by itself.
    pub agents: After,
    /// `None` if the content is that of one side.
    pub text: Option<MergedText>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedText {
    /// What an apply writes.
    pub result: Vec<u8>,
    /// The agent's version that it was made from: all of it, or the part of it that was picked.
    pub agents: Vec<u8>,
    /// The common base of both versions; `None` if it is unknown.
    pub base: Option<Vec<u8>>,
}

impl Change {
    /// The same change without the user's edits: the agent's version as it is.
    #[must_use]
    pub fn unmerged(mut self) -> Change {
        if let Some(merged) = self.merged.take() {
            self.mode = merged.agents.permissions();
            if let After::File { size, .. } = merged.agents {
                self.size = Some(size);
                self.kind = ChangeKind::Modified;
            }
            self.after = merged.agents.clone();
        }
        self
    }

    /// The path of the other half of a rename.
    pub fn other_half(&self) -> Option<&Path> {
        self.renamed_from.as_ref().or(self.renamed_to.as_ref()).map(|path| path.0.as_path())
    }

    /// The agent's side of it by itself.
    pub fn agents_after(&self) -> &After {
        self.merged.as_ref().map_or(&self.after, |merged| &merged.agents)
    }

    /// The same change with this text as its result: what the user settled or picked. It is staged like a merged one.
    #[must_use]
    pub(crate) fn with_text(mut self, text: MergedText, mode: u32) -> Change {
        let After::File { mode: agents_mode, .. } = *self.agents_after() else { return self };
        let agents = After::File { mode: agents_mode, size: text.agents.len() as u64 };
        self.conflict = None;
        self.kind = if self.now.is_some() { ChangeKind::Modified } else { ChangeKind::Added };
        self.after = After::File { mode, size: text.result.len() as u64 };
        self.mode = self.after.permissions();
        self.size = Some(text.result.len() as u64);
        self.merged = Some(Arc::new(Merged { agents, text: Some(text) }));
        self
    }

    /// The set-uid and set-gid bits that the file loses, because its new content is the agent's.
    pub fn dropped_bits(&self) -> u32 {
        let is_written = matches!(self.after, After::File { .. }) && self.kind != ChangeKind::Mode;
        let now = self.now.filter(|now| is_written && now.kind == Kind::File);
        now.map_or(0, |now| now.mode & SET_ID)
    }

    /// The word for it on the screen.
    pub fn word(&self) -> &'static str {
        // Picked hunks and texts with conflict markers are staged like a merged text, but are not merges.
        let is_merge = |merged: &Merged| merged.text.as_ref().is_none_or(|text| text.result != text.agents);
        match &self.merged {
            Some(merged) if !self.marked && is_merge(merged) => "merged",
            _ => self.kind.name(),
        }
    }
}

fn as_true<T, S: Serializer>(_: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bool(true)
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
    /// The agent moved it to a protected path. Applying only its deletion would lose it.
    Moved,
}

/// Changes that are left in the session unless asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KeptOut {
    pub count: u64,
    /// The first few.
    pub examples: Vec<RawPath>,
    /// Those outside directories with build output or dependencies.
    #[serde(skip)]
    #[schemars(skip)]
    pub outside_heavy: u64,
    #[serde(skip)]
    #[schemars(skip)]
    pub examples_outside_heavy: Vec<RawPath>,
    /// Those outside such directories, as far as they are not too many.
    #[serde(skip)]
    #[schemars(skip)]
    pub kept: Vec<RawPath>,
}

impl KeptOut {
    pub(super) fn add(&mut self, path: &Path) {
        self.count += 1;
        if self.examples.len() < EXAMPLES {
            self.examples.push(path.into());
        }
        if !path.iter().any(is_heavy) {
            self.outside_heavy += 1;
            if self.kept.len() < MOST_KEPT {
                self.kept.push(path.into());
            }
            if self.examples_outside_heavy.len() < EXAMPLES {
                self.examples_outside_heavy.push(path.into());
            }
        }
    }
}

/// The complete result.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Review {
    /// In path order. Those with a `conflict` need a decision before anything is applied.
    pub changes: Vec<Change>,
    /// What the agent changed and the project has without an apply: somebody made the same change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub already: Vec<RawPath>,
    pub protected: Vec<Protected>,
    /// Sockets, fifos and devices that the agent made or removed.
    pub special: Vec<RawPath>,
    /// Directories of the mount that cannot be read.
    pub unreadable: Vec<RawPath>,
    /// Directories that the agent removed but that contain something it may not delete.
    pub kept_directories: Vec<RawPath>,
    /// Changes to paths that git ignores.
    pub ignored: KeptOut,
    /// Paths below a `.git` that the agent wrote (overlay only).
    pub git_paths: u64,
    /// Every `.git`, or other directory that git takes for a repository, that the agent made or changed and that is not a repository
    /// of the project; never applied.
    pub dropped_git: Vec<RawPath>,
    /// Settings and hooks of a repository that the agent wrote; never applied.
    pub git_settings: Vec<RawPath>,
    /// Files that the agent wrote and left as they were at launch, as far as they are not too many.
    #[serde(skip)]
    #[schemars(skip)]
    pub unchanged: Vec<RawPath>,
}

impl Review {
    pub fn conflicts(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(|change| change.conflict.is_some())
    }

    /// Changes to files that the user saved and restored meanwhile.
    pub fn touched(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(|change| change.touched)
    }

    /// Changes that affect what agents may do.
    pub fn affecting_agents(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(|change| change.affects_agents)
    }

    pub fn has_conflicts(&self) -> bool {
        self.conflicts().next().is_some()
    }

    /// Whether the agent did anything that an apply would not bring back.
    pub fn keeps_something_out(&self) -> bool {
        self.ignored.count > 0
            || !self.protected.is_empty()
            || !self.special.is_empty()
            || !self.unreadable.is_empty()
            || !self.dropped_git.is_empty()
    }
}
