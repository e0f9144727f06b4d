//! Files of git that we parse ourselves: the index, `.git` files, commit names; and the kernel's mount table.

use crate::mount::git::index_file::IndexFile;
use crate::mount::git::refs::object_name;
use crate::mount::git::repository::{exclude_with, pointer_target};
use crate::mount::process::mount_table;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

pub fn check(data: &[u8]) {
    if let Some(index) = IndexFile::parse(data.to_vec()) {
        marked(&index);
    }
    if let Some(target) = pointer_target(data) {
        assert!(!target.as_os_str().is_empty());
    }
    if let Some(name) = std::str::from_utf8(data).ok().and_then(object_name) {
        assert!(matches!(name.len(), 40 | 64) && name.is_ascii());
    }
    let table = mount_table::parse(data);
    let lines = data.split(|byte| *byte == b'\n').count();
    assert!(table.len() <= lines);
    let _ = mount_table::below(&table, Path::new("/"));
    let planted: Vec<PathBuf> =
        data.split(|byte| *byte == 0).map(|name| PathBuf::from(OsStr::from_bytes(name))).collect();
    let excluded = exclude_with(b"kept", &planted);
    assert!(excluded.starts_with(b"kept\n"));
    assert!(excluded.split(|byte| *byte == b'\n').count() <= planted.len() + 2, "one line a path");
}

/// Marking keeps every name and its order, and is idempotent.
fn marked(index: &IndexFile) {
    let names = |index: &IndexFile| -> Vec<Vec<u8>> {
        (0..index.len()).map(|number| index.name(number).to_vec()).collect()
    };
    let all = names(index);
    let marked: Vec<PathBuf> =
        all.iter().step_by(2).map(|name| PathBuf::from(OsStr::from_bytes(name))).collect();
    let written = index.with_skip_worktree(&marked);
    let again = IndexFile::parse(written.clone()).expect("our own index is understood");
    assert_eq!(names(&again), all);
    assert!(again.with_skip_worktree(&marked) == written, "marking what is marked changes nothing");
}
