//! Leaves out what refers to unset variables: entries of `env`, headers, and MCP servers that cannot start without them.

use crate::model::persona::McpServer;
use crate::model::warning::{Warning, WarningCode};
use crate::resolve::references::env_names;
use std::collections::BTreeMap;

/// The names that have a value, from the environment or as inputs.
pub trait Available {
    fn has(&self, name: &str) -> bool;
}

impl<F: Fn(&str) -> bool> Available for F {
    fn has(&self, name: &str) -> bool {
        self(name)
    }
}

fn missing<'t>(text: &'t str, available: &impl Available) -> Vec<&'t str> {
    env_names(text).into_iter().filter(|name| !available.has(name)).collect()
}

/// The entries whose references all have a value.
pub fn supplied(
    map: &BTreeMap<String, String>,
    what: &str,
    available: &impl Available,
    warnings: &mut Vec<Warning>,
) -> BTreeMap<String, String> {
    let mut kept = BTreeMap::new();
    for (key, value) in map {
        match missing(value, available).as_slice() {
            [] => {
                kept.insert(key.clone(), value.clone());
            }
            names => warnings.push(left_out(&format!("{what}.{key}"), names)),
        }
    }
    kept
}

/// The servers without those that would start a file of the working tree, which `--persona-ref` does not trust.
pub fn trusted(
    servers: &BTreeMap<String, McpServer>,
    untrusted: &BTreeMap<String, String>,
    warnings: &mut Vec<Warning>,
) -> BTreeMap<String, McpServer> {
    for (name, file) in untrusted {
        let text = format!(
            "mcpServers.{name} is left out: {file} is in the working tree, and `--persona-ref` takes nothing from there"
        );
        warnings.push(Warning::new(WarningCode::NotUsed, text));
    }
    let is_trusted = |(name, _): &(&String, &McpServer)| !untrusted.contains_key(*name);
    servers.iter().filter(is_trusted).map(|(name, server)| (name.clone(), server.clone())).collect()
}

/// The servers that can be started, without entries that refer to unset variables.
pub fn startable(
    servers: &BTreeMap<String, McpServer>,
    available: &impl Available,
    warnings: &mut Vec<Warning>,
) -> BTreeMap<String, McpServer> {
    let mut kept = BTreeMap::new();
    for (name, server) in servers {
        let needed = server.url.iter().chain(&server.command).chain(&server.args);
        let names: Vec<&str> = needed.flat_map(|text| missing(text, available)).collect();
        if !names.is_empty() {
            warnings.push(left_out(&format!("mcpServers.{name}"), &names));
            continue;
        }
        let mut server = server.clone();
        server.env = supplied(&server.env, &format!("mcpServers.{name}.env"), available, warnings);
        server.headers =
            supplied(&server.headers, &format!("mcpServers.{name}.headers"), available, warnings);
        kept.insert(name.clone(), server);
    }
    kept
}

fn left_out(field: &str, unset: &[&str]) -> Warning {
    let quoted: Vec<String> = unset.iter().map(|name| format!("`{name}`")).collect();
    let are = if unset.len() == 1 { "is" } else { "are" };
    Warning::new(WarningCode::NotUsed, format!("{field} is left out: {} {are} not set", quoted.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_refers_to_unset_variables_is_left_out_and_named() {
        let server = |url: &str, header: &str| McpServer {
            url: Some(url.into()),
            headers: BTreeMap::from([("Authorization".into(), header.into())]),
            ..McpServer::default()
        };
        let servers = BTreeMap::from([
            ("a".to_owned(), server("http://x", "Bearer ${T}")),
            ("b".to_owned(), server("http://${HOST}:${PORT}", "x")),
        ]);
        let mut warnings = Vec::new();
        let kept = startable(&servers, &|name: &str| name == "PORT", &mut warnings);
        assert_eq!(kept.keys().collect::<Vec<_>>(), ["a"]);
        assert!(kept["a"].headers.is_empty());
        assert_eq!(
            warnings.iter().map(|warning| warning.message.as_str()).collect::<Vec<_>>(),
            [
                "mcpServers.a.headers.Authorization is left out: `T` is not set",
                "mcpServers.b is left out: `HOST` is not set",
            ]
        );
    }
}
