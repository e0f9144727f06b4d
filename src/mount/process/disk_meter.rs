//! Measures how much a run has written to the private layers of its mount, in small steps, so that a huge tree never delays signals
//! or output. Deleted files that are still open have no name and are not counted.

use crate::mount::fs::walk::{DEEPEST, MOST_HELD, open_below, open_dir};
use rustix::fs::{AtFlags, CWD, Dir, FileType, statat};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Between two measurements.
const INTERVAL: Duration = Duration::from_secs(2);
/// How long one step of a measurement may take, and the pause after it.
const SLICE: Duration = Duration::from_millis(10);
const PAUSE: Duration = Duration::from_millis(40);

/// What an entry costs besides its blocks: empty files are not free, nor is the list of directories still to be read.
const OF_ENTRY: u64 = 512;

/// How many bytes a directory uses; `None` if measuring takes longer than the deadline. Directories that are too deep to be compared
/// or applied do not count: an agent could make any number, and reaching each takes longer than the one before.
pub fn disk_use(dir: &Path, deadline: Option<Instant>) -> Option<u64> {
    let mut measurement = Measurement { deepest: DEEPEST, ..Measurement::of(&[dir.to_owned()]) };
    while measurement.step() {
        if deadline.is_some_and(|deadline| Instant::now() > deadline) {
            return None;
        }
    }
    Some(measurement.bytes)
}

/// Tells when the layers have grown beyond their limit.
#[derive(Debug)]
pub(super) struct DiskMeter {
    layers: Vec<PathBuf>,
    /// In bytes.
    limit: u64,
    next: Instant,
    /// A measurement that is not finished.
    measurement: Option<Measurement>,
}

impl DiskMeter {
    pub(super) fn new(layers: Vec<PathBuf>, limit: u64) -> DiskMeter {
        DiskMeter { layers, limit, next: Instant::now() + INTERVAL, measurement: None }
    }

    /// When [`DiskMeter::is_over`] next has something to do.
    pub(super) fn next(&self) -> Instant {
        self.next
    }

    /// Continues a measurement if it is time to. True as soon as more than the limit was found.
    pub(super) fn is_over(&mut self) -> bool {
        let began = Instant::now();
        if began < self.next {
            return false;
        }
        let mut measurement = self.measurement.take().unwrap_or_else(|| Measurement::of(&self.layers));
        loop {
            if measurement.bytes > self.limit {
                return true;
            }
            if !measurement.step() {
                tracing::debug!(bytes = measurement.bytes, "disk use");
                self.next = Instant::now() + INTERVAL;
                return false;
            }
            if began.elapsed() >= SLICE {
                self.measurement = Some(measurement);
                self.next = Instant::now() + PAUSE;
                return false;
            }
        }
    }
}

#[derive(Debug)]
struct Measurement {
    /// Directories that are still to be read.
    waiting: Vec<Waiting>,
    reading: Option<Reading>,
    bytes: u64,
    /// Directories at this depth are not read.
    deepest: usize,
    /// Files with several names, which are counted once.
    linked: HashSet<(u64, u64)>,
    /// Shared by every directory that is held open, to count them.
    held: Rc<()>,
}

#[derive(Debug)]
struct Waiting {
    layer: Rc<Path>,
    path: PathBuf,
    depth: usize,
    /// The directory that it is in; else it is opened from the layer, step by step.
    parent: Option<Rc<Held>>,
}

#[derive(Debug)]
struct Held {
    fd: OwnedFd,
    _counted: Rc<()>,
}

#[derive(Debug)]
struct Reading {
    layer: Rc<Path>,
    path: PathBuf,
    depth: usize,
    dir: Rc<Held>,
    entries: Dir,
}

impl Measurement {
    fn of(layers: &[PathBuf]) -> Measurement {
        let layer = |layer: &PathBuf| Waiting {
            layer: Rc::from(&**layer),
            path: PathBuf::new(),
            depth: 0,
            parent: None,
        };
        let waiting = layers.iter().map(layer).collect();
        Measurement {
            waiting,
            reading: None,
            bytes: 0,
            deepest: usize::MAX,
            linked: HashSet::new(),
            held: Rc::default(),
        }
    }

    /// Examines one entry, or opens one directory. False when there is nothing left.
    fn step(&mut self) -> bool {
        let Some(mut reading) = self.reading.take() else {
            let Some(waiting) = self.waiting.pop() else { return false };
            // What cannot be read, or is already gone, is not counted.
            self.reading = self.open(waiting).ok();
            return true;
        };
        if let Some(Ok(entry)) = reading.entries.read() {
            let name = entry.file_name().to_bytes();
            if !matches!(name, b"." | b"..") {
                self.count(&reading, Path::new(OsStr::from_bytes(name)));
            }
            self.reading = Some(reading);
        }
        true
    }

    fn count(&mut self, reading: &Reading, name: &Path) {
        let Ok(stat) = statat(&reading.dir.fd, name, AtFlags::SYMLINK_NOFOLLOW) else { return };
        if FileType::from_raw_mode(stat.st_mode).is_dir() {
            let depth = reading.depth + 1;
            if depth < self.deepest {
                let parent = (Rc::strong_count(&self.held) <= MOST_HELD).then(|| Rc::clone(&reading.dir));
                let (layer, path) = (Rc::clone(&reading.layer), reading.path.join(name));
                self.waiting.push(Waiting { layer, path, depth, parent });
            }
        } else if stat.st_nlink > 1 && !self.linked.insert((stat.st_dev, stat.st_ino)) {
            return;
        }
        let blocks = u64::try_from(stat.st_blocks).unwrap_or(0);
        self.bytes = self.bytes.saturating_add(blocks.saturating_mul(512)).saturating_add(OF_ENTRY);
    }

    fn open(&self, waiting: Waiting) -> io::Result<Reading> {
        let Waiting { layer, path, depth, parent } = waiting;
        let fd = match (&parent, path.file_name()) {
            (Some(parent), Some(name)) => open_dir(&parent.fd, Path::new(name))?,
            _ => open_below(&open_dir(CWD, &layer)?, &path)?,
        };
        let entries = Dir::read_from(&fd)?;
        Ok(Reading {
            layer,
            path,
            depth,
            dir: Rc::new(Held { fd, _counted: Rc::clone(&self.held) }),
            entries,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn measured(layers: &[PathBuf]) -> u64 {
        let mut measurement = Measurement::of(layers);
        while measurement.step() {}
        measurement.bytes
    }

    fn now(layers: Vec<PathBuf>, limit: u64) -> DiskMeter {
        DiskMeter { next: Instant::now(), ..DiskMeter::new(layers, limit) }
    }

    #[test]
    fn blocks_are_counted_once_and_holes_are_not() {
        let dir = tempfile::tempdir().unwrap();
        let (one, two) = (dir.path().join("one"), dir.path().join("two"));
        fs::create_dir_all(one.join("a/b")).unwrap();
        fs::create_dir(&two).unwrap();
        let layers = [one.clone(), two.clone(), dir.path().join("missing")];
        let empty = measured(&layers);
        fs::write(one.join("a/b/file"), vec![1; 1 << 20]).unwrap();
        fs::write(two.join("file"), vec![1; 1 << 20]).unwrap();
        let full = measured(&layers);
        assert!((2 << 20..3 << 20).contains(&(full - empty)), "{full} {empty}");
        // Another name, a link, and a file that is all hole.
        fs::hard_link(two.join("file"), two.join("again")).unwrap();
        std::os::unix::fs::symlink(one.join("a/b/file"), two.join("link")).unwrap();
        fs::File::create(two.join("hole")).unwrap().set_len(1 << 40).unwrap();
        assert!(measured(&layers) - full < 1 << 16);
    }

    #[test]
    fn a_measurement_goes_on_where_it_stopped_and_ends_at_the_limit() {
        let dir = tempfile::tempdir().unwrap();
        for number in 0..20_000 {
            fs::write(dir.path().join(number.to_string()), "").unwrap();
        }
        let layers = vec![dir.path().to_path_buf()];
        let mut meter = now(layers.clone(), u64::MAX);
        let mut calls = 0;
        loop {
            let began = Instant::now();
            assert!(!meter.is_over());
            assert!(began.elapsed() < Duration::from_secs(1));
            calls += 1;
            if meter.measurement.is_none() {
                break;
            }
            meter.next = Instant::now();
        }
        assert!(calls > 1, "20,000 files were measured at once");
        assert!(meter.next() > Instant::now() + INTERVAL / 2);
        assert!(!meter.is_over(), "it is not time yet");
        // Empty files are not free.
        let mut meter = now(layers, OF_ENTRY * 10);
        assert!(meter.is_over());
    }

    #[test]
    fn what_is_deep_is_counted_whatever_is_beside_it() {
        const DEPTH: usize = 600;
        let dir = tempfile::tempdir().unwrap();
        let layer = dir.path().join("layer");
        fs::create_dir(&layer).unwrap();
        let mut below = open_dir(CWD, &layer).unwrap();
        for _ in 0..DEPTH {
            // Those beside it keep their parents open, more than there may be.
            for name in ["beside", "directory"] {
                rustix::fs::mkdirat(&below, name, rustix::fs::Mode::RWXU).unwrap();
            }
            below = open_dir(&below, Path::new("directory")).unwrap();
        }
        let flags = rustix::fs::OFlags::CREATE | rustix::fs::OFlags::WRONLY;
        let file = rustix::fs::openat(&below, "file", flags, rustix::fs::Mode::RWXU).unwrap();
        std::io::Write::write_all(&mut fs::File::from(file), &vec![1; 32 << 20]).unwrap();
        let found = measured(std::slice::from_ref(&layer));
        assert!(found > 32 << 20, "{found}");
        crate::mount::fs::cleanup::remove_tree(&layer).unwrap();
    }
}
