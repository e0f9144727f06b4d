//! Mounts the overlays and the covers inside the helper's namespace, each on its own path. The runner has already filled the upper
//! directories.

use super::above;
use super::aliases::Aliases;
use super::binds::{flags_of, hold, make_mount_read_only, mount_memory, pin, put, put_new};
use super::namespaces::failure;
use super::pins::pin_above;
use super::protocol::{Failure, HelperSpec, OverlaySpec, Protect, Stage};
use crate::model::mount_facts::OverlayWay;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::mount::{MountFlags, mount, mount_remount};
use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Mounts everything in the spec.
pub(super) fn mount_all(spec: &HelperSpec) -> Result<(), Failure> {
    let overlaid = spec.overlays.iter().map(|overlay| &*overlay.target);
    let protected = || overlaid.clone().chain(spec.protect.iter().map(|protect| &*protect.path));
    let aliases = Aliases::find(protected().map(AsRef::as_ref))
        .map_err(|error| failure(Stage::Mount, "the table of mounts cannot be read", &error))?;
    // What will be shown again must be held before it is covered.
    let mut exposed = Vec::new();
    for cover in &spec.covers {
        let mut held = Vec::new();
        let read_only = cover.expose.iter().map(|path| (path, Access::ReadOnly));
        let lent = cover.lend.iter().map(|path| (path, Access::Write));
        for (path, access) in read_only.chain(lent) {
            held.push((path, access, hold(path).map_err(|error| at("cannot show", path, &error))?));
        }
        exposed.push((cover, held));
    }
    if let Some(scratch) = spec.covers.first() {
        above::cover(&spec.above, &scratch.dir).map_err(|(path, error)| at("cannot cover", &path, &error))?;
    }
    pin_above(protected().map(AsRef::as_ref))
        .map_err(|(path, error)| at("cannot be kept in place:", &path, &error))?;
    for overlay in &spec.overlays {
        mount_overlay(overlay, spec.way, Durability::Synced)
            .map_err(|error| at("no overlay on", &overlay.target, &error))?;
    }
    for protect in &spec.protect {
        make_read_only(protect, spec.way).map_err(|error| at("cannot protect", &protect.path, &error))?;
    }
    for (cover, held) in exposed {
        mount_memory(&cover.dir, 0o700, MountFlags::empty())
            .map_err(|error| at("cannot cover", &cover.dir, &error))?;
        for (path, access, tree) in held {
            show_again(path, &tree, access).map_err(|error| at("cannot show", path, &error))?;
        }
        keep_shown(&cover.dir)
            .map_err(|error| at("cannot keep in place what is shown in", &cover.dir, &error))?;
    }
    aliases.cover().map_err(|(path, error)| at("cannot cover", &path, &error))
}

/// One overlay. The layers are named by descriptor: no path needs escaping or is too long for the option string.
pub(super) fn mount_overlay(
    overlay: &OverlaySpec,
    way: OverlayWay,
    durability: Durability,
) -> io::Result<()> {
    let lowers: Vec<OwnedFd> = overlay.lowers.iter().map(|path| open_dir(path)).collect::<io::Result<_>>()?;
    overlay_on(&overlay.target, &lowers, (&overlay.upper, &overlay.work), way, durability)
}

/// Whether writes must survive a crash of the machine. Closing such an overlay takes as long as the disk needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Durability {
    Synced,
    /// Nobody wants the files after the run.
    None,
}

fn overlay_on(
    target: &Path,
    lowers: &[OwnedFd],
    (upper, work): (&Path, &Path),
    way: OverlayWay,
    durability: Durability,
) -> io::Result<()> {
    let (upper, work) = (open_dir(upper)?, open_dir(work)?);
    let lower = lowers.iter().map(by_descriptor).collect::<Vec<_>>().join(":");
    // Explicit, because the defaults are a build option of the kernel: with any of them on, the upper directory holds zeros
    // or empty directories instead of the agent's work. `nofollow` is `off` that also ignores old redirects; `userxattr` takes
    // no other.
    let mut options = format!(
        "lowerdir={lower},upperdir={},workdir={},metacopy=off,redirect_dir=nofollow,index=off",
        by_descriptor(&upper),
        by_descriptor(&work),
    );
    if way == OverlayWay::UserNamespace {
        options.push_str(",userxattr");
    }
    if durability == Durability::None {
        options.push_str(",volatile");
    }
    let options = CString::new(options).expect("numbers and words only");
    Ok(mount("agentworkforce", target, "overlay", flags_of(target)?, options.as_c_str())?)
}

/// Makes a directory or file read-only.
fn make_read_only(protect: &Protect, way: OverlayWay) -> io::Result<()> {
    put(&hold(&protect.path)?, &protect.path)?;
    let flags = MountFlags::BIND | MountFlags::RDONLY | flags_of(&protect.path)?;
    mount_remount(&*protect.path, flags, "")?;
    for dir in protect.throwaway.iter().filter(|path| path.is_dir()) {
        mount_throwaway(dir, way)?;
    }
    Ok(())
}

/// Puts a layer in memory over a directory. The memory is mounted below the overlay, where no path leads to it.
fn mount_throwaway(dir: &Path, way: OverlayWay) -> io::Result<()> {
    let lower = open_dir(dir)?;
    mount_memory(dir, 0o700, MountFlags::empty())?;
    let (upper, work) = (dir.join("upper"), dir.join("work"));
    std::fs::create_dir(&upper)?;
    std::fs::create_dir(&work)?;
    overlay_on(dir, &[lower], (&upper, &work), way, Durability::Synced)
}

/// What the inside may do with something that is shown again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    ReadOnly,
    Write,
}

fn show_again(path: &Path, tree: &OwnedFd, access: Access) -> io::Result<()> {
    put_new(tree, path)?;
    if access == Access::ReadOnly {
        mount_remount(path, MountFlags::BIND | MountFlags::RDONLY | flags_of(path)?, "")?;
    }
    Ok(())
}

/// The directories on the way to what is shown were created for it; nothing inside may replace them.
fn keep_shown(cover: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(cover)? {
        let dir = entry?.path();
        pin(&dir)?;
        mount_remount(&dir, MountFlags::BIND | MountFlags::RDONLY | flags_of(&dir)?, "")?;
    }
    Ok(())
}

/// Makes every mount read-only except the overlays, what is shown in the covers, `/proc` (nested sandboxes map ids through it) and
/// what the spec names as writable.
pub(super) fn make_strict(spec: &HelperSpec, writable: &[PathBuf]) -> Result<(), Failure> {
    // Held after the overlays are mounted: a writable directory above the project then contains the overlay, not the project.
    let mut held = Vec::new();
    for path in writable {
        // A mount is put on a directory, not on a link to it.
        match path.canonicalize().and_then(|path| Ok((hold(&path)?, path))) {
            Ok((tree, path)) => held.push((path, tree)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(at("cannot keep writable", path, &error)),
        }
    }
    let ours = |path: &Path| {
        path == Path::new("/proc")
            || spec.overlays.iter().any(|overlay| path == &*overlay.target)
            || spec.protect.iter().flat_map(|protect| &protect.throwaway).any(|dir| path == &**dir)
            || spec.covers.iter().any(|cover| path.starts_with(&cover.dir) && path != &*cover.dir)
    };
    let table = std::fs::read("/proc/self/mountinfo")
        .map_err(|error| failure(Stage::Mount, "the table of mounts cannot be read", &error))?;
    for mounted in crate::mount::process::mount_table::parse(&table) {
        if !ours(&mounted.path) {
            make_mount_read_only(&mounted)
                .map_err(|error| at("cannot make read-only", &mounted.path, &error))?;
        }
    }
    for (path, tree) in held {
        put(&tree, &path).map_err(|error| at("cannot keep writable", &path, &error))?;
    }
    Ok(())
}

fn open_dir(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(CWD, path, flags, Mode::empty())
        .map_err(|errno| io::Error::new(errno.kind(), format!("{}: {errno}", path.display())))
}

fn by_descriptor(fd: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", fd.as_raw_fd())
}

fn at(what: &str, path: &Path, error: &io::Error) -> Failure {
    failure(Stage::Mount, &format!("{what} `{}`", path.display()), error)
}
