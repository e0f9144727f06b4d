//! Marks in a repository that keep git in the mount from reporting hidden and injected paths as changes: index entries marked
//! `skip-worktree`, and lines in the exclude file.

use super::inject::{InjectedFile, Upper};
use super::scan_hidden::HiddenScan;
use crate::files::regular;
use crate::model::mount::GitCredentials;
use crate::mount::git::credentials::{without_credentials, without_credentials_in_urls};
use crate::mount::git::repository::{
    LARGEST_SETTINGS, Repository, Tracked, exclude_with, keep_marks_when_sparse,
};
use crate::mount::git::secret_files::{CONFIGS, SecretFiles};
use crate::mount::git::secret_texts;
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
    credentials: GitCredentials,
}

impl GitMarks {
    /// `tracked` is asked only if something lies in this work tree.
    pub(super) fn of(
        repository: &Repository,
        root: &Path,
        found: &HiddenScan,
        injected: &[InjectedFile],
        credentials: GitCredentials,
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
            let tracked = Tracked::default();
            return GitMarks { skip: Vec::new(), exclude: Vec::new(), tracked, credentials };
        }
        let tracked = tracked().unwrap_or_default();
        let touched = hidden.iter().chain(&injected);
        let skip: BTreeSet<PathBuf> = touched.flat_map(|path| tracked.at_or_below(path)).collect();
        let exclude = injected.into_iter().filter(|path| !tracked.contains(path)).collect();
        GitMarks { skip: skip.into_iter().collect(), exclude, tracked, credentials }
    }

    /// Writes the private configuration if it has to differ from the user's.
    fn write_config(&self, config: &Path, lower: &Path, upper: &mut Upper) -> io::Result<()> {
        let (Ok(inside), Ok(text)) = (config.strip_prefix(lower), regular::read(config, LARGEST_SETTINGS))
        else {
            return Ok(());
        };
        let hidden = if self.credentials == GitCredentials::Hide { without_credentials(&text) } else { None };
        // Where only a part is checked out, git takes the mark away from files that are there all the same: ours.
        let sparse =
            keep_marks_when_sparse(hidden.as_ref().unwrap_or(&text)).filter(|_| !self.skip.is_empty());
        if let Some(bytes) = sparse.or(hidden) {
            upper.inject(&InjectedFile { path: inside.to_path_buf(), bytes, mode: 0o644 })?;
        }
        Ok(())
    }

    /// Removes credentials from the rest of a git directory: submodules, linked worktrees, included files, stores,
    /// reflogs.
    fn hide_credentials(&self, dir: &Path, lower: &Path, upper: &mut Upper) -> io::Result<()> {
        if self.credentials != GitCredentials::Hide || !dir.starts_with(lower) {
            return Ok(());
        }
        // What is a configuration or a store as well is dealt with after that.
        let texts = secret_texts::cleaned(dir).into_iter().map(|(path, bytes)| (path, Some(bytes)));
        let found = SecretFiles::of(dir);
        let empty = found.stores.into_iter().map(|store| (store, Some(Vec::new())));
        let configs =
            found.configs.into_iter().filter(|config| !CONFIGS.iter().any(|name| config == Path::new(name)));
        let cleaned = configs.map(|config| {
            let text = regular::read(&dir.join(&config), LARGEST_SETTINGS).ok();
            (config, text.and_then(|text| without_credentials(&text)))
        });
        let remotes = found.remotes.into_iter().map(|remote| {
            let text = regular::read(&dir.join(&remote), LARGEST_SETTINGS).ok();
            (remote, text.and_then(|text| without_credentials_in_urls(&text)))
        });
        for (path, bytes) in texts.chain(empty).chain(cleaned).chain(remotes) {
            if let (Some(bytes), Ok(inside)) = (bytes, dir.join(path).strip_prefix(lower)) {
                upper.inject(&InjectedFile { path: inside.to_path_buf(), bytes, mode: 0o644 })?;
            }
        }
        Ok(())
    }

    /// Writes the private index and exclude file, if they exist, into an upper directory over `lower`.
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
                // Git has read it already, so it is a file.
                fs::copy(&index, &private)?;
                repository.skip_worktree(&repository.git_dir, &private, &self.skip)?;
            }
        }
        for dir in [&repository.common_dir, &repository.git_dir] {
            self.hide_credentials(dir, lower, upper)?;
            for name in CONFIGS {
                self.write_config(&dir.join(name), lower, upper)?;
            }
            if repository.git_dir == repository.common_dir {
                break;
            }
        }
        let exclude = repository.common_dir.join("info/exclude");
        if !self.exclude.is_empty()
            && let Ok(inside) = exclude.strip_prefix(lower)
        {
            let text =
                exclude_with(&regular::read(&exclude, LARGEST_SETTINGS).unwrap_or_default(), &self.exclude);
            upper.inject(&InjectedFile { path: inside.to_path_buf(), bytes: text, mode: 0o644 })?;
        }
        Ok(())
    }
}
