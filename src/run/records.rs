//! Finds out which conversation a run has from the harness's own records, while it runs and afterwards. An agent can write most of
//! them: an id is never more than a plain word.

use crate::files::regular;
use crate::harness::records::{Current, RecordedRun, Records};
use crate::harness::transcript::{Span, Transcripts};
use crate::model::mount::{CONFIG_DIR, CONVERSATION_DIR};
use serde_json::Value;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How often the records are looked at while a run lasts.
const PAUSE: Duration = Duration::from_millis(200);
/// How many entries of a directory are looked at.
const MOST: usize = 20_000;
/// How much of the records of one conversation is read.
const LARGEST: u64 = 256 << 20;
/// The largest note of what a run has used: it has what the user said first.
const LARGEST_NOTE: u64 = 16 << 20;

/// The records of a run.
#[derive(Debug, Clone, Copy)]
pub struct RunRecords<'a> {
    pub records: Records,
    pub session_dir: &'a Path,
    /// Where the user's harness has its state.
    pub state_dir: Option<&'a Path>,
}

/// What the records said during a run.
#[derive(Debug, Default)]
pub struct Seen {
    /// Whether there were any.
    pub is_recorded: bool,
    /// The conversations, the latest last.
    pub ids: Vec<String>,
}

impl Seen {
    /// Adds what the records say now; the latest id if it is another one.
    fn add(&mut self, now: Option<Vec<String>>, before: &[String]) -> Option<String> {
        self.is_recorded |= now.is_some();
        let last = self.ids.last().cloned();
        for id in now.into_iter().flatten().filter(|id| !before.contains(id)) {
            self.ids.retain(|known| *known != id);
            self.ids.push(id);
        }
        self.ids.last().filter(|id| Some(*id) != last.as_ref()).cloned()
    }
}

impl RunRecords<'_> {
    /// What an earlier attempt noted is not of this one.
    pub fn forget(&self) {
        let current = match self.records.current {
            Current::File(file) => Some(file),
            Current::Given | Current::Locks(_) => None,
        };
        for file in current.into_iter().chain(self.records.usage.map(|note| note.file)) {
            let _ = fs::remove_file(self.session_dir.join(file));
        }
    }

    /// Runs something and looks at the records meanwhile. `noted` hears of every new id at once.
    pub fn watch<T>(&self, noted: &(dyn Fn(&str) + Sync), run: impl FnOnce() -> T) -> (T, Seen) {
        let seen = Mutex::new(Seen::default());
        let (done, is_done) = channel::<()>();
        let ran = std::thread::scope(|scope| {
            let seen = &seen;
            scope.spawn(move || {
                let (mut before, mut is_over) = (Vec::new(), false);
                loop {
                    let now = self.now();
                    let new = seen.lock().expect("nobody panics with it").add(now.clone(), &before);
                    if let Some(id) = new {
                        noted(&id);
                    }
                    before = now.unwrap_or_default();
                    if is_over {
                        return;
                    }
                    // Then once more: the last word may have come since.
                    is_over = is_done.recv_timeout(PAUSE) != Err(RecvTimeoutError::Timeout);
                }
            });
            let ran = run();
            drop(done);
            ran
        });
        (ran, seen.into_inner().expect("nobody panicked with it"))
    }

    /// The ids that the records have now; `None` if there are no records.
    fn now(&self) -> Option<Vec<String>> {
        match self.records.current {
            Current::Given => None,
            Current::File(file) => {
                let text = regular::read(&self.session_dir.join(file), 1024).ok()?;
                let id = String::from_utf8(text).unwrap_or_default();
                Some(vec![id].into_iter().filter(|id| is_plain(id)).collect())
            }
            Current::Locks(dir) => {
                let entries = fs::read_dir(self.session_dir.join(dir)).ok()?;
                let names =
                    entries.take(MOST).flatten().filter_map(|entry| entry.file_name().into_string().ok());
                let ids = names.filter_map(|name| name.strip_suffix(".lock").map(str::to_owned));
                Some(ids.filter(|id| is_plain(id)).collect())
            }
        }
    }

    /// Whether there is a conversation with this id. Where each is not a file of its own, the id is believed.
    pub fn has(&self, id: &str) -> bool {
        self.records.files.is_none() || self.open(id).is_some()
    }

    /// The file of the conversation with this id, opened. What is in the session comes before what the user has.
    pub fn open(&self, id: &str) -> Option<(PathBuf, File)> {
        let files = self.records.files?;
        let kept = self.session_dir.join(CONVERSATION_DIR);
        let kept = fs::read_dir(kept).into_iter().flatten().flatten().map(|entry| entry.path());
        // Of a run in a private layer that is not over.
        let layers = fs::read_dir(self.session_dir.join(CONFIG_DIR)).into_iter().flatten().flatten();
        let layers = layers.map(|entry| entry.path().join("upper"));
        let own = files.in_session.map(|dir| self.session_dir.join(dir));
        let theirs = self.state_dir.map(|dir| dir.join(files.dir));
        // The agent could write to those: a link would lead to any file.
        let places = layers.chain(kept).chain(own).filter(|dir| is_dir(dir));
        let places = places.map(|dir| dir.join(files.dir)).filter(|dir| is_dir(dir));
        let mut dirs: Vec<PathBuf> = places.chain(theirs).collect();
        for _ in 0..files.depth {
            let below =
                |dir: &PathBuf| fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
            dirs = dirs.iter().flat_map(below).take(MOST).filter(|path| is_dir(path)).collect();
        }
        let is_named = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.and_then(|name| name.strip_suffix(".jsonl")).is_some_and(|stem| stem.ends_with(id))
        };
        let entries = dirs.iter().flat_map(|dir| fs::read_dir(dir).into_iter().flatten().flatten());
        let paths = entries.map(|entry| entry.path()).filter(is_named);
        let mut opened = paths.filter_map(|path| regular::open_no_link(&path).ok().map(|file| (path, file)));
        opened.find_map(|(path, mut file)| (!is_of_helper(&mut file)).then_some((path, file)))
    }

    /// What the records say about a run in a terminal that had this conversation.
    pub fn read(&self, id: Option<&str>, transcripts: Transcripts, span: Span) -> RecordedRun {
        if let Some(note) = self.records.usage {
            let value = regular::read(&self.session_dir.join(note.file), LARGEST_NOTE).ok();
            let value = value.and_then(|text| serde_json::from_slice(&text).ok());
            return value.map(|value| (note.read)(&value)).unwrap_or_default();
        }
        let mut run = RecordedRun::default();
        let (Transcripts::Lines(reader), Some(id)) = (transcripts, id.filter(|id| is_plain(id))) else {
            return run;
        };
        let Some((_, file)) = self.open(id) else { return run };
        let (mut reader, mut lines) = (reader(), BufReader::new(file.take(LARGEST)));
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            for recorded in span.events(&String::from_utf8_lossy(&line), reader.as_mut()) {
                run.add(recorded.event);
            }
            line.clear();
        }
        run.model = reader.model().map(str::to_owned);
        run
    }
}

/// Whether an id is one that a harness gives: it becomes an argument, and must not be taken for an option.
pub(super) fn is_plain(id: &str) -> bool {
    const LONGEST: usize = 128;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    id.len() <= LONGEST && id.chars().all(is_plain) && id.starts_with(|c: char| c.is_ascii_alphanumeric())
}

/// Whether a path is a directory, and no link to one.
fn is_dir(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir())
}

/// Whether a conversation is one that the agent had with a helper of its own: codex says so in the first line.
fn is_of_helper(file: &mut File) -> bool {
    const LONGEST: u64 = 1 << 20;
    let mut line = String::new();
    let _ = BufReader::new((&*file).take(LONGEST)).read_line(&mut line);
    let _ = file.rewind();
    let first: Value = serde_json::from_str(&line).unwrap_or_default();
    first["payload"]["source"].is_object()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::records::ConversationFiles;

    #[test]
    fn the_conversation_of_a_run_is_found_in_its_records() {
        let dir = tempfile::tempdir().unwrap();
        let (locks, rollouts) = (dir.path().join("locks"), dir.path().join("home/sessions/2026/11/18"));
        fs::create_dir_all(&locks).unwrap();
        fs::create_dir_all(&rollouts).unwrap();
        let files = ConversationFiles { dir: "sessions", depth: 3, in_session: Some("home") };
        let records = Records {
            current: Current::Locks("locks"),
            files: Some(files),
            usage: None,
            keeps_directory: false,
        };
        let records = RunRecords { records, session_dir: dir.path(), state_dir: None };
        let heard = Mutex::new(Vec::new());
        let ((), seen) = records.watch(&|id| heard.lock().unwrap().push(id.to_owned()), || {
            for id in ["a1", "--evil", "b2"] {
                fs::write(locks.join(format!("{id}.lock")), "").unwrap();
                std::thread::sleep(PAUSE * 2);
                fs::remove_file(locks.join(format!("{id}.lock"))).unwrap();
            }
        });
        assert!(seen.is_recorded);
        assert_eq!(seen.ids, ["a1", "b2"]);
        assert_eq!(*heard.lock().unwrap(), ["a1", "b2"]);
        assert!(!records.has("a1"));
        fs::write(rollouts.join("rollout-x-a1.jsonl"), r#"{"payload":{"source":"cli"}}"#).unwrap();
        fs::write(rollouts.join("rollout-x-b2.jsonl"), r#"{"payload":{"source":{"subagent":1}}}"#).unwrap();
        assert!(records.has("a1") && !records.has("b2"));
        let read = |id| records.open(id).map(|(_, file)| std::io::read_to_string(file).unwrap());
        assert_eq!(read("a1").unwrap(), r#"{"payload":{"source":"cli"}}"#);
        // An agent's link leads nowhere, whatever is linked.
        fs::write(dir.path().join("other-c3.jsonl"), "{}").unwrap();
        std::os::unix::fs::symlink(dir.path().join("other-c3.jsonl"), rollouts.join("r-c3.jsonl")).unwrap();
        assert_eq!(read("c3"), None);
        fs::rename(&rollouts, dir.path().join("moved")).unwrap();
        std::os::unix::fs::symlink(dir.path().join("moved"), &rollouts).unwrap();
        assert_eq!(read("a1"), None);
    }
}
