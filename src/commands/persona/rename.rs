//! `persona rename`: the only writer of names.

use super::super::edit::{audit, edit_dir};
use super::super::{disabled, say};
use super::{Place, edit, pack_warning, place};
use crate::cli::LayerArg;
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::files::{json_file, lock};
use crate::model::features::Feature;
use crate::model::path_text::path_text;
use crate::model::text_rules;
use crate::model::warning::{Warning, WarningCode};
use crate::resolve::chain::same_id;
use crate::ui::{Ui, printable};
use crate::workforce::Workforce;
use serde_json::json;

/// What is to be changed; at least one of them.
pub struct NewName<'a> {
    pub name: Option<&'a str>,
    pub emoji: Option<&'a str>,
}

/// How a persona is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Shown {
    name: String,
    emoji: String,
}

impl Shown {
    fn of(workforce: &Workforce, id: &str) -> Result<Shown> {
        let resolved = workforce.find(id)?.resolved;
        let emoji = resolved.persona.emoji.clone().unwrap_or_default();
        Ok(Shown { name: resolved.display_name().to_owned(), emoji })
    }

    fn with(&self, wanted: &NewName<'_>) -> Shown {
        Shown {
            name: wanted.name.map_or_else(|| self.name.clone(), |name| name.trim().to_owned()),
            emoji: wanted.emoji.map_or_else(|| self.emoji.clone(), str::to_owned),
        }
    }

    /// From this to that, with the emoji where it changes.
    fn to(&self, after: &Shown) -> String {
        if self.emoji == after.emoji {
            return format!("{} -> {}", self.name, after.name);
        }
        let both = |shown: &Shown| format!("{} {}", shown.name, shown.emoji).trim_end().to_owned();
        format!("{} -> {}", both(self), both(after))
    }
}

pub fn run(
    workforce: &Workforce,
    id: &str,
    wanted: &NewName<'_>,
    layer: Option<LayerArg>,
    ui: &mut Ui,
) -> Result<Exit> {
    if !workforce.feature(Feature::AgentRename) {
        return Err(disabled(workforce, "persona rename", Feature::AgentRename));
    }
    let invalid = |what: &str, reason: String| CommandError::usage(format!("the {what} {reason}"));
    if let Some(name) = wanted.name {
        text_rules::display_name(name).map_err(|reason| invalid("name", reason))?;
    }
    text_rules::emoji(wanted.emoji.unwrap_or_default()).map_err(|reason| invalid("emoji", reason))?;
    let place = place(workforce, id, layer)?;
    let before = Shown::of(workforce, &place.id)?;
    if before.with(wanted) == before {
        return Ok(finish(ui, &place, &before, &before, &[]));
    }
    let _lock = lock::directories(&[edit_dir(&place.file)])?;
    // Somebody may have renamed it meanwhile: what it is called now counts.
    let workforce = Workforce::open(&workforce.host)?;
    let before = Shown::of(&workforce, &place.id)?;
    let after = before.with(wanted);
    let mut warnings: Vec<Warning> = pack_warning(&place).into_iter().collect();
    let others = if before.name == after.name { Vec::new() } else { workforce.all().0 };
    let taken = others.iter().map(|found| &found.resolved).find(|other| {
        !same_id(other.id(), &place.id) && other.display_name().to_lowercase() == after.name.to_lowercase()
    });
    if let Some(other) = taken {
        let text = format!("persona `{}` has that name too", other.id());
        warnings.push(Warning::new(WarningCode::SameName, text));
    }
    edit(&place, |object| {
        if wanted.name.is_some() {
            json_file::set(object, "name", Some(json!(after.name)));
        }
        if wanted.emoji.is_some() {
            json_file::set(object, "emoji", Some(json!(after.emoji)));
        }
        Ok(())
    })?;
    audit(&workforce, &format!("rename {}: {}", place.id, before.to(&after)))?;
    Ok(finish(ui, &place, &before, &after, &warnings))
}

fn finish(ui: &mut Ui, place: &Place, before: &Shown, after: &Shown, warnings: &[Warning]) -> Exit {
    let Place { id, file } = place;
    let changed = before != after;
    if ui.is_json() {
        let answer = json!({"persona": id, "name": after.name, "emoji": after.emoji, "from": before.name,
            "changed": changed, "file": path_text(file)});
        say::json(answer, warnings, ui);
    } else if changed {
        say::warnings(warnings, ui);
        ui.line(printable(&format!("{id}: {} ({})", before.to(after), file.display())));
    } else {
        ui.line(printable(&format!("{id} is already named {}", after.name)));
    }
    Exit::Done
}
