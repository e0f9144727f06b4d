//! `sessions diff`: a patch for git wherever it goes, and on a terminal the same for people, where nothing in it can command the
//! terminal.

use super::answer;
use crate::error::Result;
use crate::exit::Exit;
use crate::model::raw_path::RawPath;
use crate::mount::changes::diff::some_names;
use crate::session::Sessions;
use crate::ui::{Ui, patch, printable};
use serde_json::json;
use std::path::PathBuf;

pub(super) fn diff(
    sessions: &Sessions,
    id: &str,
    path: Option<&PathBuf>,
    include_ignored: bool,
    ui: &mut Ui,
) -> Result<Exit> {
    if !ui.is_json() && !ui.is_on_terminal() {
        let mut nothing = None;
        ui.stream(|out| {
            nothing = sessions.patch(id, path, include_ignored, out)?;
            Ok(())
        })?;
        if let Some(nothing) = nothing {
            say_nothing(&nothing.already, ui);
        }
        return Ok(Exit::Done);
    }
    let found = sessions.diff(id, path, include_ignored)?;
    if ui.is_json() {
        answer(&json!({"files": found.files, "applied": found.applied}), ui);
        return Ok(Exit::Done);
    }
    if found.applied {
        ui.say("no change waits; this is what was applied");
    }
    for comment in &found.comments {
        ui.line(printable(comment));
    }
    for file in &found.files {
        ui.text(&patch::coloured(&file.text));
    }
    if found.files.is_empty() {
        say_nothing(&found.already, ui);
    }
    Ok(Exit::Done)
}

fn say_nothing(already: &[RawPath], ui: &mut Ui) {
    match already {
        [] => ui.say("no changes"),
        paths => {
            let names = some_names(paths);
            ui.say(&format!("no change waits: the project has the agent's changes already: {names}"));
        }
    }
}
