//! What the user should know of a pack's personas before they run: whom they hide, and which powers they ask for.

use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::load::library;
use crate::pack::contents::{Base, Unit, UnitKind};
use crate::pack::powers::{self, BYPASS, Power};
use crate::pack::target::Target;
use crate::resolve::chain::same_id;
use crate::ui::{Ui, printable};
use crate::workforce::Workforce;
use serde_json::{Value, json};

pub struct Warning {
    kind: &'static str,
    id: String,
    text: String,
}

/// Which of a pack's personas and powers are worth a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    All,
    /// What is not in the files that are here.
    New,
}

/// Called before anything is written.
pub fn of(workforce: &Workforce, target: &Target, units: &[Unit], scope: Scope) -> Vec<Warning> {
    let mut found = Vec::new();
    for unit in units {
        let mut add = |kind, text| found.push(Warning { kind, id: unit.id.clone(), text });
        let here = here(target, unit);
        let is_new = scope == Scope::All || here.is_none();
        if unit.kind == UnitKind::Role {
            if is_new && library::has_role(&unit.id) {
                let text =
                    format!("the pack changes the built-in role `{}` for everybody who follows it", unit.id);
                add("role", text);
            }
            continue;
        }
        if let Some(text) = hidden(workforce, target, unit).filter(|_| is_new) {
            add("hides", text);
        }
        if let Base::Named(base) = &unit.base
            && is_new
            && !has_base(workforce, target, base)
        {
            let text = format!(
                "{} extends `{base}`, which no lower layer has: it cannot run until one does",
                unit.id
            );
            add("no-base", text);
        }
        let before = if scope == Scope::New { here.unwrap_or_default() } else { Vec::new() };
        for power in unit.powers.iter().filter(|power| !before.contains(power)) {
            add(power.kind, format!("{} asks for {}", unit.id, power.text));
        }
    }
    found
}

/// The powers of the file that is here, if there is one.
fn here(target: &Target, unit: &Unit) -> Option<Vec<Power>> {
    let path = unit.main_file();
    target.path(&path).symlink_metadata().ok()?;
    Some(powers::of_text(&target.text(&path)))
}

/// The persona of a lower layer that nobody reaches any more by its id.
fn hidden(workforce: &Workforce, target: &Target, unit: &Unit) -> Option<String> {
    let lower = lower_layers(workforce, target);
    let entries = workforce.catalogue.entries.iter();
    let mut entries =
        entries.filter(|entry| lower.contains(&entry.header.layer) && same_id(&entry.header.id, &unit.id));
    let entry = entries.next()?;
    let changes = match &unit.base {
        Base::None => false,
        Base::SameId => true,
        Base::Named(base) => same_id(base, &unit.id),
    };
    let verb = if changes { "changes" } else { "takes the place of" };
    let id = &entry.header.id;
    Some(match &entry.source.file {
        None => format!("{} {verb} the built-in persona `{id}`", unit.id),
        Some(file) => format!("{} {verb} the persona `{id}` in {}", unit.id, file.display()),
    })
}

fn has_base(workforce: &Workforce, target: &Target, base: &str) -> bool {
    let lower = lower_layers(workforce, target);
    let mut headers = workforce.catalogue.entries.iter().map(|entry| &entry.header);
    headers.any(|header| {
        lower.contains(&header.layer) && (same_id(&header.id, base) || header.intent.as_deref() == Some(base))
    })
}

/// Positions of the layers below the one that packs are installed to.
fn lower_layers(workforce: &Workforce, target: &Target) -> std::ops::Range<usize> {
    let layers = &workforce.layers.all;
    let own = layers.iter().position(|layer| layer.personas.as_ref() == Some(&target.personas));
    // A layer that is not there yet is the project's, above all others.
    own.map_or(0, |own| own + 1)..layers.len()
}

/// A file that somebody else wrote does not take approvals and sandbox away, unless it had been allowed to before.
pub fn refuse_bypass(target: &Target, units: &[Unit], is_allowed: bool) -> Result<()> {
    let asks = |powers: &[Power]| powers.iter().any(|power| power.kind == BYPASS);
    let is_new = |unit: &&Unit| asks(&unit.powers) && !here(target, unit).is_some_and(|here| asks(&here));
    let new: Vec<&Unit> = units.iter().filter(is_new).collect();
    if is_allowed || new.is_empty() {
        return Ok(());
    }
    let mut error =
        CommandError::new(Exit::Refused, "the pack takes away approvals and sandbox; nothing was written");
    for unit in new {
        for power in unit.powers.iter().filter(|power| power.kind == BYPASS) {
            error.causes.push(format!("persona `{}` asks for {}", unit.id, power.text));
        }
    }
    Err(error.hint("`--allow-bypass` takes it all the same: only where you trust whoever wrote the pack"))
}

pub fn tell(warnings: &[Warning], ui: &mut Ui) {
    for warning in warnings {
        ui.flush();
        ui.warning(printable(&warning.text));
    }
}

pub fn rows(warnings: &[Warning]) -> Vec<Value> {
    let row = |warning: &Warning| json!({"kind": warning.kind, "id": warning.id, "message": warning.text});
    warnings.iter().map(row).collect()
}
