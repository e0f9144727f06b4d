//! Which side wins where both the user and the pack changed something. Decides nothing about single files: that is
//! `decide`.

use super::contents::UnitKind;
use super::lockfile::label;

/// How one persona or role is merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// Add what is missing, replace what the pack installed, and leave everything else alone.
    Install,
    /// The same, over whatever is there.
    Overwrite,
    /// Merge by file; what both sides changed is a conflict.
    Update,
    /// Like `Update`, but the user's files are kept and recorded in the lock.
    KeepMine,
    /// Every file as the pack has it.
    TakeTheirs,
}

/// The user's choice for conflicts: for these personas and roles, or for all of them where none is named.
#[derive(Debug, Clone)]
pub enum ConflictChoice {
    KeepMine(Vec<String>),
    TakeTheirs(Vec<String>),
}

impl ConflictChoice {
    pub fn labels(&self) -> &[String] {
        match self {
            ConflictChoice::KeepMine(labels) | ConflictChoice::TakeTheirs(labels) => labels,
        }
    }

    fn is_for_all(&self) -> bool {
        self.labels().is_empty()
    }
}

/// The policy of an update for one persona or role.
pub fn update_policy(choice: Option<&ConflictChoice>, kind: UnitKind, id: &str) -> Policy {
    let is_named = |choice: &ConflictChoice| choice.labels().contains(&label(kind, id));
    match choice {
        Some(choice @ ConflictChoice::KeepMine(_)) if choice.is_for_all() || is_named(choice) => {
            Policy::KeepMine
        }
        Some(choice @ ConflictChoice::TakeTheirs(_)) if is_named(choice) => Policy::TakeTheirs,
        _ => Policy::Update,
    }
}

/// Whether every conflict is decided for the pack. An edit that does not conflict is still kept.
pub fn takes_theirs_in_conflicts(choice: Option<&ConflictChoice>) -> bool {
    matches!(choice, Some(choice @ ConflictChoice::TakeTheirs(_)) if choice.is_for_all())
}
