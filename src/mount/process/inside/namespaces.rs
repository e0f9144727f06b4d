//! Enters new namespaces: directly with the capability to do so, otherwise through a user namespace. It mounts only `/proc`.

use super::protocol::{Failure, Stage};
use crate::model::mount_facts::OverlayWay;
use crate::mount::process::userns;
use nix::sched::{CloneFlags, unshare};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};

/// Leaves the caller's namespaces. The process must have one thread only (a user namespace demands it).
pub(super) fn enter(way: OverlayWay, pid_namespace: bool) -> Result<(), Failure> {
    let mut flags = CloneFlags::CLONE_NEWNS;
    if pid_namespace {
        flags |= CloneFlags::CLONE_NEWPID;
    }
    if way == OverlayWay::UserNamespace {
        // The ids are read first: inside, until they are mapped, they are those of nobody.
        let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        unshare(flags | CloneFlags::CLONE_NEWUSER)
            .map_err(|errno| forbidden("a user namespace cannot be made", &errno.into()))?;
        map_own_ids(uid, gid).map_err(|error| forbidden("the own user id cannot be mapped", &error))?;
    } else {
        unshare(flags)
            .map_err(|errno| failure(Stage::Namespace, "a mount namespace cannot be made", &errno.into()))?;
    }
    // Before any of our mounts, which would otherwise propagate to the host if `/` is shared. Mounts made outside during the run must
    // not propagate in either: they could show what is hidden, or be writable.
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(|errno| failure(Stage::Mount, "`/` cannot be made a private mount", &errno.into()))
}

/// That there is no user namespace, with the setting that forbids it in place of a number that names no reason.
fn forbidden(what: &str, error: &std::io::Error) -> Failure {
    match userns::forbidden_here() {
        Some(found) => Failure {
            stage: Stage::Namespace,
            message: format!("user namespaces are disabled here ({})", found.by),
            errno: error.raw_os_error(),
        },
        None => failure(Stage::Namespace, what, error),
    }
}

/// Mounts the `/proc` of our own PID namespace over the host's.
pub(super) fn mount_proc() -> std::io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", "/proc", "proc", flags, None).map_err(Into::into)
}

fn map_own_ids(uid: u32, gid: u32) -> std::io::Result<()> {
    // Without this, an unprivileged process may not write `gid_map`.
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/gid_map", format!("{gid} {gid} 1"))?;
    std::fs::write("/proc/self/uid_map", format!("{uid} {uid} 1"))
}

/// An operating system error with what was being done.
pub(super) fn failure(stage: Stage, what: &str, error: &std::io::Error) -> Failure {
    Failure { stage, message: format!("{what}: {error}"), errno: error.raw_os_error() }
}
