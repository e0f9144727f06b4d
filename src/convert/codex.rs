//! codex's agents and profiles: TOML with the prompt in `developer_instructions`.

use super::account::Account;
use super::{Draft, Format, Source, carried, frontmatter, servers, values};
use crate::model::shape::Object;
use serde_json::{Map, Value};

const SANDBOXES: [&str; 3] = ["read-only", "workspace-write", "danger-full-access"];
const POLICIES: [&str; 4] = ["untrusted", "on-failure", "on-request", "never"];

pub fn convert(source: &Source) -> Result<Draft, String> {
    let mut account = Account::new(Format::Codex, parse(source.text)?);
    let head: String = source
        .text
        .lines()
        .take_while(|line| line.starts_with(['#', '\u{feff}']))
        .fold(String::new(), |head, line| head + line.trim_start_matches('\u{feff}') + "\n");
    account.carry(carried::read(&frontmatter::plain(source.text), &head));
    account.name("name", source.stem());
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
    let keys = ["developer_instructions", "instructions", "prompt"];
    let prompts: Vec<&str> = keys.into_iter().filter(|key| account.text(key).is_some()).collect();
    let prompt: Vec<String> = prompts.iter().filter_map(|key| account.text(key)).collect();
    let prompt = frontmatter::plain(&prompt.join("\n\n"));
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
