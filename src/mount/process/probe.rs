//! Finds out, by trying, what kind of mount this machine and this project allow. The answer is plain data; the plan decides what
//! to do with it.

use crate::files::atomic::FileMode;
use crate::files::owned;
use crate::model::mount_facts::{HostMounts, MountFacts, Obstacle, OverlayWay};
use crate::mount::process::inside::ProbeAnswer;
use crate::mount::process::inside::protocol::PROBE;
use crate::mount::process::inside::scope;
use crate::mount::process::mount_table::{self, Mounted};
use anyhow::Result;
use rustix::fs::{AtFlags, CWD, statat, statfs};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::Read;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const CACHE_FILE: &str = "cache/mount-probe.json";
/// How a reason starts that names a setting of the kernel.
const DISABLED: &str = "user namespaces are disabled";
/// The answer is a few hundred bytes.
const LARGEST_CACHE: u64 = 64 * 1024;

/// How many entries the search for foreign owners looks at.
const OWNERS_LOOKED_AT: usize = 2_000;

/// Filesystems that an upper directory cannot or should not be on, by magic number.
const UNFIT_FOR_STATE: [(u64, &str); 9] = [
    (0x794c_7630, "overlay"),
    (0x6969, "NFS"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB"),
    (0x517b, "SMB"),
    (0x6573_5546, "FUSE"),
    (0x0102_1997, "9p"),
    (0x5346_414f, "AFS"),
    (0x00c3_6400, "Ceph"),
];

/// The facts for one project. `helper` is our own binary, `state` the directory that sessions are kept in.
pub fn facts(helper: &Path, state: &Path, root: &Path) -> Result<MountFacts> {
    let host = host(helper, state)?;
    let host = HostMounts { scoped_sockets: scope::is_available(), ..host };
    let obstacles = obstacles(root, host.overlay);
    Ok(MountFacts { host, obstacles })
}

/// The same for a dry run: nothing is left in the state directory, which may not even exist.
pub fn facts_without_writing(helper: &Path, state: &Path, root: &Path) -> Result<MountFacts> {
    let sessions = state.join("sessions");
    let place = if sessions.is_dir() { sessions } else { std::env::temp_dir() };
    let known = Key::now(state).ok().and_then(|key| read_cache(&state.join(CACHE_FILE), &key));
    let host = match known {
        Some(known) => with_reflink_of_today(known, &place)?,
        None => try_at(helper, state, &place)?,
    };
    let host = HostMounts { scoped_sockets: scope::is_available(), ..host };
    let obstacles = obstacles(root, host.overlay);
    Ok(MountFacts { host, obstacles })
}

/// What the machine can do. Only positive answers since boot on this filesystem are taken from the cache: nobody who can write
/// there may talk us into a weaker mount.
pub fn host(helper: &Path, state: &Path) -> Result<HostMounts> {
    make_private(state)?;
    let key = Key::now(state)?;
    let cache = state.join(CACHE_FILE);
    if let Some(known) = read_cache(&cache, &key) {
        let place = sessions_of(state)?;
        return with_reflink_of_today(known, &place);
    }
    let host = try_at(helper, state, &sessions_of(state)?)?;
    if key.is_good_news(&host) {
        write_cache(&cache, &Known { key, host: host.clone() });
    }
    Ok(host)
}

/// That files cannot be cloned is not a positive answer either, but it holds for most filesystems and is quick to check.
fn with_reflink_of_today(known: HostMounts, place: &Path) -> Result<HostMounts> {
    let reflink = known.reflink || can_reflink(scratch_in(place)?.path());
    Ok(HostMounts { reflink, ..known })
}

#[derive(Serialize, Deserialize)]
struct Known {
    key: Key,
    host: HostMounts,
}

/// What the answer depends on.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Key {
    boot: String,
    device: u64,
    uid: u32,
    can_mount: bool,
    version: String,
    /// A container or an outer run is a different place, although it is the same boot.
    mount_namespace: String,
}

impl Key {
    fn now(state: &Path) -> Result<Key> {
        let device = fs::metadata(state).map_err(|error| at(state, error))?.dev();
        let link = fs::read_link("/proc/self/ns/mnt").unwrap_or_default();
        Ok(Key {
            boot: fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().into(),
            device,
            uid: rustix::process::geteuid().as_raw(),
            can_mount: crate::mount::process::inside::caps::can_mount(),
            version: env!("CARGO_PKG_VERSION").into(),
            mount_namespace: link.to_string_lossy().into_owned(),
        })
    }

    /// Everything works, in the way that our current privileges require.
    fn is_good_news(&self, host: &HostMounts) -> bool {
        let way = if self.can_mount { OverlayWay::Capable } else { OverlayWay::UserNamespace };
        host.overlay == way && host.pid_namespace && !host.state_unfit
    }
}

/// A positive answer for this key, from a file that nobody else can have written.
fn read_cache(path: &Path, key: &Key) -> Option<HostMounts> {
    let mut bytes = Vec::new();
    let opened = owned::open(path).unwrap_or_else(|error| {
        tracing::debug!(%error, path = %path.display(), "the cache of the probe is not used");
        None
    });
    opened?.take(LARGEST_CACHE).read_to_end(&mut bytes).ok()?;
    let known: Known = serde_json::from_slice(&bytes).ok()?;
    (known.key == *key && key.is_good_news(&known.host)).then_some(known.host)
}

/// If the cache cannot be written, the next run has to probe again; nothing else is lost.
fn write_cache(path: &Path, known: &Known) {
    let Some(dir) = path.parent() else { return };
    let written = fs::create_dir_all(dir).and_then(|()| {
        let bytes = serde_json::to_vec(known)?;
        crate::files::atomic::write_cache(path, &bytes, FileMode::Private)
    });
    if let Err(error) = written {
        tracing::debug!(%error, path = %path.display(), "the answer of the probe is not kept");
    }
}

/// Where mounts will be: inside another run, this is the only place of ours that is writable.
fn sessions_of(state: &Path) -> Result<PathBuf> {
    let place = state.join("sessions");
    make_private(&place)?;
    Ok(place)
}

fn scratch_in(place: &Path) -> Result<tempfile::TempDir> {
    tempfile::Builder::new().prefix(".probe-").tempdir_in(place).map_err(|error| at(place, error))
}

fn try_at(helper: &Path, state: &Path, place: &Path) -> Result<HostMounts> {
    let scratch = scratch_in(place)?;
    // A full disk does not mean that the machine lacks overlays.
    let room = scratch.path().join("room");
    fs::write(&room, [0; 4096]).map_err(|error| at(&room, error))?;
    let reflink = can_reflink(scratch.path());
    let unavailable = |reason: String| HostMounts {
        overlay: OverlayWay::Unavailable,
        overlay_reason: Some(reason.clone()),
        state_unfit: false,
        pid_namespace: false,
        pid_namespace_reason: Some(reason),
        scoped_sockets: scope::is_available(),
        reflink,
    };
    let output = Command::new(helper).arg(PROBE).arg(scratch.path()).stdin(Stdio::null()).output();
    let answer = output.ok().and_then(|output| serde_json::from_slice::<ProbeAnswer>(&output.stdout).ok());
    crate::mount::fs::cleanup::unlock_work_dirs(scratch.path());
    let Some(answer) = answer else { return Ok(unavailable("the probe did not answer".into())) };
    if answer.namespace_refused {
        let reason = answer.overlay_error.unwrap_or_default();
        return Ok(unavailable(if reason.starts_with(DISABLED) {
            reason
        } else {
            format!("namespaces are forbidden here ({reason})")
        }));
    }
    let mut host = HostMounts {
        overlay: answer.way,
        overlay_reason: answer
            .overlay_error
            .map(|error| format!("overlay mounts do not work here ({error})")),
        state_unfit: false,
        pid_namespace: answer.pid_namespace_error.is_none(),
        pid_namespace_reason: answer.pid_namespace_error,
        scoped_sockets: scope::is_available(),
        reflink,
    };
    if let Some(name) = unfit_filesystem(state) {
        host.overlay = OverlayWay::Unavailable;
        host.state_unfit = true;
        host.overlay_reason = Some(format!("the state directory `{}` is on {name}", state.display()));
    }
    Ok(host)
}

fn unfit_filesystem(state: &Path) -> Option<&'static str> {
    let magic = u64::try_from(statfs(state).ok()?.f_type).ok()?;
    UNFIT_FOR_STATE.iter().find(|(number, _)| *number == magic).map(|(_, name)| *name)
}

fn can_reflink(dir: &Path) -> bool {
    let clone = || -> std::io::Result<()> {
        fs::write(dir.join("from"), "x")?;
        let (from, to) = (fs::File::open(dir.join("from"))?, fs::File::create(dir.join("to"))?);
        Ok(rustix::fs::ioctl_ficlone(&to, &from)?)
    };
    clone().is_ok()
}

/// Why a project cannot be overlaid, although the machine could.
pub fn obstacles(root: &Path, way: OverlayWay) -> Vec<Obstacle> {
    let mut found = Vec::new();
    let table = mount_table::parse(&fs::read("/proc/self/mountinfo").unwrap_or_default());
    let mut places = vec![root.to_path_buf()];
    if let Some(repo) = crate::mount::git::repository::Repository::at(root) {
        places.extend(repo.outside(root));
    }
    for place in places {
        if let Some(below) = mount_table::below(&table, &place) {
            found.push(Obstacle::MountedBelow(below));
        }
        if let Some(shown) = overlay_with_layer(&table, &place) {
            found.push(Obstacle::LayerOf(shown));
        }
        if way == OverlayWay::UserNamespace
            && let Some(foreign) = foreign_owner(&place)
        {
            found.push(Obstacle::ForeignOwner(foreign));
        }
    }
    found
}

/// The first overlay somewhere else that has a directory, one above or one below it as a layer.
fn overlay_with_layer(table: &[Mounted], dir: &Path) -> Option<PathBuf> {
    let identity = |path: &Path| fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()));
    let above: Vec<_> = dir.ancestors().filter_map(identity).collect();
    let is_layer = |layer: &PathBuf| {
        // Named by a descriptor number of the process that made the mount, which may be an outer run.
        !layer.starts_with("/proc")
            && (layer.starts_with(dir) || identity(layer).is_some_and(|layer| above.contains(&layer)))
    };
    let elsewhere = table.iter().filter(|mounted| !dir.starts_with(&mounted.path));
    let mut with_layer = elsewhere.filter(|mounted| mounted.layers.iter().any(is_layer));
    with_layer.next().map(|mounted| mounted.path.clone())
}

/// A file among the first two levels that only its own user namespace could copy up (EOVERFLOW).
fn foreign_owner(root: &Path) -> Option<PathBuf> {
    let own = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let is_foreign = |path: &Path| {
        statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| (stat.st_uid, stat.st_gid) != own)
    };
    let entries = |dir: &Path| fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    if is_foreign(root) {
        return Some(root.to_path_buf());
    }
    let mut looked_at = 0;
    for first in entries(root) {
        looked_at += 1;
        if is_foreign(&first) {
            return Some(first);
        }
        if !first.is_symlink() && first.is_dir() {
            for second in entries(&first) {
                looked_at += 1;
                if looked_at > OWNERS_LOOKED_AT {
                    return None;
                }
                if is_foreign(&second) {
                    return Some(second);
                }
            }
        }
    }
    None
}

fn make_private(dir: &Path) -> Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(|error| at(dir, error))
}

fn at(path: &Path, error: impl std::fmt::Display) -> anyhow::Error {
    anyhow::anyhow!("`{}`: {error}", path.display())
}
