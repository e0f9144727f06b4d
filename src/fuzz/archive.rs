//! Archives of packs: no entry leaves the pack, everything in it can be listed and locked, and what is installed stays
//! below the directories of personas and roles.

use crate::pack::contents::{self, Contents};
use crate::pack::lockfile::{Lock, LockedPack, hashes};
use crate::pack::tree::{Tree, clean_path};
use crate::pack::{archive, write_archive};
use std::collections::BTreeMap;
use std::path::{Component, Path};

/// The bytes of an archive, as they are and with corrected header checksums, which no fuzzer guesses. Text that starts
/// with `%` is a tree instead, a line per entry: `path`, `path -> target` or `path = content`.
pub fn check(data: &[u8]) {
    if let Some(lines) = data.strip_prefix(b"%").and_then(|rest| std::str::from_utf8(rest).ok()) {
        if let Some(tree) = listed(lines) {
            used(&tree);
        }
        return;
    }
    for bytes in [data.to_vec(), with_checksums(data.to_vec())] {
        if let Ok(tree) = archive::read(&bytes[..]) {
            used(&tree);
        }
    }
}

fn listed(lines: &str) -> Option<Tree> {
    let mut tree = Tree::default();
    for line in lines.lines().take(200) {
        let done = if let Some((path, target)) = line.split_once(" -> ") {
            tree.add_link(path, target)
        } else if let Some((path, content)) = line.split_once(" = ") {
            tree.add_file(path, content.replace("\\n", "\n").into_bytes(), false)
        } else {
            tree.add_file(line, Vec::new(), true)
        };
        done.ok()?;
    }
    tree.check().ok().map(|()| tree)
}

fn used(tree: &Tree) {
    let files = tree.files_below("");
    for (path, _) in &files {
        assert!(stays(path), "{path}");
        assert_eq!(clean_path(path).ok().as_ref(), Some(path));
        assert!(tree.file(path).is_some());
    }
    for path in ["..", "../x"] {
        assert!(tree.file(path).is_none() && !tree.is_dir(path), "{path}");
    }
    let _ = contents::ids(tree).is_ok();
    if let Ok(contents) = contents::read(tree, &[]) {
        installed(&contents);
        written(tree, &contents);
    }
}

/// The lock accepts every path that an install writes.
fn installed(contents: &Contents) {
    let mut pack = LockedPack { source: "here".into(), ..LockedPack::default() };
    for unit in &contents.units {
        for path in unit.files.keys() {
            assert!(stays(path.strip_prefix("../roles/").unwrap_or(path)), "{path}");
        }
        pack.units_of_mut(unit.kind).insert(unit.id.clone(), hashes(unit));
    }
    let lock = Lock { schema_version: 1, packs: BTreeMap::from([("pack".to_owned(), pack)]) };
    let text = String::from_utf8(lock.bytes()).expect("text");
    match Lock::of_text(Path::new("agentworkforce.lock"), &text) {
        Ok(again) => assert_eq!(again, lock),
        Err(error) => panic!("{error:?} in {text}"),
    }
}

/// The contents can be packed again and stay the same.
fn written(tree: &Tree, contents: &Contents) {
    let mut paths: Vec<String> = contents.units.iter().flat_map(|unit| unit.origins.clone()).collect();
    paths.sort();
    paths.dedup();
    let bytes = write_archive::write(tree, &paths, &[]).expect("every path was found before");
    let again = write_archive::read_back(&bytes).expect("our own archive");
    for path in &paths {
        assert_eq!(
            again.file(path).map(|file| &file.bytes),
            tree.file(path).map(|file| &file.bytes),
            "{path}"
        );
    }
}

fn stays(path: &str) -> bool {
    !path.is_empty() && Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
}

/// The archive with correct header checksums.
fn with_checksums(mut bytes: Vec<u8>) -> Vec<u8> {
    const BLOCK: usize = 512;
    let mut at = 0;
    while let Some(header) = bytes.get_mut(at..at + BLOCK) {
        // An archive ends with empty blocks.
        if header.iter().all(|byte| *byte == 0) {
            break;
        }
        header[148..156].fill(b' ');
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        let digits = header[124..136].iter().take_while(|byte| (b'0'..=b'7').contains(byte));
        let size = digits.fold(0_usize, |size, digit| size.saturating_mul(8) + usize::from(digit - b'0'));
        at = at.saturating_add(BLOCK).saturating_add(size.min(bytes.len()).div_ceil(BLOCK) * BLOCK);
    }
    bytes
}
