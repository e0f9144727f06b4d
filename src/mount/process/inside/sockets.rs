//! Covers the sockets and named pipes of services outside at the sandbox level `strict`: a read-only mount stops neither `connect`
//! nor writing to a pipe, and a tmux, docker or dbus server runs the commands that it receives. `scope` handles abstract sockets;
//! sockets that are bound after the start are out of reach only if their directory is covered.

use super::binds::{cover_file, hold, mount_memory, put_new};
use rustix::fs::{AtFlags, CWD, FileType, statat};
use rustix::mount::{MountFlags, mount_remount};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Where services keep their sockets, and how deep to search: the kernel's list lacks those bound in another network namespace.
const PLACES: [(&str, usize); 4] = [("/run", 3), ("/var/run", 3), ("/tmp", 2), ("/var/tmp", 2)];
/// How many entries of these places are examined.
const MOST_LOOKED_AT: usize = 4096;
/// How deep and how many entries of the home directory are examined: the kernel has no list of named pipes, and some names in its
/// list of sockets are not absolute paths.
const HOME: (usize, usize) = (4, 20_000);
/// Contains a directory for each user's session sockets.
const RUNTIME_DIRS: &str = "/run/user";
/// Name services: some machines need them to look up users and hosts. They only answer queries.
const NAME_SERVICES: [&str; 5] =
    ["/run/nscd", "/var/run/nscd", "/run/systemd/resolve", "/run/systemd/userdb", "/var/lib/sss/pipes/nss"];

/// What must not be covered.
pub(super) struct Exempt<'a> {
    /// Sockets, or directories of sockets, that the config allows.
    pub(super) allowed: Vec<&'a Path>,
    /// What the run needs: no directory above it can be covered.
    pub(super) needed: Vec<&'a Path>,
    /// The private views: sockets bound there are the agent's own.
    pub(super) views: Vec<&'a Path>,
}

/// Covers every socket with a path, every named pipe, and directories that contain nothing else. `pipes` are those known to be in use,
/// wherever they are.
pub(super) fn cover(exempt: &Exempt<'_>, pipes: BTreeSet<PathBuf>) -> io::Result<()> {
    let found = find(&exempt.views, pipes)?;
    let mut allowed = Vec::new();
    for path in exempt.allowed.iter().filter_map(|path| path.canonicalize().ok()) {
        allowed.push((hold(&path)?, path));
    }
    let is_exempt = |path: &Path| {
        let services = NAME_SERVICES.iter().map(Path::new);
        services.chain(exempt.views.iter().copied()).any(|exempt| path.starts_with(exempt))
            || allowed.iter().any(|(_, allowed)| path.starts_with(allowed))
    };
    let can_be_covered = |dir: &Path| {
        !exempt.needed.iter().any(|needed| needed.starts_with(dir))
            && !NAME_SERVICES.iter().any(|service| Path::new(service).starts_with(dir))
            && !is_exempt(dir)
    };
    let runtime: Vec<PathBuf> = runtime_dirs().into_iter().filter(|dir| can_be_covered(dir)).collect();
    for dir in &runtime {
        passing_over_unreachable(mount_memory(dir, 0o700, MountFlags::NOEXEC))?;
    }
    let is_covered = |dir: &Path| runtime.iter().any(|runtime| dir.starts_with(runtime));
    let parents: BTreeSet<&Path> =
        found.iter().filter_map(|path| path.parent()).filter(|dir| !is_covered(dir)).collect();
    let mut emptied = Vec::new();
    for dir in parents.into_iter().filter(|dir| can_be_covered(dir) && is_for_services(dir)) {
        // Keep the mode: codex refuses to work if the directory of its sockets is open to other users.
        let mode = fs::metadata(dir).map_or(0o755, |metadata| metadata.permissions().mode() & 0o777);
        passing_over_unreachable(mount_memory(dir, mode, MountFlags::NOEXEC))?;
        emptied.push(dir);
    }
    for path in found.iter().filter(|path| !is_exempt(path) && leads_to_service(path)) {
        passing_over_unreachable(cover_file(path))?;
    }
    // Needed only if its directory was covered.
    for (tree, path) in allowed.iter().filter(|(_, path)| !path.exists()) {
        put_new(tree, path)?;
    }
    for dir in emptied {
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        mount_remount(dir, MountFlags::BIND | MountFlags::RDONLY | flags, "")?;
    }
    Ok(())
}

/// If we may not enter a directory, nothing inside can connect there either; and a socket that is gone has no service.
fn passing_over_unreachable(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => {
            Ok(())
        }
        other => other,
    }
}

/// All sockets and named pipes that were found, by their real paths.
fn find(views: &[&Path], pipes: BTreeSet<PathBuf>) -> io::Result<BTreeSet<PathBuf>> {
    let mut found: BTreeSet<PathBuf> = bound(&fs::read("/proc/net/unix")?).into_iter().collect();
    // A bound socket may exist under another name: ssh binds a socket, links it and removes the first name.
    let parents = found.iter().map(PathBuf::as_path).chain(views.iter().copied()).filter_map(Path::parent);
    let dirs: BTreeSet<PathBuf> = parents.map(Path::to_path_buf).collect();
    for dir in dirs {
        search(&dir, 1, &mut MOST_LOOKED_AT.clone(), &mut found);
    }
    let mut left = MOST_LOOKED_AT;
    for (place, depth) in PLACES {
        search(Path::new(place), depth, &mut left, &mut found);
    }
    if let Some(home) = std::env::var_os("HOME") {
        let (depth, mut left) = HOME;
        search(Path::new(&home), depth, &mut left, &mut found);
    }
    found.extend(pipes);
    let by_own_path = |path: PathBuf| {
        let (dir, name) = (path.parent()?.canonicalize().ok()?, path.file_name()?);
        Some(dir.join(name)).filter(|path| leads_to_service(path))
    };
    Ok(found.into_iter().filter_map(by_own_path).collect())
}

/// The absolute paths in the kernel's list. An abstract name begins with `@`; relative names were bound in an unknown directory.
fn bound(list: &[u8]) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for line in list.split(|&byte| byte == b'\n').skip(1) {
        // Seven columns of numbers, of varying width; the rest is the name, which may contain spaces.
        let mut rest = line;
        for _ in 0..7 {
            rest = rest.trim_ascii_start();
            rest = &rest[rest.iter().position(|&byte| byte == b' ').unwrap_or(rest.len())..];
        }
        if let Some(name @ [b'/', ..]) = rest.strip_prefix(b" ") {
            paths.push(std::ffi::OsStr::from_bytes(name).into());
        }
    }
    paths
}

/// From the top down, so that the limit cuts off the deepest entries first.
fn search(dir: &Path, depth: usize, left: &mut usize, found: &mut BTreeSet<PathBuf>) {
    let mut level = vec![dir.to_path_buf()];
    for _ in 0..depth {
        let mut below = Vec::new();
        for entry in level.iter().flat_map(fs::read_dir).flatten().flatten() {
            let Some(rest) = left.checked_sub(1) else { return };
            *left = rest;
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_socket() || kind.is_fifo() {
                found.insert(entry.path());
            } else if kind.is_dir() {
                below.push(entry.path());
            }
        }
        level = below;
    }
}

fn leads_to_service(path: &Path) -> bool {
    let is_one = |kind| matches!(kind, FileType::Socket | FileType::Fifo);
    statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| is_one(FileType::from_raw_mode(stat.st_mode)))
}

/// Whether a directory belongs to services: besides sockets and pipes it contains at most lock and pid files.
fn is_for_services(dir: &Path) -> bool {
    let of_a_service = |name: &std::ffi::OsStr| {
        let name = name.as_encoded_bytes();
        name.ends_with(b".lock") || name.ends_with(b".pid")
    };
    fs::read_dir(dir).is_ok_and(|entries| {
        let mut entries = entries.flatten();
        entries.all(|entry| leads_to_service(&entry.path()) || of_a_service(&entry.file_name()))
    })
}

/// The directories of the users' sessions: everything in them belongs to services outside.
fn runtime_dirs() -> BTreeSet<PathBuf> {
    let of_users = fs::read_dir(RUNTIME_DIRS).into_iter().flatten().flatten().map(|entry| entry.path());
    let own = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    let all = of_users.chain(own).filter_map(|path| path.canonicalize().ok());
    all.filter(|path| path.is_dir()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn the_kernels_list_gives_the_paths_and_leaves_names_out() {
        let list = b"Num       RefCount Protocol Flags    Type St Inode Path\n\
            00000000db074d22: 00000002 00000000 00000000 0001 03 4857389\n\
            000000001cd7634e: 00000002 00000000 00010000 0001 01  1072 /tmp/tmux 0/default\n\
            000000001cd7634e: 00000002 00000000 00010000 0001 01  1072 @/tmp/.X11-unix/X0\n\
            000000001cd7634e: 00000002 00000000 00010000 0001 01  1072 relative/socket\n";
        assert_eq!(bound(list), [PathBuf::from("/tmp/tmux 0/default")]);
    }
}
