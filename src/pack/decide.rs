//! What an install, an update or an uninstall does to every persona and role: a pure function of the pack, the lock and
//! what is on disk. A persona is taken whole or not at all, so that its JSON never names a file of another version.
//! Reads and writes nothing itself.

use super::contents::{Unit, UnitKind};
use super::lockfile::{KeptFiles, Lock, LockedFiles, LockedPack, hashes, label, matches_fingerprint};
use super::policy::{ConflictChoice, Policy, takes_theirs_in_conflicts, update_policy};
use super::tree::File;
use std::collections::{BTreeMap, BTreeSet};

/// What is at a path on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OnDisk {
    Missing,
    /// A regular file with this fingerprint.
    File(String),
    /// A directory, a link, or something behind one: no pack wrote it, and nothing is written through it.
    Other,
}

impl OnDisk {
    /// How the lock records a file that the user keeps.
    pub fn kept(&self) -> Option<String> {
        match self {
            OnDisk::Missing => None,
            OnDisk::File(hash) => Some(hash.clone()),
            OnDisk::Other => Some("other".into()),
        }
    }

    /// Whether it is the file in the lock.
    pub fn matches(&self, locked: &str) -> bool {
        matches!(self, OnDisk::File(here) if matches_fingerprint(locked, here))
    }

    /// Whether it is the user's file that the lock records as kept.
    pub fn is_kept(&self, kept: Option<&str>) -> bool {
        match (self.kept(), kept) {
            (Some(here), Some(kept)) => matches_fingerprint(kept, &here),
            (here, kept) => here.as_deref() == kept,
        }
    }
}

/// Returns what is at a path relative to the directory of personas.
pub type ReadState<'a> = &'a dyn Fn(&str) -> OnDisk;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Installed,
    Replaced,
    Updated,
    Removed,
    Unchanged,
    /// Another file is there; it was left alone.
    Skipped,
    /// Both sides changed it; the user's version was left alone.
    Conflict,
    /// The user changed it, so it stays.
    Kept,
    /// No longer part of this pack, but of another one.
    Shared,
}

impl Action {
    pub fn name(self) -> &'static str {
        match self {
            Action::Installed => "installed",
            Action::Replaced => "replaced",
            Action::Updated => "updated",
            Action::Removed => "removed",
            Action::Unchanged => "unchanged",
            Action::Skipped => "skipped",
            Action::Conflict => "conflict",
            Action::Kept | Action::Shared => "kept",
        }
    }

    /// Whether the new version was not taken and the user has to decide.
    pub fn is_left_alone(self) -> bool {
        matches!(self, Action::Skipped | Action::Conflict)
    }
}

/// Why something was left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The pack did not install it.
    NotFromPack,
    /// A file of another name has the same id.
    IdTaken,
    /// The user changed it, and the pack did not.
    Edited,
    BothChanged,
    /// The user changed it, and the pack no longer has it.
    RemovedFromPack,
    /// A role of a persona that stays.
    RoleInUse,
}

/// What happens to one persona or role.
#[derive(Debug)]
pub struct Decision {
    pub kind: UnitKind,
    pub id: String,
    pub action: Action,
    /// Why it was left alone.
    pub reason: Option<Reason>,
    pub writes: BTreeMap<String, File>,
    pub removes: Vec<String>,
    /// The paths that are in the way, or that the user changed.
    pub differing: Vec<String>,
    /// The persona that stays and has this role.
    pub follower: Option<String>,
    /// Those of `differing` that are not regular files.
    pub blocked: Vec<String>,
    /// Other packs that have the files which this one removes or cannot install.
    pub shared_with: Vec<String>,
    /// Other packs that installed another version than the one that is written.
    pub taken_from: Vec<String>,
    /// Its files in the new lock; `None`: it is not in the lock.
    pub locked: Option<LockedFiles>,
    /// The files in the new lock that the user keeps.
    pub kept: KeptFiles,
}

impl Decision {
    /// It matches the lock.
    pub fn unchanged(kind: UnitKind, id: &str, locked: LockedFiles) -> Decision {
        Decision::new(kind, id, Action::Unchanged, Some(locked))
    }

    fn new(kind: UnitKind, id: &str, action: Action, locked: Option<LockedFiles>) -> Decision {
        Decision {
            kind,
            id: id.to_owned(),
            action,
            reason: None,
            writes: BTreeMap::new(),
            removes: Vec::new(),
            differing: Vec::new(),
            follower: None,
            blocked: Vec::new(),
            shared_with: Vec::new(),
            taken_from: Vec::new(),
            locked,
            kept: KeptFiles::new(),
        }
    }

    pub fn changes_files(&self) -> bool {
        !self.writes.is_empty() || !self.removes.is_empty()
    }

    /// Leaves the files and the lock as they are.
    pub fn leave(&mut self, action: Action, reason: Reason, known: Option<&LockedPack>) {
        self.action = action;
        self.reason = Some(reason);
        self.writes.clear();
        self.removes.clear();
        self.locked = known.and_then(|known| known.units_of(self.kind).get(&self.id)).cloned();
        self.kept = self.locked.iter().flatten().filter_map(|(path, _)| known?.kept_at(path)).collect();
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
    on_disk: ReadState<'_>,
) -> Vec<Decision> {
    let policy = match existing {
        Existing::Keep => Policy::Install,
        Existing::Overwrite => Policy::Overwrite,
    };
    units.iter().map(|unit| decide_unit((unit.kind, &unit.id), locked, Some(unit), policy, on_disk)).collect()
}

/// What the pack installed earlier and no longer has. `units` is all that it has now.
pub fn removed_from_pack(
    units: &[Unit],
    locked: &LockedPack,
    policy: Policy,
    on_disk: ReadState<'_>,
) -> Vec<Decision> {
    let is_there = |kind: UnitKind, id: &String| units.iter().any(|unit| unit.kind == kind && unit.id == *id);
    let removed = locked.units().filter(|(kind, id, _)| !is_there(*kind, id));
    removed.map(|(kind, id, _)| decide_unit((kind, id), Some(locked), None, policy, on_disk)).collect()
}

/// `units` is everything in the new version that the user selected.
pub fn update(
    units: &[Unit],
    locked: &LockedPack,
    choice: Option<&ConflictChoice>,
    on_disk: ReadState<'_>,
) -> Vec<Decision> {
    let decide = |kind: UnitKind, id: &str, new: Option<&Unit>| {
        let decide = |policy| decide_unit((kind, id), Some(locked), new, policy, on_disk);
        let decision = decide(update_policy(choice, kind, id));
        let is_theirs = decision.action == Action::Conflict && takes_theirs_in_conflicts(choice);
        if is_theirs { decide(Policy::TakeTheirs) } else { decision }
    };
    let mut decisions: Vec<Decision> =
        units.iter().map(|unit| decide(unit.kind, &unit.id, Some(unit))).collect();
    for removed in removed_from_pack(units, locked, Policy::Update, on_disk) {
        decisions.push(decide(removed.kind, &removed.id, None));
    }
    decisions
}

/// Merges three sides: what was installed, what is on disk, what is new.
fn decide_unit(
    (kind, id): (UnitKind, &str),
    known: Option<&LockedPack>,
    new: Option<&Unit>,
    policy: Policy,
    on_disk: ReadState<'_>,
) -> Decision {
    let base = known.and_then(|known| known.units_of(kind).get(id));
    let wanted = new.map(hashes).unwrap_or_default();
    let mut decision = Decision::new(kind, id, Action::Unchanged, new.map(|_| wanted.clone()));
    // What the user changed: where the pack changed nothing, and where it did.
    let (mut edited, mut both) = (Vec::new(), Vec::new());
    let mut is_only_restored = true;
    let paths: BTreeSet<&String> = base.into_iter().flat_map(BTreeMap::keys).chain(wanted.keys()).collect();
    for path in paths {
        let (before, after) = (base.and_then(|base| base.get(path)), wanted.get(path));
        let here = on_disk(path);
        let is = |hash: Option<&String>| match hash {
            Some(hash) => here.matches(hash),
            None => here == OnDisk::Missing,
        };
        // Where the pack changed nothing, an older lock without modes is trusted; else the mode counts, too.
        let is_exactly = |hash: &String| here == OnDisk::File(hash.clone());
        if is(after) && (before == after || after.is_none_or(is_exactly)) {
            // It has the wanted content already.
            continue;
        }
        let note = known.and_then(|known| known.kept.get(path));
        let is_restored = policy == Policy::Install && here == OnDisk::Missing && note != Some(&None);
        let is_from_pack = is(before) || is_restored;
        if !is_from_pack {
            let sides = if before == after { &mut edited } else { &mut both };
            sides.push(path.clone());
            if here == OnDisk::Other {
                decision.blocked.push(path.clone());
            }
        }
        let is_taken = match policy {
            Policy::TakeTheirs => true,
            Policy::Overwrite => after.is_some() || is_from_pack,
            Policy::Install | Policy::Update | Policy::KeepMine => is_from_pack,
        };
        if !is_taken {
            continue;
        }
        is_only_restored &= before == after;
        match new.and_then(|unit| unit.files.get(path)) {
            Some(file) => {
                decision.writes.insert(path.clone(), file.clone());
            }
            None => decision.removes.push(path.clone()),
        }
    }
    decision.differing = [both.clone(), edited.clone()].concat();
    let is_changed = !decision.differing.is_empty();
    let reason = match (base, new) {
        (None, _) => Reason::NotFromPack,
        (_, None) => Reason::RemovedFromPack,
        _ if both.is_empty() => Reason::Edited,
        _ => Reason::BothChanged,
    };
    let recorded: KeptFiles = edited.iter().filter_map(|path| known?.kept_at(path)).collect();
    let is_recorded =
        |path: &String| recorded.get(path).is_some_and(|kept| on_disk(path).is_kept(kept.as_deref()));
    let is_conflict = !both.is_empty() || new.is_none() && is_changed;
    match policy {
        Policy::Overwrite if !decision.blocked.is_empty() => decision.leave(Action::Skipped, reason, known),
        Policy::TakeTheirs if !decision.blocked.is_empty() => decision.leave(Action::Conflict, reason, known),
        Policy::Install if is_conflict || !edited.iter().all(is_recorded) => {
            decision.leave(Action::Skipped, reason, known);
        }
        Policy::Update if is_conflict => decision.leave(Action::Conflict, reason, known),
        // The new version is recorded, and every file stays as the user has it.
        Policy::KeepMine if is_conflict => {
            decision.writes.clear();
            decision.removes.clear();
            decision.action = Action::Kept;
            let differs = |(path, hash): &(&String, &String)| !on_disk(path).matches(hash);
            let differing = wanted.iter().filter(differs);
            decision.kept = differing.map(|(path, _)| (path.clone(), on_disk(path).kept())).collect();
        }
        _ => {
            let is_overwritten = is_changed && matches!(policy, Policy::Overwrite | Policy::TakeTheirs);
            decision.action = match new {
                None => Action::Removed,
                Some(_) if !decision.changes_files() && is_changed && !is_overwritten => Action::Kept,
                Some(_) if !decision.changes_files() => Action::Unchanged,
                Some(_) if is_overwritten => Action::Replaced,
                Some(_) if base.is_none() || is_only_restored => Action::Installed,
                Some(_) => Action::Updated,
            };
            decision.kept = match policy {
                Policy::Overwrite | Policy::TakeTheirs => KeptFiles::new(),
                Policy::KeepMine => edited.iter().map(|path| (path.clone(), on_disk(path).kept())).collect(),
                Policy::Install | Policy::Update => recorded,
            };
        }
    }
    decision
}

pub fn uninstall(name: &str, lock: &Lock, on_disk: ReadState<'_>) -> Vec<Decision> {
    let units = lock.packs.get(name).into_iter().flat_map(LockedPack::units);
    let decide = |(kind, id, base): (UnitKind, &String, &LockedFiles)| {
        let mut decision = Decision::new(kind, id, Action::Removed, None);
        for (path, hash) in base {
            match on_disk(path) {
                OnDisk::Missing => {}
                here if here.matches(hash) => decision.removes.push(path.clone()),
                _ => decision.differing.push(path.clone()),
            }
        }
        if !decision.differing.is_empty() {
            decision.action = Action::Kept;
            decision.removes.clear();
        }
        decision
    };
    let mut decisions = units.map(decide).collect::<Vec<_>>();
    respect_other_packs(name, lock, &mut decisions);
    decisions
}

/// Keeps a role while a persona that stays has it. `role_of` returns the role of a persona.
pub fn keep_roles_in_use(decisions: &mut [Decision], role_of: impl Fn(&str) -> Option<String>) {
    let kept = decisions
        .iter()
        .filter(|decision| decision.kind == UnitKind::Persona && decision.action == Action::Kept);
    let in_use: BTreeMap<String, String> =
        kept.filter_map(|decision| Some((role_of(&decision.id)?, decision.id.clone()))).collect();
    let is_role =
        |decision: &&mut Decision| decision.kind == UnitKind::Role && decision.action == Action::Removed;
    for decision in decisions.iter_mut().filter(is_role) {
        if let Some(persona) = in_use.get(&decision.id) {
            decision.leave(Action::Kept, Reason::RoleInUse, None);
            decision.follower = Some(persona.clone());
        }
    }
}

/// Keeps files that other packs have as well, and takes what this pack changes away from them.
pub fn respect_other_packs(name: &str, lock: &Lock, decisions: &mut [Decision]) {
    for decision in decisions {
        let others = lock.packs.iter().filter(|(other, _)| *other != name);
        let others =
            others.filter_map(|(other, pack)| Some((other, pack.units_of(decision.kind).get(&decision.id)?)));
        for (other, files) in others {
            if decision.reason == Some(Reason::NotFromPack) {
                decision.shared_with.push(other.clone());
            }
            let removes = decision.removes.len();
            decision.removes.retain(|path| !files.contains_key(path));
            if decision.removes.len() < removes {
                decision.shared_with.push(other.clone());
            }
            let written = decision.locked.as_ref().filter(|_| !decision.writes.is_empty());
            if written.is_some_and(|written| !same_files(files, written)) {
                decision.taken_from.push(other.clone());
            }
        }
        if decision.action == Action::Removed
            && decision.removes.is_empty()
            && !decision.shared_with.is_empty()
        {
            decision.action = Action::Shared;
        }
    }
}

/// Whether one pack writes what another one has in the lock.
fn same_files(locked: &LockedFiles, written: &LockedFiles) -> bool {
    locked.len() == written.len()
        && locked
            .iter()
            .all(|(path, hash)| written.get(path).is_some_and(|written| matches_fingerprint(hash, written)))
}

/// The name that distinguishes personas from roles.
pub fn label_of(decision: &Decision) -> String {
    label(decision.kind, &decision.id)
}
