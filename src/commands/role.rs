//! `role list|show|create|set|delete|reset`: the charters that personas share.

use super::edit::{
    KeyEdit, audit, edit_dir, edit_if_changed, layer_dir, optional, refuse_while_running, unknown_role,
};
use super::list::roles_of;
use super::request::{parse_harness, read_named};
use super::reset::{Reset, finish_reset};
use super::{say, target};
use crate::cli::{LayerArg, RoleCommand, RoleFields};
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::files::error::cannot_write;
use crate::files::{backup, json_file, lock};
use crate::host::Host;
use crate::load::folder::json_files;
use crate::load::layers::Layer;
use crate::load::{library, roles};
use crate::model::features::Feature;
use crate::model::path_text::path_text;
use crate::model::role::{Charter, Role, RoleDoc};
use crate::model::shape::{Object, TextRule};
use crate::model::source::LayerId;
use crate::model::text_rules;
use crate::resolve::chain::same_id;
use crate::ui::{BOLD, DIM, Ui, printable};
use crate::workforce::{Found, Workforce, warnings_of};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub fn run(command: &RoleCommand, host: &Host, ui: &mut Ui) -> Result<Exit> {
    let workforce = Workforce::open(host)?;
    let writes = !matches!(command, RoleCommand::List | RoleCommand::Show { .. });
    if writes && !workforce.feature(Feature::AgentLibrary) {
        return Err(super::disabled(&workforce, "role create, set, delete and reset", Feature::AgentLibrary));
    }
    match command {
        RoleCommand::List => list(&workforce, ui),
        RoleCommand::Show { key } => show(&workforce, key, ui),
        RoleCommand::Create { key, label, fields, to } => {
            create(&workforce, key, label, fields, to.as_deref(), ui)
        }
        RoleCommand::Set { key, label, fields, layer } => {
            set(&workforce, key, label.as_deref(), fields, *layer, ui)
        }
        RoleCommand::Delete { key, reassign_to } => delete(&workforce, key, reassign_to.as_deref(), ui),
        RoleCommand::Reset { key, layer, yes } => reset(&workforce, key.as_deref(), *layer, *yes, ui),
    }
}

fn charter_text(role: &Role) -> Option<&str> {
    match &role.charter {
        Some(Charter::Text { text, .. }) => Some(text),
        _ => None,
    }
}

/// The personas by the role that they have, each role's by id.
fn by_role<'f>(workforce: &Workforce, found: &'f [Found]) -> BTreeMap<String, Vec<&'f Found>> {
    let mut members: BTreeMap<String, Vec<&Found>> = BTreeMap::new();
    for (persona, role) in found.iter().zip(roles_of(workforce, found)) {
        if let Some(key) = role.part.as_ref().and_then(|part| part.key.clone()) {
            members.entry(key).or_default().push(persona);
        }
    }
    members
}

/// The personas whose role this is, by id.
fn members<'f>(workforce: &Workforce, found: &'f [Found], key: &str) -> Vec<&'f Found> {
    by_role(workforce, found).remove(key).unwrap_or_default()
}

fn list(workforce: &Workforce, ui: &mut Ui) -> Result<Exit> {
    let (keys, mut problems) = roles::keys(&workforce.layers);
    let (personas, _) = workforce.all();
    let mut members = by_role(workforce, &personas);
    let mut rows = Vec::new();
    for key in keys {
        let (role, found) = workforce.role(&key);
        problems.extend(found);
        if let Some(role) = role {
            let members = members.remove(&role.key).unwrap_or_default();
            rows.push((role, members));
        }
    }
    let warnings = warnings_of(&problems);
    say::warnings(&warnings, ui);
    if ui.is_json() {
        let roles: Map<String, Value> =
            rows.iter().map(|(role, members)| (role.key.clone(), role_json(role, members))).collect();
        say::json(json!({"roles": roles}), &warnings, ui);
        return Ok(Exit::Done);
    }
    for (role, members) in &rows {
        let origin = role.source.layer.title();
        ui.line(format!("{BOLD}{}{BOLD:#}  {} {DIM}({origin}){DIM:#}", role.key, printable(&role.label)));
        for member in members {
            let resolved = &member.resolved;
            let emoji = resolved.persona.emoji.as_deref().unwrap_or_default();
            let mut parts = vec![resolved.id().to_owned()];
            let name = format!("{emoji} {}", resolved.display_name()).trim().to_owned();
            parts.extend(Some(name).filter(|name| name != resolved.id()));
            parts.push(resolved.persona.expertise.join(", "));
            ui.line(printable(format!("    {}", parts.join("  ")).trim_end()));
        }
    }
    Ok(Exit::Done)
}

fn role_json(role: &Role, members: &[&Found]) -> Value {
    let ids: Vec<&str> = members.iter().map(|member| member.resolved.id()).collect();
    json!({
        "label": role.label,
        "charter": charter_text(role),
        "defaultHarness": role.default_harness,
        "defaultModel": role.default_model,
        "builtin": role.builtin,
        "origin": role.source.layer,
        "agentIds": ids,
    })
}

fn show(workforce: &Workforce, key: &str, ui: &mut Ui) -> Result<Exit> {
    let (role, problems) = workforce.role(key);
    let warnings = warnings_of(&problems);
    say::warnings(&warnings, ui);
    let role = match (role, problems.first()) {
        (Some(role), _) => role,
        (None, Some(problem)) => {
            return Err(CommandError::usage(format!("role `{key}` is not valid"))
                .caused_by(problem)
                .maybe_hint(problem.fix.clone()));
        }
        (None, None) => return Err(unknown_role(workforce, key)),
    };
    let charter_origin = match &role.charter {
        Some(Charter::Text { source, .. }) => Some(source.describe()),
        _ => None,
    };
    if ui.is_json() {
        let (personas, _) = workforce.all();
        let mut value = role_json(&role, &members(workforce, &personas, key));
        value["key"] = json!(key);
        value["charterOrigin"] = json!(charter_origin);
        say::json(value, &warnings, ui);
        return Ok(Exit::Done);
    }
    ui.line(format!("{BOLD}{}{BOLD:#}  {}", role.key, printable(&role.label)));
    let mut row = |name: &str, value: Option<&str>| {
        if let Some(value) = value {
            ui.line(format!("{DIM}{name:<8}{DIM:#} {}", printable(value)));
        }
    };
    row("origin", Some(&role.source.describe()));
    row("charter", charter_origin.as_deref());
    row("harness", role.default_harness.as_deref());
    row("model", role.default_model.as_deref());
    ui.line("");
    ui.text(&printable(charter_text(&role).unwrap_or("(no charter)\n")));
    Ok(Exit::Done)
}

/// The fields of a role file that the command line sets; `None` clears one.
struct Changes(Vec<(&'static str, Option<Value>)>);

fn changes(label: Option<&str>, fields: &RoleFields) -> Result<Changes> {
    let mut changes = Vec::new();
    if let Some(label) = label {
        text_rules::display_name(label)
            .map_err(|reason| CommandError::usage(format!("the label {reason}")))?;
        changes.push(("label", Some(json!(label.trim()))));
    }
    if let Some(file) = &fields.charter_file {
        let charter = read_named(file, "the charter file")?;
        if charter.trim().is_empty() {
            return Err(
                CommandError::usage("the charter is empty").hint("describe what the role is responsible for")
            );
        }
        changes.push(("charter", Some(json!(charter))));
    }
    if let Some(harness) = &fields.harness {
        let harness = optional(harness).map(|harness| parse_harness(&harness)).transpose()?;
        changes.push(("defaultHarness", harness.map(|harness| json!(harness))));
    }
    if let Some(model) = &fields.model {
        changes.push(("defaultModel", optional(model).map(Value::from)));
    }
    Ok(Changes(changes))
}

impl Changes {
    /// `is_inherited` says whether lower layers set a key: it is cleared with `null` then.
    fn apply(self, object: &mut Object, is_inherited: impl Fn(&str) -> bool) {
        for (key, value) in self.0 {
            if key == "charter" {
                object.shift_remove("charterFile");
            }
            let edit = match value {
                Some(value) => KeyEdit::Set(value),
                None if is_inherited(key) => KeyEdit::Set(Value::Null),
                None => KeyEdit::Remove,
            };
            edit.apply(object, key);
        }
    }
}

fn create(
    workforce: &Workforce,
    key: &str,
    label: &str,
    fields: &RoleFields,
    to: Option<&str>,
    ui: &mut Ui,
) -> Result<Exit> {
    text_rules::check(TextRule::RoleKey, key)
        .map_err(|reason| CommandError::usage(format!("the key `{key}` {reason}")))?;
    let exists = || {
        CommandError::usage(format!("there is a role `{key}` already"))
            .hint(format!("`agentworkforce role set {key}` edits it"))
    };
    if library::has_role(key) || workforce.role(key).0.is_some() {
        return Err(exists());
    }
    if fields.charter_file.is_none() && workforce.host.stdin_is_terminal {
        return Err(CommandError::usage("a role needs a charter")
            .hint("name a file with `--charter-file`, or pipe the text in"));
    }
    let fields = RoleFields {
        charter_file: Some(fields.charter_file.clone().unwrap_or_else(|| PathBuf::from("-"))),
        harness: fields.harness.clone(),
        model: fields.model.clone(),
    };
    let changes = changes(Some(label), &fields)?;
    let dir = target::target(workforce, to).roles;
    let file = dir.join(format!("{key}.json"));
    let _lock = lock::directories(&[&dir])?;
    // Looked at again under the lock: another process may have been faster.
    if file.symlink_metadata().is_ok() {
        return Err(exists());
    }
    edit_if_changed(&file, |object| {
        changes.apply(object, |_| false);
        Ok(())
    })?;
    audit(workforce, &format!("role create {key}"))?;
    done(ui, key, "created", &file, true)
}

fn set(
    workforce: &Workforce,
    key: &str,
    label: Option<&str>,
    fields: &RoleFields,
    layer: Option<LayerArg>,
    ui: &mut Ui,
) -> Result<Exit> {
    let Some(role) = workforce.role(key).0 else { return Err(unknown_role(workforce, key)) };
    let changes = changes(label, fields)?;
    if changes.0.is_empty() {
        return Err(CommandError::usage("nothing to set")
            .hint("`agentworkforce role set --help` lists what can be set"));
    }
    let overlay = |layer| layer_dir(workforce, layer).join("roles").join(format!("{key}.json"));
    let (layer, file) = match (layer, &role.source.file) {
        (None, Some(file)) => (role.source.layer, file.clone()),
        (Some(LayerArg::Project), _) => (LayerId::Project, overlay(LayerArg::Project)),
        (Some(LayerArg::User), _) | (None, None) => (LayerId::User, overlay(LayerArg::User)),
    };
    let _lock = lock::directories(&[edit_dir(&file)])?;
    let (docs, _) = roles::docs(&workforce.layers, key);
    // Layers are ordered from the highest on.
    let is_below = |doc: &&RoleDoc| doc.source.layer > layer;
    let is_inherited = |key: &str| {
        docs.iter().filter(is_below).any(|doc| doc.object.get(key).is_some_and(|value| !value.is_null()))
    };
    let changed = edit_if_changed(&file, |object| {
        changes.apply(object, is_inherited);
        Ok(())
    })?;
    if changed {
        audit(workforce, &format!("role set {key}"))?;
    }
    done(ui, key, "set", &file, changed)
}

fn delete(workforce: &Workforce, key: &str, reassign_to: Option<&str>, ui: &mut Ui) -> Result<Exit> {
    if library::has_role(key) {
        return Err(CommandError::usage(format!("role `{key}` is built in and cannot be deleted"))
            .hint(format!("`agentworkforce role reset {key}` removes your overlay")));
    }
    let (role, problems) = workforce.role(key);
    if role.is_none() && problems.is_empty() {
        return Err(unknown_role(workforce, key));
    }
    if reassign_to == Some(key) {
        return Err(CommandError::usage(format!(
            "the personas of `{key}` cannot get the role that is deleted"
        ))
        .hint("name another one with `--reassign-to KEY`"));
    }
    if let Some(target) = reassign_to.filter(|target| workforce.role(target).0.is_none()) {
        return Err(unknown_role(workforce, target));
    }
    let (personas, _) = workforce.all();
    let members = members(workforce, &personas, key);
    if reassign_to.is_none() {
        refuse_in_use(&members, key)?;
    }
    let role_files: Vec<PathBuf> = workforce
        .catalogue
        .layers
        .iter()
        .filter_map(|layer| layer.roles.as_ref())
        .map(|dir| dir.join(format!("{key}.json")))
        .filter(|file| file.symlink_metadata().is_ok())
        .collect();
    // Every file that says `role: key`, not only the highest: a lower one would bring the deleted role back.
    let persona_files: Vec<PathBuf> = workforce
        .catalogue
        .entries
        .iter()
        .filter_map(|entry| entry.source.file.clone())
        .filter(|file| matches!(json_file::read(file), Ok(Some(object)) if says_role(&object, key)))
        .collect();
    let dirs: Vec<&Path> = role_files.iter().chain(&persona_files).filter_map(|file| file.parent()).collect();
    let _lock = lock::directories(&dirs)?;
    // All reassignments are staged before the first is put in place; the role goes last.
    let mut staged = Vec::new();
    if let Some(target) = reassign_to {
        for file in &persona_files {
            let Some(mut object) = json_file::read(file)? else { continue };
            if says_role(&object, key) {
                json_file::set(&mut object, "role", Some(json!(target)));
                staged.push(json_file::stage(file, &object)?);
            }
        }
    }
    for file in staged {
        file.commit()?;
    }
    let kept =
        backup::move_aside(&workforce.host, &workforce.layers.home, &format!("role-{key}"), &role_files)?;
    audit(workforce, &format!("role delete {key}"))?;
    if ui.is_json() {
        let ids: Vec<&str> = members.iter().map(|member| member.resolved.id()).collect();
        say::json(
            json!({"role": key, "action": "deleted", "reassigned": ids, "reassignedTo": reassign_to, "backup": kept}),
            &[],
            ui,
        );
    } else {
        ui.line(printable(&format!("deleted role {key}; a copy is in {}", kept.display())));
    }
    Ok(Exit::Done)
}

fn says_role(object: &Object, key: &str) -> bool {
    object
        .get("role")
        .and_then(Value::as_str)
        .is_some_and(|role| role == key || text_rules::slugged(role) == key)
}

fn reset(workforce: &Workforce, key: Option<&str>, layer: LayerArg, yes: bool, ui: &mut Ui) -> Result<Exit> {
    let dir = layer_dir(workforce, layer).join("roles");
    let files = match key {
        Some(key) if !library::has_role(key) => {
            return Err(CommandError::usage(format!(
                "role `{key}` is not built in: there is nothing to reset it to"
            ))
            .hint(format!("`agentworkforce role delete {key}` deletes it")));
        }
        Some(key) => vec![dir.join(format!("{key}.json"))]
            .into_iter()
            .filter(|file| file.symlink_metadata().is_ok())
            .collect(),
        None => json_files(&dir).map_err(|error| cannot_write(&dir, error))?,
    };
    let keys: Vec<&str> = files.iter().filter_map(|file| file.file_stem()?.to_str()).collect();
    let (personas, _) = workforce.all();
    for key in &keys {
        let is_left = |layer: &Layer| {
            let other = layer.roles.as_ref().filter(|other| **other != dir);
            other.is_some_and(|other| other.join(format!("{key}.json")).symlink_metadata().is_ok())
        };
        if library::has_role(key) || workforce.layers.all.iter().any(is_left) {
            continue;
        }
        refuse_in_use(&members(workforce, &personas, key), key)?;
    }
    let is_of_role = |persona: &str| {
        let found = personas.iter().find(|found| same_id(found.resolved.id(), persona));
        let part = found.and_then(|found| workforce.role_of(&found.resolved).part);
        part.and_then(|part| part.key).is_some_and(|key| keys.contains(&key.as_str()))
    };
    refuse_while_running(workforce, is_of_role)?;
    finish_reset(workforce, &Reset { kind: "role", name: key, dir: &dir, files: &files }, yes, ui)
}

/// A role that personas have is not taken from them.
fn refuse_in_use(members: &[&Found], key: &str) -> Result<()> {
    if members.is_empty() {
        return Ok(());
    }
    let ids: Vec<&str> = members.iter().map(|member| member.resolved.id()).collect();
    Err(CommandError::usage(format!("role `{key}` is in use by {}", ids.join(", "))).hint(format!(
        "`agentworkforce role delete {key} --reassign-to KEY` deletes it and gives them another one"
    )))
}

fn done(ui: &mut Ui, key: &str, what: &str, file: &Path, changed: bool) -> Result<Exit> {
    if ui.is_json() {
        let answer = json!({"role": key, "action": what, "changed": changed, "file": path_text(file)});
        say::json(answer, &[], ui);
    } else if !changed {
        ui.line(printable(&format!("no change: role {key} already has these settings")));
    } else {
        ui.line(printable(&format!("{what} role {key} ({})", file.display())));
    }
    Ok(Exit::Done)
}
