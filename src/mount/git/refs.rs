//! Reads refs out of a git directory as files, the agent's side first and the real one below it.
//! It never runs git there: what an agent wrote may name programs.

use crate::mount::fs::stat::Kind;
use crate::mount::fs::tree::{self, Tree};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// More than this is no file of refs that a branch of ours comes from.
const LARGEST: u64 = 16 << 20;
/// Directories in directories of refs; names of branches are not deeper than this in earnest.
const DEEPEST: usize = 32;
/// More than anybody has.
const MOST: usize = 100_000;
/// Reasons that are remembered.
const MOST_UNREAD: usize = 1000;

/// The whole name of a ref and the object that it points to, both as git writes them.
pub(crate) type Refs = BTreeMap<OsString, String>;

/// What the files of one side say.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) refs: Refs,
    /// Why there may be others.
    pub(crate) unread: BTreeSet<String>,
}

impl Found {
    fn cannot_read(&mut self, reason: impl Into<String>) {
        if self.unread.len() < MOST_UNREAD {
            self.unread.insert(reason.into());
        }
    }
}

/// All refs that files name: loose ones over packed ones.
pub(crate) fn all(git_dir: &Tree) -> Found {
    let mut found = Found::default();
    packed(git_dir, &mut found);
    loose(git_dir, Path::new(""), Path::new("refs"), 0, &mut found);
    found
}

/// Those that belong to a linked worktree alone, by its directory.
pub(crate) fn of_worktree(git_dir: &Tree, dir: &Path) -> Found {
    let mut found = Found::default();
    loose(git_dir, dir, Path::new("refs"), 0, &mut found);
    found
}

/// The commit that a detached `HEAD` is at: the first of these files that is there. An error is a `HEAD` that cannot be read.
pub(crate) fn detached_head(git_dir: &Tree, candidates: &[PathBuf]) -> Result<Option<String>, String> {
    for path in candidates {
        if let Some(text) = read(git_dir, path) {
            return Ok(pointed_to(&text));
        }
        if is_odd(git_dir, path) && !is_symbolic(git_dir, path) {
            return Err(format!("{} cannot be read", path.display()));
        }
    }
    Ok(None)
}

/// What a file of one ref points to. Git reads its first word alone.
fn pointed_to(text: &str) -> Option<String> {
    object_name(text.split_ascii_whitespace().next()?)
}

pub(crate) fn object_name(text: &str) -> Option<String> {
    let name = text.trim();
    let is_name = matches!(name.len(), 40 | 64) && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_name.then(|| name.to_ascii_lowercase())
}

fn packed(git_dir: &Tree, found: &mut Found) {
    let name = Path::new("packed-refs");
    let Ok((file, _)) = git_dir.open_file(name) else {
        if is_odd(git_dir, name) {
            found.cannot_read("packed-refs is not a file that can be read");
        }
        return;
    };
    let mut bytes = Vec::new();
    if file.take(LARGEST + 1).read_to_end(&mut bytes).is_err() || bytes.len() as u64 > LARGEST {
        found.cannot_read("packed-refs cannot be read");
    }
    for line in bytes.split(|&byte| byte == b'\n') {
        let Some(space) = line.iter().position(|&byte| byte == b' ') else { continue };
        let name = line[space + 1..].trim_ascii_end();
        let object = std::str::from_utf8(&line[..space]).ok().and_then(object_name);
        if let Some(object) = object.filter(|_| name.starts_with(b"refs/")) {
            found.refs.insert(OsString::from_vec(name.to_vec()), object);
        }
    }
}

/// `at` is below `top`, and the name of what is found there begins with it.
fn loose(git_dir: &Tree, top: &Path, at: &Path, depth: usize, found: &mut Found) {
    let place = top.join(at);
    let Ok(dir) = git_dir.open_dir(&place) else {
        if is_odd(git_dir, &place) {
            found.cannot_read(format!("{} is not a directory that can be read", place.display()));
        }
        return;
    };
    for name in tree::list(dir.as_fd()).unwrap_or_default() {
        if found.refs.len() >= MOST {
            found.cannot_read(format!("there are more than {MOST}"));
            return;
        }
        if name.as_bytes().ends_with(b".lock") {
            continue;
        }
        let (path, name) = (place.join(&name), at.join(&name));
        match tree::stat_at(dir.as_fd(), name.file_name().unwrap_or_default()) {
            Ok(Some(stat)) if stat.kind == Kind::Dir && depth < DEEPEST => {
                loose(git_dir, top, &name, depth + 1, found);
            }
            // Deleted, or packed.
            Ok(Some(stat)) if stat.is_whiteout() => {}
            Ok(Some(stat)) if stat.kind == Kind::File => {
                match read(git_dir, &path).map(|text| pointed_to(&text)) {
                    Some(Some(object)) => drop(found.refs.insert(name.into_os_string(), object)),
                    // One that is empty or broken points nowhere.
                    Some(None) => drop(found.refs.remove(name.as_os_str())),
                    None => found.cannot_read(format!("{} cannot be read", path.display())),
                }
            }
            Ok(Some(stat)) if stat.kind == Kind::Symlink && is_symbolic(git_dir, &path) => {}
            Ok(None) => {}
            _ => found.cannot_read(format!("{} is no ref that is read", path.display())),
        }
    }
}

/// A link that is a name for another ref, as old versions of git make them.
pub(super) fn is_symbolic(git_dir: &Tree, path: &Path) -> bool {
    git_dir.read_link(path).is_ok_and(|target| target.as_bytes().starts_with(b"refs/"))
}

/// Something is there that git may read and we do not: a link, a directory that is closed.
pub(super) fn is_odd(git_dir: &Tree, path: &Path) -> bool {
    git_dir.stat(path).map_or(true, |stat| stat.is_some_and(|stat| !stat.is_whiteout()))
}

pub(super) fn read(git_dir: &Tree, path: &Path) -> Option<String> {
    let (file, _) = git_dir.open_file(path).ok()?;
    let mut text = String::new();
    file.take(4096).read_to_string(&mut text).ok()?;
    Some(text)
}
