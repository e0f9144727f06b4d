//! The MCP servers of a project's own configuration files, converted to those of persona files: `.mcp.json`, codex's `config.toml`,
//! opencode's `opencode.json`. Takes nothing else from them.

use super::jsonc;
use super::servers::convert_one;
use crate::model::persona::McpServer;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What one file has.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FoundServers {
    pub servers: BTreeMap<String, McpServer>,
    /// Names, and why they are not among the servers.
    pub left_out: Vec<(String, String)>,
}

/// What a file of this name says: TOML by its ending, else JSON with comments.
pub fn parse(name: &str, text: &str) -> Result<Value, String> {
    if !is_toml(name) {
        return jsonc::parse(text);
    }
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| error.message().to_owned())?;
    serde_json::to_value(table).map_err(|error| error.to_string())
}

fn is_toml(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "toml")
}

/// The key of the servers in a file of this name.
fn key_in(name: &str) -> &'static str {
    match name {
        _ if is_toml(name) => "mcp_servers",
        _ if [".mcp.json", ".claude.json"].iter().any(|file| name.ends_with(file)) => "mcpServers",
        _ => "mcp",
    }
}

/// The names of all servers in a file of the user's, and of those that claude has there for one project.
pub fn names(file: &str, text: &str, project: &str) -> Result<BTreeSet<String>, String> {
    let (value, key) = (parse(file, text)?, key_in(file));
    let lists = [value.get(key), value.pointer("/projects").and_then(|all| all.get(project)?.get(key))];
    Ok(lists.into_iter().flatten().filter_map(Value::as_object).flat_map(Map::keys).cloned().collect())
}

/// Reads the servers of a file of this name.
pub fn read(name: &str, text: &str) -> Result<FoundServers, String> {
    let (value, key) = (parse(name, text)?, key_in(name));
    let mut found = FoundServers::default();
    let Some(Value::Object(servers)) = value.get(key) else { return Ok(found) };
    for (name, server) in servers {
        let converted = convert_one(server, server).map_err(str::to_owned).and_then(|converted| {
            McpServer::deserialize(Value::Object(converted.server)).map_err(|error| error.to_string())
        });
        match converted {
            Ok(server) if !name.trim().is_empty() => {
                found.servers.insert(name.clone(), server);
            }
            Ok(_) => found.left_out.push((name.clone(), "it has no name".to_owned())),
            Err(why) if why == "is disabled" => {}
            Err(why) => found.left_out.push((name.clone(), why)),
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_harness_has_its_own_file_and_all_say_the_same() {
        let expected = McpServer {
            command: Some("npx".into()),
            args: vec!["-y".into(), "x".into()],
            env: BTreeMap::from([("T".into(), "${TOKEN}".into())]),
            ..McpServer::default()
        };
        for (name, text) in [
            (
                ".mcp.json",
                r#"{"mcpServers": {"s": {"command": "npx", "args": ["-y", "x"], "env": {"T": "${TOKEN}"}}}}"#,
            ),
            (
                ".codex/config.toml",
                "model = 'x'\n[mcp_servers.s]\ncommand = 'npx'\nargs = ['-y', 'x']\nenv = {T = '${TOKEN}'}",
            ),
            (
                "opencode.jsonc",
                r#"{"mcp": {"s": {"type": "local", "command": ["npx", "-y", "x"], "environment": {"T": "{env:TOKEN}"}}}, /* x */}"#,
            ),
        ] {
            let found = read(name, text).unwrap();
            assert_eq!(found.servers.get("s"), Some(&expected), "{name}");
        }
    }

    #[test]
    fn what_is_switched_off_or_no_server_is_left_out() {
        let text = r#"{"mcpServers": {"off": {"command": "x", "disabled": true}, "also": {"command": "x", "enabled": false}, "no": {}}}"#;
        let found = read(".mcp.json", text).unwrap();
        assert!(found.servers.is_empty());
        assert_eq!(found.left_out, [("no".to_owned(), "has neither a command nor a url".to_owned())]);
        assert!(read(".mcp.json", "[").is_err() && read("config.toml", "=").is_err());
        assert_eq!(read(".mcp.json", "[]"), Ok(FoundServers::default()));
    }
}
