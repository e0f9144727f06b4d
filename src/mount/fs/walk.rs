//! Walks a directory tree on all cores, reading only names and types. The visitor decides what an entry means.

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, openat, statat};
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

/// How deep a walk goes. Tools cannot even name deeper paths, and an agent could create any number of levels.
pub const DEEPEST: usize = 256;

/// How many waiting directories keep their parent open. The others are opened again from the root, step by step.
pub(crate) const MOST_HELD: usize = 200;

/// What is at a path, as far as a walk needs to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Dir,
    File,
    Symlink,
    /// A socket, fifo or device.
    Special,
}

/// What to do after an entry; only matters for directories.
pub enum Step<S> {
    Skip,
    /// Descend, with this state for the directory.
    Descend(S),
}

/// Visits the entries that one thread reads. Paths are relative to the root of the walk.
pub trait Visitor: Send {
    /// What is known of a directory, handed to its entries.
    type State: Send + Sync;
    fn entry(&mut self, parent: &Self::State, path: &Path, kind: Kind) -> Step<Self::State>;
    /// A directory that cannot be read. The walk goes on.
    fn unreadable(&mut self, path: &Path, error: io::Error);
}

/// How many threads a walk or a copy should use.
pub fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(16)
}

/// Walks everything below `root`, which must not be a symlink, with one thread per visitor; returns the visitors.
/// Entries come in any order, but a directory always comes before its content.
pub fn walk<V: Visitor>(root: &Path, start: V::State, visitors: Vec<V>) -> io::Result<Vec<V>> {
    walk_below(root, vec![(PathBuf::new(), start)], visitors)
}

/// The same for some directories below `root`. These and the paths that visitors see are relative to `root`.
pub fn walk_below<V: Visitor>(
    root: &Path,
    dirs: Vec<(PathBuf, V::State)>,
    visitors: Vec<V>,
) -> io::Result<Vec<V>> {
    let root = open_dir(CWD, root)?;
    let buffer = || Vec::with_capacity(BUFFER);
    let readers = visitors.into_iter().map(|visitor| Names { visitor, buffer: buffer() }).collect();
    Ok(share(root, dirs, readers).into_iter().map(|names| names.visitor).collect())
}

/// Room for the names of all but huge directories.
pub(crate) const BUFFER: usize = 64 * 1024;

/// Reads the directories that one thread takes from the shared list.
pub(crate) trait Reader: Send {
    /// What is known of a directory before it is read.
    type State: Send;
    /// Adds the subdirectories that must be read as well to `found`.
    fn read(
        &mut self,
        dir: &OwnedFd,
        path: &Path,
        state: &Self::State,
        found: &mut Vec<(PathBuf, Self::State)>,
    );
    /// A directory that cannot be opened, or is no longer a directory.
    fn closed(&mut self, path: &Path, error: io::Error);
}

/// Reads directories below `root`, and those found in them, with one thread per reader; returns the readers.
pub(crate) fn share<R: Reader>(root: OwnedFd, dirs: Vec<(PathBuf, R::State)>, mut readers: Vec<R>) -> Vec<R> {
    let open = Arc::new(AtomicUsize::new(0));
    let root = Arc::new(HeldDir::new(root, &open));
    let start = |(path, state): (PathBuf, R::State)| Waiting {
        parent: Arc::clone(&root),
        name: NameIn::Root,
        depth: path.components().count(),
        path,
        state,
    };
    let pending = Pending { dirs: dirs.into_iter().map(start).collect(), busy: 0, idle: 0 };
    let queue = Queue { state: Mutex::new(pending), changed: Condvar::new(), root: Arc::clone(&root), open };
    std::thread::scope(|scope| {
        let own = readers.pop();
        let others: Vec<_> = readers.into_iter().map(|reader| scope.spawn(|| work(&queue, reader))).collect();
        let own = own.map(|reader| work(&queue, reader));
        let others = others.into_iter().map(|worker| worker.join().expect("a reader does not panic"));
        others.chain(own).collect()
    })
}

struct Queue<S> {
    state: Mutex<Pending<S>>,
    changed: Condvar,
    root: Arc<HeldDir>,
    /// Directories that are held open.
    open: Arc<AtomicUsize>,
}

/// A directory with waiting subdirectories, counted while it is open.
struct HeldDir {
    fd: OwnedFd,
    open: Arc<AtomicUsize>,
}

impl HeldDir {
    fn new(fd: OwnedFd, open: &Arc<AtomicUsize>) -> HeldDir {
        open.fetch_add(1, Ordering::Relaxed);
        HeldDir { fd, open: Arc::clone(open) }
    }
}

impl Drop for HeldDir {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

struct Pending<S> {
    dirs: Vec<Waiting<S>>,
    /// How many directories are being read; the walk is over when there are none, and none are waiting.
    busy: usize,
    /// How many threads are idle: a wake-up is only worth a system call if there are any.
    idle: usize,
}

struct Waiting<S> {
    /// Held open, so that only the last component can turn into a symlink meanwhile.
    parent: Arc<HeldDir>,
    name: NameIn,
    path: PathBuf,
    depth: usize,
    state: S,
}

enum NameIn {
    /// The whole path has to be opened, from the root.
    Root,
    /// The last part of the path.
    Parent,
}

impl<S> Queue<S> {
    fn take(&self) -> Option<Waiting<S>> {
        let mut pending = self.state.lock().expect("no thread panics with the lock");
        loop {
            if let Some(dir) = pending.dirs.pop() {
                pending.busy += 1;
                return Some(dir);
            }
            if pending.busy == 0 {
                return None;
            }
            pending.idle += 1;
            pending = self.changed.wait(pending).expect("no thread panics with the lock");
            pending.idle -= 1;
        }
    }

    fn done(&self, found: impl Iterator<Item = Waiting<S>>) {
        let mut pending = self.state.lock().expect("no thread panics with the lock");
        pending.dirs.extend(found);
        pending.busy -= 1;
        if pending.idle > 0 && (!pending.dirs.is_empty() || pending.busy == 0) {
            self.changed.notify_all();
        }
    }
}

fn work<R: Reader>(queue: &Queue<R::State>, mut reader: R) -> R {
    let mut found = Vec::new();
    while let Some(Waiting { parent, name, path, depth, state }) = queue.take() {
        let opened = if depth > DEEPEST {
            Err(io::Error::other("too many directories in each other"))
        } else {
            match name {
                NameIn::Root => open_below(&parent.fd, &path),
                NameIn::Parent => open_dir(&parent.fd, Path::new(path.file_name().unwrap_or_default())),
            }
        };
        drop(parent);
        match opened {
            Err(error) => {
                reader.closed(&path, error);
                queue.done(std::iter::empty());
            }
            Ok(dir) => {
                reader.read(&dir, &path, &state, &mut found);
                let is_held = queue.open.load(Ordering::Relaxed) < MOST_HELD;
                let parent =
                    if is_held { Arc::new(HeldDir::new(dir, &queue.open)) } else { Arc::clone(&queue.root) };
                let waiting = |(path, state)| {
                    let parent = Arc::clone(&parent);
                    let name = if is_held { NameIn::Parent } else { NameIn::Root };
                    Waiting { parent, name, path, depth: depth + 1, state }
                };
                queue.done(found.drain(..).map(waiting));
            }
        }
    }
    reader
}

/// Passes the entries of a directory to a visitor.
struct Names<V> {
    visitor: V,
    buffer: Vec<u8>,
}

impl<V: Visitor> Reader for Names<V> {
    type State = V::State;

    fn read(&mut self, dir: &OwnedFd, path: &Path, state: &V::State, found: &mut Vec<(PathBuf, V::State)>) {
        if let Err(error) = self.names(dir, path, state, found) {
            self.visitor.unreadable(path, error);
        }
    }

    fn closed(&mut self, path: &Path, error: io::Error) {
        self.visitor.unreadable(path, error);
    }
}

impl<V: Visitor> Names<V> {
    fn names(
        &mut self,
        dir: &OwnedFd,
        path: &Path,
        state: &V::State,
        found: &mut Vec<(PathBuf, V::State)>,
    ) -> io::Result<()> {
        let mut child = PathIn::new(path);
        let mut entries = RawDir::new(dir, self.buffer.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let mut file_type = entry.file_type();
            if file_type == FileType::Unknown {
                let stat = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
                file_type = FileType::from_raw_mode(stat.st_mode);
            }
            let kind = match file_type {
                FileType::Directory => Kind::Dir,
                FileType::RegularFile => Kind::File,
                FileType::Symlink => Kind::Symlink,
                _ => Kind::Special,
            };
            let path = child.named(name.to_bytes());
            if let Step::Descend(state) = self.visitor.entry(state, path, kind)
                && kind == Kind::Dir
            {
                found.push((path.to_path_buf(), state));
            }
        }
        Ok(())
    }
}

/// The paths of a directory's entries, one at a time in the same buffer.
pub(crate) struct PathIn {
    bytes: Vec<u8>,
    directory: usize,
}

impl PathIn {
    pub(crate) fn new(directory: &Path) -> PathIn {
        let mut bytes = directory.as_os_str().as_bytes().to_vec();
        if !bytes.is_empty() {
            bytes.push(b'/');
        }
        PathIn { directory: bytes.len(), bytes }
    }

    pub(crate) fn named(&mut self, name: &[u8]) -> &Path {
        self.bytes.truncate(self.directory);
        self.bytes.extend_from_slice(name);
        Path::new(OsStr::from_bytes(&self.bytes))
    }
}

/// Opens a directory step by step, so that no component is a symlink and the path may have any length.
pub(crate) fn open_below(root: &OwnedFd, path: &Path) -> io::Result<OwnedFd> {
    let mut dir = open_dir(root, Path::new("."))?;
    for part in path.components() {
        dir = open_dir(&dir, Path::new(part.as_os_str()))?;
    }
    Ok(dir)
}

pub(crate) fn open_dir(at: impl AsFd, path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(at, path, flags, Mode::empty())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt;

    struct Seen(Vec<PathBuf>, Vec<PathBuf>);

    impl Visitor for Seen {
        type State = usize;
        fn entry(&mut self, depth: &usize, path: &Path, kind: Kind) -> Step<usize> {
            assert_eq!(path.components().count(), depth + 1);
            self.0.push(path.to_path_buf());
            if kind == Kind::Dir && path.ends_with("skipped") { Step::Skip } else { Step::Descend(depth + 1) }
        }
        fn unreadable(&mut self, path: &Path, _: io::Error) {
            self.1.push(path.to_path_buf());
        }
    }

    #[test]
    fn every_entry_is_seen_once_and_links_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let mut expected = Vec::new();
        for outer in 0..30 {
            std::fs::create_dir_all(dir.path().join(format!("d{outer}/e"))).unwrap();
            expected.push(PathBuf::from(format!("d{outer}")));
            expected.push(PathBuf::from(format!("d{outer}/e")));
            for inner in 0..20 {
                let name = PathBuf::from(format!("d{outer}/e/f{inner}"));
                std::fs::write(dir.path().join(&name), "").unwrap();
                expected.push(name);
            }
        }
        let odd = PathBuf::from(std::ffi::OsString::from_vec(b"odd\xff".to_vec()));
        std::fs::write(dir.path().join(&odd), "").unwrap();
        std::os::unix::fs::symlink("d1", dir.path().join("link")).unwrap();
        std::fs::create_dir_all(dir.path().join("skipped/below")).unwrap();
        expected.extend([odd, "link".into(), "skipped".into()]);
        expected.sort();
        for threads in [1, 4] {
            let visitors = (0..threads).map(|_| Seen(Vec::new(), Vec::new())).collect();
            let visitors = walk(dir.path(), 0, visitors).unwrap();
            let mut seen: Vec<PathBuf> = visitors.into_iter().flat_map(|names| names.0).collect();
            seen.sort();
            assert_eq!(seen, expected);
        }
    }

    #[test]
    fn a_root_that_is_a_symlink_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/", dir.path().join("link")).unwrap();
        assert!(walk(&dir.path().join("link"), 0, vec![Seen(Vec::new(), Vec::new())]).is_err());
    }
}
