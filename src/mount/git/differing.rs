//! Compares the agent's commits with the files of the project after an apply. A commit may have what no review has shown: what the
//! agent took back in its files, or what was not picked. It runs no filter and changes nothing.

use super::blob::{Blob, ObjectFormat};
use super::export::Job;
use super::work_trees;
use crate::git::{self, Limits};
use crate::host::interruption;
use crate::mount::fs::stat::Kind;
use crate::mount::fs::tree::Tree;
use anyhow::Context;
use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Files up to this size are compared without regard to line endings, too.
const LARGEST_TEXT: u64 = 2 << 20;
/// How long listing may take, and comparing; what is not compared by then counts as different.
const TIME: Duration = Duration::from_secs(20);
/// git knows the empty tree by these names, in every repository.
const EMPTY_SHA1: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const EMPTY_SHA256: &str = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321";

impl Job<'_> {
    /// The paths that a commit changes since `base` (`None`: it has no history in common) and at which the project has
    /// something else.
    pub(super) fn differing(&self, base: Option<&str>, tip: &str) -> anyhow::Result<Vec<PathBuf>> {
        let (format, empty) = match tip.len() {
            40 => (ObjectFormat::Sha1, EMPTY_SHA1),
            _ => (ObjectFormat::Sha256, EMPTY_SHA256),
        };
        let own =
            work_trees::own(self.record, self.repository).context("its files are not in the project")?;
        let project = Tree::open(&self.record.root.join(own))?;
        let mut list = self.git(true);
        list.args(["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--no-ext-diff"]);
        list.args([base.unwrap_or(empty), tip]);
        let output = git::run_with(list, None, Limits { time: TIME, ..Limits::default() })?.stdout;
        let until = Instant::now() + TIME;
        let mut differing = Vec::new();
        let mut pieces = output.split(|&byte| byte == 0).filter(|piece| !piece.is_empty());
        while let (Some(modes), Some(name)) = (pieces.next(), pieces.next()) {
            interruption::check()?;
            // `:100644 100755 OLD NEW M`
            let mut words = modes.split(|&byte| byte == b' ').skip(1);
            let (mode, id) = (words.next(), words.nth(1));
            let (mode, id) = mode.zip(id).context("git lists changes in another way")?;
            let path = PathBuf::from(OsStr::from_bytes(name));
            let id = String::from_utf8_lossy(id);
            if Instant::now() > until || !has(&project, &path, mode, &id, format).unwrap_or(false) {
                differing.push(path);
            }
        }
        Ok(differing)
    }
}

/// Whether the project has this at the path.
fn has(project: &Tree, path: &Path, mode: &[u8], id: &str, format: ObjectFormat) -> anyhow::Result<bool> {
    let found = project.stat(path)?;
    let kind = found.map(|stat| stat.kind);
    Ok(match mode {
        // Another repository is none of its files.
        b"160000" => true,
        b"000000" => kind.is_none_or(|kind| kind == Kind::Dir),
        b"120000" if kind == Some(Kind::Symlink) => {
            Blob::Bytes(project.read_link(path)?.into_vec()).id(format)? == id
        }
        b"120000" => false,
        _ if kind != Some(Kind::File) => false,
        _ => {
            let blob = Blob::of_file(project.open_file(path)?.0, LARGEST_TEXT)?;
            blob.id(format)? == id
                || unix_lines(&blob).is_some_and(|blob| blob.id(format).is_ok_and(|own| own == id))
        }
    })
}

/// Git may have been told to write other line endings into files than it stores.
fn unix_lines(blob: &Blob) -> Option<Blob> {
    let text = blob.text()?;
    memchr::memmem::find(text, b"\r\n")?;
    let lines: Vec<&[u8]> = text.split(|&byte| byte == b'\n').collect();
    let lines: Vec<&[u8]> = lines.iter().map(|line| line.strip_suffix(b"\r").unwrap_or(line)).collect();
    Some(Blob::Bytes(lines.join(&b'\n')))
}
