//! Makes the kernel's own files in `/proc` and `/sys` read-only for root: a program named in `core_pattern` runs outside. An ordinary
//! user can write none of them except control groups, and a cover would prevent a nested `/proc`. Other mounts of these filesystems are
//! covered, and device nodes work only in `/dev`.

use super::binds::{cover_file, hold, make_mount_read_only, mount_id, mount_memory, put, restrict};
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

/// Control groups, wherever they are mounted: a process that may write them could leave the one that limits it.
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

/// The kernel's filesystems, and the directory below which each is handled elsewhere.
const KERNELS: [(&str, &str); 15] = [
    ("proc", "/proc"),
    ("devpts", "/dev"),
    ("devtmpfs", "/dev"),
    ("bpf", "/sys"),
    ("cgroup", "/sys"),
    ("cgroup2", "/sys"),
    ("configfs", "/sys"),
    ("debugfs", "/sys"),
    ("efivarfs", "/sys"),
    ("pstore", "/sys"),
    ("securityfs", "/sys"),
    ("selinuxfs", "/sys"),
    ("sysfs", "/sys"),
    ("tracefs", "/sys"),
    ("binfmt_misc", "/proc"),
];

/// Covers those of a chroot or a container: their files are equivalent to those in `/proc`, `/sys` and `/dev`.
pub(super) fn cover_elsewhere() -> io::Result<()> {
    for mounted in mount_table::parse(&std::fs::read("/proc/self/mountinfo")?) {
        let usual = KERNELS.iter().find(|(kind, _)| *kind == mounted.kind);
        if usual.is_none_or(|(_, usual)| mounted.path.starts_with(usual)) {
            continue;
        }
        match mount_id(&mounted.path) {
            Ok(id) if id == mounted.id => {}
            // Another mount covers it.
            Ok(_) => continue,
            Err(error)
                if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) =>
            {
                continue;
            }
            Err(error) => return Err(error),
        }
        if mounted.path.is_dir() {
            mount_memory(&mounted.path, 0o555, MountFlags::RDONLY | MountFlags::NOEXEC)?;
        } else {
            cover_file(&mounted.path)?;
        }
    }
    Ok(())
}

/// From now on, device nodes outside `/dev` cannot be opened.
pub(super) fn deny_devices_elsewhere() -> io::Result<()> {
    let dev = Path::new("/dev");
    let held = hold(dev)?;
    restrict(Path::new("/"), MountFlags::NODEV)?;
    put(&held, dev)
}
