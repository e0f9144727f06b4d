//! Throwaway views of the same project: of the result, of the project after an apply, of the project at launch, and of the latter with
//! some paths from the result. Everything that is written in one goes to its scratch directory.

use super::as_applied::NotApplied;
use super::copy::open_copy;
use super::inject::{InjectedFile, Upper, write_into};
use super::layout::helper_spec;
use super::open::OpenMount;
use super::overlay::open_overlay;
use super::request::{at, make_dir};
use super::upper_state::{UpperState, state_of};
use crate::files::regular;
use crate::model::mount::{Backend, Sandbox};
use crate::model::mount_record::{InjectedRecord, LARGEST_INJECTED, MountRecord};
use crate::model::raw_path::RawPath;
use crate::mount::changes::Change;
use crate::mount::changes::compare::After;
use crate::mount::changes::manifest::{MOUNT_MANIFEST_FILE, Manifest};
use crate::mount::changes::since_launch::{SinceLaunch, since_launch};
use crate::mount::error::MountError;
use crate::mount::fs::copy_entry::{CopyOptions, copy_entry, make_parents, remove_entry};
use crate::mount::fs::duplicate::duplicate;
use crate::mount::fs::tree::Tree;
use crate::mount::process::child::Helper;
use anyhow::Result;
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, utimensat};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// What a view shows.
#[derive(Debug, Clone, Copy)]
pub enum ViewOf<'a> {
    /// The project with all changes made in the mount so far.
    Result,
    /// The same, limited to what would be applied: these paths, and the settings and hooks of repositories, are as in the project.
    Applied(&'a NotApplied),
    /// The project at launch, with what was hidden and injected then.
    Base,
    /// The same, with these paths (and what is below them) taken from the result.
    BaseWith(&'a [RawPath]),
    /// The project at launch with these changes of the result, each by itself and written just now, and without our injected files:
    /// what an apply of them would have made of it then.
    Measured(&'a [Change]),
}

/// A view that is thrown away.
#[derive(Debug)]
pub struct ScratchView {
    pub mount: OpenMount,
    /// Paths that the user changed since launch and whose state at launch is not available: the view shows them as they are
    /// in the project now.
    pub changed_by_user: Vec<RawPath>,
    /// The topmost layer of the project in it, or all of it in a copy.
    layer: PathBuf,
}

impl OpenMount {
    /// Makes a view whose files are in `scratch`, a new directory inside the session.
    pub fn view_of(&self, what: ViewOf, scratch: &Path) -> Result<ScratchView> {
        tracing::debug!(?what, scratch = %scratch.display(), "making a view");
        let top = match self.record.backend {
            Backend::Overlay => scratch.join("0/upper"),
            _ => scratch.to_path_buf(),
        };
        let complete = |mount| ScratchView { mount, changed_by_user: Vec::new(), layer: top.clone() };
        let (base, paths) = match (what, self.record.backend) {
            (ViewOf::Result, Backend::Overlay) => {
                return Ok(complete(self.overlay_of_result(scratch, None)?));
            }
            (ViewOf::Applied(refused), Backend::Overlay) => {
                return Ok(complete(self.overlay_of_result(scratch, Some(refused))?));
            }
            (ViewOf::Result, Backend::Copy) => return Ok(complete(self.copy_of_result(scratch)?)),
            (ViewOf::Applied(refused), Backend::Copy) => {
                let view = self.copy_of_result(scratch)?;
                self.correct_copy(scratch, refused)?;
                return Ok(complete(view));
            }
            (ViewOf::Result | ViewOf::Applied(_), Backend::Auto | Backend::None) => {
                return Ok(complete(self.same_view()?));
            }
            (_, Backend::Auto | Backend::None) => return Err(MountError::NoView.into()),
            (ViewOf::Base, _) => (self.base_view(scratch, &self.injected_files()?)?, &[][..]),
            (ViewOf::BaseWith(paths), _) => (self.base_view(scratch, &self.injected_files()?)?, paths),
            (ViewOf::Measured(changes), _) => {
                let mut view = self.base_view(scratch, &[])?;
                view.mount.take_changes(self, changes)?;
                let is_taken = |path: &RawPath| changes.iter().any(|change| change.path == *path);
                view.changed_by_user.retain(|path| !is_taken(path));
                return Ok(view);
            }
        };
        for path in paths {
            base.mount.take_from(self, checked(path)?).map_err(|error| at(path, error))?;
        }
        let taken = |path: &RawPath| paths.iter().any(|taken| path.starts_with(&taken.0));
        let mut base = base;
        let changed_by_user = std::mem::take(&mut base.changed_by_user);
        let changed_by_user = changed_by_user.into_iter().filter(|path| !taken(path)).collect();
        Ok(ScratchView { changed_by_user, ..base })
    }

    fn overlay_of_result(&self, scratch: &Path, refused: Option<&NotApplied>) -> Result<OpenMount> {
        let mut view = self.same_view()?;
        // Those of the harness's configuration come first and stay as they are.
        let project = view.helper.spec.overlays.iter_mut().skip(self.inputs.config.len());
        for (number, overlay) in project.enumerate() {
            let dir = scratch.join(number.to_string());
            let below = std::mem::replace(&mut overlay.upper, dir.join("upper").into());
            overlay.work = dir.join("work").into();
            make_dir(&overlay.upper).map_err(|error| at(&overlay.upper, error))?;
            make_dir(&overlay.work).map_err(|error| at(&overlay.work, error))?;
            if let Some(refused) = refused {
                self.correct_upper(&overlay.target, &below, &overlay.upper, refused)?;
            }
            overlay.lowers.insert(0, below);
        }
        Ok(view)
    }

    fn copy_of_result(&self, scratch: &Path) -> Result<OpenMount> {
        let copied = self.session_dir.join(&self.record.data);
        duplicate(&copied, scratch)?;
        let mut view = self.same_view()?;
        let below = self.helper.spec.workdir.strip_prefix(&copied).unwrap_or(Path::new(""));
        view.helper.spec.workdir = scratch.join(below).components().collect::<PathBuf>().into();
        Ok(view)
    }

    /// Opened like the mount itself, over the project as it is now; then as much as possible of what the user changed since
    /// is taken back.
    fn base_view(&self, scratch: &Path, injected: &[InjectedFile]) -> Result<ScratchView> {
        make_dir(scratch).map_err(|error| at(scratch, error))?;
        let since = since_launch(&self.session_dir, &self.record, &self.inputs.spec.rules, scratch)?;
        let request = self.inputs.request(&self.helper, injected, scratch);
        let mut record = MountRecord {
            containment: self.record.containment,
            root_dev: self.record.root_dev,
            root_ino: self.record.root_ino,
            ..MountRecord::bare(
                self.record.backend,
                self.record.sandbox,
                self.record.root.clone(),
                self.record.launched_at,
            )
        };
        let changed = match self.record.backend {
            Backend::Copy => {
                open_copy(&request, &mut record)?;
                self.restore_base(&since, &record, &scratch.join(&record.data))?
            }
            _ => {
                open_overlay(&request, &mut record)?;
                [since.changed, since.new].concat()
            }
        };
        let helper =
            Helper { spec: helper_spec(&request, &record, &self.inputs.config), ..self.helper.try_clone()? };
        let inputs = Arc::clone(&self.inputs);
        let layer = scratch.join(&record.data);
        let mount = OpenMount { record, session_dir: scratch.to_path_buf(), helper, inputs };
        let mut changed_by_user: Vec<RawPath> = changed.into_iter().map(RawPath).collect();
        changed_by_user.sort();
        Ok(ScratchView { mount, changed_by_user, layer })
    }

    /// Copy backend: the mount still has the state at launch of everything that the agent left alone. Returns the rest.
    fn restore_base(&self, since: &SinceLaunch, record: &MountRecord, base: &Path) -> Result<Vec<PathBuf>> {
        let is_protected = |path: &Path| record.is_protected(path);
        let options = CopyOptions { opaque: None, skip: &is_protected };
        let base = Tree::open(base).map_err(|error| at(base, error))?;
        let agents = Tree::open(&self.session_dir.join(&self.record.data))?;
        let made = Manifest::read(&self.session_dir, MOUNT_MANIFEST_FILE)?.unwrap_or_default();
        for path in since.new.iter().filter(|path| !is_protected(path)) {
            remove_entry(&base, path).map_err(|error| at(path, error))?;
        }
        let mut rest = Vec::new();
        for path in since.changed.iter().filter(|path| !is_protected(path)) {
            let copied = made.get(path)?;
            let stat = agents.stat(path)?;
            let is_untouched = copied.zip(stat).is_some_and(|(copied, stat)| copied.is_unchanged(&stat));
            if !is_untouched {
                rest.push(path.clone());
                continue;
            }
            let restore = || -> std::io::Result<()> {
                let is_dir = stat.is_some_and(|stat| stat.kind == crate::mount::fs::stat::Kind::Dir);
                if is_dir {
                    // What it holds is on the list by itself, if it changed.
                    return make_parents(&agents, &base, &path.join("x"));
                }
                remove_entry(&base, path)?;
                make_parents(&agents, &base, path)?;
                copy_entry(&agents, &base, path, &options)
            };
            restore().map_err(|error| at(path, error))?;
        }
        Ok(rest)
    }

    /// Makes a path of this view identical to that of another mount of the same project.
    fn take_from(&self, result: &OpenMount, path: &Path) -> Result<()> {
        let is_kept = |path: &Path| self.record.is_protected(path) || result.record.is_protected(path);
        if is_kept(path) {
            return Ok(());
        }
        let has_protected = self.record.protected_paths().any(|protected| protected.starts_with(path));
        let to_path = self.session_dir.join(&self.record.data);
        let (from, to) = (Tree::open(&result.session_dir.join(&result.record.data))?, Tree::open(&to_path)?);
        let Some(xattrs) = result.record.xattrs else {
            if !has_protected {
                remove_entry(&to, path)?;
            }
            if from.stat(path)?.is_some() {
                make_parents(&from, &to, path)?;
                copy_entry(&from, &to, path, &CopyOptions { opaque: None, skip: &is_kept })?;
            }
            return Ok(());
        };
        let state = state_of(&from, xattrs, path)?;
        if state == UpperState::Untouched {
            return Ok(());
        }
        if !has_protected {
            remove_entry(&to, path)?;
        }
        let mut upper = Upper::new(&self.record.root, &to_path, xattrs)?;
        if state == UpperState::Present {
            upper.place(path)?;
            let options = CopyOptions { opaque: Some(xattrs.opaque()), skip: &is_kept };
            copy_entry(&from, &to, path, &options)?;
        } else if !has_protected {
            upper.hide(path)?;
        }
        Ok(upper.finish()?)
    }

    /// Makes this mount, in which nothing has run yet, show these changes of another mount of the same project.
    pub fn take_changes(&self, result: &OpenMount, changes: &[Change]) -> Result<()> {
        for change in changes {
            self.take_change(result, change).map_err(|error| at(&change.path, error))?;
        }
        Ok(())
    }

    /// Makes one entry of this view what the change says, whatever else is below it.
    fn take_change(&self, result: &OpenMount, change: &Change) -> Result<()> {
        let path = checked(&change.path)?;
        if !matches!(change.agents_after(), After::Dir { .. }) {
            self.take_from(result, path)?;
            return Ok(touch(&self.session_dir.join(&self.record.data).join(path))?);
        }
        let to = Tree::open(&self.session_dir.join(&self.record.data))?;
        let inside = path.join("x");
        match self.record.xattrs {
            Some(xattrs) => {
                let mut upper = Upper::new(&self.record.root, to.path(), xattrs)?;
                upper.place(&inside)?;
                Ok(upper.finish()?)
            }
            None => {
                let from = Tree::open(&result.session_dir.join(&result.record.data))?;
                Ok(make_parents(&from, &to, &inside)?)
            }
        }
    }

    /// The injected files as they were recorded.
    pub(super) fn injected_files(&self) -> Result<Vec<InjectedFile>> {
        self.record.injected.iter().map(|record| self.injected_file(record)).collect()
    }

    pub(super) fn injected_file(&self, record: &InjectedRecord) -> Result<InjectedFile> {
        let is_recorded = |bytes: &[u8]| blake3::hash(bytes).to_hex().as_str() == record.blake3;
        let known = self.inputs.injected.iter().find(|file| file.path == record.path.0);
        if let Some(known) = known.filter(|file| is_recorded(&file.bytes)) {
            return Ok(known.clone());
        }
        // A mount that was reopened: the file itself is the only copy.
        let tree = Tree::open(&self.session_dir.join(&self.record.data))?;
        let read =
            tree.open_file(&record.path).and_then(|(file, _)| regular::content(file, LARGEST_INJECTED));
        let Some(bytes) = read.ok().filter(|bytes| is_recorded(bytes)) else {
            return Err(MountError::InjectedFileLost { path: record.path.0.clone() }.into());
        };
        Ok(InjectedFile { path: record.path.0.clone(), bytes, mode: record.mode })
    }
}

impl ScratchView {
    /// The level that commands in it have.
    pub fn sandbox(&self) -> Sandbox {
        self.mount.record.sandbox
    }

    /// Puts files into the view before anything runs in it, replacing what is there.
    pub fn lay_over(&self, files: &[InjectedFile]) -> Result<()> {
        let data = &self.layer;
        let Some(xattrs) = self.mount.record.xattrs else {
            for file in files {
                write_into(data, file).map_err(|error| at(&file.path, error))?;
            }
            return Ok(());
        };
        let mut upper = Upper::new(&self.mount.record.root, data, xattrs)?;
        let tree = Tree::open(data)?;
        for file in files {
            checked(&file.path.as_path().into())?;
            // What is in the way of its directories goes with them.
            let _ = remove_entry(&tree, &file.path);
            upper.inject(file).map_err(|error| at(&file.path, error))?;
        }
        Ok(upper.finish()?)
    }

    /// Makes the view show nothing at a path.
    pub fn hide(&self, path: &Path) -> Result<()> {
        let tree = Tree::open(&self.layer)?;
        remove_entry(&tree, checked(&path.into())?).map_err(|error| at(path, error))?;
        if let Some(xattrs) = self.mount.record.xattrs {
            let mut upper = Upper::new(&self.mount.record.root, &self.layer, xattrs)?;
            upper.hide(path).map_err(|error| at(path, error))?;
            upper.finish()?;
        }
        Ok(())
    }

    /// The files that are in the view's own layer: what was laid into it, and what commands have written since. At most so many;
    /// none where the view is a copy.
    pub fn own_files(&self, most: usize) -> BTreeSet<PathBuf> {
        let mut found = BTreeSet::new();
        if self.mount.record.xattrs.is_none() {
            return found;
        }
        let data = &self.layer;
        let mut waiting = vec![PathBuf::new()];
        while let Some(below) = waiting.pop() {
            let Ok(entries) = std::fs::read_dir(data.join(&below)) else { continue };
            for entry in entries.flatten() {
                let path = below.join(entry.file_name());
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => waiting.push(path),
                    Ok(kind) if kind.is_file() || kind.is_symlink() => drop(found.insert(path)),
                    _ => {}
                }
                if found.len() >= most {
                    return found;
                }
            }
        }
        found
    }
}

/// Gives a file or link the times of now; build tools compare them.
fn touch(path: &Path) -> std::io::Result<()> {
    let now = Timestamps {
        last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
        last_modification: Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
    };
    match utimensat(CWD, path, &now, AtFlags::SYMLINK_NOFOLLOW) {
        // It was deleted, or cannot be shown.
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(()),
        done => Ok(done?),
    }
}

/// A path below the root that is not inside a `.git`.
pub(super) fn checked(path: &RawPath) -> Result<&Path, MountError> {
    let is_plain = |part: Component| match part {
        Component::Normal(name) => !name.eq_ignore_ascii_case(".git"),
        _ => false,
    };
    let is_project_path = !path.as_os_str().is_empty() && path.components().all(is_plain);
    if is_project_path { Ok(&path.0) } else { Err(MountError::NotAProjectPath { path: path.0.clone() }) }
}
