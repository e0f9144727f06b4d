//! The small steps of mounting that all of the helper's work is made of: hold what is at a path, put it somewhere, cover it.
//! What is held, put and covered is decided elsewhere.

use rustix::fs::{CWD, StatVfsMountFlags, statvfs};
use rustix::mount::{MountFlags, MoveMountFlags, OpenTreeFlags, mount, move_mount, open_tree};
use std::ffi::CString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

/// A private handle on what is at a path now, whatever is mounted over it later.
pub(super) fn hold(path: &Path) -> io::Result<OwnedFd> {
    let flags =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    Ok(open_tree(CWD, path, flags)?)
}

/// Puts a held tree at a path.
pub(super) fn put(tree: &OwnedFd, path: &Path) -> io::Result<()> {
    Ok(move_mount(tree, "", CWD, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?)
}

/// The restrictions of the mount that a path is on: they hold for a view of it too.
pub(super) fn flags_of(path: &Path) -> io::Result<MountFlags> {
    let now = statvfs(path)?.f_flag;
    let mut flags = MountFlags::empty();
    for (held, wanted) in [
        (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
    ] {
        if now.contains(held) {
            flags |= wanted;
        }
    }
    Ok(flags)
}

/// An empty directory in memory, over whatever is there.
pub(super) fn mount_memory(dir: &Path) -> io::Result<()> {
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let options = CString::new(format!("mode=0700,uid={uid},gid={gid}")).expect("numbers only");
    Ok(mount("agentworkforce", dir, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, options.as_c_str())?)
}
