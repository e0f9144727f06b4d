//! `persona set`: settings of a persona, in its own file or in an overlay.

use super::super::edit::{KeyEdit, audit, edit_dir, optional, unknown_role, words};
use super::super::request::{parse_harness, parse_inherit, parse_tier};
use super::{done, edit, pack_warning, place};
use crate::cli::PersonaSetArgs;
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::files::lock;
use crate::load::check;
use crate::model::formats::PERSONA;
use crate::model::shape::{Object, Severity};
use crate::model::tier::Tier;
use crate::model::warning::{Warning, WarningCode};
use crate::ui::Ui;
use crate::workforce::Workforce;
use serde_json::{Map, Value, json};

/// A setting by the path of its key, and its value; `None` clears it.
type Setting = (&'static [&'static str], Option<Value>);

pub fn run(workforce: &Workforce, args: &PersonaSetArgs, ui: &mut Ui) -> Result<Exit> {
    let settings = settings(workforce, args)?;
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
    if settings.is_empty() && runtime.is_empty() {
        return Err(CommandError::usage("nothing to set")
            .hint("`agentworkforce persona set --help` lists what can be set"));
    }
    let place = place(workforce, &args.id, args.layer)?;
    let _lock = lock::directories(&[edit_dir(&place.file)])?;
    // What is inherited is what is there now.
    let workforce = Workforce::open(&workforce.host)?;
    let inherited = workforce.find(&place.id)?.resolved.below(&place.file);
    let changed = edit(&place, |object| {
        for (path, value) in settings {
            set(object, path, clearing(value, at(&inherited, path).is_some()))?;
        }
        for (key, value) in runtime {
            set_runtime(object, tier, key, value, &inherited)?;
        }
        refuse_invalid(object)
    })?;
    let mut warnings = Vec::new();
    if changed {
        audit(&workforce, &format!("set {}", place.id))?;
        warnings.extend(pack_warning(&place));
        let now = Workforce::open(&workforce.host)?;
        let resolved = now.find(&place.id)?.resolved;
        let missed = now.role_of(&resolved).role.and_then(|role| now.role_not_shared(&resolved, &role));
        warnings.extend(missed.map(|text| Warning::new(WarningCode::Layer, text)));
    }
    done(ui, &place, changed, &warnings)
}

fn settings(workforce: &Workforce, args: &PersonaSetArgs) -> Result<Vec<Setting>> {
    let mut settings: Vec<Setting> = Vec::new();
    if let Some(role) = &args.role {
        let role = optional(role);
        if let Some(key) = &role
            && workforce.role(key).0.is_none()
        {
            return Err(unknown_role(workforce, key));
        }
        settings.push((&["role"], role.map(Value::from)));
    }
    if let Some(expertise) = &args.expertise {
        settings.push((&["expertise"], Some(json!(words(expertise)))));
    }
    if let Some(tags) = &args.tags {
        settings.push((&["tags"], Some(json!(words(tags)))));
    }
    if let Some(inherit) = &args.inherit {
        settings.push((&["inherit"], Some(json!(parse_inherit(inherit)?))));
    }
    if let Some(description) = &args.description {
        settings.push((&["description"], optional(description).map(Value::from)));
    }
    if let Some(tier) = &args.default_tier {
        let tier = optional(tier).map(|tier| parse_tier(&tier)).transpose()?;
        settings.push((&["defaultTier"], tier.map(|tier| json!(tier))));
    }
    if let Some(usd) = &args.max_usd {
        let number = |text: String| {
            let usd = text.parse::<f64>().ok().and_then(serde_json::Number::from_f64);
            usd.ok_or_else(|| CommandError::usage(format!("`--max-usd {text}` is not a number")))
        };
        settings.push((&["limits", "usd"], optional(usd).map(number).transpose()?.map(Value::Number)));
    }
    for (key, flag, value) in
        [(&["bareMode"], "--bare-mode", &args.bare_mode), (&["hermetic"], "--hermetic", &args.hermetic)]
    {
        let Some(text) = value else { continue };
        let value = match text.trim() {
            "" => None,
            "true" => Some(json!(true)),
            "false" => Some(json!(false)),
            other => {
                return Err(CommandError::usage(format!("`{flag} {other}` is neither true nor false")));
            }
        };
        settings.push((key, value));
    }
    Ok(settings)
}

fn clearing(value: Option<Value>, is_inherited: bool) -> KeyEdit {
    match value {
        Some(value) => KeyEdit::Set(value),
        None if is_inherited => KeyEdit::Set(Value::Null),
        None => KeyEdit::Remove,
    }
}

/// The value behind these keys.
fn at<'o>(object: &'o Object, path: &[&str]) -> Option<&'o Value> {
    let (first, below) = path.split_first()?;
    below.iter().try_fold(object.get(*first)?, |value, key| value.get(key))
}

/// Sets or clears a key below others, which are made for a value and not for its removal.
fn set(object: &mut Object, path: &[&str], edit: KeyEdit) -> Result<()> {
    let [above @ .., key] = path else { return Ok(()) };
    let mut target = object;
    for name in above {
        if matches!(edit, KeyEdit::Remove) && !target.contains_key(*name) {
            return Ok(());
        }
        let below = target.entry(*name).or_insert_with(|| Value::Object(Map::new()));
        target =
            below.as_object_mut().ok_or_else(|| CommandError::usage(format!("`{name}` is not an object")))?;
    }
    edit.apply(target, key);
    Ok(())
}

/// A setting of one tier, or of all that have none of their own; cleared for all, it goes from every tier.
fn set_runtime(
    object: &mut Object,
    tier: Option<Tier>,
    key: &str,
    value: Option<Value>,
    inherited: &Object,
) -> Result<()> {
    if let Some(tier) = tier {
        let path = ["tiers", tier.name(), key];
        return set(object, &path, clearing(value, at(inherited, &path).is_some()));
    }
    if let (None, Some(Value::Object(tiers))) = (&value, object.get_mut("tiers")) {
        for own in tiers.values_mut().filter_map(Value::as_object_mut) {
            own.shift_remove(key);
        }
    }
    let in_a_tier = Tier::ALL.iter().any(|tier| at(inherited, &["tiers", tier.name(), key]).is_some());
    let is_inherited = in_a_tier || inherited.contains_key(key);
    set(object, &[key], clearing(value, is_inherited))
}

/// What is written is read again: a value that could not be is refused.
fn refuse_invalid(object: &Object) -> Result<()> {
    let problems = check::check(object, PERSONA);
    match problems.into_iter().find(|problem| problem.severity == Severity::Error) {
        Some(problem) => {
            Err(CommandError::usage(format!("`{}` {}", problem.at, problem.message)).maybe_hint(problem.fix))
        }
        None => Ok(()),
    }
}
