//! Marks in a repository, so that git in the mount does not see hidden and injected paths as changes:
//! index entries marked as not checked out, and lines of the exclude file.

use super::inject::{InjectedFile, Upper};
use super::scan_hidden::HiddenScan;
use crate::mount::git::repository::{Repository, Tracked, exclude_with, keep_marks_when_sparse};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The root's repository and those below it.
pub(super) fn repositories(root: &Path, top: Option<Repository>, found: &HiddenScan) -> Vec<Repository> {
    let nested = found.nested_repositories.iter().filter_map(|dir| Repository::at(&root.join(dir)));
    top.into_iter().chain(nested).collect()
}

/// The marks of one repository; paths are relative to its work tree.
pub(super) struct GitMarks {
    pub(super) skip: Vec<PathBuf>,
    pub(super) exclude: Vec<PathBuf>,
    tracked: Tracked,
}

impl GitMarks {
    /// `tracked` is asked only if something lies in this work tree.
    pub(super) fn of(
        repository: &Repository,
        root: &Path,
        found: &HiddenScan,
        injected: &[InjectedFile],
        tracked: impl FnOnce() -> Option<Tracked>,
    ) -> GitMarks {
        let mine = |path: &Path| {
            let nested = found.nested_repositories.iter().map(|dir| root.join(dir));
            let owner =
                nested.filter(|dir| root.join(path).starts_with(dir)).max_by_key(|dir| dir.as_os_str().len());
            let owner = owner.unwrap_or_else(|| root.to_path_buf());
            (owner == repository.work_tree)
                .then(|| root.join(path).strip_prefix(&owner).map(Path::to_path_buf).ok())
                .flatten()
        };
        let hidden: Vec<PathBuf> = found.hidden.iter().filter_map(|hidden| mine(&hidden.path)).collect();
        let injected: Vec<PathBuf> = injected.iter().filter_map(|file| mine(&file.path)).collect();
        if hidden.is_empty() && injected.is_empty() {
            return GitMarks { skip: Vec::new(), exclude: Vec::new(), tracked: Tracked::default() };
        }
        let tracked = tracked().unwrap_or_default();
        let touched = hidden.iter().chain(&injected);
        let skip: BTreeSet<PathBuf> = touched.flat_map(|path| tracked.at_or_below(path)).collect();
        let exclude = injected.into_iter().filter(|path| !tracked.contains(path)).collect();
        GitMarks { skip: skip.into_iter().collect(), exclude, tracked }
    }

    /// Writes the private index and exclude file into an upper directory over `lower`, as far as they are there.
    pub(super) fn write(&self, repository: &Repository, lower: &Path, upper: &mut Upper) -> io::Result<()> {
        let index = repository.git_dir.join("index");
        if !self.skip.is_empty()
            && let Ok(inside) = index.strip_prefix(lower)
        {
            let private = upper.place(inside)?;
            if let Some(marked) = self.tracked.index_with_skip_worktree(&self.skip) {
                fs::write(&private, marked)?;
                fs::set_permissions(&private, fs::metadata(&index)?.permissions())?;
            } else {
                fs::copy(&index, &private)?;
                repository.skip_worktree(&repository.git_dir, &private, &self.skip)?;
            }
        }
        // Where only a part is checked out, git takes the mark away from files that are there all the same: ours.
        for config in [repository.common_dir.join("config"), repository.git_dir.join("config.worktree")] {
            if !self.skip.is_empty()
                && let Ok(inside) = config.strip_prefix(lower)
                && let Ok(text) = fs::read(&config)
                && let Some(text) = keep_marks_when_sparse(&text)
            {
                upper.inject(&InjectedFile { path: inside.to_path_buf(), bytes: text, mode: 0o644 })?;
            }
        }
        let exclude = repository.common_dir.join("info/exclude");
        if !self.exclude.is_empty()
            && let Ok(inside) = exclude.strip_prefix(lower)
        {
            let text = exclude_with(&fs::read(&exclude).unwrap_or_default(), &self.exclude);
            upper.inject(&InjectedFile { path: inside.to_path_buf(), bytes: text, mode: 0o644 })?;
        }
        Ok(())
    }
}
