//! The persona as an agent of codex.

use super::{Ledger, Native, Outgoing, merge_returning, returning};
use crate::model::persona::McpServer;
use crate::model::shape::Object;
use crate::model::tool_rule::denies_all_edits;
use crate::resolve::references::{Piece, env_pieces};
use serde_json::{Map, Value, json};

pub fn export(persona: &Outgoing, ledger: &mut Ledger) -> Native {
    let mut keys = Map::new();
    keys.insert("name".into(), persona.id.into());
    keys.insert("description".into(), persona.description.unwrap_or(persona.id).into());
    ledger.mapped("description", persona.description.is_some(), "description");
    if let Some(model) = persona.model {
        keys.insert("model".into(), model.into());
        ledger.mapped("model", true, "model");
    }
    if let Some(reasoning) = &persona.settings.reasoning {
        keys.insert("model_reasoning_effort".into(), reasoning.as_str().into());
    }
    ledger.mapped(
        "harnessSettings.reasoning",
        persona.settings.reasoning.is_some(),
        "model_reasoning_effort",
    );
    sandbox(persona, &mut keys, ledger);
    ledger.kept("limits.turns", persona.limits.turns.is_some());
    keys.insert("developer_instructions".into(), format!("{}\n", persona.prompt).into());
    servers(persona, &mut keys, ledger);
    merge_returning(&mut keys, returning(persona, "codex"));
    let table =
        toml::to_string_pretty(&without_null(Value::Object(keys))).expect("keys of text, numbers and tables");
    // The comment comes first: at the end it would look like a part of the last table.
    Native { file_name: format!("{}.toml", persona.id), head: String::new(), tail: table }
}

/// codex has a sandbox instead of permissions: the persona's own, else one that follows from its denials.
fn sandbox(persona: &Outgoing, keys: &mut Object, ledger: &mut Ledger) {
    let (settings, permissions) = (persona.settings, persona.permissions);
    let read_only = denies_all_edits(&permissions.deny) || permissions.mode.as_deref() == Some("plan");
    let sandbox = if read_only { Some("read-only") } else { settings.sandbox_mode.as_deref() };
    if let Some(sandbox) = sandbox {
        keys.insert("sandbox_mode".into(), sandbox.into());
    }
    ledger.mapped("harnessSettings.sandboxMode", settings.sandbox_mode.is_some(), "sandbox_mode");
    if let Some(policy) = &settings.approval_policy {
        keys.insert("approval_policy".into(), policy.as_str().into());
        ledger.mapped("harnessSettings.approvalPolicy", true, "approval_policy");
    }
    if let Some(access) = settings.workspace_write_network_access {
        keys.insert("sandbox_workspace_write".into(), json!({ "network_access": access }));
        ledger.mapped(
            "harnessSettings.workspaceWriteNetworkAccess",
            true,
            "sandbox_workspace_write.network_access",
        );
    }
    // codex has no patterns and allows by its sandbox: the rest is only in the comment.
    ledger.kept("permissions.allow", permissions.allow.is_some());
    ledger.kept("permissions.deny", !permissions.deny.is_empty());
    ledger.kept("permissions.mode", permissions.mode.is_some());
}

fn servers(persona: &Outgoing, keys: &mut Object, ledger: &mut Ledger) {
    let mut servers = Map::new();
    for (name, said) in persona.mcp_servers {
        match server(said) {
            Some(server) => {
                servers.insert(name.clone(), server);
            }
            None => {
                ledger.dropped(&format!("mcpServers.{name}"), true, "codex does not allow a variable there");
            }
        }
    }
    if !servers.is_empty() {
        keys.insert("mcp_servers".into(), Value::Object(servers));
        ledger.mapped("mcpServers", true, "mcp_servers");
    }
}

/// `None` where it has a variable that codex does not allow there.
fn server(said: &McpServer) -> Option<Value> {
    let plain = |text: &str| matches!(env_pieces(text).as_slice(), [] | [Piece::Text(_)]);
    let mut object = Map::new();
    if let Some(url) = &said.url {
        plain(url).then_some(())?;
        object.insert("url".into(), url.as_str().into());
        for (header, value) in &said.headers {
            let place = match env_pieces(value).as_slice() {
                [Piece::Text("Bearer "), Piece::Variable(name)]
                    if header.eq_ignore_ascii_case("authorization") =>
                {
                    object.insert("bearer_token_env_var".into(), (*name).into());
                    continue;
                }
                [Piece::Variable(name)] => ("env_http_headers", (*name).to_owned()),
                [] | [Piece::Text(_)] => ("http_headers", value.clone()),
                _ => return None,
            };
            let headers = headers_with(object.get(place.0), header, place.1);
            object.insert(place.0.into(), headers);
        }
        return Some(Value::Object(object));
    }
    let command = said.command.as_deref()?;
    (plain(command) && said.args.iter().all(|arg| plain(arg))).then_some(())?;
    object.insert("command".into(), command.into());
    if !said.args.is_empty() {
        object.insert("args".into(), json!(said.args));
    }
    let (mut env, mut handed) = (Map::new(), Vec::new());
    for (key, value) in &said.env {
        match env_pieces(value).as_slice() {
            // Only a variable of the same name can be passed on.
            [Piece::Variable(name)] if name == key => handed.push(key.as_str()),
            [] | [Piece::Text(_)] => {
                env.insert(key.clone(), value.as_str().into());
            }
            _ => return None,
        }
    }
    if !env.is_empty() {
        object.insert("env".into(), Value::Object(env));
    }
    if !handed.is_empty() {
        object.insert("env_vars".into(), json!(handed));
    }
    Some(Value::Object(object))
}

fn headers_with(there: Option<&Value>, header: &str, value: String) -> Value {
    let mut headers = there.and_then(Value::as_object).cloned().unwrap_or_default();
    headers.insert(header.to_owned(), Value::String(value));
    Value::Object(headers)
}

/// TOML has no null and no integers above 63 bits.
fn without_null(value: Value) -> Value {
    match value {
        Value::Number(number) if number.is_u64() && !number.is_i64() => number.as_f64().into(),
        Value::Object(object) => object
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key, without_null(value)))
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(entries) => {
            entries.into_iter().filter(|entry| !entry.is_null()).map(without_null).collect()
        }
        other => other,
    }
}
