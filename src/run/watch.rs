//! What must not appear while an agent runs or its work is applied: a repository or a layer above the project, which would make
//! another project of it, and layers that are named and not there; nor links that lead to nothing yet and would become one. Noted
//! in our home before, so that a run that is killed is not forgotten. It reads nothing of what it finds.

use super::error::RunError;
use crate::files::owned;
use crate::host::Host;
use crate::load::layer_places::{self, Outside, trail};
use crate::load::places::PROJECT_DIR;
use crate::load::{config, layers};
use crate::model::mount_record::WATCH_DIR;
use crate::model::raw_path::RawPath;
use crate::mount::git::repository::Repository;
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const SCHEMA_VERSION: u32 = 1;
const SUFFIX: &str = ".json";

/// What was not there when a run started.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Note {
    schema_version: u32,
    root: RawPath,
    /// Above the root: git directories and project layers.
    above: Vec<RawPath>,
    layers: Vec<RawPath>,
    /// What there was instead of each of them.
    #[serde(default)]
    marks: Vec<Mark>,
}

/// A path where there is nothing that counts: what it would take to have something there later is seen at once.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Mark {
    path: RawPath,
    /// Behind all links on the way.
    leads_to: RawPath,
    /// The entry itself, such as a `.git` that is no repository: inode and time of its last change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    entry: Option<(u64, i64, i64)>,
}

/// The note of a run, and the links on the way to layers. The note goes when nothing has appeared.
#[derive(Debug)]
pub struct Watch {
    note: Note,
    path: PathBuf,
    linked: Vec<(PathBuf, PathBuf)>,
    /// Locked as long as the run lasts.
    _file: File,
}

impl Watch {
    pub(super) fn begin(home: &Path, session: &str, root: &Path, outside: Outside) -> io::Result<Watch> {
        let above = root.ancestors().skip(1).flat_map(|dir| [dir.join(".git"), dir.join(PROJECT_DIR)]);
        let mut note = Note {
            schema_version: SCHEMA_VERSION,
            root: root.into(),
            above: above.filter(|path| !is_there(path, root)).map(RawPath).collect(),
            layers: outside.absent.into_iter().map(RawPath).collect(),
            marks: Vec::new(),
        };
        note.marks = note.above.iter().chain(&note.layers).map(|path| Mark::of(path)).collect();
        let dir = home.join(WATCH_DIR);
        DirBuilder::new().recursive(true).mode(0o700).create(&dir)?;
        let (new, path) = (dir.join(format!("{session}.new")), dir.join(format!("{session}{SUFFIX}")));
        let mut options = OpenOptions::new();
        let mut file = owned::open_with(&new, options.write(true).create(true).truncate(true).mode(0o600))?;
        // Before anybody sees it: without a lock it is one of a run that has ended.
        file.lock()?;
        file.write_all(&serde_json::to_vec(&note)?)?;
        fs::rename(&new, &path)?;
        Ok(Watch { note, path, linked: outside.linked, _file: file })
    }

    /// What has appeared, and the note that says so.
    pub fn appeared(&self) -> Option<(PathBuf, &Path)> {
        Some((self.note.appeared(|_| true)?, &self.path))
    }

    /// Fails if something has appeared, or a link leads elsewhere.
    pub(super) fn check(&self) -> Result<(), RunError> {
        if let Some((path, note)) = self.appeared() {
            return Err(RunError::Appeared { path, note: note.to_owned() });
        }
        let leads_elsewhere =
            |(path, real): &&(PathBuf, PathBuf)| path.canonicalize().ok().as_ref() != Some(real);
        match self.linked.iter().find(leads_elsewhere) {
            Some((path, _)) => Err(RunError::LinkReplaced { path: path.clone() }),
            None => Ok(()),
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if self.note.appeared(|_| true).is_none() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Note {
    /// The first path that is there by now and matters.
    fn appeared(&self, matters: impl Fn(&Path) -> bool) -> Option<PathBuf> {
        let above = self.above.iter().filter(|path| matters(path));
        let is_changed =
            |path: &RawPath| self.marks.iter().any(|mark| mark.path == *path && mark.has_changed(&self.root));
        let is_new = |path: &&RawPath| is_there(path, &self.root) || is_changed(path);
        above.chain(&self.layers).find(is_new).map(|path| path.0.clone())
    }
}

impl Mark {
    fn of(path: &Path) -> Mark {
        let entry =
            path.symlink_metadata().ok().map(|found| (found.ino(), found.ctime(), found.ctime_nsec()));
        let leads_to = trail(path).pop().unwrap_or_default();
        Mark { path: path.into(), leads_to: leads_to.into(), entry }
    }

    /// Whether somebody whom we would trust has made a link on the way, or begun a repository.
    fn has_changed(&self, root: &Path) -> bool {
        let now = Mark::of(&self.path);
        let is_begun = self.path.ends_with(".git") && now.entry.is_some() && now.entry != self.entry;
        (is_begun || now.leads_to != self.leads_to)
            && trail(&self.path).iter().all(|path| owned::stranger_of(path, root).is_none())
    }
}

/// Watches an apply that is no part of a run: a link that led to nothing may come to life by it. Fails if something has appeared
/// before.
pub fn begin_apply(host: &Host, session: &str, root: &Path) -> anyhow::Result<Watch> {
    let home = host.workforce_home()?;
    check_earlier(&home, root)?;
    let layers = layers::find(host, &config::read(&layers::config_path(&home)), None)?;
    let outside = layer_places::outside(&layers, Vec::new(), root);
    Ok(Watch::begin(&home, &format!("{session}.apply"), root, outside)?)
}

/// Fails if something that would decide about a run in this directory has appeared during an earlier one. Notes of runs that
/// have ended without that are removed.
pub(super) fn check_earlier(home: &Path, cwd: &Path) -> Result<(), RunError> {
    let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_path_buf());
    for entry in fs::read_dir(home.join(WATCH_DIR)).into_iter().flatten().flatten() {
        let path = entry.path();
        if !entry.file_name().as_encoded_bytes().ends_with(SUFFIX.as_bytes()) {
            continue;
        }
        let Ok(Some(bytes)) = owned::read(&path) else { continue };
        let note: Note = serde_json::from_slice(&bytes).unwrap_or_default();
        if let Some(found) = note.appeared(|path| project_of(path).is_some_and(|dir| cwd.starts_with(dir))) {
            return Err(RunError::AppearedEarlier { path: found, note: path });
        }
        let is_over =
            || owned::open(&path).is_ok_and(|file| file.is_some_and(|file| file.try_lock().is_ok()));
        if note.appeared(|_| true).is_none() && is_over() {
            let _ = fs::remove_file(&path);
        }
    }
    Ok(())
}

/// The directory that a git directory or layer makes a project of.
fn project_of(path: &Path) -> Option<&Path> {
    path.ancestors().nth(if path.ends_with(PROJECT_DIR) { 2 } else { 1 })
}

/// Whether it is there and would be used: what a stranger made is not.
fn is_there(path: &Path, root: &Path) -> bool {
    let is_there = if path.ends_with(".git") {
        project_of(path).is_some_and(|dir| Repository::at(dir).is_some())
    } else {
        path.exists()
    };
    is_there && owned::stranger_of(path, root).is_none()
}
