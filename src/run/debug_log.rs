//! The diagnostics of a run: kept in memory until there is a session, then in its `debug.log`; a run that fails before the
//! harness starts leaves them in `logs/last-failure.log`. Bounded in size, and free of the values of secrets.

use crate::model::secrets::Secrets;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const SESSION_FILE: &str = "debug.log";
const FAILURE_FILE: &str = "logs/last-failure.log";
/// No log grows beyond this.
const LIMIT: usize = 4 << 20;

/// Where diagnostics go. Copies share one log.
#[derive(Clone, Default)]
pub struct DebugLog(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// What came before there was a file.
    early: Vec<u8>,
    file: Option<(PathBuf, File)>,
    written: usize,
    secrets: Option<Secrets>,
}

impl DebugLog {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on these values are left out.
    pub fn redact_with(&self, secrets: &Secrets) {
        let mut state = self.state();
        let early = String::from_utf8_lossy(&state.early).into_owned();
        state.early = secrets.redact(&early).into_bytes();
        state.secrets = Some(secrets.clone());
    }

    /// Writes to the session from now on, beginning with what is known already. Without a file the run goes on.
    pub fn write_to(&self, session_dir: &Path) {
        let path = session_dir.join(SESSION_FILE);
        let opened = OpenOptions::new().create(true).append(true).mode(0o600).open(&path);
        if let Ok(file) = opened {
            let mut state = self.state();
            state.written = file.metadata().map_or(0, |found| usize::try_from(found.len()).unwrap_or(LIMIT));
            state.file = Some((path, file));
            let early = state.early.clone();
            state.put(&early);
        }
    }

    pub fn path(&self) -> Option<PathBuf> {
        self.state().file.as_ref().map(|(path, _)| path.clone())
    }

    /// Keeps the diagnostics of a run that left no session, and says where.
    pub fn keep_failure(&self, home: &Path, error: &anyhow::Error) -> Option<PathBuf> {
        let mut state = self.state();
        let mut text = std::mem::take(&mut state.early);
        let line = format!("{error:#}\n");
        text.extend(state.redacted(line.as_bytes()));
        // The session that it went to is gone.
        state.file = None;
        let path = home.join(FAILURE_FILE);
        let write = || -> io::Result<()> {
            let dir = path.parent().unwrap_or(home);
            DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
            let mut file = tempfile::NamedTempFile::new_in(dir)?;
            file.write_all(&text)?;
            file.persist(&path)?;
            Ok(())
        };
        write().ok().map(|()| path)
    }
}

impl State {
    fn redacted(&self, bytes: &[u8]) -> Vec<u8> {
        match &self.secrets {
            Some(secrets) => secrets.redact(&String::from_utf8_lossy(bytes)).into_bytes(),
            None => bytes.to_vec(),
        }
    }

    fn put(&mut self, bytes: &[u8]) {
        let Some((_, file)) = &mut self.file else { return };
        if self.written + bytes.len() > LIMIT {
            let _ = file.write_all(b"[the rest is left out]\n");
            self.written = LIMIT;
            self.file = None;
        } else {
            // A full disk costs the log, not the run.
            let _ = file.write_all(bytes);
            self.written += bytes.len();
        }
    }
}

impl Write for DebugLog {
    /// One call is one line.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.state();
        let redacted = state.redacted(bytes);
        if state.early.len() + redacted.len() <= LIMIT {
            state.early.extend_from_slice(&redacted);
        }
        state.put(&redacted);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_came_early_is_in_the_session_without_values_of_secrets() {
        let dir = tempfile::tempdir().unwrap();
        let mut log = DebugLog::default();
        writeln!(log, "planned with hunter2-and-more").unwrap();
        log.redact_with(&Secrets::new([("TOKEN", "hunter2-and-more")]));
        log.write_to(dir.path());
        writeln!(log, "said hunter2-and-more again").unwrap();
        let text = fs::read_to_string(dir.path().join(SESSION_FILE)).unwrap();
        assert_eq!(text, "planned with [redacted:TOKEN]\nsaid [redacted:TOKEN] again\n");
    }

    #[test]
    fn a_log_stops_growing_and_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let mut log = DebugLog::default();
        log.write_to(dir.path());
        for _ in 0..10 {
            log.write_all(&vec![b'x'; LIMIT / 5]).unwrap();
        }
        let text = fs::read(dir.path().join(SESSION_FILE)).unwrap();
        assert!(text.len() <= LIMIT + 100 && text.ends_with(b"[the rest is left out]\n"));
    }

    #[test]
    fn a_failure_before_the_harness_is_kept_with_its_error() {
        let home = tempfile::tempdir().unwrap();
        let mut log = DebugLog::default();
        writeln!(log, "planned").unwrap();
        let path = log.keep_failure(home.path(), &anyhow::anyhow!("no harness")).unwrap();
        assert_eq!(fs::read_to_string(path).unwrap(), "planned\nno harness\n");
    }
}
