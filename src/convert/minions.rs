//! The config of minions: agents, their shared roles, and charters in separate files. An agent's own charter becomes a role.

use super::draft::{Converted, Draft, Fate, FieldFate, RoleDraft};
use super::format::{Format, Source};
use super::names::FreeNames;
use super::persona_builder::PersonaBuilder;
use super::{jsonc, names, text as texts, values};
use crate::model::printable::printable;
use crate::model::shape::Object;
use crate::model::text_rules;
use crate::model::tier::Harness;
use crate::model::warning::{Warning, WarningCode};
use serde_json::{Map, Value};

/// Keys by which an agent of minions is known.
const AGENT_KEYS: [&str; 10] = [
    "role",
    "charter",
    "charterFile",
    "systemPrompt",
    "prompt",
    "instructions",
    "cli",
    "emoji",
    "expertise",
    "skills",
];

/// Keys by which a role of minions is known.
const ROLE_KEYS: [&str; 4] = ["label", "charter", "charterFile", "defaultCli"];

/// Whether a JSON file has agents of minions. Reports have `agents`, too, as numbers, names or results. `is_config`: by its name it
/// is the config of a program; there an agent may have no more than a name, with its charter in a file, or with roles beside it.
pub fn has_agents(source: &Source, object: &Object, is_config: bool) -> bool {
    let has = |said: &Value, keys: &[&str]| {
        said.as_object().is_some_and(|said| keys.iter().any(|key| said.contains_key(*key)))
    };
    let has_roles = object
        .get("roles")
        .and_then(Value::as_object)
        .is_some_and(|roles| roles.values().any(|role| role.is_string() || has(role, &ROLE_KEYS)));
    match object.get("agents") {
        Some(Value::Object(agents)) => agents.iter().any(|(id, said)| {
            let has_charter = || (source.nearby)(&format!("agents/{id}/charter.md")).is_ok();
            has(said, &AGENT_KEYS)
                || (said.is_object() && (has_roles || (is_config && has(said, &["name"]) && has_charter())))
        }),
        Some(Value::Array(agents)) => {
            let is_agent = |said: &Value| has(said, &["id", "name"]) && has(said, &AGENT_KEYS);
            has_roles && agents.iter().any(is_agent)
        }
        _ => false,
    }
}

pub fn convert(source: &Source) -> Result<Converted, String> {
    let Value::Object(config) = jsonc::parse(source.text)? else { return Err("is not an object".into()) };
    let mut converted = Converted::default();
    let mut keys = FreeNames::default();
    if let Some(Value::Object(roles)) = config.get("roles") {
        for (key, said) in roles {
            match role(source, key, said) {
                Ok(mut role) => {
                    role.key = keys.take(&role.key);
                    converted.roles.push(role);
                }
                Err(why) => converted.refused.push(format!("role `{key}` {why}")),
            }
        }
    }
    let agents: Vec<(String, Value)> = match config.get("agents") {
        Some(Value::Object(agents)) => agents.iter().map(|(id, said)| (id.clone(), said.clone())).collect(),
        Some(Value::Array(agents)) => agents.iter().map(|said| (listed_id(said), said.clone())).collect(),
        _ => Vec::new(),
    };
    let roles = converted.roles.clone();
    for (id, said) in agents {
        match agent(source, &id, said, &roles) {
            Ok(mut draft) => {
                if let Some(mut own) = draft.role.take() {
                    own.key = keys.take(&own.key);
                    draft.persona.insert("role".into(), Value::from(own.key.as_str()));
                    converted.roles.push(own);
                }
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
    let key = names::role_key(said_key);
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
    let is_harness = |name: &String| Harness::names().contains(&name.trim());
    if let Some((from, harness)) = ["defaultHarness", "defaultCli"]
        .into_iter()
        .find_map(|from| Some((from, text(from).filter(is_harness)?)))
    {
        draft.role.insert("defaultHarness".into(), Value::from(harness.trim()));
        fates.insert(from.into(), "defaultHarness".into());
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

fn agent(source: &Source, id: &str, said: Value, roles: &[RoleDraft]) -> Result<Draft, String> {
    let Value::Object(said) = said else { return Err("is not an object".into()) };
    let mut builder = PersonaBuilder::new(Format::Minions, said);
    builder.name("id", id);
    builder.display_name();
    builder.description("description");
    let said_role = builder.text("role").map(|role| texts::one_line(&role));
    let role =
        said_role.as_ref().and_then(|said| roles.iter().find(|role| role.key == text_rules::slugged(said)));
    if let Some(said) = &said_role {
        builder.set("role", role.map_or(said, |role| &role.key).as_str());
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
    runtime(&mut builder, role);
    let key = ["systemPrompt", "prompt", "instructions", "charter"]
        .into_iter()
        .find(|key| builder.text(key).is_some());
    let role_has_charter = role.is_some_and(|role| role.role.contains_key("charter"));
    if let Some((key, prompt)) = key.and_then(|key| Some((key, builder.text(key)?))) {
        builder.set("systemPrompt", prompt);
        builder.mapped(key, "systemPrompt");
    } else if role_has_charter {
        if builder.has("charterFile") {
            builder.dropped("charterFile", "the charter of its role is used");
        }
    } else if let Some((field, charter)) = charter_of_agent(source, &mut builder, id) {
        let own = own_role(&builder, &charter, role, said_role.as_deref());
        builder.set("role", own.key.as_str());
        builder.mapped(field, "the charter of a role of its own");
        return Ok(Draft { role: Some(own), ..builder.finish() });
    } else if said_role.is_none() {
        builder.prompt("").map_err(|why| builder.first_warning().unwrap_or(why))?;
    }
    Ok(builder.finish())
}

/// The harness, the model and the limits.
fn runtime(builder: &mut PersonaBuilder, role: Option<&RoleDraft>) {
    match ["harness", "cli", "defaultHarness", "defaultCli"]
        .into_iter()
        .find_map(|key| Some((key, builder.text(key)?)))
    {
        Some((key, said)) if Harness::names().contains(&said.trim()) => {
            builder.set("harness", said.trim());
            builder.mapped(key, "harness");
            builder.move_text("model", "model");
        }
        // Nor is its model one of claude's.
        Some((_, said)) => {
            builder.warn(format!("`{}` is not a harness: claude is used", printable(&said)));
        }
        None => {
            if role.is_some_and(|role| role.role.contains_key("defaultHarness")) {
                builder.leave_harness_to_role();
            }
            builder.move_text("model", "model");
        }
    }
    let is_budget = |value: &Value| value.as_f64().is_some_and(|usd| usd >= 0.0);
    if let Some(budget) = builder.get("maxBudgetUsd").and_then(|said| values::number(&said)).filter(is_budget)
    {
        builder.set("limits.usd", budget);
        builder.mapped("maxBudgetUsd", "limits.usd");
    }
    for (key, to) in [("hermeticHarness", "hermetic"), ("bareMode", "bareMode")] {
        if let Some(flag) = builder.get(key).and_then(|value| values::flag(&value)) {
            builder.set(to, flag);
            builder.mapped(key, to);
        }
    }
}

/// The agent's own charter as a role, beside what its role says otherwise.
fn own_role(
    builder: &PersonaBuilder,
    charter: &str,
    role: Option<&RoleDraft>,
    said: Option<&str>,
) -> RoleDraft {
    let id = builder.at(&["id"]).and_then(Value::as_str).unwrap_or_default();
    let name = builder.at(&["name"]).and_then(Value::as_str);
    let label = said.filter(|said| text_rules::display_name(said).is_ok()).or(name).unwrap_or(id);
    let mut document = role.map(|role| role.role.clone()).unwrap_or_default();
    document.entry("label").or_insert_with(|| Value::from(label.trim()));
    document.insert("charter".into(), Value::from(texts::normalised(charter).trim_matches('\n')));
    RoleDraft {
        key: names::role_key(&format!("{id}-charter")),
        role: document,
        fields: Vec::new(),
        warnings: Vec::new(),
    }
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
