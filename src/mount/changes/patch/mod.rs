//! The agent's changes as a patch that loses nothing: `git apply` makes of the project what an apply would. What git cannot hold is
//! said in comments in front. It reads both sides and decides nothing; for people there is `diff`.

mod binary;
mod hunks;
mod names;
mod notes;
mod section;
mod sections;

pub use sections::{Section, comments, sections};

use self::notes::{COMMENT, Notes};
use self::section::{Side, write_section};
use super::change::{Change, Merged};
use super::patience::Patience;
use super::three_way::ThreeWay;
use crate::files::regular;
use crate::host::interruption;
use crate::model::change_kind::ChangeKind;
use crate::model::raw_path::RawPath;
use crate::mount::changes::compare::After;
use crate::mount::changes::merge;
use crate::mount::fs::stat::Kind;
use crate::mount::fs::tree::Tree;
use crate::mount::git::blob::{Blob, ObjectFormat};
use crate::mount::git::repository::LARGEST_SETTINGS;
use anyhow::Context;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What is larger is named and left out: git takes no patch of more than a gigabyte.
const LARGEST: u64 = 256 << 20;
/// How much of the changes a patch that is kept in the session holds.
const MOST_KEPT_BYTES: usize = 8 << 20;
const MOST_KEPT_FILES: usize = 2000;

/// Writes a patch of these changes; `special` are the sockets, fifos and devices that the agent made.
pub fn write(
    sides: &ThreeWay<'_>,
    changes: &[&Change],
    special: &[RawPath],
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let patch = Patch::new(sides, changes)?;
    let mut notes = Notes::default();
    notes.add_changes(sides, changes, special)?;
    for (path, size) in patch.too_large() {
        notes.left_out(&path, &format!("{size} bytes"));
    }
    out.write_all(notes.text().as_bytes())?;
    for change in changes {
        interruption::check()?;
        patch.write_change(change, out)?;
    }
    Ok(())
}

/// A patch of bounded size, made in bounded time, to be kept. What does not fit is named.
pub fn bounded(sides: &ThreeWay<'_>, changes: &[&Change]) -> anyhow::Result<Vec<u8>> {
    let (first, mut left_out): (Vec<&Change>, Vec<&Change>) =
        changes.iter().take(MOST_KEPT_FILES).partition(|change| size(change) <= MOST_KEPT_BYTES as u64);
    let patch = Patch::new(sides, &first)?;
    let mut notes = Notes::default();
    notes.add_changes(sides, changes, &[])?;
    let mut body = Vec::new();
    for change in &first {
        interruption::check()?;
        let mut out = Bounded { bytes: Vec::new(), most: MOST_KEPT_BYTES - body.len() };
        if !patch.patience.is_over() && patch.write_change(change, &mut out).is_ok() {
            body.append(&mut out.bytes);
        } else {
            left_out.push(*change);
        }
    }
    left_out.extend(changes.iter().skip(MOST_KEPT_FILES));
    notes.cut(&left_out);
    let mut whole = notes.text().into_bytes();
    whole.append(&mut body);
    Ok(whole)
}

/// Takes so many bytes and no more.
struct Bounded {
    bytes: Vec<u8>,
    most: usize,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > self.most {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Patch<'a> {
    sides: &'a ThreeWay<'a>,
    changes: &'a [&'a Change],
    format: ObjectFormat,
    patience: Patience,
    /// Where a file was moved, unchanged: the new path with the old one, and the other way round.
    moved_from: HashMap<PathBuf, &'a Change>,
    moved_to: HashMap<PathBuf, &'a Change>,
}

/// A file that is gone.
struct Gone<'a> {
    change: &'a Change,
    /// What git calls what it held, once that is known.
    id: OnceCell<Option<String>>,
}

impl<'a> Patch<'a> {
    fn new(sides: &'a ThreeWay<'a>, changes: &'a [&'a Change]) -> anyhow::Result<Patch<'a>> {
        let format = object_format(sides);
        let (moved_from, moved_to) = (HashMap::new(), HashMap::new());
        let mut patch = Patch { sides, changes, format, patience: Patience::new(), moved_from, moved_to };
        patch.find_moves()?;
        Ok(patch)
    }

    /// Files that are gone at one path and new, with the same bytes, at another. Each is read once, and those that nobody has time
    /// for are a deletion and an addition.
    fn find_moves(&mut self) -> anyhow::Result<()> {
        let size_before =
            |change: &Change| change.now.filter(|now| now.kind == Kind::File).map(|now| now.size);
        let gone = |change: &&&Change| change.kind == ChangeKind::Deleted && change.after == After::Absent;
        let mut by_size: HashMap<u64, Vec<Gone<'a>>> = HashMap::new();
        for change in self.changes.iter().filter(gone) {
            if let Some(size) = size_before(change).filter(|&size| size > 0 && size <= LARGEST) {
                by_size.entry(size).or_default().push(Gone { change, id: OnceCell::new() });
            }
        }
        for change in self.changes.iter().filter(|change| change.now.is_none()) {
            let After::File { size, .. } = change.after else { continue };
            let Some(candidates) = by_size.get_mut(&size).filter(|candidates| !candidates.is_empty()) else {
                continue;
            };
            if self.patience.is_over() {
                break;
            }
            let Some(id) = self.id(self.after(change)?)? else { continue };
            let mut found = None;
            for (index, candidate) in candidates.iter().enumerate() {
                if candidate.id.get().is_none() {
                    let _ = candidate.id.set(self.id(self.before(candidate.change)?)?);
                }
                let is_same = candidate.id.get().is_some_and(|old| old.as_ref() == Some(&id));
                let has_name = candidate.change.path.file_name() == change.path.file_name();
                if is_same && (found.is_none() || has_name) {
                    found = Some(index);
                    if has_name {
                        break;
                    }
                }
            }
            if let Some(index) = found {
                let from = candidates.swap_remove(index).change;
                self.moved_to.insert(from.path.0.clone(), change);
                self.moved_from.insert(change.path.0.clone(), from);
            }
        }
        Ok(())
    }

    fn id(&self, side: Option<Side>) -> io::Result<Option<String>> {
        side.map(|side| side.blob.id(self.format)).transpose()
    }

    fn write_change(&self, change: &Change, out: &mut dyn Write) -> anyhow::Result<()> {
        let path = change.path.0.as_path();
        // It is written where it went.
        if size(change) > LARGEST || self.moved_to.contains_key(path) {
            return Ok(());
        }
        let (old_path, old) = match self.moved_from.get(path) {
            Some(from) => (from.path.0.as_path(), self.before(from)?),
            None => (path, self.before(change)?),
        };
        let new = self.after(change)?;
        let old = old.as_ref().map(|side| (old_path, side));
        let new = new.as_ref().map(|side| (path, side));
        let is_one = old.zip(new).is_none_or(|((_, old), (_, new))| old.is_link() == new.is_link());
        let deadline = self.patience.deadline();
        if is_one {
            write_section(self.format, old, new, deadline, out)?;
        } else {
            write_section(self.format, old, None, deadline, out)?;
            write_section(self.format, None, new, deadline, out)?;
        }
        Ok(())
    }

    fn too_large(&self) -> impl Iterator<Item = (PathBuf, u64)> {
        let sizes = self.changes.iter().map(|change| (change.path.0.clone(), size(change)));
        sizes.filter(|(_, size)| *size > LARGEST)
    }

    fn before(&self, change: &Change) -> anyhow::Result<Option<Side>> {
        let Some(now) = change.now else { return Ok(None) };
        read(self.sides.project, &change.path, now.kind, now.mode)
    }

    fn after(&self, change: &Change) -> anyhow::Result<Option<Side>> {
        let (Some(kind), mode) = (change.after.kind(), change.after.permissions().unwrap_or(0)) else {
            return Ok(None);
        };
        match change.merged.as_deref() {
            Some(Merged { text: Some(text), .. }) => {
                Ok(Some(Side::file(Blob::Bytes(text.result.clone()), mode)))
            }
            // Only the mode is the agent's.
            Some(_) if change.kind == ChangeKind::Mode => read(self.sides.project, &change.path, kind, mode),
            _ => read(self.sides.mount, &change.path, kind, mode),
        }
    }
}

/// What the larger side of a change holds.
fn size(change: &Change) -> u64 {
    let before = change.now.filter(|now| now.kind == Kind::File).map_or(0, |now| now.size);
    match change.after {
        After::File { size, .. } => before.max(size),
        _ => before,
    }
}

/// `None` for what git does not know.
fn read(tree: &Tree, path: &Path, kind: Kind, mode: u32) -> anyhow::Result<Option<Side>> {
    let cannot_read = || format!("cannot read {}", tree.path().join(path).display());
    Ok(match kind {
        Kind::File => {
            let (file, _) = tree.open_file(path).with_context(cannot_read)?;
            Some(Side::file(Blob::of_file(file, merge::LARGEST).with_context(cannot_read)?, mode))
        }
        Kind::Symlink => {
            let target = tree.read_link(path).with_context(cannot_read)?;
            Some(Side::link(target.into_encoded_bytes()))
        }
        Kind::Dir | Kind::Special => None,
    })
}

/// What the project's repository names its objects by; a patch for another one could not hold binary files.
fn object_format(sides: &ThreeWay<'_>) -> ObjectFormat {
    let is_sha256 = sides.record.git.first().is_some_and(|git| {
        let config = regular::read(&git.common_dir.join("config"), LARGEST_SETTINGS).unwrap_or_default();
        let config = String::from_utf8_lossy(&config).to_lowercase();
        config.lines().any(|line| {
            line.split_once('=').is_some_and(|(key, value)| {
                key.trim() == "objectformat" && value.trim().trim_matches('"') == "sha256"
            })
        })
    });
    if is_sha256 { ObjectFormat::Sha256 } else { ObjectFormat::Sha1 }
}

/// Text as a comment of a patch.
pub fn comment(text: &str) -> String {
    format!("{COMMENT}{text}\n")
}

/// A path as a comment has it: on one line, whatever it is made of.
pub fn name(path: &Path) -> String {
    names::quoted("", path)
}
