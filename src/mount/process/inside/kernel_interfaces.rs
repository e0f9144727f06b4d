//! Makes the kernel's own files in `/proc` read-only for root at the sandbox level `strict`: a name written to `core_pattern` is
//! a program that runs outside. An ordinary user may write none of them, and any cover would forbid a nested `/proc`.

use super::binds::{hold, put};
use rustix::mount::{MountFlags, mount_remount};
use std::io;
use std::path::Path;

/// Below `/proc`: what changes the machine, not a process. `/sys` is read-only as every other mount is.
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
