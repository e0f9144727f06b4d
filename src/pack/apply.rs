//! Writes what was decided: all of it or nothing. The directory of personas is exchanged for a finished copy in one step;
//! where the file system cannot do that, files are replaced one by one. Roles are in another directory and are always
//! replaced one by one. Such changes are recorded in a journal first, so that the next process can undo what a killed one
//! left half done.

use super::edits::{Edits, remove, replace};
use super::error::PackError;
use super::exchange::{self, Exchanged};
use super::journal::{JOURNAL, Journal};
use super::target::Target;
use crate::files::error::cannot_write;
use crate::files::lock::{DirectoryLocks, directories};
use anyhow::Result;
use std::io;

/// Called with the name of every step: tests kill the process there.
pub type OnStep<'a> = &'a dyn Fn(&'static str);

/// Waits until only this process may write here, and undoes what a killed one left half done.
pub fn lock(target: &Target) -> Result<DirectoryLocks> {
    let locks = directories(&[&target.personas])?;
    if let Some(journal) = Journal::read(target) {
        tracing::debug!(personas = %target.personas.display(), "rolling back an interrupted change");
        journal.roll_back(target);
        Journal::remove(target).map_err(|error| cannot_write(&target.personas, error))?;
    }
    exchange::remove_leftovers(&target.personas);
    Ok(locks)
}

/// Undoes what a killed process left half done, so that no report describes that state.
pub fn recover(target: &Target) -> Result<()> {
    if Journal::read(target).is_some() { lock(target).map(drop) } else { Ok(()) }
}

/// The caller holds the lock.
pub fn apply(target: &Target, edits: Edits, on_step: OnStep<'_>) -> Result<()> {
    let (roles, personas) = edits.split_roles();
    let removes_roles = !roles.removes.is_empty();
    write(target, &roles, &personas, on_step)?;
    if removes_roles {
        // Only an empty directory can be removed.
        let _ = std::fs::remove_dir(&target.roles);
    }
    Ok(())
}

fn write(target: &Target, roles: &Edits, personas: &Edits, on_step: OnStep<'_>) -> Result<()> {
    let fail = |error: io::Error| cannot_write(&target.personas, error);
    on_step("begun");
    match exchange_directory(target, roles, personas, on_step).map_err(fail)? {
        Exchanged::Done => return Ok(()),
        Exchanged::Impossible => tracing::debug!("the directory cannot be exchanged; replacing files"),
        Exchanged::Disturbed => return Err(PackError::ChangedMeanwhile(target.personas.clone()).into()),
    }
    with_journal(target, &[roles, personas], || {
        on_step("noted");
        // Roles first: a new role changes nothing until a persona uses it.
        edit_in_place(target, roles, on_step)?;
        edit_in_place(target, personas, on_step)
    })
    .map_err(fail)?;
    Journal::remove(target).map_err(fail)?;
    on_step("done");
    Ok(())
}

/// The finished copy does not contain the journal, so the exchange itself ends the recovery.
fn exchange_directory(
    target: &Target,
    roles: &Edits,
    personas: &Edits,
    on_step: OnStep<'_>,
) -> io::Result<Exchanged> {
    let exchange = || {
        let Some(staged) = exchange::stage(&target.personas, personas, JOURNAL)? else {
            return Ok(Exchanged::Impossible);
        };
        on_step("staged");
        edit_in_place(target, roles, on_step)?;
        let exchanged = staged.exchange()?;
        on_step("exchanged");
        Ok(exchanged)
    };
    if roles.is_empty() {
        return exchange();
    }
    let mut exchanged = Exchanged::Impossible;
    with_journal(target, &[roles], || {
        on_step("noted");
        exchanged = exchange()?;
        if exchanged == Exchanged::Done { Ok(()) } else { Err(io::ErrorKind::Interrupted.into()) }
    })
    .or_else(|error| if error.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(error) })?;
    Ok(exchanged)
}

/// Changes files one by one; where that fails, all are restored.
fn with_journal(
    target: &Target,
    edits: &[&Edits],
    change: impl FnOnce() -> io::Result<()>,
) -> io::Result<()> {
    let journal = Journal::of(target, edits)?;
    journal.write(target)?;
    change().inspect_err(|_| {
        journal.roll_back(target);
        // If this fails, the next process rolls back again, to no effect.
        let _ = Journal::remove(target);
    })
}

/// One file after the other; the JSON of a persona comes after the files that it names.
fn edit_in_place(target: &Target, edits: &Edits, on_step: OnStep<'_>) -> io::Result<()> {
    let is_below = |path: &&String| target.split(path).1.contains('/');
    let (below, top): (Vec<&String>, Vec<&String>) = edits.writes.keys().partition(is_below);
    for path in below.into_iter().chain(top) {
        let place = target.path(path);
        std::fs::create_dir_all(place.parent().unwrap_or(&target.personas))?;
        replace(&place, &edits.writes[path])?;
        on_step("written");
    }
    for path in &edits.removes {
        let (dir, inside) = target.split(path);
        remove(dir, inside)?;
        on_step("removed");
    }
    Ok(())
}
