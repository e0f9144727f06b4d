//! Makes the kernel's own files in `/proc` and `/sys` read-only for root: a name written to `core_pattern` is a program that runs
//! outside. An ordinary user may write none of them but control groups, and any cover would forbid a nested
//! `/proc`.

use super::binds::{hold, make_mount_read_only, put};
use crate::mount::process::mount_table;
use rustix::mount::{MountFlags, mount_remount};
use std::io;
use std::path::Path;

/// Below `/proc`: what changes the machine, not a process.
const READ_ONLY: [&str; 7] = ["acpi", "bus", "fs", "irq", "scsi", "sys", "sysrq-trigger"];

/// In the fresh `/proc`, while there is a capability to mount.
pub(super) fn make_read_only() -> io::Result<()> {
    for name in READ_ONLY {
        let path = Path::new("/proc").join(name);
        match hold(&path) {
            Ok(tree) => put(&tree, &path)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        }
        let kept = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        mount_remount(&path, MountFlags::BIND | MountFlags::RDONLY | kept, "")?;
    }
    Ok(())
}

/// Control groups, wherever they are mounted: a process that may write them leaves the one that limits it.
pub(super) fn make_control_groups_read_only() -> io::Result<()> {
    let table = mount_table::parse(&std::fs::read("/proc/self/mountinfo")?);
    for mounted in table.iter().filter(|mounted| mounted.kind.starts_with("cgroup")) {
        make_mount_read_only(mounted)?;
    }
    Ok(())
}

/// `/sys` and what is mounted there (control groups, too: a frozen process cannot be ended).
pub(super) fn make_sys_read_only() -> io::Result<()> {
    let table = mount_table::parse(&std::fs::read("/proc/self/mountinfo")?);
    for mounted in table.iter().filter(|mounted| mounted.path.starts_with("/sys")) {
        make_mount_read_only(mounted)?;
    }
    Ok(())
}
