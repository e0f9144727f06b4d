//! The three sides of a comparison: the project at launch, the project now and the mount.

use crate::model::mount::PathRule;
use crate::model::mount_record::MountRecord;
use crate::mount::changes::manifest::Manifest;
use crate::mount::changes::restored::Restorations;
use crate::mount::fs::tree::Tree;

/// Everything that is needed to say what changed; all of it survives the runner.
pub struct ThreeWay<'a> {
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
