//! Ends everything that a process has started, where no PID namespace does it: its children, and their children, which are
//! reparented to it when their parents end. The caller must be a subreaper.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rustix::process::WaitOptions;
use std::time::{Duration, Instant};

/// How long what was killed may take to go.
const PATIENCE: Duration = Duration::from_secs(5);

/// Runs what starts processes, and ends those that are left of them, wherever they have moved. `None` if some do not go.
pub fn none_left<T>(run: impl FnOnce() -> T) -> std::io::Result<Option<T>> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let others = children();
    let result = run();
    Ok(kill_all_but(&others, PATIENCE).then_some(result))
}

/// The direct children of this process.
fn children() -> Vec<i32> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| parent_of(*pid) == Some(own)).collect()
}

/// Kills all children except these and reaps each; the excepted ones are reaped by somebody else. False if some are still
/// there after this time.
pub(super) fn kill_all_but(spared: &[i32], patience: Duration) -> bool {
    let deadline = Instant::now() + patience;
    loop {
        let doomed: Vec<i32> = children().into_iter().filter(|pid| !spared.contains(pid)).collect();
        if doomed.is_empty() {
            return true;
        }
        for &pid in &doomed {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
        for pid in doomed.into_iter().map(rustix::process::Pid::from_raw) {
            loop {
                match rustix::process::waitpid(pid, WaitOptions::NOHANG) {
                    Ok(None) if Instant::now() >= deadline => return false,
                    Ok(None) => std::thread::sleep(Duration::from_millis(1)),
                    Err(rustix::io::Errno::INTR) => {}
                    Ok(Some(_)) | Err(_) => break,
                }
            }
        }
    }
}

/// The fourth field of `/proc/<pid>/stat`; the second is a name in parentheses that may hold anything.
fn parent_of(pid: i32) -> Option<i32> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let after_name = &stat[stat.iter().rposition(|&byte| byte == b')')? + 1..];
    let mut fields = std::str::from_utf8(after_name).ok()?.split_ascii_whitespace();
    fields.nth(1)?.parse().ok()
}
