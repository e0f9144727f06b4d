//! The three sides of a comparison: the project at launch, the project now and the mount.

use crate::model::mount::PathRule;
use crate::model::mount_record::MountRecord;
use crate::mount::changes::base_content::BaseContents;
use crate::mount::changes::earlier::Earlier;
use crate::mount::changes::manifest::Manifest;
use crate::mount::fs::tree::Tree;

/// Everything that is needed to find out what changed; all of it survives the runner.
pub struct ThreeWay<'a> {
    pub record: &'a MountRecord,
    pub rules: &'a [PathRule],
    /// The real project.
    pub project: &'a Tree,
    /// The overlay's upper directory or the copied tree.
    pub mount: &'a Tree,
    /// The project at launch; `None` if the runner died before it was written. Then every doubtful case is a conflict.
    pub base: Option<&'a Manifest>,
    /// Copy backend: the initial state of the copy.
    pub made: Option<&'a Manifest>,
    /// File contents at launch, as far as they were kept.
    pub contents: Option<&'a BaseContents>,
    /// What earlier journals of the session did.
    pub earlier: Earlier,
    pub merging: Merging,
}

/// Whether edits of the user and the agent to one file are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Merging {
    #[default]
    On,
    /// They are a conflict, whatever lines they are in.
    Off,
}
