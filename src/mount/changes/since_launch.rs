//! What the user changed in the project since a run started, by comparing its manifest with one of now.
//! Only stats are compared; what the agent changed is the business of `review`.

use super::manifest::{Entry, MANIFEST_FILE, Manifest};
use super::manifest_take::Cores;
use crate::model::mount::PathRule;
use crate::model::mount_record::MountRecord;
use crate::mount::error::MountError;
use crate::mount::fs::stat::{Kind, Stat};
use crate::mount::fs::tree::Tree;
use anyhow::Context;
use std::path::{Path, PathBuf};

const MANIFEST_OF_NOW: &str = "manifest.now";

/// Paths that are not as they were at launch, in path order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SinceLaunch {
    /// There at launch, and changed, removed or not recorded reliably.
    pub(crate) changed: Vec<PathBuf>,
    /// Not there at launch.
    pub(crate) new: Vec<PathBuf>,
}

/// Compares the whole project with the base. `scratch` gets a file.
pub(crate) fn since_launch(
    session: &Path,
    record: &MountRecord,
    rules: &[PathRule],
    scratch: &Path,
) -> anyhow::Result<SinceLaunch> {
    let base = read_base(session)?;
    let project =
        Tree::open(&record.root).with_context(|| format!("cannot open {}", record.root.display()))?;
    Manifest::take(&project, rules, Cores::All, scratch, MANIFEST_OF_NOW, &|| false)?;
    let now = Manifest::read(scratch, MANIFEST_OF_NOW)?.unwrap_or_default();
    let mut found = SinceLaunch::default();
    for entry in base.entries() {
        let (path, entry) = entry?;
        let is_same = now.get(&path)?.is_some_and(|now| is_same(&entry, &now));
        if !is_same || !is_reliable(record, &entry) {
            found.changed.push(path);
        }
    }
    for entry in now.entries() {
        let (path, _) = entry?;
        if base.get(&path)?.is_none() {
            found.new.push(path);
        }
    }
    Ok(found)
}

/// The base of a run.
pub(crate) fn read_base(session: &Path) -> anyhow::Result<Manifest> {
    Ok(Manifest::read(session, MANIFEST_FILE)?.ok_or(MountError::NoBase)?)
}

/// Whether a path of the project is what it was at launch.
pub(crate) fn is_as_at_launch(record: &MountRecord, base: &Entry, now: Option<&Stat>) -> bool {
    is_reliable(record, base) && now.is_some_and(|now| base.is_unchanged(now))
}

/// What changed while the base was taken may be recorded in either state. A directory's ctime moves with what it holds.
fn is_reliable(record: &MountRecord, entry: &Entry) -> bool {
    entry.kind == Kind::Dir || entry.ctime < record.launched_at
}

fn is_same(base: &Entry, now: &Entry) -> bool {
    let own = base.kind == now.kind && base.mode == now.mode && base.ino == now.ino;
    own && (base.kind == Kind::Dir
        || (base.size == now.size && base.mtime == now.mtime && base.ctime == now.ctime))
}
