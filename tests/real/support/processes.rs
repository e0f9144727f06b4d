//! The processes of one scratch world, found by a mark in their environment wherever they have gone.
//! Tools run in sessions of their own and daemons outlive their parents: neither group nor parent finds them all.

use std::path::Path;
use std::time::{Duration, Instant};

/// The variable that marks them; its value is the world's root. Not one of ours, which a launcher may take away.
pub const MARK: &str = "SCRATCH_WORLD";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    pub id: i32,
    pub command: String,
}

/// Those that are alive, in no order.
pub fn of_world(root: &Path) -> Vec<Process> {
    let mark = format!("{MARK}={}", root.display());
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let Ok(id) = entry.file_name().to_string_lossy().parse() else { continue };
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        if environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes()) {
            let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let command = String::from_utf8_lossy(&command).replace('\0', " ").trim().to_owned();
            found.push(Process { id, command });
        }
    }
    found
}

/// Waits for the last of them to go; returns those that stayed.
pub fn that_stay(root: &Path, patience: Duration) -> Vec<Process> {
    let end = Instant::now() + patience;
    loop {
        let alive = of_world(root);
        if alive.is_empty() || Instant::now() > end {
            return alive;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Ends them all, and those that they start meanwhile.
pub fn end_all(root: &Path) {
    for _ in 0..50 {
        let alive = of_world(root);
        if alive.is_empty() {
            return;
        }
        for process in alive {
            let id = nix::unistd::Pid::from_raw(process.id);
            let _ = nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGKILL);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
