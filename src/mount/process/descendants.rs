//! Ends what a process has started, where there is no PID namespace that would: its children, and theirs, which become its own
//! when their parents end. Whoever calls must be a subreaper.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rustix::process::WaitOptions;

/// The processes that this one is the parent of.
pub(super) fn children() -> Vec<i32> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| parent_of(*pid) == Some(own)).collect()
}

/// Kills children until there are none but these. One by one, and each is waited for: the others are somebody else's to wait for.
pub(super) fn kill_all_but(spared: &[i32]) {
    loop {
        let doomed: Vec<i32> = children().into_iter().filter(|pid| !spared.contains(pid)).collect();
        if doomed.is_empty() {
            return;
        }
        for pid in doomed {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            let pid = rustix::process::Pid::from_raw(pid);
            while matches!(rustix::process::waitpid(pid, WaitOptions::empty()), Err(rustix::io::Errno::INTR))
            {
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
