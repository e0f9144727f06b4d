//! Selects the changes to apply: all, or those that were picked, and conflicts that the user decided. Pure. A selected change includes
//! the other changes that it needs.

use super::decided::{Choice, Decided};
use crate::model::change_kind::ChangeKind;
use crate::mount::changes::compare::{After, ConflictReason};
use crate::mount::changes::{Change, Review};
use crate::mount::fs::stat::{Kind, Stat};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A path stands for itself and everything below it; in `theirs`, `ours` and `markers`, for every conflict below it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only these; `None` means all.
    pub only: Option<Vec<PathBuf>>,
    /// `only` names exact paths, without what is below them.
    pub exact: bool,
    /// Take the agent's version, whatever the user did; the user's version goes to the undo copies.
    pub theirs: Vec<PathBuf>,
    /// Keep the project's version and leave the agent's in the session.
    pub ours: Vec<PathBuf>,
    /// Combine both versions with conflict markers.
    pub markers: Vec<PathBuf>,
    /// What a person decided about single paths.
    pub decided: BTreeMap<PathBuf, Decided>,
    /// What the person saw before deciding; `None` if nothing was shown. Changes that appeared since then are left in the session.
    pub shown: Option<BTreeSet<PathBuf>>,
    /// The agent's side that the person saw. If it has changed since, nothing is applied.
    pub seen: BTreeMap<PathBuf, Option<Stat>>,
}

#[derive(Default)]
pub(super) struct Chosen<'a> {
    /// To be applied.
    pub(super) changes: Vec<&'a Change>,
    /// Selected, but an undecided conflict. Part of `rest`.
    pub(super) undecided: Vec<&'a Change>,
    /// Decided for the project's version. Part of `rest`.
    pub(super) ours: Vec<&'a Change>,
    /// Everything that is not applied.
    pub(super) rest: Vec<&'a Change>,
}

impl Selection {
    pub fn all() -> Selection {
        Selection::default()
    }

    /// Named paths with no change at or below them: most likely a mistake.
    pub fn unknown<'a>(&'a self, review: &Review) -> Vec<&'a Path> {
        let named = self.only.iter().flatten().chain(&self.theirs).chain(&self.ours).chain(&self.markers);
        named
            .map(PathBuf::as_path)
            .filter(|path| !review.changes.iter().any(|change| change.path.starts_with(path)))
            .collect()
    }

    /// The changes that are undecided conflicts.
    pub fn undecided(&self, review: &Review) -> Vec<usize> {
        let undecided = self.choose(review).undecided;
        let is_undecided = |change: &Change| undecided.iter().any(|one| one.path == change.path);
        (0..review.changes.len()).filter(|&number| is_undecided(&review.changes[number])).collect()
    }

    /// Paths for which conflict markers were requested but are impossible.
    pub fn without_markers<'a>(&self, review: &'a Review) -> impl Iterator<Item = &'a Change> {
        review.conflicts().filter(|change| covers(&self.markers, &change.path))
    }

    pub(super) fn choose<'a>(&self, review: &'a Review) -> Chosen<'a> {
        let picked = self.with_what_they_need(review);
        let is_ours = |path: &Path| {
            let decided = self.decided.get(path).map(|decided| &decided.choice);
            self.ours.iter().any(|ours| ours == path) || decided == Some(&Choice::Ours)
        };
        let mut chosen = Chosen::default();
        for change in &review.changes {
            let path = change.path.0.as_path();
            let was_shown = self.shown.as_ref().is_none_or(|shown| shown.contains(path));
            let is_picked = picked.as_ref().is_none_or(|picked| picked.contains(path)) && was_shown;
            let decided = self.decided.get(path).map(|decided| &decided.choice);
            // One half of a rename alone would lose or duplicate the file.
            let is_left =
                decides(&self.ours, change) || is_ours(path) || change.other_half().is_some_and(is_ours);
            if !is_picked || is_left {
                chosen.rest.push(change);
                if is_left && was_shown {
                    chosen.ours.push(change);
                }
                continue;
            }
            let is_decided = change.conflict.is_none_or(|reason| {
                // Forcing the first would delete what the agent never saw, and nobody has seen the second.
                let is_open = matches!(reason, ConflictReason::NotEmpty | ConflictReason::ChangedSinceReview);
                !is_open && (decides(&self.theirs, change) || decided == Some(&Choice::Theirs))
            });
            if is_decided {
                chosen.changes.push(change);
                if change.partly {
                    chosen.rest.push(change);
                }
            } else {
                chosen.undecided.push(change);
                chosen.rest.push(change);
            }
        }
        chosen
    }

    /// Half of a rename needs the other half; a file in a directory that the agent made out of a file needs that change; a directory that became a file needs
    /// all the deletions below it.
    fn with_what_they_need(&self, review: &Review) -> Option<BTreeSet<PathBuf>> {
        let only = self.only.as_ref()?;
        let is_named = |path: &Path| {
            if self.exact { only.iter().any(|named| named == path) } else { covers(only, path) }
        };
        let is_forced =
            |change: &&Change| is_named(&change.path) || change.marked || decides(&self.theirs, change);
        let mut picked: BTreeSet<PathBuf> =
            review.changes.iter().filter(is_forced).map(|change| change.path.0.clone()).collect();
        let is_picked = |change: &&Change| picked.contains(&change.path.0);
        let halves: Vec<PathBuf> = review
            .changes
            .iter()
            .filter(is_picked)
            .filter_map(|change| change.other_half().map(Path::to_owned))
            .collect();
        picked.extend(halves);
        for change in &review.changes {
            let path = change.path.0.as_path();
            let becomes_directory = change.node == Kind::Dir && change.after != After::Absent;
            let is_needed_below = becomes_directory
                && matches!(change.kind, ChangeKind::Added | ChangeKind::TypeChange)
                && picked.iter().any(|picked| picked != path && picked.starts_with(path));
            if is_needed_below {
                picked.insert(path.to_owned());
            }
        }
        let replaced: Vec<PathBuf> = review
            .changes
            .iter()
            .filter(|change| change.kind == ChangeKind::TypeChange && change.node != Kind::Dir)
            .filter(|change| picked.contains(&change.path.0))
            .map(|change| change.path.0.clone())
            .collect();
        let below = review.changes.iter().filter(|change| covers(&replaced, &change.path));
        picked.extend(below.map(|change| change.path.0.clone()));
        Some(picked)
    }
}

/// Whether a list decides a change: it names the change itself, or names something above it and the change is a conflict.
pub(super) fn decides(named: &[PathBuf], change: &Change) -> bool {
    named.contains(&change.path.0) || change.conflict.is_some() && covers(named, &change.path)
}

pub(super) fn covers(named: &[PathBuf], path: &Path) -> bool {
    named.iter().any(|named| path.starts_with(named))
}
