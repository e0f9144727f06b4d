//! Whose side is taken where the user and the pack both changed something, as `update` was told.

use super::contents::UnitKind;
use super::decide::Way;
use super::lockfile::label;

/// For each side the personas and roles that it is taken for; none at all means every one that nobody named.
#[derive(Debug, Clone, Default)]
pub struct Settlement {
    pub mine: Option<Vec<String>>,
    pub theirs: Option<Vec<String>>,
}

impl Settlement {
    pub fn way(&self, kind: UnitKind, id: &str) -> Way {
        let label = label(kind, id);
        let is_named = |side: &Option<Vec<String>>| side.as_ref().is_some_and(|side| side.contains(&label));
        match () {
            () if is_named(&self.mine) => Way::KeepMine,
            () if is_named(&self.theirs) => Way::TakeTheirs,
            () if self.mine.as_ref().is_some_and(Vec::is_empty) => Way::KeepMine,
            () => Way::Update,
        }
    }

    /// Whether the pack is right wherever there is a conflict. An edit that is in nobody's way is none.
    pub fn is_theirs_in_conflict(&self) -> bool {
        self.theirs.as_ref().is_some_and(Vec::is_empty)
    }

    /// Everything that is named, on either side.
    pub fn named(&self) -> impl Iterator<Item = &String> {
        self.mine.iter().chain(&self.theirs).flatten()
    }
}
