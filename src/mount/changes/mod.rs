//! What the agent changed, which of it may be applied, and why the rest may not: one value for report, diff and apply.
//! It reads the project and the mount and changes neither.

mod copied;
mod git_settings;
mod ignored;
mod moved;
mod own;
mod review;
mod upper;

pub use review::{Ignored, review};

use crate::model::mount::{Backend, PathRule};
use crate::model::mount_record::MountRecord;
use crate::model::raw_path::RawPath;
use crate::mount::apply::journal::Restorations;
use crate::mount::compare::{After, ChangeKind, ConflictReason};
use crate::mount::manifest::Manifest;
use crate::mount::stat::{Kind, Stat};
use crate::mount::tree::Tree;
use anyhow::bail;
use schemars::JsonSchema;
use serde::Serialize;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// How many examples of what was kept out are named.
const EXAMPLES: usize = 20;

/// Everything that is needed to say what changed; all of it survives the runner.
pub struct Sides<'a> {
    pub record: &'a MountRecord,
    pub rules: &'a [PathRule],
    /// The real project.
    pub project: &'a Tree,
    /// The overlay's upper directory or the copied tree.
    pub mount: &'a Tree,
    /// The project at launch; `None` if the runner died before it was written, and then every doubt is a conflict.
    pub base: Option<&'a Manifest>,
    /// Copy backend: the copy as it was made.
    pub made: Option<&'a Manifest>,
    /// What earlier journals of the session took out and put back.
    pub restored: Restorations,
}

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
    Planted,
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
    fn add(&mut self, path: &Path) {
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
    /// Settings and hooks of a repository that the agent wrote; never taken over.
    pub git_settings: Vec<RawPath>,
}

impl Review {
    pub fn conflicts(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(|change| change.conflict.is_some())
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
    }
}

/// One path that may differ from the base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Touched {
    pub(crate) path: PathBuf,
    pub(crate) after: After,
}

/// What a backend's directory tells, before it is judged.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) touched: Vec<Touched>,
    pub(crate) unreadable: Vec<PathBuf>,
    pub(crate) git_paths: u64,
}

impl Found {
    fn deleted(&mut self, path: &Path) {
        self.touched.push(Touched { path: path.to_owned(), after: After::Absent });
    }
}

fn find(sides: &Sides<'_>) -> anyhow::Result<Found> {
    let nothing = Manifest::default();
    let base = sides.base.unwrap_or(&nothing);
    match sides.record.backend {
        Backend::Overlay => upper::touched(sides.record, sides.mount, base),
        Backend::Copy => copied::touched(sides.record, sides.mount, base, sides.made),
        Backend::Auto | Backend::None => {
            bail!("this run had no mount, so its changes are in the project already")
        }
    }
}

/// `.git` in any case: a case-insensitive filesystem takes `.GIT/hooks` for the real one.
pub(crate) fn is_git_name(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case(".git")
}
