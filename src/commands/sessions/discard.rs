//! `sessions discard`: asks whoever is at a terminal, and removes the work of a session.

use super::{Sessions, answer};
use crate::commands::prompter::Prompter;
use crate::commands::review::list;
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::host::terminal::{self, UserTerminal};
use crate::session::SessionState;
use crate::ui::Ui;

pub(super) fn run(sessions: &Sessions, id: &str, yes: bool, ui: &mut Ui) -> Result<Exit> {
    if !yes && terminal::is_there() && !is_confirmed(sessions, id)? {
        return Err(CommandError::new(Exit::Failed, "nothing was discarded"));
    }
    let entry = sessions.discard(id)?;
    if ui.is_json() {
        answer(&entry, ui);
    } else if entry.state == SessionState::Applied {
        ui.line(format!("nothing to discard: the work of {} is applied", entry.id));
        ui.hint(format!("`agentworkforce sessions undo {}` takes it back", entry.id));
    } else {
        ui.line(format!("discarded {}", entry.id));
    }
    Ok(Exit::Done)
}

/// What was applied before is safe. Only work that is nowhere else is worth a question.
fn is_confirmed(sessions: &Sessions, id: &str) -> Result<bool> {
    let shown = sessions.show(id)?;
    let has_work = shown.problem.is_some()
        || shown
            .review
            .as_ref()
            .is_some_and(|review| !review.changes.is_empty() || review.keeps_something_out());
    if !has_work {
        return Ok(true);
    }
    let Some(terminal) = UserTerminal::open().filter(UserTerminal::is_ours) else {
        return Err(CommandError::usage(format!("discarding {} needs a yes", shown.entry.id))
            .hint("add `--yes`: the terminal is in use for something else"));
    };
    let mut ui = Ui::at_terminal(terminal.output()?);
    if let Some(review) = &shown.review {
        list::say_changes(&shown.entry.id, review, &[], &mut ui);
    }
    let question = "discard the work of this session for good?";
    Ok(Prompter::new(&terminal, None).confirms(question, &mut ui))
}
