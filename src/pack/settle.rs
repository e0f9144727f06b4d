//! What the lock says after something was decided. It names what is on disk, and for what stayed behind its own version.

use super::decide::{Decision, label_of};
use super::lockfile::{Lock, LockedPack, label};

/// The lock with these decisions taken into it. `pack` has the new source and version, and all else as it was.
pub fn settle(lock: &mut Lock, name: &str, mut pack: LockedPack, decisions: &[Decision]) {
    let before = lock.packs.get(name).cloned();
    for decision in decisions {
        pack.forget(decision.kind, &decision.id);
        if let Some(files) = &decision.locked {
            pack.of_mut(decision.kind).insert(decision.id.clone(), files.clone());
        }
        pack.kept.extend(decision.kept.clone());
        for other in &decision.ousted {
            if let Some(other) = lock.packs.get_mut(other) {
                other.forget(decision.kind, &decision.id);
            }
        }
    }
    let new = pack.version();
    let stayed = |label: &String| {
        let decided = decisions.iter().find(|decision| label_of(decision) == *label);
        decided.is_none_or(|decision| decision.action.is_left_alone())
    };
    let labels = pack.units().map(|(kind, id, _)| label(kind, id)).filter(stayed);
    let behind = labels.filter_map(|label| {
        let version = before.as_ref()?.version_of(&label);
        (version != new).then_some((label, version))
    });
    pack.behind = behind.collect();
    lock.packs.insert(name.to_owned(), pack);
    lock.packs.retain(|_, pack| !pack.personas.is_empty() || !pack.roles.is_empty());
}
