//! Restores what configures a harness before a mount is used again: the repository's own setup, hidden or inherited, and our own
//! files. An agent can write there, and what it leaves must not configure the next attempt. Nothing may run in the mount meanwhile;
//! the project is only read.

use super::inject::{InjectedFile, Upper, write_into};
use super::open::OpenMount;
use super::record::write_record;
use super::request::{at, compile_all};
use super::upper_state::{Above, above};
use crate::files::regular;
use crate::model::mount::{Backend, PathRule, RuleSource};
use crate::model::mount_record::{InjectedRecord, LARGEST_INJECTED};
use crate::model::raw_path::RawPath;
use crate::mount::changes::manifest::{MOUNT_MANIFEST_FILE, Manifest};
use crate::mount::error::MountError;
use crate::mount::fs::copy_entry::{CopyOptions, copy_entry, make_parents, remove_entry};
use crate::mount::fs::stat::Kind as Entry;
use crate::mount::fs::tree::{self, Tree};
use crate::mount::fs::walk::{Kind, Step, Visitor, threads, walk};
use crate::rules::Decision;
use crate::rules::quick::QuickRules;
use anyhow::Result;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

impl OpenMount {
    /// Returns the paths that the agent had written. Its versions are removed; they would never have been applied. Empty directories are
    /// removed too and not returned: codex's sandbox leaves some (`.codex`), and they configure nothing.
    pub fn renew_setup(&mut self) -> Result<Vec<RawPath>> {
        if !matches!(self.record.backend, Backend::Overlay | Backend::Copy) {
            return Ok(Vec::new());
        }
        let dir = self.session_dir.join(&self.record.data);
        let mount = Tree::open(&dir).map_err(|error| at(&dir, error))?;
        self.check_workdir(&mount)?;
        let mut paths = self.setup_in(&dir)?;
        let is_known = |path: &Path| paths.iter().any(|known| path.starts_with(known));
        let ours = self.record.injected.iter().map(|file| file.path.0.clone());
        let ours: Vec<PathBuf> = ours.filter(|path| !is_known(path)).collect();
        paths.extend(ours);
        let mut written = Vec::new();
        for path in paths {
            if self.is_blocked(&mount, &path)?
                || !self.is_written(&mount, &path).map_err(|error| at(&path, error))?
            {
                continue;
            }
            written.push(RawPath(path));
        }
        if written.is_empty() {
            return Ok(written);
        }
        written.sort();
        let mut told = Vec::new();
        for path in &written {
            if self.has_files(&mount, path).map_err(|error| at(path, error))? {
                told.push(path.clone());
            }
        }
        // Before the files that some of them are read from are removed.
        let files = self.files_of_today();
        for path in &written {
            tracing::debug!(path = %path.display(), "renewing");
            self.renew(&mount, path, &files).map_err(|error| at(path, error))?;
        }
        self.record_files(&written, &files);
        write_record(&self.session_dir, &self.record)?;
        Ok(told)
    }

    /// Whether there is anything but directories at or below a path, or was when it was ours.
    fn has_files(&self, mount: &Tree, path: &Path) -> io::Result<bool> {
        if self.record.injected.iter().any(|file| file.path.starts_with(path)) {
            return Ok(true);
        }
        let mut pending = vec![path.to_path_buf()];
        while let Some(path) = pending.pop() {
            let Some(stat) = mount.stat(&path)?.filter(|stat| !stat.is_whiteout()) else { continue };
            if stat.kind != Entry::Dir {
                return Ok(true);
            }
            let names = tree::list(mount.open_dir(&path)?.as_fd())?;
            pending.extend(names.into_iter().map(|name| path.join(name)));
        }
        Ok(false)
    }

    /// A link there would lead the harness to directories that no rule covers.
    fn check_workdir(&self, mount: &Tree) -> Result<()> {
        for dir in self.inputs.spec.cwd.ancestors().filter(|dir| !dir.as_os_str().is_empty()) {
            if mount.stat(dir)?.is_some_and(|stat| stat.kind == Entry::Symlink) {
                return Err(MountError::ReplacedWorkdir { path: dir.to_path_buf() }.into());
            }
        }
        Ok(())
    }

    /// The topmost paths of the mount's own files that belong to the setup of harnesses, whoever made them.
    fn setup_in(&self, dir: &Path) -> Result<Vec<PathBuf>> {
        // By these rules alone: a harness would read such a path even if another rule hides it.
        let about_setup = |rule: &&PathRule| rule.source == RuleSource::BuiltinHarness;
        let list: Vec<PathRule> = self.inputs.spec.rules.iter().filter(about_setup).cloned().collect();
        let compiled = compile_all(&list)?;
        let rules = QuickRules::new(&compiled, &list);
        let visitors = (0..threads()).map(|_| Found { rules: &rules, paths: Vec::new() }).collect();
        let found = walk(dir, Decision::ROOT, visitors).map_err(|error| at(dir, error))?;
        Ok(found.into_iter().flat_map(|found| found.paths).collect())
    }

    /// Whether a directory above is a file or link, so that the path does not exist.
    fn is_blocked(&self, mount: &Tree, path: &Path) -> Result<bool> {
        if let Some(xattrs) = self.record.xattrs {
            return Ok(above(mount, xattrs, path)? == Above::Blocked);
        }
        for dir in path.ancestors().skip(1).filter(|dir| !dir.as_os_str().is_empty()) {
            if mount.stat(dir)?.is_some_and(|stat| stat.kind != Entry::Dir) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether anything at or below a path is not ours, or anything of ours is missing.
    fn is_written(&self, mount: &Tree, path: &Path) -> io::Result<bool> {
        let made = match self.record.backend {
            Backend::Copy => Manifest::read(&self.session_dir, MOUNT_MANIFEST_FILE).ok().flatten(),
            _ => None,
        };
        let injected = || self.record.injected.iter().filter(|file| file.path.starts_with(path));
        for file in injected() {
            if !is_as_injected(mount, file) {
                return Ok(true);
            }
        }
        let mut pending = vec![path.to_path_buf()];
        while let Some(path) = pending.pop() {
            let Some(stat) = mount.stat(&path)?.filter(|stat| !stat.is_whiteout()) else { continue };
            let is_copied = match &made {
                Some(made) => made.get(&path)?.is_some_and(|entry| entry.is_unchanged(&stat)),
                None => false,
            };
            if stat.kind == Entry::Dir {
                if !is_copied && !injected().any(|file| file.path.starts_with(&path)) {
                    return Ok(true);
                }
                let names = tree::list(mount.open_dir(&path)?.as_fd())?;
                pending.extend(names.into_iter().map(|name| path.join(name)));
            } else if !is_copied && !injected().any(|file| file.path.0 == path) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Our files as this run needs them; those that it does not provide stay as they are.
    fn files_of_today(&self) -> Vec<InjectedFile> {
        let today = |record: &InjectedRecord| {
            let known = self.inputs.injected.iter().find(|file| file.path == record.path.0).cloned();
            known.or_else(|| self.injected_file(record).ok())
        };
        self.record.injected.iter().filter_map(today).collect()
    }

    fn renew(&self, mount: &Tree, path: &Path, files: &[InjectedFile]) -> io::Result<()> {
        remove_entry(mount, path)?;
        let files = files.iter().filter(|file| file.path.starts_with(path));
        if let Some(xattrs) = self.record.xattrs {
            let mut upper = Upper::new(&self.record.root, mount.path(), xattrs)?;
            for hidden in self.record.hidden.iter().filter(|hidden| hidden.path.starts_with(path)) {
                upper.hide(&hidden.path)?;
            }
            for file in files {
                upper.inject(file)?;
            }
            return upper.finish();
        }
        let project = Tree::open(&self.record.root)?;
        let is_hidden = |path: &Path| self.record.hidden.iter().any(|hidden| path.starts_with(&hidden.path));
        if !is_hidden(path) && project.stat(path)?.is_some() {
            make_parents(&project, mount, path)?;
            copy_entry(&project, mount, path, &CopyOptions { opaque: None, skip: &is_hidden })?;
        }
        for file in files {
            write_into(mount.path(), file)?;
        }
        Ok(())
    }

    fn record_files(&mut self, written: &[RawPath], files: &[InjectedFile]) {
        let is_written = |file: &InjectedRecord| written.iter().any(|path| file.path.starts_with(path));
        let has = |file: &InjectedRecord| files.iter().any(|known| known.path == file.path.0);
        self.record.injected.retain(|file| !is_written(file) || has(file));
        for record in self.record.injected.iter_mut().filter(|file| is_written(file)) {
            if let Some(file) = files.iter().find(|file| file.path == record.path.0) {
                record.blake3 = blake3::hash(&file.bytes).to_hex().to_string();
                record.mode = file.mode & 0o7777;
            }
        }
    }
}

/// Whether a file of ours is as it was put there.
fn is_as_injected(mount: &Tree, record: &InjectedRecord) -> bool {
    let Ok((file, stat)) = mount.open_file(&record.path) else { return false };
    let content = regular::content(file, LARGEST_INJECTED);
    stat.mode == record.mode
        && content.is_ok_and(|bytes| blake3::hash(&bytes).to_hex().as_str() == record.blake3)
}

struct Found<'a> {
    rules: &'a QuickRules<'a>,
    paths: Vec<PathBuf>,
}

impl Visitor for Found<'_> {
    type State = Decision;

    fn entry(&mut self, parent: &Decision, path: &Path, kind: Kind) -> Step<Decision> {
        let decision = self.rules.decide_child(parent, path, kind == Kind::Dir);
        let is_inherited = decision.is_inherited() && kind != Kind::Dir;
        if decision.is_hidden() || is_inherited {
            // Whiteouts are ours, or mean that the agent has nothing there.
            if kind != Kind::Special {
                self.paths.push(path.to_path_buf());
            }
            return Step::Skip;
        }
        if path.file_name().is_some_and(|name| name == ".git") {
            return Step::Skip;
        }
        Step::Descend(decision)
    }

    /// What we cannot read a harness cannot read either.
    fn unreadable(&mut self, _path: &Path, _error: io::Error) {}
}
