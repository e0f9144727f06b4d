//! opencode's `permission`, in which the last match wins, as rules in which a denial beats everything. Where the two
//! differ, the denial stays and the rest is told.

use super::account::Account;
use super::tools::{Rules, left_out, of_opencode};
use crate::model::shape::Object;
use serde_json::{Map, Value};

const EXCEPTION: &str = "an exception from a denial, which beats it here: all of it is denied";
const OVERRULED: &str = "the rule for all behind it overrules it";

/// What a config says of all agents, and behind it what one says of itself.
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

/// A word alone is a rule for all.
fn keys(permission: &Value) -> Object {
    match permission {
        Value::Object(keys) => keys.clone(),
        word => Map::from_iter([("*".to_owned(), word.clone())]),
    }
}

/// Adds the rules. Returns the mode.
pub fn read(account: &mut Account, rules: &mut Rules, permission: &Value) -> Option<&'static str> {
    if !permission.is_string() && !permission.is_object() {
        account.dropped("permission", "is neither a word nor an object");
        return None;
    }
    let keys = keys(permission);
    account.mapped("permission", "permissions");
    let for_all = keys.get("*").and_then(Value::as_str);
    let behind = keys.keys().position(|key| key == "*").unwrap_or_default();
    match for_all {
        Some("ask") => {}
        Some("deny") => account.mapped("permission.*", "permissions.deny"),
        _ if keys.contains_key("*") => account.dropped(
            "permission.*",
            "nothing is allowed wholesale on import; set `permissions.mode` yourself",
        ),
        _ => {}
    }
    // What is not denied although all the rest is.
    let mut open: Vec<String> = Vec::new();
    for (at, (key, rule)) in keys.iter().enumerate().filter(|(_, (key, _))| *key != "*") {
        let field = format!("permission.{key}");
        let Some(ours) = of_opencode(key) else {
            account.keep(&field, rule.clone());
            continue;
        };
        let overruled = at < behind && matches!(for_all, Some("ask" | "deny"));
        match rule {
            Value::String(action) if overruled && action != "deny" => account.dropped(&field, OVERRULED),
            Value::String(action) => {
                one(rules, ours, None, action);
                if action != "deny" {
                    open.extend(ours.iter().map(ToString::to_string));
                }
            }
            Value::Object(said) => {
                let whole = if overruled { for_all } else { None };
                let is_open = patterns(account, rules, &field, ours, said, whole, for_all);
                if is_open {
                    open.extend(ours.iter().map(ToString::to_string));
                }
            }
            other => account.keep(&field, other.clone()),
        }
    }
    if for_all == Some("deny") {
        for tool in left_out(&open) {
            rules.deny(tool);
        }
    }
    matches!(for_all, Some("ask" | "deny")).then_some("default")
}

/// The patterns of one tool. `whole` overrules all of them, `for_all` is for what none of them meets. Returns whether
/// the tool is left with anything.
fn patterns(
    account: &mut Account,
    rules: &mut Rules,
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
        one(rules, tools, None, "deny");
        for (pattern, action) in said.iter().filter(|(pattern, _)| !is_any(pattern)) {
            if action_of(action) != "deny" {
                account.dropped(&format!("{field}.{pattern}"), EXCEPTION);
            }
        }
        return false;
    }
    for (at, (pattern, action)) in said.iter().enumerate() {
        let action = action_of(action);
        let overruled = matches!(&rest, Some((behind, rest)) if at < *behind && rest == "ask");
        if is_any(pattern) {
            if !overruled {
                one(rules, tools, None, &action);
            }
        } else if overruled && action == "allow" {
            account.dropped(&format!("{field}.{pattern}"), OVERRULED);
        } else {
            one(rules, tools, Some(pattern), &action);
        }
    }
    true
}

fn one(rules: &mut Rules, tools: &[&str], pattern: Option<&str>, action: &str) {
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

/// A command that may go on in any way is `command:*` with us.
fn argument(tool: &str, pattern: &str) -> String {
    match pattern.strip_suffix('*') {
        Some(prefix) if tool == "Bash" && !prefix.contains('*') => format!("{}:*", prefix.trim_end()),
        _ => pattern.to_owned(),
    }
}
