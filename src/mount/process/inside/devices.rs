//! Decides which devices exist inside. At the sandbox level `strict`, `/dev` is our own: harmless devices, the run's own terminals and
//! shared memory, and what the config allows. Below `strict`, root has all devices except those that show a disk or memory and so
//! bypass every mount.

use super::binds::{cover_file, hold, put_new};
use crate::model::mount::Device;
use rustix::fs::{Mode, Stat, fstat, stat};
use rustix::mount::{MountFlags, mount, mount_remount};
use std::ffi::{CStr, OsString};
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

const DEV: &str = "/dev";
/// Where a program looks for the name of its terminal if the directory of terminals is a different one.
const CONSOLE: &str = "console";
const ALWAYS: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];
const LINKS: [(&str, &str); 5] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];

/// Replaces `/dev` by the little that a run needs.
pub(super) fn make_minimal(allowed: &[Device]) -> io::Result<()> {
    // Everything is held before it is covered.
    let mut held = Vec::new();
    for name in
        ALWAYS.map(PathBuf::from).into_iter().chain(allowed.iter().flat_map(|device| names_of(*device)))
    {
        match hold(&Path::new(DEV).join(&name)) {
            Ok(tree) => held.push((name, tree)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    let terminal = own_terminal()?;
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    mount("agentworkforce", DEV, "tmpfs", flags, c"mode=0755")?;
    for (name, tree) in &held {
        show(name, tree)?;
    }
    for (name, target) in LINKS {
        symlink(target, Path::new(DEV).join(name))?;
    }
    mount_new("devpts", "pts", flags, c"newinstance,ptmxmode=0666,mode=620")?;
    mount_new("tmpfs", "shm", MountFlags::NOSUID | MountFlags::NODEV, c"mode=1777")?;
    if let Some(terminal) = terminal {
        show(Path::new(CONSOLE), &terminal)?;
    }
    Ok(mount_remount(DEV, MountFlags::BIND | MountFlags::RDONLY | flags, "")?)
}

/// Character devices that lead to a disk, to memory, to a console's screen, or to a filesystem whose server can block others forever;
/// opening a watchdog resets the machine. With or without numbers: `sg0`, `ng0n1`, `ubi0_0`, `mmcblk0rpmb`.
const RAW: [&str; 22] = [
    "autofs",
    "btrfs#control",
    "fuse",
    "kmem",
    "kmsg",
    "loop#control",
    "mapper#control",
    "mem",
    "mmcblk#rpmb",
    "mtd",
    "mtd#ro",
    "ng#n",
    "nvme",
    "nvram",
    "port",
    "sg",
    "ubi",
    "ubi#ctrl",
    "vcs",
    "vcsa",
    "vcsu",
    "watchdog",
];
/// Directories of such devices.
const RAW_DIRS: [&str; 1] = ["bsg"];

/// Replaces `/dev`, to which the kernel may add devices at any time, with what it contains now, except for what would show root a
/// hidden file on its disk: block devices, and character devices that are equivalent.
pub(super) fn leave_out_disks() -> io::Result<()> {
    let (mut held, mut links) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(DEV)? {
        let entry = entry?;
        let (kind, path) = (entry.file_type()?, entry.path());
        if kind.is_symlink() {
            links.push((fs::read_link(&path)?, path));
        } else if !leads_to_disk(kind, &path) {
            if kind.is_dir() {
                cover_disks_in(&path)?;
            }
            held.push((hold(&path)?, PathBuf::from(entry.file_name())));
        }
    }
    mount("agentworkforce", DEV, "tmpfs", MountFlags::NOSUID, c"mode=0755")?;
    held.iter().try_for_each(|(tree, name)| show(name, tree))?;
    links.iter().try_for_each(|(target, path)| symlink(target, path))
}

/// Covers them one by one if the kernel has put them into a directory.
fn cover_disks_in(dir: &Path) -> io::Result<()> {
    let device = stat(DEV)?.st_dev;
    let mut waiting = vec![dir.to_owned()];
    while let Some(dir) = waiting.pop().filter(|dir| stat(dir).is_ok_and(|stat| stat.st_dev == device)) {
        for entry in fs::read_dir(&dir)? {
            let entry = entry?;
            let (kind, path) = (entry.file_type()?, entry.path());
            if leads_to_disk(kind, &path) {
                cover_file(&path)?;
            } else if kind.is_dir() {
                waiting.push(path);
            }
        }
    }
    Ok(())
}

fn leads_to_disk(kind: fs::FileType, path: &Path) -> bool {
    kind.is_block_device() || (kind.is_char_device() && is_raw(path))
}

/// Whether a character device is one of those.
fn is_raw(path: &Path) -> bool {
    let below = path.strip_prefix(DEV).unwrap_or(path);
    let Some(name) = below.to_str() else { return false };
    // Numbers inside the name are written as `#`; trailing ones are dropped.
    let mut pattern = String::new();
    for part in name.trim_end_matches(|c: char| !c.is_ascii_alphabetic()).chars() {
        match part {
            part if part.is_ascii_alphabetic() => pattern.push(part),
            _ if pattern.ends_with('#') => {}
            _ => pattern.push('#'),
        }
    }
    RAW.contains(&pattern.as_str()) || RAW_DIRS.iter().any(|dir| below.starts_with(dir))
}

/// The names of a device that exist here, below `/dev`.
fn names_of(device: Device) -> Vec<PathBuf> {
    let pattern = device.name();
    let Some(prefix) = pattern.strip_suffix('*') else { return vec![pattern.into()] };
    let entries = fs::read_dir(DEV).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let has_prefix = |name: &OsString| name.as_encoded_bytes().starts_with(prefix.as_bytes());
    entries.filter(has_prefix).map(PathBuf::from).collect()
}

/// Puts a held device or directory at its name in the new `/dev`.
fn show(name: &Path, tree: &OwnedFd) -> io::Result<()> {
    put_new(tree, &Path::new(DEV).join(name))
}

fn mount_new(kind: &str, name: &str, flags: MountFlags, options: &CStr) -> io::Result<()> {
    let path = Path::new(DEV).join(name);
    fs::create_dir(&path)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(Mode::from_raw_mode(0o755).bits()))?;
    Ok(mount("agentworkforce", &path, kind, flags, options)?)
}

/// The terminal that the run was started at, if there is one. By its path: the open descriptor belongs to the namespace that
/// we came from, and cannot be mounted here.
fn own_terminal() -> io::Result<Option<OwnedFd>> {
    let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
    for (number, fd) in [stdin.as_fd(), stdout.as_fd(), stderr.as_fd()].into_iter().enumerate() {
        if !rustix::termios::isatty(fd) {
            continue;
        }
        let path = fs::read_link(format!("/proc/self/fd/{number}"))?;
        let same = |one: Stat, other: Stat| (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino);
        // The same name may mean a different terminal in this namespace.
        let is_it = stat(&path).is_ok_and(|named| fstat(fd).is_ok_and(|open| same(named, open)))
            && fs::metadata(&path).is_ok_and(|meta| meta.file_type().is_char_device());
        if is_it {
            return hold(&path).map(Some);
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_that_lead_to_a_disk_are_known_by_their_names() {
        let raw = [
            "mem",
            "kmsg",
            "port",
            "fuse",
            "nvram",
            "sg0",
            "sg12",
            "nvme0",
            "ng0n1",
            "ng10n2",
            "mtd0",
            "mtd0ro",
            "ubi0",
            "ubi0_0",
            "ubi_ctrl",
            "mmcblk0rpmb",
            "watchdog",
            "watchdog0",
            "bsg/0:0:0:0",
            "loop-control",
            "btrfs-control",
            "mapper/control",
        ];
        for name in raw {
            assert!(is_raw(&Path::new(DEV).join(name)), "{name}");
        }
        for name in [
            "null",
            "tty",
            "tty0",
            "ptmx",
            "random",
            "net/tun",
            "kvm",
            "dri/card0",
            "snd/pcmC0D0p",
            "memory_x",
        ] {
            assert!(!is_raw(&Path::new(DEV).join(name)), "{name}");
        }
    }
}
