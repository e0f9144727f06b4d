//! Decides which directories the copy backend leaves out: build output and dependencies that git ignores and nobody asked for. It
//! consults git and the include patterns; it copies nothing.

use crate::files::regular;
use crate::mount::error::MountError;
use crate::mount::fs::heavy::is_heavy;
use crate::mount::git::repository::{LARGEST_SETTINGS, Repository, Tracked, TrackedList};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The file in the project root that includes ignored paths, one pattern per line.
const INCLUDE_FILE: &str = ".worktreeinclude";

/// Decides on heavy directories.
pub(super) struct Heavy {
    has_repository: bool,
    include: Gitignore,
    patterns: Vec<String>,
}

impl Heavy {
    /// `include` precedes the lines of the project's own file.
    pub(super) fn new(root: &Path, include: &[String]) -> Result<Heavy, MountError> {
        let file = regular::read(&root.join(INCLUDE_FILE), LARGEST_SETTINGS).unwrap_or_default();
        let file = String::from_utf8_lossy(&file);
        let from_file = file.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let patterns: Vec<String> = include.iter().cloned().chain(from_file.map(str::to_owned)).collect();
        let mut builder = GitignoreBuilder::new("");
        for pattern in &patterns {
            builder
                .add_line(None, pattern)
                .map_err(|error| MountError::InvalidInclude { pattern: pattern.clone(), error })?;
        }
        let include = builder
            .build()
            .map_err(|error| MountError::InvalidInclude { pattern: patterns.join("\n"), error })?;
        Ok(Heavy {
            has_repository: crate::mount::view::root::git_top_level(root).is_some(),
            include,
            patterns,
        })
    }

    /// Whether a directory may have to be left out; the walk then waits for [`Heavy::left_out`] before it descends.
    pub(super) fn is_candidate(&self, dir: &Path) -> bool {
        let named = dir.file_name().is_some_and(is_heavy);
        self.has_repository && named && !self.is_included(dir)
    }

    /// A pattern for something inside includes the whole directory: half of `node_modules` helps nobody.
    fn is_included(&self, dir: &Path) -> bool {
        if self.include.matched(dir, true).is_ignore() {
            return true;
        }
        self.patterns.iter().any(|pattern| {
            let pattern = Path::new(pattern.trim_start_matches('/'));
            pattern != dir && pattern.starts_with(dir)
        })
    }

    /// The candidates to leave out: git ignores them and tracks nothing in them. `tracked` is that of the root.
    pub(super) fn left_out(root: &Path, candidates: &[PathBuf], tracked: Option<&Tracked>) -> Vec<PathBuf> {
        let mut by_work_tree: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
        for candidate in candidates {
            if let Some(work_tree) = crate::mount::view::root::git_top_level(&root.join(candidate)) {
                by_work_tree.entry(work_tree).or_default().push(root.join(candidate));
            }
        }
        let mut left_out = Vec::new();
        for (work_tree, dirs) in by_work_tree {
            let Some(repository) = Repository::at(&work_tree) else { continue };
            let own;
            let tracked = if work_tree == root && tracked.is_some() {
                tracked
            } else {
                own = repository.list_tracked().and_then(TrackedList::finish);
                own.as_ref()
            };
            // Without knowing what is tracked, nothing may be left out.
            let Some(tracked) = tracked else { continue };
            let relative = |dir: &PathBuf| dir.strip_prefix(&work_tree).map(Path::to_path_buf).ok();
            let untracked: Vec<PathBuf> = dirs
                .iter()
                .filter_map(relative)
                .filter(|dir| tracked.at_or_below(dir).next().is_none())
                .collect();
            let ignored = repository.ignored(&untracked).unwrap_or_default();
            let below_root =
                |dir: PathBuf| work_tree.join(dir).strip_prefix(root).map(Path::to_path_buf).ok();
            left_out.extend(ignored.into_iter().filter_map(below_root));
        }
        left_out.sort();
        left_out
    }
}
