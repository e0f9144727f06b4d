//! Reads a tar archive, compressed or not, into a tree. Nothing is unpacked to disk, and reading stops at the size limit.

use super::limits::{MAX_FILES, MAX_UNPACKED};
use super::tree::{Tree, clean_path};
use anyhow::{Context, Result, bail};
use std::io::{self, BufRead, Read};
use tar::EntryType;

/// The file is probably not an archive at all.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotAnArchive(&'static str);

/// Fails once more bytes were read than an archive may unpack to.
struct Limited<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.left = self.left.checked_sub(read as u64).ok_or_else(|| {
            io::Error::other(format!("it unpacks to more than {} MB", MAX_UNPACKED / 1024 / 1024))
        })?;
        Ok(read)
    }
}

pub fn read(file: impl Read) -> Result<Tree> {
    let mut file = io::BufReader::new(file);
    let is_compressed = file.fill_buf()?.starts_with(&[0x1f, 0x8b]);
    let unpacked: Box<dyn Read> =
        if is_compressed { Box::new(flate2::bufread::GzDecoder::new(file)) } else { Box::new(file) };
    let mut archive = tar::Archive::new(Limited { inner: unpacked, left: MAX_UNPACKED });
    let mut tree = Tree::default();
    for (index, entry) in archive.entries()?.enumerate() {
        if index > 2 * MAX_FILES {
            bail!("it has more than {MAX_FILES} files");
        }
        add(&mut entry.map_err(|error| not_an_archive(&error))?, &mut tree)?;
    }
    // The checksum is at the very end.
    io::copy(&mut archive.into_inner(), &mut io::sink()).context("it is damaged")?;
    if tree.is_empty() {
        return Err(NotAnArchive("it is empty or not a tar archive").into());
    }
    tree.check()?;
    strip_top_directory(tree)
}

/// The tar reader's messages about other files do not help; the message of our own limit does.
fn not_an_archive(error: &io::Error) -> anyhow::Error {
    let text = error.to_string();
    if text.contains("unpacks to more than") {
        anyhow::anyhow!(text)
    } else {
        NotAnArchive("it is not a `.tgz` or `.tar` archive, or it is damaged").into()
    }
}

fn add(entry: &mut tar::Entry<'_, impl Read>, tree: &mut Tree) -> Result<()> {
    let path = text(&entry.path_bytes())?;
    let kind = entry.header().entry_type();
    match kind {
        EntryType::XGlobalHeader => Ok(()),
        EntryType::Directory => clean_path(&path).map(drop),
        EntryType::Regular | EntryType::Continuous => {
            if entry.size() > tree.left() {
                // Makes the budget return its error.
                return tree.add_file(&path, vec![0; usize::try_from(tree.left())? + 1], false);
            }
            let mut bytes = Vec::new();
            let left = tree.left();
            let size = entry.size();
            entry.take(left + 1).read_to_end(&mut bytes)?;
            if bytes.len() as u64 != size {
                bail!("`{path}` is cut off");
            }
            let executable = entry.header().mode().is_ok_and(|mode| mode & 0o111 != 0);
            tree.add_file(&path, bytes, executable)
        }
        EntryType::Symlink => {
            let target = entry.link_name_bytes().context("a link has no target")?;
            tree.add_link(&path, &text(&target)?)
        }
        EntryType::Link => {
            // The target is relative to the archive, and the link is equal to the file.
            let target = text(&entry.link_name_bytes().context("a hard link has no target")?)?;
            let Some(file) = tree.file(&clean_path(&target)?).cloned() else {
                bail!("the hard link `{path}` names `{target}`, which is not in the archive before it");
            };
            tree.add_file(&path, file.bytes.to_vec(), file.executable)
        }
        _ => bail!("`{path}` is not a file, directory or link"),
    }
}

fn text(bytes: &[u8]) -> Result<String> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => bail!("`{}` has a name that is not UTF-8", String::from_utf8_lossy(bytes).escape_debug()),
    }
}

/// Archives of npm and of git hosts have everything in one directory, which is the root of the pack.
fn strip_top_directory(tree: Tree) -> Result<Tree> {
    let top = tree.top_level();
    let is_root = top.iter().any(|name| matches!(*name, "package.json" | "personas"));
    match top[..] {
        [only] if !is_root && tree.is_dir(only) => {
            let only = only.to_owned();
            tree.below(&only)
        }
        _ => Ok(tree),
    }
}
