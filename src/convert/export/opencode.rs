//! The persona as an agent of opencode.

use super::{Ledger, Native, Outgoing, markdown, merge_returning, returning};
use crate::convert::tools;
use crate::model::shape::Object;
use crate::model::tool_rule::ToolRule;
use serde_json::{Map, Value, json};

pub fn export(persona: &Outgoing, ledger: &mut Ledger) -> Native {
    let mut keys = Map::new();
    if let Some(description) = persona.description {
        keys.insert("description".into(), description.into());
        ledger.mapped("description", true, "description");
    }
    // The default, written so that the file is not taken for one of claude.
    keys.insert("mode".into(), "all".into());
    if let Some(model) = persona.model {
        keys.insert("model".into(), model.into());
        ledger.mapped("model", true, "model");
    }
    if let Some(reasoning) = &persona.settings.reasoning {
        keys.insert("reasoningEffort".into(), reasoning.as_str().into());
    }
    ledger.mapped("harnessSettings.reasoning", persona.settings.reasoning.is_some(), "reasoningEffort");
    if let Some(turns) = persona.limits.turns {
        keys.insert("steps".into(), turns.into());
        ledger.mapped("limits.turns", true, "steps");
    }
    let permission = permission(persona, ledger);
    if !permission.is_empty() {
        keys.insert("permission".into(), Value::Object(permission));
    }
    // opencode configures servers in its config, not per agent.
    ledger.kept("mcpServers", !persona.mcp_servers.is_empty());
    ledger.mapped("id", true, "the file's name");
    merge_returning(&mut keys, returning(persona, "opencode"));
    markdown(format!("{}.md", persona.id), &keys, persona.prompt)
}

/// The last match wins: first the mode, then what is allowed, then what is denied.
fn permission(persona: &Outgoing, ledger: &mut Ledger) -> Object {
    let permissions = persona.permissions;
    let mut map = Map::new();
    if permissions.allow.is_none() && permissions.deny.is_empty() && permissions.mode.is_none() {
        return map;
    }
    map.insert("*".into(), "ask".into());
    // No mode of a persona asks before reading.
    for key in ["read", "grep", "glob"] {
        map.insert(key.into(), "allow".into());
    }
    match permissions.mode.as_deref() {
        Some("bypassPermissions") => {
            map.insert("*".into(), "allow".into());
            ledger.mapped("permissions.mode", true, "permission.*: not restored by an import");
        }
        Some("acceptEdits") => {
            map.insert("edit".into(), "allow".into());
            ledger.mapped("permissions.mode", true, "permission.edit");
        }
        Some("plan") => {
            map.insert("edit".into(), "deny".into());
            ledger.mapped("permissions.mode", true, "permission.edit");
        }
        mode => ledger.mapped("permissions.mode", mode.is_some(), "permission.*"),
    }
    let mut inexact = Vec::new();
    let lists = [(permissions.allow.as_deref().unwrap_or_default(), "allow"), (&permissions.deny, "deny")];
    for (entries, action) in lists {
        for entry in entries {
            if !add(&mut map, &ToolRule::parse(entry), action) {
                inexact.push((entry, action));
            }
        }
    }
    ledger.mapped("permissions.allow", permissions.allow.is_some(), "permission");
    ledger.mapped("permissions.deny", !permissions.deny.is_empty(), "permission");
    for (entry, action) in inexact {
        ledger.dropped(&format!("permissions.{action}.{entry}"), true, "opencode has no such permission");
    }
    in_order(map)
}

/// The rule for all tools first, because later ones win; the others are independent and get a fixed order.
fn in_order(mut map: Object) -> Object {
    let first = ["*", "read", "grep", "glob", "list", "edit", "bash"];
    let mut ordered: Object =
        first.iter().filter_map(|key| Some(((*key).to_owned(), map.shift_remove(*key)?))).collect();
    map.sort_keys();
    ordered.extend(map);
    ordered
}

fn add(map: &mut Object, rule: &ToolRule, action: &str) -> bool {
    let Some(key) = tools::to_opencode(rule.tool) else { return false };
    match (rule.argument, key.as_str()) {
        // opencode has no notebooks, and a rule for them must not apply to all edits.
        (None, "edit") if rule.tool == "NotebookEdit" => true,
        (None, _) => {
            // One denied way to edit denies them all; one allowed way does not allow what is denied.
            map.insert(key, action.into());
            true
        }
        (Some(_), "bash") => {
            let pattern = rule.command_pattern().unwrap_or_default();
            let said = map.get("bash").cloned().unwrap_or_else(|| json!("ask"));
            let mut patterns = match said {
                Value::Object(patterns) => patterns,
                // The patterns would replace the rule for the whole tool, so it comes first among them.
                whole => Map::from_iter([("*".to_owned(), whole)]),
            };
            patterns.shift_remove(&pattern);
            patterns.insert(pattern, action.into());
            map.insert(key, Value::Object(patterns));
            true
        }
        (Some(_), _) => false,
    }
}
