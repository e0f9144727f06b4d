//! opencode's `permission`, where the last match wins, as rules where a denial always wins. Where the two differ, the
//! denial stays and the rest is reported.

use super::permission_rules::PermissionRules;
use super::persona_builder::PersonaBuilder;
use super::tool_switches;
use super::tools::unlisted_tools;
use crate::model::shape::Object;
use serde_json::{Map, Value};

const EXCEPTION: &str = "an exception from a denial, but denials always win here: all of it is denied";
const OVERRULED: &str = "overruled by the later rule for all tools";

/// The permissions for all agents, followed by those of one agent.
pub fn layered(below: &Value, own: Option<&Value>) -> Value {
    let mut merged = Map::new();
    for (key, rule) in [Some(below), own].into_iter().flatten().flat_map(keys) {
        let before = merged.shift_remove(&key);
        let rule = match (before, rule) {
            (Some(before), Value::Object(patterns)) => {
                let mut all = match before {
                    Value::Object(before) => before,
                    whole => Map::from_iter([("*".to_owned(), whole)]),
                };
                for (pattern, action) in patterns {
                    all.shift_remove(&pattern);
                    all.insert(pattern, action);
                }
                Value::Object(all)
            }
            (_, rule) => rule,
        };
        merged.insert(key, rule);
    }
    Value::Object(merged)
}

/// A single word is a rule for all tools.
fn keys(permission: &Value) -> Object {
    match permission {
        Value::Object(keys) => keys.clone(),
        word => Map::from_iter([("*".to_owned(), word.clone())]),
    }
}

/// Adds the rules. Returns the mode.
pub fn read(
    builder: &mut PersonaBuilder,
    rules: &mut PermissionRules,
    permission: &Value,
) -> Option<&'static str> {
    if !permission.is_string() && !permission.is_object() {
        builder.dropped("permission", "is neither a word nor an object");
        return None;
    }
    let keys = keys(permission);
    builder.mapped("permission", "permissions");
    let for_all = keys.get("*").and_then(Value::as_str);
    let behind = keys.keys().position(|key| key == "*").unwrap_or_default();
    match for_all {
        Some("ask") => {}
        Some("deny") => builder.mapped("permission.*", "permissions.deny"),
        _ if keys.contains_key("*") => builder
            .dropped("permission.*", "an import never allows everything; set `permissions.mode` yourself"),
        _ => {}
    }
    let servers = tool_switches::servers(builder);
    // Tools that stay available although all others are denied.
    let mut open: Vec<String> = Vec::new();
    for (at, (key, rule)) in keys.iter().enumerate().filter(|(_, (key, _))| *key != "*") {
        let field = format!("permission.{key}");
        let denies = |rule: &Value| rule.as_str() == Some("deny");
        let Some(named) = tool_switches::named(key, &servers) else {
            if denies(rule) || rule.as_object().is_some_and(|patterns| patterns.values().any(denies)) {
                builder.keep_limit(&field, rule.clone());
            } else {
                builder.keep(&field, rule.clone());
            }
            continue;
        };
        if named.is_more {
            match rule {
                Value::String(action) if action != "deny" => builder.keep(&field, rule.clone()),
                _ => tool_switches::deny(builder, rules, &field, named),
            }
            continue;
        }
        let ours: Vec<&str> = named.tools.iter().map(String::as_str).collect();
        let ours = ours.as_slice();
        let overruled = at < behind && matches!(for_all, Some("ask" | "deny"));
        match rule {
            Value::String(action) if overruled && action != "deny" => builder.dropped(&field, OVERRULED),
            Value::String(action) => {
                add_rules(rules, ours, None, action);
                if action != "deny" {
                    open.extend(ours.iter().map(ToString::to_string));
                }
            }
            Value::Object(said) => {
                let whole = if overruled { for_all } else { None };
                let is_open = patterns(builder, rules, &field, ours, said, whole, for_all);
                if is_open {
                    open.extend(ours.iter().map(ToString::to_string));
                }
            }
            other => builder.keep(&field, other.clone()),
        }
    }
    if for_all == Some("deny") {
        for tool in unlisted_tools(&open) {
            rules.deny(tool);
        }
        tool_switches::deny_other_servers(rules, &servers, &open);
    }
    matches!(for_all, Some("ask" | "deny")).then_some("default")
}

/// The patterns of one tool. `whole` overrules all of them; `for_all` applies where none matches. Returns whether any
/// use of the tool is left.
fn patterns(
    builder: &mut PersonaBuilder,
    rules: &mut PermissionRules,
    field: &str,
    tools: &[&str],
    said: &Object,
    whole: Option<&str>,
    for_all: Option<&str>,
) -> bool {
    let is_any = |pattern: &str| matches!(pattern, "*" | "**" | "**/*");
    let action_of = |action: &Value| action.as_str().unwrap_or_default().to_owned();
    let last = said.iter().enumerate().rfind(|(_, (pattern, _))| is_any(pattern));
    let rest = match (whole, last) {
        (Some(whole), _) => Some((said.len(), whole.to_owned())),
        (None, Some((at, (_, action)))) => Some((at, action_of(action))),
        (None, None) => for_all.filter(|action| *action == "deny").map(|deny| (0, deny.to_owned())),
    };
    if matches!(&rest, Some((_, action)) if action == "deny") {
        add_rules(rules, tools, None, "deny");
        for (pattern, action) in said.iter().filter(|(pattern, _)| !is_any(pattern)) {
            if action_of(action) != "deny" {
                builder.dropped(&format!("{field}.{pattern}"), EXCEPTION);
            }
        }
        return false;
    }
    for (at, (pattern, action)) in said.iter().enumerate() {
        let action = action_of(action);
        let overruled = matches!(&rest, Some((behind, rest)) if at < *behind && rest == "ask");
        if is_any(pattern) {
            if !overruled {
                add_rules(rules, tools, None, &action);
            }
        } else if overruled && action == "allow" {
            builder.dropped(&format!("{field}.{pattern}"), OVERRULED);
        } else {
            add_rules(rules, tools, Some(pattern), &action);
        }
    }
    true
}

fn add_rules(rules: &mut PermissionRules, tools: &[&str], pattern: Option<&str>, action: &str) {
    for tool in tools {
        let entry = match pattern {
            None => (*tool).to_owned(),
            Some(pattern) => format!("{tool}({})", argument(tool, pattern)),
        };
        match action {
            "allow" => rules.allow(entry),
            "deny" => rules.deny(entry),
            _ => {}
        }
    }
}

/// A command with any arguments is `command:*` in a persona.
fn argument(tool: &str, pattern: &str) -> String {
    match pattern.strip_suffix('*') {
        Some(prefix) if tool == "Bash" && !prefix.contains('*') => format!("{}:*", prefix.trim_end()),
        _ => pattern.to_owned(),
    }
}
