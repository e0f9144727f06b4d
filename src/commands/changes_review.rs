//! The review of what a run changed: a summary, and on a terminal a prompt that decides what becomes of it.

use super::prompter::{Answer, Prompter};
use crate::error::Result;
use crate::mount::SignalInbox;
use crate::mount::apply::Selection;
use crate::mount::changes::diff::{diff, printable_name};
use crate::mount::changes::{Change, Ignored, ProtectedWhy, Review, review};
use crate::session::Session;
use crate::ui::{BOLD, DIM, Ui, patch, printable};
use std::path::PathBuf;

/// When changes are applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApplyPolicy {
    /// When the command succeeded.
    Auto,
    /// When the person at the terminal says so.
    Ask,
    Never,
}

/// What is to become of the changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    Apply(Selection),
    Keep,
    Discard,
    /// Keep, because this signal tells us to end.
    Interrupted(i32),
}

const SHOWN: usize = 40;

pub fn decide(
    session: &Session,
    policy: ApplyPolicy,
    succeeded: bool,
    include_ignored: bool,
    signals: &mut SignalInbox,
    ui: &mut Ui,
) -> Result<Decision> {
    match policy {
        ApplyPolicy::Auto if succeeded => Ok(Decision::Apply(Selection::all())),
        ApplyPolicy::Auto | ApplyPolicy::Never => {
            let found = look(session, include_ignored)?;
            // Nothing to hold back: the session is settled the same way as after a success.
            let empty = found.is_some_and(|review| review.changes.is_empty());
            Ok(if empty { Decision::Apply(Selection::all()) } else { Decision::Keep })
        }
        ApplyPolicy::Ask => ask(session, include_ignored, signals, ui),
    }
}

fn look(session: &Session, include_ignored: bool) -> Result<Option<Review>> {
    let Some(work) = session.work()? else { return Ok(None) };
    let ignored = if include_ignored { Ignored::Include } else { Ignored::KeepOut };
    Ok(Some(review(&work.three_way()?, ignored)?))
}

fn ask(session: &Session, include_ignored: bool, signals: &mut SignalInbox, ui: &mut Ui) -> Result<Decision> {
    let Some(found) = look(session, include_ignored)? else { return Ok(Decision::Keep) };
    if found.changes.is_empty() {
        say_kept_out(&found, ui);
        return Ok(Decision::Apply(Selection::all()));
    }
    say_changes(&found, ui);
    let mut prompter = Prompter::new(signals);
    loop {
        ui.say("[a]pply, [d]iff, [p]ick files, [k]eep for later (Enter), discard with [x]?");
        let answer = match prompter.line() {
            Answer::Line(line) => line,
            Answer::End => return Ok(Decision::Keep),
            Answer::Signal(signal) => return Ok(Decision::Interrupted(signal)),
        };
        match answer.trim() {
            "a" | "apply" => return Ok(Decision::Apply(Selection::all())),
            "d" | "diff" => say_diff(session, include_ignored, ui)?,
            "p" | "pick" => {
                if let Some(picked) = pick(&found, &mut prompter, ui) {
                    return Ok(Decision::Apply(Selection { only: Some(picked), ..Selection::all() }));
                }
            }
            "k" | "keep" | "" => return Ok(Decision::Keep),
            "x" | "discard" => {
                ui.say(&format!("discard {} change(s) for good? [y/N]", found.changes.len()));
                if matches!(prompter.line(), Answer::Line(sure) if matches!(sure.trim(), "y" | "Y" | "yes")) {
                    return Ok(Decision::Discard);
                }
            }
            other => ui.say(&format!("`{}` is none of these", printable(other))),
        }
    }
}

fn pick(found: &Review, prompter: &mut Prompter<'_>, ui: &mut Ui) -> Option<Vec<PathBuf>> {
    for (index, change) in found.changes.iter().enumerate() {
        ui.say(&format!("{:>4}  {}", index + 1, line(change)));
    }
    ui.say("Numbers with spaces, Enter to go back:");
    let Answer::Line(answer) = prompter.line() else { return None };
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

fn say_diff(session: &Session, include_ignored: bool, ui: &mut Ui) -> Result<()> {
    let Some(work) = session.work()? else { return Ok(()) };
    let sides = work.three_way()?;
    let ignored = if include_ignored { Ignored::Include } else { Ignored::KeepOut };
    let found = review(&sides, ignored)?;
    for file in diff(&sides, &found, None)? {
        ui.say(patch::coloured(&file.text).trim_end());
    }
    Ok(())
}

/// One change on one line: what happened to which path.
pub fn line(change: &Change) -> String {
    let kind = serde_json::to_value(change.kind).ok().and_then(|kind| kind.as_str().map(str::to_owned));
    let conflict = change.conflict.map_or(String::new(), |reason| format!("  (conflict: {})", reason.text()));
    format!("{:<9} {}{conflict}", kind.unwrap_or_default(), printable_name(change.path.as_ref()))
}

pub fn say_changes(found: &Review, ui: &mut Ui) {
    let conflicts = found.conflicts().count();
    let note = if conflicts == 0 { String::new() } else { format!(", {conflicts} in conflict") };
    ui.say(&format!("{BOLD}{} change(s){note}{BOLD:#}", found.changes.len()));
    for change in found.changes.iter().take(SHOWN) {
        ui.say(&format!("  {}", line(change)));
    }
    if found.changes.len() > SHOWN {
        ui.say(&format!("  {DIM}and {} more{DIM:#}", found.changes.len() - SHOWN));
    }
    say_kept_out(found, ui);
}

/// The settings and hooks that the agent wrote, in one line.
pub fn git_settings(found: &Review) -> String {
    let names: Vec<String> =
        found.git_settings.iter().take(10).map(|path| printable_name(path.as_ref())).collect();
    let more = found.git_settings.len().saturating_sub(names.len());
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("{}{more} (settings and hooks of a repository are never taken over)", names.join(", "))
}

/// What will not be applied, whatever is answered: never silent.
pub fn say_kept_out(found: &Review, ui: &mut Ui) {
    for protected in &found.protected {
        let why = match (&protected.rule, protected.why) {
            (Some(rule), _) => format!("by `{}` ({})", rule.pattern, rule.origin),
            (None, ProtectedWhy::Moved) => "is not deleted: it was moved to a protected path".to_owned(),
            (None, _) => "by protected".to_owned(),
        };
        ui.say(&format!("  not applied: {} {}", printable_name(protected.path.as_ref()), printable(&why)));
    }
    if !found.git_settings.is_empty() {
        ui.say(&format!("  not applied: {}", git_settings(found)));
    }
    if found.ignored.count > 0 {
        ui.say(&format!(
            "  not applied: {} path(s) that git ignores (`--include-ignored` applies them)",
            found.ignored.count
        ));
    }
    for path in &found.special {
        ui.say(&format!("  not applied: {} is no file, directory or link", printable_name(path.as_ref())));
    }
    for path in &found.unreadable {
        ui.say(&format!("  not applied: {} cannot be read", printable_name(path.as_ref())));
    }
}
