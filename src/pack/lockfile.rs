//! `agentworkforce.lock`: which packs are installed here, from where, at which version, with a hash of every file.
//! It lies in the project, so anybody may have written it: its paths are checked before anything follows them.

use super::contents::{ROLES_PREFIX, Unit, UnitKind};
use super::tree::{File, clean};
use crate::error::{CommandError, Result};
use crate::load::file;
use crate::model::text_rules::slug;
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

/// The files of a persona or role with their hashes, by their paths seen from the directory of personas.
pub type LockedFiles = BTreeMap<String, String>;

/// Files that the user keeps their own way with the hashes of theirs; `None`: they keep none there.
pub type KeptFiles = BTreeMap<String, Option<String>>;

/// Where a version of a pack is from.
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
    /// The version of the package or the commit, where the source has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved: Option<String>,
    /// The personas that were asked for, where it was not all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub selected: Vec<String>,
    #[serde(default)]
    pub personas: BTreeMap<String, LockedFiles>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub roles: BTreeMap<String, LockedFiles>,
    /// Which of these files are the user's own by decision. The hashes above stay those of the pack.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kept: KeptFiles,
    /// The personas and roles that stayed at another version than the one above.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub behind: BTreeMap<String, Version>,
}

/// What a persona or role is called where it must be told from the other kind.
pub fn label(kind: UnitKind, id: &str) -> String {
    match kind {
        UnitKind::Persona => id.to_owned(),
        UnitKind::Role => format!("role:{id}"),
    }
}

/// The hash of a file's content as the lock writes it.
pub fn hash(bytes: &[u8]) -> String {
    format!("sha256:{}", super::assets::hash(bytes))
}

/// Behind the hash of a file that is executable. Locks of before have it nowhere.
const EXECUTABLE: &str = "+x";

/// What the lock says of a file: its content, and whether it is executable.
pub fn mark(bytes: &[u8], executable: bool) -> String {
    hash(bytes) + if executable { EXECUTABLE } else { "" }
}

pub fn mark_of(file: &File) -> String {
    mark(&file.bytes, file.executable)
}

/// Whether a file is what the lock says. One that the lock does not call executable may be: older locks do not know, and
/// there are file systems on which everything is.
pub fn accepts(locked: &str, found: &str) -> bool {
    locked == found || found.strip_suffix(EXECUTABLE) == Some(locked)
}

/// Whether it is executable, by its mark.
pub fn is_executable(mark: &str) -> bool {
    mark.ends_with(EXECUTABLE)
}

/// The hashes of what a persona or role is to be.
pub fn hashes(unit: &Unit) -> LockedFiles {
    unit.files.iter().map(|(path, file)| (path.clone(), mark_of(file))).collect()
}

impl LockedPack {
    pub fn of(&self, kind: UnitKind) -> &BTreeMap<String, LockedFiles> {
        match kind {
            UnitKind::Persona => &self.personas,
            UnitKind::Role => &self.roles,
        }
    }

    pub fn of_mut(&mut self, kind: UnitKind) -> &mut BTreeMap<String, LockedFiles> {
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

    /// What the lock says of a file that the user keeps.
    pub fn kept_at(&self, path: &str) -> Option<(String, Option<String>)> {
        self.kept.get(path).map(|kept| (path.to_owned(), kept.clone()))
    }

    pub fn version(&self) -> Version {
        Version { source: self.source.clone(), resolved: self.resolved.clone() }
    }

    /// The version that a persona or role is of.
    pub fn version_of(&self, label: &str) -> Version {
        self.behind.get(label).cloned().unwrap_or_else(|| self.version())
    }

    /// It is no longer this pack's.
    pub fn forget(&mut self, kind: UnitKind, id: &str) {
        for path in self.of_mut(kind).remove(id).unwrap_or_default().keys() {
            self.kept.remove(path);
        }
        self.behind.remove(&label(kind, id));
    }
}

impl Lock {
    /// The lock beside these personas, empty where there is none.
    pub fn read(personas: &Path) -> Result<Lock> {
        let path = personas.join(LOCK_FILE);
        match file::read_text(&path).map_err(|problem| broken(&path, problem))? {
            Some(text) => Lock::of_text(&path, &text),
            None => Ok(Lock { schema_version: VERSION, packs: BTreeMap::new() }),
        }
    }

    /// The lock in this text of the file.
    pub(crate) fn of_text(path: &Path, text: &str) -> Result<Lock> {
        let broken = |reason: &dyn Display| broken(path, reason);
        let object = file::parse_object(path, text).map_err(|problem| broken(&problem))?;
        let lock: Lock = serde_json::from_value(object.into()).map_err(|error| broken(&error))?;
        if lock.schema_version != VERSION {
            return Err(broken(&format!("its schemaVersion is {}, not {VERSION}", lock.schema_version)));
        }
        for pack in lock.packs.values() {
            for (kind, id, files) in pack.units() {
                for path in files.keys() {
                    check_path(kind, id, path).map_err(|reason| broken(&reason))?;
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

fn broken(path: &Path, reason: impl Display) -> CommandError {
    CommandError::usage(format!("{} cannot be understood", path.display()))
        .caused_by(reason)
        .hint("take it from version control again, or move it away and install the packs anew")
}

/// A path can only be the JSON of what it belongs to, or below its assets.
fn check_path(kind: UnitKind, id: &str, path: &str) -> Result<(), String> {
    let refused = || format!("`{}` is no path that a pack installs", path.escape_debug());
    slug(id).map_err(|reason| format!("the id `{}` {reason}", id.escape_debug()))?;
    let inside = match kind {
        UnitKind::Persona => path,
        UnitKind::Role => path.strip_prefix(ROLES_PREFIX).ok_or_else(refused)?,
    };
    let is_clean = clean(inside).is_ok_and(|clean| clean == inside);
    let assets = format!("{id}__assets/");
    let is_own = inside == format!("{id}.json") || inside.starts_with(&assets);
    if is_clean && is_own { Ok(()) } else { Err(refused()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_without_a_mode_accepts_both() {
        let (plain, executable) = (mark(b"a", false), mark(b"a", true));
        assert!(accepts(&plain, &plain) && accepts(&plain, &executable) && accepts(&executable, &executable));
        assert!(!accepts(&executable, &plain) && !accepts(&plain, &mark(b"b", true)));
        assert_eq!((is_executable(&plain), is_executable(&executable)), (false, true));
    }

    #[test]
    fn only_paths_of_packs_are_followed() {
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
