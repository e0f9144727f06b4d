//! The base: what every visible path of a tree was at launch, in one file that is asked without being parsed.
//! It holds no content, and says nothing about what happened since.

use crate::model::mount_record::Instant;
use crate::mount::stat::{Kind, Stat};
use crate::mount::tree::{self, Tree};
use crate::plan::rules::{Decision, PathRules};
use anyhow::{Context, bail};
use std::cmp::Ordering;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The project at launch, in the session directory.
pub const MANIFEST_FILE: &str = "manifest";
/// Copy backend: the copied tree as it was when the harness started.
pub const MOUNT_MANIFEST_FILE: &str = "manifest.mount";

const MAGIC: &[u8; 8] = b"awfbase1";
const HEADER: usize = 8 + 8;
const RECORD: usize = 8 + 4 + 1 + 3 + 8 + 8 + 4 + 8 + 4 + 8;

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

/// A written manifest, in memory as the bytes of its file: records in the order of their paths, then the paths.
#[derive(Debug, Clone, Default)]
pub struct Manifest {
    bytes: Vec<u8>,
    count: usize,
}

/// Collects the entries of a manifest in any order.
#[derive(Debug, Default)]
pub struct ManifestBuilder {
    entries: Vec<(PathBuf, Entry)>,
}

impl ManifestBuilder {
    pub fn push(&mut self, path: PathBuf, entry: Entry) {
        self.entries.push((path, entry));
    }

    pub fn build(mut self) -> Manifest {
        self.entries.sort_unstable_by(|(a, _), (b, _)| path_order(bytes_of(a), bytes_of(b)));
        self.entries.dedup_by(|(a, _), (b, _)| a == b);
        let count = self.entries.len();
        let names: usize = self.entries.iter().map(|(path, _)| bytes_of(path).len()).sum();
        let mut bytes = Vec::with_capacity(HEADER + count * RECORD + names);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&(count as u64).to_le_bytes());
        let mut offset = HEADER + count * RECORD;
        for (path, entry) in &self.entries {
            let name = bytes_of(path);
            bytes.extend_from_slice(&(offset as u64).to_le_bytes());
            // Paths are at most 4096 bytes for the kernel.
            bytes.extend_from_slice(&u32::try_from(name.len()).unwrap_or(u32::MAX).to_le_bytes());
            bytes.push(kind_code(entry.kind));
            bytes.extend_from_slice(&entry.mode.to_le_bytes()[..3]);
            bytes.extend_from_slice(&entry.size.to_le_bytes());
            for time in [entry.mtime, entry.ctime] {
                bytes.extend_from_slice(&time.seconds.to_le_bytes());
                bytes.extend_from_slice(&time.nanos.to_le_bytes());
            }
            bytes.extend_from_slice(&entry.ino.to_le_bytes());
            offset += name.len();
        }
        for (path, _) in &self.entries {
            bytes.extend_from_slice(bytes_of(path));
        }
        Manifest { bytes, count }
    }
}

impl Manifest {
    /// Walks a tree. Hidden paths are left out, and so is what lies inside a `.git`, which is never compared.
    pub fn take(tree: &Tree, rules: &PathRules) -> anyhow::Result<Manifest> {
        let mut builder = ManifestBuilder::default();
        walk(tree.fd(), Path::new(""), &Decision::ROOT, rules, &mut builder)
            .with_context(|| format!("cannot read {}", tree.path().display()))?;
        Ok(builder.build())
    }

    /// Writes the file so that a crash leaves either none or all of it.
    pub fn write(&self, directory: &Path, name: &str) -> anyhow::Result<()> {
        let target = directory.join(name);
        let temporary = directory.join(format!("{name}.new"));
        let write = || -> std::io::Result<()> {
            let mut file = File::create(&temporary)?;
            file.write_all(&self.bytes)?;
            file.sync_all()?;
            std::fs::rename(&temporary, &target)?;
            File::open(directory)?.sync_all()
        };
        write().with_context(|| format!("cannot write {}", target.display()))
    }

    /// `None` when there is no such file: the runner died before the base was taken.
    pub fn read(directory: &Path, name: &str) -> anyhow::Result<Option<Manifest>> {
        let path = directory.join(name);
        let mut bytes = Vec::new();
        match File::open(&path) {
            Ok(mut file) => file.read_to_end(&mut bytes)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
        };
        Manifest::from_bytes(bytes).with_context(|| format!("{} is damaged", path.display())).map(Some)
    }

    fn from_bytes(bytes: Vec<u8>) -> anyhow::Result<Manifest> {
        if bytes.len() < HEADER || &bytes[..8] != MAGIC {
            bail!("it does not start as a manifest does");
        }
        let count = usize::try_from(number(&bytes, 8))?;
        let records = count.checked_mul(RECORD).and_then(|size| size.checked_add(HEADER));
        if records.is_none_or(|end| end > bytes.len()) {
            bail!("it is shorter than it says");
        }
        let manifest = Manifest { bytes, count };
        // The last path ends where the file ends, so a file that was cut is noticed without reading it all.
        let ends_well = count.checked_sub(1).is_none_or(|last| {
            let (offset, length) = manifest.span(last);
            offset.checked_add(length) == Some(manifest.bytes.len())
        });
        if !ends_well {
            bail!("it does not end where it should");
        }
        Ok(manifest)
    }

    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn get(&self, path: &Path) -> Option<Entry> {
        self.find(bytes_of(path)).ok().map(|index| self.entry(index))
    }

    /// Everything below a directory, in path order, without the directory.
    pub fn below<'a>(&'a self, directory: &Path) -> impl Iterator<Item = (&'a Path, Entry)> + use<'a> {
        let prefix = bytes_of(directory).to_vec();
        let start = match self.find(&prefix) {
            Ok(index) => index + 1,
            Err(index) => index,
        };
        (start..self.count)
            .take_while(move |&index| is_below(self.name(index), &prefix))
            .map(|index| (Path::new(OsStr::from_bytes(self.name(index))), self.entry(index)))
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Path, Entry)> {
        (0..self.count).map(|index| (Path::new(OsStr::from_bytes(self.name(index))), self.entry(index)))
    }

    pub fn index_of(&self, path: &Path) -> Option<usize> {
        self.find(bytes_of(path)).ok()
    }

    fn find(&self, name: &[u8]) -> Result<usize, usize> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = usize::midpoint(low, high);
            match path_order(self.name(middle), name) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return Ok(middle),
            }
        }
        Err(low)
    }

    fn span(&self, index: usize) -> (usize, usize) {
        let at = HEADER + index * RECORD;
        let length = u32::from_le_bytes(array(&self.bytes, at + 8));
        (usize::try_from(number(&self.bytes, at)).unwrap_or(usize::MAX), length as usize)
    }

    fn name(&self, index: usize) -> &[u8] {
        let (offset, length) = self.span(index);
        offset.checked_add(length).and_then(|end| self.bytes.get(offset..end)).unwrap_or_default()
    }

    pub fn entry(&self, index: usize) -> Entry {
        let at = HEADER + index * RECORD + 12;
        let bytes = &self.bytes;
        let time = |at: usize| Instant {
            seconds: i64::from_le_bytes(array(bytes, at)),
            nanos: u32::from_le_bytes(array(bytes, at + 8)),
        };
        Entry {
            kind: kind_of(bytes[at]),
            mode: u32::from_le_bytes([bytes[at + 1], bytes[at + 2], bytes[at + 3], 0]),
            size: number(bytes, at + 4),
            mtime: time(at + 12),
            ctime: time(at + 24),
            ino: number(bytes, at + 36),
        }
    }
}

fn walk(
    dir: BorrowedFd<'_>,
    path: &Path,
    decision: &Decision,
    rules: &PathRules,
    builder: &mut ManifestBuilder,
) -> std::io::Result<()> {
    let names = tree::list(dir)?;
    // After the listing: a ctime that is still older than the launch then vouches for what the listing does not have.
    builder.push(path.to_owned(), Entry::from(&Stat::from(&rustix::fs::fstat(dir)?)));
    for name in names {
        let child = path.join(&name);
        let Some(stat) = tree::stat_at(dir, &name)? else { continue };
        let is_dir = stat.kind == Kind::Dir;
        let below = rules.decide_child(decision, &child, is_dir);
        if below.is_hidden() {
            continue;
        }
        if !is_dir || name == ".git" {
            builder.push(child, Entry::from(&stat));
            continue;
        }
        let flags = rustix::fs::OFlags::RDONLY
            | rustix::fs::OFlags::DIRECTORY
            | rustix::fs::OFlags::NOFOLLOW
            | rustix::fs::OFlags::CLOEXEC;
        match rustix::fs::openat(dir, &name, flags, rustix::fs::Mode::empty()) {
            Ok(inner) => walk(inner.as_fd(), &child, &below, rules, builder)?,
            // Gone or replaced since the listing, or closed to us: known as far as the stat says.
            Err(_) => builder.push(child, Entry::from(&stat)),
        }
    }
    Ok(())
}

/// Order by components: a directory comes right before everything below it.
fn path_order(a: &[u8], b: &[u8]) -> Ordering {
    let key = |byte: &u8| if *byte == b'/' { 0 } else { *byte };
    a.iter().map(key).cmp(b.iter().map(key))
}

fn is_below(name: &[u8], directory: &[u8]) -> bool {
    if directory.is_empty() {
        return !name.is_empty();
    }
    name.len() > directory.len() && name.starts_with(directory) && name[directory.len()] == b'/'
}

fn bytes_of(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
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

    fn entry(ino: u64) -> Entry {
        let time = Instant { seconds: -3, nanos: 999_999_999 };
        Entry { kind: Kind::File, mode: 0o4755, size: u64::MAX, mtime: time, ctime: time, ino }
    }

    fn manifest(names: &[&[u8]]) -> Manifest {
        let mut builder = ManifestBuilder::default();
        for (ino, name) in (0..).zip(names) {
            builder.push(OsStr::from_bytes(name).into(), entry(ino));
        }
        builder.build()
    }

    #[test]
    fn every_name_is_found_again_with_all_it_says() {
        let names: [&[u8]; 8] = [b"", b"a", b"a/b", b"a.b", b"a\x01", b"a/\xff\n", b"b", b"\x7f/x"];
        let dir = tempfile::tempdir().unwrap();
        manifest(&names).write(dir.path(), "m").unwrap();
        let read = Manifest::read(dir.path(), "m").unwrap().unwrap();
        for (ino, name) in (0..).zip(names) {
            assert_eq!(read.get(Path::new(OsStr::from_bytes(name))), Some(entry(ino)));
        }
        assert_eq!(read.get(Path::new("a/bb")), None);
        let below: Vec<_> = read.below(Path::new("a")).map(|(path, _)| path.to_owned()).collect();
        assert_eq!(below, [PathBuf::from("a/b"), PathBuf::from(OsStr::from_bytes(b"a/\xff\n"))]);
        assert_eq!(read.below(Path::new("")).count(), 7);
        assert_eq!(read.below(Path::new("a/b")).count(), 0);
    }

    #[test]
    fn a_missing_file_is_no_base_and_a_cut_one_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        assert!(Manifest::read(dir.path(), "m").unwrap().is_none());
        let whole = manifest(&[b"", b"a", b"b"]).bytes;
        for length in 0..whole.len() {
            assert!(Manifest::from_bytes(whole[..length].to_vec()).is_err(), "{length}");
        }
    }

    #[test]
    fn the_walk_leaves_out_hidden_paths_and_the_inside_of_git() {
        let dir = tempfile::tempdir().unwrap();
        for path in ["src/deep", ".git/objects", "secret/x"] {
            std::fs::create_dir_all(dir.path().join(path)).unwrap();
        }
        for path in ["src/deep/a", ".git/HEAD", "secret/x/y", ".env"] {
            std::fs::write(dir.path().join(path), "x").unwrap();
        }
        let mut rules = crate::plan::rules::builtin_secret_rules();
        rules.push(crate::model::mount::PathRule {
            pattern: "secret/".into(),
            effect: crate::model::mount::Effect::Hidden,
            source: crate::model::mount::RuleSource::ProjectFile,
            origin: String::new(),
        });
        let rules = PathRules::compile(&rules).unwrap();
        let manifest = Manifest::take(&Tree::open(dir.path()).unwrap(), &rules).unwrap();
        let paths: Vec<_> = manifest.iter().map(|(path, _)| path.to_owned()).collect();
        assert_eq!(paths, ["", ".git", "src", "src/deep", "src/deep/a"].map(PathBuf::from));
    }
}
