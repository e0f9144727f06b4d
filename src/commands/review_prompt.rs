//! The review of what a run changed: a summary, and on a terminal a prompt that decides what becomes of it.

use super::prompter::{Answer, Prompter};
use crate::host::terminal::UserTerminal;
use crate::mount::apply::Selection;
use crate::mount::changes::diff::{TOUCHED, printable_name};
use crate::mount::changes::{Change, ProtectedWhy, Review};
use crate::run::observer::Signals;
use crate::run::report::{DROPPED_GIT, git_settings};
use crate::run::{Decider, Decision, Offer};
use crate::ui::{BOLD, Ui, patch, printable};
use anyhow::Result;
use std::path::PathBuf;

/// Asks the person at the terminal, wherever input and output were redirected to.
pub struct ReviewPrompt;

impl Decider for ReviewPrompt {
    fn decide(&mut self, offer: &Offer<'_>, signals: &mut dyn Signals) -> Result<Decision> {
        let found = offer.review;
        if found.changes.is_empty() {
            return Ok(Decision::Apply(Selection::all()));
        }
        let Some(terminal) = UserTerminal::open().filter(UserTerminal::is_ours) else {
            return Ok(Decision::NobodyToAsk);
        };
        let ui = &mut Ui::at_terminal(terminal.output()?);
        ui.reset_terminal();
        say_changes(found, ui);
        let mut prompter = Prompter::new(&terminal, Some(signals));
        loop {
            let question = "[a]pply, [d]iff, [p]ick files, [k]eep for later (Enter), [x] discard?";
            let answer = match prompter.ask(question, ui) {
                Answer::Line(line) => line,
                Answer::End => return Ok(Decision::Keep),
                Answer::Signal(signal) => return Ok(Decision::Interrupted(signal)),
            };
            match answer.trim() {
                "a" | "apply" => return Ok(Decision::Apply(Selection::all())),
                "d" | "diff" => {
                    for file in (offer.diff)()? {
                        ui.say(patch::coloured(&file.text).trim_end());
                    }
                }
                "p" | "pick" => {
                    if let Some(picked) = pick(found, &mut prompter, ui) {
                        return Ok(Decision::Apply(Selection {
                            only: Some(picked),
                            exact: true,
                            ..Selection::all()
                        }));
                    }
                }
                "k" | "keep" | "" => return Ok(Decision::Keep),
                "x" | "discard" => {
                    let question = format!("discard {} change(s) for good?", found.changes.len());
                    if prompter.confirms(&question, ui) {
                        return Ok(Decision::Discard);
                    }
                }
                other => ui.say(&format!("`{}` is not one of the choices", printable(other))),
            }
        }
    }
}

fn pick(found: &Review, prompter: &mut Prompter<'_>, ui: &mut Ui) -> Option<Vec<PathBuf>> {
    for (index, change) in found.changes.iter().enumerate() {
        ui.say(&format!("{:>4}  {}", index + 1, line(change)));
    }
    let question = "Numbers separated by spaces (Enter to go back):";
    let Answer::Line(answer) = prompter.ask(question, ui) else { return None };
    let mut picked = Vec::new();
    for word in answer.split([' ', ',']).map(str::trim).filter(|word| !word.is_empty()) {
        let change = word.parse::<usize>().ok().and_then(|number| found.changes.get(number.checked_sub(1)?));
        match change {
            Some(change) => picked.push(AsRef::<std::path::Path>::as_ref(&change.path).to_owned()),
            None => {
                ui.say(&format!("`{}` is not one of the numbers", printable(word)));
                return None;
            }
        }
    }
    (!picked.is_empty()).then_some(picked)
}

/// One change on one line: what happened to which path.
pub fn line(change: &Change) -> String {
    let conflict = change.conflict.map_or(String::new(), |reason| format!("  (conflict: {})", reason.text()));
    let agents = if change.affects_agents { "  (changes what agents may do)" } else { "" };
    let touched = if change.touched { format!("  ({TOUCHED})") } else { String::new() };
    format!("{:<9} {}{agents}{touched}{conflict}", change.word(), printable_name(change.path.as_ref()))
}

pub fn say_changes(found: &Review, ui: &mut Ui) {
    let note = |count: usize, text: &str| match count {
        0 => String::new(),
        count => format!(", {count} {text}"),
    };
    let merged = found.changes.iter().filter(|change| change.merged.is_some()).count();
    let note = note(merged, "merged with yours") + &note(found.conflicts().count(), "in conflict");
    ui.say(&format!("{BOLD}{} change(s){note}{BOLD:#}", found.changes.len()));
    // All of them: what is not shown is where an agent would hide something.
    for change in &found.changes {
        ui.say(&format!("  {}", line(change)));
    }
    say_kept_out(found, ui);
}

/// What will not be applied, whatever is answered: never silent.
pub fn say_kept_out(found: &Review, ui: &mut Ui) {
    for protected in &found.protected {
        let why = match (&protected.rule, protected.why) {
            (Some(rule), _) => format!("(protected by `{}`, {})", rule.pattern, rule.origin),
            (None, ProtectedWhy::Moved) => "is not deleted: it was moved to a protected path".to_owned(),
            (None, _) => "(protected path)".to_owned(),
        };
        ui.say(&format!("  not applied: {} {}", printable_name(protected.path.as_ref()), printable(&why)));
    }
    if !found.git_settings.is_empty() {
        ui.say(&format!("  not applied: {}", git_settings(found)));
    }
    for path in &found.dropped_git {
        ui.say(&format!("  not applied: {} {DROPPED_GIT}", printable_name(path.as_ref())));
    }
    if found.ignored.count > 0 {
        ui.say(&format!(
            "  not applied: {} path(s) that git ignores (`--include-ignored` applies them)",
            found.ignored.count
        ));
    }
    for path in &found.special {
        ui.say(&format!("  not applied: {} is not a file, directory or link", printable_name(path.as_ref())));
    }
    for path in &found.unreadable {
        ui.say(&format!("  not applied: {} cannot be read, or is too deep", printable_name(path.as_ref())));
    }
}
