//! MCP servers in other tools' syntax, converted to that of persona files.

use super::persona_builder::PersonaBuilder;
use super::{names, tools, values};
use crate::model::printable::printable;
use crate::model::shape::{Object, TextRule};
use crate::model::text_rules;
use serde_json::{Map, Value};

/// Converts the servers under one key of the source. What cannot be converted is kept.
pub fn convert_all(builder: &mut PersonaBuilder, key: &str) {
    let (Some(value), Some(written)) = (builder.get(key), builder.as_written(key)) else { return };
    // A list has names, or objects with one server each.
    let named = |value: &Value| -> Vec<(String, Value)> {
        match value {
            Value::Object(servers) => {
                servers.iter().map(|(name, server)| (name.clone(), server.clone())).collect()
            }
            Value::Array(entries) => entries.iter().flat_map(entry).collect(),
            _ => Vec::new(),
        }
    };
    let mut servers = Map::new();
    let mut denied = Vec::new();
    let mut all_kept = !named(&value).is_empty();
    for ((_, server), (name, written)) in named(&value).into_iter().zip(named(&written)) {
        match convert_one(&server, &written) {
            Ok(ConvertedServer { server, left, lost, inputs, limits }) if !name.trim().is_empty() => {
                declare(builder, &name, &inputs);
                denied.extend(limit(builder, &name, &limits));
                servers.insert(name.clone(), Value::Object(server));
                if !left.is_empty() {
                    builder.keep(&format!("{key}.{name}"), Value::Object(left));
                }
                for (field, why) in lost {
                    builder.dropped(&format!("{key}.{name}.{field}"), why);
                }
            }
            Ok(_) => {
                all_kept = false;
                builder.dropped(&format!("{key}.{name}"), "a server without a name");
            }
            Err(why) if written.is_null() => {
                all_kept = false;
                builder.dropped(&format!("{key}.{name}"), why);
            }
            Err(_) => builder.keep(&format!("{key}.{name}"), server),
        }
    }
    builder.add(["permissions", "deny"], denied);
    if !servers.is_empty() {
        builder.set("mcpServers", Value::Object(servers));
        builder.mapped(key, "mcpServers");
    } else if all_kept {
        builder.kept_in_parts(key);
    }
    // Otherwise nothing was recorded for the key, so it is kept unchanged.
}

fn entry(value: &Value) -> Vec<(String, Value)> {
    match value {
        Value::Object(one) => match one.get("name").and_then(Value::as_str) {
            Some(name) => vec![(name.to_owned(), value.clone())],
            None => one.iter().map(|(name, server)| (name.clone(), server.clone())).collect(),
        },
        Value::String(name) => vec![(name.clone(), Value::Null)],
        _ => Vec::new(),
    }
}

/// A server of a persona file, and what it does not contain.
#[derive(Debug)]
pub struct ConvertedServer {
    pub server: Object,
    /// Unknown keys, unchanged.
    pub left: Object,
    /// Dropped keys and the reasons.
    pub lost: Vec<(String, &'static str)>,
    /// Values that VS Code asks for: `${input:key}`, with the key.
    pub inputs: Vec<String>,
    pub limits: Vec<ServerLimit>,
}

/// A limit of the tools of a server, and the key that it is under.
#[derive(Debug, PartialEq, Eq)]
pub enum ServerLimit {
    Without(&'static str, Vec<String>),
    Only(&'static str, Vec<String>),
}

/// The denials for what the source denies of a server. A list of what it has cannot be expressed, because the other tools are not known.
pub fn limit(builder: &mut PersonaBuilder, server: &str, limits: &[ServerLimit]) -> Vec<String> {
    let prefix = tools::server_prefix(server);
    let mut denied = Vec::new();
    for limit in limits {
        match limit {
            ServerLimit::Without(key, names) => {
                for name in names {
                    denied.push(tools::server_tool(server, name).unwrap_or_else(|| {
                        builder.warn(format!(
                            "`{}` in `{key}` of the MCP server `{}` cannot be denied alone: the whole server is denied",
                            printable(name),
                            printable(server)
                        ));
                        prefix.clone()
                    }));
                }
            }
            ServerLimit::Only(_, names) if names.is_empty() => denied.push(prefix.clone()),
            ServerLimit::Only(key, names) => builder.warn(format!(
                "`{key}` limits the MCP server `{}` to {}, which has no effect here: deny its other tools in `permissions`",
                printable(server),
                printable(&names.join(", "))
            )),
        }
    }
    // A server whose name is not one of tools has none that could be named.
    denied.retain(|entry| text_rules::check(TextRule::ToolEntry, entry).is_ok());
    denied
}

/// Declares the inputs of a server.
pub fn declare(builder: &mut PersonaBuilder, server: &str, keys: &[String]) {
    for key in keys {
        builder.input(&input_name(key), format!("`{key}` of the MCP server `{server}`"));
    }
}

fn input_name(key: &str) -> String {
    names::input(key, "MCP")
}

const NO_VARIABLE: &str = "is not the name of a variable";
const NOTHING: &str = "has a value that is not text";

/// Converts one server. Numbers and flags in texts stay as written.
pub fn convert_one(value: &Value, written: &Value) -> Result<ConvertedServer, &'static str> {
    let (Value::Object(said), Value::Object(written)) = (value, written) else {
        return Err("only names a server that is configured elsewhere");
    };
    if is_disabled(said) {
        return Err("is disabled");
    }
    let mut rest = said.clone();
    let mut left = written.clone();
    let mut server = Map::new();
    let mut lost = Vec::new();
    let mut words: Vec<String> = Vec::new();
    let mut of_command = Vec::new();
    for key in ["command", "cmd", "args"] {
        let entries = match left.shift_remove(key) {
            Some(Value::Array(entries)) => entries,
            Some(value) => vec![value],
            None => continue,
        };
        of_command.push(key);
        for entry in entries {
            match values::text(&entry) {
                Some(word) => words.push(word),
                None => lost.push((key.to_owned(), NOTHING)),
            }
        }
    }
    let url = ["url", "uri", "serverUrl"]
        .iter()
        .find_map(|key| left.shift_remove(*key))
        .and_then(|url| values::text(&url));
    let kind = left.shift_remove("type").or_else(|| left.shift_remove("transport"));
    match (url.filter(|url| !url.trim().is_empty()), words.split_first()) {
        (Some(url), _) => {
            if let Some(kind @ ("sse" | "http")) = kind.as_ref().and_then(Value::as_str) {
                server.insert("type".into(), Value::from(kind));
            }
            lost.extend(
                of_command.into_iter().map(|key| (key.to_owned(), "it also has a url, which was used")),
            );
            server.insert("url".into(), Value::String(url));
            let keys = ["headers", "http_headers", "requestInit"];
            texts(&mut left, &mut server, &keys, "headers", TextRule::NotBlank, &mut lost);
            bearer(&mut left, &mut server, &mut lost);
        }
        (None, Some((command, args))) if !command.trim().is_empty() => {
            if kind.as_ref().and_then(Value::as_str) == Some("stdio") {
                server.insert("type".into(), Value::from("stdio"));
            }
            server.insert("command".into(), Value::String(command.clone()));
            if !args.is_empty() {
                server.insert("args".into(), args.iter().map(String::as_str).collect());
            }
            let keys = ["env", "envs", "environment"];
            texts(&mut left, &mut server, &keys, "env", TextRule::VariableName, &mut lost);
            variables(&mut left, &mut server, &mut lost);
        }
        _ => return Err("has neither a command nor a url"),
    }
    for key in ["name", "enabled", "disabled", "bundled"] {
        left.shift_remove(key);
    }
    let limits = limits(&mut left);
    for key in ["display_name", "description"] {
        if left.shift_remove(key).is_some() {
            lost.push((key.to_owned(), "a description of the server, which persona files do not have"));
        }
    }
    rest.retain(|key, _| left.contains_key(key));
    let mut inputs = Vec::new();
    server.values_mut().for_each(|value| refer(value, &mut inputs));
    Ok(ConvertedServer { server, left: rest, lost, inputs, limits })
}

/// Whether it is switched off where it is configured. Anything but a clear no to `disabled` counts as a yes.
fn is_disabled(server: &Object) -> bool {
    let is_off = |value: &Value| values::flag(value) == Some(false) || value.as_u64() == Some(0);
    let said = |key: &str| server.get(key).filter(|value| !value.is_null());
    said("enabled").is_some_and(is_off) || said("disabled").is_some_and(|value| !is_off(value))
}

/// Takes the keys with the tools that a server has, or does not have.
fn limits(left: &mut Object) -> Vec<ServerLimit> {
    let mut limits = Vec::new();
    for key in ["disabledTools", "disabled_tools", "excludeTools"] {
        if let Some(names) = left.shift_remove(key) {
            limits.push(ServerLimit::Without(key, values::list(&names)));
        }
    }
    for key in ["tools", "enabledTools", "enabled_tools", "includeTools", "available_tools"] {
        let Some(said) = left.shift_remove(key) else { continue };
        let names = values::list(&said);
        // In goose, an empty list is no limit.
        let is_all = names.iter().any(|name| name == "*") || (names.is_empty() && key == "available_tools");
        if !is_all && !said.is_null() {
            limits.push(ServerLimit::Only(key, names));
        }
    }
    limits
}

/// A map of texts under one of these keys.
fn texts(
    left: &mut Object,
    server: &mut Object,
    from: &[&str],
    to: &str,
    names: TextRule,
    lost: &mut Vec<(String, &'static str)>,
) {
    let mut map = Map::new();
    for key in from {
        let Some(Value::Object(said)) = left.get(*key).cloned() else { continue };
        left.shift_remove(*key);
        for (name, value) in said {
            match (text_rules::check(names, &name), values::text(&value)) {
                (Ok(()), Some(text)) => {
                    map.insert(name, Value::String(text));
                }
                (Ok(()), None) => lost.push((format!("{key}.{name}"), NOTHING)),
                (Err(_), _) => lost.push((format!("{key}.{name}"), NO_VARIABLE)),
            }
        }
    }
    if !map.is_empty() {
        server.insert(to.into(), Value::Object(map));
    }
}

/// Names of variables that the server is handed: goose's `env_keys`, codex's `env_vars`.
fn variables(left: &mut Object, server: &mut Object, lost: &mut Vec<(String, &'static str)>) {
    for key in ["env_keys", "env_vars"] {
        let Some(names) = left.shift_remove(key) else { continue };
        for name in values::list(&names) {
            if text_rules::check(TextRule::VariableName, &name).is_ok() {
                let reference = Value::String(format!("${name}"));
                values::set_path(
                    server,
                    "env",
                    server.get("env").cloned().unwrap_or_else(|| Value::Object(Map::new())),
                );
                if let Some(Value::Object(env)) = server.get_mut("env") {
                    env.entry(name).or_insert(reference);
                }
            } else {
                lost.push((format!("{key}.{name}"), NO_VARIABLE));
            }
        }
    }
}

/// codex names the variables of headers instead of writing them.
fn bearer(left: &mut Object, server: &mut Object, lost: &mut Vec<(String, &'static str)>) {
    let mut headers = match server.shift_remove("headers") {
        Some(Value::Object(headers)) => headers,
        _ => Map::new(),
    };
    if let Some(Value::String(name)) = left.shift_remove("bearer_token_env_var") {
        headers.insert("Authorization".into(), Value::String(format!("Bearer ${{{name}}}")));
    }
    if let Some(Value::Object(named)) = left.shift_remove("env_http_headers") {
        for (header, name) in named {
            match name {
                Value::String(name) => {
                    headers.insert(header, Value::String(format!("${name}")));
                }
                _ => lost.push((format!("env_http_headers.{header}"), NO_VARIABLE)),
            }
        }
    }
    if !headers.is_empty() {
        server.insert("headers".into(), Value::Object(headers));
    }
}

/// Copilot hands secrets of this name to servers, and names them without any mark.
const COPILOT: &str = "COPILOT_MCP_";

/// Replaces other spellings of references in every text of a value. Collects the keys of `${input:key}`.
fn refer(value: &mut Value, inputs: &mut Vec<String>) {
    match value {
        Value::String(text) => *text = referring(text, inputs),
        Value::Array(entries) => entries.iter_mut().for_each(|entry| refer(entry, inputs)),
        Value::Object(entries) => entries.values_mut().for_each(|entry| refer(entry, inputs)),
        _ => {}
    }
}

/// Other spellings of a reference: opencode's `{env:X}`, copilot's `${{ secrets.X }}`, `${env:X}` and `${input:X}` of VS Code.
fn referring(text: &str, inputs: &mut Vec<String>) -> String {
    if text.starts_with(COPILOT) && text_rules::check(TextRule::VariableName, text).is_ok() {
        return format!("${text}");
    }
    let mut result = String::new();
    let mut rest = text;
    'text: while !rest.is_empty() {
        if let Some((key, after)) = rest.strip_prefix("${input:").and_then(|inner| inner.split_once('}')) {
            result.push_str(&format!("${{{}}}", input_name(key)));
            inputs.push(key.trim().to_owned());
            rest = after;
            continue;
        }
        for (open, close) in [("{env:", "}"), ("${env:", "}"), ("${{", "}}")] {
            if let Some((inner, after)) = rest.strip_prefix(open).and_then(|inner| inner.split_once(close)) {
                let name = inner.trim().rsplit('.').next().unwrap_or_default();
                if text_rules::check(TextRule::VariableName, name).is_ok() {
                    result.push_str(&format!("${{{name}}}"));
                    rest = after;
                    continue 'text;
                }
            }
        }
        if let Some(bare) = rest.strip_prefix('$').filter(|bare| bare.starts_with(COPILOT)) {
            let length = bare.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(bare.len());
            result.push_str(&format!("${{{}}}", &bare[..length]));
            rest = &bare[length..];
            continue;
        }
        let mut chars = rest.chars();
        result.extend(chars.next());
        rest = chars.as_str();
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    fn server(value: &Value) -> Value {
        Value::Object(convert_one(value, value).expect("a server").server)
    }

    #[test]
    fn servers_of_every_tool_become_ours() {
        assert_eq!(
            server(
                &json!({"type": "local", "command": ["npx", "-y", "x"], "environment": {"K": "{env:TOKEN}"}, "enabled": true})
            ),
            json!({"command": "npx", "args": ["-y", "x"], "env": {"K": "${TOKEN}"}})
        );
        assert_eq!(
            server(
                &json!({"type": "stdio", "cmd": "uvx", "args": ["y"], "env_keys": ["A_KEY"], "timeout": 3})
            ),
            json!({"type": "stdio", "command": "uvx", "args": ["y"], "env": {"A_KEY": "$A_KEY"}})
        );
        assert_eq!(
            server(&json!({"url": "https://x", "bearer_token_env_var": "T"})),
            json!({"url": "https://x", "headers": {"Authorization": "Bearer ${T}"}})
        );
        assert_eq!(
            server(&json!({"type": "sse", "uri": "https://x", "headers": {"k": "${{ secrets.X_Y }}"}})),
            json!({"type": "sse", "url": "https://x", "headers": {"k": "${X_Y}"}})
        );
        assert_eq!(
            server(
                &json!({"type": "http", "url": "https://x", "headers": {"A": "Bearer $COPILOT_MCP_T, x", "B": "COPILOT_MCP_T"}})
            ),
            json!({"type": "http", "url": "https://x", "headers": {"A": "Bearer ${COPILOT_MCP_T}, x", "B": "$COPILOT_MCP_T"}})
        );
        let asking = json!({"url": "https://x", "headers": {"A": "Bearer ${input:api-key}"}, "requestInit": {"B": "${input:path}"}});
        let ConvertedServer { server, inputs, .. } = convert_one(&asking, &asking).expect("a server");
        assert_eq!(server["headers"], json!({"A": "Bearer ${API_KEY}", "B": "${MCP_PATH}"}));
        assert_eq!(inputs, ["api-key", "path"]);
        assert!(convert_one(&json!({"type": "builtin"}), &json!({"type": "builtin"})).is_err());
        let (value, written) = (json!({"cmd": 8, "timeout": 3}), json!({"cmd": "08", "timeout": "3"}));
        let ConvertedServer { server, left, .. } = convert_one(&value, &written).expect("a server");
        assert_eq!(
            (Value::Object(server), Value::Object(left)),
            (json!({"command": "08"}), json!({"timeout": 3}))
        );
    }
}
