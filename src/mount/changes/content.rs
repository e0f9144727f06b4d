//! Compares the content of the two sides of a path. Byte by byte: a hash would have to read as much.

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

pub(super) fn unreadable(tree: &Tree, path: &Path) -> String {
    format!("cannot read {}", tree.path().join(path).display())
}
