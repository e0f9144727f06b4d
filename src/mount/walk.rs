//! Walks a directory tree on all cores, reading names and types only. What an entry means is the visitor's business.

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, openat, statat};
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex};

/// What lies at a path, as far as a walk cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Dir,
    File,
    Symlink,
    /// A socket, fifo or device.
    Special,
}

/// What to do after an entry; for anything but a directory it makes no difference.
pub enum Step<S> {
    Skip,
    /// Go below, with this as the state of the directory.
    Descend(S),
}

/// Sees the entries that one thread reads. Paths are relative to the root of the walk.
pub trait Visitor: Send {
    /// What is known of a directory, handed to its entries.
    type State: Send + Sync;
    fn entry(&mut self, parent: &Self::State, path: &Path, kind: Kind) -> Step<Self::State>;
    /// A directory that cannot be read. The walk goes on.
    fn unreadable(&mut self, path: &Path, error: io::Error);
}

/// How many threads a walk or a copy is worth.
pub fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(16)
}

/// Walks everything below `root`, which may not be a symlink, one thread a visitor; gives the visitors back.
/// The order of entries is any, but a directory is always seen before what is in it.
pub fn walk<V: Visitor>(root: &Path, start: V::State, visitors: Vec<V>) -> io::Result<Vec<V>> {
    walk_below(root, vec![(PathBuf::new(), start)], visitors)
}

/// The same for some directories below `root`, given relative to it; so are the paths that the visitors see.
pub fn walk_below<V: Visitor>(
    root: &Path,
    dirs: Vec<(PathBuf, V::State)>,
    visitors: Vec<V>,
) -> io::Result<Vec<V>> {
    let root = open_dir(CWD, root)?;
    let queue = Queue { state: Mutex::new(Pending { dirs, busy: 0 }), changed: Condvar::new() };
    std::thread::scope(|scope| {
        let workers: Vec<_> =
            visitors.into_iter().map(|visitor| scope.spawn(|| work(&root, &queue, visitor))).collect();
        Ok(workers.into_iter().map(|worker| worker.join().expect("a visitor does not panic")).collect())
    })
}

struct Queue<S> {
    state: Mutex<Pending<S>>,
    changed: Condvar,
}

struct Pending<S> {
    dirs: Vec<(PathBuf, S)>,
    /// Directories that are being read; the walk is over when there are none and none wait.
    busy: usize,
}

impl<S> Queue<S> {
    fn take(&self) -> Option<(PathBuf, S)> {
        let mut pending = self.state.lock().expect("no thread panics with the lock");
        loop {
            if let Some(dir) = pending.dirs.pop() {
                pending.busy += 1;
                return Some(dir);
            }
            if pending.busy == 0 {
                return None;
            }
            pending = self.changed.wait(pending).expect("no thread panics with the lock");
        }
    }

    fn done(&self, found: &mut Vec<(PathBuf, S)>) {
        let mut pending = self.state.lock().expect("no thread panics with the lock");
        pending.dirs.append(found);
        pending.busy -= 1;
        self.changed.notify_all();
    }
}

fn work<V: Visitor>(root: &OwnedFd, queue: &Queue<V::State>, mut visitor: V) -> V {
    let mut buffer = Vec::with_capacity(64 * 1024);
    let mut found = Vec::new();
    while let Some((dir, state)) = queue.take() {
        if let Err(error) = read_dir(root, &dir, &state, &mut visitor, &mut buffer, &mut found) {
            visitor.unreadable(&dir, error);
        }
        queue.done(&mut found);
    }
    visitor
}

fn read_dir<V: Visitor>(
    root: &OwnedFd,
    dir: &Path,
    state: &V::State,
    visitor: &mut V,
    buffer: &mut Vec<u8>,
    found: &mut Vec<(PathBuf, V::State)>,
) -> io::Result<()> {
    let opened;
    let fd = if dir.as_os_str().is_empty() {
        opened = open_dir(root, Path::new("."))?;
        &opened
    } else {
        opened = open_dir(root, dir)?;
        &opened
    };
    let mut path = dir.to_path_buf();
    let mut entries = RawDir::new(fd, buffer.spare_capacity_mut());
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let mut file_type = entry.file_type();
        if file_type == FileType::Unknown {
            let stat = statat(fd, name, AtFlags::SYMLINK_NOFOLLOW)?;
            file_type = FileType::from_raw_mode(stat.st_mode);
        }
        let kind = match file_type {
            FileType::Directory => Kind::Dir,
            FileType::RegularFile => Kind::File,
            FileType::Symlink => Kind::Symlink,
            _ => Kind::Special,
        };
        path.push(OsStr::from_bytes(name.to_bytes()));
        if let Step::Descend(state) = visitor.entry(state, &path, kind)
            && kind == Kind::Dir
        {
            found.push((path.clone(), state));
        }
        path.pop();
    }
    Ok(())
}

fn open_dir(at: impl AsFd, path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(at, path, flags, Mode::empty())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt;

    struct Names(Vec<PathBuf>, Vec<PathBuf>);

    impl Visitor for Names {
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
            let visitors = (0..threads).map(|_| Names(Vec::new(), Vec::new())).collect();
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
        assert!(walk(&dir.path().join("link"), 0, vec![Names(Vec::new(), Vec::new())]).is_err());
    }
}
