//! A separate control group (cgroup v2) for the processes inside, so that the kernel enforces limits of processes and memory. It is
//! available only if our own group is delegated to us, which is up to whoever started us; this module mounts nothing.

use super::mount_table::{self, Mounted};
use crate::model::limits::{LimitObstacles, Limits, bytes_of_mb};
use rustix::fs::{Access, access};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const PROCESSES: &str = "pids";
const MEMORY: &str = "memory";

/// Where the runner moves while its former group delegates limits: only a group without processes can do that.
const SUPERVISOR: &str = "agentworkforce-supervisor";

/// Init is our own process and does not count towards the run's limit.
const OUR_OWN: u64 = 1;

/// How long the last processes may take to leave a group after they ended.
const PATIENCE: Duration = Duration::from_millis(500);

/// The group that this process is in, as a directory of the cgroup2 filesystem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnGroup {
    dir: PathBuf,
    pid: u32,
}

/// A group for one run, removed with this value.
#[derive(Debug)]
pub struct ControlGroup {
    dir: PathBuf,
    /// What was changed in the parent group to make room for it.
    handed_on: Option<HandedOn>,
}

/// Which limits were reached in a group so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Exhausted {
    /// How many times a process or thread could not be started.
    pub processes: u64,
    /// How many processes were killed because memory ran out.
    pub memory: u64,
}

impl Exhausted {
    /// What was reached since that snapshot.
    #[must_use]
    pub fn since(self, before: Exhausted) -> Exhausted {
        Exhausted {
            processes: self.processes.saturating_sub(before.processes),
            memory: self.memory.saturating_sub(before.memory),
        }
    }
}

/// Why limits cannot be enforced here.
pub fn limit_obstacles() -> LimitObstacles {
    match OwnGroup::of_this_process() {
        Ok(own) => LimitObstacles { processes: own.obstacle(PROCESSES), memory: own.obstacle(MEMORY) },
        Err(reason) => LimitObstacles { processes: Some(reason.clone()), memory: Some(reason) },
    }
}

impl OwnGroup {
    pub fn of_this_process() -> Result<OwnGroup, String> {
        let read = |path: &str| fs::read(path).map_err(|error| format!("`{path}` cannot be read: {error}"));
        let membership = read("/proc/self/cgroup")?;
        let table = mount_table::parse(&read("/proc/self/mountinfo")?);
        OwnGroup::find(&String::from_utf8_lossy(&membership), &table, std::process::id())
    }

    /// Parses `/proc/self/cgroup` and the mount table, for the process with this id.
    fn find(membership: &str, table: &[Mounted], pid: u32) -> Result<OwnGroup, String> {
        let path = membership.lines().find_map(|line| line.strip_prefix("0::")).ok_or(NO_VERSION_2)?;
        let inside = |mounted: &Mounted| {
            let below = Path::new(path).strip_prefix(&mounted.root).ok()?;
            // Joining an empty path would add a slash.
            Some(mounted.path.join(below).components().collect::<PathBuf>())
        };
        let mounted = table.iter().filter(|mounted| mounted.kind == "cgroup2");
        let dir = mounted.filter_map(inside).next_back().ok_or(NO_VERSION_2)?;
        Ok(OwnGroup { dir, pid })
    }

    /// Why a controller cannot be used for a group below this one.
    fn obstacle(&self, controller: &str) -> Option<String> {
        if !self.has(AVAILABLE, controller) {
            return Some(format!("no delegated cgroup v2 with the `{controller}` controller"));
        }
        let can_write = |path: &Path, more: Access| access(path, Access::WRITE_OK | more).is_ok();
        let file = |name: &str| can_write(&self.dir.join(name), Access::empty());
        if !can_write(&self.dir, Access::EXEC_OK) || !file(PROCS) {
            return Some("the control group that this process is in is not delegated to it".to_owned());
        }
        if self.has(HANDED_ON, controller) {
            return None;
        }
        if !file(HANDED_ON) {
            return Some("the control group that this process is in is not delegated to it".to_owned());
        }
        if self.is_ours_alone() || self.is_top() {
            return None;
        }
        Some("the control group that this process is in has other processes, too".to_owned())
    }

    /// Whether this file of the group, a list of controllers, contains the controller.
    fn has(&self, file: &str, controller: &str) -> bool {
        let text = fs::read_to_string(self.dir.join(file)).unwrap_or_default();
        text.split_whitespace().any(|name| name == controller)
    }

    fn is_ours_alone(&self) -> bool {
        let text = fs::read_to_string(self.dir.join(PROCS)).unwrap_or_default();
        text.split_whitespace().eq([self.pid.to_string()])
    }

    /// The root of the hierarchy may contain processes and delegate limits at the same time.
    fn is_top(&self) -> bool {
        !self.dir.join("cgroup.type").exists()
    }

    /// Makes a group with these limits.
    pub fn limited(&self, name: &str, limits: Limits) -> io::Result<ControlGroup> {
        let wanted = [(PROCESSES, limits.processes.is_some()), (MEMORY, limits.memory_mb.is_some())];
        let missing = wanted.iter().filter(|(name, is_set)| *is_set && !self.has(HANDED_ON, name));
        let missing: Vec<&'static str> = missing.map(|(name, _)| *name).collect();
        let handed_on = if missing.is_empty() { None } else { Some(HandedOn::begin(self.clone(), missing)?) };
        let dir = self.dir.join(name);
        // Left behind by a runner of the same session that was killed.
        let _ = fs::remove_dir(&dir);
        match fs::create_dir(&dir) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(at(&dir, &error)),
            _ => {}
        }
        let group = ControlGroup { dir, handed_on };
        group.set(limits)?;
        Ok(group)
    }
}

const NO_VERSION_2: &str = "there is no cgroup v2 here";

/// Files that every group has.
const PROCS: &str = "cgroup.procs";
const AVAILABLE: &str = "cgroup.controllers";
const HANDED_ON: &str = "cgroup.subtree_control";

impl ControlGroup {
    fn set(&self, limits: Limits) -> io::Result<()> {
        let text = |limit: Option<u64>| limit.map_or("max".to_owned(), |limit| limit.to_string());
        let processes = limits.processes.map(|limit| limit.saturating_add(OUR_OWN));
        self.write("pids.max", &text(processes), limits.processes.is_some())?;
        self.write("memory.max", &text(limits.memory_mb.map(bytes_of_mb)), limits.memory_mb.is_some())?;
        if limits.memory_mb.is_some() {
            // Not every kernel has these. Without them, swap is not limited, and the kernel may kill one process and spare the others.
            self.write("memory.swap.max", "0", false)?;
            self.write("memory.oom.group", "1", false)?;
        }
        Ok(())
    }

    fn write(&self, name: &str, value: &str, is_needed: bool) -> io::Result<()> {
        match write_to(&self.dir.join(name), value) {
            Err(error) if !is_needed && error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    /// A process that writes `0` to it joins the group.
    pub fn entrance(&self) -> io::Result<File> {
        let path = self.dir.join(PROCS);
        File::options().write(true).open(&path).map_err(|error| at(&path, &error))
    }

    pub fn exhausted(&self) -> Exhausted {
        let count = |file: &str, name: &str| {
            let text = fs::read_to_string(self.dir.join(file)).unwrap_or_default();
            let value = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
            value.unwrap_or(0)
        };
        Exhausted { processes: count("pids.events", "max "), memory: count("memory.events", "oom_kill ") }
    }

    /// Kills everything in it, if the kernel supports that (5.14).
    pub fn kill(&self) {
        let _ = write_to(&self.dir.join("cgroup.kill"), "1");
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        remove(&self.dir);
        if let Some(handed_on) = self.handed_on.take() {
            handed_on.end();
        }
    }
}

/// The runner has moved from its group to a child group, so that the group can delegate controllers.
#[derive(Debug)]
struct HandedOn {
    own: OwnGroup,
    controllers: Vec<&'static str>,
}

impl HandedOn {
    fn begin(own: OwnGroup, controllers: Vec<&'static str>) -> io::Result<HandedOn> {
        let handed_on = HandedOn { own, controllers };
        let begun = handed_on.leave().and_then(|()| handed_on.hand_on('+'));
        if let Err(error) = begun {
            handed_on.end();
            return Err(error);
        }
        Ok(handed_on)
    }

    fn leave(&self) -> io::Result<()> {
        if self.own.is_top() {
            return Ok(());
        }
        let supervisor = self.supervisor();
        match fs::create_dir(&supervisor) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(at(&supervisor, &error));
            }
            _ => {}
        }
        write_to(&supervisor.join(PROCS), &self.own.pid.to_string())
    }

    fn hand_on(&self, sign: char) -> io::Result<()> {
        let text: Vec<String> = self.controllers.iter().map(|name| format!("{sign}{name}")).collect();
        write_to(&self.own.dir.join(HANDED_ON), &text.join(" "))
    }

    /// Undoes the move. If that fails, the runner stays in the child group, which does no harm.
    fn end(self) {
        let back = || {
            self.hand_on('-').and_then(|()| write_to(&self.own.dir.join(PROCS), &self.own.pid.to_string()))
        };
        if let Err(error) = back() {
            tracing::debug!(%error, "the control group is not as it was");
        }
        remove(&self.supervisor());
    }

    fn supervisor(&self) -> PathBuf {
        self.own.dir.join(SUPERVISOR)
    }
}

/// Never creates a file: the kernel makes them.
fn write_to(path: &Path, value: &str) -> io::Result<()> {
    let written =
        File::options().write(true).open(path).and_then(|mut file| file.write_all(value.as_bytes()));
    written.map_err(|error| at(path, &error))
}

fn remove(dir: &Path) {
    let deadline = Instant::now() + PATIENCE;
    while let Err(error) = fs::remove_dir(dir) {
        if error.kind() != io::ErrorKind::ResourceBusy || Instant::now() >= deadline {
            tracing::debug!(%error, group = %dir.display(), "the control group is left");
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("`{}`: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    const PID: u32 = 7;

    /// A directory of plain files that stands in for the kernel's.
    fn stand_in(files: &[(&str, &str)]) -> (tempfile::TempDir, OwnGroup) {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let own = OwnGroup { dir: dir.path().to_path_buf(), pid: PID };
        (dir, own)
    }

    const DELEGATED: [(&str, &str); 4] = [
        ("cgroup.controllers", "cpu memory pids\n"),
        ("cgroup.subtree_control", ""),
        ("cgroup.procs", "7\n"),
        ("cgroup.type", "domain\n"),
    ];

    #[test]
    fn the_own_group_is_found_through_the_mount_of_cgroup2() {
        let table = mount_table::parse(
            b"1 0 0:5 / /sys/fs/cgroup ro - tmpfs tmpfs ro\n\
            2 1 0:6 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
            3 1 0:7 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
        );
        let found = |membership: &str, table: &[Mounted]| {
            OwnGroup::find(membership, table, PID).map(|own| own.dir.display().to_string())
        };
        let text = "4:memory:/elsewhere\n0::/user.slice/a.scope\n";
        assert_eq!(found(text, &table).unwrap(), "/sys/fs/cgroup/unified/user.slice/a.scope");
        assert_eq!(found("0::/\n", &table).unwrap(), "/sys/fs/cgroup/unified");
        assert_eq!(found("4:memory:/elsewhere\n", &table).unwrap_err(), NO_VERSION_2);
        assert_eq!(found(text, &table[..2]).unwrap_err(), NO_VERSION_2);
        // A part of the hierarchy only.
        let part = mount_table::parse(b"3 1 0:7 /user.slice /groups rw - cgroup2 cgroup2 rw\n");
        assert_eq!(found(text, &part).unwrap(), "/groups/a.scope");
        assert_eq!(found("0::/system.slice\n", &part).unwrap_err(), NO_VERSION_2);
    }

    #[test]
    fn a_controller_is_usable_where_the_group_is_delegated_and_ours_alone() {
        let (dir, own) = stand_in(&DELEGATED);
        assert_eq!((own.obstacle(MEMORY), own.obstacle(PROCESSES)), (None, None));
        let reason = |own: &OwnGroup| own.obstacle(MEMORY).unwrap();
        fs::write(dir.path().join(PROCS), "7\n8\n").unwrap();
        assert!(reason(&own).contains("has other processes"));
        // Nothing has to change if somebody has already done it.
        fs::write(dir.path().join(HANDED_ON), "memory\n").unwrap();
        assert_eq!(own.obstacle(MEMORY), None);
        assert!(own.obstacle(PROCESSES).unwrap().contains("has other processes"));
        fs::write(dir.path().join(AVAILABLE), "cpu pids memory.extra\n").unwrap();
        assert_eq!(reason(&own), "no delegated cgroup v2 with the `memory` controller");
        fs::remove_file(dir.path().join("cgroup.type")).unwrap();
        assert_eq!(own.obstacle(PROCESSES), None);
        fs::remove_file(dir.path().join(PROCS)).unwrap();
        assert!(own.obstacle(PROCESSES).unwrap().contains("is not delegated"));
    }

    fn text(dir: &Path, name: &str) -> String {
        fs::read_to_string(dir.join(name)).unwrap()
    }

    #[test]
    fn the_runner_makes_room_and_the_group_has_its_limits() {
        let leaf = ["pids.max", "memory.max", "memory.swap.max", "memory.oom.group"];
        let leaf = leaf.map(|name| (format!("run/{name}"), ""));
        let leaf: Vec<(&str, &str)> = leaf.iter().map(|(name, text)| (name.as_str(), *text)).collect();
        let supervisor = format!("{SUPERVISOR}/{PROCS}");
        let (dir, own) = stand_in(&[&DELEGATED[..], &leaf, &[(&supervisor, "")]].concat());
        let limits = Limits { processes: Some(20), memory_mb: Some(512), ..Limits::default() };
        let group = own.limited("run", limits).unwrap();
        assert_eq!(text(dir.path(), HANDED_ON), "+pids +memory");
        assert_eq!(text(dir.path(), &supervisor), "7");
        let run = dir.path().join("run");
        let set =
            ["pids.max", "memory.max", "memory.swap.max", "memory.oom.group"].map(|name| text(&run, name));
        assert_eq!(set, ["21", "536870912", "0", "1"]);
        drop(group);
        assert!(text(dir.path(), HANDED_ON).starts_with("-pids -memory"));
        assert_eq!(text(dir.path(), PROCS).trim(), "7");
    }

    #[test]
    fn a_limit_that_cannot_be_set_is_an_error_and_everything_is_put_back() {
        let supervisor = format!("{SUPERVISOR}/{PROCS}");
        let (dir, own) = stand_in(&[&DELEGATED[..], &[(&supervisor, "")]].concat());
        let limits = Limits { memory_mb: Some(512), ..Limits::default() };
        let error = own.limited("run", limits).unwrap_err().to_string();
        assert!(error.contains("memory.max"), "{error}");
        assert!(!dir.path().join("run").exists());
        assert!(text(dir.path(), HANDED_ON).starts_with("-memory"));
    }

    #[test]
    fn what_was_reached_is_counted_from_the_start_of_a_command() {
        let (dir, _) = stand_in(&[
            ("memory.events", "low 0\nhigh 0\nmax 9\noom 3\noom_kill 2\noom_group_kill 1\n"),
            ("pids.events", "max 5\n"),
        ]);
        let group = ControlGroup { dir: dir.path().to_path_buf(), handed_on: None };
        let now = group.exhausted();
        assert_eq!(now, Exhausted { processes: 5, memory: 2 });
        let before = Exhausted { processes: 5, memory: 1 };
        assert_eq!(now.since(before), Exhausted { processes: 0, memory: 1 });
        std::mem::forget(group);
    }
}
