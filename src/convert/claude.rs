//! Claude Code's subagents: markdown with frontmatter, the body is the prompt.

use super::draft::Draft;
use super::format::{Format, Source};
use super::permission_rules::PermissionRules;
use super::persona_builder::PersonaBuilder;
use super::tools::{contradicted, unlisted_tools};
use super::{frontmatter, servers, values};
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
    model(&mut builder);
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

/// An alias or an id; `inherit` and `default` leave the choice to the harness.
fn model(builder: &mut PersonaBuilder) {
    let Some(model) = builder.text("model") else { return };
    match model.trim() {
        "inherit" | "default" => builder.mapped("model", "the harness's own model"),
        model if is_foreign(model) => {
            builder.warn(format!("`{model}` is not a model of claude: the harness chooses one"));
        }
        model => {
            builder.set("model", model);
            builder.mapped("model", "model");
        }
    }
}

/// Models of other vendors, in files that several tools read.
fn is_foreign(model: &str) -> bool {
    let model = model.to_ascii_lowercase();
    let others =
        ["gpt", "gemini", "deepseek", "grok", "qwen", "llama", "mistral", "glm", "kimi", "o1", "o3", "o4"];
    let name = model.rsplit('/').next().unwrap_or(&model);
    others.iter().any(|other| name.starts_with(other))
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
        } else {
            if matches!(tools.as_slice(), [all] if all == "*" || all == "All tools") {
                builder.mapped(key, "no limit, as without it");
            } else {
                builder.mapped(key, "permissions.allow");
                // Further denials only narrow the list.
                let others = unlisted_tools(&tools);
                for tool in &others {
                    rules.deny(*tool);
                }
                if !others.is_empty() {
                    builder.mapped(&format!("{key} (those not listed)"), "permissions.deny");
                }
            }
            tools
                .into_iter()
                .filter(|tool| tool != "*" && tool != "All tools")
                .for_each(|tool| rules.allow(tool));
        }
    }
    if let Some((key, value)) = denied.and_then(|key| Some((key, builder.as_written(key)?))) {
        for tool in values::list(&value) {
            rules.deny(tool);
        }
        builder.mapped(key, "permissions.deny");
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
