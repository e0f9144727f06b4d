//! The patch of an apply, kept beside its journal until the session is pruned, so that the applied changes can still be shown when the
//! mount is gone. This module stores it; `changes::patch` makes it.

use super::journal::{JOURNAL_DIR, Journal, Purpose, first_apply};
use super::record_file;
use crate::mount::changes::patch::{self, Section};
use std::collections::HashSet;
use std::fs::{DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// What one apply of a session wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppliedPatch {
    pub journal: u32,
    pub patch: Vec<u8>,
    /// The paths that were undone since.
    pub undone: Vec<PathBuf>,
}

impl AppliedPatch {
    pub fn sections(&self) -> Vec<Section<'_>> {
        patch::sections(&self.patch)
    }
}

/// Written before the project is touched, and without a sync: losing it would be acceptable.
pub(super) fn write(session: &Path, number: u32, patch: &[u8]) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(session.join(JOURNAL_DIR))?;
    let path = path_of(session, number);
    // A crash may have left one with the same number.
    match std::fs::remove_file(&path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(&path)?;
    file.write_all(patch)
}

/// The kept patches of a session's applies, oldest first.
pub fn applied_patches(session: &Path) -> anyhow::Result<Vec<AppliedPatch>> {
    let journals = Journal::all(session)?;
    let mut patches = Vec::new();
    for journal in &journals {
        let was_applied = journal.stands() || journal.state == super::journal::State::Undone;
        if journal.purpose != Purpose::Apply || !was_applied {
            continue;
        }
        let Some(patch) = record_file::read(&path_of(session, journal.number))? else { continue };
        // An undo that was redone is a journal of its own.
        let standing: HashSet<&Path> = journals
            .iter()
            .filter(|other| other.purpose.applies() && other.stands())
            .filter(|other| first_apply(&journals, other).number == journal.number)
            .flat_map(|other| other.standing_operations().map(|operation| operation.path.0.as_path()))
            .collect();
        let paths = journal.operations.iter().map(|operation| operation.path.0.clone());
        let undone = paths.filter(|path| !standing.contains(path.as_path())).collect();
        patches.push(AppliedPatch { journal: journal.number, patch, undone });
    }
    Ok(patches)
}

fn path_of(session: &Path, number: u32) -> PathBuf {
    session.join(JOURNAL_DIR).join(format!("{number}.patch"))
}
