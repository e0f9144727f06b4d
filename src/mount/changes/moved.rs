//! A move to a protected path is one change in two halves: the new path is never applied, so the old one must not go either.

use super::change::{Change, Protected, ProtectedWhy, Review};
use super::three_way::ThreeWay;
use crate::mount::changes::compare::After;
use crate::mount::fs::data;
use crate::mount::fs::stat::Kind;
use std::path::{Path, PathBuf};

/// Deletions of files whose content lies at a protected path now, or in a repository of the agent's, become protected themselves.
pub(super) fn hold_what_moved_to_protected(
    sides: &ThreeWay<'_>,
    in_git: &[PathBuf],
    review: &mut Review,
) -> anyhow::Result<()> {
    let mut written = Vec::new();
    let protected = review.protected.iter().filter(|protected| !protected.deleted);
    for path in protected.map(|protected| &protected.path.0).chain(in_git) {
        // An empty file is not evidence of a move, and nothing is lost with it.
        if let Some(stat) = sides.mount.stat(path)?
            && stat.kind == Kind::File
            && stat.size > 0
            // Only its mode was changed: what it holds came from nowhere else.
            && !has_content_of(sides, path, path)?
        {
            written.push((path.clone(), stat.size));
        }
    }
    if written.is_empty() {
        return Ok(());
    }
    let mut moved: Vec<PathBuf> = Vec::new();
    for change in &review.changes {
        if is_moved(sides, change, &written)? {
            moved.push(change.path.0.clone());
        }
    }
    review.changes.retain(|change| !moved.contains(&change.path.0));
    review.protected.extend(moved.into_iter().map(|path| Protected {
        path: path.into(),
        why: ProtectedWhy::Moved,
        deleted: true,
        rule: None,
    }));
    review.protected.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(())
}

fn is_moved(sides: &ThreeWay<'_>, change: &Change, written: &[(PathBuf, u64)]) -> anyhow::Result<bool> {
    let Some(now) = change.now.filter(|now| now.kind == Kind::File && change.after == After::Absent) else {
        return Ok(false);
    };
    for (path, _) in written.iter().filter(|(_, size)| *size == now.size) {
        if has_content_of(sides, &change.path, path)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn has_content_of(sides: &ThreeWay<'_>, project: &Path, mount: &Path) -> anyhow::Result<bool> {
    // What cannot be read cannot be compared; the review lists it as unreadable.
    let (Ok((ours, _)), Ok((agents, _))) = (sides.project.open_file(project), sides.mount.open_file(mount))
    else {
        return Ok(false);
    };
    Ok(data::is_same(&ours, &agents)?)
}
