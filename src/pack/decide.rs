//! What an install, an update or an uninstall does to every persona and role: a pure function of the pack, the lock and
//! what is on disk. A persona is taken whole or not at all, so that its JSON never names a file of another version.

use super::contents::{Unit, UnitKind};
use super::lockfile::{Lock, LockedFiles, LockedPack, hashes};
use super::tree::File;
use std::collections::{BTreeMap, BTreeSet};

/// What is at a path on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OnDisk {
    Nothing,
    /// A plain file with this hash.
    File(String),
    /// A directory, a link, or something behind one: nothing that a pack ever wrote, and nothing to write through.
    Other,
}

/// Tells what is at a path seen from the directory of personas.
pub type Look<'a> = &'a dyn Fn(&str) -> OnDisk;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Installed,
    Replaced,
    Updated,
    Removed,
    Unchanged,
    /// Something else is there; it was left alone.
    Skipped,
    /// Both sides changed it; the user's was left alone.
    Conflict,
    /// Edited by the user, so it stays.
    Kept,
}

impl Action {
    pub fn word(self) -> &'static str {
        match self {
            Action::Installed => "installed",
            Action::Replaced => "replaced",
            Action::Updated => "updated",
            Action::Removed => "removed",
            Action::Unchanged => "unchanged",
            Action::Skipped => "skipped",
            Action::Conflict => "conflict",
            Action::Kept => "kept",
        }
    }
}

/// What becomes of one persona or role.
#[derive(Debug)]
pub struct Decision {
    pub kind: UnitKind,
    pub id: String,
    pub action: Action,
    pub writes: BTreeMap<String, File>,
    pub removes: Vec<String>,
    /// The paths that stand in the way, or that the user changed.
    pub differing: Vec<String>,
    /// What the lock says from now on; `None`: nothing.
    pub locked: Option<LockedFiles>,
}

impl Decision {
    /// Something that is as the lock says.
    pub fn unchanged(kind: UnitKind, id: &str, locked: LockedFiles) -> Decision {
        Decision::new(kind, id, Action::Unchanged, Some(locked))
    }

    fn new(kind: UnitKind, id: &str, action: Action, locked: Option<LockedFiles>) -> Decision {
        let id = id.to_owned();
        Decision {
            kind,
            id,
            action,
            writes: BTreeMap::new(),
            removes: Vec::new(),
            differing: Vec::new(),
            locked,
        }
    }

    pub fn changes_files(&self) -> bool {
        !self.writes.is_empty() || !self.removes.is_empty()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    Keep,
    Overwrite,
}

pub fn install(
    units: &[Unit],
    locked: Option<&LockedPack>,
    existing: Existing,
    look: Look<'_>,
) -> Vec<Decision> {
    units.iter().map(|unit| install_one(unit, base_of(locked, unit), existing, look)).collect()
}

fn base_of<'l>(locked: Option<&'l LockedPack>, unit: &Unit) -> Option<&'l LockedFiles> {
    locked.and_then(|locked| locked.of(unit.kind).get(&unit.id))
}

fn install_one(unit: &Unit, base: Option<&LockedFiles>, existing: Existing, look: Look<'_>) -> Decision {
    let new = hashes(unit);
    let mut decision = Decision::new(unit.kind, &unit.id, Action::Unchanged, Some(new.clone()));
    let mut blocked = false;
    for (path, file) in &unit.files {
        match look(path) {
            OnDisk::File(hash) if hash == new[path] => continue,
            OnDisk::Nothing => {}
            OnDisk::File(_) => decision.differing.push(path.clone()),
            OnDisk::Other => {
                blocked = true;
                decision.differing.push(path.clone());
            }
        }
        decision.writes.insert(path.clone(), file.clone());
    }
    if blocked || !decision.differing.is_empty() && existing == Existing::Keep {
        decision.action = Action::Skipped;
        decision.writes.clear();
        decision.locked = base.cloned();
        return decision;
    }
    decision.action = match (decision.writes.is_empty(), decision.differing.is_empty()) {
        (true, _) => Action::Unchanged,
        (false, true) => Action::Installed,
        (false, false) => Action::Replaced,
    };
    // What an older version brought and this one has not.
    for (path, hash) in base.into_iter().flatten() {
        if !new.contains_key(path) && look(path) == OnDisk::File(hash.clone()) {
            decision.removes.push(path.clone());
        }
    }
    decision
}

/// `units` is all of the new version that was asked for.
pub fn update(units: &[Unit], locked: &LockedPack, look: Look<'_>) -> Vec<Decision> {
    let mut decisions = Vec::new();
    for unit in units {
        decisions.push(match base_of(Some(locked), unit) {
            Some(base) => update_one((unit.kind, &unit.id), base, Some(unit), look),
            None => {
                let mut decision = install_one(unit, None, Existing::Keep, look);
                if decision.action == Action::Skipped {
                    decision.action = Action::Conflict;
                }
                decision
            }
        });
    }
    for (kind, id, base) in locked.units() {
        if !units.iter().any(|unit| unit.kind == kind && unit.id == *id) {
            decisions.push(update_one((kind, id), base, None, look));
        }
    }
    decisions
}

/// Three sides: what was installed, what is on disk, what is new.
fn update_one(
    (kind, id): (UnitKind, &str),
    base: &LockedFiles,
    new: Option<&Unit>,
    look: Look<'_>,
) -> Decision {
    let wanted = new.map(hashes).unwrap_or_default();
    let mut decision = Decision::new(kind, id, Action::Unchanged, new.map(|_| wanted.clone()));
    let mut edited = Vec::new();
    let paths: BTreeSet<&String> = base.keys().chain(wanted.keys()).collect();
    for path in paths {
        let (before, after) = (base.get(path), wanted.get(path));
        let here = look(path);
        let is = |hash: Option<&String>| match hash {
            Some(hash) => here == OnDisk::File(hash.clone()),
            None => here == OnDisk::Nothing,
        };
        if before == after {
            if !is(before) {
                edited.push(path.clone());
            }
        } else if is(after) {
            // As it should be, by whatever way.
        } else if is(before) {
            match new.and_then(|unit| unit.files.get(path)) {
                Some(file) => {
                    decision.writes.insert(path.clone(), file.clone());
                }
                None => decision.removes.push(path.clone()),
            }
        } else {
            decision.differing.push(path.clone());
        }
    }
    if !decision.differing.is_empty() || new.is_none() && !edited.is_empty() {
        decision.differing.extend(edited);
        decision.action = Action::Conflict;
        decision.writes.clear();
        decision.removes.clear();
        decision.locked = Some(base.clone());
        return decision;
    }
    decision.action = match (new, decision.changes_files(), edited.is_empty()) {
        (None, ..) => Action::Removed,
        (Some(_), true, _) => Action::Updated,
        (Some(_), false, true) => Action::Unchanged,
        (Some(_), false, false) => Action::Kept,
    };
    decision.differing = edited;
    decision
}

pub fn uninstall(name: &str, lock: &Lock, look: Look<'_>) -> Vec<Decision> {
    let units = lock.packs.get(name).into_iter().flat_map(LockedPack::units);
    let decide = |(kind, id, base): (UnitKind, &String, &LockedFiles)| {
        let mut decision = Decision::new(kind, id, Action::Removed, None);
        for (path, hash) in base {
            match look(path) {
                OnDisk::Nothing => {}
                OnDisk::File(here) if here == *hash => decision.removes.push(path.clone()),
                _ => decision.differing.push(path.clone()),
            }
        }
        decision.removes.retain(|path| !lock.others_have(name, path));
        if !decision.differing.is_empty() {
            decision.action = Action::Kept;
            decision.removes.clear();
        }
        decision
    };
    units.map(decide).collect()
}

/// Where what is on disk or in the pack is not what the lock says: one line each.
pub fn drift(units: &[Unit], locked: &LockedPack, look: Look<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    for unit in units {
        let Some(base) = base_of(Some(locked), unit) else {
            lines.push(format!("{} `{}` is not in the lock", unit.kind.word(), unit.id));
            continue;
        };
        let new = hashes(unit);
        let paths: BTreeSet<&String> = base.keys().chain(new.keys()).collect();
        for path in paths.into_iter().filter(|path| base.get(*path) != new.get(*path)) {
            lines.push(format!("{path} of the pack is not what the lock says"));
        }
    }
    lines.extend(edits(locked, look));
    lines
}

/// Files of a pack that the user changed. Missing ones are not among them.
pub fn edits(locked: &LockedPack, look: Look<'_>) -> Vec<String> {
    let files = locked.units().flat_map(|(_, _, files)| files);
    let is_edited = |(path, hash): &(&String, &String)| match look(path) {
        OnDisk::Nothing => false,
        OnDisk::File(here) => here != **hash,
        OnDisk::Other => true,
    };
    files.filter(is_edited).map(|(path, _)| format!("{path} here is not what the lock says")).collect()
}

/// The lock with these decisions taken into it.
pub fn settle(lock: &mut Lock, name: &str, mut pack: LockedPack, decisions: &[Decision]) {
    for decision in decisions {
        match &decision.locked {
            Some(files) => pack.of_mut(decision.kind).insert(decision.id.clone(), files.clone()),
            None => pack.of_mut(decision.kind).remove(&decision.id),
        };
        // What this pack replaced is no longer the other one's.
        if decision.action == Action::Replaced {
            for (_, other) in lock.packs.iter_mut().filter(|(other, _)| *other != name) {
                other.of_mut(decision.kind).remove(&decision.id);
            }
        }
    }
    if pack.personas.is_empty() && pack.roles.is_empty() {
        lock.packs.remove(name);
    } else {
        lock.packs.insert(name.to_owned(), pack);
    }
    lock.packs.retain(|_, pack| !pack.personas.is_empty() || !pack.roles.is_empty());
}
