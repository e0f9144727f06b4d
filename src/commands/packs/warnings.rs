//! What the user should know about a pack's personas before they run: which personas they override, and which powers they
//! ask for. Prints nothing.

use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::load::library;
use crate::model::warning::{Warning, WarningCode};
use crate::pack::contents::{Base, Unit, UnitKind};
use crate::pack::powers::{self, Power, PowerKind};
use crate::pack::target::Target;
use crate::resolve::chain::same_id;
use crate::workforce::Workforce;
use serde_json::{Value, json};

/// Which personas and powers of a pack are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    All,
    /// Only what is not in the files that are installed already.
    New,
}

/// Warnings about a pack, and the powers of its personas for programs.
#[derive(Debug, Default)]
pub struct Findings {
    pub warnings: Vec<Warning>,
    pub powers: Vec<Value>,
}

/// Called before anything is written.
pub fn find(workforce: &Workforce, target: &Target, units: &[Unit], scope: Scope) -> Findings {
    let mut found = Findings::default();
    for unit in units {
        let mut warn = |code, text: String| found.warnings.push(Warning::new(code, text));
        let installed = installed_powers(target, unit);
        let is_new = scope == Scope::All || installed.is_none();
        if unit.kind == UnitKind::Role {
            if is_new && library::has_role(&unit.id) {
                let text =
                    format!("the pack changes the built-in role `{}` for every persona with it", unit.id);
                warn(WarningCode::Overrides, text);
            }
            continue;
        }
        if let Some(text) = overridden(workforce, target, unit).filter(|_| is_new) {
            warn(WarningCode::Overrides, text);
        }
        if let Base::Named(base) = &unit.base
            && is_new
            && !has_base(workforce, target, base)
        {
            let text = format!(
                "{} extends `{base}`, which no lower layer has: it cannot run until one does",
                unit.id
            );
            warn(WarningCode::MissingBase, text);
        }
        let known = if scope == Scope::New { installed.unwrap_or_default() } else { Vec::new() };
        for power in unit.powers.iter().filter(|power| !known.contains(power)) {
            warn(WarningCode::Power, format!("{} asks for {}", unit.id, power.text));
            found.powers.push(json!({"persona": unit.id, "kind": power.kind, "message": power.text}));
        }
    }
    found
}

/// The powers of the installed file, if there is one.
fn installed_powers(target: &Target, unit: &Unit) -> Option<Vec<Power>> {
    let path = unit.main_file();
    target.path(&path).symlink_metadata().ok()?;
    let mut known = powers::of_text(&target.text(&path));
    let texts = unit.skill_texts().map(|(path, _)| (path, target.text(path)));
    known.extend(texts.flat_map(|(path, text)| powers::of_skill(path, &text)));
    Some(known)
}

/// The persona of a lower layer with the same id, which this one changes or replaces.
fn overridden(workforce: &Workforce, target: &Target, unit: &Unit) -> Option<String> {
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
    let verb = if changes { "changes" } else { "replaces" };
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

/// The indices of the layers below the one that packs are installed to.
fn lower_layers(workforce: &Workforce, target: &Target) -> std::ops::Range<usize> {
    let layers = &workforce.layers.all;
    let own = layers.iter().position(|layer| layer.personas.as_ref() == Some(&target.personas));
    // A layer that does not exist yet is the project's, above all others.
    own.map_or(0, |own| own + 1)..layers.len()
}

/// Refuses a pack that disables approvals and sandbox, unless the installed file does already.
pub fn refuse_bypass(target: &Target, units: &[Unit], is_allowed: bool) -> Result<()> {
    let asks = |powers: &[Power]| powers.iter().any(|power| power.kind == PowerKind::Bypass);
    let is_new = |unit: &&Unit| {
        asks(&unit.powers) && !installed_powers(target, unit).is_some_and(|known| asks(&known))
    };
    let new: Vec<&Unit> = units.iter().filter(is_new).collect();
    if is_allowed || new.is_empty() {
        return Ok(());
    }
    let mut error =
        CommandError::new(Exit::Refused, "the pack disables approvals and the sandbox; nothing was written");
    for unit in new {
        for power in unit.powers.iter().filter(|power| power.kind == PowerKind::Bypass) {
            error.causes.push(format!("persona `{}` asks for {}", unit.id, power.text));
        }
    }
    Err(error.hint("`--allow-bypass` installs it anyway: only if you trust the author of the pack"))
}
