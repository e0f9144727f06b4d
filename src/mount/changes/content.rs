//! Compares the content of the two sides of a path, byte by byte: a hash would have to read as much. Where many are compared with
//! many, each has a name for what it holds, and is read once.

use super::three_way::ThreeWay;
use crate::mount::changes::compare::After;
use crate::mount::fs::data;
use crate::mount::fs::tree::Tree;
use anyhow::Context;
use std::path::Path;

/// Whether the mount's file or symlink holds the same as the project's. Both are of the same kind.
pub(super) fn same_content(sides: &ThreeWay<'_>, path: &Path, after: &After) -> anyhow::Result<bool> {
    match after {
        After::File { .. } => {
            let (ours, _) = sides.project.open_file(path).with_context(|| unreadable(sides.project, path))?;
            let (agents, _) = sides.mount.open_file(path).with_context(|| unreadable(sides.mount, path))?;
            data::is_same(&ours, &agents).with_context(|| unreadable(sides.project, path))
        }
        After::Symlink => Ok(sides.project.read_link(path)? == sides.mount.read_link(path)?),
        After::Dir { .. } => Ok(true),
        After::Absent | After::Special => Ok(false),
    }
}

/// A name for what a file holds. `None` for what cannot be read: it cannot be compared, and the review lists it as unreadable.
pub(super) fn digest_of(tree: &Tree, path: &Path) -> std::io::Result<Option<blake3::Hash>> {
    tree.open_file(path).ok().map(|(file, _)| data::digest(&file)).transpose()
}

pub(super) fn unreadable(tree: &Tree, path: &Path) -> String {
    format!("cannot read {}", tree.path().join(path).display())
}
