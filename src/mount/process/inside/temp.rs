//! The run's own temporary directories at the sandbox level `strict`: `/tmp`, `/var/tmp` and `/dev/shm` start empty, and nobody else
//! sees what is put there. What the run itself needs from them is shown again at its old place. The runner creates the directories.

use super::binds::{hold, pin, put, put_new, restrict};
use super::layers::{Durability, mount_overlay};
use super::protocol::{HelperSpec, OverlaySpec};
use crate::mount::process::fresh_temp::{LOWER, NAMES, UPPER, WORK};
use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::mount::{MountFlags, UnmountFlags, unmount};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

/// In the order of their stand-ins.
const ON_DISK: [&str; NAMES.len()] = ["/tmp", "/var/tmp"];
const IN_MEMORY: &str = "/dev/shm";
/// Variables that name a temporary directory.
pub(super) const VARIABLES: [&str; 3] = ["TMPDIR", "TMP", "TEMP"];

/// The fresh directories, by the path that each replaces.
pub(super) struct Fresh(BTreeMap<PathBuf, OwnedFd>);

/// What is shown again, and which directories are created for it.
pub(super) struct Kept {
    shown: BTreeMap<PathBuf, Shown>,
    /// With their modes.
    made: BTreeMap<PathBuf, u32>,
}

enum Shown {
    Tree(OwnedFd),
    Link(PathBuf),
}

/// Runs before anything is mounted, because the session's directory cannot be reached afterwards. Uses overlays, because the mount
/// table would show the source of a bind mount: codex looks for such aliases of what it protects, and they do not exist inside.
pub(super) fn hold_fresh(spec: &HelperSpec) -> io::Result<Fresh> {
    let mut fresh = BTreeMap::new();
    for (place, name) in ON_DISK.iter().zip(NAMES) {
        if let (Some(dir), Ok(place)) = (&spec.temp, Path::new(place).canonicalize()) {
            let dir = dir.join(name);
            let overlay = OverlaySpec {
                target: dir.clone().into(),
                lowers: vec![dir.join(LOWER).into()],
                upper: dir.join(UPPER).into(),
                work: dir.join(WORK).into(),
            };
            mount_overlay(&overlay, spec.way, Durability::None)?;
            fresh.insert(place, hold(&dir)?);
            // bubblewrap would try to set up every further entry in the mount table.
            unmount(&dir, UnmountFlags::DETACH)?;
        }
    }
    Ok(Fresh(fresh))
}

/// Runs after everything else is mounted and covered, so that it is shown again in that state.
pub(super) fn hold_kept(spec: &HelperSpec, argv: &[OsString]) -> io::Result<Kept> {
    let roots: BTreeSet<PathBuf> =
        ON_DISK.iter().chain([&IN_MEMORY]).filter_map(|place| Path::new(place).canonicalize().ok()).collect();
    let is_inside = |path: &Path| roots.iter().any(|root| path.starts_with(root) && path != root);
    let own: Vec<PathBuf> = VARIABLES
        .iter()
        .filter_map(std::env::var_os)
        .filter_map(plain)
        .filter(|path| is_inside(path))
        .collect();
    let bases: Vec<&Path> = roots.iter().chain(&own).map(PathBuf::as_path).collect();
    let mut paths: BTreeSet<PathBuf> =
        needed(spec, argv).iter().filter_map(|path| first_below(&bases, path)).collect();
    let views = || spec.overlays.iter().map(|overlay| &*overlay.target);
    paths.extend(roots.iter().filter(|root| views().any(|view| root.starts_with(view))).cloned());
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").and_then(plain);
    let sockets = spec.sockets.iter().filter_map(|path| path.canonicalize().ok());
    paths.extend(sockets.chain(runtime).filter(|path| is_inside(path)));
    let mut shown = BTreeMap::new();
    // From the top down: what is below something that is shown comes with it.
    for path in paths {
        if path.ancestors().any(|above| shown.contains_key(above)) {
            continue;
        }
        let held = match fs::read_link(&path) {
            Ok(target) => Ok(Shown::Link(target)),
            Err(_) => hold(&path).map(Shown::Tree),
        };
        match held {
            Ok(held) => drop(shown.insert(path, held)),
            // Nothing inside could reach it either.
            Err(error)
                if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => {}
            Err(error) => return Err(error),
        }
    }
    let is_made = |path: &PathBuf| !path.ancestors().any(|above| shown.contains_key(above));
    let mode = |path: &Path| fs::metadata(path).map_or(0o700, |found| found.permissions().mode() & 0o1777);
    let made =
        own.into_iter().filter(is_made).map(|path| (mode(&path), path)).map(|(mode, path)| (path, mode));
    Ok(Kept { made: made.collect(), shown })
}

/// Puts everything in place. `/dev` is already the run's own.
pub(super) fn put_all(fresh: Fresh, kept: Kept) -> io::Result<()> {
    for (place, tree) in &fresh.0 {
        put(tree, place)?;
        restrict(place, MountFlags::NOSUID | MountFlags::NODEV)?;
    }
    let roots: Vec<PathBuf> = fresh.0.into_keys().chain([PathBuf::from(IN_MEMORY)]).collect();
    let mut pinned = BTreeSet::new();
    for (path, mode) in kept.made {
        fs::create_dir_all(&path)?;
        fs::set_permissions(&path, Permissions::from_mode(mode))?;
    }
    for (path, shown) in kept.shown {
        // The agent owns the directories in between; pinning keeps them in place.
        let root = roots.iter().find(|root| path.starts_with(root) && path != **root);
        let above = |root| path.ancestors().skip(1).take_while(move |dir| *dir != root);
        let between: Vec<&Path> = root.map(PathBuf::as_path).into_iter().flat_map(above).collect();
        for dir in between.into_iter().rev() {
            if pinned.insert(dir.to_path_buf()) {
                fs::create_dir_all(dir)?;
                pin(dir)?;
            }
        }
        match shown {
            Shown::Tree(tree) => put_new(&tree, &path)?,
            Shown::Link(target) => symlink(target, &path)?,
        }
    }
    Ok(())
}

/// The variables that name a directory that is not writable here.
pub(super) fn unusable_variables() -> impl Iterator<Item = &'static str> {
    let is_unusable = |name: &&str| {
        let usable = |dir: OsString| accessat(CWD, dir, Access::WRITE_OK, AtFlags::EACCESS).is_ok();
        std::env::var_os(name).is_some_and(|dir| !dir.is_empty() && !usable(dir))
    };
    VARIABLES.into_iter().filter(is_unusable)
}

/// This one is always writable, whatever the variables say.
pub(super) const ALWAYS_USABLE: &str = ON_DISK[0];

/// What the run needs and what it starts, by the given paths and by the real ones.
fn needed(spec: &HelperSpec, argv: &[OsString]) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = spec.overlays.iter().map(|overlay| overlay.target.to_path_buf()).collect();
    all.extend(spec.covers.iter().map(|cover| cover.dir.to_path_buf()));
    all.extend(spec.protect.iter().map(|protect| protect.path.to_path_buf()));
    all.extend(spec.writable.iter().flatten().map(|path| path.to_path_buf()));
    all.push(spec.workdir.to_path_buf());
    all.extend(std::env::var_os("HOME").map(PathBuf::from));
    all.extend(fs::read_link("/proc/self/exe").ok());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let program = argv.first().map(OsString::as_os_str).unwrap_or_default();
    all.extend(std::env::split_paths(&path).map(|dir| dir.join(program)).find(|file| file.is_file()));
    all.extend(std::env::split_paths(&path));
    let real: Vec<PathBuf> = all.iter().filter_map(|path| path.canonicalize().ok()).collect();
    all.extend(real);
    all
}

/// The entry that contains a path, in the deepest of these directories.
fn first_below(bases: &[&Path], path: &Path) -> Option<PathBuf> {
    let deepest = bases.iter().filter(|base| path.starts_with(base) && path != **base);
    let base = deepest.max_by_key(|base| base.components().count())?;
    match path.strip_prefix(base).ok()?.components().next()? {
        Component::Normal(name) => Some(base.join(name)),
        _ => None,
    }
}

/// The real path if it exists; otherwise the path as given, unless it has `..` in it.
fn plain(path: impl AsRef<OsStr>) -> Option<PathBuf> {
    let path = Path::new(&path);
    let leads_up = || path.components().any(|part| part == Component::ParentDir);
    path.canonicalize().ok().or_else(|| (path.is_absolute() && !leads_up()).then(|| path.to_path_buf()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn what_is_shown_again_is_the_entry_of_the_deepest_directory() {
        let bases = ["/tmp", "/tmp/u/t", "/dev/shm"].map(Path::new);
        let entry = |path: &str| first_below(&bases, Path::new(path));
        assert_eq!(entry("/tmp/a/b/c"), Some("/tmp/a".into()));
        assert_eq!(entry("/tmp/u/t/a/b"), Some("/tmp/u/t/a".into()));
        assert_eq!(entry("/tmp/u/t"), Some("/tmp/u".into()));
        assert_eq!(entry("/dev/shm/x"), Some("/dev/shm/x".into()));
        assert_eq!((entry("/tmp"), entry("/tmp/../etc"), entry("/home/u")), (None, None, None));
    }
}
