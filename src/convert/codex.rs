//! codex's agents and profiles: TOML with the prompt in `developer_instructions`.

use super::account::{Account, Fate, FieldFate};
use super::{Converted, Draft, Format, Source, carried, frontmatter, servers, values};
use crate::model::shape::Object;
use serde_json::{Map, Value};

const SANDBOXES: [&str; 3] = ["read-only", "workspace-write", "danger-full-access"];
const POLICIES: [&str; 4] = ["untrusted", "on-failure", "on-request", "never"];

/// Keys that hold the prompt.
pub const PROMPTS: [&str; 3] = ["developer_instructions", "instructions", "prompt"];

pub fn convert(source: &Source) -> Result<Converted, String> {
    let object = parse(source.text)?;
    let tables = tables(&object);
    if !speaks(&object) && !tables.is_empty() {
        return Ok(config(&object, tables));
    }
    let head: String = source
        .text
        .lines()
        .take_while(|line| line.starts_with(['#', '\u{feff}']))
        .fold(String::new(), |head, line| head + line.trim_start_matches('\u{feff}') + "\n");
    let mut account = Account::new(Format::Codex, object);
    account.carry(carried::read(&frontmatter::plain(source.text), &head));
    Ok(Converted::one(agent(account, source.stem())))
}

fn speaks(object: &Object) -> bool {
    PROMPTS.into_iter().any(|key| object.get(key).is_some_and(Value::is_string))
}

/// The profiles and agents of a config that have a prompt of their own, each with its place in the file.
pub fn tables(object: &Object) -> Vec<(String, String, Object)> {
    let mut found = Vec::new();
    for key in ["profiles", "agents"] {
        let named: Vec<(String, String, &Value)> = match object.get(key) {
            Some(Value::Object(tables)) => {
                tables.iter().map(|(name, table)| (format!("{key}.{name}"), name.clone(), table)).collect()
            }
            Some(Value::Array(tables)) => {
                let name = |table: &Value| table.get("name").and_then(values::text).unwrap_or_default();
                tables
                    .iter()
                    .enumerate()
                    .map(|(at, table)| (format!("{key}[{at}]"), name(table), table))
                    .collect()
            }
            _ => Vec::new(),
        };
        let speaking = named.into_iter().filter_map(|(place, name, table)| {
            let table = table.as_object().filter(|table| speaks(table))?;
            Some((place, name, table.clone()))
        });
        found.extend(speaking);
    }
    found
}

/// Every table of a config that is an agent; the rest of the config is codex's own business.
fn config(object: &Object, tables: Vec<(String, String, Object)>) -> Converted {
    let mut converted = Converted::default();
    for (place, name, table) in tables {
        match agent(Account::new(Format::Codex, table), &name) {
            Ok(mut draft) => {
                draft.fields.iter_mut().for_each(|field| field.field = format!("{place}.{}", field.field));
                converted.drafts.push(draft);
            }
            Err(why) => converted.refused.push(format!("`{place}` {why}")),
        }
    }
    for key in object.keys() {
        let fate = match key.as_str() {
            "profiles" | "agents" => Fate::Mapped { to: "personas".into() },
            _ => Fate::Dropped { why: "a setting of codex, not of an agent".into() },
        };
        converted.fields.push(FieldFate { field: key.clone(), fate });
    }
    converted
}

fn agent(mut account: Account, name: &str) -> Result<Draft, String> {
    account.name("name", name);
    account.description("description");
    account.move_text("model", "model");
    account.move_text("model_reasoning_effort", "harnessSettings.reasoning");
    choice(&mut account, "sandbox_mode", "harnessSettings.sandboxMode", &SANDBOXES);
    choice(&mut account, "approval_policy", "harnessSettings.approvalPolicy", &POLICIES);
    if let Some(Value::Object(write)) = account.get("sandbox_workspace_write")
        && let Some(access) = write.get("network_access").and_then(values::flag)
        && write.len() == 1
    {
        account.set("harnessSettings.workspaceWriteNetworkAccess", access);
        account.mapped("sandbox_workspace_write", "harnessSettings.workspaceWriteNetworkAccess");
    }
    servers::all(&mut account, "mcp_servers");
    let prompts: Vec<&str> = PROMPTS.into_iter().filter(|key| account.text(key).is_some()).collect();
    let prompt: Vec<String> = prompts.iter().filter_map(|key| account.text(key)).collect();
    let prompt = frontmatter::plain_lines(&prompt.join("\n\n"));
    let prompt = prompt.trim_start_matches('\n');
    account.prompt(prompt.strip_suffix('\n').unwrap_or(prompt))?;
    for key in prompts {
        account.mapped(key, "systemPrompt");
    }
    Ok(account.finish())
}

fn choice(account: &mut Account, key: &str, to: &str, words: &[&str]) {
    let said = account.text(key);
    if let Some(said) = said.filter(|said| words.contains(&said.trim())) {
        account.set(to, said.trim());
        account.mapped(key, to);
    }
}

/// The keys of a TOML file, in its order.
pub fn parse(text: &str) -> Result<Object, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let table: toml::Table = toml::from_str(text).map_err(|error| {
        let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        let place = line.map(|line| format!("line {line}: ")).unwrap_or_default();
        format!("is not valid TOML: {place}{}", error.message())
    })?;
    Ok(table.into_iter().map(|(key, value)| (key, json(value))).collect())
}

fn json(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(number) => Value::from(number),
        toml::Value::Float(number) => serde_json::Number::from_f64(number).map_or(Value::Null, Value::Number),
        toml::Value::Boolean(flag) => Value::Bool(flag),
        toml::Value::Datetime(time) => Value::String(time.to_string()),
        toml::Value::Array(entries) => entries.into_iter().map(json).collect(),
        toml::Value::Table(table) => {
            Value::Object(table.into_iter().map(|(key, value)| (key, json(value))).collect::<Map<_, _>>())
        }
    }
}
