//! What an install, an update or an uninstall does to every persona and role: a pure function of the pack, the lock and
//! what is on disk. A persona is taken whole or not at all, so that its JSON never names a file of another version.

use super::contents::{Unit, UnitKind};
use super::lockfile::{KeptFiles, Lock, LockedFiles, LockedPack, accepts, hashes, label};
use super::settlement::Settlement;
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

impl OnDisk {
    /// How the lock writes down what the user keeps.
    pub fn kept(&self) -> Option<String> {
        match self {
            OnDisk::Nothing => None,
            OnDisk::File(hash) => Some(hash.clone()),
            OnDisk::Other => Some("other".into()),
        }
    }

    /// Whether it is the file that the lock says.
    pub fn is(&self, locked: &str) -> bool {
        matches!(self, OnDisk::File(here) if accepts(locked, here))
    }

    /// Whether it is what the lock says that the user keeps.
    pub fn is_kept(&self, kept: Option<&str>) -> bool {
        match (self.kept(), kept) {
            (Some(here), Some(kept)) => accepts(kept, &here),
            (here, kept) => here.as_deref() == kept,
        }
    }
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
    /// The user's own way, so it stays.
    Kept,
    /// Given up by this pack, and still another one's.
    Shared,
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
            Action::Kept | Action::Shared => "kept",
        }
    }

    /// Whether nothing of the new version was taken, and somebody has to decide.
    pub fn is_left_alone(self) -> bool {
        matches!(self, Action::Skipped | Action::Conflict)
    }
}

/// Why something was left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Because {
    /// It was never the pack's.
    NotThePacks,
    /// A file of another name has the id.
    IdIsTaken,
    /// The user changed it, and the pack did not.
    Edited,
    BothChanged,
    /// The user changed it, and the pack has it no more.
    Gone,
    /// A role that a persona which stays follows.
    Followed,
}

/// What becomes of one persona or role.
#[derive(Debug)]
pub struct Decision {
    pub kind: UnitKind,
    pub id: String,
    pub action: Action,
    /// Of what was left alone.
    pub because: Option<Because>,
    pub writes: BTreeMap<String, File>,
    pub removes: Vec<String>,
    /// The paths that stand in the way, or that the user changed.
    pub differing: Vec<String>,
    /// The persona that stays and follows this role.
    pub follower: Option<String>,
    /// Those of them that are no plain files.
    pub blocked: Vec<String>,
    /// Other packs that have the files which this one gives up or cannot have.
    pub keepers: Vec<String>,
    /// Other packs that had it in another version than the one that is written.
    pub ousted: Vec<String>,
    /// What the lock says from now on; `None`: nothing.
    pub locked: Option<LockedFiles>,
    /// What the lock says of the files that the user keeps.
    pub kept: KeptFiles,
}

impl Decision {
    /// Something that is as the lock says.
    pub fn unchanged(kind: UnitKind, id: &str, locked: LockedFiles) -> Decision {
        Decision::new(kind, id, Action::Unchanged, Some(locked))
    }

    fn new(kind: UnitKind, id: &str, action: Action, locked: Option<LockedFiles>) -> Decision {
        Decision {
            kind,
            id: id.to_owned(),
            action,
            because: None,
            writes: BTreeMap::new(),
            removes: Vec::new(),
            differing: Vec::new(),
            follower: None,
            blocked: Vec::new(),
            keepers: Vec::new(),
            ousted: Vec::new(),
            locked,
            kept: KeptFiles::new(),
        }
    }

    pub fn changes_files(&self) -> bool {
        !self.writes.is_empty() || !self.removes.is_empty()
    }

    /// Leaves everything as it is and as it was locked.
    pub fn leave(&mut self, action: Action, because: Because, known: Option<&LockedPack>) {
        self.action = action;
        self.because = Some(because);
        self.writes.clear();
        self.removes.clear();
        self.locked = known.and_then(|known| known.of(self.kind).get(&self.id)).cloned();
        self.kept = self.locked.iter().flatten().filter_map(|(path, _)| known?.kept_at(path)).collect();
    }
}

/// On whose side a decision is where both have something to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Bring what is missing, replace what is the pack's, and leave all else alone.
    Install,
    /// The same over whatever is there.
    Overwrite,
    /// Merge by file; what both changed is a conflict.
    Update,
    /// As an update, and what the user has is kept and noted.
    KeepMine,
    /// What the pack has, in every file.
    TakeTheirs,
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
    let way = match existing {
        Existing::Keep => Way::Install,
        Existing::Overwrite => Way::Overwrite,
    };
    units.iter().map(|unit| one((unit.kind, &unit.id), locked, Some(unit), way, look)).collect()
}

/// What the pack brought once and has no more. `units` is all that it has.
pub fn gone(units: &[Unit], locked: &LockedPack, way: Way, look: Look<'_>) -> Vec<Decision> {
    let is_there = |kind: UnitKind, id: &String| units.iter().any(|unit| unit.kind == kind && unit.id == *id);
    let gone = locked.units().filter(|(kind, id, _)| !is_there(*kind, id));
    gone.map(|(kind, id, _)| one((kind, id), Some(locked), None, way, look)).collect()
}

/// `units` is all of the new version that was asked for.
pub fn update(units: &[Unit], locked: &LockedPack, settlement: &Settlement, look: Look<'_>) -> Vec<Decision> {
    let decide = |kind: UnitKind, id: &str, new: Option<&Unit>| {
        let settled = |way| one((kind, id), Some(locked), new, way, look);
        let decision = settled(settlement.way(kind, id));
        let is_theirs = decision.action == Action::Conflict && settlement.is_theirs_in_conflict();
        if is_theirs { settled(Way::TakeTheirs) } else { decision }
    };
    let mut decisions: Vec<Decision> =
        units.iter().map(|unit| decide(unit.kind, &unit.id, Some(unit))).collect();
    for gone in gone(units, locked, Way::Update, look) {
        decisions.push(decide(gone.kind, &gone.id, None));
    }
    decisions
}

/// Three sides: what was installed, what is on disk, what is new.
fn one(
    (kind, id): (UnitKind, &str),
    known: Option<&LockedPack>,
    new: Option<&Unit>,
    way: Way,
    look: Look<'_>,
) -> Decision {
    let base = known.and_then(|known| known.of(kind).get(id));
    let wanted = new.map(hashes).unwrap_or_default();
    let mut decision = Decision::new(kind, id, Action::Unchanged, new.map(|_| wanted.clone()));
    // The user's own: where the pack changed nothing, and where it did.
    let (mut edited, mut both) = (Vec::new(), Vec::new());
    let mut is_only_restored = true;
    let paths: BTreeSet<&String> = base.into_iter().flat_map(BTreeMap::keys).chain(wanted.keys()).collect();
    for path in paths {
        let (before, after) = (base.and_then(|base| base.get(path)), wanted.get(path));
        let here = look(path);
        let is = |hash: Option<&String>| match hash {
            Some(hash) => here.is(hash),
            None => here == OnDisk::Nothing,
        };
        // Where the pack changed nothing, the lock is right about it; else the mode counts, too.
        let is_exactly = |hash: &String| here == OnDisk::File(hash.clone());
        if is(after) && (before == after || after.is_none_or(is_exactly)) {
            // As it should be, by whatever way.
            continue;
        }
        let note = known.and_then(|known| known.kept.get(path));
        let is_missed = way == Way::Install && here == OnDisk::Nothing && note != Some(&None);
        let is_packs = is(before) || is_missed;
        if !is_packs {
            let sides = if before == after { &mut edited } else { &mut both };
            sides.push(path.clone());
            if here == OnDisk::Other {
                decision.blocked.push(path.clone());
            }
        }
        let is_taken = match way {
            Way::TakeTheirs => true,
            Way::Overwrite => after.is_some() || is_packs,
            Way::Install | Way::Update | Way::KeepMine => is_packs,
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
    let is_own = !decision.differing.is_empty();
    let because = match (base, new) {
        (None, _) => Because::NotThePacks,
        (_, None) => Because::Gone,
        _ if both.is_empty() => Because::Edited,
        _ => Because::BothChanged,
    };
    let noted: KeptFiles = edited.iter().filter_map(|path| known?.kept_at(path)).collect();
    let is_noted = |path: &String| noted.get(path).is_some_and(|kept| look(path).is_kept(kept.as_deref()));
    let is_conflict = !both.is_empty() || new.is_none() && is_own;
    match way {
        Way::Overwrite if !decision.blocked.is_empty() => decision.leave(Action::Skipped, because, known),
        Way::TakeTheirs if !decision.blocked.is_empty() => decision.leave(Action::Conflict, because, known),
        Way::Install if is_conflict || !edited.iter().all(is_noted) => {
            decision.leave(Action::Skipped, because, known);
        }
        Way::Update if is_conflict => decision.leave(Action::Conflict, because, known),
        // From here on it is the user's alone, or all of it stays as it is on top of the new version.
        Way::KeepMine if is_conflict => {
            decision.writes.clear();
            decision.removes.clear();
            decision.action = Action::Kept;
            let differs = |(path, hash): &(&String, &String)| !look(path).is(hash);
            let own = wanted.iter().filter(differs);
            decision.kept = own.map(|(path, _)| (path.clone(), look(path).kept())).collect();
        }
        _ => {
            let is_over_own = is_own && matches!(way, Way::Overwrite | Way::TakeTheirs);
            decision.action = match new {
                None => Action::Removed,
                Some(_) if !decision.changes_files() && is_own && !is_over_own => Action::Kept,
                Some(_) if !decision.changes_files() => Action::Unchanged,
                Some(_) if is_over_own => Action::Replaced,
                Some(_) if base.is_none() || is_only_restored => Action::Installed,
                Some(_) => Action::Updated,
            };
            decision.kept = match way {
                Way::Overwrite | Way::TakeTheirs => KeptFiles::new(),
                Way::KeepMine => edited.iter().map(|path| (path.clone(), look(path).kept())).collect(),
                Way::Install | Way::Update => noted,
            };
        }
    }
    decision
}

pub fn uninstall(name: &str, lock: &Lock, look: Look<'_>) -> Vec<Decision> {
    let units = lock.packs.get(name).into_iter().flat_map(LockedPack::units);
    let decide = |(kind, id, base): (UnitKind, &String, &LockedFiles)| {
        let mut decision = Decision::new(kind, id, Action::Removed, None);
        for (path, hash) in base {
            match look(path) {
                OnDisk::Nothing => {}
                here if here.is(hash) => decision.removes.push(path.clone()),
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
    among_others(name, lock, &mut decisions);
    decisions
}

/// A role stays while a persona that stays follows it. `role_of` says which one that is.
pub fn keep_followed(decisions: &mut [Decision], role_of: impl Fn(&str) -> Option<String>) {
    let kept = decisions
        .iter()
        .filter(|decision| decision.kind == UnitKind::Persona && decision.action == Action::Kept);
    let followed: BTreeMap<String, String> =
        kept.filter_map(|decision| Some((role_of(&decision.id)?, decision.id.clone()))).collect();
    let is_role =
        |decision: &&mut Decision| decision.kind == UnitKind::Role && decision.action == Action::Removed;
    for decision in decisions.iter_mut().filter(is_role) {
        if let Some(persona) = followed.get(&decision.id) {
            decision.leave(Action::Kept, Because::Followed, None);
            decision.follower = Some(persona.clone());
        }
    }
}

/// What other packs have as well stays where this one gives it up, and is no longer theirs where this one changes it.
pub fn among_others(name: &str, lock: &Lock, decisions: &mut [Decision]) {
    for decision in decisions {
        let others = lock.packs.iter().filter(|(other, _)| *other != name);
        let others =
            others.filter_map(|(other, pack)| Some((other, pack.of(decision.kind).get(&decision.id)?)));
        for (other, files) in others {
            if decision.because == Some(Because::NotThePacks) {
                decision.keepers.push(other.clone());
            }
            let given_up = decision.removes.len();
            decision.removes.retain(|path| !files.contains_key(path));
            if decision.removes.len() < given_up {
                decision.keepers.push(other.clone());
            }
            let written = decision.locked.as_ref().filter(|_| !decision.writes.is_empty());
            if written.is_some_and(|written| !agree(files, written)) {
                decision.ousted.push(other.clone());
            }
        }
        if decision.action == Action::Removed && decision.removes.is_empty() && !decision.keepers.is_empty() {
            decision.action = Action::Shared;
        }
    }
}

/// Whether what one pack writes is what another one has.
fn agree(locked: &LockedFiles, written: &LockedFiles) -> bool {
    locked.len() == written.len()
        && locked.iter().all(|(path, hash)| written.get(path).is_some_and(|written| accepts(hash, written)))
}

/// What a persona or role is called where it must be told from the other kind.
pub fn label_of(decision: &Decision) -> String {
    label(decision.kind, &decision.id)
}
