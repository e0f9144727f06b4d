//! Finds the common base of a conflict, so that its diff can show what each side changed.

use super::change::Change;
use super::compare::After;
use super::path_states::base_of;
use super::three_way::ThreeWay;
use super::versions::base_text;

/// The common base of both sides of a conflict, if it is known and text.
pub(super) fn base_of_conflict(sides: &ThreeWay<'_>, change: &Change) -> anyhow::Result<Option<Vec<u8>>> {
    let is_file = |after: &After| matches!(after, After::File { .. } | After::Absent);
    if change.conflict.is_none() || !is_file(&change.after) {
        return Ok(None);
    }
    let base = base_of(sides, &change.path)?;
    Ok(base_text(sides, &change.path, &base))
}
