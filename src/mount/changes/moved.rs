//! A move to a protected path is one change in two halves: the new path is never applied, so the old one must not go either.

use super::change::{Change, Protected, ProtectedWhy, Review};
use super::content::digest_of;
use super::three_way::ThreeWay;
use crate::mount::changes::compare::After;
use crate::mount::fs::stat::Kind;
use std::collections::HashSet;
use std::path::PathBuf;

/// Deletions of files whose content lies at a protected path now, or in a repository of the agent's, become protected themselves.
pub(super) fn hold_what_moved_to_protected(
    sides: &ThreeWay<'_>,
    in_git: &[PathBuf],
    review: &mut Review,
) -> anyhow::Result<()> {
    let size_of_deleted = |change: &Change| {
        let now = change.now.filter(|now| now.kind == Kind::File && change.after == After::Absent);
        now.map(|now| now.size)
    };
    // Each file is read once, however many there are of one size.
    let sizes: HashSet<u64> = review.changes.iter().filter_map(size_of_deleted).collect();
    let mut written = HashSet::new();
    let protected = review.protected.iter().filter(|protected| !protected.deleted);
    for path in protected.map(|protected| &protected.path.0).chain(in_git) {
        // An empty file is not evidence of a move, and nothing is lost with it.
        if let Some(stat) = sides.mount.stat(path)?
            && stat.kind == Kind::File
            && stat.size > 0
            && sizes.contains(&stat.size)
            // Only its mode was changed: what it holds came from nowhere else.
            && let Some(content) = digest_of(sides.mount, path)?
            && digest_of(sides.project, path)? != Some(content)
        {
            written.insert((stat.size, content));
        }
    }
    let sizes: HashSet<u64> = written.iter().map(|(size, _)| *size).collect();
    let mut moved: HashSet<PathBuf> = HashSet::new();
    for change in &review.changes {
        if let Some(size) = size_of_deleted(change).filter(|size| sizes.contains(size))
            && let Some(content) = digest_of(sides.project, &change.path)?
            && written.contains(&(size, content))
        {
            moved.insert(change.path.0.clone());
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
