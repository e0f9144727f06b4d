//! The limits of agents in Markdown, whatever tool they are written for: lists of tools, in every spelling, and the mode. Files are
//! shared between tools, so a key of one is found beside those of another.

use super::permission_rules::PermissionRules;
use super::persona_builder::PersonaBuilder;
use super::tools::{COPILOT, contradicted};
use super::{tool_switches, values};
use crate::model::formats::PERMISSION_MODES;
use serde_json::Value;

const ALLOWED: [&str; 3] = ["allowed-tools", "allowedTools", "allowed_tools"];
const DENIED: [&str; 4] = ["disallowedTools", "disallowed-tools", "disallowed_tools", "excludedTools"];

/// Reads every limit of an agent of claude or copilot.
pub fn take(builder: &mut PersonaBuilder) {
    let mut rules = PermissionRules::default();
    if let Some(switches @ Value::Object(_)) = builder.get("tools") {
        tool_switches::take(builder, &mut rules, switches);
    } else {
        allowed(builder, &mut rules, "tools");
    }
    take_besides_tools(builder, &mut rules, None);
    rules.write(builder);
}

/// Reads all limits but `tools`. `mode`: what the rest of the file says about asking.
pub fn take_besides_tools(
    builder: &mut PersonaBuilder,
    rules: &mut PermissionRules,
    mode: Option<&'static str>,
) {
    // Each list denies what it lacks, so that of several what all have is left.
    for key in ALLOWED {
        allowed(builder, rules, key);
    }
    for key in DENIED {
        if let Some(value) = builder.as_written(key) {
            rules.deny_listed(builder, key, &values::list(&value), &COPILOT);
        }
    }
    permission_mode(builder, rules, mode);
    builder.turns("maxTurns");
}

fn allowed(builder: &mut PersonaBuilder, rules: &mut PermissionRules, key: &str) {
    let Some(value) = builder.as_written(key) else { return };
    let tools = values::list(&value);
    if tools.is_empty() && value.is_array() {
        rules.deny_unlisted(builder, key);
    } else if tools.iter().any(|tool| tool == "*" || tool == "All tools") {
        builder.mapped(key, "no limit, as without it");
    } else if !tools.is_empty() {
        // Many files of claude were written for copilot, and have its names.
        rules.limit_to(builder, key, &tools, &COPILOT);
    }
}

fn permission_mode(builder: &mut PersonaBuilder, rules: &PermissionRules, other: Option<&'static str>) {
    let said = builder.text("permissionMode").map(|mode| mode.trim().to_owned());
    let said = said.filter(|mode| PERMISSION_MODES.contains(&mode.as_str()));
    let Some(said) = said else {
        if let Some(mode) = other {
            builder.set("permissions.mode", mode);
        }
        return;
    };
    if let Some(why) = contradicted(&said, &rules.deny) {
        builder.dropped("permissionMode", format!("`{said}`, but {why}"));
    } else if let Some(mode) = other.filter(|_| said != "plan") {
        builder.set("permissions.mode", mode);
        builder.dropped("permissionMode", format!("`{said}`, but other tools than those allowed ask"));
    } else {
        builder.set("permissions.mode", said.as_str());
        builder.mapped("permissionMode", "permissions.mode");
    }
}
