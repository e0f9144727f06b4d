//! `config get|set|unset|list|features`: settings by their key path, checked before they are written.

use super::say;
use crate::cli::ConfigCommand;
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::files::{json_file, lock};
use crate::host::Host;
use crate::load::config;
use crate::load::file::FileProblem;
use crate::load::layers::config_path;
use crate::model::features::{Feature, FeatureSource};
use crate::model::formats::CONFIG;
use crate::model::shape::{Field, Object, Severity, Shape, field};
use crate::model::warning::Warning;
use crate::model::words::nearest;
use crate::rules::inherit::refused_reveal;
use crate::ui::{Table, Ui, printable};
use crate::workforce::Workforce;
use serde_json::{Map, Value, json};

pub fn run(command: &ConfigCommand, host: &Host, ui: &mut Ui) -> Result<Exit> {
    match command {
        ConfigCommand::Get { key } => get(host, key, ui),
        ConfigCommand::Set { key, values } => {
            // Values may begin with a hyphen, so this one ends up among them.
            let values: Vec<String> = values.iter().filter(|value| *value != "--json").cloned().collect();
            set(host, key, &values, ui)
        }
        ConfigCommand::Unset { key } => unset(host, key, ui),
        ConfigCommand::List => list(host, ui),
        ConfigCommand::Features => features(host, ui),
    }
}

/// Every setting with the shape of its value, as key paths: `limits.usd`, `features.<id>`.
pub fn settings() -> Vec<(String, Shape, &'static str)> {
    fn walk(fields: &'static [Field], prefix: &str, found: &mut Vec<(String, Shape, &'static str)>) {
        for field in fields {
            let key = format!("{prefix}{}", field.key);
            match inner_fields(field.shape) {
                Some(fields) => walk(fields, &format!("{key}."), found),
                None => match field.shape {
                    Shape::Map(_, value) => {
                        let ids = Feature::ALL
                            .into_iter()
                            .map(|feature| (format!("{key}.{feature}"), *value, feature.info().description));
                        found.extend(ids);
                    }
                    shape => found.push((key, shape, field.doc)),
                },
            }
        }
    }
    let mut found = Vec::new();
    walk(CONFIG, "", &mut found);
    found
}

fn inner_fields(shape: Shape) -> Option<&'static [Field]> {
    match shape {
        Shape::Object(fields) => Some(fields),
        Shape::Either(shapes) => shapes.iter().find_map(|shape| inner_fields(*shape)),
        _ => None,
    }
}

fn known(key: &str) -> Result<Shape> {
    let settings = settings();
    match settings.iter().find(|(name, ..)| name == key) {
        Some((_, shape, _)) => Ok(*shape),
        None => {
            let near = nearest(key, settings.iter().map(|(name, ..)| name.as_str()));
            Err(CommandError::usage(format!("there is no setting `{key}`"))
                .maybe_hint(near.map(|near| format!("did you mean `{near}`?")))
                .hint("`agentworkforce config list` shows them all"))
        }
    }
}

/// The value at a key path of the file; a short `mount` is its backend.
fn at<'o>(object: &'o Object, key: &str) -> Option<&'o Value> {
    if key == "mount.backend"
        && let Some(short @ Value::String(_)) = object.get("mount")
    {
        return Some(short);
    }
    let mut parts = key.split('.');
    let first = object.get(parts.next()?)?;
    parts.try_fold(first, |value, part| value.get(part))
}

fn get(host: &Host, key: &str, ui: &mut Ui) -> Result<Exit> {
    known(key)?;
    let config = config::read(&config_path(&host.workforce_home()?));
    let warnings: Vec<Warning> = config.problems.iter().map(FileProblem::to_warning).collect();
    say::warnings(&warnings, ui);
    let value = at(&config.object, key);
    if ui.is_json() {
        say::json(json!({"key": key, "value": value, "isSet": value.is_some()}), &warnings, ui);
    } else if let Some(value) = value {
        ui.line(printable(&shown(value)));
    }
    // As `git config --get` does: scripts can tell "not set" from "empty".
    Ok(if value.is_some() || ui.is_json() { Exit::Done } else { Exit::Failed })
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(list) => list.iter().map(shown).collect::<Vec<_>>().join("\n"),
        other => other.to_string(),
    }
}

fn parse(key: &str, shape: Shape, values: &[String]) -> Result<Value> {
    if let Shape::Either(shapes) = shape
        && let Some(list) = shapes.iter().find(|shape| matches!(shape, Shape::List(_)))
    {
        // One word that is none of those with a meaning is a list of one.
        let is_word = |shape: &Shape| matches!(shape, Shape::Choice(words) if values.len() == 1 && words.contains(&values[0].as_str()));
        let word = shapes.iter().find(|shape| is_word(shape));
        return parse(key, *word.unwrap_or(list), values);
    }
    if let Shape::List(_) = shape {
        return Ok(json!(values));
    }
    let [value] = values else {
        return Err(CommandError::usage(format!("`{key}` takes one value, not {}", values.len())));
    };
    let wrong = |what: &str| CommandError::usage(format!("`{key}` must be {what}, not `{value}`"));
    match shape {
        Shape::Flag => match value.as_str() {
            "true" | "1" | "on" | "yes" => Ok(json!(true)),
            "false" | "0" | "off" | "no" => Ok(json!(false)),
            _ => Err(wrong("true or false")),
        },
        Shape::Above(_) | Shape::AtLeast(_) | Shape::Whole(_) => {
            serde_json::from_str::<serde_json::Number>(value)
                .map(Value::Number)
                .map_err(|_| wrong("a number"))
        }
        _ => Ok(json!(value)),
    }
}

/// Edits the file under the lock. What the format does not allow is refused, and the file stays as it was.
fn edit(host: &Host, key: &str, change: impl FnOnce(&mut Object)) -> Result<()> {
    let home = host.workforce_home()?;
    let path = config_path(&home);
    let _lock = lock::directories(&[&home])?;
    json_file::edit(&path, |object| {
        change(object);
        let top = key.split('.').next().unwrap_or(key);
        let problems = crate::load::check::check(object, CONFIG);
        let own =
            |at: &str| at == top || at.starts_with(&format!("{top}.")) || at.starts_with(&format!("{top}["));
        let wrong = problems
            .iter()
            .find(|problem| problem.severity == Severity::Error && own(&problem.at.to_string()));
        match wrong {
            Some(problem) => Err(CommandError::usage(format!("`{}`: {}", problem.at, problem.message))
                .maybe_hint(problem.fix.clone())),
            None => Ok(()),
        }
    })
}

fn set(host: &Host, key: &str, values: &[String], ui: &mut Ui) -> Result<Exit> {
    if key == "mount.revealPatterns"
        && let Some(why) = values.iter().find_map(|pattern| refused_reveal(pattern))
    {
        return Err(CommandError::usage(format!("`{key}`: {why}")));
    }
    let value = parse(key, known(key)?, values)?;
    edit(host, key, |object| put(object, key, Some(value.clone())))?;
    if ui.is_json() {
        say::json(json!({"key": key, "value": value}), &[], ui);
    } else {
        ui.line(printable(&format!("{key} = {}", shown(&value))));
    }
    Ok(Exit::Done)
}

fn unset(host: &Host, key: &str, ui: &mut Ui) -> Result<Exit> {
    // It must be possible to remove a feature that no longer exists.
    if !key.starts_with("features.") {
        known(key)?;
    }
    edit(host, key, |object| put(object, key, None))?;
    if ui.is_json() {
        say::json(json!({"key": key, "value": null}), &[], ui);
    } else {
        ui.line(format!("{key} is unset now"));
    }
    Ok(Exit::Done)
}

/// Sets or takes out a value by its path; objects on the way are made, and removed again when they are empty.
fn put(object: &mut Object, key: &str, value: Option<Value>) {
    match key.split_once('.') {
        None => json_file::set(object, key, value),
        Some((first, rest)) => {
            let slot = object.entry(first).or_insert_with(|| Value::Object(Map::new()));
            if let Value::String(backend) = slot {
                *slot = json!({"backend": backend});
            }
            if !slot.is_object() {
                *slot = Value::Object(Map::new());
            }
            if let Value::Object(inner) = slot {
                put(inner, rest, value);
                if inner.is_empty() {
                    object.shift_remove(first);
                }
            }
        }
    }
}

fn list(host: &Host, ui: &mut Ui) -> Result<Exit> {
    let config = config::read(&config_path(&host.workforce_home()?));
    let warnings: Vec<Warning> = config.problems.iter().map(FileProblem::to_warning).collect();
    say::warnings(&warnings, ui);
    if ui.is_json() {
        let rows: Vec<Value> = settings()
            .iter()
            .map(|(key, _, doc)| json!({"key": key, "value": at(&config.object, key), "description": doc}))
            .collect();
        let unknown: Vec<&String> = config.object.keys().filter(|key| field(CONFIG, key).is_none()).collect();
        say::json(
            json!({"configPath": config.path, "settings": rows, "unknownKeys": unknown}),
            &warnings,
            ui,
        );
        return Ok(Exit::Done);
    }
    ui.line(format!("Config: {}", config.path.display()));
    ui.line("");
    let table = Table::new(&["KEY", "VALUE", "MEANING"]);
    let mut table = table.giving_way(&[(1, 12), (2, 24), (1, 6), (0, 12), (2, 6), (0, 4)]).wrapping();
    for (key, _, doc) in settings() {
        let value =
            at(&config.object, &key).map(|value| shown(value).replace('\n', ", ")).unwrap_or_default();
        table.row([key, value, doc.to_owned()]);
    }
    ui.table(&table);
    Ok(Exit::Done)
}

fn features(host: &Host, ui: &mut Ui) -> Result<Exit> {
    let workforce = Workforce::open(host)?;
    if ui.is_json() {
        say::json(json!({"features": workforce.features}), &[], ui);
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["FEATURE", "STATE", "FROM", "VARIABLE", "DESCRIPTION"]);
    for state in &workforce.features {
        let from = match state.from {
            FeatureSource::Env => "environment",
            FeatureSource::Config => "config",
            FeatureSource::Default => "default",
        };
        let on = if state.on { "on" } else { "off" };
        let feature = state.feature;
        table.row([
            feature.id.to_string(),
            on.to_owned(),
            from.to_owned(),
            feature.id.variable(),
            feature.description.to_owned(),
        ]);
    }
    ui.table(&table);
    Ok(Exit::Done)
}
