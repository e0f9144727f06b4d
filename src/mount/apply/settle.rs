//! Puts the decisions of a selection into a review before it is applied. A decision only counts for what the person saw.

use super::decided::Choice;
use super::select::{Selection, covers, decides};
use crate::mount::changes::compare::ConflictReason;
use crate::mount::changes::hunks::PickedText;
use crate::mount::changes::markers::Marked;
use crate::mount::changes::versions::{TextVersions, text_versions};
use crate::mount::changes::{Change, MergedText, Review, ThreeWay};

/// Anything that differs from what the person saw becomes a conflict.
pub(super) fn settle(selection: &Selection, sides: &ThreeWay<'_>, review: &mut Review) -> anyhow::Result<()> {
    for change in &mut review.changes {
        let path = change.path.0.clone();
        let path = path.as_path();
        // If the agent's version was requested explicitly, it is taken as it is and not merged.
        if change.merged.is_some() && decides(&selection.theirs, change) {
            *change = change.clone().unmerged();
        }
        let was_seen = selection
            .seen
            .get(path)
            .is_none_or(|seen| sides.mount.stat(path).is_ok_and(|stat| stat == *seen));
        let decided = selection.decided.get(path);
        if !was_seen || decided.is_some_and(|decided| decided.now != change.now) {
            change.conflict = Some(ConflictReason::ChangedSinceReview);
            continue;
        }
        match decided.map(|decided| &decided.choice) {
            Some(Choice::Text(picked)) => *change = with_picked(sides, change, picked)?,
            None if change.conflict.is_some() && covers(&selection.markers, path) => {
                if let Some(versions) = text_versions(sides, change)? {
                    let result = Marked::of(&versions).text;
                    let TextVersions { base, theirs, mode, .. } = versions;
                    let text = MergedText { result, agents: theirs, base };
                    *change = Change { marked: true, ..change.clone().with_text(text, mode) };
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn with_picked(sides: &ThreeWay<'_>, change: &Change, picked: &PickedText) -> anyhow::Result<Change> {
    let versions = text_versions(sides, change)?;
    if versions.is_none_or(|versions| versions.theirs != picked.theirs) {
        return Ok(Change { conflict: Some(ConflictReason::ChangedSinceReview), ..change.clone() });
    }
    let change = change.clone().with_text(picked.text.clone(), picked.mode);
    Ok(Change { partly: picked.partly, ..change })
}
