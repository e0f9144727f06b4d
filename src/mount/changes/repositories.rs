//! Sorts out everything in directories that git would take for a repository: it is never applied, and always reported.

use super::change::Review;
use super::compare::After;
use super::ignored::IgnoreView;
use super::protect::is_real_write;
use super::three_way::ThreeWay;
use super::touched::Touched;
use crate::model::mount::Backend;
use crate::model::raw_path::RawPath;
use crate::mount::fs::near::Near;
use crate::mount::fs::stat::Kind;
use crate::mount::git::git_directory::GitDirectories;
use std::collections::HashSet;
use std::path::PathBuf;

/// Sorts out everything in such directories, and returns what the agent wrote there.
pub(super) fn without_git_directories(
    sides: &ThreeWay<'_>,
    touched: Vec<Touched>,
    review: &mut Review,
) -> anyhow::Result<(Vec<Touched>, Vec<PathBuf>)> {
    // Check both sides: a repository may be completed over two runs, and what the agent removes may stay in the project.
    let (mount, project) = (Near::new(sides.mount), Near::new(sides.project));
    let mut directories = GitDirectories::new(|path| {
        let agents = mount.stat(path).ok().flatten();
        agents.is_some_and(|stat| !stat.is_whiteout()) || project.stat(path).ok().flatten().is_some()
    });
    let files = Near::new(sides.project);
    let is_no_directory = |one: &Touched| {
        matches!(one.after, After::File { .. } | After::Symlink | After::Special)
            && files.stat(&one.path).is_ok_and(|now| now.is_none_or(|now| now.kind != Kind::Dir))
    };
    let known = known_repositories(sides);
    let mut view = IgnoreView::new(sides.project, sides.mount, sides.record.backend == Backend::Overlay);
    let (mut rest, mut dropped, mut written) = (Vec::new(), HashSet::new(), Vec::new());
    for one in touched {
        let around = if is_no_directory(&one) {
            directories.around_file(&one.path)
        } else {
            directories.around(&one.path)
        };
        let Some(directory) = around else {
            rest.push(one);
            continue;
        };
        // It has a report of its own.
        if known.contains(&directory) || !is_real_write(sides, &one)? {
            continue;
        }
        let is_root = directory.as_os_str().is_empty();
        // Tools make repositories in caches.
        if is_root || view.ignored_by_pattern(&directory, true).is_none() {
            dropped.insert(if is_root { one.path.clone() } else { directory });
        }
        if one.after != After::Absent {
            written.push(one.path);
        }
    }
    review.dropped_git.extend(dropped.into_iter().map(RawPath::from));
    review.dropped_git.sort();
    Ok((rest, written))
}

/// The git directories that were mounted as such, as paths of the project.
fn known_repositories(sides: &ThreeWay<'_>) -> HashSet<PathBuf> {
    let dirs = sides.record.git.iter().flat_map(|git| [&git.git_dir, &git.common_dir]);
    dirs.filter_map(|dir| Some(dir.strip_prefix(&sides.record.root).ok()?.to_owned())).collect()
}

/// Git directories on the agent's side, except for the repositories of the project, which are reported separately. Ignored ones are
/// left out, because tools create repositories in caches.
pub(super) fn dropped_git(sides: &ThreeWay<'_>, entries: Vec<PathBuf>) -> anyhow::Result<Vec<RawPath>> {
    let known = known_repositories(sides);
    let mut view = IgnoreView::new(sides.project, sides.mount, sides.record.backend == Backend::Overlay);
    let mut dropped = Vec::new();
    for path in entries.into_iter().filter(|path| !known.contains(path)) {
        let is_ignored = path.parent().is_some_and(|tree| {
            !tree.as_os_str().is_empty() && view.ignored_by_pattern(tree, true).is_some()
        });
        // A copy contains the pointer of every submodule; the agent wrote it if it differs from the project's.
        let same = sides.record.backend == Backend::Copy
            && matches!((sides.project.stat(&path)?, sides.mount.stat(&path)?),
                (Some(ours), Some(agents)) if ours.kind == agents.kind && ours.size == agents.size);
        if !is_ignored && !same {
            dropped.push(path.into());
        }
    }
    dropped.sort();
    Ok(dropped)
}
