//! Writes what was decided: all of it or nothing. The directory of personas is exchanged for a finished copy in one step;
//! where the file system cannot do that, files are replaced one by one. Roles lie elsewhere and always are. What is changed
//! one by one is noted in a journal first, so that a killed process is put right by the next one.

use super::contents::ROLES_PREFIX;
use super::journal::{JOURNAL, Journal};
use super::switch::{self, Switched};
use super::target::Target;
use super::tree::File;
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::files::error::cannot_write;
use crate::files::lock::{DirectoryLocks, directories};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Told the name of every moment at which a test may end the process.
pub type Moments<'a> = &'a dyn Fn(&'static str);

/// Files to write and files to take away, by their paths seen from one directory.
#[derive(Debug, Default)]
pub struct Edits {
    pub writes: BTreeMap<String, File>,
    pub removes: Vec<String>,
}

impl Edits {
    /// Those of the directory of roles, and the others.
    fn divided(self) -> (Edits, Edits) {
        let is_role = |path: &String| path.starts_with(ROLES_PREFIX);
        let (roles, personas) = self.writes.into_iter().partition(|(path, _)| is_role(path));
        let (gone_roles, gone) = self.removes.into_iter().partition(is_role);
        (Edits { writes: roles, removes: gone_roles }, Edits { writes: personas, removes: gone })
    }

    pub fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.removes.is_empty()
    }
}

/// Waits until this process alone may write here, and puts right what a killed one left.
pub fn lock(target: &Target) -> Result<DirectoryLocks> {
    let locks = directories(&[&target.personas])?;
    if let Some(journal) = Journal::left(target) {
        journal.roll_back(target);
        Journal::forget(target).map_err(|error| cannot_write(&target.personas, error))?;
    }
    switch::clear_leftovers(&target.personas);
    Ok(locks)
}

/// Puts right what a killed process left, if it did, so that nobody is told about a state that nobody wanted.
pub fn recover(target: &Target) -> Result<()> {
    if Journal::left(target).is_some() { lock(target).map(drop) } else { Ok(()) }
}

/// The caller holds the lock.
pub fn apply(target: &Target, edits: Edits, at: Moments<'_>) -> Result<()> {
    let (roles, personas) = edits.divided();
    let roles_go = !roles.removes.is_empty();
    written(target, &roles, &personas, at)?;
    if roles_go {
        // It was made for them; one that still holds something stays.
        let _ = std::fs::remove_dir(&target.roles);
    }
    Ok(())
}

fn written(target: &Target, roles: &Edits, personas: &Edits, at: Moments<'_>) -> Result<()> {
    let fail = |error: io::Error| cannot_write(&target.personas, error);
    at("begun");
    match exchanged(target, roles, personas, at).map_err(fail)? {
        Switched::Done => return Ok(()),
        Switched::Impossible => {}
        Switched::Disturbed => {
            let text = format!("{} was changed by somebody else meanwhile", target.personas.display());
            return Err(
                CommandError::new(Exit::Failed, text).hint("nothing was written; run the command again")
            );
        }
    }
    let all = [roles, personas];
    journaled(target, &all, || {
        at("noted");
        // Roles first: until a persona follows it, a new role changes nothing.
        in_place(target, roles, at)?;
        in_place(target, personas, at)
    })
    .map_err(fail)?;
    Journal::forget(target).map_err(fail)?;
    at("done");
    Ok(())
}

/// The finished copy does not hold the journal that the directory does: the exchange itself says that all is done.
fn exchanged(target: &Target, roles: &Edits, personas: &Edits, at: Moments<'_>) -> io::Result<Switched> {
    let exchange = || {
        let Some(staged) = switch::stage(&target.personas, personas, JOURNAL)? else {
            return Ok(Switched::Impossible);
        };
        at("staged");
        in_place(target, roles, at)?;
        let switched = staged.exchange()?;
        at("exchanged");
        Ok(switched)
    };
    if roles.is_empty() {
        return exchange();
    }
    let mut switched = Switched::Impossible;
    journaled(target, &[roles], || {
        at("noted");
        switched = exchange()?;
        if switched == Switched::Done { Ok(()) } else { Err(io::ErrorKind::Interrupted.into()) }
    })
    .or_else(|error| if error.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(error) })?;
    Ok(switched)
}

/// Changes files one by one; all are put back where that fails.
fn journaled(target: &Target, edits: &[&Edits], work: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    let journal = Journal::of(target, edits)?;
    journal.write(target)?;
    work().inspect_err(|_| {
        journal.roll_back(target);
        // The next one does it again, to no effect.
        let _ = Journal::forget(target);
    })
}

/// One after the other, the JSON of a persona after the files that it names.
fn in_place(target: &Target, edits: &Edits, at: Moments<'_>) -> io::Result<()> {
    let is_below = |path: &&String| target.split(path).1.contains('/');
    let (below, top): (Vec<&String>, Vec<&String>) = edits.writes.keys().partition(is_below);
    for path in below.into_iter().chain(top) {
        let place = target.path(path);
        std::fs::create_dir_all(place.parent().unwrap_or(&target.personas))?;
        replace(&place, &edits.writes[path])?;
        at("written");
    }
    for path in &edits.removes {
        let (dir, inside) = target.split(path);
        remove(dir, inside)?;
        at("removed");
    }
    Ok(())
}

pub fn replace(path: &Path, file: &File) -> io::Result<()> {
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
