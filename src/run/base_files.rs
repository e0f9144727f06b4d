//! The files of the project at launch: which there were, and the texts of some. The result of the run is not looked at.

use super::open::OpenRun;
use crate::files::regular;
use crate::host::interruption;
use crate::mount::changes::manifest::{MANIFEST_FILE, Manifest};
use crate::rules::PathRules;
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::sync::Arc;

impl OpenRun<'_> {
    /// The files that were there at launch and are neither hidden nor ignored, relative to the root.
    pub fn base_files(&self) -> Result<BTreeSet<String>> {
        let root = &self.run.plan.mount.root;
        let base = Manifest::read(&self.session.dir, MANIFEST_FILE)?;
        let mut files = unignored_files(root)?;
        if let Some(base) = &base {
            // In one pass: to ask for each of many files would look through a block of them each time.
            let at_launch: HashSet<OsString> = base
                .entries()
                .map(|entry| entry.map(|(path, _)| path.into_os_string()))
                .collect::<io::Result<_>>()?;
            files.retain(|file| at_launch.contains(OsStr::new(file)));
        }
        if let Ok(rules) = PathRules::compile(&self.run.plan.mount.rules) {
            files.retain(|file| !rules.decide(Path::new(file), false).is_hidden());
        }
        Ok(files)
    }

    /// The texts of these files, as the project has them; those that are no text or too long are left out.
    pub fn project_texts<'p>(
        &self,
        paths: impl Iterator<Item = &'p str>,
        largest: u64,
    ) -> BTreeMap<String, Arc<str>> {
        texts(&self.run.plan.mount.root, paths, largest)
    }
}

/// The texts of files below a directory.
pub fn texts<'p>(
    root: &Path,
    paths: impl Iterator<Item = &'p str>,
    largest: u64,
) -> BTreeMap<String, Arc<str>> {
    let mut texts = BTreeMap::new();
    for path in paths {
        let Ok(bytes) = regular::read(&root.join(path), largest) else { continue };
        if let Ok(text) = String::from_utf8(bytes) {
            texts.insert(path.to_owned(), Arc::from(text));
        }
    }
    texts
}

/// The files below a directory that git does not ignore.
pub fn unignored_files(root: &Path) -> Result<BTreeSet<String>> {
    let mut files = BTreeSet::new();
    let is_git = |entry: &ignore::DirEntry| entry.file_name() != ".git";
    let walk = ignore::WalkBuilder::new(root)
        .hidden(false)
        .ignore(false)
        .require_git(false)
        .follow_links(false)
        .filter_entry(is_git)
        .build();
    for entry in walk.flatten() {
        interruption::check()?;
        let is_dir = entry.file_type().is_none_or(|kind| kind.is_dir());
        let path = entry.path().strip_prefix(root).ok().and_then(Path::to_str);
        if let (false, Some(path)) = (is_dir, path) {
            files.insert(path.to_owned());
        }
    }
    Ok(files)
}
