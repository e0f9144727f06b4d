//! Describes a directory entry well enough to tell two states of it apart without reading its content.

use crate::model::mount_record::Instant;
use rustix::fs::FileType;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The permission bits: the only part of a mode that an apply ever changes. Set-uid, set-gid and sticky bits that an agent sets
/// never leave its mount.
pub const PERMISSIONS: u32 = 0o777;
/// Set-uid and set-gid: the file runs with the privileges of its owner or group.
pub const SET_ID: u32 = 0o6000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    File,
    Dir,
    Symlink,
    /// A socket, fifo or device.
    Special,
}

/// The stat of one entry, not following a symlink.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stat {
    pub kind: Kind,
    /// All twelve bits.
    pub mode: u32,
    pub size: u64,
    pub mtime: Instant,
    pub ctime: Instant,
    pub ino: u64,
    pub dev: u64,
    pub uid: u32,
    pub gid: u32,
    /// The device number of a device, else 0. An overlay's whiteout is a character device 0/0.
    #[serde(default)]
    pub rdev: u64,
    #[serde(default)]
    pub is_char_device: bool,
}

impl Stat {
    pub fn permissions(&self) -> u32 {
        self.mode & PERMISSIONS
    }

    /// An overlay's mark for "not there".
    pub fn is_whiteout(&self) -> bool {
        self.is_char_device && self.rdev == 0
    }

    /// The same inode with the same content, judging by times and size. Ignores ctime, because our own renames change it.
    pub fn is_same_content(&self, other: &Stat) -> bool {
        self.kind == other.kind
            && self.ino == other.ino
            && (self.kind == Kind::Dir || (self.size == other.size && self.mtime == other.mtime))
    }
}

// The width and sign of these fields differs between platforms.
#[allow(
    clippy::cast_sign_loss,
    clippy::cast_possible_truncation,
    clippy::unnecessary_cast,
    clippy::cast_lossless
)]
impl From<&rustix::fs::Stat> for Stat {
    fn from(stat: &rustix::fs::Stat) -> Stat {
        let file_type = FileType::from_raw_mode(stat.st_mode as _);
        let kind = match file_type {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Dir,
            FileType::Symlink => Kind::Symlink,
            _ => Kind::Special,
        };
        Stat {
            kind,
            mode: stat.st_mode as u32 & 0o7777,
            size: stat.st_size as u64,
            mtime: Instant { seconds: stat.st_mtime as i64, nanos: stat.st_mtime_nsec as u32 },
            ctime: Instant { seconds: stat.st_ctime as i64, nanos: stat.st_ctime_nsec as u32 },
            ino: stat.st_ino as u64,
            dev: stat.st_dev as u64,
            uid: stat.st_uid,
            gid: stat.st_gid,
            rdev: stat.st_rdev as u64,
            is_char_device: file_type == FileType::CharacterDevice,
        }
    }
}
