//! The persona as a subagent of Claude Code.

use super::{Ledger, Native, Outgoing, markdown, merge_returning, returning, server};
use crate::model::shape::Object;
use serde_json::{Map, Value, json};

pub fn export(persona: &Outgoing, ledger: &mut Ledger) -> Native {
    let mut keys = Map::new();
    keys.insert("name".into(), persona.id.into());
    // claude ignores an agent without a description.
    keys.insert("description".into(), persona.description.unwrap_or(persona.id).into());
    permissions(persona, &mut keys, ledger);
    if let Some(model) = persona.model {
        keys.insert("model".into(), model.into());
        ledger.mapped("model", true, "model");
    }
    if let Some(reasoning) = &persona.settings.reasoning {
        keys.insert("effort".into(), reasoning.as_str().into());
    }
    ledger.mapped("harnessSettings.reasoning", persona.settings.reasoning.is_some(), "effort");
    if let Some(turns) = persona.limits.turns {
        keys.insert("maxTurns".into(), turns.into());
        ledger.mapped("limits.turns", true, "maxTurns");
    }
    if !persona.mcp_servers.is_empty() {
        let servers: Value =
            persona.mcp_servers.iter().map(|(name, said)| json!({ name: server(said) })).collect();
        keys.insert("mcpServers".into(), servers);
        ledger.mapped("mcpServers", true, "mcpServers");
    }
    ledger.mapped("description", persona.description.is_some(), "description");
    merge_returning(&mut keys, returning(persona, "claude"));
    markdown(format!("{}.md", persona.id), &keys, persona.prompt)
}

/// In claude `tools` are the only tools of an agent; in a persona they run without approval.
fn permissions(persona: &Outgoing, keys: &mut Object, ledger: &mut Ledger) {
    let permissions = persona.permissions;
    if let Some(allow) = &permissions.allow {
        keys.insert("tools".into(), json!(allow));
        ledger.mapped("permissions.allow", true, "tools: the only ones it has there");
    }
    if !permissions.deny.is_empty() {
        keys.insert("disallowedTools".into(), json!(permissions.deny));
        ledger.mapped("permissions.deny", true, "disallowedTools");
    }
    if let Some(mode) = &permissions.mode {
        keys.insert("permissionMode".into(), mode.as_str().into());
        ledger.mapped("permissions.mode", true, "permissionMode");
    }
}
