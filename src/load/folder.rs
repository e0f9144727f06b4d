//! The JSON files of one directory: their names in order, and a fast way to read small ones.

use crate::model::file_problem::FileProblem;
use crate::model::shape::Severity;
use rustix::fs::{Dir, FileType, Mode, OFlags};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Large enough for files that people write; a larger file is read the usual way.
const ROOM: usize = 64 * 1024;

/// A directory that is open, with the names of its JSON files.
pub struct Folder {
    /// `None` where the files are not on disk.
    dir: Option<Dir>,
    /// Sorted.
    pub files: Vec<Name>,
    /// What looks like a persona's file and is none by its name.
    pub overlooked: Vec<Overlooked>,
    buffer: Vec<u8>,
}

/// The name of a file, and whether the directory says that it is a plain one.
pub struct Name {
    pub name: OsString,
    is_plain: bool,
}

/// The name of something that is not read although somebody may expect it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Overlooked(OsString);

impl Overlooked {
    fn by_name(name: &OsStr) -> Option<Overlooked> {
        let ending = Path::new(name).extension()?.to_str()?.to_ascii_lowercase();
        let is_hidden = name.as_bytes().starts_with(b".");
        (!is_hidden && !is_json(name) && ["json", "jsonc", "json5"].contains(&ending.as_str()))
            .then(|| Overlooked(name.to_owned()))
    }

    pub fn problem(&self, dir: &Path) -> FileProblem {
        let file = dir.join(&self.0);
        let (message, fix) = if file.ends_with(PERSONA_JSON) {
            (
                "is not read: a persona is a file directly in its layer's directory",
                "move it up and name it after its id, or remove it",
            )
        } else {
            (
                "is not read: a persona's file ends in `.json`",
                "rename it (the content must be plain JSON, without comments), or remove it",
            )
        };
        FileProblem { severity: Severity::Warning, ..FileProblem::whole_file(&file, message) }.with_fix(fix)
    }
}

/// What other tools call the file of a persona that has a directory.
pub const PERSONA_JSON: &str = "persona.json";

impl Folder {
    /// `None`: there is no such directory.
    pub fn open(path: &Path) -> io::Result<Option<Folder>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut dir = match rustix::fs::open(path, flags, Mode::empty()).and_then(Dir::new) {
            Ok(dir) => dir,
            Err(rustix::io::Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let (mut files, mut overlooked) = (Vec::new(), Vec::new());
        while let Some(entry) = dir.read() {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            let kind = entry.file_type();
            if !is_json(name) {
                overlooked.extend(match kind {
                    FileType::Directory => persona_in(path, name),
                    _ => Overlooked::by_name(name),
                });
                continue;
            }
            // `x__assets` and other directories are not personas. Not every file system says what an entry is.
            let is_dir = kind == FileType::Directory
                || kind == FileType::Unknown
                    && path.join(name).symlink_metadata().is_ok_and(|found| found.is_dir());
            if !is_dir {
                files.push(Name { name: name.to_owned(), is_plain: kind == FileType::RegularFile });
            }
        }
        files.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        overlooked.sort_unstable();
        Ok(Some(Folder { dir: Some(dir), files, overlooked, buffer: Vec::new() }))
    }

    /// Files that are not on disk, by these names.
    pub fn of_names(names: impl Iterator<Item = OsString>) -> Folder {
        let (names, others): (Vec<OsString>, Vec<OsString>) = names.partition(|name| is_json(name));
        let overlooked = others.iter().filter_map(|name| Overlooked::by_name(name)).collect();
        let mut files: Vec<Name> = names.into_iter().map(|name| Name { name, is_plain: false }).collect();
        files.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Folder { dir: None, files, overlooked, buffer: Vec::new() }
    }

    pub fn paths(self, dir: &Path) -> Vec<PathBuf> {
        self.files.into_iter().map(|file| dir.join(file.name)).collect()
    }

    /// The text of a small regular file, read with one system call. `None` says nothing about the file: it has to be
    /// read the usual way. A text that was cut short lacks the last brace and is not JSON.
    pub fn quick_text(&mut self, index: usize) -> Option<&str> {
        let Name { name, is_plain: true } = self.files.get(index)? else { return None };
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::openat(self.dir.as_ref()?.fd().ok()?, name, flags, Mode::empty()).ok()?;
        self.buffer.resize(ROOM, 0);
        let length = rustix::io::read(&file, &mut self.buffer[..]).ok()?;
        (length < ROOM).then(|| std::str::from_utf8(&self.buffer[..length]).ok()).flatten()
    }
}

/// The JSON files directly in a directory, by name. A missing directory has none.
pub fn json_files(dir: &Path) -> io::Result<Vec<PathBuf>> {
    Ok(Folder::open(dir)?.map(|folder| folder.paths(dir)).unwrap_or_default())
}

/// A directory of one persona, as other tools keep them.
fn persona_in(dir: &Path, name: &OsStr) -> Option<Overlooked> {
    let file = Path::new(name).join(PERSONA_JSON);
    dir.join(&file).is_file().then(|| Overlooked(file.into_os_string()))
}

fn is_json(name: &OsStr) -> bool {
    !name.as_bytes().starts_with(b".")
        && Path::new(name).extension().is_some_and(|extension| extension == "json")
}
