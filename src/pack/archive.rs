//! Reads a tar archive, compressed or not, into a tree. Nothing is unpacked to disk, and it stops at the first byte too many.

use super::limits::{MOST_FILES, MOST_UNPACKED};
use super::tree::{Tree, clean};
use anyhow::{Context, Result, bail};
use std::io::{self, BufRead, Read};
use tar::EntryType;

/// It may be something else altogether: whoever named it should know what can be named.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NoArchive(&'static str);

/// Bytes that gzip and tar may make of an archive, no more.
struct Limited<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.left = self.left.checked_sub(read as u64).ok_or_else(|| {
            io::Error::other(format!("it unpacks to more than {} MB", MOST_UNPACKED / 1024 / 1024))
        })?;
        Ok(read)
    }
}

pub fn read(file: impl Read) -> Result<Tree> {
    let mut file = io::BufReader::new(file);
    let is_compressed = file.fill_buf()?.starts_with(&[0x1f, 0x8b]);
    let unpacked: Box<dyn Read> =
        if is_compressed { Box::new(flate2::bufread::GzDecoder::new(file)) } else { Box::new(file) };
    let mut archive = tar::Archive::new(Limited { inner: unpacked, left: MOST_UNPACKED });
    let mut tree = Tree::default();
    for (index, entry) in archive.entries()?.enumerate() {
        if index > 2 * MOST_FILES {
            bail!("it has more than {MOST_FILES} files");
        }
        add(&mut entry.map_err(|error| not_an_archive(&error))?, &mut tree)?;
    }
    // The checksum stands at the very end.
    io::copy(&mut archive.into_inner(), &mut io::sink()).context("it is damaged")?;
    if tree.is_empty() {
        return Err(NoArchive("it is empty, or no tar archive").into());
    }
    tree.check()?;
    rooted(tree)
}

/// What the reader of archives says of other files helps nobody; what our own limit says does.
fn not_an_archive(error: &io::Error) -> anyhow::Error {
    let text = error.to_string();
    if text.contains("unpacks to more than") {
        anyhow::anyhow!(text)
    } else {
        NoArchive("it is no `.tgz` or `.tar` archive, or a damaged one").into()
    }
}

fn add(entry: &mut tar::Entry<'_, impl Read>, tree: &mut Tree) -> Result<()> {
    let path = text(&entry.path_bytes())?;
    let kind = entry.header().entry_type();
    match kind {
        EntryType::XGlobalHeader => Ok(()),
        EntryType::Directory => clean(&path).map(drop),
        EntryType::Regular | EntryType::Continuous => {
            if entry.size() > tree.left() {
                // The budget has the words for it.
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
            let target = entry.link_name_bytes().context("a link leads nowhere")?;
            tree.add_link(&path, &text(&target)?)
        }
        EntryType::Link => {
            // It speaks of the archive, not of the directory that it is in, and is as good as the file.
            let target = text(&entry.link_name_bytes().context("a hard link leads nowhere")?)?;
            let Some(file) = tree.file(&clean(&target)?).cloned() else {
                bail!("the hard link `{path}` leads to `{target}`, which is not in the archive before it");
            };
            tree.add_file(&path, file.bytes.to_vec(), file.executable)
        }
        _ => bail!("`{path}` is neither a file nor a directory nor a link"),
    }
}

fn text(bytes: &[u8]) -> Result<String> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => bail!("`{}` has a name that is not UTF-8", String::from_utf8_lossy(bytes).escape_debug()),
    }
}

/// Archives of npm and of git hosts have everything in one directory; that one is the pack.
fn rooted(tree: Tree) -> Result<Tree> {
    let top = tree.top();
    let is_root = top.iter().any(|name| matches!(*name, "package.json" | "personas"));
    match top[..] {
        [only] if !is_root && tree.is_dir(only) => {
            let only = only.to_owned();
            tree.below(&only)
        }
        _ => Ok(tree),
    }
}
