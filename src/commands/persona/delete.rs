//! `persona delete`: moves a persona's file aside. Built-ins stay, by every path.

use super::super::edit::{audit, edit_dir, refuse_while_running};
use super::super::say;
use super::{files_of, place};
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::files::error::FilesError;
use crate::files::{backup, lock};
use crate::load::library;
use crate::model::path_text::path_text;
use crate::model::source::Source;
use crate::model::warning::{Warning, WarningCode};
use crate::resolve::chain::same_id;
use crate::ui::{Ui, printable};
use crate::workforce::Workforce;
use serde_json::json;
use std::path::Path;

pub fn run(workforce: &Workforce, name: &str, ui: &mut Ui) -> Result<Exit> {
    if library::has_persona(name) {
        return Err(CommandError::usage(format!("persona `{name}` is built in and cannot be deleted"))
            .hint(format!("`agentworkforce persona reset {name}` removes your overlay")));
    }
    let place = place(workforce, name, None)?;
    if library::has_persona(&place.id) {
        return Err(CommandError::usage(format!(
            "`{name}` is the built-in persona `{}` and cannot be deleted",
            place.id
        )));
    }
    refuse_while_running(workforce, |persona| same_id(persona, &place.id))?;
    let display_name = workforce.find(&place.id)?.resolved.display_name().to_owned();
    let _lock = lock::directories(&[edit_dir(&place.file)])?;
    let kept =
        backup::move_aside(&workforce.host, &workforce.layers.home, &place.id, &files_of(&place.file))?;
    // The file is already moved: a note that cannot be kept must not hide that.
    let noted = workforce.note_deleted(&place.id, &display_name, &place.file, &kept);
    let warnings: Vec<Warning> = noted.err().map(not_noted).into_iter().collect();
    audit(workforce, &format!("delete {}", place.id))?;
    let below = shows_through(workforce, &place.id);
    if ui.is_json() {
        let answer = json!({"persona": place.id, "action": "deleted", "file": path_text(&place.file), "backup": kept,
            "showsThrough": below});
        say::json(answer, &warnings, ui);
        return Ok(Exit::Done);
    }
    say::warnings(&warnings, ui);
    let (file, kept) = (place.file.display(), kept.display());
    ui.line(printable(&format!("deleted {} ({file}); a copy is in {kept}", place.id)));
    if let Some(source) = below {
        let (layer, file) = (source.layer.title(), source.file.as_deref().unwrap_or(Path::new("")).display());
        ui.line(printable(&format!("{} now comes from layer `{layer}` ({file})", place.id)));
    }
    Ok(Exit::Done)
}

fn not_noted(error: FilesError) -> Warning {
    let CommandError { message, causes, .. } = error.into();
    let text = format!("the deletion is not recorded: {}", [vec![message], causes].concat().join(": "));
    Warning::new(WarningCode::InvalidFile, text)
}

/// The persona of a lower layer that has the id from now on.
fn shows_through(workforce: &Workforce, id: &str) -> Option<Source> {
    let now = Workforce::open(&workforce.host).ok()?;
    let found = now.find(id).ok().filter(|found| same_id(found.resolved.id(), id))?;
    Some((**found.resolved.source()).clone())
}
