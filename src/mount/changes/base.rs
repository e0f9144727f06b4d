//! Takes the base of a run into its session: the project, and for a copy the copy as it was made.
//! Reads only names and stats; may run in a thread of its own while the harness starts.

use crate::model::mount::PathRule;
use crate::mount::changes::manifest::{MANIFEST_FILE, MOUNT_MANIFEST_FILE, Manifest};
use crate::mount::changes::manifest_take::Cores;
use crate::mount::fs::tree::Tree;
use anyhow::Context;
use std::path::Path;

/// The project as it is at launch. Whatever changes while this runs has a ctime that is not older than the launch, and
/// counts as changed by the user. Nothing is left of it if it `is_unneeded` before it is complete.
pub fn take_project(
    session: &Path,
    root: &Path,
    rules: &[PathRule],
    is_unneeded: &(dyn Fn() -> bool + Sync),
) -> anyhow::Result<()> {
    let tree = Tree::open(root).with_context(|| format!("cannot open {}", root.display()))?;
    Manifest::take(&tree, rules, Cores::AllButOne, session, MANIFEST_FILE, is_unneeded)
}

/// Copy backend: the copied tree, when it is complete and before anything runs in it.
pub fn take_copy(session: &Path, mount: &Path) -> anyhow::Result<()> {
    let tree = Tree::open(mount).with_context(|| format!("cannot open {}", mount.display()))?;
    Manifest::take(&tree, &[], Cores::All, session, MOUNT_MANIFEST_FILE, &|| false)
}
