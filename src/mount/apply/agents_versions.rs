//! Keeps the agent's versions of applied files: the base of the agent's later changes, if the session is continued. Their number and
//! size are limited, except for merged files: the project then has more than the agent's version, so only the kept one is exact.

use super::steps::{Content, Step};
use crate::files::regular;
use crate::mount::changes::compare::After;
use crate::mount::changes::content_store::{ContentHash, ContentStore};
use crate::mount::changes::earlier::AgentsVersion;
use crate::mount::changes::merge::{LARGEST, is_text};
use crate::mount::fs::stat::PERMISSIONS;
use crate::mount::fs::tree::Tree;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Of so many files and bytes.
const MOST_FILES: usize = 1000;
const MOST_BYTES: u64 = 32 << 20;

pub(super) struct AgentsVersions {
    store: ContentStore,
    /// Several threads stage files, but only one at a time keeps them.
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    has_directory: bool,
    files: usize,
    bytes: u64,
}

impl AgentsVersions {
    pub(super) fn new(session: &Path) -> AgentsVersions {
        AgentsVersions { store: ContentStore::of(session), kept: Mutex::default() }
    }

    /// The agent's version of a file that was staged; `content` is what it holds, where that is in memory. What cannot be kept is
    /// not known later, which is no more than a conflict; that of a merged file is always named.
    pub(super) fn keep(
        &self,
        mount: &Tree,
        step: &Step,
        content: Option<&[u8]>,
        staged: impl FnOnce() -> io::Result<File>,
    ) -> Option<AgentsVersion> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(merged) = &step.merged {
            let After::File { mode, .. } = merged.agents else { return None };
            let (blake3, size) = match &merged.text {
                Some(text) => (self.put(&mut kept, &text.agents, None)?, text.agents.len() as u64),
                None => self.of_mount(&mut kept, mount, &step.path)?,
            };
            return Some(AgentsVersion { blake3, size, mode: mode & PERMISSIONS });
        }
        let Some(Content::MountFile { mode }) = step.content else { return None };
        if kept.files >= MOST_FILES {
            return None;
        }
        let (blake3, size) = match content {
            Some(content) => self.keep_text(&mut kept, content, None)?,
            None => {
                let file = staged().ok()?;
                let content = regular::content(file.try_clone().ok()?, LARGEST).ok()?;
                self.keep_text(&mut kept, &content, Some(&file))?
            }
        };
        Some(AgentsVersion { blake3, size, mode })
    }

    fn keep_text(&self, kept: &mut Kept, content: &[u8], from: Option<&File>) -> Option<(ContentHash, u64)> {
        let size = content.len() as u64;
        if size > LARGEST || kept.bytes + size > MOST_BYTES || !is_text(content) {
            return None;
        }
        let blake3 = self.put(kept, content, from)?;
        kept.files += 1;
        kept.bytes += size;
        Some((blake3, size))
    }

    /// A file that only lends its content or its mode. If it is no text it is known by its hash alone.
    fn of_mount(&self, kept: &mut Kept, mount: &Tree, path: &Path) -> Option<(ContentHash, u64)> {
        let (file, stat) = mount.open_file(path).ok()?;
        if stat.size <= LARGEST {
            let content = regular::content(file, LARGEST).ok()?;
            return Some((self.put(kept, &content, None)?, stat.size));
        }
        Some((ContentHash::of_file(&file).ok()?, stat.size))
    }

    fn put(&self, kept: &mut Kept, bytes: &[u8], from: Option<&File>) -> Option<ContentHash> {
        if !kept.has_directory {
            self.store.make().ok()?;
            kept.has_directory = true;
        }
        self.store.put(bytes, from.map(AsFd::as_fd)).ok()
    }
}
