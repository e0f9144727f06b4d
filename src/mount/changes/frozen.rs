//! Both sides of every change as plain values: hashes, modes, link targets, and the text of small files. What is decided about the
//! values holds for the change as long as they are the same.

use super::base_content::BaseContent;
use super::change::{Change, Review};
use super::compare::{After, Base};
use super::path_states::base_of;
use super::since_launch::is_as_at_launch;
use super::three_way::ThreeWay;
use super::versions::base_content;
use crate::host::interruption;
use crate::model::raw_path::RawPath;
use crate::mount::fs::stat::{Kind, PERMISSIONS, Stat};
use crate::mount::fs::tree::Tree;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One side of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrozenSide {
    pub kind: Kind,
    /// Permission bits.
    pub mode: u32,
    /// BLAKE3 of the content or the link's target; empty for anything else.
    pub hash: String,
    pub size: u64,
    /// Of a file, if it is UTF-8 and not too long.
    pub text: Option<Arc<str>>,
    /// Of a link.
    pub target: Option<RawPath>,
}

/// A change with both of its sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frozen {
    pub before: Option<FrozenSide>,
    pub after: Option<FrozenSide>,
    /// Whether `before` is what was there at launch: the user may have changed it since.
    pub is_base_known: bool,
}

/// Reads both sides of the changes of a review, in their order. Texts longer than `largest_text` are only hashed.
pub fn freeze(sides: &ThreeWay<'_>, review: &Review, largest_text: u64) -> anyhow::Result<Vec<Frozen>> {
    let frozen = |change: &Change| {
        interruption::check()?;
        let path = change.path.0.as_path();
        let (before, is_base_known) = before(sides, path, largest_text)?;
        let after = match change.agents_after() {
            After::Absent => None,
            After::Dir { mode } => Some(directory(*mode)),
            _ => side(sides.mount, path, largest_text)?,
        };
        Ok(Frozen { before, after, is_base_known })
    };
    review.changes.iter().map(frozen).collect()
}

/// The state at launch; the project's, as long as that is the same.
fn before(sides: &ThreeWay<'_>, path: &Path, largest: u64) -> anyhow::Result<(Option<FrozenSide>, bool)> {
    let base = base_of(sides, path)?;
    let entry = match base {
        Base::Absent => return Ok((None, true)),
        Base::Unknown => return Ok((side(sides.project, path, largest).unwrap_or_default(), false)),
        Base::Known(entry) => entry,
    };
    if entry.kind == Kind::Dir {
        return Ok((Some(directory(entry.mode)), true));
    }
    let now = sides.project.stat(path).ok().flatten();
    if is_as_at_launch(sides.record, &entry, now.as_ref()) {
        return Ok((side(sides.project, path, largest)?, true));
    }
    let kept = base_content(sides, path, &base)
        .and_then(|(_, content): (_, BaseContent)| content.bytes(sides.contents?, sides.project.path()));
    Ok(match kept {
        Some(bytes) => (Some(of_bytes(&bytes, entry.mode & PERMISSIONS, largest)), true),
        None => (None, false),
    })
}

/// What a path was at launch, with the content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AtLaunch {
    Absent,
    File {
        bytes: Vec<u8>,
        mode: u32,
    },
    Directory,
    /// Nobody kept it.
    Unknown,
}

/// What a path was at launch, whatever the user has made of it since.
pub fn at_launch(sides: &ThreeWay<'_>, path: &Path) -> anyhow::Result<AtLaunch> {
    let base = base_of(sides, path)?;
    let entry = match base {
        Base::Absent => return Ok(AtLaunch::Absent),
        Base::Unknown => return Ok(AtLaunch::Unknown),
        Base::Known(entry) => entry,
    };
    if entry.kind == Kind::Dir {
        return Ok(AtLaunch::Directory);
    }
    let kept = base_content(sides, path, &base)
        .and_then(|(_, content): (_, BaseContent)| content.bytes(sides.contents?, sides.project.path()));
    Ok(kept.map_or(AtLaunch::Unknown, |bytes| AtLaunch::File { bytes, mode: entry.mode & PERMISSIONS }))
}

fn directory(mode: u32) -> FrozenSide {
    let mode = mode & PERMISSIONS;
    FrozenSide { kind: Kind::Dir, mode, hash: String::new(), size: 0, text: None, target: None }
}

fn of_bytes(bytes: &[u8], mode: u32, largest: u64) -> FrozenSide {
    let size = bytes.len() as u64;
    let text = (size <= largest).then(|| std::str::from_utf8(bytes).ok()).flatten().map(Arc::from);
    let hash = blake3::hash(bytes).to_hex().to_string();
    FrozenSide { kind: Kind::File, mode, hash, size, text, target: None }
}

/// What a tree has at a path; `None` for nothing and for what is neither file, link nor directory.
fn side(tree: &Tree, path: &Path, largest: u64) -> anyhow::Result<Option<FrozenSide>> {
    let Some(stat) = tree.stat(path)? else { return Ok(None) };
    Ok(match stat.kind {
        Kind::Dir => Some(directory(stat.mode)),
        Kind::Symlink => {
            let target = tree.read_link(path)?;
            let hash = blake3::hash(target.as_bytes()).to_hex().to_string();
            let size = target.len() as u64;
            let target = Some(RawPath(PathBuf::from(target)));
            Some(FrozenSide { kind: Kind::Symlink, mode: 0o777, hash, size, text: None, target })
        }
        Kind::File => Some(file(tree, path, &stat, largest)?),
        Kind::Special => None,
    })
}

/// Hashes a file in pieces, so that memory does not grow with it.
fn file(tree: &Tree, path: &Path, stat: &Stat, largest: u64) -> anyhow::Result<FrozenSide> {
    let (mut file, _) = tree.open_file(path)?;
    let mode = stat.mode & PERMISSIONS;
    if stat.size <= largest {
        let mut bytes = Vec::new();
        (&mut file).take(largest + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 <= largest {
            return Ok(of_bytes(&bytes, mode, largest));
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update(&bytes);
        return hashed(file, hasher, bytes.len() as u64, mode);
    }
    hashed(file, blake3::Hasher::new(), 0, mode)
}

fn hashed(
    mut file: std::fs::File,
    mut hasher: blake3::Hasher,
    mut size: u64,
    mode: u32,
) -> anyhow::Result<FrozenSide> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        interruption::check()?;
        let length = file.read(&mut buffer)?;
        if length == 0 {
            break;
        }
        size += length as u64;
        hasher.update(&buffer[..length]);
    }
    let hash = hasher.finalize().to_hex().to_string();
    Ok(FrozenSide { kind: Kind::File, mode, hash, size, text: None, target: None })
}
