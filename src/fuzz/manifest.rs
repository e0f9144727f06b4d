//! The manifest of a run: a damaged one is an error, never a panic or a large allocation. One that we wrote is read back
//! unchanged.

use crate::model::mount_record::Instant;
use crate::mount::changes::manifest::{Entry, Manifest, ManifestWriter, path_order};
use crate::mount::fs::stat::Kind;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

pub fn check(data: &[u8]) {
    if let Ok(manifest) = Manifest::of_bytes(data.to_vec()) {
        asked(&manifest);
    }
    written_and_read(data);
}

fn asked(manifest: &Manifest) {
    let mut entries: Vec<(PathBuf, Entry)> = Vec::new();
    for entry in manifest.entries() {
        // A reader stops at the first damage.
        let Ok(entry) = entry else { return };
        entries.push(entry);
    }
    for (path, _) in entries.iter().take(50) {
        let _ = (manifest.get(path).is_ok(), manifest.below(path).is_ok());
    }
    let _ = manifest.below(Path::new(""));
}

/// The lines of the input as paths, in order, each with numbers from its own bytes.
fn written_and_read(data: &[u8]) {
    let mut names: Vec<&[u8]> = data.split(|byte| *byte == b'\n').filter(|name| !name.contains(&0)).collect();
    names.sort_by(|a, b| path_order(a, b));
    names.dedup();
    let mut writer = ManifestWriter::default();
    let entries: Vec<Entry> = names.iter().map(|name| entry_of(number(name))).collect();
    for (name, entry) in names.iter().zip(&entries) {
        writer.push(name, entry);
    }
    let manifest = Manifest::of_bytes(writer.finish()).expect("our own manifest");
    let read: Vec<(PathBuf, Entry)> = manifest.entries().map(|entry| entry.expect("our own")).collect();
    let expected: Vec<(PathBuf, Entry)> = names
        .iter()
        .zip(&entries)
        .map(|(name, entry)| (PathBuf::from(OsStr::from_bytes(name)), *entry))
        .collect();
    assert_eq!(read, expected);
    for (path, entry) in expected.iter().step_by(7) {
        assert_eq!(manifest.get(path).expect("our own").as_ref(), Some(entry));
    }
}

fn entry_of(number: u64) -> Entry {
    let kinds = [Kind::File, Kind::Dir, Kind::Symlink, Kind::Special];
    let time = Instant { seconds: number.cast_signed(), nanos: 999_999_999 };
    let mode = u32::try_from(number & 0o7777).unwrap_or_default();
    let kind = kinds[usize::try_from(number % 4).unwrap_or_default()];
    Entry { kind, mode, size: number, mtime: time, ctime: time, ino: !number }
}

fn number(name: &[u8]) -> u64 {
    name.iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
