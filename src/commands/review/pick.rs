//! Picks files, and hunks of files, from the list of a review.

use super::{Asking, list};
use crate::commands::prompter::Answer;
use crate::mount::apply::decided::{Choice, Decided};
use crate::mount::changes::Change;
use crate::mount::changes::diff::printable_name;
use crate::mount::changes::hunks::Hunks;
use crate::ui::{BOLD, patch, printable};
use anyhow::Result;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

impl Asking<'_> {
    /// The paths that were picked, with what was decided about them; `None` to go back.
    pub(super) fn pick(&mut self) -> Result<Option<Vec<PathBuf>>> {
        self.forget_picks();
        let rows = list::rows(&self.offer.review.changes, &self.diffs);
        for (index, row) in rows.iter().enumerate() {
            list::say_row(&format!("{:>4}  {}", index + 1, row.text), &mut self.ui);
        }
        let question = "Numbers such as `1 3-5`, `3h` for some hunks of 3 (Enter to go back):";
        let Answer::Line(answer) = self.prompter.ask(question, &mut self.ui) else { return Ok(None) };
        let mut wanted = Vec::new();
        for word in answer.split([' ', ',']).map(str::trim).filter(|word| !word.is_empty()) {
            let (digits, has_hunks) = word.strip_suffix('h').map_or((word, false), |digits| (digits, true));
            match numbers(digits).and_then(|range| rows.get(range)) {
                Some(rows) => wanted.extend(rows.iter().map(|row| (row.number, has_hunks))),
                None => {
                    self.ui.say(&format!("`{}` is not one of the numbers", printable(word)));
                    return Ok(None);
                }
            }
        }
        let mut picked = Vec::new();
        for (number, has_hunks) in wanted {
            let change = &self.offer.review.changes[number];
            if has_hunks && !self.pick_hunks(change)? {
                return Ok(None);
            }
            picked.push(number);
        }
        if picked.is_empty() || !self.settle_conflicts(&picked)? {
            return Ok(None);
        }
        let path = |number: &usize| self.offer.review.changes[*number].path.0.clone();
        Ok(Some(picked.iter().map(path).collect()))
    }

    /// Asks about each hunk. Returns whether any was taken.
    fn pick_hunks(&mut self, change: &Change) -> Result<bool> {
        let name = printable_name(change.path.as_ref());
        let Some(hunks) = Hunks::of(self.offer.sides, change)? else {
            let why = if change.conflict.is_some() {
                "it is in conflict"
            } else {
                "it is not text with a known base, or was saved since this review began"
            };
            self.ui.say(&format!("{name} can only be taken as a whole: {why}"));
            return Ok(false);
        };
        let count = hunks.count();
        let mut is_picked = vec![false; count];
        for number in 0..count {
            self.show(&patch::coloured(&hunks.shown(number)))?;
            let question = format!(
                "{BOLD}{name}{BOLD:#}: take hunk {} of {count}? [y]es, [n]o, [a]ll from here, [q] no more",
                number + 1
            );
            let answer = loop {
                let Answer::Line(answer) = self.prompter.ask(&question, &mut self.ui) else {
                    return Ok(false);
                };
                match answer.trim() {
                    answer @ ("y" | "n" | "a" | "q") => break answer.to_owned(),
                    other => self.ui.say(&format!("`{}` is not one of the choices", printable(other))),
                }
            };
            match &*answer {
                "y" => is_picked[number] = true,
                "a" => is_picked[number..].fill(true),
                _ => {}
            }
            if matches!(&*answer, "a" | "q") {
                break;
            }
        }
        if !is_picked.contains(&true) {
            self.ui.say(&format!("no hunk of {name} was taken"));
            return Ok(false);
        }
        let Some(text) = hunks.pick(&is_picked) else {
            self.ui.say(&format!("these hunks of {name} cannot be merged with what you changed"));
            return Ok(false);
        };
        let decided = Decided { now: change.now, choice: Choice::Text(Arc::new(text)) };
        self.decided.insert(change.path.0.clone(), decided);
        Ok(true)
    }
}

/// `3` or `3-5`, counted from one, as a range that is counted from zero.
fn numbers(word: &str) -> Option<Range<usize>> {
    let (first, last) = word.split_once('-').unwrap_or((word, word));
    let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last).then_some(first.checked_sub(1)?..last)
}
