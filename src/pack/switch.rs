//! Exchanges a directory for a changed copy of itself in one step of the file system. Whoever looks sees the old state or
//! the new one, also when this process is killed. The copy shares its files with the original by hard links.

use super::apply::{Edits, remove, write_new};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const PREFIX: &str = ".agentworkforce-staged-";
/// A directory with more in it is copied only where much of it changes: few files are faster replaced one by one.
const MANY_ENTRIES: usize = 5_000;
/// How many entries a file that changes may stand for: itself, its directories, and as many again that stay.
const ENTRIES_A_CHANGE: usize = 4;

/// Up to here files are brought to disk one by one, beyond it the whole file system at once.
const FEW: usize = 200;

#[derive(Debug, PartialEq, Eq)]
pub enum Switched {
    Done,
    /// Not on this file system, or not with this directory; nothing was changed.
    Impossible,
    /// Somebody changed the directory meanwhile; everything is as they left it.
    Disturbed,
}

/// What an entry was when it was copied: its inode, its time and its size. Directories have none of that.
type Seen = BTreeMap<PathBuf, Option<(u64, i64, i64, u64)>>;

/// A finished copy that is not yet where it belongs. It is thrown away where it is not exchanged.
pub struct Staged {
    dir: PathBuf,
    copy: TempDir,
    seen: Seen,
    ours: Seen,
    /// Whoever waits for the directory waits for the new one, too, until all is done.
    _held: File,
}

/// A changed copy of the directory, without the file of this name. `None`: not with this directory.
pub fn stage(dir: &Path, edits: &Edits, without: &str) -> io::Result<Option<Staged>> {
    // A link to the directory stays a link to it.
    let dir = dir.canonicalize()?;
    let Some(parent) = dir.parent() else { return Ok(None) };
    let Ok(staged) = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent) else { return Ok(None) };
    let held = File::open(staged.path())?;
    held.lock()?;
    let mut seen = Seen::new();
    let changes = edits.writes.len() + edits.removes.len();
    let limits =
        Limits { device: dir.metadata()?.dev(), entries: MANY_ENTRIES.max(ENTRIES_A_CHANGE * changes) };
    if copy(&dir, staged.path(), Path::new(""), &limits, &mut seen).is_err() {
        return Ok(None);
    }
    remove(staged.path(), without)?;
    for (path, file) in &edits.writes {
        let place = staged.path().join(path);
        fs::create_dir_all(place.parent().unwrap_or(staged.path()))?;
        if place.symlink_metadata().is_ok() {
            fs::remove_file(&place)?;
        }
        write_new(&place, file)?;
    }
    for path in &edits.removes {
        remove(staged.path(), path)?;
    }
    bring_to_disk(staged.path(), &held, edits)?;
    let mut ours = Seen::new();
    look(staged.path(), Path::new(""), &mut ours)?;
    Ok(Some(Staged { dir, copy: staged, seen, ours, _held: held }))
}

impl Staged {
    pub fn exchange(self) -> io::Result<Switched> {
        let Staged { dir, copy, seen, ours, _held } = self;
        if exchange(copy.path(), &dir).is_err() {
            return Ok(Switched::Impossible);
        }
        // What was the directory is now the staged one. A change that came after the copy is in there only.
        let mut now = Seen::new();
        let undisturbed = look(copy.path(), Path::new(""), &mut now).is_ok() && now == seen;
        if !undisturbed {
            exchange(copy.path(), &dir)?;
            carry_over(copy.path(), &dir, &ours)?;
            return Ok(Switched::Disturbed);
        }
        if let Some(parent) = dir.parent().and_then(|parent| File::open(parent).ok()) {
            let _ = parent.sync_all();
        }
        Ok(Switched::Done)
    }
}

/// Everything must be on disk before its name is.
fn bring_to_disk(staged: &Path, held: &File, edits: &Edits) -> io::Result<()> {
    if edits.writes.len() > FEW {
        return Ok(rustix::fs::syncfs(held)?);
    }
    for path in edits.writes.keys() {
        File::open(staged.join(path))?.sync_all()?;
    }
    held.sync_all()
}

fn exchange(a: &Path, b: &Path) -> io::Result<()> {
    Ok(renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE)?)
}

/// What is no longer copied.
struct Limits {
    /// The one file system that all of it must be on.
    device: u64,
    entries: usize,
}

/// Hard links to everything in the directory, in directories with the same mode and owner.
fn copy(dir: &Path, copy_to: &Path, inside: &Path, limits: &Limits, seen: &mut Seen) -> io::Result<()> {
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
        if seen.len() >= limits.entries {
            return Err(io::Error::other("too many entries"));
        }
        let found = from.symlink_metadata()?;
        seen.insert(inside.clone(), mark(&found));
        if found.is_dir() {
            fs::create_dir(&to)?;
            copy(&from, &to, &inside, limits, seen)?;
        } else {
            fs::hard_link(&from, &to)?;
        }
    }
    Ok(())
}

fn look(dir: &Path, inside: &Path, seen: &mut Seen) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let inside = inside.join(entry.file_name());
        let found = entry.path().symlink_metadata()?;
        seen.insert(inside.clone(), mark(&found));
        if found.is_dir() {
            look(&entry.path(), &inside, seen)?;
        }
    }
    Ok(())
}

/// What was saved into the new directory in the moment that it was there.
fn carry_over(staged: &Path, dir: &Path, ours: &Seen) -> io::Result<()> {
    let mut now = Seen::new();
    look(staged, Path::new(""), &mut now)?;
    for (path, _) in now.iter().filter(|(path, mark)| mark.is_some() && ours.get(*path) != Some(mark)) {
        let place = dir.join(path);
        fs::create_dir_all(place.parent().unwrap_or(dir))?;
        fs::rename(staged.join(path), place)?;
    }
    Ok(())
}

fn mark(found: &fs::Metadata) -> Option<(u64, i64, i64, u64)> {
    (!found.is_dir()).then(|| (found.ino(), found.mtime(), found.mtime_nsec(), found.size()))
}

/// Removes copies that a killed process left. The caller holds the lock, so none of them is in use.
pub fn clear_leftovers(dir: &Path) {
    let Ok(dir) = dir.canonicalize() else { return };
    let entries = dir.parent().and_then(|parent| fs::read_dir(parent).ok());
    for entry in entries.into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(PREFIX) {
            // It is tried again the next time.
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

    fn switch(dir: &Path, edits: &Edits) -> io::Result<Switched> {
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
        assert_eq!(switch(&dir, &edits).unwrap(), Switched::Done);
        let mut seen = Seen::new();
        look(&dir, Path::new(""), &mut seen).unwrap();
        let names: Vec<String> = seen.keys().map(|path| path.display().to_string()).collect();
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
        assert_eq!(switch(&link, &edits(&[("a.json", "new")], &[])).unwrap(), Switched::Done);
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(fs::read_to_string(root.path().join("real/a.json")).unwrap(), "new");
    }
}
