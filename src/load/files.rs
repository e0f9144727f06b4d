//! Where the files of the layers are: on disk and, where a run asks for it, in a commit of the project.
//! Paths on disk are absolute; those of a commit are `<ref>:<path>` and never are.

use super::file::{self, FileProblem};
use super::folder::Folder;
use super::snapshot::{Snapshot, Unreadable};
use crate::files::regular;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Debug, Clone, Default)]
pub struct Files {
    pub snapshot: Option<Arc<Snapshot>>,
}

impl Files {
    /// The commit that this path is in.
    pub fn commit_of(&self, path: &Path) -> Option<&Snapshot> {
        self.snapshot.as_deref().filter(|_| path.is_relative())
    }

    /// The text of a file, or why it cannot be read. `Ok(None)`: there is no such file.
    pub fn read_text(&self, path: &Path) -> Result<Option<String>, FileProblem> {
        let Some(snapshot) = self.commit_of(path) else { return file::read_text(path) };
        match snapshot.bytes(path) {
            Ok(None) => Ok(None),
            Ok(Some(bytes)) => file::text_of(path, bytes.to_owned()).map(Some),
            Err(reason) => Err(unreadable(path, reason)),
        }
    }

    /// The text of a file, with what is not UTF-8 replaced, to find out what it is about. `None`: it cannot be read.
    pub fn lossy_text(&self, path: &Path) -> Option<String> {
        let bytes = match self.commit_of(path) {
            Some(snapshot) => snapshot.bytes(path).ok().flatten()?.to_owned(),
            None => regular::read(path, file::MAX_BYTES).ok()?,
        };
        Some(String::from_utf8_lossy(&bytes).trim_start_matches('\u{feff}').to_owned())
    }

    /// A directory with the names of its JSON files. `None`: there is no such directory.
    pub fn folder(&self, dir: &Path) -> io::Result<Option<Folder>> {
        match self.commit_of(dir) {
            Some(snapshot) => Ok(Some(Folder::of_names(snapshot.names_in(dir).map(OsStr::to_owned)))),
            None => Folder::open(dir),
        }
    }

    /// The JSON files directly in a directory, by name. A missing directory has none.
    pub fn json_files(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        Ok(self.folder(dir)?.map(|folder| folder.paths(dir)).unwrap_or_default())
    }

    pub fn is_dir(&self, dir: &Path) -> bool {
        self.commit_of(dir).map_or_else(|| dir.is_dir(), |snapshot| snapshot.is_dir(dir))
    }
}

pub fn unreadable(path: &Path, reason: Unreadable) -> FileProblem {
    match reason {
        Unreadable::TooLarge(size) => {
            FileProblem::whole_file(path, format!("is too large: {} MB", size.div_ceil(1024 * 1024)))
        }
        Unreadable::LeadsOut => FileProblem::whole_file(path, "is a link that leads out of its directory")
            .with_fix("commit the file itself"),
    }
}
