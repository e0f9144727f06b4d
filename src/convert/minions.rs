//! The config of minions: agents, the roles that they share, and charters in files of their own.

use super::account::{Account, Fate, FieldFate};
use super::{Converted, Draft, Format, RoleDraft, Source, frontmatter, jsonc, names, values};
use crate::model::text_rules;
use crate::model::tier::Harness;
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
        draft.role.insert("charter".into(), Value::String(frontmatter::plain(&charter)));
    }
    if let Some(harness) =
        text("defaultHarness").filter(|harness| Harness::names().contains(&harness.as_str()))
    {
        draft.role.insert("defaultHarness".into(), Value::String(harness));
        fates.insert("defaultHarness".into(), "defaultHarness".into());
    }
    if let Some((from, model)) =
        ["defaultModel", "model"].into_iter().find_map(|from| Some((from, text(from)?)))
    {
        draft.role.insert("defaultModel".into(), Value::String(model));
        fates.insert(from.into(), "defaultModel".into());
    }
    let mut kept = Map::new();
    for (field, value) in object {
        let fate = match fates.get(&field).and_then(Value::as_str) {
            Some(to) => Fate::Mapped { to: to.to_owned() },
            None if draft.fields.iter().any(|told| told.field == field) => continue,
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

/// The role's charter: as text, in the file that is named, or in the one that minions looks for by itself.
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
                draft.warnings.push(format!("has its charter in `{path}`, which {why}"));
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
    let mut account = Account::new(Format::Minions, said);
    account.name("id", id);
    if let Some(name) = account.text("name").filter(|name| text_rules::display_name(name).is_ok()) {
        account.set("name", name.trim());
        account.mapped("name", "name");
    }
    if let Some(emoji) = account.text("emoji").filter(|emoji| text_rules::emoji(emoji).is_ok()) {
        account.set("emoji", emoji);
        account.mapped("emoji", "emoji");
    }
    account.description("description");
    let mut has_role = false;
    if let Some(role) = account.text("role") {
        let key = text_rules::slugged(&role);
        has_role = true;
        account.set("role", if roles.contains(&key) { key } else { role });
        account.mapped("role", "role");
    }
    for key in ["expertise", "skills"] {
        let words = account.get(key).map(|value| values::list(&value)).unwrap_or_default();
        if !words.is_empty() && !account.says("expertise") {
            account.set("expertise", words.into_iter().map(Value::String).collect::<Value>());
            account.mapped(key, "expertise");
        }
    }
    if let Some(harness) =
        account.text("harness").filter(|harness| Harness::names().contains(&harness.trim()))
    {
        account.set("harness", harness.trim());
        account.mapped("harness", "harness");
    }
    account.move_text("model", "model");
    let key = ["systemPrompt", "prompt", "instructions", "charter"]
        .into_iter()
        .find(|key| account.text(key).is_some());
    match key.and_then(|key| Some((key, account.text(key)?))) {
        Some((key, prompt)) => {
            account.set("systemPrompt", prompt);
            account.mapped(key, "systemPrompt");
        }
        None => match charter_of_agent(source, &mut account, id) {
            Some((field, text)) => {
                account.set("systemPrompt", frontmatter::plain(&text).trim_matches('\n'));
                account.mapped(field, "systemPrompt");
            }
            // The role's charter is its job.
            None if has_role => {}
            None => account.prompt("").map_err(|why| account.first_warning().unwrap_or(why))?,
        },
    }
    Ok(account.finish())
}

/// The charter in the file that the agent names, else in the one that minions looks for, with the field that says so.
fn charter_of_agent(source: &Source, account: &mut Account, id: &str) -> Option<(&'static str, String)> {
    if let Some(path) = account.text("charterFile") {
        match (source.nearby)(&path) {
            Ok(text) if !text.trim().is_empty() => return Some(("charterFile", text)),
            Ok(_) => account.dropped("charterFile", format!("`{path}` is empty")),
            Err(why) => {
                account.warn(format!("has its charter in `{path}`, which {why}"));
                account.dropped("charterFile", format!("`{path}` {why}"));
            }
        }
    }
    let text = (source.nearby)(&format!("agents/{id}/charter.md")).ok()?;
    (!text.trim().is_empty()).then_some(("(charter.md)", text))
}
