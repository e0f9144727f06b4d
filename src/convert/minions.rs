//! The config of minions: agents, their shared roles, and charters in separate files.

use super::draft::{Converted, Draft, Fate, FieldFate, RoleDraft};
use super::format::{Format, Source};
use super::persona_builder::PersonaBuilder;
use super::{jsonc, names, text as texts, values};
use crate::model::text_rules;
use crate::model::tier::Harness;
use crate::model::warning::{Warning, WarningCode};
use serde_json::{Map, Value};

pub fn convert(source: &Source) -> Result<Converted, String> {
    let Value::Object(config) = jsonc::parse(source.text)? else { return Err("is not an object".into()) };
    let mut converted = Converted::default();
    if let Some(Value::Object(roles)) = config.get("roles") {
        for (key, said) in roles {
            match role(source, key, said) {
                Ok(role) => converted.roles.push(role),
                Err(why) => converted.refused.push(format!("role `{key}` {why}")),
            }
        }
    }
    let agents: Vec<(String, Value)> = match config.get("agents") {
        Some(Value::Object(agents)) => agents.iter().map(|(id, said)| (id.clone(), said.clone())).collect(),
        Some(Value::Array(agents)) => agents.iter().map(|said| (listed_id(said), said.clone())).collect(),
        _ => Vec::new(),
    };
    let roles: Vec<String> = converted.roles.iter().map(|role| role.key.clone()).collect();
    for (id, said) in agents {
        match agent(source, &id, said, &roles) {
            Ok(mut draft) => {
                draft
                    .fields
                    .iter_mut()
                    .for_each(|field| field.field = format!("agents.{id}.{}", field.field));
                converted.drafts.push(draft);
            }
            Err(why) => converted.refused.push(format!("agent `{id}` {why}")),
        }
    }
    for key in config.keys() {
        let fate = match key.as_str() {
            "agents" => Fate::Mapped { to: "personas".into() },
            "roles" => Fate::Mapped { to: "roles".into() },
            _ => Fate::Dropped { why: "a setting of minions, not of an agent".into() },
        };
        converted.fields.push(FieldFate { field: key.clone(), fate });
    }
    if converted.drafts.is_empty() && converted.roles.is_empty() && converted.refused.is_empty() {
        return Err("names no agents".into());
    }
    Ok(converted)
}

fn listed_id(said: &Value) -> String {
    let text = |key: &str| said.get(key).and_then(values::text);
    text("id").or_else(|| text("name")).unwrap_or_default()
}

fn role(source: &Source, said_key: &str, said: &Value) -> Result<RoleDraft, String> {
    let key = names::id(Some(said_key), said_key);
    let object = match said {
        Value::String(text) => Map::from_iter([("charter".to_owned(), Value::from(text.as_str()))]),
        Value::Object(object) => object.clone(),
        _ => return Err("is neither text nor an object".into()),
    };
    let text =
        |wanted: &str| object.get(wanted).and_then(values::text).filter(|text| !text.trim().is_empty());
    let mut draft =
        RoleDraft { key: key.clone(), role: Map::new(), fields: Vec::new(), warnings: Vec::new() };
    let mut fates: Map<String, Value> = Map::new();
    let named = ["label", "name"]
        .into_iter()
        .find_map(|from| Some((from, text(from).filter(|label| text_rules::display_name(label).is_ok())?)));
    let label = named.as_ref().map_or_else(|| key.clone(), |(_, label)| label.trim().to_owned());
    draft.role.insert("label".into(), Value::String(label));
    if let Some((from, _)) = named {
        fates.insert(from.into(), "label".into());
    }
    if let Some(charter) = charter(source, &key, &text, &mut fates, &mut draft) {
        draft.role.insert("charter".into(), Value::String(texts::normalised(&charter)));
    }
    if let Some(harness) =
        text("defaultHarness").filter(|harness| Harness::names().contains(&harness.as_str()))
    {
        draft.role.insert("defaultHarness".into(), Value::String(harness));
        fates.insert("defaultHarness".into(), "defaultHarness".into());
    }
    if let Some((from, model)) = ["defaultModel", "model"]
        .into_iter()
        .find_map(|from| Some((from, text(from).filter(|model| text_rules::value(model).is_ok())?)))
    {
        draft.role.insert("defaultModel".into(), Value::String(model));
        fates.insert(from.into(), "defaultModel".into());
    }
    let mut kept = Map::new();
    for (field, value) in object {
        let fate = match fates.get(&field).and_then(Value::as_str) {
            Some(to) => Fate::Mapped { to: to.to_owned() },
            None if draft.fields.iter().any(|known| known.field == field) => continue,
            None => {
                kept.insert(field.clone(), value);
                Fate::Kept { to: format!("x-minions.{field}") }
            }
        };
        draft.fields.push(FieldFate { field, fate });
    }
    if !kept.is_empty() {
        draft.role.insert("x-minions".into(), Value::Object(kept));
    }
    draft.fields.iter_mut().for_each(|field| field.field = format!("roles.{said_key}.{}", field.field));
    Ok(draft)
}

/// The role's charter: as text, in the named file, or in the default file of minions.
fn charter(
    source: &Source,
    key: &str,
    text: &dyn Fn(&str) -> Option<String>,
    fates: &mut Map<String, Value>,
    draft: &mut RoleDraft,
) -> Option<String> {
    if let Some(charter) = text("charter") {
        fates.insert("charter".into(), "charter".into());
        return Some(charter);
    }
    if let Some(path) = text("charterFile") {
        match (source.nearby)(&path) {
            Ok(charter) => {
                fates.insert("charterFile".into(), "charter".into());
                return Some(charter);
            }
            Err(why) => {
                let text = format!("has its charter in `{path}`, which {why}");
                draft.warnings.push(Warning::new(WarningCode::Conversion, text));
                let fate = Fate::Dropped { why: format!("`{path}` {why}") };
                draft.fields.push(FieldFate { field: "charterFile".into(), fate });
            }
        }
    }
    let beside = (source.nearby)(&format!("roles/{key}/charter.md")).ok()?;
    draft
        .fields
        .push(FieldFate { field: "(charter.md)".into(), fate: Fate::Mapped { to: "charter".into() } });
    Some(beside)
}

fn agent(source: &Source, id: &str, said: Value, roles: &[String]) -> Result<Draft, String> {
    let Value::Object(said) = said else { return Err("is not an object".into()) };
    let mut builder = PersonaBuilder::new(Format::Minions, said);
    builder.name("id", id);
    if let Some(name) = builder.text("name").filter(|name| text_rules::display_name(name).is_ok()) {
        builder.set("name", name.trim());
        builder.mapped("name", "name");
    }
    if let Some(emoji) = builder.text("emoji").filter(|emoji| text_rules::emoji(emoji).is_ok()) {
        builder.set("emoji", emoji);
        builder.mapped("emoji", "emoji");
    }
    builder.description("description");
    let mut has_role = false;
    if let Some(role) = builder.text("role").map(|role| texts::one_line(&role)) {
        let key = text_rules::slugged(&role);
        has_role = true;
        builder.set("role", if roles.contains(&key) { key } else { role });
        builder.mapped("role", "role");
    }
    for key in ["expertise", "skills"] {
        let words = builder.get(key).map(|value| values::list(&value)).unwrap_or_default();
        if !words.is_empty() && !builder.has_set("expertise") {
            builder.set(
                "expertise",
                words.iter().map(|word| Value::from(texts::one_line(word))).collect::<Value>(),
            );
            builder.mapped(key, "expertise");
        }
    }
    if let Some(harness) =
        builder.text("harness").filter(|harness| Harness::names().contains(&harness.trim()))
    {
        builder.set("harness", harness.trim());
        builder.mapped("harness", "harness");
    }
    builder.move_text("model", "model");
    let key = ["systemPrompt", "prompt", "instructions", "charter"]
        .into_iter()
        .find(|key| builder.text(key).is_some());
    match key.and_then(|key| Some((key, builder.text(key)?))) {
        Some((key, prompt)) => {
            builder.set("systemPrompt", prompt);
            builder.mapped(key, "systemPrompt");
        }
        None => match charter_of_agent(source, &mut builder, id) {
            Some((field, text)) => {
                builder.set("systemPrompt", texts::normalised(&text).trim_matches('\n'));
                builder.mapped(field, "systemPrompt");
            }
            // The role's charter is its job.
            None if has_role => {}
            None => builder.prompt("").map_err(|why| builder.first_warning().unwrap_or(why))?,
        },
    }
    Ok(builder.finish())
}

/// The charter in the named file, else in the default file of minions, with the field that it comes from.
fn charter_of_agent(
    source: &Source,
    builder: &mut PersonaBuilder,
    id: &str,
) -> Option<(&'static str, String)> {
    if let Some(path) = builder.text("charterFile") {
        match (source.nearby)(&path) {
            Ok(text) if !text.trim().is_empty() => return Some(("charterFile", text)),
            Ok(_) => builder.dropped("charterFile", format!("`{path}` is empty")),
            Err(why) => {
                builder.warn(format!("has its charter in `{path}`, which {why}"));
                builder.dropped("charterFile", format!("`{path}` {why}"));
            }
        }
    }
    let text = (source.nearby)(&format!("agents/{id}/charter.md")).ok()?;
    (!text.trim().is_empty()).then_some(("(charter.md)", text))
}
