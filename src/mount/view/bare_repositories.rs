//! Files with credentials in git repositories that are ordinary directories of the project (`mirror.git`). No mount makes these
//! repositories private, so such files are hidden. This module changes nothing.

use crate::files::regular;
use crate::model::mount::{GitCredentials, PathRule};
use crate::mount::git::credentials::{without_credentials, without_credentials_in_urls};
use crate::mount::git::reftable_logs::without_credentials_in_logs;
use crate::mount::git::repository::LARGEST_SETTINGS;
use crate::mount::git::secret_files::REMOTES;
use crate::rules::credentials_rule;
use std::path::Path;

pub(super) struct BareRepositories<'a> {
    root: &'a Path,
    credentials: GitCredentials,
}

impl<'a> BareRepositories<'a> {
    pub(super) fn new(root: &'a Path, credentials: GitCredentials) -> BareRepositories<'a> {
        BareRepositories { root, credentials }
    }

    /// The rule that hides a file, if it contains credentials of such a repository.
    pub(super) fn rule_for(&self, path: &Path) -> Option<PathRule> {
        if self.credentials == GitCredentials::Keep {
            return None;
        }
        let (dir, name) = (path.parent()?, path.file_name()?);
        let is_config = name.as_encoded_bytes().starts_with(b"config");
        let is_remote = dir.file_name().is_some_and(|dir| REMOTES.iter().any(|name| dir == *name));
        let is_text = name == "FETCH_HEAD" && self.is_git_directory(dir) || self.is_reflog(path);
        let is_table = dir.file_name().is_some_and(|dir| dir == "reftable")
            && dir.parent().is_some_and(|above| self.is_git_directory(above));
        let has_secret = is_config && self.is_git_directory(dir) && self.loses(path, without_credentials)
            || is_remote
                && dir.parent().is_some_and(|above| self.is_git_directory(above))
                && self.loses(path, without_credentials_in_urls)
            || is_text && self.loses(path, without_credentials_in_urls)
            || is_table && self.loses(path, without_credentials_in_logs);
        has_secret.then(|| credentials_rule(path))
    }

    fn is_reflog(&self, path: &Path) -> bool {
        // Nearly all files of a project end here.
        memchr::memmem::find(path.as_os_str().as_encoded_bytes(), b"logs/").is_some()
            && path.ancestors().skip(1).any(|dir| {
                dir.ends_with("logs") && dir.parent().is_some_and(|above| self.is_git_directory(above))
            })
    }

    /// What git asks of one, or of the part of a linked worktree.
    fn is_git_directory(&self, dir: &Path) -> bool {
        let has = |name: &str| self.root.join(dir).join(name).symlink_metadata().is_ok();
        has("HEAD") && (has("commondir") || (has("objects") && has("refs")))
    }

    fn loses(&self, path: &Path, without: fn(&[u8]) -> Option<Vec<u8>>) -> bool {
        match regular::read(&self.root.join(path), LARGEST_SETTINGS) {
            Ok(text) => without(&text).is_some(),
            // Nobody writes a file this large by hand.
            Err(error) => error.kind() != std::io::ErrorKind::NotFound,
        }
    }
}
