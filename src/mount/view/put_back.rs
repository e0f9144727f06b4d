//! Restores paths of a mount to their state at launch, as if the agent had not touched them. Nothing may run in the mount meanwhile;
//! the project is only read.

use super::inject::{Upper, write_into};
use super::open::OpenMount;
use super::request::at;
use super::scratch::checked;
use super::upper_state::{Above, above};
use crate::model::mount::Backend;
use crate::model::mount_record::XattrNamespace;
use crate::model::raw_path::RawPath;
use crate::mount::changes::manifest::Manifest;
use crate::mount::changes::since_launch::{is_as_at_launch, read_base};
use crate::mount::error::MountError;
use crate::mount::fs::copy_entry::{CopyOptions, copy_entry, make_parents, remove_entry};
use crate::mount::fs::stat::Kind;
use crate::mount::fs::tree::{Lookup, Tree};
use anyhow::Result;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The trees that a path is restored from and to.
struct Sides {
    project: Tree,
    mount: Tree,
    base: Manifest,
}

impl OpenMount {
    /// Puts these paths, and what is below them, back to their state at launch. Hidden and injected files among them are as
    /// recorded afterwards. If one cannot be put back nothing is changed, and the error names it.
    pub fn put_back(&self, paths: &[RawPath]) -> Result<()> {
        if paths.is_empty() {
            return Ok(());
        }
        let sides = Sides {
            project: Tree::open(&self.record.root)?,
            mount: Tree::open(&self.session_dir.join(&self.record.data))?,
            base: read_base(&self.session_dir)?,
        };
        let paths = paths.iter().map(checked).collect::<Result<Vec<&Path>, MountError>>()?;
        tracing::debug!(?paths, "putting paths back");
        match (self.record.backend, self.record.xattrs) {
            (Backend::Overlay, Some(xattrs)) => self.put_back_in_upper(&sides, xattrs, &paths),
            (Backend::Copy, _) => self.put_back_in_copy(&sides, &paths),
            _ => Err(MountError::NoView.into()),
        }
    }

    fn put_back_in_upper(&self, sides: &Sides, xattrs: XattrNamespace, paths: &[&Path]) -> Result<()> {
        let injected = self.injected_files()?;
        let mut from_project = Vec::new();
        for path in paths {
            match above(&sides.mount, xattrs, path)? {
                Above::ShowsThrough => from_project.push(BTreeSet::new()),
                Above::Covered => from_project.push(self.at_launch(sides, path)?),
                Above::Blocked => return Err(MountError::BlockedPath { path: path.to_path_buf() }.into()),
            }
        }
        for (path, copied) in paths.iter().zip(from_project) {
            remove_entry(&sides.mount, path).map_err(|error| at(path, error))?;
            let mut upper = Upper::new(&self.record.root, sides.mount.path(), xattrs)?;
            if !copied.is_empty() {
                upper.place(path)?;
                copy_all(sides, path, &copied).map_err(|error| at(path, error))?;
            }
            for hidden in self.record.hidden.iter().filter(|hidden| hidden.path.starts_with(path)) {
                upper.hide(&hidden.path).map_err(|error| at(&hidden.path, error))?;
            }
            for file in injected.iter().filter(|file| file.path.starts_with(path)) {
                upper.inject(file).map_err(|error| at(&file.path, error))?;
            }
            upper.finish()?;
        }
        Ok(())
    }

    fn put_back_in_copy(&self, sides: &Sides, paths: &[&Path]) -> Result<()> {
        let injected = self.injected_files()?;
        let mut copies = Vec::new();
        for path in paths {
            let copied = self.at_launch(sides, path)?;
            if !copied.is_empty() && is_blocked(&sides.mount, path)? {
                return Err(MountError::BlockedPath { path: path.to_path_buf() }.into());
            }
            copies.push(copied);
        }
        for (path, copied) in paths.iter().zip(copies) {
            remove_entry(&sides.mount, path).map_err(|error| at(path, error))?;
            if !copied.is_empty() {
                make_parents(&sides.project, &sides.mount, path)?;
                copy_all(sides, path, &copied).map_err(|error| at(path, error))?;
            }
            for file in injected.iter().filter(|file| file.path.starts_with(path)) {
                write_into(sides.mount.path(), file).map_err(|error| at(&file.path, error))?;
            }
        }
        Ok(())
    }

    /// Everything that was at or below a path at launch; an error if the project no longer has it.
    fn at_launch(&self, sides: &Sides, path: &Path) -> Result<BTreeSet<PathBuf>> {
        let mut found = BTreeSet::new();
        let own = sides.base.get(path)?.map(|_| path.to_path_buf());
        for path in own.into_iter().chain(sides.base.below(path)?) {
            let is_git = path.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git"));
            if is_git || self.record.is_protected(&path) {
                continue;
            }
            let entry = sides.base.get(&path)?.ok_or(MountError::NoBase)?;
            if entry.kind == Kind::Special {
                continue;
            }
            if !is_as_at_launch(&self.record, &entry, sides.project.stat(&path)?.as_ref()) {
                return Err(MountError::ChangedSinceLaunch { path }.into());
            }
            found.insert(path);
        }
        Ok(found)
    }
}

/// Copies a path of the project, and what is below it, into the mount, as far as it is on the list.
fn copy_all(sides: &Sides, path: &Path, listed: &BTreeSet<PathBuf>) -> std::io::Result<()> {
    let is_new = |path: &Path| !listed.contains(path);
    copy_entry(&sides.project, &sides.mount, path, &CopyOptions { opaque: None, skip: &is_new })
}

/// Whether a directory above a path is a file or link.
fn is_blocked(mount: &Tree, path: &Path) -> std::io::Result<bool> {
    Ok(match mount.lookup(path)? {
        Lookup::Present(_) | Lookup::Absent => false,
        Lookup::NoParent { existing } => {
            let parent: PathBuf = path.components().take(existing + 1).collect();
            mount.stat(&parent)?.is_some()
        }
    })
}
