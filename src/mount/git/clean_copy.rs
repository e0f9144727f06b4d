//! Takes credentials out of the files of a git directory that is a copy of ours. It never touches the user's own.

use super::credentials::{Cleaner, without_credentials, without_credentials_in_urls};
use super::secret_files::SecretFiles;
use super::secret_texts;
use std::fs;
use std::io;
use std::path::Path;

/// Takes credentials out of every file of a private git directory that may hold some, submodules included. `copied` are the
/// directories that it was made from: a configuration may name files there.
pub(crate) fn clean(git_dir: &Path, copied: &[&Path]) -> io::Result<()> {
    for dir in copied.iter().copied().chain([git_dir]) {
        let found = SecretFiles::of(dir);
        for path in found.stores.iter().map(|store| git_dir.join(store)) {
            if path.symlink_metadata().is_ok_and(|found| found.is_file()) {
                fs::remove_file(&path)?;
            }
        }
        let configs = found.configs.iter().map(|config| (config, without_credentials as Cleaner));
        let remotes = found.remotes.iter().map(|remote| (remote, without_credentials_in_urls as Cleaner));
        for (path, without) in configs.chain(remotes) {
            let path = git_dir.join(path);
            if path.symlink_metadata().is_ok_and(|found| found.is_file())
                && let Some(text) = without(&fs::read(&path)?)
            {
                fs::write(&path, text)?;
            }
        }
    }
    for (path, text) in secret_texts::cleaned(git_dir) {
        fs::write(git_dir.join(path), text)?;
    }
    Ok(())
}
