//! `sessions stop`: ends a run from elsewhere, and says what became of it.

use super::answer;
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::session::{SessionState, Sessions};
use crate::ui::Ui;
use std::time::Duration;

pub(super) fn run(sessions: &Sessions, id: &str, seconds: f64, ui: &mut Ui) -> Result<Exit> {
    let session = sessions.store.find(id)?;
    let patience = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
    let stopped = session.stop(patience)?;
    let id = &stopped.session;
    if !stopped.stopped && !ui.is_json() {
        return Err(CommandError::new(Exit::TimedOut, format!("session `{id}` has not ended yet"))
            .hint(format!("`agentworkforce sessions show {id}` shows its state; its work is kept")));
    }
    if ui.is_json() {
        answer(&stopped, ui);
        return Ok(if stopped.stopped { Exit::Done } else { Exit::TimedOut });
    }
    ui.line(format!("stopped session {id}: {}", words(stopped.state)));
    ui.flush();
    match stopped.state {
        SessionState::Held => {
            ui.hint(format!(
                "`agentworkforce sessions diff {id}` shows its changes, `sessions apply {id}` applies them"
            ));
        }
        state if state.is_active() || state == SessionState::Interrupted => {
            ui.hint(format!("`agentworkforce sessions recover {id}` recovers its work"));
        }
        _ => {}
    }
    Ok(Exit::Done)
}

fn words(state: SessionState) -> &'static str {
    match state {
        SessionState::Held => "its changes are held",
        SessionState::Nothing => "it had changed nothing",
        SessionState::Applied => "its changes are applied",
        SessionState::Discarded => "its changes are discarded",
        SessionState::Undone => "its changes are undone",
        SessionState::Opening | SessionState::Running | SessionState::Interrupted => {
            "its runner ended without recording its changes"
        }
    }
}
