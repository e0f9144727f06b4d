//! `persona rename|set|delete|reset`: edits that keep what they do not touch. No command changes an id.

use super::edit::{audit, layer_dir, optional, unknown_role, user_personas, words};
use super::request::{parse_harness, parse_inherit, parse_tier};
use super::reset::finish_reset;
use super::say;
use crate::cli::{LayerArg, PersonaCommand, PersonaSetArgs};
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::files::error::cannot_write;
use crate::files::{backup, json_file, lock};
use crate::host::Host;
use crate::load::folder::json_files;
use crate::load::{library, normalise};
use crate::model::features::Feature;
use crate::model::path_text::path_text;
use crate::model::shape::Object;
use crate::model::source::Source;
use crate::model::text_rules;
use crate::model::warning::{Warning, WarningCode};
use crate::resolve::chain::same_id;
use crate::ui::{Ui, printable};
use crate::workforce::Workforce;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub fn run(command: &PersonaCommand, host: &Host, ui: &mut Ui) -> Result<Exit> {
    let workforce = Workforce::open(host)?;
    match command {
        PersonaCommand::Rename { id, name, emoji } => rename(&workforce, id, name, emoji.as_deref(), ui),
        PersonaCommand::Set(args) => set(&workforce, args, ui),
        PersonaCommand::Delete { id } => delete(&workforce, id, ui),
        PersonaCommand::Reset { id, layer, yes } => reset(&workforce, id.as_deref(), *layer, *yes, ui),
    }
}

/// The file that an edit of this persona goes to: the highest that has the id, else an overlay of the user's.
struct Place {
    id: String,
    file: PathBuf,
}

fn place(workforce: &Workforce, name: &str) -> Result<Place> {
    let found = workforce.find(name)?;
    let id = found.resolved.id().to_owned();
    let file = match &found.resolved.source().file {
        Some(file) => file.clone(),
        None => user_personas(workforce)?.join(format!("{id}.json")),
    };
    Ok(Place { id, file })
}

/// Locks the file's directory, reads it anew and changes it; an overlay that is made gets its id first.
fn edit(place: &Place, change: impl FnOnce(&mut Object) -> Result<()>) -> Result<()> {
    let dir = place.file.parent().unwrap_or(Path::new("."));
    let _lock = lock::directories(&[dir])?;
    json_file::edit(&place.file, |object| {
        object.entry("id").or_insert_with(|| json!(place.id));
        // Legacy words in `skills` are expertise; they are dropped on the next write.
        normalise::words_to_expertise(object);
        change(object)
    })
}

fn rename(workforce: &Workforce, name: &str, new: &str, emoji: Option<&str>, ui: &mut Ui) -> Result<Exit> {
    if !workforce.feature(Feature::AgentRename) {
        return Err(super::disabled("persona rename", Feature::AgentRename));
    }
    let invalid = |what: &str, reason: String| CommandError::usage(format!("the {what} {reason}"));
    text_rules::display_name(new).map_err(|reason| invalid("name", reason))?;
    text_rules::emoji(emoji.unwrap_or_default()).map_err(|reason| invalid("emoji", reason))?;
    let new = new.trim();
    let place = place(workforce, name)?;
    let before = workforce.find(&place.id)?.resolved;
    let (old_name, old_emoji) =
        (before.display_name().to_owned(), before.persona.emoji.clone().unwrap_or_default());
    let new_emoji = emoji.unwrap_or(&old_emoji).to_owned();

    let unchanged = old_name == new && new_emoji == old_emoji;
    let mut warnings = Vec::new();
    if !unchanged {
        let others = workforce.all().0;
        let taken = others.iter().map(|found| &found.resolved).find(|other| {
            !same_id(other.id(), &place.id) && other.display_name().to_lowercase() == new.to_lowercase()
        });
        if let Some(other) = taken {
            let text = format!("persona `{}` has that name too", other.id());
            warnings.push(Warning::new(WarningCode::SameName, text));
        }
        edit(&place, |object| {
            json_file::set(object, "name", Some(json!(new)));
            if let Some(emoji) = emoji {
                json_file::set(object, "emoji", Some(json!(emoji)));
            }
            Ok(())
        })?;
        say::warnings(&warnings, ui);
        audit(workforce, &format!("rename {}: {old_name} -> {new}", place.id))?;
    }
    if ui.is_json() {
        say::json(
            json!({"persona": place.id, "name": new, "emoji": new_emoji, "from": old_name,
            "changed": !unchanged, "file": path_text(&place.file)}),
            &warnings,
            ui,
        );
    } else if unchanged {
        ui.line(printable(&format!("{} is named {new} already", place.id)));
    } else {
        ui.line(printable(&format!("{}: {old_name} -> {new} ({})", place.id, place.file.display())));
    }
    Ok(Exit::Done)
}

fn set(workforce: &Workforce, args: &PersonaSetArgs, ui: &mut Ui) -> Result<Exit> {
    let mut changes: Vec<(&str, Option<Value>)> = Vec::new();
    if let Some(role) = &args.role {
        let role = optional(role);
        if let Some(key) = &role
            && workforce.role(key).0.is_none()
        {
            return Err(unknown_role(workforce, key));
        }
        changes.push(("role", role.map(Value::from)));
    }
    if let Some(expertise) = &args.expertise {
        changes.push(("expertise", Some(json!(words(expertise)))));
    }
    if let Some(tags) = &args.tags {
        changes.push(("tags", Some(json!(words(tags)))));
    }
    if let Some(inherit) = &args.inherit {
        changes.push(("inherit", Some(json!(parse_inherit(inherit)?))));
    }
    if let Some(description) = &args.description {
        changes.push(("description", optional(description).map(Value::from)));
    }
    if let Some(tier) = &args.default_tier {
        changes.push((
            "defaultTier",
            optional(tier).map(|tier| parse_tier(&tier)).transpose()?.map(|tier| json!(tier)),
        ));
    }
    let tier = args.tier.as_deref().map(parse_tier).transpose()?;
    let mut runtime: Vec<(&str, Option<Value>)> = Vec::new();
    if let Some(harness) = &args.harness {
        let harness = optional(harness).map(|harness| parse_harness(&harness)).transpose()?;
        runtime.push(("harness", harness.map(|harness| json!(harness))));
    }
    if let Some(model) = &args.model {
        runtime.push(("model", optional(model).map(Value::from)));
    }
    if tier.is_some() && runtime.is_empty() {
        return Err(CommandError::usage("`--tier` requires `--harness` or `--model`"));
    }
    if changes.is_empty() && runtime.is_empty() {
        return Err(CommandError::usage("nothing to set")
            .hint("`agentworkforce persona set --help` lists what can be set"));
    }
    let place = place(workforce, &args.id)?;
    let cleared = changes.iter().chain(&runtime).filter(|(_, value)| value.is_none()).map(|(key, _)| *key);
    refuse_to_clear_inherited(workforce, &place, cleared)?;
    edit(&place, |object| {
        for (key, value) in changes {
            json_file::set(object, key, value);
        }
        let target = match tier {
            Some(tier) => {
                let tiers = object.entry("tiers").or_insert_with(|| Value::Object(Map::new()));
                let tiers =
                    tiers.as_object_mut().ok_or_else(|| CommandError::usage("`tiers` is not an object"))?;
                let tier = tiers.entry(tier.name()).or_insert_with(|| Value::Object(Map::new()));
                tier.as_object_mut().ok_or_else(|| CommandError::usage("the tier is not an object"))?
            }
            None => object,
        };
        for (key, value) in runtime {
            json_file::set(target, key, value);
        }
        Ok(())
    })?;
    audit(workforce, &format!("set {}", place.id))?;
    done(ui, &place.id, "set", &place.file)
}

/// A key that an overlay leaves out is inherited, so an overlay cannot remove one.
fn refuse_to_clear_inherited<'k>(
    workforce: &Workforce,
    place: &Place,
    keys: impl Iterator<Item = &'k str>,
) -> Result<()> {
    let resolved = workforce.find(&place.id)?.resolved;
    for key in keys {
        let from_below = |source: &Arc<Source>| source.file.as_deref() != Some(place.file.as_path());
        if resolved.object.contains_key(key) && resolved.sources_of(key).iter().any(from_below) {
            return Err(CommandError::usage(format!(
                "`{key}` of `{}` is inherited and cannot be removed",
                place.id
            ))
            .hint("set another value, or write a persona of your own with `intent` and without `extends`"));
        }
    }
    Ok(())
}

fn done(ui: &mut Ui, id: &str, what: &str, file: &Path) -> Result<Exit> {
    if ui.is_json() {
        say::json(json!({"persona": id, "action": what, "file": path_text(file)}), &[], ui);
    } else {
        ui.line(printable(&format!("{what} {id} ({})", file.display())));
    }
    Ok(Exit::Done)
}

/// Built-ins stay, by every path: what can go is a file.
fn delete(workforce: &Workforce, name: &str, ui: &mut Ui) -> Result<Exit> {
    if library::has_persona(name) {
        return Err(CommandError::usage(format!("persona `{name}` is built in and cannot be deleted"))
            .hint(format!("`agentworkforce persona reset {name}` removes your overlay")));
    }
    let place = place(workforce, name)?;
    if library::has_persona(&place.id) {
        return Err(CommandError::usage(format!(
            "`{name}` is the built-in persona `{}` and cannot be deleted",
            place.id
        )));
    }
    let dir = place.file.parent().unwrap_or(Path::new("."));
    let _lock = lock::directories(&[dir])?;
    let kept =
        backup::move_aside(&workforce.host, &workforce.layers.home, &place.id, &files_of(&place.file))?;
    audit(workforce, &format!("delete {}", place.id))?;
    if ui.is_json() {
        say::json(
            json!({"persona": place.id, "action": "deleted", "file": path_text(&place.file), "backup": kept}),
            &[],
            ui,
        );
    } else {
        ui.line(printable(&format!(
            "deleted {} ({}); a copy is in {}",
            place.id,
            place.file.display(),
            kept.display()
        )));
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
    let dir = match layer {
        LayerArg::User => user_personas(workforce)?,
        LayerArg::Project => layer_dir(workforce, layer).join("personas"),
    };
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
        let entries = workforce.catalogue.entries.iter();
        let files = entries
            .filter(|entry| same_id(&entry.header.id, name))
            .filter_map(|entry| entry.source.file.clone());
        Ok(files
            .filter(|file| file.parent() == Some(dir.as_path()))
            .flat_map(|file| files_of(&file))
            .collect())
    };
    let files = match name {
        Some(name) => of_name(name)?,
        None => {
            let all = json_files(&dir).map_err(|error| cannot_write(&dir, error))?;
            all.iter().flat_map(|file| files_of(file)).collect()
        }
    };
    finish_reset(workforce, "persona", name, &dir, &files, yes, ui)
}
