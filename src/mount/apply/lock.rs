//! Allows one apply at a time per project, whatever path leads to it, and records the journal in progress, so that the next process
//! finishes it first. It never waits forever.

use super::record_file;
use crate::files::owned;
use crate::model::raw_path::RawPath;
use crate::mount::fs::stat::Stat;
use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The journal in progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Underway {
    pub(super) session: RawPath,
    pub(super) number: u32,
}

/// Held until it is dropped, or the process dies.
#[derive(Debug)]
pub(super) struct ProjectLock {
    file: File,
    path: PathBuf,
}

impl ProjectLock {
    /// `locks` is a directory of ours. The lock is named by device and inode: two paths to a project are one project.
    pub(super) fn take(locks: &Path, root: &Stat, patience: Duration) -> anyhow::Result<ProjectLock> {
        let path = locks.join(format!("{:x}-{:x}.lock", root.dev, root.ino));
        let open = || -> std::io::Result<File> {
            DirBuilder::new().recursive(true).mode(0o700).create(locks)?;
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false).mode(0o600);
            owned::open_with(&path, &mut options)
        };
        let file = open().map_err(|error| record_file::cannot_open(&path, error))?;
        let start = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(ProjectLock { file, path }),
                Err(TryLockError::WouldBlock) if start.elapsed() < patience => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                Err(TryLockError::WouldBlock) => {
                    bail!("another apply to this project is under way (lock {})", path.display())
                }
                Err(TryLockError::Error(error)) => {
                    return Err(error).with_context(|| format!("cannot lock {}", path.display()));
                }
            }
        }
    }

    /// The lock file, for messages.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The journal of a process that died while it held the lock.
    pub(super) fn left_over(&mut self) -> anyhow::Result<Option<Underway>> {
        let mut text = String::new();
        self.file.rewind()?;
        self.file.read_to_string(&mut text)?;
        // An incomplete note was written before anything was staged.
        Ok(serde_json::from_str(&text).ok())
    }

    pub(super) fn note(&mut self, underway: Option<&Underway>, durable: bool) -> anyhow::Result<()> {
        self.file.rewind()?;
        self.file.set_len(0)?;
        if let Some(underway) = underway {
            self.file.write_all(&serde_json::to_vec(underway)?)?;
        }
        if durable {
            self.file.sync_all()?;
        }
        Ok(())
    }
}
