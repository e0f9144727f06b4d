//! `agentworkforce.lock`: which packs are installed here, from where, at which version, with a hash of every file.
//! It is part of the project, so anybody may have written it: its paths are checked before any is used.

use super::contents::{ROLES_PREFIX, Unit, UnitKind};
use super::error::PackError;
use super::tree::{File, clean_path};
use crate::load::file;
use crate::model::text_rules::slug;
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::Path;

pub const LOCK_FILE: &str = "agentworkforce.lock";
const VERSION: u64 = 1;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Lock {
    #[serde(default)]
    pub schema_version: u64,
    #[serde(default)]
    pub packs: BTreeMap<String, LockedPack>,
}

/// The files of a persona or role with their fingerprints, by paths relative to the directory of personas.
pub type LockedFiles = BTreeMap<String, String>;

/// Files that the user keeps, with the fingerprints of their versions; `None`: they deleted it.
pub type KeptFiles = BTreeMap<String, Option<String>>;

/// The source of one version of a pack.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Version {
    pub source: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LockedPack {
    pub source: String,
    /// The package version or commit, where the source has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved: Option<String>,
    /// The selected personas; empty: all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub selected: Vec<String>,
    #[serde(default)]
    pub personas: BTreeMap<String, LockedFiles>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub roles: BTreeMap<String, LockedFiles>,
    /// Files that the user decided to keep. The fingerprints above stay those of the pack.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kept: KeptFiles,
    /// The personas and roles that are at an older version than the one above.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub behind: BTreeMap<String, Version>,
}

/// The name that distinguishes personas from roles.
pub fn label(kind: UnitKind, id: &str) -> String {
    match kind {
        UnitKind::Persona => id.to_owned(),
        UnitKind::Role => format!("role:{id}"),
    }
}

/// The hash of a file's content in the lock.
pub fn hash(bytes: &[u8]) -> String {
    format!("sha256:{}", super::assets::hash(bytes))
}

/// Appended to the hash of an executable file. Older locks do not have it.
const EXECUTABLE: &str = "+x";

/// The content of a file and whether it is executable, as in the lock.
pub fn fingerprint(bytes: &[u8], executable: bool) -> String {
    hash(bytes) + if executable { EXECUTABLE } else { "" }
}

pub fn fingerprint_of(file: &File) -> String {
    fingerprint(&file.bytes, file.executable)
}

/// Whether a file is the one in the lock. A file may be executable although the lock does not say so: older locks do not
/// record it, and on some file systems every file is.
pub fn matches_fingerprint(locked: &str, found: &str) -> bool {
    locked == found || found.strip_suffix(EXECUTABLE) == Some(locked)
}

/// Whether the file of this fingerprint is executable.
pub fn is_executable(fingerprint: &str) -> bool {
    fingerprint.ends_with(EXECUTABLE)
}

/// The fingerprints of the files of a persona or role.
pub fn hashes(unit: &Unit) -> LockedFiles {
    unit.files.iter().map(|(path, file)| (path.clone(), fingerprint_of(file))).collect()
}

impl LockedPack {
    pub fn units_of(&self, kind: UnitKind) -> &BTreeMap<String, LockedFiles> {
        match kind {
            UnitKind::Persona => &self.personas,
            UnitKind::Role => &self.roles,
        }
    }

    pub fn units_of_mut(&mut self, kind: UnitKind) -> &mut BTreeMap<String, LockedFiles> {
        match kind {
            UnitKind::Persona => &mut self.personas,
            UnitKind::Role => &mut self.roles,
        }
    }

    /// Every persona and role.
    pub fn units(&self) -> impl Iterator<Item = (UnitKind, &String, &LockedFiles)> {
        let personas = self.personas.iter().map(|(id, files)| (UnitKind::Persona, id, files));
        personas.chain(self.roles.iter().map(|(key, files)| (UnitKind::Role, key, files)))
    }

    /// The entry of a file that the user keeps.
    pub fn kept_at(&self, path: &str) -> Option<(String, Option<String>)> {
        self.kept.get(path).map(|kept| (path.to_owned(), kept.clone()))
    }

    pub fn version(&self) -> Version {
        Version { source: self.source.clone(), resolved: self.resolved.clone() }
    }

    /// The version of one persona or role.
    pub fn version_of(&self, label: &str) -> Version {
        self.behind.get(label).cloned().unwrap_or_else(|| self.version())
    }

    /// Removes a persona or role from the pack.
    pub fn forget(&mut self, kind: UnitKind, id: &str) {
        for path in self.units_of_mut(kind).remove(id).unwrap_or_default().keys() {
            self.kept.remove(path);
        }
        self.behind.remove(&label(kind, id));
    }
}

impl Lock {
    /// The lock beside these personas; a missing one is empty.
    pub fn read(personas: &Path) -> Result<Lock> {
        let path = personas.join(LOCK_FILE);
        match file::read_text(&path).map_err(|problem| invalid(&path, problem))? {
            Some(text) => Lock::of_text(&path, &text),
            None => Ok(Lock { schema_version: VERSION, packs: BTreeMap::new() }),
        }
    }

    /// Parses the text of a lock file.
    pub(crate) fn of_text(path: &Path, text: &str) -> Result<Lock> {
        let invalid = |reason: &dyn Display| invalid(path, reason);
        let object = file::parse_object(path, text).map_err(|problem| invalid(&problem))?;
        let lock: Lock = serde_json::from_value(object.into()).map_err(|error| invalid(&error))?;
        if lock.schema_version != VERSION {
            return Err(invalid(&format!("schemaVersion is {}, expected {VERSION}", lock.schema_version)));
        }
        for pack in lock.packs.values() {
            for (kind, id, files) in pack.units() {
                for path in files.keys() {
                    check_path(kind, id, path).map_err(|reason| invalid(&reason))?;
                }
            }
        }
        Ok(lock)
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut text = serde_json::to_string_pretty(self).expect("our own values always serialise");
        text.push('\n');
        text.into_bytes()
    }
}

fn invalid(path: &Path, reason: impl Display) -> anyhow::Error {
    PackError::InvalidLock { path: path.to_owned(), reason: reason.to_string() }.into()
}

/// Only the JSON of a persona or role and the files below its assets are valid.
fn check_path(kind: UnitKind, id: &str, path: &str) -> Result<(), String> {
    let refused = || format!("`{}` is not a path that a pack installs", path.escape_debug());
    slug(id).map_err(|reason| format!("the id `{}` {reason}", id.escape_debug()))?;
    let inside = match kind {
        UnitKind::Persona => path,
        UnitKind::Role => path.strip_prefix(ROLES_PREFIX).ok_or_else(refused)?,
    };
    let is_clean = clean_path(inside).is_ok_and(|clean| clean == inside);
    let assets = format!("{id}__assets/");
    let is_own = inside == format!("{id}.json") || inside.starts_with(&assets);
    if is_clean && is_own { Ok(()) } else { Err(refused()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_without_a_mode_matches_both() {
        let (plain, executable) = (fingerprint(b"a", false), fingerprint(b"a", true));
        assert!(
            matches_fingerprint(&plain, &plain)
                && matches_fingerprint(&plain, &executable)
                && matches_fingerprint(&executable, &executable)
        );
        assert!(
            !matches_fingerprint(&executable, &plain)
                && !matches_fingerprint(&plain, &fingerprint(b"b", true))
        );
        assert_eq!((is_executable(&plain), is_executable(&executable)), (false, true));
    }

    #[test]
    fn only_paths_of_packs_are_accepted() {
        let check = |kind, path: &str| check_path(kind, "a", path).is_ok();
        for good in ["a.json", "a__assets/x.md", "a__assets/s/SKILL.md"] {
            assert!(check(UnitKind::Persona, good), "{good}");
            assert!(check(UnitKind::Role, &format!("../roles/{good}")), "{good}");
        }
        for bad in
            ["b.json", "../a.json", "a__assets/../../x", "/a.json", "a__assets", "./a.json", ".git/config"]
        {
            assert!(!check(UnitKind::Persona, bad), "{bad}");
            assert!(!check(UnitKind::Role, &format!("../roles/{bad}")), "{bad}");
        }
        assert!(check_path(UnitKind::Persona, "../a", "../a.json").is_err());
    }
}
