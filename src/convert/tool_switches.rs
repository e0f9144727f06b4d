//! opencode's `tools` as an object with a flag for each, and the meaning of its keys: built-in tools, those of MCP servers, and
//! patterns with a `*` at the end.

use super::permission_rules::PermissionRules;
use super::persona_builder::PersonaBuilder;
use super::tools::{self, OPENCODE, server_prefix, server_tool};
use super::values;
use crate::model::printable::printable;
use crate::model::shape::Object;
use serde_json::Value;

/// What a key stands for.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Named {
    pub tools: Vec<String>,
    /// The tools are more than what was meant: they may be denied, but not allowed.
    pub is_more: bool,
}

/// The names of the agent's MCP servers as opencode begins those of their tools.
pub fn servers(builder: &PersonaBuilder) -> Vec<String> {
    let servers = builder.get("mcp");
    let names = servers.as_ref().and_then(Value::as_object).into_iter().flat_map(Object::keys);
    names.map(|name| server_prefix(name)["mcp__".len()..].to_owned()).collect()
}

/// The tools that a key of `tools` or `permission` names: the reverse of `tools::to_opencode`. `None` where it is not known.
pub fn named(key: &str, servers: &[String]) -> Option<Named> {
    let exactly = |tools: Vec<String>| Some(Named { tools, is_more: false });
    if let Some(ours) = OPENCODE.tools(key) {
        return exactly(ours.iter().map(ToString::to_string).collect());
    }
    if tools::is_of_persona_files(key) {
        return exactly(vec![key.to_owned()]);
    }
    let Some(start) = key.strip_suffix('*') else {
        // A server whose name begins with that of another one is meant before that.
        let of_server = servers.iter().filter_map(|server| {
            let rest = key.strip_prefix(server.as_str())?;
            let tool = if rest.is_empty() { "*" } else { rest.strip_prefix('_')? };
            Some((server.len(), server_tool(server, tool)?))
        });
        return of_server.max().and_then(|(_, tool)| exactly(vec![tool]));
    };
    let mut found = Named::default();
    if start.contains('*') || start.is_empty() {
        return None;
    }
    found.tools.extend(OPENCODE.tools_beginning(start).into_iter().map(str::to_owned));
    for server in servers {
        let all = format!("{server}_");
        // `gh*` and `gh_*` are all tools of the server, `gh_del*` is less than that.
        if all.starts_with(start) || start.starts_with(&all) {
            found.is_more |= !all.starts_with(start);
            found.tools.push(format!("mcp__{server}"));
        }
    }
    if found.tools.is_empty() {
        // In Markdown the servers are configured elsewhere.
        let server = start.strip_suffix('_').filter(|server| !server.is_empty())?;
        found.tools.push(server_tool(server, "*")?);
    }
    Some(found)
}

/// Denies the servers without any tool that is left, where all tools are denied but these.
pub fn deny_other_servers(rules: &mut PermissionRules, servers: &[String], open: &[String]) {
    for server in servers {
        let prefix = format!("mcp__{server}");
        let tools = format!("{prefix}__");
        let is_of_server = |tool: &String| *tool == prefix || tool.starts_with(&tools);
        if !open.iter().any(is_of_server) {
            rules.deny(prefix);
        }
    }
}

/// `tools: {write: false}`: an enabled tool runs without asking in opencode, a disabled one does not exist.
pub fn take(builder: &mut PersonaBuilder, rules: &mut PermissionRules, switches: Value) {
    let Value::Object(switches) = switches else { return };
    let servers = servers(builder);
    let meant = |tool: &str| named(tool, &servers);
    let is_known = |tool: &str, value: &Value| {
        values::flag(value).is_some_and(|on| !on || (tool != "*" && meant(tool).is_some()))
    };
    // None of these tools is known: kept unchanged.
    if !switches.iter().any(|(tool, value)| is_known(tool, value)) {
        return;
    }
    builder.mapped("tools", "permissions");
    if switches.get("*").and_then(values::flag) == Some(false) {
        // All disabled except the enabled ones.
        let on = switches.iter().filter(|(_, value)| values::flag(value) == Some(true));
        let on: Vec<String> = on.filter_map(|(tool, _)| meant(tool)).flat_map(|named| named.tools).collect();
        for tool in tools::unlisted_tools(&on) {
            rules.deny(tool);
        }
        deny_other_servers(rules, &servers, &on);
    }
    for (tool, value) in switches {
        let field = format!("tools.{tool}");
        match (meant(&tool), values::flag(&value)) {
            (None, Some(false)) if tool == "*" => builder.mapped(&field, "permissions.deny"),
            (Some(ours), Some(true)) if !ours.is_more => {
                ours.tools.into_iter().for_each(|tool| rules.allow(tool));
            }
            (Some(ours), Some(false)) => deny(builder, rules, &field, ours),
            (None, Some(false)) => builder.keep_limit(&field, value),
            _ => builder.keep(&field, value),
        }
    }
}

/// Denies what a key names.
pub fn deny(builder: &mut PersonaBuilder, rules: &mut PermissionRules, field: &str, named: Named) {
    if named.is_more {
        builder.warn(format!(
            "`{}` cannot be expressed here: {} is denied altogether",
            printable(field),
            printable(&named.tools.join(", "))
        ));
    }
    named.tools.into_iter().for_each(|tool| rules.deny(tool));
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn keys_name_tools_servers_and_what_begins_so() {
        let servers = ["gh".to_owned(), "gh_old".to_owned(), "my_db".to_owned()];
        let said = |key: &str| match named(key, &servers) {
            None => "?".to_owned(),
            Some(Named { tools, is_more }) => {
                format!("{}{}", tools.join(" "), if is_more { " +" } else { "" })
            }
        };
        for (key, expected) in [
            ("edit", "Edit Write"),
            ("NotebookEdit", "NotebookEdit"),
            ("mcp__a__b", "mcp__a__b"),
            ("gh", "mcp__gh"),
            ("gh_delete", "mcp__gh__delete"),
            ("gh_old_get", "mcp__gh_old__get"),
            ("gh_old", "mcp__gh_old"),
            ("my_db_*", "mcp__my_db"),
            ("my_db_d*", "mcp__my_db +"),
            ("web*", "WebFetch WebSearch"),
            ("other_*", "mcp__other"),
            ("other_get", "?"),
            ("*_get", "?"),
            ("a*b*", "?"),
            ("*", "?"),
            ("", "?"),
        ] {
            assert_eq!(said(key), expected, "{key}");
        }
    }
}
