//! Differences between the lock and what is on disk or in a pack, and how to fix each. Reads nothing itself.

use super::contents::{Unit, UnitKind};
use super::decide::{OnDisk, ReadState};
use super::lockfile::{LockedPack, hashes, label, matches_fingerprint};
use std::collections::BTreeSet;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drift {
    pub line: String,
    pub fix: Fix,
}

/// How to resolve a difference.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fix {
    /// The user changed this persona or role: they keep it, or take the pack's version.
    Choose(String),
    /// A file that only the user has is missing: they must restore it.
    Restore(String),
    /// The pack differs from the lock.
    Update,
}

/// Differences to a fetched pack and to what is on disk.
pub fn in_pack(units: &[Unit], locked: &LockedPack, on_disk: ReadState<'_>) -> Vec<Drift> {
    let mut found = Vec::new();
    for unit in units {
        let Some(base) = locked.units_of(unit.kind).get(&unit.id) else {
            let line = format!("{} `{}` of the pack is not in the lock", unit.kind.name(), unit.id);
            found.push(Drift { line, fix: Fix::Update });
            continue;
        };
        let new = hashes(unit);
        let paths: BTreeSet<&String> = base.keys().chain(new.keys()).collect();
        let agrees = |path: &String| {
            base.get(path).zip(new.get(path)).is_some_and(|(base, new)| matches_fingerprint(base, new))
        };
        for path in paths.into_iter().filter(|path| !agrees(path)) {
            found.push(Drift { line: format!("{path} of the pack differs from the lock"), fix: Fix::Update });
        }
    }
    found.extend(here(locked, on_disk));
    found
}

/// Differences to what is on disk. A missing file that the pack has does not count.
pub fn here(locked: &LockedPack, on_disk: ReadState<'_>) -> Vec<Drift> {
    let mut found = Vec::new();
    for (kind, id, files) in locked.units() {
        for (path, hash) in files {
            if let Some(drift) = of_file((kind, id), (path, hash), locked, on_disk) {
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
    on_disk: ReadState<'_>,
) -> Option<Drift> {
    let here = on_disk(path);
    let is_from_pack = here.matches(hash);
    let label = label(kind, id);
    let (line, fix) = match locked.kept.get(path) {
        None if is_from_pack || here == OnDisk::Missing => return None,
        None => (format!("{path} was edited and differs from the lock"), Fix::Choose(label)),
        Some(kept) if here.is_kept(kept.as_deref()) => return None,
        Some(_) if is_from_pack => {
            (format!("{path} is the pack's version, but the lock records that yours is kept"), Fix::Update)
        }
        Some(_) if here == OnDisk::Missing => (
            format!("{path} is missing, and no pack has your version that the lock records"),
            Fix::Restore(label),
        ),
        Some(_) => {
            (format!("{path} differs from the local version recorded in the lock"), Fix::Choose(label))
        }
    };
    Some(Drift { line, fix })
}
