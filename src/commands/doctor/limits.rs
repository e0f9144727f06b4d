//! Which limits of resources hold here, and why not the others. Nothing is tried: reading what the kernel says is enough.

use super::row::{Area, Row};
use crate::model::limits::LimitObstacles;
use serde::Serialize;

/// How to get a control group that is delegated.
const HOW: &str =
    "`systemd-run --user --scope -p Delegate=yes agentworkforce ...` gives a run what they need";

/// Whether a limit is enforced here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckedLimit {
    pub limit: &'static str,
    pub available: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// `overlay` is why there is none, if there is none: a run without one can leave its control group, and is not measured.
pub fn checked(overlay: Option<&str>, found: &LimitObstacles) -> Vec<CheckedLimit> {
    let overlay = overlay.map(|why| format!("no overlay: {why}"));
    let of_group = |obstacle: &Option<String>| obstacle.clone().or_else(|| overlay.clone());
    let limit = |limit, reason: Option<String>| CheckedLimit { limit, available: reason.is_none(), reason };
    vec![
        limit("processes", of_group(&found.processes)),
        limit("memoryMb", of_group(&found.memory)),
        limit("diskMb", overlay.clone()),
    ]
}

/// Not a warning: most machines are like that, and most personas have no such limits.
pub fn row(limits: &[CheckedLimit]) -> Row {
    let names = |available: bool| -> Vec<String> {
        let these = limits.iter().filter(|limit| limit.available == available);
        these.map(|limit| format!("`{}`", limit.limit)).collect()
    };
    let (held, missing) = (names(true), names(false));
    let Some(reason) = limits.iter().find_map(|limit| limit.reason.as_ref()) else {
        return Row::ok(Area::Mount, "limits", format!("{} are enforced", held.join(", ")));
    };
    let held = if held.is_empty() { String::new() } else { format!("{}; ", held.join(", ")) };
    let detail = format!("{held}only advice here: {} ({reason})", missing.join(", "));
    // It does not help against a missing overlay, which has a row of its own.
    let is_of_group = limits.iter().any(|limit| limit.limit == "diskMb" && limit.available);
    let how = if is_of_group { format!("; {HOW}") } else { String::new() };
    Row::ok(Area::Mount, "limits", format!("{detail}{how}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn the_row_says_which_limits_hold_and_why_not_the_others() {
        let all = checked(None, &LimitObstacles::default());
        assert_eq!(row(&all).detail, "`processes`, `memoryMb`, `diskMb` are enforced");
        let found = LimitObstacles { memory: Some("no memory".into()), ..LimitObstacles::default() };
        let row_of = |overlay, found: &LimitObstacles| row(&checked(overlay, found));
        let some = row_of(None, &found);
        let said = format!("`processes`, `diskMb`; only advice here: `memoryMb` (no memory); {HOW}");
        assert_eq!(some.detail, said);
        let none = row_of(Some("forbidden"), &LimitObstacles::default());
        assert_eq!(
            none.detail,
            "only advice here: `processes`, `memoryMb`, `diskMb` (no overlay: forbidden)"
        );
    }
}
