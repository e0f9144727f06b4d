//! `persona rename|set|delete|reset`: edits that keep what they do not touch. No command changes an id.

mod delete;
mod rename;
mod set;

use super::edit::{edit_dir, layer_dir, refuse_while_running, user_personas};
use super::reset::{Reset, finish_reset};
use super::say;
use crate::cli::{LayerArg, PersonaCommand};
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::files::error::cannot_write;
use crate::host::Host;
use crate::load::folder::json_files;
use crate::load::{library, normalise};
use crate::model::path_text::path_text;
use crate::model::shape::Object;
use crate::model::warning::{Warning, WarningCode};
use crate::pack::lockfile::Lock;
use crate::resolve::chain::same_id;
use crate::ui::{Ui, printable};
use crate::workforce::Workforce;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

pub fn run(command: &PersonaCommand, host: &Host, ui: &mut Ui) -> Result<Exit> {
    let workforce = Workforce::open(host)?;
    match command {
        PersonaCommand::Rename { id, name, emoji, layer } => {
            let name = rename::NewName { name: name.as_deref(), emoji: emoji.as_deref() };
            rename::run(&workforce, id, &name, *layer, ui)
        }
        PersonaCommand::Set(args) => set::run(&workforce, args, ui),
        PersonaCommand::Delete { id } => delete::run(&workforce, id, ui),
        PersonaCommand::Reset { id, layer, yes } => reset(&workforce, id.as_deref(), *layer, *yes, ui),
    }
}

/// The file that an edit of this persona goes to: in the layer that is named, else the highest that has the id, else an overlay of
/// the user's.
struct Place {
    id: String,
    file: PathBuf,
}

fn place(workforce: &Workforce, name: &str, layer: Option<LayerArg>) -> Result<Place> {
    let found = workforce.find(name)?;
    let id = found.resolved.id().to_owned();
    let file = match (layer, &found.resolved.source().file) {
        (None, Some(file)) => file.clone(),
        (None, None) => user_personas(workforce)?.join(format!("{id}.json")),
        (Some(layer), _) => {
            let dir = personas_of(workforce, layer)?;
            let there = files_in(workforce, &id, &dir).next();
            there.unwrap_or_else(|| dir.join(format!("{id}.json")))
        }
    };
    Ok(Place { id, file })
}

fn personas_of(workforce: &Workforce, layer: LayerArg) -> Result<PathBuf> {
    match layer {
        LayerArg::User => user_personas(workforce),
        LayerArg::Project => Ok(layer_dir(workforce, layer).join("personas")),
    }
}

/// The files of this persona in a directory of personas.
fn files_in<'w>(workforce: &'w Workforce, id: &'w str, dir: &'w Path) -> impl Iterator<Item = PathBuf> + 'w {
    let entries = workforce.catalogue.entries.iter().filter(move |entry| same_id(&entry.header.id, id));
    let files = entries.filter_map(|entry| entry.source.file.clone());
    files.filter(move |file| file.parent() == Some(dir))
}

/// Changes the file of a persona; an overlay that is made gets its id first. The caller holds the lock of its directory. Returns
/// whether anything changed.
fn edit(place: &Place, change: impl FnOnce(&mut Object) -> Result<()>) -> Result<bool> {
    super::edit::edit_if_changed(&place.file, |object| {
        let other = object.get("id").and_then(Value::as_str).filter(|id| !same_id(id.trim(), &place.id));
        if let Some(other) = other {
            return Err(CommandError::usage(format!(
                "{} belongs to persona `{other}`: it cannot hold settings of `{}`",
                place.file.display(),
                place.id
            ))
            .hint(format!("rename that file to `{other}.json`, and try again")));
        }
        let before = object.clone();
        // Legacy words in `skills` are expertise; they are dropped on the next write.
        normalise::words_to_expertise(object);
        change(object)?;
        if *object != before && !object.contains_key("id") {
            object.shift_insert(0, "id".to_owned(), json!(place.id));
        }
        Ok(())
    })
}

/// A persona of a pack is not what the lock says any more once it is edited.
fn pack_warning(place: &Place) -> Option<Warning> {
    let lock = Lock::read(edit_dir(&place.file)).ok()?;
    let owner = lock.packs.iter().find(|(_, pack)| pack.personas.contains_key(&place.id));
    let (name, _) = owner?;
    let text = format!(
        "`{}` is from the pack `{name}`: `install --locked` refuses it until `agentworkforce update --keep-mine {}`",
        place.id, place.id
    );
    Some(Warning::new(WarningCode::PackOwnership, text))
}

fn done(ui: &mut Ui, place: &Place, changed: bool, warnings: &[Warning]) -> Result<Exit> {
    let Place { id, file } = place;
    if ui.is_json() {
        let answer = json!({"persona": id, "action": "set", "changed": changed, "file": path_text(file)});
        say::json(answer, warnings, ui);
    } else if changed {
        say::warnings(warnings, ui);
        ui.line(printable(&format!("set {id} ({})", file.display())));
    } else {
        ui.line(printable(&format!("no change: {id} already has these settings")));
    }
    Ok(Exit::Done)
}

/// A persona's file and its directory of assets.
fn files_of(file: &Path) -> Vec<PathBuf> {
    let mut files = vec![file.to_owned()];
    let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let assets = file.with_file_name(format!("{stem}__assets"));
    if assets.is_dir() {
        files.push(assets);
    }
    files
}

fn reset(workforce: &Workforce, name: Option<&str>, layer: LayerArg, yes: bool, ui: &mut Ui) -> Result<Exit> {
    let dir = personas_of(workforce, layer)?;
    // A name stands for the id; a persona whose files are broken has only the id.
    let id = name.map(|name| match workforce.find(name) {
        Ok(found) => found.resolved.id().to_owned(),
        Err(_) => name.to_owned(),
    });
    let name = id.as_deref();
    let of_name = |name: &str| -> Result<Vec<PathBuf>> {
        if !library::has_persona(name) {
            return Err(CommandError::usage(format!(
                "persona `{name}` is not built in: there is nothing to reset it to"
            ))
            .hint(format!("`agentworkforce persona delete {name}` deletes it")));
        }
        Ok(files_in(workforce, name, &dir).flat_map(|file| files_of(&file)).collect())
    };
    let files = match name {
        Some(name) => of_name(name)?,
        None => {
            let all = json_files(&dir).map_err(|error| cannot_write(&dir, error))?;
            all.iter().flat_map(|file| files_of(file)).collect()
        }
    };
    refuse_while_running(workforce, |persona| {
        name.is_none_or(|name| same_id(name, persona)) && files_in(workforce, persona, &dir).next().is_some()
    })?;
    finish_reset(workforce, &Reset { kind: "persona", name, dir: &dir, files: &files }, yes, ui)
}
