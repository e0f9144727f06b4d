//! File contents kept in the session, each under its hash: a lookup returns exactly what was stored, or nothing. Callers decide which
//! contents to keep.

use super::merge::LARGEST;
use crate::files::regular;
use crate::host::interruption;
use anyhow::bail;
use serde::{Deserialize, Serialize};
use std::fs::{DirBuilder, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// In the session directory.
pub const BASE_DIR: &str = "base";

/// The BLAKE3 hash of a content in hexadecimal; files in the store have no other names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct ContentHash(String);

impl TryFrom<String> for ContentHash {
    type Error = anyhow::Error;

    fn try_from(text: String) -> anyhow::Result<ContentHash> {
        let is_hash = text.len() == 2 * blake3::OUT_LEN
            && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if !is_hash {
            bail!("`{}` is not a hash", text.escape_debug());
        }
        Ok(ContentHash(text))
    }
}

impl From<blake3::Hash> for ContentHash {
    fn from(hash: blake3::Hash) -> ContentHash {
        ContentHash(hash.to_hex().to_string())
    }
}

impl ContentHash {
    pub fn of(bytes: &[u8]) -> ContentHash {
        blake3::hash(bytes).into()
    }

    /// Hashes the content of an open file of any size, without moving its position.
    pub fn of_file(file: &File) -> io::Result<ContentHash> {
        let mut hasher = blake3::Hasher::new();
        let mut buffer = vec![0; 64 * 1024];
        let mut position = 0;
        loop {
            interruption::check()?;
            let length = match file.read_at(&mut buffer, position) {
                Ok(0) => return Ok(hasher.finalize().into()),
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            hasher.update(&buffer[..length]);
            position += length as u64;
        }
    }
}

/// The directory that contains them.
#[derive(Debug, Clone)]
pub struct ContentStore {
    dir: PathBuf,
}

impl ContentStore {
    /// Does not create the directory yet.
    pub fn of(session: &Path) -> ContentStore {
        ContentStore { dir: session.join(BASE_DIR) }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    pub fn make(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)
    }

    /// Stores a content. `from` is a file that should contain it; its blocks are shared if the filesystem supports that. If it has
    /// changed by now, nothing will be found under the hash.
    pub fn put(&self, bytes: &[u8], from: Option<BorrowedFd<'_>>) -> io::Result<ContentHash> {
        let hash = ContentHash::of(bytes);
        let path = self.path(&hash.0);
        if path.metadata().is_ok_and(|found| found.len() == bytes.len() as u64) {
            return Ok(hash);
        }
        let temporary = path.with_extension("new");
        let mut file =
            File::options().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
        let is_shared = from.is_some_and(|from| rustix::fs::ioctl_ficlone(file.as_fd(), from).is_ok());
        if !is_shared {
            file.write_all(bytes)?;
        }
        std::fs::rename(&temporary, &path)?;
        Ok(hash)
    }

    /// The content with this hash, if it exists and is intact: without a sync it may be lost in a power failure.
    pub fn get(&self, hash: &ContentHash) -> Option<Vec<u8>> {
        let bytes = regular::read(&self.path(&hash.0), LARGEST).ok()?;
        (ContentHash::of(&bytes) == *hash).then_some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_damaged_is_not_there() {
        let session = tempfile::tempdir().unwrap();
        let store = ContentStore::of(session.path());
        store.make().unwrap();
        let hash = store.put(b"text", None).unwrap();
        assert_eq!(store.get(&hash).unwrap(), b"text");
        std::fs::write(store.path(&hash.0), "TEXT").unwrap();
        assert_eq!(store.get(&hash), None);
        assert_eq!(store.get(&ContentHash::of(b"other")), None);
        // A file that changed under our hands is not what was read.
        let mut other = tempfile::tempfile().unwrap();
        other.write_all(b"changed").unwrap();
        let hash = store.put(b"as it was", Some(other.as_fd())).unwrap();
        assert!(store.get(&hash).is_none_or(|bytes| bytes == b"as it was"));
    }

    #[test]
    fn only_a_hash_is_a_name() {
        for bad in ["", "..", "../x", &"g".repeat(64), &"A".repeat(64), &"a/".repeat(32)] {
            assert!(serde_json::from_value::<ContentHash>(bad.into()).is_err(), "{bad}");
        }
        assert!(serde_json::from_value::<ContentHash>("0a".repeat(32).into()).is_ok());
    }
}
