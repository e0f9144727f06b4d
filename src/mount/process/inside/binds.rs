//! The primitives of mounting: hold what is at a path, put it somewhere, cover it. The callers decide what and where.

use crate::mount::process::mount_table::{self, Mounted};
use nix::libc;
use rustix::fs::{AtFlags, CWD, FileType, StatVfsMountFlags, StatxFlags, fstat, statvfs, statx};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MoveMountFlags, OpenTreeFlags, mount, mount_remount, move_mount, open_tree};
use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A private handle to what is at a path now, whatever is mounted over it later.
pub(super) fn hold(path: &Path) -> io::Result<OwnedFd> {
    let flags =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    Ok(open_tree(CWD, path, flags)?)
}

/// Puts a held tree at a path.
pub(super) fn put(tree: &OwnedFd, path: &Path) -> io::Result<()> {
    Ok(move_mount(tree, "", CWD, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?)
}

/// Puts a held tree at a path that need not exist yet.
pub(super) fn put_new(tree: &OwnedFd, path: &Path) -> io::Result<()> {
    if FileType::from_raw_mode(fstat(tree)?.st_mode).is_dir() {
        fs::create_dir_all(path)?;
    } else if let Err(error) = fs::write(path, "") {
        if error.kind() != io::ErrorKind::NotFound {
            return Err(error);
        }
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
        fs::write(path, "")?;
    }
    put(tree, path)
}

/// Makes a mount point of a directory: nothing can rename or remove it.
pub(super) fn pin(dir: &Path) -> io::Result<()> {
    put(&hold(dir)?, dir)
}

/// Covers a file, device or socket with `/dev/null`: connections to it are refused.
pub(super) fn cover_file(path: &Path) -> io::Result<()> {
    put(&hold(Path::new("/dev/null"))?, path)
}

/// Makes a mount from the table read-only.
pub(super) fn make_mount_read_only(mounted: &Mounted) -> io::Result<()> {
    match mount_remount(&*mounted.path, MountFlags::BIND | MountFlags::RDONLY | mounted.flags, "") {
        // Covered by another mount, or behind a directory that we may not enter: nothing inside can reach it either.
        Ok(()) | Err(Errno::NOENT | Errno::ACCESS | Errno::INVAL) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// The restrictions of the mount that a path is on, which apply to a view of it too.
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

/// An empty directory of ours in memory, over whatever is there.
pub(super) fn mount_memory(dir: &Path, mode: u32, flags: MountFlags) -> io::Result<()> {
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let options = CString::new(format!("mode={mode:o},uid={uid},gid={gid}")).expect("numbers only");
    let flags = MountFlags::NOSUID | MountFlags::NODEV | flags;
    Ok(mount("agentworkforce", dir, "tmpfs", flags, options.as_c_str())?)
}

/// Which mount a path is on.
pub(super) fn mount_id(path: &Path) -> io::Result<u64> {
    let stat = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::MNT_ID)?;
    if stat.stx_mask & StatxFlags::MNT_ID.bits() == 0 {
        return Err(io::Error::other("the kernel does not tell mounts apart"));
    }
    Ok(stat.stx_mnt_id)
}

/// Adds restrictions to the mount at a path and to all those below it.
pub(super) fn restrict(path: &Path, flags: MountFlags) -> io::Result<()> {
    match add_attributes(path, flags) {
        // Before Linux 5.12: one by one.
        Err(error) if error.raw_os_error() == Some(Errno::NOSYS.raw_os_error()) => {
            let table = mount_table::parse(&fs::read("/proc/self/mountinfo")?);
            for mounted in table.iter().filter(|mounted| mounted.path.starts_with(path)) {
                // Otherwise another mount covers it.
                if mount_id(&mounted.path).is_ok_and(|id| id == mounted.id) {
                    mount_remount(&*mounted.path, MountFlags::BIND | mounted.flags | flags, "")?;
                }
            }
            Ok(())
        }
        other => other,
    }
}

#[allow(unsafe_code, reason = "no crate has this system call")]
fn add_attributes(path: &Path, flags: MountFlags) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // The attributes have the same values as the flags.
    let attributes =
        libc::mount_attr { attr_set: u64::from(flags.bits()), attr_clr: 0, propagation: 0, userns_fd: 0 };
    // SAFETY: the path ends with a zero, and the size is that of the attributes; both are only read and outlive the call.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            libc::AT_RECURSIVE,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
