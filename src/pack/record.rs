//! What the lock says after an install, an update or an uninstall. It names what is on disk, and the older version of
//! whatever was not updated. Writes nothing.

use super::decide::{Decision, label_of};
use super::lockfile::{Lock, LockedPack, label};

/// Takes these decisions into the lock. `pack` has the new source and version, and all else as it was.
pub fn record_decisions(lock: &mut Lock, name: &str, mut pack: LockedPack, decisions: &[Decision]) {
    let before = lock.packs.get(name).cloned();
    for decision in decisions {
        pack.forget(decision.kind, &decision.id);
        if let Some(files) = &decision.locked {
            pack.units_of_mut(decision.kind).insert(decision.id.clone(), files.clone());
        }
        pack.kept.extend(decision.kept.clone());
        for other in &decision.taken_from {
            if let Some(other) = lock.packs.get_mut(other) {
                other.forget(decision.kind, &decision.id);
            }
        }
    }
    let new = pack.version();
    let was_left_alone = |label: &String| {
        let decision = decisions.iter().find(|decision| label_of(decision) == *label);
        decision.is_none_or(|decision| decision.action.is_left_alone())
    };
    let labels = pack.units().map(|(kind, id, _)| label(kind, id)).filter(was_left_alone);
    let behind = labels.filter_map(|label| {
        let version = before.as_ref()?.version_of(&label);
        (version != new).then_some((label, version))
    });
    pack.behind = behind.collect();
    lock.packs.insert(name.to_owned(), pack);
    lock.packs.retain(|_, pack| !pack.personas.is_empty() || !pack.roles.is_empty());
}
