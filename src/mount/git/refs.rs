//! Reads branches out of a git directory as files, the agent's side first and the real one below it.
//! It never runs git there: what an agent wrote may name programs.

use crate::mount::fs::tree::{self, Tree};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// More than this is no file of refs that a branch of ours comes from.
const LARGEST: u64 = 16 << 20;
/// Directories in directories of refs; names of branches are not deeper than this in earnest.
const DEEPEST: usize = 32;

/// More branches than anybody has.
const MOST_BRANCHES: usize = 100_000;

/// A branch name and the commit it points to, both as git writes them.
pub(crate) type Branches = BTreeMap<OsString, String>;

/// The agent's branches that differ from the base, as far as files tell: loose refs over packed ones.
pub(crate) fn branches(git_dir: &Tree) -> Branches {
    let mut branches = packed(git_dir);
    loose(git_dir, Path::new("refs/heads"), 0, &mut branches);
    branches
}

/// The commit that a detached `HEAD` is at.
pub(crate) fn detached_head(git_dir: &Tree, candidates: &[PathBuf]) -> Option<String> {
    let text = candidates.iter().find_map(|path| read(git_dir, path))?;
    object_name(&text)
}

pub(crate) fn object_name(text: &str) -> Option<String> {
    let name = text.trim();
    let is_name = matches!(name.len(), 40 | 64) && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_name.then(|| name.to_ascii_lowercase())
}

fn packed(git_dir: &Tree) -> Branches {
    let mut branches = Branches::new();
    let Ok((file, _)) = git_dir.open_file(Path::new("packed-refs")) else { return branches };
    let mut bytes = Vec::new();
    if file.take(LARGEST).read_to_end(&mut bytes).is_err() {
        return branches;
    }
    for line in bytes.split(|&byte| byte == b'\n') {
        let Some(space) = line.iter().position(|&byte| byte == b' ') else { continue };
        let name = line[space + 1..].strip_prefix(b"refs/heads/");
        let commit = std::str::from_utf8(&line[..space]).ok().and_then(object_name);
        if let (Some(name), Some(commit)) = (name, commit) {
            branches.insert(OsString::from_vec(name.to_vec()), commit);
        }
    }
    branches
}

fn loose(git_dir: &Tree, at: &Path, depth: usize, branches: &mut Branches) {
    let Ok(dir) = git_dir.open_dir(at) else { return };
    for name in tree::list(dir.as_fd()).unwrap_or_default() {
        if branches.len() >= MOST_BRANCHES {
            return;
        }
        let path = at.join(&name);
        if let Some(text) = read(git_dir, &path) {
            let branch = path.strip_prefix("refs/heads").unwrap_or(&path).as_os_str().to_owned();
            // A deleted branch is a whiteout and was not read; one that is empty or broken points nowhere.
            match object_name(&text) {
                Some(commit) => drop(branches.insert(branch, commit)),
                None => drop(branches.remove(&branch)),
            }
        } else if depth < DEEPEST && !name.as_bytes().ends_with(b".lock") {
            loose(git_dir, &path, depth + 1, branches);
        }
    }
}

pub(super) fn read(git_dir: &Tree, path: &Path) -> Option<String> {
    let (file, _) = git_dir.open_file(path).ok()?;
    let mut text = String::new();
    file.take(4096).read_to_string(&mut text).ok()?;
    Some(text)
}
