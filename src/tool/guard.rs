//! Ends a command whose output is read as it comes, when it takes too long. It does not start or read it.

use crate::host::interruption;
use anyhow::bail;
use rustix::process::{Pid, Signal, kill_process_group};
use std::process::Child;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// How often a waiting guard looks whether a signal came.
const POLL: Duration = Duration::from_millis(50);

/// Ends a command and all that it started when its time is over, or when a signal asks us to end. The command must be in a
/// process group of its own, and must not be waited for before the guard is gone.
pub struct Guard {
    group: Option<Pid>,
    shared: Arc<(Mutex<State>, Condvar)>,
    watcher: Option<std::thread::JoinHandle<()>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Running,
    Done,
    TimedOut,
    Stopped,
}

impl Guard {
    pub fn over(child: &Child, time: Duration) -> Guard {
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let shared = Arc::new((Mutex::new(State::Running), Condvar::new()));
        let theirs = Arc::clone(&shared);
        let watcher = std::thread::spawn(move || {
            let began = Instant::now();
            let (state, changed) = &*theirs;
            let Ok(mut now) = state.lock() else { return };
            while *now == State::Running {
                let verdict = if began.elapsed() >= time {
                    State::TimedOut
                } else if interruption::signal().is_some() {
                    State::Stopped
                } else {
                    let Ok((next, _)) = changed.wait_timeout(now, POLL) else { return };
                    now = next;
                    continue;
                };
                *now = verdict;
                kill(group);
            }
        });
        Guard { group, shared, watcher: Some(watcher) }
    }

    /// Ends the command now.
    pub fn end(&self) {
        kill(self.group);
    }

    /// An error if the command was ended before its time. The command has been waited for.
    pub fn verdict(mut self, time: Duration) -> anyhow::Result<()> {
        match self.finish() {
            State::TimedOut => bail!("it did not end within {} s", time.as_secs()),
            State::Stopped => bail!("stopped"),
            State::Running | State::Done => Ok(()),
        }
    }

    fn finish(&mut self) -> State {
        let (state, changed) = &*self.shared;
        let found = state.lock().map_or(State::Done, |mut now| {
            let found = *now;
            if found == State::Running {
                *now = State::Done;
            }
            found
        });
        changed.notify_all();
        if let Some(watcher) = self.watcher.take() {
            let _ = watcher.join();
        }
        found
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.finish();
    }
}

fn kill(group: Option<Pid>) {
    if let Some(group) = group {
        // Fails where nobody is left, which is what we want.
        let _ = kill_process_group(group, Signal::KILL);
    }
}
