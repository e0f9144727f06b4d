//! What must not be there any more when all runs are over: processes, mounts, locks, temporary files.

use super::world::World;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Whatever of this world still lives, after a moment for the kernel.
pub fn processes(world: &World) -> Vec<String> {
    for _ in 0..250 {
        let left = living(world);
        if left.is_empty() {
            return left;
        }
        std::thread::sleep(Duration::from_millis(40));
    }
    living(world)
}

fn living(world: &World) -> Vec<String> {
    let mark = format!("HOME={}", world.path("home").display());
    let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let mut left = Vec::new();
    for pid in pids {
        let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        if environ.split(|byte| *byte == 0).any(|pair| pair == mark.as_bytes()) {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            left.push(format!(
                "process {pid} is left: {}",
                String::from_utf8_lossy(&line).replace('\0', " ")
            ));
        }
    }
    left
}

/// In our own mount namespace; those of the runs are gone with their processes.
pub fn mounts(world: &World) -> Vec<String> {
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let dir = world.dir().display().to_string();
    table.lines().filter(|line| line.contains(&dir)).map(|line| format!("a mount is left: {line}")).collect()
}

/// Lock files that somebody still holds; more lock files than projects.
pub fn locks(world: &World, projects: usize) -> Vec<String> {
    let mut left = Vec::new();
    let of_projects = below(&world.workforce().join("locks"));
    if of_projects.len() > projects {
        left.push(format!("{} locks for {projects} projects", of_projects.len()));
    }
    let sessions = fs::read_dir(world.workforce().join("sessions")).into_iter().flatten().flatten();
    for path in of_projects.into_iter().chain(sessions.map(|entry| entry.path().join("lock"))) {
        if let Ok(file) = File::open(&path)
            && matches!(file.try_lock(), Err(TryLockError::WouldBlock))
        {
            left.push(format!("{} is held", path.display()));
        }
    }
    for project in 0..projects {
        for name in below(&world.project(project).join(".git")) {
            if name.extension().is_some_and(|extension| extension == "lock") {
                left.push(format!("git's lock is left: {}", name.display()));
            }
        }
    }
    left
}

/// The temp directory is empty, and the projects have no file that no run was to make.
pub fn files(world: &World, projects: usize) -> Vec<String> {
    let mut left: Vec<String> =
        below(&world.path("tmp")).iter().map(|path| format!("{} is left", path.display())).collect();
    for project in 0..projects {
        let root = world.project(project);
        for path in below(&root) {
            let relative = path.strip_prefix(&root).expect("it is below");
            let first =
                relative.components().next().map(|part| part.as_os_str().to_string_lossy().into_owned());
            let known = ["shared", "runs", "own", "gone", ".env", ".git"];
            if !first.is_some_and(|first| known.contains(&first.as_str())) || is_ours(relative) {
                left.push(format!("{} is left in the project", path.display()));
            }
        }
    }
    left
}

/// A name that only the runner gives.
fn is_ours(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str().to_string_lossy().starts_with(".agentworkforce"))
}

fn below(dir: &Path) -> Vec<PathBuf> {
    let (mut found, mut pending) = (Vec::new(), vec![dir.to_owned()]);
    while let Some(dir) = pending.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
                pending.push(path.clone());
            }
            found.push(path);
        }
    }
    found
}
