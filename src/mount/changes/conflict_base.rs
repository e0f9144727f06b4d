//! What both sides of a conflict started from, so that its diff can tell what each of them changed. It reads; `diff` shows.

use super::change::Change;
use super::compare::After;
use super::path_states::base_of;
use super::three_way::ThreeWay;
use super::versions::base_text;

/// The version of a conflict's path that both sides started from, if it is known and text.
pub(super) fn base_of_conflict(sides: &ThreeWay<'_>, change: &Change) -> anyhow::Result<Option<Vec<u8>>> {
    let is_file = |after: &After| matches!(after, After::File { .. } | After::Absent);
    if change.conflict.is_none() || !is_file(&change.after) {
        return Ok(None);
    }
    let base = base_of(sides, &change.path)?;
    Ok(base_text(sides, &change.path, &base))
}
