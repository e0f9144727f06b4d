//! Writes what was decided: all of it or nothing. The directory of personas is exchanged for a finished copy in one step;
//! where the file system cannot do that, files are replaced one by one and put back if that fails.

use super::contents::ROLES_PREFIX;
use super::switch::{self, Switched};
use super::target::Target;
use super::tree::File;
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::store::lock::{DirectoryLocks, cannot_write, directories};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Files to write and files to take away, by their paths seen from one directory.
#[derive(Debug, Default)]
pub struct Edits {
    pub writes: BTreeMap<String, File>,
    pub removes: Vec<String>,
}

impl Edits {
    /// Those of the directory of roles, and the others.
    fn divided(self) -> (Edits, Edits) {
        let (mut roles, mut personas) = (Edits::default(), Edits::default());
        for (path, file) in self.writes {
            match path.strip_prefix(ROLES_PREFIX) {
                Some(inside) => roles.writes.insert(inside.to_owned(), file),
                None => personas.writes.insert(path, file),
            };
        }
        for path in self.removes {
            match path.strip_prefix(ROLES_PREFIX) {
                Some(inside) => roles.removes.push(inside.to_owned()),
                None => personas.removes.push(path),
            }
        }
        (roles, personas)
    }
}

/// Waits until this process alone may write here, and clears away what a killed one left.
pub fn lock(target: &Target) -> Result<DirectoryLocks> {
    let locks = directories(&[&target.personas])?;
    switch::clear_leftovers(&target.personas);
    Ok(locks)
}

/// The caller holds the lock.
pub fn apply(target: &Target, edits: Edits) -> Result<()> {
    let (roles, personas) = edits.divided();
    let fail = |error: io::Error| cannot_write(&target.personas, &error);
    // Roles first: until a persona follows it, a new role changes nothing.
    let mut done = Undo::default();
    if !roles.writes.is_empty() || !roles.removes.is_empty() {
        let applied =
            std::fs::create_dir_all(&target.roles).and_then(|()| in_place(&target.roles, &roles, &mut done));
        if let Err(error) = applied {
            done.undo();
            return Err(cannot_write(&target.roles, &error));
        }
    }
    let switched = switch::switch(&target.personas, &personas);
    let result = match switched {
        Ok(Switched::Done) => Ok(()),
        Ok(Switched::Impossible) => in_place(&target.personas, &personas, &mut done).map_err(fail),
        Ok(Switched::Disturbed) => {
            let text = format!("{} was changed by somebody else meanwhile", target.personas.display());
            Err(CommandError::new(Exit::Failed, text).hint("nothing was written; run the command again"))
        }
        Err(error) => Err(fail(error)),
    };
    if result.is_err() {
        done.undo();
    }
    result
}

/// What was there before, in the order in which it was changed.
#[derive(Default)]
struct Undo(Vec<(PathBuf, Option<File>)>);

impl Undo {
    /// Remembers a file that is about to be changed.
    fn remember(&mut self, path: &Path) -> io::Result<()> {
        let before = match std::fs::read(path) {
            Ok(bytes) => {
                let executable = path.metadata()?.permissions().mode() & 0o111 != 0;
                Some(File { bytes: bytes.into(), executable })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        self.0.push((path.to_owned(), before));
        Ok(())
    }

    fn undo(self) {
        for (path, before) in self.0.into_iter().rev() {
            // Nothing is left to try where even this fails.
            let _ = match before {
                Some(file) => replace(&path, &file),
                None => std::fs::remove_file(&path),
            };
        }
    }
}

/// One after the other, the JSON of a persona after the files that it names.
fn in_place(dir: &Path, edits: &Edits, done: &mut Undo) -> io::Result<()> {
    let is_below = |path: &&String| path.contains('/');
    let (below, top): (Vec<&String>, Vec<&String>) = edits.writes.keys().partition(is_below);
    for path in below.into_iter().chain(top) {
        let place = dir.join(path);
        std::fs::create_dir_all(place.parent().unwrap_or(dir))?;
        done.remember(&place)?;
        replace(&place, &edits.writes[path])?;
    }
    for path in &edits.removes {
        done.remember(&dir.join(path))?;
        remove(dir, path)?;
    }
    Ok(())
}

fn replace(path: &Path, file: &File) -> io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let mut temporary = tempfile::Builder::new().prefix(".agentworkforce-").tempfile_in(dir)?;
    temporary.write_all(&file.bytes)?;
    temporary.as_file().set_permissions(std::fs::Permissions::from_mode(mode_of(file)))?;
    temporary.as_file().sync_all()?;
    temporary.persist(path).map(drop).map_err(|error| error.error)
}

fn mode_of(file: &File) -> u32 {
    if file.executable { 0o755 } else { 0o644 }
}

/// A new file in a directory that nobody looks into yet; it need not be on disk when this returns.
pub fn write_new(path: &Path, file: &File) -> io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    let mut out = options.write(true).create_new(true).mode(mode_of(file)).open(path)?;
    out.write_all(&file.bytes)
}

/// Takes a file away, and the directories that are empty without it. One that is gone already is fine.
pub fn remove(dir: &Path, path: &str) -> io::Result<()> {
    let place = dir.join(path);
    match std::fs::remove_file(&place) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut parent = place.parent();
    while let Some(empty) = parent.filter(|parent| *parent != dir) {
        if std::fs::remove_dir(empty).is_err() {
            break;
        }
        parent = empty.parent();
    }
    Ok(())
}
