//! The review of what a run changed: a list, and at a terminal a prompt that decides what becomes of it.

mod conflicts;
mod editor;
pub mod list;
mod merge_tool;
mod pager;
mod pick;

use super::prompter::{Answer, Prompter};
use crate::host::Host;
use crate::host::terminal::UserTerminal;
use crate::model::amounts::counted;
use crate::mount::apply::Selection;
use crate::mount::apply::decided::Decided;
use crate::mount::changes::diff::FileDiff;
use crate::run::observer::Signals;
use crate::run::{Decider, Decision, Offer};
use crate::ui::{Ui, patch, printable};
use anyhow::Result;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Above this many changes their lines are not counted: nobody waits that long for a list.
const MOST_COUNTED: usize = 500;
const QUESTION: &str = "[a]pply, [d]iff, [p]ick files, [k]eep for later (Enter), [x] discard?";

/// Asks the person at the terminal, wherever input and output were redirected to.
pub struct ReviewPrompt<'a> {
    pub host: &'a Host,
}

/// What a question needs.
struct Asking<'a> {
    host: &'a Host,
    offer: &'a Offer<'a>,
    terminal: &'a UserTerminal,
    prompter: Prompter<'a>,
    ui: Ui,
    /// Of all changes, in their order; none where there are too many.
    diffs: Vec<FileDiff>,
    /// What was decided about single paths so far.
    decided: BTreeMap<PathBuf, Decided>,
}

impl Decider for ReviewPrompt<'_> {
    fn decide(&mut self, offer: &Offer<'_>, signals: &mut dyn Signals) -> Result<Decision> {
        if offer.review.changes.is_empty() {
            return Ok(Decision::Apply(Selection::all()));
        }
        let Some(terminal) = UserTerminal::open().filter(UserTerminal::is_ours) else {
            return Ok(Decision::NobodyToAsk);
        };
        let mut ui = Ui::at_terminal(terminal.output()?);
        let is_counted = offer.review.changes.len() <= MOST_COUNTED;
        let diffs = if is_counted { offer.diff()? } else { Vec::new() };
        ui.reset_terminal();
        list::say_changes(offer.session, offer.review, &diffs, &mut ui);
        let prompter = Prompter::new(&terminal, Some(signals));
        let decided = BTreeMap::new();
        Asking { host: self.host, offer, terminal: &terminal, prompter, ui, diffs, decided }.decide()
    }
}

/// Settles these conflicts with the person at the terminal; `None` if they are not settled, or there is nobody to ask.
pub fn settle(
    host: &Host,
    offer: &Offer<'_>,
    conflicts: &[usize],
) -> Result<Option<BTreeMap<PathBuf, Decided>>> {
    let Some(terminal) = UserTerminal::open().filter(UserTerminal::is_ours) else { return Ok(None) };
    let ui = Ui::at_terminal(terminal.output()?);
    let (prompter, decided) = (Prompter::new(&terminal, None), BTreeMap::new());
    let mut asking = Asking { host, offer, terminal: &terminal, prompter, ui, diffs: Vec::new(), decided };
    Ok(asking.settle_conflicts(conflicts)?.then_some(asking.decided))
}

impl Asking<'_> {
    fn decide(mut self) -> Result<Decision> {
        loop {
            let answer = match self.prompter.ask(QUESTION, &mut self.ui) {
                Answer::Line(line) => line,
                Answer::End => return Ok(Decision::Keep),
                Answer::Signal(signal) => return Ok(Decision::Interrupted(signal)),
            };
            match answer.trim() {
                "a" | "apply" => {
                    self.forget_picks();
                    let all: Vec<usize> = (0..self.offer.review.changes.len()).collect();
                    if self.settle_conflicts(&all)? {
                        return Ok(Decision::Apply(Selection { decided: self.decided, ..Selection::all() }));
                    }
                }
                "d" | "diff" => self.show_all()?,
                "p" | "pick" => {
                    if let Some(only) = self.pick()? {
                        let (only, decided) = (Some(only), self.decided);
                        return Ok(Decision::Apply(Selection {
                            only,
                            exact: true,
                            decided,
                            ..Selection::all()
                        }));
                    }
                }
                "k" | "keep" | "" => return Ok(Decision::Keep),
                "x" | "discard" => {
                    let changes = list::rows(&self.offer.review.changes, &[]).len();
                    let question = format!("discard {} for good?", counted(changes, "change"));
                    if self.prompter.confirms(&question, &mut self.ui) {
                        return Ok(Decision::Discard);
                    }
                }
                other => self.ui.say(&format!("`{}` is not one of the choices", printable(other))),
            }
        }
    }

    /// Hunks belong to one pick; conflicts that are settled stay so.
    fn forget_picks(&mut self) {
        let changes = &self.offer.review.changes;
        let is_conflict =
            |path: &PathBuf| changes.iter().any(|change| change.path.0 == *path && change.conflict.is_some());
        self.decided.retain(|path, _| is_conflict(path));
    }

    fn show_all(&mut self) -> Result<()> {
        if self.diffs.is_empty() {
            self.diffs = self.offer.diff()?;
        }
        let text: String = self.diffs.iter().map(|file| patch::coloured(&file.text)).collect();
        self.show(&text)
    }

    /// Shows a text that is safe for a terminal, in a pager if it is long.
    fn show(&mut self, text: &str) -> Result<()> {
        if !pager::show(self.host, self.terminal, text, self.offer.scratch)? {
            self.ui.say(text.trim_end());
        }
        self.prompter.forget();
        Ok(())
    }
}
