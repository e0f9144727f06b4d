//! Texts of a git directory that may have urls with credentials in them and are no configuration: reflogs (`git pull URL` writes its
//! arguments there), `FETCH_HEAD`, and what other tools keep. It changes nothing.

use super::credentials::{Cleaner, without_credentials_in_urls};
use super::reftable;
use super::reftable_logs::without_credentials_in_logs;
use super::secret_files::{Part, parts_of};
use crate::files::regular;
use std::fs;
use std::path::{Path, PathBuf};

/// Entries that are looked at.
const MOST_LOGS: usize = 50_000;
const MOST_TEXTS: usize = 5_000;
const DEEPEST: usize = 16;
/// Larger files are left as they are. A reflog of which that is true is left out.
const LARGEST: u64 = 1 << 20;
const LARGEST_LOG: u64 = 32 << 20;

const LOGS: &str = "logs";
const TABLES: &str = "reftable";
/// Large, without urls, looked at elsewhere, or the user's own programs.
const OTHERS: [&str; 10] =
    ["objects", "refs", "packed-refs", "index", "info", "hooks", "lfs", "modules", "worktrees", TABLES];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    Log,
    Table,
    Text,
}

/// The files of a git directory, submodules and linked worktrees included, that are different without their credentials: their paths
/// relative to it, and what is left of them.
pub(crate) fn cleaned(git_dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let Ok(top) = git_dir.canonicalize() else { return Vec::new() };
    let mut search = Search { top: &top, left: MOST_LOGS, found: Vec::new() };
    let parts: Vec<Part> = parts_of(&top).into_iter().filter(|part| part.is_repository).collect();
    for Part { dir, .. } in &parts {
        search.entry(&dir.join(LOGS), Content::Log, 0);
        search.entry(&dir.join(TABLES), Content::Table, 0);
    }
    search.left = MOST_TEXTS;
    for Part { dir, .. } in &parts {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if name != LOGS && !OTHERS.iter().any(|other| name == *other) {
                search.entry(&entry.path(), Content::Text, 0);
            }
        }
    }
    search.found
}

struct Search<'a> {
    top: &'a Path,
    left: usize,
    found: Vec<(PathBuf, Vec<u8>)>,
}

impl Search<'_> {
    fn entry(&mut self, path: &Path, content: Content, depth: usize) {
        if self.left == 0 || depth > DEEPEST {
            return;
        }
        self.left -= 1;
        // A link may lead to another place of the git directory.
        let Ok(real) = path.canonicalize() else { return };
        let Ok(inside) = real.strip_prefix(self.top) else { return };
        if real.is_dir() {
            for entry in fs::read_dir(&real).into_iter().flatten().flatten() {
                if !OTHERS.iter().any(|other| content == Content::Text && entry.file_name() == *other) {
                    self.entry(&entry.path(), content, depth + 1);
                }
            }
        } else if let Some(without) = without(&real, content) {
            self.found.push((inside.to_owned(), without));
        }
    }
}

fn without(file: &Path, content: Content) -> Option<Vec<u8>> {
    let (largest, clean): (u64, Cleaner) = match content {
        Content::Log => (LARGEST_LOG, without_credentials_in_urls),
        Content::Table => (reftable::LARGEST, without_credentials_in_logs),
        Content::Text => (LARGEST, without_credentials_in_text),
    };
    match regular::read(file, largest) {
        Ok(bytes) => clean(&bytes),
        Err(_) if content == Content::Log && file.metadata().is_ok_and(|found| found.len() > largest) => {
            Some(Vec::new())
        }
        Err(_) => None,
    }
}

/// What is not text would be broken.
fn without_credentials_in_text(bytes: &[u8]) -> Option<Vec<u8>> {
    if memchr::memchr(0, bytes).is_some() {
        return None;
    }
    without_credentials_in_urls(bytes)
}
