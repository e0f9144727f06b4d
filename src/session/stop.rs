//! Stops the run of a session: asks its runner to end, and waits for it. Only a process that holds the lock of the session, as the
//! runner that the session names, is ever sent a signal: the number alone could be that of any process by now.

use super::entry::SessionEntry;
use super::error::SessionError;
use super::status::SessionState;
use super::store::Session;
use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use schemars::JsonSchema;
use serde::Serialize;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What became of a session that was to be stopped.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stopped {
    pub session: String,
    /// Whether its runner has ended in time.
    pub stopped: bool,
    pub state: SessionState,
    /// How long it took.
    pub seconds: f64,
}

impl Session {
    /// Asks the runner to end and waits for so long. The runner keeps the work of the agent, as at every signal.
    pub fn stop(&self, patience: Duration) -> Result<Stopped> {
        let began = Instant::now();
        let runner = self.runner()?;
        match pidfd_send_signal(&runner, Signal::TERM) {
            // It has ended by itself.
            Ok(()) | Err(rustix::io::Errno::SRCH) => {}
            Err(error) => return Err(error).context("the runner cannot be told to end"),
        }
        let has_ended = wait_for_end(&runner, patience).context("the runner cannot be waited for")?;
        let is_live = if has_ended { self.is_live_after_a_moment()? } else { true };
        // A session in which nothing was done may be gone.
        let state = if self.exists() { self.entry()?.state } else { SessionState::Nothing };
        let seconds = (began.elapsed().as_secs_f64() * 1000.0).round() / 1000.0;
        Ok(Stopped { session: self.id.to_string(), stopped: has_ended && !is_live, state, seconds })
    }

    /// The runner, as something that cannot become another process.
    fn runner(&self) -> Result<OwnedFd> {
        let entry = self.entry()?;
        if !entry.live {
            return Err(SessionError::NotRunning { id: self.id.clone(), state: entry.state }.into());
        }
        let unknown = || SessionError::NoRunner { id: self.id.clone() };
        let pid = number(&entry).ok_or_else(unknown)?;
        let runner = pidfd_open(pid, PidfdFlags::empty()).map_err(|_| unknown())?;
        let lock =
            fs::metadata(self.lock_path()).with_context(|| format!("{}", self.lock_path().display()))?;
        let process = PathBuf::from(format!("/proc/{}", pid.as_raw_pid()));
        let is_runner = holds_lock(&process, pid, (lock.dev(), lock.ino()));
        // Had it ended since, what was looked at could have been another process.
        if !is_runner || wait_for_end(&runner, Duration::ZERO).unwrap_or(true) {
            return Err(unknown().into());
        }
        Ok(runner)
    }
}

fn number(entry: &SessionEntry) -> Option<Pid> {
    let pid = i32::try_from(entry.status.as_ref()?.pid).ok()?;
    Pid::from_raw(pid).filter(|_| pid > 1)
}

/// Whether a process has this file open with a lock that it took itself.
fn holds_lock(process: &Path, pid: Pid, file: (u64, u64)) -> bool {
    let pid = pid.as_raw_pid().to_string();
    fs::read_dir(process.join("fd")).into_iter().flatten().flatten().any(|entry| {
        let is_file = fs::metadata(entry.path()).is_ok_and(|found| (found.dev(), found.ino()) == file);
        let info = process.join("fdinfo").join(entry.file_name());
        is_file && fs::read_to_string(info).is_ok_and(|info| info.lines().any(|line| is_lock_of(line, &pid)))
    })
}

/// `lock: 1: FLOCK ADVISORY WRITE <pid> 00:2f:1234 0 EOF`
fn is_lock_of(line: &str, pid: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    words.first() == Some(&"lock:") && words.contains(&"FLOCK") && words.get(5) == Some(&pid)
}

/// Whether it has ended in this time.
fn wait_for_end(process: &OwnedFd, patience: Duration) -> rustix::io::Result<bool> {
    let began = Instant::now();
    loop {
        let left = patience.saturating_sub(began.elapsed());
        let timeout = Timespec::try_from(left).unwrap_or(Timespec { tv_sec: i64::MAX, tv_nsec: 0 });
        match poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&timeout)) {
            Ok(0) if left.is_zero() => return Ok(false),
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => return Ok(true),
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Host;
    use crate::session::SessionStore;
    use std::collections::BTreeMap;
    use std::process::{Child, Command};

    struct Ended(Child);

    impl Drop for Ended {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    /// A session that is held by this process and says that its runner is another.
    #[test]
    fn a_process_that_only_has_the_number_of_the_runner_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let host = Host {
            env: BTreeMap::new(),
            cwd: "/".into(),
            stdin_is_terminal: false,
            stderr_is_terminal: false,
        };
        let store = SessionStore::new(dir.path());
        let held = store.create(&host, "worker", Path::new("/p")).unwrap();
        let mut other = Ended(Command::new("sleep").arg("600").spawn().unwrap());
        let mut status = held.status().unwrap().unwrap();
        for pid in [other.0.id(), 0, 1, u32::MAX] {
            status.pid = pid;
            held.write_status(&status).unwrap();
            let session = store.find(held.id.as_str()).unwrap();
            let error = session.stop(Duration::ZERO).unwrap_err();
            assert!(matches!(error.downcast_ref(), Some(SessionError::NoRunner { .. })), "{pid}: {error:#}");
        }
        assert_eq!(other.0.try_wait().unwrap(), None);
        // The one that holds it is known by its lock.
        let lock = fs::metadata(held.lock_path()).unwrap();
        let own = Pid::from_raw(i32::try_from(std::process::id()).unwrap()).unwrap();
        assert!(holds_lock(Path::new("/proc/self"), own, (lock.dev(), lock.ino())));
        assert!(!holds_lock(Path::new("/proc/self"), Pid::from_raw(2).unwrap(), (lock.dev(), lock.ino())));
    }
}
