//! The changes of a run as a list: what happened to which path, how many lines, and what is not applied. It asks nothing.

use crate::model::amounts::counted;
use crate::mount::changes::diff::{FileDiff, TOUCHED, printable_name};
use crate::mount::changes::{Change, ProtectedWhy, Review};
use crate::run::report::{DROPPED_GIT, git_settings};
use crate::ui::patch::counts;
use crate::ui::text::{display_width, wrapped};
use crate::ui::{BOLD, Ui, printable};
use std::collections::HashSet;
use std::path::Path;

/// How much deeper a line goes on than it begins.
const DEEPER: usize = 4;
const SET_UID: u32 = 0o4000;
const SET_GID: u32 = 0o2000;

/// One change on one line: what happened to which path.
pub fn line(change: &Change) -> String {
    format!("{}{}", named(change), notes(change))
}

fn named(change: &Change) -> String {
    format!("{:<9} {}", change.word(), printable_name(change.path.as_ref()))
}

fn notes(change: &Change) -> String {
    let conflict = change.conflict.map_or(String::new(), |reason| {
        let to = change.renamed_to.as_ref().map(|to| format!(", moved to {}", printable_name(to.as_ref())));
        format!("  (conflict: {}{})", reason.text(), to.unwrap_or_default())
    });
    let agents = if change.affects_agents { "  (changes what agents may do)" } else { "" };
    let touched = if change.touched { format!("  ({TOUCHED})") } else { String::new() };
    let partly = if change.partly { "  (some hunks)" } else { "" };
    let marked = if change.marked { "  (with conflict markers)" } else { "" };
    let bits = match change.dropped_bits() {
        0 => "",
        SET_UID => "  (its setuid bit is dropped)",
        SET_GID => "  (its setgid bit is dropped)",
        _ => "  (its setuid and setgid bits are dropped)",
    };
    format!("{agents}{touched}{partly}{marked}{bits}{conflict}")
}

/// All changes with a headline. `diffs` are those of the changes, or none where there are too many to count their lines.
pub fn say_changes(session: &str, found: &Review, diffs: &[FileDiff], ui: &mut Ui) {
    let note = |count: usize, text: &str| match count {
        0 => String::new(),
        count => format!(", {count} {text}"),
    };
    let merged = found.changes.iter().filter(|change| change.merged.is_some()).count();
    let note = note(merged, "merged with yours") + &note(found.conflicts().count(), "in conflict");
    let sum = |of: fn(&FileDiff) -> Option<usize>| diffs.iter().filter_map(of).sum::<usize>();
    let lines = if diffs.is_empty() {
        String::new()
    } else {
        counts(sum(|diff| diff.added), sum(|diff| diff.removed))
    };
    let rows = rows(&found.changes, diffs);
    ui.say(&format!("{BOLD}{}{note}{BOLD:#}{lines} in session {session}", counted(rows.len(), "change")));
    // All of them: what is not shown is where an agent would hide something.
    let columns = ui.tells_a_terminal().then(|| ui.columns());
    ui.say_lines(rows.iter().flat_map(|row| broken(&format!("  {}", row.text), columns)));
    say_kept_out(found, ui);
}

/// A line of the list, for one change or both halves of a rename.
pub struct Row {
    /// Which of the changes it stands for.
    pub number: usize,
    pub text: String,
}

/// The lines of changes, with the numbers of their lines where their diffs are there.
pub fn rows(changes: &[Change], diffs: &[FileDiff]) -> Vec<Row> {
    let halves = changes.iter().filter(|change| change.other_half().is_some());
    let paths: HashSet<&Path> = halves.map(|change| change.path.0.as_path()).collect();
    let is_complete = |change: &Change| change.other_half().is_some_and(|other| paths.contains(other));
    let row = |(number, change): (usize, &Change)| {
        let is_rename = is_complete(change);
        // The new name stands for both, unless the old one has to be decided about.
        if is_rename && change.renamed_to.is_some() && change.conflict.is_none() {
            return None;
        }
        let diff = diffs.get(number).filter(|diff| diff.path == change.path);
        let lines = diff.and_then(|diff| Some(counts(diff.added?, diff.removed?))).unwrap_or_default();
        let name = match &change.renamed_from {
            Some(from) if is_rename => {
                let (from, to) = (printable_name(from.as_ref()), printable_name(change.path.as_ref()));
                format!("renamed   {from} -> {to}")
            }
            _ => named(change),
        };
        Some(Row { number, text: format!("{name}{lines}{}", notes(change)) })
    };
    changes.iter().enumerate().filter_map(row).collect()
}

/// A line of the list; on a terminal that is too narrow it goes on below, between words.
pub fn say_row(text: &str, ui: &mut Ui) {
    let columns = ui.tells_a_terminal().then(|| ui.columns());
    ui.say_lines(broken(text, columns).into_iter());
}

fn broken(text: &str, columns: Option<usize>) -> Vec<String> {
    // Colours take no room; a line that is broken goes without.
    let plain = anstream::adapter::strip_str(text).to_string();
    let Some(columns) = columns.filter(|columns| display_width(&plain) > *columns) else {
        return vec![text.to_owned()];
    };
    let text = plain.as_str();
    let begun = text.trim_start();
    let indent = text.len() - begun.len();
    let mut lines = wrapped(begun, columns.saturating_sub(indent + DEEPER));
    for (number, line) in lines.iter_mut().enumerate() {
        line.insert_str(0, &" ".repeat(if number == 0 { indent } else { indent + DEEPER }));
    }
    lines
}

/// What will not be applied, whatever is answered: never silent.
pub fn say_kept_out(found: &Review, ui: &mut Ui) {
    for protected in &found.protected {
        let why = match (&protected.rule, protected.why) {
            (Some(rule), _) => format!("(protected by `{}`, {})", rule.pattern, rule.origin),
            (None, ProtectedWhy::Moved) => "is not deleted: it was moved to a protected path".to_owned(),
            (None, ProtectedWhy::Injected) => {
                "(a file of the persona: it has the persona's instructions, and is for the run alone)"
                    .to_owned()
            }
            (None, _) => "(protected path)".to_owned(),
        };
        say_row(
            &format!("  not applied: {} {}", printable_name(protected.path.as_ref()), printable(&why)),
            ui,
        );
    }
    if !found.git_settings.is_empty() {
        say_row(&format!("  not applied: {}", git_settings(found)), ui);
    }
    for path in &found.dropped_git {
        say_row(&format!("  not applied: {} {DROPPED_GIT}", printable_name(path.as_ref())), ui);
    }
    if found.ignored.count > 0 {
        say_row(
            &format!(
                "  not applied: {} that git ignores (`--include-ignored` applies them)",
                counted(found.ignored.count, "path")
            ),
            ui,
        );
    }
    for path in &found.special {
        say_row(
            &format!("  not applied: {} is not a file, directory or link", printable_name(path.as_ref())),
            ui,
        );
    }
    for path in &found.unreadable {
        say_row(
            &format!("  not applied: {} cannot be read, or is too deep", printable_name(path.as_ref())),
            ui,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_goes_on_between_words() {
        let text = "  not applied: a.txt (protected by the agent)";
        assert_eq!(broken(text, None), [text]);
        assert_eq!(broken(text, Some(45)), [text]);
        let lines = broken(text, Some(30));
        assert_eq!(lines, ["  not applied: a.txt", "      (protected by the agent)"]);
    }
}
