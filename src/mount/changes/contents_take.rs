//! Keeps what is needed to know later what the project's files held at launch: git's index, and copies of text files that are
//! changed or untracked. Runs beside the harness, after the manifest; what changes before it is read does not count.

use super::base_content::{ContentList, Copy, INDEX_FILE, LIST_FILE, is_clean};
use super::content_store::ContentStore;
use super::ignored::IgnoreView;
use super::manifest::{Entry, MANIFEST_FILE, Manifest};
use super::merge::{LARGEST, is_text};
use crate::files::atomic::{self, FileMode};
use crate::files::regular;
use crate::model::mount_record::Instant;
use crate::mount::fs::stat::{Kind, Stat};
use crate::mount::fs::tree::Tree;
use crate::mount::git::index_file::IndexFile;
use crate::mount::git::repository::{LARGEST_INDEX, Repository};
use anyhow::Context;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// How much is copied.
#[derive(Debug, Clone, Copy)]
pub struct CopyLimits {
    pub files: usize,
    pub bytes: u64,
}

impl Default for CopyLimits {
    fn default() -> CopyLimits {
        CopyLimits { files: 5000, bytes: 64 << 20 }
    }
}

/// Keeps the contents of a project whose manifest is in the session already. `is_over` is asked between files: once the run
/// has ended there is nothing left to keep them for.
pub fn take_contents(
    session: &Path,
    root: &Path,
    launched_at: Instant,
    limits: CopyLimits,
    is_over: &dyn Fn() -> bool,
) -> anyhow::Result<()> {
    if is_over() {
        return Ok(());
    }
    let Some(manifest) = Manifest::read(session, MANIFEST_FILE)? else { return Ok(()) };
    let project = Tree::open(root).with_context(|| format!("cannot open {}", root.display()))?;
    let store = ContentStore::of(session);
    store.make().context("cannot make the directory of the base contents")?;
    let mut list = ContentList { schema_version: 1, ..ContentList::default() };
    let index = keep_index(root, &store);
    list.index_written = index.as_ref().map(|(_, written)| *written);
    let (changed, untracked) = candidates(&manifest, &project, index.as_ref(), launched_at, is_over)?;
    let mut bytes = 0;
    for (path, entry) in changed.into_iter().chain(untracked) {
        if is_over() {
            break;
        }
        if list.copies.len() >= limits.files || bytes + entry.size > limits.bytes {
            list.left_out += 1;
            continue;
        }
        // A file that cannot be read is not known, like one that has changed since.
        if let Ok(Some(hash)) = copy(&project, &store, &path, &entry) {
            bytes += entry.size;
            list.copies.push(Copy { path: path.into(), blake3: hash });
        }
    }
    let path = store.path(LIST_FILE);
    atomic::write_cache(&path, &serde_json::to_vec(&list)?, FileMode::Private)
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Copies the index of the project's repository, if it is one that we understand. With it, when git wrote it.
fn keep_index(root: &Path, store: &ContentStore) -> Option<(IndexFile, Instant)> {
    let repository = Repository::at(root)?;
    let file = regular::open(&repository.git_dir.join("index")).ok()?;
    let written = Stat::from(&rustix::fs::fstat(&file).ok()?).mtime;
    let bytes = regular::content(file, LARGEST_INDEX).ok()?;
    atomic::write_cache(&store.path(INDEX_FILE), &bytes, FileMode::Private).ok()?;
    Some((IndexFile::parse(bytes)?, written))
}

type Candidates = Vec<(PathBuf, Entry)>;

/// The files that git has no blob of as they are: those that it tracks, and the others as far as it does not ignore them. Those
/// found so far once it is over.
fn candidates(
    manifest: &Manifest,
    project: &Tree,
    index: Option<&(IndexFile, Instant)>,
    launched_at: Instant,
    is_over: &dyn Fn() -> bool,
) -> anyhow::Result<(Candidates, Candidates)> {
    let mut view = IgnoreView::new(project, project, false);
    let mut ignored: Option<PathBuf> = None;
    let (mut changed, mut untracked) = (Vec::new(), Vec::new());
    for entry in manifest.entries() {
        let (path, entry) = entry?;
        if is_over() {
            break;
        }
        if entry.kind != Kind::File || entry.size > LARGEST || entry.ctime >= launched_at {
            continue;
        }
        let tracked =
            index.and_then(|(index, written)| Some((index.entry(path.as_os_str().as_bytes())?, *written)));
        match tracked {
            Some((found, written)) if is_clean(&found, &entry, written) => {}
            Some(_) => changed.push((path, entry)),
            None => {
                let is_known = ignored.as_ref().is_some_and(|top| path.starts_with(top));
                if is_known {
                    continue;
                }
                ignored = view.ignored_by_pattern(&path, false);
                if ignored.is_none() {
                    untracked.push((path, entry));
                }
            }
        }
    }
    Ok((changed, untracked))
}

/// `None` if the file is not the one that the manifest has, or no text.
fn copy(
    project: &Tree,
    store: &ContentStore,
    path: &Path,
    entry: &Entry,
) -> io::Result<Option<super::content_store::ContentHash>> {
    let (file, stat) = project.open_file(path)?;
    if !entry.is_unchanged(&stat) {
        return Ok(None);
    }
    let bytes = regular::content(file.try_clone()?, LARGEST)?;
    let is_unchanged = entry.is_unchanged(&Stat::from(&rustix::fs::fstat(&file)?));
    if !is_unchanged || bytes.len() as u64 != entry.size || !is_text(&bytes) {
        return Ok(None);
    }
    store.put(&bytes, Some(file.as_fd())).map(Some)
}
