//! codex's agents and profiles: TOML with the prompt in `developer_instructions`.

use super::draft::{Converted, Draft, Fate, FieldFate};
use super::format::{Format, Source};
use super::persona_builder::PersonaBuilder;
use super::{embedded_persona, servers, text, toml_keys, values};
use crate::model::shape::Object;
use serde_json::Value;

const SANDBOXES: [&str; 3] = ["read-only", "workspace-write", "danger-full-access"];
const POLICIES: [&str; 4] = ["untrusted", "on-failure", "on-request", "never"];

/// Keys for the prompt.
pub const PROMPTS: [&str; 3] = ["developer_instructions", "instructions", "prompt"];

pub fn convert(source: &Source) -> Result<Converted, String> {
    let object = toml_keys::parse(source.text)?;
    let tables = tables(&object);
    if !has_prompt(&object) && !tables.is_empty() {
        return Ok(config(&object, tables));
    }
    let head: String = source
        .text
        .lines()
        .take_while(|line| line.starts_with(['#', '\u{feff}']))
        .fold(String::new(), |head, line| head + line.trim_start_matches('\u{feff}') + "\n");
    let mut builder = PersonaBuilder::new(Format::Codex, object);
    builder.embedded(embedded_persona::read(&text::normalised(source.text), &head));
    Ok(Converted::single(agent(builder, source.stem())))
}

fn has_prompt(object: &Object) -> bool {
    PROMPTS.into_iter().any(|key| object.get(key).is_some_and(Value::is_string))
}

/// The profiles and agents of a config that have a prompt, each with its key in the file.
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
        let agents = named.into_iter().filter_map(|(place, name, table)| {
            let table = table.as_object().filter(|table| has_prompt(table))?;
            Some((place, name, table.clone()))
        });
        found.extend(agents);
    }
    found
}

/// Every table of a config that is an agent; the other settings are for codex only.
fn config(object: &Object, tables: Vec<(String, String, Object)>) -> Converted {
    let mut converted = Converted::default();
    for (place, name, table) in tables {
        match agent(PersonaBuilder::new(Format::Codex, table), &name) {
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

fn agent(mut builder: PersonaBuilder, name: &str) -> Result<Draft, String> {
    builder.name("name", name);
    builder.description("description");
    builder.move_text("model", "model");
    builder.move_text("model_reasoning_effort", "harnessSettings.reasoning");
    choice(&mut builder, "sandbox_mode", "harnessSettings.sandboxMode", &SANDBOXES);
    choice(&mut builder, "approval_policy", "harnessSettings.approvalPolicy", &POLICIES);
    if let Some(Value::Object(write)) = builder.get("sandbox_workspace_write")
        && let Some(access) = write.get("network_access").and_then(values::flag)
        && write.len() == 1
    {
        builder.set("harnessSettings.workspaceWriteNetworkAccess", access);
        builder.mapped("sandbox_workspace_write", "harnessSettings.workspaceWriteNetworkAccess");
    }
    servers::convert_all(&mut builder, "mcp_servers");
    let prompts: Vec<&str> = PROMPTS.into_iter().filter(|key| builder.text(key).is_some()).collect();
    let prompt: Vec<String> = prompts.iter().filter_map(|key| builder.text(key)).collect();
    let prompt = text::normalised_lines(&prompt.join("\n\n"));
    let prompt = prompt.trim_start_matches('\n');
    builder.prompt(prompt.strip_suffix('\n').unwrap_or(prompt))?;
    for key in prompts {
        builder.mapped(key, "systemPrompt");
    }
    Ok(builder.finish())
}

fn choice(builder: &mut PersonaBuilder, key: &str, to: &str, words: &[&str]) {
    let said = builder.text(key);
    if let Some(said) = said.filter(|said| words.contains(&said.trim())) {
        builder.set(to, said.trim());
        builder.mapped(key, to);
    }
}
