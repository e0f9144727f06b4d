//! Exchanges a directory for a changed copy of itself in one step of the file system. Readers see the old state or the new
//! one, even when this process is killed. The copy shares its unchanged files with the original by hard links.

use super::edits::{Edits, create, remove};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const PREFIX: &str = ".agentworkforce-staged-";
/// A larger directory is copied only where much of it changes: replacing a few files one by one is faster.
const MANY_ENTRIES: usize = 5_000;
/// Entries to copy for each changed file: itself, its directories, and as many unchanged ones.
const ENTRIES_A_CHANGE: usize = 4;

/// Up to this many files are synced one by one, more by syncing the whole file system.
const MAX_SINGLE_SYNCS: usize = 200;

#[derive(Debug, PartialEq, Eq)]
pub enum Exchanged {
    Done,
    /// This file system or directory does not allow it; nothing was changed.
    Impossible,
    /// Another process changed the directory meanwhile; its state was restored.
    Disturbed,
}

/// Inode, time and size of every entry; `None` for directories.
type Listing = BTreeMap<PathBuf, Option<(u64, i64, i64, u64)>>;

/// A finished copy that is not in its place yet. It is removed if it is never exchanged.
pub struct Staged {
    dir: PathBuf,
    copy: TempDir,
    /// The directory when it was copied.
    original: Listing,
    /// The finished copy.
    copied: Listing,
    /// A lock on the copy: processes that wait for the directory must wait for the new one, too.
    _lock: File,
}

/// A changed copy of the directory, without the file of this name. `None` where this directory cannot be copied.
pub fn stage(dir: &Path, edits: &Edits, without: &str) -> io::Result<Option<Staged>> {
    // A link to the directory stays a link to it.
    let dir = dir.canonicalize()?;
    let Some(parent) = dir.parent() else { return Ok(None) };
    let Ok(staged) = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent) else { return Ok(None) };
    let lock = File::open(staged.path())?;
    lock.lock()?;
    let mut original = Listing::new();
    let entries = MANY_ENTRIES.max(ENTRIES_A_CHANGE * edits.len());
    let limits = Limits { device: dir.metadata()?.dev(), entries };
    if copy(&dir, staged.path(), Path::new(""), &limits, &mut original).is_err() {
        return Ok(None);
    }
    remove(staged.path(), without)?;
    for (path, file) in &edits.writes {
        let place = staged.path().join(path);
        fs::create_dir_all(place.parent().unwrap_or(staged.path()))?;
        if place.symlink_metadata().is_ok() {
            fs::remove_file(&place)?;
        }
        create(&place, file)?;
    }
    for path in &edits.removes {
        remove(staged.path(), path)?;
    }
    sync(staged.path(), &lock, edits)?;
    let mut copied = Listing::new();
    list(staged.path(), Path::new(""), &mut copied)?;
    Ok(Some(Staged { dir, copy: staged, original, copied, _lock: lock }))
}

impl Staged {
    pub fn exchange(self) -> io::Result<Exchanged> {
        let Staged { dir, copy, original, copied, _lock } = self;
        if exchange(copy.path(), &dir).is_err() {
            return Ok(Exchanged::Impossible);
        }
        // The original is now at the place of the copy. A change made after copying is only in there.
        let mut now = Listing::new();
        let undisturbed = list(copy.path(), Path::new(""), &mut now).is_ok() && now == original;
        if !undisturbed {
            exchange(copy.path(), &dir)?;
            rescue_new_files(copy.path(), &dir, &copied)?;
            return Ok(Exchanged::Disturbed);
        }
        if let Some(parent) = dir.parent().and_then(|parent| File::open(parent).ok()) {
            let _ = parent.sync_all();
        }
        Ok(Exchanged::Done)
    }
}

/// The content must be on disk before the exchange is.
fn sync(staged: &Path, lock: &File, edits: &Edits) -> io::Result<()> {
    if edits.writes.len() > MAX_SINGLE_SYNCS {
        return Ok(rustix::fs::syncfs(lock)?);
    }
    for path in edits.writes.keys() {
        File::open(staged.join(path))?.sync_all()?;
    }
    lock.sync_all()
}

fn exchange(a: &Path, b: &Path) -> io::Result<()> {
    Ok(renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE)?)
}

/// A directory beyond these limits is not copied.
struct Limits {
    /// The one file system that all of it must be on.
    device: u64,
    entries: usize,
}

/// Hard links to everything in the directory, in directories with the same mode and owner.
fn copy(dir: &Path, copy_to: &Path, inside: &Path, limits: &Limits, listing: &mut Listing) -> io::Result<()> {
    let metadata = dir.metadata()?;
    if metadata.dev() != limits.device {
        return Err(io::Error::other("another file system"));
    }
    fs::set_permissions(copy_to, fs::Permissions::from_mode(metadata.mode() & 0o7777))?;
    if copy_to.metadata()?.uid() != metadata.uid() || copy_to.metadata()?.gid() != metadata.gid() {
        std::os::unix::fs::chown(copy_to, Some(metadata.uid()), Some(metadata.gid()))?;
    }
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let (from, to) = (entry.path(), copy_to.join(entry.file_name()));
        let inside = inside.join(entry.file_name());
        if listing.len() >= limits.entries {
            return Err(io::Error::other("too many entries"));
        }
        let found = from.symlink_metadata()?;
        listing.insert(inside.clone(), identity(&found));
        if found.is_dir() {
            fs::create_dir(&to)?;
            copy(&from, &to, &inside, limits, listing)?;
        } else {
            fs::hard_link(&from, &to)?;
        }
    }
    Ok(())
}

fn list(dir: &Path, inside: &Path, listing: &mut Listing) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let inside = inside.join(entry.file_name());
        let found = entry.path().symlink_metadata()?;
        listing.insert(inside.clone(), identity(&found));
        if found.is_dir() {
            list(&entry.path(), &inside, listing)?;
        }
    }
    Ok(())
}

/// Moves files back that somebody wrote into the copy while it was in place.
fn rescue_new_files(staged: &Path, dir: &Path, copied: &Listing) -> io::Result<()> {
    let mut now = Listing::new();
    list(staged, Path::new(""), &mut now)?;
    let is_new = |path: &&PathBuf, found: &Option<(u64, i64, i64, u64)>| {
        found.is_some() && copied.get(*path) != Some(found)
    };
    for (path, _) in now.iter().filter(|(path, found)| is_new(path, found)) {
        let place = dir.join(path);
        fs::create_dir_all(place.parent().unwrap_or(dir))?;
        fs::rename(staged.join(path), place)?;
    }
    Ok(())
}

fn identity(found: &fs::Metadata) -> Option<(u64, i64, i64, u64)> {
    (!found.is_dir()).then(|| (found.ino(), found.mtime(), found.mtime_nsec(), found.size()))
}

/// Removes the copies of killed processes. The caller holds the lock, so none of them is in use.
pub fn remove_leftovers(dir: &Path) {
    let Ok(dir) = dir.canonicalize() else { return };
    let entries = dir.parent().and_then(|parent| fs::read_dir(parent).ok());
    for entry in entries.into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(PREFIX) {
            // The next process tries again.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack::tree;

    fn edits(writes: &[(&str, &str)], removes: &[&str]) -> Edits {
        let file = |text: &str| tree::File { bytes: text.as_bytes().into(), executable: false };
        Edits {
            writes: writes.iter().map(|(path, text)| ((*path).to_owned(), file(text))).collect(),
            removes: removes.iter().map(|path| (*path).to_owned()).collect(),
        }
    }

    fn exchange_with(dir: &Path, edits: &Edits) -> io::Result<Exchanged> {
        stage(dir, edits, "note")?.expect("it can be staged").exchange()
    }

    #[test]
    fn everything_else_stays_the_same_file() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("personas");
        fs::create_dir_all(dir.join("a__assets")).unwrap();
        for (path, text) in [
            ("mine.json", "m"),
            ("a.json", "old"),
            ("a__assets/x.md", "x"),
            ("gone.json", "g"),
            ("note", "n"),
        ] {
            fs::write(dir.join(path), text).unwrap();
        }
        std::os::unix::fs::symlink("mine.json", dir.join("link.json")).unwrap();
        let before = fs::metadata(dir.join("mine.json")).unwrap().ino();
        let edits =
            edits(&[("a.json", "new"), ("b__assets/s/y.md", "y")], &["gone.json", "a__assets/x.md", "none"]);
        assert_eq!(exchange_with(&dir, &edits).unwrap(), Exchanged::Done);
        let mut listing = Listing::new();
        list(&dir, Path::new(""), &mut listing).unwrap();
        let names: Vec<String> = listing.keys().map(|path| path.display().to_string()).collect();
        let expected = ["a.json", "b__assets", "b__assets/s", "b__assets/s/y.md", "link.json", "mine.json"];
        assert_eq!(names, expected);
        assert_eq!(fs::read_to_string(dir.join("a.json")).unwrap(), "new");
        assert_eq!(fs::metadata(dir.join("mine.json")).unwrap().ino(), before);
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_linked_directory_stays_linked() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("real")).unwrap();
        let link = root.path().join("personas");
        std::os::unix::fs::symlink("real", &link).unwrap();
        assert_eq!(exchange_with(&link, &edits(&[("a.json", "new")], &[])).unwrap(), Exchanged::Done);
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(fs::read_to_string(root.path().join("real/a.json")).unwrap(), "new");
    }
}
