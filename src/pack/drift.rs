//! Where what is on disk or in a pack is not what the lock says: what it is, and what mends it. Pure.

use super::contents::{Unit, UnitKind};
use super::decide::{Look, OnDisk};
use super::lockfile::{LockedPack, accepts, hashes, label};
use std::collections::BTreeSet;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drift {
    pub line: String,
    pub mend: Mend,
}

/// What puts it right.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mend {
    /// The user changed this persona or role: they keep it, or take the pack's.
    Settle(String),
    /// A file that is only the user's is missing: it must come from where they have it.
    BringBack(String),
    /// The pack is another one than the lock says.
    Update,
}

/// Against a pack that was fetched.
pub fn against(units: &[Unit], locked: &LockedPack, look: Look<'_>) -> Vec<Drift> {
    let mut found = Vec::new();
    for unit in units {
        let Some(base) = locked.of(unit.kind).get(&unit.id) else {
            let line = format!("{} `{}` of the pack is not in the lock", unit.kind.word(), unit.id);
            found.push(Drift { line, mend: Mend::Update });
            continue;
        };
        let new = hashes(unit);
        let paths: BTreeSet<&String> = base.keys().chain(new.keys()).collect();
        let agrees =
            |path: &String| base.get(path).zip(new.get(path)).is_some_and(|(base, new)| accepts(base, new));
        for path in paths.into_iter().filter(|path| !agrees(path)) {
            found.push(Drift {
                line: format!("{path} of the pack is not what the lock says"),
                mend: Mend::Update,
            });
        }
    }
    found.extend(here(locked, look));
    found
}

/// Against what is on disk alone. What is missing and can be brought is no drift.
pub fn here(locked: &LockedPack, look: Look<'_>) -> Vec<Drift> {
    let mut found = Vec::new();
    for (kind, id, files) in locked.units() {
        for (path, hash) in files {
            if let Some(drift) = of_file((kind, id), (path, hash), locked, look) {
                found.push(drift);
            }
        }
    }
    found
}

fn of_file(
    (kind, id): (UnitKind, &str),
    (path, hash): (&str, &str),
    locked: &LockedPack,
    look: Look<'_>,
) -> Option<Drift> {
    let here = look(path);
    let is_packs = here.is(hash);
    let label = label(kind, id);
    let (line, mend) = match locked.kept.get(path) {
        None if is_packs || here == OnDisk::Nothing => return None,
        None => (format!("{path} here is not what the lock says: it was edited"), Mend::Settle(label)),
        Some(kept) if here.is_kept(kept.as_deref()) => return None,
        Some(_) if is_packs => {
            (format!("{path} here is the pack's, and the lock says that yours is kept"), Mend::Update)
        }
        Some(_) if here == OnDisk::Nothing => (
            format!("{path} is missing, and the lock says that yours is kept: no pack has it"),
            Mend::BringBack(label),
        ),
        Some(_) => {
            (format!("{path} here is not the one of yours that the lock says is kept"), Mend::Settle(label))
        }
    };
    Some(Drift { line, mend })
}
