//! Puts a session that an older binary recorded (`fixtures/sessions/*.world`) on disk again.
//! Only what depends on the machine is changed: paths, owners, device and inode numbers and ctimes, consistently in every
//! record that names them. Names of files, keys and the layout of the manifests are those of the older binary.

use crate::support::mount::{Identity, World, is_root};
use rustix::fs::{AtFlags, CWD, FileType, Mode, Timespec, Timestamps, XattrFlags};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// Where the fixtures were recorded.
const RECORDED_ROOT: &str = "/tmp/aw-fixture";
/// Inode numbers of what was gone when the world was recorded are moved here, where no file of the new world is.
const GONE: u64 = 1 << 60;

type Time = (i64, u32);

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Entry {
    path: PathBuf,
    kind: Kind,
    mode: String,
    mtime: Time,
    ctime: Time,
    dev: u64,
    ino: u64,
    target: Option<PathBuf>,
    #[serde(default)]
    xattrs: BTreeMap<String, String>,
    ends_with_newline: Option<bool>,
    hex: Option<String>,
    #[serde(skip)]
    lines: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    File,
    Dir,
    Symlink,
    Whiteout,
}

/// What became of the recorded values.
struct Rebase {
    /// By recorded device and inode: the recorded ctime, and device, inode and ctime now.
    inodes: HashMap<(u64, u64), (Time, u64, u64, Time)>,
    launched: Time,
    launched_now: Time,
}

impl World {
    /// The world of `fixtures/sessions/NAME.world`, and the id of its session.
    pub(crate) fn from_fixture(name: &str) -> (World, String) {
        let world = World::new(Identity::Own);
        let root = world.root();
        let entries = parse(name, root.to_str().unwrap());
        let session = entries
            .iter()
            .find(|entry| entry.path.file_name().is_some_and(|name| name == "mount.json"))
            .and_then(|entry| entry.path.parent())
            .expect("a session");
        let session = root.join(session);
        let mut links: HashMap<(u64, u64), &Path> = HashMap::new();
        for entry in &entries {
            match links.get(&(entry.dev, entry.ino)) {
                Some(first) => fs::hard_link(root.join(first), root.join(&entry.path)).unwrap(),
                None => create(&root, entry),
            }
            links.entry((entry.dev, entry.ino)).or_insert(&entry.path);
        }
        for entry in entries.iter().rev() {
            set_metadata(&root.join(&entry.path), entry);
        }
        let record = read_json(&session.join("mount.json"));
        let launched = time(&record["launchedAt"]);
        // A launch that is later than everything that is older than the recorded launch.
        std::thread::sleep(std::time::Duration::from_millis(20));
        let clock = fs::metadata(tempfile::NamedTempFile::new_in(&root).unwrap().path()).unwrap();
        let launched_now = ctime_of(&clock);
        for entry in entries.iter().filter(|entry| entry.ctime >= launched) {
            set_mtime(&root.join(&entry.path), entry);
        }
        let mut rebase = Rebase { inodes: HashMap::new(), launched, launched_now };
        for entry in &entries {
            let now = fs::symlink_metadata(root.join(&entry.path)).unwrap();
            let value = (entry.ctime, now.dev(), now.ino(), ctime_of(&now));
            rebase.inodes.insert((entry.dev, entry.ino), value);
        }
        let device = |path: &Path| {
            entries.iter().find(|entry| root.join(&entry.path) == path).expect("it is recorded").dev
        };
        rebase.manifest(&session.join("manifest"), device(&world.project()));
        rebase.manifest(&session.join("manifest.mount"), device(&session));
        rebase.json(&session.join("mount.json"));
        for journal in fs::read_dir(session.join("journal")).into_iter().flatten() {
            rebase.json(&journal.unwrap().path());
        }
        rebase.locks(&root.join("home/.agentworkforce/workforce/locks"));
        close_directories(&root, &entries);
        let id = session.file_name().unwrap().to_str().unwrap().to_owned();
        (world, id)
    }
}

fn parse(name: &str, root: &str) -> Vec<Entry> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/it/fixtures/sessions/{name}.world"));
    let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let mut entries: Vec<Entry> = Vec::new();
    for line in text.lines() {
        match line.strip_prefix('|') {
            Some(line) => entries.last_mut().unwrap().lines.push(line.replace(RECORDED_ROOT, root)),
            None => entries.push(serde_json::from_str(line).unwrap()),
        }
    }
    entries
}

fn content(entry: &Entry) -> Vec<u8> {
    if let Some(hex) = &entry.hex {
        return unhex(hex);
    }
    let mut text = entry.lines.join("\n");
    if entry.ends_with_newline == Some(true) && !entry.lines.is_empty() {
        text.push('\n');
    }
    text.into_bytes()
}

fn unhex(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn mode(entry: &Entry) -> u32 {
    u32::from_str_radix(&entry.mode, 8).unwrap()
}

fn create(root: &Path, entry: &Entry) {
    let path = root.join(&entry.path);
    match entry.kind {
        Kind::Dir => fs::create_dir_all(path).unwrap(),
        Kind::File => fs::write(path, content(entry)).unwrap(),
        Kind::Symlink => symlink(entry.target.as_ref().unwrap(), path).unwrap(),
        Kind::Whiteout => {
            rustix::fs::mknodat(CWD, &path, FileType::CharacterDevice, Mode::empty(), 0).unwrap();
        }
    }
}

/// A directory that its owner cannot enter gets its mode last.
fn is_closed(entry: &Entry) -> bool {
    entry.kind == Kind::Dir && mode(entry) & 0o700 != 0o700
}

fn set_metadata(path: &Path, entry: &Entry) {
    for (name, value) in &entry.xattrs {
        // Only root may set those that root's overlay makes.
        let name = if is_root() { name.clone() } else { name.replace("trusted.", "user.") };
        rustix::fs::lsetxattr(path, name, &unhex(value), XattrFlags::empty()).unwrap();
    }
    if !is_closed(entry) && matches!(entry.kind, Kind::File | Kind::Dir) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode(entry))).unwrap();
    }
    set_mtime(path, entry);
}

fn set_mtime(path: &Path, entry: &Entry) {
    let time = Timespec { tv_sec: entry.mtime.0, tv_nsec: i64::from(entry.mtime.1) };
    let times = Timestamps { last_access: time, last_modification: time };
    rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW).unwrap();
}

fn close_directories(root: &Path, entries: &[Entry]) {
    for entry in entries.iter().rev().filter(|entry| is_closed(entry)) {
        fs::set_permissions(root.join(&entry.path), fs::Permissions::from_mode(mode(entry))).unwrap();
    }
}

fn ctime_of(metadata: &fs::Metadata) -> Time {
    (metadata.ctime(), u32::try_from(metadata.ctime_nsec()).unwrap())
}

fn time(value: &Value) -> Time {
    (value["seconds"].as_i64().unwrap(), u32::try_from(value["nanos"].as_u64().unwrap()).unwrap())
}

fn read_json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

impl Rebase {
    fn inode(&self, dev: u64, ino: u64) -> u64 {
        self.inodes.get(&(dev, ino)).map_or(GONE + ino, |now| now.2)
    }

    /// The ctime now of what has not been touched between this record and the end of the recording. Any other ctime
    /// stays on its side of the launch.
    fn ctime(&self, dev: u64, ino: u64, ctime: Time) -> Time {
        match self.inodes.get(&(dev, ino)) {
            Some((recorded, _, _, now)) if *recorded == ctime => *now,
            _ if ctime < self.launched => ctime,
            _ => (self.launched_now.0 + (ctime.0 - self.launched.0), ctime.1.max(self.launched_now.1)),
        }
    }

    fn device(&self, dev: u64) -> u64 {
        self.inodes.iter().find(|((recorded, _), _)| *recorded == dev).map_or(dev, |(_, now)| now.1)
    }

    /// Every stat in a JSON file, wherever it is.
    fn json(&self, path: &Path) {
        let mut value = read_json(path);
        self.value(&mut value);
        fs::write(path, serde_json::to_vec(&value).unwrap()).unwrap();
    }

    fn value(&self, value: &mut Value) {
        let number = |value: &Value, key: &str| value.get(key).and_then(Value::as_u64);
        for (dev_key, ino_key) in [("dev", "ino"), ("rootDev", "rootIno")] {
            if let (Some(dev), Some(ino)) = (number(value, dev_key), number(value, ino_key)) {
                if let Some(ctime) = value.get_mut("ctime") {
                    let (seconds, nanos) = self.ctime(dev, ino, time(ctime));
                    *ctime = json!({"seconds": seconds, "nanos": nanos});
                }
                value[ino_key] = self.inode(dev, ino).into();
                value[dev_key] = self.device(dev).into();
            }
        }
        if value.get("uid").is_some() {
            value["uid"] = rustix::process::geteuid().as_raw().into();
            value["gid"] = rustix::process::getegid().as_raw().into();
        }
        if value.get("launchedAt").is_some() {
            value["launchedAt"] = json!({"seconds": self.launched_now.0, "nanos": self.launched_now.1});
        }
        if !is_root() && value.get("xattrs").is_some_and(|namespace| namespace == "trusted") {
            value["xattrs"] = "user".into();
        }
        match value {
            Value::Object(object) => object.values_mut().for_each(|value| self.value(value)),
            Value::Array(list) => list.iter_mut().for_each(|value| self.value(value)),
            _ => {}
        }
    }

    /// A manifest (layout in `mount/manifest.rs`): inode and ctime of every record, in place.
    fn manifest(&self, path: &Path, dev: u64) {
        let Ok(mut bytes) = fs::read(path) else { return };
        assert_eq!(&bytes[..8], b"awfbase2");
        let end = usize::try_from(u64::from_le_bytes(bytes[8..16].try_into().unwrap())).unwrap();
        let mut at = 24;
        while at < end {
            let length = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
            let seconds = i64::from_le_bytes(bytes[at + 28..at + 36].try_into().unwrap());
            let nanos = u32::from_le_bytes(bytes[at + 36..at + 40].try_into().unwrap());
            let ino = u64::from_le_bytes(bytes[at + 40..at + 48].try_into().unwrap());
            let ctime = self.ctime(dev, ino, (seconds, nanos));
            bytes[at + 28..at + 36].copy_from_slice(&ctime.0.to_le_bytes());
            bytes[at + 36..at + 40].copy_from_slice(&ctime.1.to_le_bytes());
            bytes[at + 40..at + 48].copy_from_slice(&self.inode(dev, ino).to_le_bytes());
            at += 48 + length;
        }
        assert_eq!(at, end);
        fs::write(path, bytes).unwrap();
    }

    /// The locks of projects are named after device and inode.
    fn locks(&self, dir: &Path) {
        for lock in fs::read_dir(dir).into_iter().flatten() {
            let lock = lock.unwrap().path();
            let stem = lock.file_stem().unwrap().to_str().unwrap();
            let (dev, ino) = stem.split_once('-').unwrap();
            let (dev, ino) = (u64::from_str_radix(dev, 16).unwrap(), u64::from_str_radix(ino, 16).unwrap());
            let name = format!("{:x}-{:x}.lock", self.device(dev), self.inode(dev, ino));
            fs::rename(&lock, lock.with_file_name(name)).unwrap();
        }
    }
}
