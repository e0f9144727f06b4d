//! What a session keeps of a harness's output: the log, of which only the beginning and the end are kept, and the events.
//! Writing them never stops a run; the file itself says when something is missing.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

pub const LOG_FILE: &str = "harness.log";
pub const EVENTS_FILE: &str = "events.jsonl";

const HEAD: usize = 1 << 20;
const TAIL: usize = 1 << 20;
const MOST_EVENTS: usize = 64 << 20;

/// A log of bounded size: the first megabyte as it comes, the last one at the end.
#[derive(Debug)]
pub struct CappedLog {
    file: Option<File>,
    head_left: usize,
    tail: VecDeque<u8>,
    dropped: u64,
}

impl CappedLog {
    pub fn create(path: &Path) -> io::Result<CappedLog> {
        Ok(CappedLog { file: Some(private(path)?), head_left: HEAD, tail: VecDeque::new(), dropped: 0 })
    }

    pub fn write(&mut self, bytes: &[u8]) {
        let (head, rest) = bytes.split_at(bytes.len().min(self.head_left));
        self.head_left -= head.len();
        self.put(head);
        // Of a piece that is larger than the tail only its end can stay.
        let skipped = rest.len().saturating_sub(TAIL);
        let rest = &rest[skipped..];
        let over = (self.tail.len() + rest.len()).saturating_sub(TAIL);
        self.tail.drain(..over);
        self.tail.extend(rest);
        self.dropped += (skipped + over) as u64;
    }

    pub fn finish(mut self) {
        if self.dropped > 0 {
            let note = format!("\n[{} bytes are left out here]\n", self.dropped);
            self.put(note.as_bytes());
        }
        let tail = std::mem::take(&mut self.tail);
        let (one, two) = tail.as_slices();
        self.put(one);
        self.put(two);
    }

    fn put(&mut self, bytes: &[u8]) {
        // A full disk costs the log, not the run.
        if self.file.as_mut().is_some_and(|file| file.write_all(bytes).is_err()) {
            self.file = None;
        }
    }
}

/// The events of a run, a line each, up to a limit.
#[derive(Debug)]
pub struct EventLog {
    file: Option<BufWriter<File>>,
    left: usize,
}

impl EventLog {
    /// Goes on where an earlier run of the session ended.
    pub fn append(path: &Path) -> io::Result<EventLog> {
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
        Ok(EventLog { file: Some(BufWriter::new(file)), left: MOST_EVENTS })
    }

    pub fn write(&mut self, line: &str) {
        let Some(file) = &mut self.file else { return };
        let last = line.len() + 1 > self.left;
        let result = if last {
            writeln!(file, "{{\"type\":\"raw\",\"value\":\"the rest of the events is left out\"}}")
        } else {
            self.left -= line.len() + 1;
            writeln!(file, "{line}")
        };
        if last || result.is_err() {
            self.finish();
        }
    }

    /// So that somebody who looks at a running session sees them.
    pub fn flush(&mut self) {
        if let Some(file) = &mut self.file {
            let _ = file.flush();
        }
    }

    fn finish(&mut self) {
        self.flush();
        self.file = None;
    }
}

fn private(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_log_keeps_its_beginning_and_its_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let mut log = CappedLog::create(&path).unwrap();
        log.write(b"first\n");
        for _ in 0..50 {
            log.write(&vec![b'.'; HEAD / 10]);
        }
        log.write(b"last\n");
        log.finish();
        let text = std::fs::read(&path).unwrap();
        assert!(text.starts_with(b"first\n") && text.ends_with(b"last\n"));
        assert!(
            text.len() < HEAD + TAIL + 100
                && String::from_utf8_lossy(&text).contains("bytes are left out here")
        );
    }

    #[test]
    fn a_short_log_is_kept_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let mut log = CappedLog::create(&path).unwrap();
        log.write(b"a");
        log.write(b"b");
        log.finish();
        assert_eq!(std::fs::read(&path).unwrap(), b"ab");
    }
}
