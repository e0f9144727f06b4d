//! The config of minions: agents, the roles that they share, and charters in files of their own.

use super::account::{Account, Fate, FieldFate};
use super::{Converted, Draft, Format, RoleDraft, Source, frontmatter, jsonc, names, values};
use crate::model::shape::Object;
use crate::model::text_rules::{self, HARNESSES};
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

fn role(source: &Source, key: &str, said: &Value) -> Result<RoleDraft, String> {
    let key = names::id(Some(key), key);
    let mut role = Map::new();
    let (text, object) = match said {
        Value::String(text) => (Some(text.clone()), Map::new()),
        Value::Object(object) => (None, object.clone()),
        _ => return Err("is neither text nor an object".into()),
    };
    let said =
        |wanted: &str| object.get(wanted).and_then(values::text).filter(|text| !text.trim().is_empty());
    let label =
        said("label").or_else(|| said("name")).filter(|label| text_rules::display_name(label).is_ok());
    role.insert("label".into(), Value::String(label.unwrap_or_else(|| key.clone())));
    let file = said("charterFile").and_then(|path| (source.nearby)(&path));
    let beside = || (source.nearby)(&format!("roles/{key}/charter.md"));
    if let Some(charter) = text.or_else(|| said("charter")).or(file).or_else(beside) {
        role.insert("charter".into(), Value::String(frontmatter::plain(&charter)));
    }
    let harness = said("defaultHarness").filter(|harness| HARNESSES.contains(&harness.as_str()));
    if let Some(harness) = harness {
        role.insert("defaultHarness".into(), Value::String(harness));
    }
    if let Some(model) = said("defaultModel").or_else(|| said("model")) {
        role.insert("defaultModel".into(), Value::String(model));
    }
    let known = ["label", "name", "charter", "charterFile", "defaultHarness", "defaultModel", "model"];
    let left: Object = object.into_iter().filter(|(key, _)| !known.contains(&key.as_str())).collect();
    if !left.is_empty() {
        role.insert("x-minions".into(), Value::Object(left));
    }
    Ok(RoleDraft { key, role })
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
    if let Some(harness) = account.text("harness").filter(|harness| HARNESSES.contains(&harness.trim())) {
        account.set("harness", harness.trim());
        account.mapped("harness", "harness");
    }
    account.move_text("model", "model");
    let key = ["systemPrompt", "prompt", "instructions", "charter"]
        .into_iter()
        .find(|key| account.text(key).is_some());
    let beside = || (source.nearby)(&format!("agents/{id}/charter.md"));
    match key.and_then(|key| Some((key, account.text(key)?))) {
        Some((key, prompt)) => {
            account.set("systemPrompt", prompt);
            account.mapped(key, "systemPrompt");
        }
        None => match beside() {
            Some(text) if !text.trim().is_empty() => {
                account.set("systemPrompt", frontmatter::plain(&text).trim_matches('\n'));
                account.mapped("(charter.md)", "systemPrompt");
            }
            // The role's charter is its job.
            _ if has_role => {}
            _ => account.prompt("")?,
        },
    }
    Ok(account.finish())
}
