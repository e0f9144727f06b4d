//! Finds the named pipes that processes outside have open or are waiting for: the kernel has no list of them. This must run before
//! the namespaces are entered, because processes outside cannot be inspected from inside. It changes nothing.

use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, statx};
use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Time limit of the search, and how many descriptors it examines.
const LONGEST: Duration = Duration::from_millis(50);
const MOST_DESCRIPTORS: usize = 50_000;
/// How much of a command line is read.
const MOST_WORDS: usize = 64;
const LONGEST_LINE: u64 = 16 * 1024;

/// The pipes of the processes that we may inspect: those of this user, or of all users for root.
pub(super) fn in_use() -> BTreeSet<PathBuf> {
    let until = Instant::now() + LONGEST;
    let mut found = BTreeSet::new();
    let mut seen: HashSet<PathBuf> = HashSet::new();
    let mut left = MOST_DESCRIPTORS;
    let is_process = |name: &OsStr| name.as_bytes().iter().all(u8::is_ascii_digit);
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        if !is_process(&process.file_name()) || Instant::now() > until {
            continue;
        }
        let process = process.path();
        let Ok(descriptors) = fs::read_dir(process.join("fd")) else { continue };
        for descriptor in descriptors.flatten().map(|entry| entry.path()) {
            let Some(rest) = left.checked_sub(1) else { return found };
            left = rest;
            // An entry without a name starts with its kind: `pipe:[7]`.
            if let Ok(name) = fs::read_link(&descriptor)
                && name.is_absolute()
                && seen.insert(name.clone())
                && is_pipe(&descriptor)
            {
                found.insert(name);
            }
        }
        // A process that waits for the other end has no descriptor yet. Most often its command line names the pipe.
        let Ok(directory) = fs::read_link(process.join("cwd")) else { continue };
        for word in
            command_line(&process).split(|&byte| byte == 0).filter(|word| !word.is_empty()).take(MOST_WORDS)
        {
            let path = directory.join(OsStr::from_bytes(word));
            if seen.insert(path.clone()) && is_pipe(&path) {
                found.insert(path);
            }
        }
    }
    found
}

fn command_line(process: &Path) -> Vec<u8> {
    let mut line = Vec::new();
    let read = fs::File::open(process.join("cmdline"));
    let _ = read.and_then(|file| file.take(LONGEST_LINE).read_to_end(&mut line));
    line
}

/// Does not query a network server, which may not answer.
fn is_pipe(path: &Path) -> bool {
    let flags = AtFlags::STATX_DONT_SYNC | AtFlags::NO_AUTOMOUNT;
    statx(CWD, path, flags, StatxFlags::TYPE)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.stx_mode.into()) == FileType::Fifo)
}
