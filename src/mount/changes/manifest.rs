//! The base: the state of every visible path of a tree at launch, in one file that can be queried without parsing it. It contains no
//! file contents, and says nothing about what happened since.

use crate::files::atomic::{self, FileMode};
use crate::model::mount_record::Instant;
use crate::mount::fs::stat::{Kind, Stat};
use anyhow::{Context, bail};
use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The project at launch, in the session directory.
pub const MANIFEST_FILE: &str = "manifest";
/// Copy backend: the copied tree when the harness started.
pub const MOUNT_MANIFEST_FILE: &str = "manifest.mount";

const MAGIC: &[u8; 8] = b"awfbase2";
/// The magic, where the index starts, where the file ends.
const HEADER: usize = 8 + 8 + 8;
/// What comes before the path in a record: its length, then the entry.
const RECORD: usize = 4 + 1 + 3 + 8 + 8 + 4 + 8 + 4 + 8;
/// What comes before the path in the index: where the block starts, and the length of its first path.
const MARK: usize = 8 + 4;
/// Records in a block, which is read at once.
const BLOCK: usize = 64;

/// One path of the base.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    pub kind: Kind,
    pub mode: u32,
    pub size: u64,
    pub mtime: Instant,
    pub ctime: Instant,
    pub ino: u64,
}

impl From<&Stat> for Entry {
    fn from(stat: &Stat) -> Entry {
        Entry {
            kind: stat.kind,
            mode: stat.mode,
            size: stat.size,
            mtime: stat.mtime,
            ctime: stat.ctime,
            ino: stat.ino,
        }
    }
}

impl Entry {
    /// Nothing about the entry was changed: same inode, content as far as times and size tell, and mode. Of a
    /// directory only what it is by itself counts, not what it holds.
    pub fn is_unchanged(&self, now: &Stat) -> bool {
        let own = self.kind == now.kind && self.mode == now.mode && self.ino == now.ino;
        own && (self.kind == Kind::Dir
            || (self.size == now.size && self.mtime == now.mtime && self.ctime == now.ctime))
    }
}

/// A manifest that is queried by path: records in path order, in blocks, then an index of the first path of every block. Only the
/// index is held in memory, so a query costs the same in small and large trees.
#[derive(Debug)]
pub struct Manifest {
    store: Store,
    /// From where the index starts to the end of the file.
    index: Vec<u8>,
    blocks: Vec<Mark>,
    /// Where the last block ends.
    end: u64,
    /// Blocks that were read before: changes are usually close together.
    cache: RefCell<HashMap<usize, Rc<[u8]>>>,
}

#[derive(Debug)]
enum Store {
    Memory(Vec<u8>),
    File(File),
}

/// Where a block starts in the file, and its first path in the index.
#[derive(Debug)]
struct Mark {
    offset: u64,
    first: Range<usize>,
}

/// Collects the entries of a manifest in path order.
#[derive(Debug)]
pub(crate) struct ManifestWriter {
    bytes: Vec<u8>,
    index: Vec<u8>,
    count: usize,
}

impl Default for ManifestWriter {
    fn default() -> ManifestWriter {
        ManifestWriter { bytes: vec![0; HEADER], index: Vec::new(), count: 0 }
    }
}

impl ManifestWriter {
    pub(crate) fn push(&mut self, path: &[u8], entry: &Entry) {
        let length = u32::try_from(path.len()).expect("a path is shorter than 4 GB").to_le_bytes();
        if self.count.is_multiple_of(BLOCK) {
            self.index.extend_from_slice(&(self.bytes.len() as u64).to_le_bytes());
            self.index.extend_from_slice(&length);
            self.index.extend_from_slice(path);
        }
        self.count += 1;
        let bytes = &mut self.bytes;
        bytes.extend_from_slice(&length);
        bytes.push(kind_code(entry.kind));
        bytes.extend_from_slice(&entry.mode.to_le_bytes()[..3]);
        bytes.extend_from_slice(&entry.size.to_le_bytes());
        for time in [entry.mtime, entry.ctime] {
            bytes.extend_from_slice(&time.seconds.to_le_bytes());
            bytes.extend_from_slice(&time.nanos.to_le_bytes());
        }
        bytes.extend_from_slice(&entry.ino.to_le_bytes());
        bytes.extend_from_slice(path);
    }

    /// The bytes of the file.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        let end = self.bytes.len() as u64;
        let whole = end + self.index.len() as u64;
        self.bytes[..8].copy_from_slice(MAGIC);
        self.bytes[8..16].copy_from_slice(&end.to_le_bytes());
        self.bytes[16..24].copy_from_slice(&whole.to_le_bytes());
        self.bytes.append(&mut self.index);
        self.bytes
    }

    /// Writes the file so that a crash leaves either none or all of it.
    pub(super) fn write(self, directory: &Path, name: &str) -> anyhow::Result<()> {
        let target = directory.join(name);
        atomic::write(&target, &self.finish(), FileMode::Private)
            .with_context(|| format!("cannot write {}", target.display()))
    }
}

impl Default for Manifest {
    fn default() -> Manifest {
        Manifest::of_bytes(ManifestWriter::default().finish()).expect("nothing is a manifest")
    }
}

impl Manifest {
    /// `None` when there is no such file: the runner died before the base was taken.
    pub fn read(directory: &Path, name: &str) -> anyhow::Result<Option<Manifest>> {
        let path = directory.join(name);
        let open = || -> anyhow::Result<Manifest> {
            let file = File::open(&path)?;
            let length = file.metadata()?.len();
            Manifest::open(Store::File(file), length).context("it is damaged")
        };
        match open() {
            Err(error) if is_not_found(&error) => Ok(None),
            other => other.map(Some).with_context(|| format!("cannot read {}", path.display())),
        }
    }

    /// A manifest in memory.
    pub(crate) fn of_bytes(bytes: Vec<u8>) -> anyhow::Result<Manifest> {
        let length = bytes.len() as u64;
        Manifest::open(Store::Memory(bytes), length)
    }

    fn open(store: Store, length: u64) -> anyhow::Result<Manifest> {
        if length < HEADER as u64 {
            bail!("it is too short");
        }
        let header = store.read(0, HEADER)?;
        let (end, whole) = (number(&header, 8), number(&header, 16));
        if &header[..8] != MAGIC {
            bail!("it does not start as a manifest does");
        }
        if whole != length || end < HEADER as u64 || end > length {
            bail!("it does not end where it should");
        }
        let index = store.read(end, usize::try_from(length - end)?)?;
        let mut blocks = Vec::new();
        let mut at = 0;
        while at < index.len() {
            let first = at + MARK;
            if first > index.len() {
                bail!("its index is cut");
            }
            let name = first..first + length_at(&index, at + 8);
            at = name.end;
            blocks.push(Mark { offset: number(&index, first - MARK), first: name });
        }
        let is_sound = blocks.is_sorted_by_key(|mark| mark.offset)
            && blocks.last().is_none_or(|mark| mark.first.end == index.len() && mark.offset < end);
        if !is_sound {
            bail!("its index is not in order");
        }
        Ok(Manifest { store, index, blocks, end, cache: RefCell::default() })
    }

    pub fn get(&self, path: &Path) -> io::Result<Option<Entry>> {
        let name = bytes_of(path);
        let Some(number) = self.block_of(name) else { return Ok(None) };
        let block = self.cached_block(number)?;
        let mut at = 0;
        while let Some((known, entry)) = record(&block, &mut at)? {
            if known == name {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }

    /// Everything below a directory, in path order, without the directory.
    pub fn below(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        let prefix = bytes_of(directory);
        let mut paths = Vec::new();
        for number in self.block_of(prefix).unwrap_or(0)..self.blocks.len() {
            let block = self.block(number)?;
            let mut at = 0;
            while let Some((name, _)) = record(&block, &mut at)? {
                if is_below(name, prefix) {
                    paths.push(path_of(name).to_owned());
                } else if path_order(name, prefix) == Ordering::Greater {
                    return Ok(paths);
                }
            }
        }
        Ok(paths)
    }

    /// All of it, in path order.
    pub fn entries(&self) -> Entries<'_> {
        Entries { manifest: self, next_block: 0, block: Vec::new(), at: 0 }
    }

    /// The only block that can contain the path: the last one whose first path is not after it.
    fn block_of(&self, name: &[u8]) -> Option<usize> {
        let first = |mark: &Mark| &self.index[mark.first.clone()];
        self.blocks.partition_point(|mark| path_order(first(mark), name) != Ordering::Greater).checked_sub(1)
    }

    fn cached_block(&self, number: usize) -> io::Result<Rc<[u8]>> {
        if let Some(block) = self.cache.borrow().get(&number) {
            return Ok(Rc::clone(block));
        }
        let block: Rc<[u8]> = self.block(number)?.into();
        self.cache.borrow_mut().insert(number, Rc::clone(&block));
        Ok(block)
    }

    fn block(&self, number: usize) -> io::Result<Vec<u8>> {
        let start = self.blocks[number].offset;
        let end = self.blocks.get(number + 1).map_or(self.end, |next| next.offset);
        self.store.read(start, usize::try_from(end - start).map_err(io::Error::other)?)
    }
}

impl Store {
    fn read(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        match self {
            Store::Memory(bytes) => {
                let start = usize::try_from(offset).map_err(io::Error::other)?;
                let part = start.checked_add(length).and_then(|end| bytes.get(start..end));
                part.map(<[u8]>::to_vec).ok_or_else(damaged)
            }
            Store::File(file) => {
                let mut bytes = vec![0; length];
                file.read_exact_at(&mut bytes, offset)?;
                Ok(bytes)
            }
        }
    }
}

/// Iterates over a manifest, with one block in memory at a time.
pub struct Entries<'a> {
    manifest: &'a Manifest,
    next_block: usize,
    block: Vec<u8>,
    at: usize,
}

impl Entries<'_> {
    fn advance(&mut self) -> io::Result<Option<(PathBuf, Entry)>> {
        while self.at == self.block.len() {
            if self.next_block == self.manifest.blocks.len() {
                return Ok(None);
            }
            self.block = self.manifest.block(self.next_block)?;
            self.next_block += 1;
            self.at = 0;
        }
        let next = record(&self.block, &mut self.at)?;
        Ok(next.map(|(name, entry)| (path_of(name).to_owned(), entry)))
    }
}

impl Iterator for Entries<'_> {
    type Item = io::Result<(PathBuf, Entry)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.advance().transpose()
    }
}

/// The record at an offset in a block; advances the offset past it.
fn record<'a>(block: &'a [u8], at: &mut usize) -> io::Result<Option<(&'a [u8], Entry)>> {
    if *at == block.len() {
        return Ok(None);
    }
    let fixed = block.get(*at..*at + RECORD).ok_or_else(damaged)?;
    let start = *at + RECORD;
    let end = start.checked_add(length_at(fixed, 0)).ok_or_else(damaged)?;
    let name = block.get(start..end).ok_or_else(damaged)?;
    *at = end;
    let time = |at: usize| Instant {
        seconds: i64::from_le_bytes(array(fixed, at)),
        nanos: u32::from_le_bytes(array(fixed, at + 8)),
    };
    let entry = Entry {
        kind: kind_of(fixed[4]),
        mode: u32::from_le_bytes([fixed[5], fixed[6], fixed[7], 0]),
        size: number(fixed, 8),
        mtime: time(16),
        ctime: time(28),
        ino: number(fixed, 40),
    };
    Ok(Some((name, entry)))
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the manifest is damaged")
}

fn is_not_found(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// Order by components: a directory comes right before everything below it.
pub(crate) fn path_order(a: &[u8], b: &[u8]) -> Ordering {
    let key = |byte: u8| if byte == b'/' { 0 } else { byte };
    match a.iter().zip(b).find(|(a, b)| a != b) {
        Some((&a, &b)) => key(a).cmp(&key(b)),
        None => a.len().cmp(&b.len()),
    }
}

fn is_below(name: &[u8], directory: &[u8]) -> bool {
    if directory.is_empty() {
        return !name.is_empty();
    }
    name.len() > directory.len() && name.starts_with(directory) && name[directory.len()] == b'/'
}

pub(super) fn bytes_of(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

fn path_of(name: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(name))
}

fn length_at(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(array(bytes, at)) as usize
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut result = [0; N];
    result.copy_from_slice(&bytes[at..at + N]);
    result
}

fn number(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(array(bytes, at))
}

fn kind_code(kind: Kind) -> u8 {
    match kind {
        Kind::File => b'f',
        Kind::Dir => b'd',
        Kind::Symlink => b'l',
        Kind::Special => b's',
    }
}

fn kind_of(code: u8) -> Kind {
    match code {
        b'f' => Kind::File,
        b'd' => Kind::Dir,
        b'l' => Kind::Symlink,
        _ => Kind::Special,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn entry(ino: u64) -> Entry {
        let time = Instant { seconds: -3, nanos: 999_999_999 };
        Entry { kind: Kind::File, mode: 0o4755, size: u64::MAX, mtime: time, ctime: time, ino }
    }

    /// Every name with its place in the list as its inode.
    fn written(names: &[&[u8]]) -> ManifestWriter {
        let mut sorted: Vec<(u64, &[u8])> = (0..).zip(names.iter().copied()).collect();
        sorted.sort_by(|a, b| path_order(a.1, b.1));
        let mut writer = ManifestWriter::default();
        for (ino, name) in sorted {
            writer.push(name, &entry(ino));
        }
        writer
    }

    #[test]
    fn every_name_is_found_again_with_all_it_says() {
        let names: [&[u8]; 8] = [b"", b"a", b"a/b", b"a.b", b"a\x01", b"a/\xff\n", b"b", b"\x7f/x"];
        let dir = tempfile::tempdir().unwrap();
        written(&names).write(dir.path(), "m").unwrap();
        let read = Manifest::read(dir.path(), "m").unwrap().unwrap();
        for (ino, name) in (0..).zip(names) {
            assert_eq!(read.get(path_of(name)).unwrap(), Some(entry(ino)));
        }
        assert_eq!(read.get(Path::new("a/bb")).unwrap(), None);
        let below = read.below(Path::new("a")).unwrap();
        assert_eq!(below, [PathBuf::from("a/b"), PathBuf::from(OsStr::from_bytes(b"a/\xff\n"))]);
        assert_eq!(read.below(Path::new("")).unwrap().len(), 7);
        assert_eq!(read.below(Path::new("a/b")).unwrap().len(), 0);
    }

    #[test]
    fn a_missing_file_is_no_base_and_a_cut_one_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        assert!(Manifest::read(dir.path(), "m").unwrap().is_none());
        let names: Vec<String> = (0..200).map(|number| format!("d/{number}")).collect();
        let names: Vec<&[u8]> = names.iter().map(String::as_bytes).collect();
        let whole = written(&names).finish();
        for length in 0..whole.len() {
            std::fs::write(dir.path().join("m"), &whole[..length]).unwrap();
            assert!(Manifest::read(dir.path(), "m").is_err(), "{length}");
        }
    }

    #[test]
    fn a_damaged_record_is_an_error_and_not_an_absent_path() {
        let mut bytes = written(&[b"", b"a", b"b"]).finish();
        bytes[HEADER..HEADER + 4].copy_from_slice(&u32::MAX.to_le_bytes());
        let manifest = Manifest::of_bytes(bytes).unwrap();
        assert!(manifest.get(Path::new("a")).is_err());
        assert!(manifest.below(Path::new("")).is_err());
        assert!(manifest.entries().any(|entry| entry.is_err()));
    }

    proptest! {
        #[test]
        fn lookups_agree_with_a_plain_list(
            names in proptest::collection::btree_set("[ab.\\x01](/?[ab.\\x01]){0,5}", 0..300),
            asked in proptest::collection::vec("[ab.\\x01](/?[ab.\\x01]){0,5}", 1..40),
        ) {
            let names: Vec<&[u8]> = names.iter().map(String::as_bytes).collect();
            let bytes = written(&names).finish();
            let manifest = Manifest::of_bytes(bytes).unwrap();
            for path in asked.iter().map(Path::new).chain(names.iter().copied().map(path_of)) {
                let place = names.iter().position(|name| *name == bytes_of(path));
                prop_assert_eq!(manifest.get(path).unwrap(), place.map(|ino| entry(ino as u64)));
                let expected: BTreeSet<&Path> =
                    names.iter().copied().filter(|name| is_below(name, bytes_of(path))).map(path_of).collect();
                let below = manifest.below(path).unwrap();
                prop_assert_eq!(below.iter().map(PathBuf::as_path).collect::<BTreeSet<_>>(), expected);
            }
            let all: Vec<PathBuf> = manifest.entries().map(|entry| entry.unwrap().0).collect();
            prop_assert!(all.is_sorted_by(|a, b| path_order(bytes_of(a), bytes_of(b)) == Ordering::Less));
            prop_assert_eq!(all.len(), names.len());
        }
    }
}
