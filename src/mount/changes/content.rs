//! Compares the content of the two sides of a path, and of any two files. Byte by byte: a hash would have to read as much.

use super::three_way::ThreeWay;
use crate::mount::changes::compare::After;
use crate::mount::fs::tree::Tree;
use anyhow::Context;
use std::io::Read;
use std::path::Path;

/// Whether the mount's file or symlink holds the same as the project's. Both are of the same kind.
pub(super) fn same_content(sides: &ThreeWay<'_>, path: &Path, after: &After) -> anyhow::Result<bool> {
    match after {
        After::File { .. } => {
            let (mut ours, our_stat) =
                sides.project.open_file(path).with_context(|| unreadable(sides.project, path))?;
            let (mut agents, agents_stat) =
                sides.mount.open_file(path).with_context(|| unreadable(sides.mount, path))?;
            if our_stat.size != agents_stat.size {
                return Ok(false);
            }
            same_bytes(&mut ours, &mut agents).with_context(|| unreadable(sides.project, path))
        }
        After::Symlink => Ok(sides.project.read_link(path)? == sides.mount.read_link(path)?),
        After::Dir { .. } => Ok(true),
        After::Absent | After::Special => Ok(false),
    }
}

pub(super) fn same_bytes(a: &mut impl Read, b: &mut impl Read) -> std::io::Result<bool> {
    const CHUNK: usize = 64 * 1024;
    let (mut from_a, mut from_b) = (Vec::with_capacity(CHUNK), Vec::with_capacity(CHUNK));
    loop {
        from_a.clear();
        from_b.clear();
        a.by_ref().take(CHUNK as u64).read_to_end(&mut from_a)?;
        b.by_ref().take(CHUNK as u64).read_to_end(&mut from_b)?;
        if from_a != from_b {
            return Ok(false);
        }
        if from_a.is_empty() {
            return Ok(true);
        }
    }
}

pub(super) fn unreadable(tree: &Tree, path: &Path) -> String {
    format!("cannot read {}", tree.path().join(path).display())
}
