//! Hidden tests: read once, before a worker starts. What somebody writes into their directory afterwards has no effect on the work.

use crate::files::regular;
use crate::model::mount_record::LARGEST_INJECTED;
use crate::mount::InjectedFile;
use anyhow::{Context, Result, bail};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

const MOST_FILES: usize = 5_000;
/// Of all files together: they stay in memory.
const MOST_BYTES: usize = 256 << 20;

/// Files that are laid over the result when commands run.
#[derive(Debug)]
pub struct Holdout {
    /// Absolute.
    pub dir: PathBuf,
    pub files: Vec<InjectedFile>,
}

impl Holdout {
    /// Reads all files of a directory.
    pub fn read(dir: PathBuf) -> Result<Holdout> {
        let mut files = Vec::new();
        let mut size = 0;
        for entry in ignore::WalkBuilder::new(&dir).standard_filters(false).follow_links(false).build() {
            let entry = entry.with_context(|| format!("{} cannot be read", dir.display()))?;
            if !entry.file_type().is_some_and(|kind| kind.is_file()) {
                continue;
            }
            let path = entry.path().strip_prefix(&dir)?.to_path_buf();
            let bytes = regular::read(entry.path(), LARGEST_INJECTED)
                .with_context(|| format!("{} cannot be read", entry.path().display()))?;
            size += bytes.len();
            let mode = entry.metadata().map_or(0o644, |meta| meta.mode() & 0o777);
            files.push(InjectedFile { path, bytes, mode });
            if files.len() > MOST_FILES {
                bail!("{} has more than {MOST_FILES} files", dir.display());
            }
            if size > MOST_BYTES {
                bail!("{} has more than {MOST_BYTES} bytes", dir.display());
            }
        }
        Ok(Holdout { dir, files })
    }

    /// One that is laid over from its directory: no worker runs.
    pub fn unread(dir: PathBuf) -> Holdout {
        Holdout { dir, files: Vec::new() }
    }
}
