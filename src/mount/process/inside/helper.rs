//! The helper: enters the namespaces, mounts, starts init in them and waits for it to end. It never runs the harness itself, and all
//! decisions come from the runner's spec.

use super::init::PASSED_BY;
use super::namespaces::{self, failure};
use super::protocol::{
    CONTROL_FD, DroppedCapabilities, Failure, GROUP_FD, Group, HelperSpec, INIT, InitSpec, LOCK_FD, Report,
    STATUS_FD, Stage, line,
};
use super::sockets::Exempt;
use super::{caps, devices, init, kernel_interfaces, layers, pipes, seal, sockets, temp};
use crate::model::mount_facts::OverlayWay;
use crate::mount::process::signals::SignalInbox;
use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs until everything inside has ended. The outcome goes to the runner over the status pipe.
pub(super) fn run(spec: &HelperSpec, argv: &[OsString]) -> u8 {
    // Descriptors inherited from the user's shell could lead to the real project, bypassing the mount.
    close_fds::set_fds_cloexec(3, &[CONTROL_FD, STATUS_FD, LOCK_FD, GROUP_FD]);
    // Opened before the namespaces change what `/proc/self` is.
    let Ok(mut status) = File::options().write(true).open(format!("/proc/self/fd/{STATUS_FD}")) else {
        return 125;
    };
    // The terminal's signals are for the harness; we end when init ends.
    let Ok(_held) = SignalInbox::catch(&PASSED_BY) else { return 125 };
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    match prepare(spec, argv).and_then(|()| if spec.pid_namespace { start_init(spec, argv) } else { Ok(()) })
    {
        Ok(()) if spec.pid_namespace => {
            let _ = status.write_all(&line(&Report::Ended));
            if let Some((path, error)) = seal::seal(spec) {
                let _ = status.write_all(&line(&Report::StillOpen(format!("`{}`: {error}", path.display()))));
            }
            0
        }
        Ok(()) => init::run(init_spec(spec), argv),
        Err(failed) => {
            let _ = status.write_all(&line(&Report::Failed(failed)));
            125
        }
    }
}

fn prepare(spec: &HelperSpec, argv: &[OsString]) -> Result<(), Failure> {
    if spec.group == Group::Own {
        nix::unistd::setsid()
            .map_err(|errno| failure(Stage::Namespace, "the terminal cannot be left", &errno.into()))?;
    }
    if spec.way != OverlayWay::Unavailable {
        let pipes = spec.writable.as_ref().map(|_| pipes::in_use()).unwrap_or_default();
        // Writing the id maps needs our own `/proc` entries, which a non-dumpable process does not own.
        let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::Dumpable);
        namespaces::enter(spec.way, spec.pid_namespace)?;
        let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
        let in_temp = |error| failure(Stage::Mount, "there are no private temporary directories", &error);
        let fresh = temp::hold_fresh(spec).map_err(in_temp)?;
        layers::mount_all(spec)?;
        if let Some(writable) = &spec.writable {
            let writable: Vec<PathBuf> = writable.iter().map(|path| path.to_path_buf()).collect();
            layers::make_strict(spec, &writable)?;
            close_kernels_elsewhere()?;
            sockets::cover(&exempt_sockets(spec), pipes).map_err(|error| {
                failure(Stage::Mount, "the sockets of services cannot be covered", &error)
            })?;
            let kept = temp::hold_kept(spec, argv).map_err(in_temp)?;
            devices::make_minimal(&spec.devices)
                .map_err(|error| failure(Stage::Mount, "`/dev` cannot be reduced", &error))?;
            temp::put_all(fresh, kept).map_err(in_temp)?;
            nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWIPC)
                .map_err(|errno| failure(Stage::Namespace, "shared memory cannot be left", &errno.into()))?;
        } else if is_overlay_of_root(spec) {
            close_kernels_elsewhere()?;
            devices::leave_out_disks()
                .map_err(|error| failure(Stage::Mount, "the disks cannot be left out", &error))?;
            kernel_interfaces::make_sys_read_only()
                .map_err(|error| failure(Stage::Mount, "`/sys` cannot be made read-only", &error))?;
        }
        if spec.limited {
            kernel_interfaces::make_control_groups_read_only().map_err(|error| {
                failure(Stage::Mount, "the control groups cannot be made read-only", &error)
            })?;
        }
    }
    // Only now: a working directory from before would still be the real project.
    std::env::set_current_dir(&*spec.workdir)
        .map_err(|error| failure(Stage::Mount, &format!("cannot enter `{}`", spec.workdir.display()), &error))
}

/// Covers other mounts of the kernel's filesystems, and disables device nodes outside `/dev`.
fn close_kernels_elsewhere() -> Result<(), Failure> {
    kernel_interfaces::cover_elsewhere()
        .and_then(|()| kernel_interfaces::deny_devices_elsewhere())
        .map_err(|error| failure(Stage::Mount, "the kernel's files elsewhere cannot be covered", &error))
}

/// What the covers must not hide: the run itself.
fn exempt_sockets(spec: &HelperSpec) -> Exempt<'_> {
    let views: Vec<&Path> = spec.overlays.iter().map(|overlay| overlay.target.as_ref()).collect();
    let covered = spec.covers.iter().map(|cover| cover.dir.as_ref());
    let protected = spec.protect.iter().map(|protect| protect.path.as_ref());
    let writable = spec.writable.iter().flatten().map(AsRef::as_ref);
    let needed = views.iter().copied().chain(covered).chain(protected).chain(writable);
    Exempt {
        needed: needed.chain([spec.workdir.as_ref()]).collect(),
        allowed: spec.sockets.iter().map(AsRef::as_ref).collect(),
        views,
    }
}

/// Starts init as the first process of the new PID namespace and waits for it: when it has ended, nothing inside is left.
fn start_init(spec: &HelperSpec, argv: &[OsString]) -> Result<(), Failure> {
    if spec.way == OverlayWay::UserNamespace {
        caps::keep_over_exec().map_err(|errno| {
            failure(Stage::Capabilities, "cannot keep capabilities for init", &errno.into())
        })?;
    }
    let order = serde_json::to_string(&init_spec(spec)).expect("our own specs always serialise");
    let mut child = Command::new("/proc/self/exe")
        .arg0("agentworkforce")
        .arg(INIT)
        .arg(order)
        .args(argv)
        .spawn()
        .map_err(|error| failure(Stage::Namespace, "init cannot be started", &error))?;
    let _ = child.wait();
    Ok(())
}

/// Whether root is inside and the mount is meant to stop it.
fn is_overlay_of_root(spec: &HelperSpec) -> bool {
    spec.way == OverlayWay::Capable && !spec.overlays.is_empty()
}

/// Whether a directory above our mounts is writable. At `strict` these directories are read-only, as they are in a harness's own sandbox.
fn is_above_mounts(spec: &HelperSpec) -> bool {
    let Some(writable) = &spec.writable else { return !spec.overlays.is_empty() };
    let overlaid = spec.overlays.iter().map(|overlay| &overlay.target);
    let mut mounts = overlaid.chain(spec.protect.iter().map(|protect| &protect.path));
    mounts.any(|mount| writable.iter().any(|dir| mount.starts_with(&**dir)))
}

fn init_spec(spec: &HelperSpec) -> InitSpec {
    let is_strict = spec.writable.is_some();
    let drop = match spec.way {
        OverlayWay::UserNamespace => DroppedCapabilities::All,
        OverlayWay::Capable if is_strict => DroppedCapabilities::AllButFew,
        OverlayWay::Capable if !spec.overlays.is_empty() => DroppedCapabilities::Dangerous,
        OverlayWay::Capable | OverlayWay::Unavailable => DroppedCapabilities::None,
    };
    let protect_kernel = is_overlay_of_root(spec);
    InitSpec {
        drop,
        group: spec.group,
        pid_namespace: spec.pid_namespace,
        protect_kernel,
        scope_sockets: spec.scope_sockets,
        is_strict,
        limited: spec.limited,
        keep_mounts: !spec.nested_sandbox && is_above_mounts(spec),
    }
}
