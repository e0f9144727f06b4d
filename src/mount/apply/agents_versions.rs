//! Keeps the files as the agent had them when they are applied: the base of what the agent changes after that, if the session goes
//! on. Bounded, but for merged files: the project has more than the agent's version then, and only the kept one tells what.

use super::steps::{Content, Step};
use crate::files::regular;
use crate::mount::changes::compare::After;
use crate::mount::changes::content_store::{ContentHash, ContentStore};
use crate::mount::changes::earlier::AgentsVersion;
use crate::mount::changes::merge::{LARGEST, is_text};
use crate::mount::fs::stat::{Kind, PERMISSIONS};
use crate::mount::fs::tree::Tree;
use std::cell::Cell;
use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;

/// Of so many files and bytes.
const MOST_FILES: usize = 1000;
const MOST_BYTES: u64 = 32 << 20;

pub(super) struct AgentsVersions {
    store: ContentStore,
    files: Cell<usize>,
    bytes: Cell<u64>,
}

impl AgentsVersions {
    pub(super) fn new(session: &Path) -> AgentsVersions {
        AgentsVersions { store: ContentStore::of(session), files: Cell::new(0), bytes: Cell::new(0) }
    }

    /// The agent's version of a file that was staged in this slot. What cannot be kept is not known later, which is no more than a
    /// conflict; that of a merged file is always named.
    pub(super) fn keep(&self, stage: &Tree, mount: &Tree, step: &Step, slot: &str) -> Option<AgentsVersion> {
        if let Some(merged) = &step.merged {
            let After::File { mode, .. } = merged.agents else { return None };
            let (blake3, size) = match &merged.text {
                Some(text) => (self.put(&text.agents, None)?, text.agents.len() as u64),
                None => self.of_mount(mount, &step.path)?,
            };
            return Some(AgentsVersion { blake3, size, mode: mode & PERMISSIONS });
        }
        let Some(Content::MountFile { mode }) = step.content else { return None };
        if self.files.get() >= MOST_FILES {
            return None;
        }
        let (file, stat) = stage.open_file(Path::new(slot)).ok()?;
        let bytes = self.bytes.get() + stat.size;
        if stat.kind != Kind::File || stat.size > LARGEST || bytes > MOST_BYTES {
            return None;
        }
        let content =
            regular::content(file.try_clone().ok()?, LARGEST).ok().filter(|bytes| is_text(bytes))?;
        let blake3 = self.put(&content, Some(&file))?;
        self.files.set(self.files.get() + 1);
        self.bytes.set(bytes);
        Some(AgentsVersion { blake3, size: stat.size, mode })
    }

    /// A file that only lends its content or its mode. If it is no text it is known by its hash alone.
    fn of_mount(&self, mount: &Tree, path: &Path) -> Option<(ContentHash, u64)> {
        let (file, stat) = mount.open_file(path).ok()?;
        if stat.size <= LARGEST {
            let content = regular::content(file, LARGEST).ok()?;
            return Some((self.put(&content, None)?, stat.size));
        }
        Some((ContentHash::of_file(&file).ok()?, stat.size))
    }

    fn put(&self, bytes: &[u8], from: Option<&File>) -> Option<ContentHash> {
        self.store.make().ok()?;
        self.store.put(bytes, from.map(AsFd::as_fd)).ok()
    }
}
