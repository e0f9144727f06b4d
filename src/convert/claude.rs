//! Claude Code's subagents: markdown with frontmatter, the body is the prompt.

use super::draft::Draft;
use super::format::{Format, Source};
use super::permission_rules::PermissionRules;
use super::persona_builder::PersonaBuilder;
use super::tools::{COPILOT, contradicted};
use super::{frontmatter, models, servers, values};
use crate::model::formats::PERMISSION_MODES;

pub fn convert(source: &Source) -> Result<Draft, String> {
    let parts = frontmatter::read(source.text);
    let mut builder = PersonaBuilder::new(Format::Claude, parts.keys).written(parts.written);
    builder.embedded(parts.embedded);
    builder.repeated(&parts.repeated);
    builder.add_warnings(parts.warnings);
    if !parts.has_block && !parts.body.trim().is_empty() {
        builder.warn("it has no frontmatter: its name is that of the file, and the whole text is the prompt");
    }
    builder.name("name", source.stem());
    builder.describe("description", &parts.body);
    models::take(&mut builder);
    permissions(&mut builder);
    builder.turns("maxTurns");
    builder.move_text("effort", "harnessSettings.reasoning");
    servers::convert_all(&mut builder, "mcpServers");
    builder.prompt(&parts.body)?;
    if !parts.body.trim().is_empty() {
        builder.mapped("(body)", "systemPrompt");
    }
    Ok(builder.finish())
}

fn permissions(builder: &mut PersonaBuilder) {
    let mut rules = PermissionRules::default();
    let denied =
        ["disallowedTools", "disallowed-tools", "disallowed_tools"].into_iter().find(|key| builder.has(key));
    let allowed =
        ["tools", "allowed-tools", "allowedTools", "allowed_tools"].into_iter().find(|key| builder.has(key));
    if let Some((key, value)) = allowed.and_then(|key| Some((key, builder.as_written(key)?))) {
        let tools = values::list(&value);
        if tools.is_empty() && value.is_array() {
            rules.deny_unlisted(builder, key);
        } else if tools.is_empty() {
            builder.keep(key, value);
        } else if matches!(tools.as_slice(), [all] if all == "*" || all == "All tools") {
            builder.mapped(key, "no limit, as without it");
        } else {
            // Many of these files were written for copilot, and have its names.
            rules.limit_to(builder, key, &tools, &COPILOT);
        }
    }
    if let Some((key, value)) = denied.and_then(|key| Some((key, builder.as_written(key)?))) {
        rules.deny_listed(builder, key, &values::list(&value), &COPILOT);
    }
    let mode = builder.text("permissionMode");
    if let Some(mode) = mode.filter(|mode| PERMISSION_MODES.contains(&mode.trim())) {
        if let Some(why) = contradicted(mode.trim(), &rules.deny) {
            builder.dropped("permissionMode", format!("`{}`, but {why}", mode.trim()));
        } else {
            builder.set("permissions.mode", mode.trim());
            builder.mapped("permissionMode", "permissions.mode");
        }
    }
    rules.write(builder);
}
