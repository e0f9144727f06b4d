//! The content of the project's files at launch, as far as it is known: git's blob for files that were clean, or a copy that was taken
//! while the run began. Nothing that an agent can write is ever consulted.

use super::content_store::{ContentHash, ContentStore};
use super::manifest::Entry;
use crate::files::regular;
use crate::git::{self, Limits};
use crate::host::interruption;
use crate::model::mount_record::Instant;
use crate::model::raw_path::RawPath;
use crate::mount::fs::stat::Kind;
use crate::mount::git::index_file::{IndexEntry, IndexFile};
use crate::mount::git::repository::{LARGEST_INDEX, Repository};
use crate::tool;
use serde::{Deserialize, Serialize};
use sha1::{Digest, Sha1};
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// In the directory of base contents: which copies there are.
pub(super) const LIST_FILE: &str = "contents.json";
/// Beside it: git's index at launch.
pub(super) const INDEX_FILE: &str = "index";
/// Limit for the list, enough for some thousand paths.
const LARGEST_LIST: u64 = 64 << 20;
/// Larger files are not compared with the base.
pub(super) const LARGEST_COMPARED: u64 = 256 << 20;
/// Enough for git, which only looks something up.
const GIT_TIME: Duration = Duration::from_secs(20);
/// Attributes that make git convert the content of a file on its way in or out.
const CONVERTING: [&str; 5] = ["filter", "ident", "working-tree-encoding", "eol", "crlf"];

/// What was kept of the project's content at launch.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ContentList {
    pub(super) schema_version: u32,
    /// When git had written the index that was copied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) index_written: Option<Instant>,
    pub(super) copies: Vec<Copy>,
    /// Text files that were changed or untracked and were not copied, because there were too many.
    #[serde(default)]
    pub(super) left_out: u64,
}

/// A file that was copied.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Copy {
    pub(super) path: RawPath,
    pub(super) blake3: ContentHash,
}

/// The contents kept by a session, read on demand.
#[derive(Debug)]
pub struct BaseContents {
    store: ContentStore,
    copies: HashMap<PathBuf, ContentHash>,
    index_written: Option<Instant>,
    index: OnceCell<Option<IndexFile>>,
    left_out: u64,
}

/// The content of one file at launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BaseContent {
    /// With the size that the file had: a blob of another size cannot be its content.
    Blob {
        id: [u8; 20],
        size: u64,
    },
    Kept {
        hash: ContentHash,
    },
}

impl BaseContents {
    /// The contents that a session has. What cannot be read counts as unknown.
    pub fn read(session: &Path) -> BaseContents {
        let store = ContentStore::of(session);
        let list = regular::read(&store.path(LIST_FILE), LARGEST_LIST);
        let list: ContentList =
            list.ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
        BaseContents {
            store,
            copies: list.copies.into_iter().map(|copy| (copy.path.0, copy.blake3)).collect(),
            index_written: list.index_written,
            index: OnceCell::new(),
            left_out: list.left_out,
        }
    }

    /// How many files could not be copied because there were too many.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// The content of the file with this entry in the manifest. Does not check whether git converts it.
    pub(super) fn of(&self, path: &Path, entry: &Entry) -> Option<BaseContent> {
        if let Some(hash) = self.copies.get(path) {
            return Some(BaseContent::Kept { hash: hash.clone() });
        }
        let written = self.index_written?;
        let index = self.index.get_or_init(|| {
            regular::read(&self.store.path(INDEX_FILE), LARGEST_INDEX).ok().and_then(IndexFile::parse)
        });
        let found = index.as_ref()?.entry(path.as_os_str().as_bytes())?;
        is_clean(&found, entry, written).then_some(BaseContent::Blob { id: found.id, size: entry.size })
    }
}

/// Whether the file was identical to git's index: its stat matches, and it was not written at the moment when git looked.
pub(super) fn is_clean(found: &IndexEntry, entry: &Entry, index_written: Instant) -> bool {
    let is_file = entry.kind == Kind::File && matches!(found.mode, 0o100_644 | 0o100_755);
    let is_same = found.mtime == short(entry.mtime)
        && found.ctime == short(entry.ctime)
        && u64::from(found.size) == entry.size
        && u64::from(found.ino) == entry.ino & u64::from(u32::MAX);
    is_file && is_same && entry.mtime < index_written && entry.ctime < index_written
}

/// A time as git's index has it.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn short(time: Instant) -> (u32, u32) {
    (time.seconds as u32, time.nanos)
}

impl BaseContent {
    /// Whether an open file of this size has the same content.
    pub(super) fn is_in(&self, file: &File, size: u64) -> std::io::Result<bool> {
        let is_of_another_size = matches!(self, BaseContent::Blob { size: known, .. } if *known != size);
        if size > LARGEST_COMPARED || is_of_another_size {
            return Ok(false);
        }
        let mut sha1 = Sha1::new();
        sha1.update(format!("blob {size}\0"));
        let mut blake3 = blake3::Hasher::new();
        let mut file = file.take(size);
        let mut buffer = vec![0; 64 * 1024];
        loop {
            interruption::check()?;
            let length = file.read(&mut buffer)?;
            let part = &buffer[..length];
            match self {
                BaseContent::Blob { .. } => sha1.update(part),
                BaseContent::Kept { .. } => drop(blake3.update(part)),
            }
            if length == 0 {
                break;
            }
        }
        Ok(match self {
            BaseContent::Blob { id, .. } => sha1.finalize().as_slice() == id,
            BaseContent::Kept { hash } => ContentHash::from(blake3.finalize()) == *hash,
        })
    }

    /// The bytes themselves. A blob counts only if its content matches its name and the file's size.
    pub(super) fn bytes(&self, contents: &BaseContents, root: &Path) -> Option<Vec<u8>> {
        match self {
            BaseContent::Kept { hash } => contents.store.get(hash),
            BaseContent::Blob { id, size } => {
                let bytes = read_blob(root, id)?;
                let mut sha1 = Sha1::new();
                sha1.update(format!("blob {}\0", bytes.len()));
                sha1.update(&bytes);
                (sha1.finalize().as_slice() == id && bytes.len() as u64 == *size).then_some(bytes)
            }
        }
    }
}

fn read_blob(root: &Path, id: &[u8; 20]) -> Option<Vec<u8>> {
    let name: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut command = git_in(root)?;
    command.args(["cat-file", "blob", &name]);
    let limits = Limits { time: GIT_TIME, output: super::merge::LARGEST };
    Some(git::run_with(command, None, limits).ok()?.stdout)
}

/// git with the project's own repository given explicitly.
fn git_in(root: &Path) -> Option<Command> {
    let repository = Repository::at(root)?;
    let mut command = git::command(root);
    command
        .env("GIT_DIR", &repository.git_dir)
        .env("GIT_COMMON_DIR", &repository.common_dir)
        .env("GIT_WORK_TREE", root);
    Some(command)
}

/// The paths whose blob may differ from the file, because git converts it, now or when the run began. In doubt, all of them.
pub(super) fn converted(contents: &BaseContents, root: &Path, paths: &[PathBuf]) -> HashSet<PathBuf> {
    if paths.is_empty() {
        return HashSet::new();
    }
    let now = asked_for_attributes(root, None, paths);
    let at_launch = asked_for_attributes(root, Some(&contents.store.path(INDEX_FILE)), paths);
    match (now, at_launch) {
        (Some(now), Some(at_launch)) => now.into_iter().chain(at_launch).collect(),
        _ => paths.iter().cloned().collect(),
    }
}

fn asked_for_attributes(root: &Path, index: Option<&Path>, paths: &[PathBuf]) -> Option<HashSet<PathBuf>> {
    let mut command = git_in(root)?;
    command.args(["check-attr", "-z", "--stdin"]);
    if let Some(index) = index {
        command.arg("--cached").env("GIT_INDEX_FILE", index);
    }
    command.args(CONVERTING);
    let names: Vec<u8> =
        paths.iter().flat_map(|path| path.as_os_str().as_bytes().iter().copied().chain([0])).collect();
    let limits = Limits { time: GIT_TIME, ..Limits::default() };
    let answer = git::run_with(command, Some(tool::input(&names).ok()?), limits).ok()?;
    let fields: Vec<&[u8]> = answer.stdout.split(|&byte| byte == 0).collect();
    let (answers, rest) = fields.as_chunks::<3>();
    if answers.len() != paths.len() * CONVERTING.len() || rest != [b""] {
        return None;
    }
    let converts = |[_, attribute, value]: &&[&[u8]; 3]| {
        let is_off = matches!(*value, b"unspecified" | b"unset");
        let is_plain = *attribute == b"eol" && *value == b"lf";
        !is_off && !is_plain
    };
    Some(answers.iter().filter(converts).map(|[path, ..]| PathBuf::from(OsStr::from_bytes(path))).collect())
}
