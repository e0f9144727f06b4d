//! Says what an undo or a redo came to.

use super::answer;
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::model::amounts::counted;
use crate::model::raw_path::RawPath;
use crate::model::warning::{Warning, WarningCode};
use crate::mount::apply::UndoStatus;
use crate::mount::changes::diff::printable_name;
use crate::session::SessionState;
use crate::session::undo::{Action, Undone};
use crate::ui::{Ui, printable};
use serde_json::json;

/// How many paths are named, where all that was done is meant.
const MOST_LISTED: usize = 20;

pub(super) fn say(undone: &Undone, ui: &mut Ui) -> Result<Exit> {
    let outcome = &undone.outcome;
    let session = &undone.session;
    let names = |paths: &[RawPath]| paths.iter().map(|path| printable_name(path)).collect();
    if outcome.status == UndoStatus::Nothing && !ui.is_json() {
        return Err(nothing(undone));
    }
    let warnings: Vec<Warning> = outcome
        .unknown
        .iter()
        .map(|path| {
            let message = format!("nothing that the last apply wrote is at `{}`", printable_name(path));
            Warning::new(WarningCode::NoMatch, message)
        })
        .collect();
    if ui.is_json() {
        let mut whole = serde_json::to_value(undone).unwrap_or_default();
        whole["warnings"] = json!(warnings);
        answer(&whole, ui);
        return Ok(undone.exit());
    }
    for warning in &warnings {
        ui.warning(printable(&warning.message));
    }
    let is_all_gone = !outcome.restored.is_empty() && outcome.already.len() == outcome.restored.len();
    match outcome.status {
        UndoStatus::Nothing => {}
        UndoStatus::Undone if is_all_gone => {
            let what = if outcome.remaining > 0 {
                counted(outcome.restored.len(), "path")
            } else {
                "the work".into()
            };
            ui.line(format!("nothing left to undo: {what} of {session} was gone from the project already"));
            ui.flush();
            list_some(&outcome.already, ui);
            let redo = match outcome.undone {
                0 => "there is nothing to redo".to_owned(),
                undone => format!("a redo brings only {} that you undid before", counted(undone, "path")),
            };
            ui.hint(format!("{redo}; `agentworkforce sessions diff {session}` has the work as a patch"));
        }
        UndoStatus::Undone if outcome.remaining > 0 => {
            let (count, rest) = (counted(outcome.restored.len(), "path"), outcome.still_applied);
            ui.line(format!("undone: {count} of {session}; {rest} still applied"));
            ui.flush();
            list(&outcome.restored, ui);
            ui.hint(format!(
                "`agentworkforce sessions undo {session}` undoes the rest, `sessions redo {session}` applies these again"
            ));
        }
        UndoStatus::Undone if outcome.earlier == 0 => {
            ui.line(format!("undone: the project is as it was before {session}"));
            ui.flush();
            ui.hint(format!("`agentworkforce sessions redo {session}` applies it again"));
        }
        UndoStatus::Undone => {
            let earlier = counted(outcome.earlier, "earlier apply");
            ui.line(format!("undone: the last apply of {session}; {earlier} not undone"));
            ui.flush();
            ui.hint(format!(
                "`agentworkforce sessions undo {session}` takes back the one before, `sessions redo {session}` applies this one again"
            ));
        }
        UndoStatus::Redone if outcome.undone > 0 => {
            let (count, undone) = (counted(outcome.restored.len(), "path"), outcome.undone);
            ui.line(format!("applied again: {count} of {session}; {undone} still undone"));
            ui.flush();
            list_some(&outcome.restored, ui);
            ui.hint(format!("`agentworkforce sessions redo {session}` applies what was undone before that"));
        }
        UndoStatus::Redone => {
            ui.line(format!("applied again: {session}"));
            ui.flush();
            list_some(&outcome.restored, ui);
        }
        UndoStatus::Conflict => {
            let (action, since) = match undone.action {
                Action::Undo => ("undo", "apply"),
                Action::Redo => ("redo", "undo"),
            };
            ui.say(&format!("{action} refused, nothing touched; edited since the {since}:"));
            list(&outcome.changed, ui);
            if undone.action == Action::Undo {
                if outcome.still_applied > outcome.changed.len() {
                    ui.hint(format!(
                        "`agentworkforce sessions undo {session} --only PATH` undoes other paths"
                    ));
                }
                ui.hint(format!(
                    "`agentworkforce sessions undo {session} --force` undoes these, too; `sessions redo` brings your edits back"
                ));
            }
        }
    }
    if outcome.status == UndoStatus::Undone && !outcome.already.is_empty() && !is_all_gone {
        ui.say(&format!(
            "{} had been taken back already; a redo does not bring:",
            counted(outcome.already.len(), "path")
        ));
        list_some(&outcome.already, ui);
    }
    if !outcome.overwritten.is_empty() {
        let names: Vec<String> = names(&outcome.overwritten);
        ui.say(&format!("your edits since the apply are in the session: {}", names.join(", ")));
    }
    for path in &outcome.kept_directories {
        ui.say(&format!("  not removed: {} holds something else", printable_name(path)));
    }
    for path in &outcome.preserved {
        ui.say(&format!("  put aside: {}", printable_name(path)));
    }
    Ok(undone.exit())
}

fn nothing(undone: &Undone) -> CommandError {
    let session = &undone.session;
    match (undone.action, undone.outcome.unknown.first()) {
        (Action::Redo, _) if undone.state == SessionState::Undone => CommandError::usage(format!(
            "nothing to redo in session `{session}`: its work was gone from the project before it was undone"
        ))
        .hint(format!("`agentworkforce sessions diff {session}` has the work as a patch")),
        (Action::Redo, _) => CommandError::usage(format!("nothing to redo in session `{session}`: nothing was undone")),
        (Action::Undo, Some(path)) if !undone.outcome.already.is_empty() => {
            CommandError::usage(format!("`{}` is undone already", printable_name(path)))
                .hint(format!("`agentworkforce sessions redo {session}` applies again what was undone last"))
        }
        (Action::Undo, None) => CommandError::usage(format!("nothing to undo in session `{session}`")),
        (Action::Undo, Some(path)) => {
            CommandError::usage(format!("nothing that session `{session}` applied is at `{}`", printable_name(path)))
                .hint(format!("`agentworkforce sessions show {session}` lists the paths; they are relative to the project's root"))
        }
    }
}

/// The first few.
fn list_some(paths: &[RawPath], ui: &mut Ui) {
    let shown = paths.len().min(MOST_LISTED);
    list(&paths[..shown], ui);
    if paths.len() > shown {
        ui.say(&format!("  and {} more", paths.len() - shown));
    }
}

fn list(paths: &[RawPath], ui: &mut Ui) {
    for path in paths {
        ui.say(&format!("  {}", printable_name(path)));
    }
}
