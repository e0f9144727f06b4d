//! Makes a view of the result show what an apply would leave: paths that are never applied, and the settings of repositories, are as
//! in the project. Hidden files stay hidden. It writes only to the scratch directory of that view.

use super::inject::{InjectedFile, Upper, write_into};
use super::open::OpenMount;
use super::request::{at, compile};
use super::upper_state::{UpperState, state_of};
use crate::files::regular;
use crate::model::mount::GitCredentials;
use crate::model::mount_record::{GitRecord, XattrNamespace};
use crate::model::raw_path::RawPath;
use crate::mount::changes::Review;
use crate::mount::fs::copy_entry::{CopyOptions, copy_entry, make_parents, remove_entry};
use crate::mount::fs::stat::Kind;
use crate::mount::fs::tree::Tree;
use crate::mount::git::candidate;
use crate::mount::git::copy::private_config;
use crate::mount::git::credentials::without_credentials;
use crate::mount::git::repository::{LARGEST_SETTINGS, exclude_with, keep_marks_when_sparse};
use crate::mount::git::secret_files::{CONFIGS, SecretFiles};
use crate::rules::PathRules;
use anyhow::Result;
use rustix::fs::{XattrFlags, lsetxattr};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// Other files of a git directory that decide what git runs and shows, besides branches and index: `commondir` leads to another
/// configuration, grafts and `shallow` to another history.
const SETTINGS: [&str; 7] =
    ["hooks", "info/attributes", EXCLUDE, "info/grafts", "info/sparse-checkout", "shallow", COMMON_DIR];
const EXCLUDE: &str = "info/exclude";
const COMMON_DIR: &str = "commondir";
const NO_REPLACEMENTS: &[u8] = b"\n[core]\n\tuseReplaceRefs = false\n";

/// What an apply leaves as the project has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NotApplied {
    /// Single paths; the content of a directory is listed separately.
    pub paths: Vec<RawPath>,
    /// With everything below them.
    pub trees: Vec<RawPath>,
}

impl From<&Review> for NotApplied {
    fn from(review: &Review) -> NotApplied {
        let protected = review.protected.iter().map(|protected| &protected.path);
        NotApplied {
            paths: protected.chain(&review.special).cloned().collect(),
            trees: review.dropped_git.iter().chain(&review.unreadable).cloned().collect(),
        }
    }
}

/// Whether what a directory holds is taken along.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    Entry,
    Tree,
}

/// A view of the result that is being corrected.
struct Correction<'a> {
    mount: &'a OpenMount,
    rules: PathRules,
    injected: Vec<InjectedFile>,
    /// The user's side: the project, or a git directory outside it.
    real: Tree,
    /// The topmost layer of the view, or all of it in a copy.
    view: Tree,
}

impl OpenMount {
    /// Fills the new upper directory of a view that lies over the agent's. `target` is what both lie over.
    pub(super) fn correct_upper(
        &self,
        target: &Path,
        agents: &Path,
        upper: &Path,
        refused: &NotApplied,
    ) -> Result<()> {
        let Some(xattrs) = self.record.xattrs else { return Ok(()) };
        let correction = self.correction(target, upper)?;
        let agents = Tree::open(agents)?;
        let mut upper = Upper::new(target, upper, xattrs)?;
        let mut put = |path: &Path, depth| {
            correction.put_in_upper(&mut upper, xattrs, path, depth).map_err(|error| at(path, error))
        };
        if target == self.record.root.0 {
            each(refused, &mut put)?;
        }
        for git in &self.record.git {
            for dir in dirs_of(git) {
                let Ok(inside) = dir.strip_prefix(target) else { continue };
                let replaces = agents.below(inside).is_ok_and(|agents| replaces(&agents, dir));
                for name in settings_of(dir) {
                    let path = inside.join(&name);
                    let is_needed = replaces && name == Path::new("config");
                    if !is_needed && state_of(&agents, xattrs, &path)? == UpperState::Untouched {
                        continue;
                    }
                    put(&path, Depth::Tree)?;
                    let text = regular::read(&dir.join(&name), LARGEST_SETTINGS).ok();
                    if let Some(bytes) = self.own_text(git, dir, &name, text, is_needed) {
                        write_into(correction.view.path(), &InjectedFile { path, bytes, mode: 0o644 })?;
                    }
                }
            }
        }
        Ok(upper.finish()?)
    }

    /// The same for a copy of the agent's copy.
    pub(super) fn correct_copy(&self, copied: &Path, refused: &NotApplied) -> Result<()> {
        let correction = self.correction(&self.record.root, copied)?;
        each(refused, &mut |path, depth| {
            correction.put_in_copy(path, depth).map_err(|error| at(path, error))
        })?;
        for git in &self.record.git {
            let Ok(inside) = git.data.strip_prefix(&self.record.data) else { continue };
            let is_plain = correction.view.stat(inside)?.is_some_and(|stat| stat.kind == Kind::Dir);
            if !is_plain {
                // No repository of ours: git must not find another one behind it.
                remove_entry(&correction.view, inside).map_err(|error| at(inside, error))?;
                continue;
            }
            self.renew_settings(&correction.view.below(inside)?, git).map_err(|error| at(inside, error))?;
        }
        Ok(())
    }

    fn renew_settings(&self, private: &Tree, git: &GitRecord) -> io::Result<()> {
        let replaces = replaces(private, &git.common_dir);
        for name in SETTINGS.iter().chain(&CONFIGS).map(Path::new) {
            remove_entry(private, name)?;
        }
        let skip = |_: &Path| false;
        let is_module = private.path().file_name().is_none_or(|name| name != ".git");
        for dir in dirs_of(git) {
            let real = Tree::open(dir)?;
            for name in SETTINGS.into_iter().filter(|name| *name != COMMON_DIR).map(Path::new) {
                if real.stat(name)?.is_some() {
                    remove_entry(private, name)?;
                    make_parents(&real, private, name)?;
                    copy_entry(&real, private, name, &CopyOptions { opaque: None, skip: &skip })?;
                }
            }
            let exclude = regular::read(&dir.join(EXCLUDE), LARGEST_SETTINGS).ok();
            if let Some(bytes) = self.own_text(git, dir, Path::new(EXCLUDE), exclude, false) {
                write_into(private.path(), &InjectedFile { path: EXCLUDE.into(), bytes, mode: 0o644 })?;
            }
            for name in CONFIGS {
                let Ok(text) = regular::read(&dir.join(name), LARGEST_SETTINGS) else { continue };
                let text =
                    self.own_text(git, dir, Path::new(name), Some(text.clone()), false).unwrap_or(text);
                let mut bytes = private_config(name, text, is_module);
                if replaces && name == "config" {
                    bytes.extend_from_slice(NO_REPLACEMENTS);
                }
                write_into(private.path(), &InjectedFile { path: name.into(), bytes, mode: 0o644 })?;
            }
        }
        Ok(())
    }

    fn correction(&self, real: &Path, view: &Path) -> Result<Correction<'_>> {
        Ok(Correction {
            mount: self,
            rules: compile(&self.inputs.spec)?,
            // Those are paths of the project.
            injected: if real == self.record.root.0 { self.injected_files()? } else { Vec::new() },
            real: Tree::open(real)?,
            view: Tree::open(view)?,
        })
    }

    /// A file of a git directory as it was in the mount at the start, where that is not the user's own. If the agent has set objects
    /// in place of others, the configuration says that none are.
    fn own_text(
        &self,
        git: &GitRecord,
        dir: &Path,
        name: &Path,
        text: Option<Vec<u8>>,
        replaces: bool,
    ) -> Option<Vec<u8>> {
        if name == Path::new(EXCLUDE) {
            let excluded: Vec<PathBuf> = git.excluded.iter().map(|path| path.0.clone()).collect();
            let is_ours = dir == git.common_dir.0 && !excluded.is_empty();
            return is_ours.then(|| exclude_with(&text.unwrap_or_default(), &excluded));
        }
        if SETTINGS.iter().any(|other| name == Path::new(other)) {
            return None;
        }
        let text = text?;
        let hides = self.inputs.spec.git_credentials == GitCredentials::Hide;
        let hidden = hides.then(|| without_credentials(&text)).flatten();
        let sparse = keep_marks_when_sparse(hidden.as_deref().unwrap_or(&text));
        let own = sparse.filter(|_| !git.skip_worktree.is_empty()).or(hidden);
        if replaces { Some([&own.unwrap_or(text), NO_REPLACEMENTS].concat()) } else { own }
    }
}

impl Correction<'_> {
    fn put_in_upper(
        &self,
        upper: &mut Upper<'_>,
        xattrs: XattrNamespace,
        path: &Path,
        depth: Depth,
    ) -> io::Result<()> {
        if let Some(file) = self.injected.iter().find(|file| file.path == path) {
            return upper.inject(file);
        }
        let kind = self.kind(path)?;
        if (kind, depth) == (Some(Kind::Dir), Depth::Entry) {
            return upper.place(&path.join("x")).map(|_| ());
        }
        let place = upper.place(path)?;
        remove_entry(&self.view, path)?;
        if kind == Some(Kind::Dir) {
            std::fs::create_dir(&place)?;
            lsetxattr(&place, xattrs.opaque(), b"y", XattrFlags::empty())?;
        }
        match kind {
            None => upper.hide(path),
            Some(_) => self.copy(path).or_else(|error| {
                if error.kind() != io::ErrorKind::PermissionDenied {
                    return Err(error);
                }
                remove_entry(&self.view, path)?;
                upper.hide(path)
            }),
        }
    }

    fn put_in_copy(&self, path: &Path, depth: Depth) -> io::Result<()> {
        if let Some(file) = self.injected.iter().find(|file| file.path == path) {
            return write_into(self.view.path(), file);
        }
        let kind = self.kind(path)?;
        if (kind, depth) == (Some(Kind::Dir), Depth::Entry) {
            return make_parents(&self.real, &self.view, &path.join("x"));
        }
        remove_entry(&self.view, path)?;
        if kind.is_none() {
            return Ok(());
        }
        make_parents(&self.real, &self.view, path)?;
        self.copy(path)
    }

    /// The user's version of a path, if it may be seen.
    fn kind(&self, path: &Path) -> io::Result<Option<Kind>> {
        if self.is_hidden(path) {
            return Ok(None);
        }
        Ok(self.real.stat(path)?.map(|stat| stat.kind).filter(|kind| *kind != Kind::Special))
    }

    fn copy(&self, path: &Path) -> io::Result<()> {
        let is_hidden = |path: &Path| self.is_hidden(path);
        copy_entry(&self.real, &self.view, path, &CopyOptions { opaque: None, skip: &is_hidden })
    }

    fn is_hidden(&self, path: &Path) -> bool {
        let is_project = self.real.path() == self.mount.record.root.0;
        is_project && (self.mount.record.is_protected(path) || self.rules.decide(path, false).is_hidden())
    }
}

/// Parents before their content; nothing below what is copied as a whole.
fn each(refused: &NotApplied, put: &mut dyn FnMut(&Path, Depth) -> Result<()>) -> Result<()> {
    let trees: BTreeSet<&Path> = refused.trees.iter().map(|path| path.0.as_path()).collect();
    let paths: BTreeSet<&Path> = refused.paths.iter().map(|path| path.0.as_path()).collect();
    let is_below = |path: &Path| path.ancestors().skip(1).any(|above| trees.contains(above));
    for path in paths.into_iter().filter(|path| !is_below(path) && !trees.contains(path)) {
        put(path, Depth::Entry)?;
    }
    for path in trees.iter().filter(|path| !is_below(path)) {
        put(path, Depth::Tree)?;
    }
    Ok(())
}

/// Whether the agent's side of a git directory replaces objects with others.
fn replaces(agents: &Tree, real: &Path) -> bool {
    Tree::open(real).is_ok_and(|real| candidate::replaces_objects(agents, &real))
}

fn dirs_of(git: &GitRecord) -> BTreeSet<&Path> {
    [git.common_dir.0.as_path(), git.git_dir.0.as_path()].into()
}

fn settings_of(dir: &Path) -> BTreeSet<PathBuf> {
    let names = SETTINGS.iter().chain(&CONFIGS).map(PathBuf::from);
    names.chain(SecretFiles::of(dir).configs).collect()
}
