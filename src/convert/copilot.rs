//! GitHub Copilot's custom agents: markdown with frontmatter, the body is the prompt.

use super::draft::Draft;
use super::format::{Format, Source};
use super::permission_rules::PermissionRules;
use super::persona_builder::PersonaBuilder;
use super::{frontmatter, servers, tools, values};
use serde_json::Value;

pub fn convert(source: &Source) -> Result<Draft, String> {
    let parts = frontmatter::read(source.text);
    let mut builder = PersonaBuilder::new(Format::Copilot, parts.keys).written(parts.written);
    builder.embedded(parts.embedded);
    builder.repeated(&parts.repeated);
    builder.add_warnings(parts.warnings);
    builder.name("name", source.stem());
    builder.describe("description", &parts.body);
    if let Some(value) = builder.as_written("tools") {
        permissions(&mut builder, &value);
    }
    servers::convert_all(&mut builder, "mcp-servers");
    builder.prompt(&parts.body)?;
    if !parts.body.trim().is_empty() {
        builder.mapped("(body)", "systemPrompt");
    }
    // `model` is from copilot's own catalogue and `handoffs` names its own agents: kept, like everything else.
    Ok(builder.finish())
}

fn permissions(builder: &mut PersonaBuilder, value: &Value) {
    let said = values::list(value);
    let mut rules = PermissionRules::default();
    let mut unknown = Vec::new();
    for tool in &said {
        match tools::of_copilot(tool) {
            Some(ours) => ours.into_iter().for_each(|tool| rules.allow(tool)),
            None => unknown.push(tool.clone()),
        }
    }
    if said.is_empty() && value.is_array() {
        rules.deny_unlisted(builder, "tools");
        return rules.write(builder);
    }
    if said.is_empty() || unknown.len() == said.len() {
        return;
    }
    builder.mapped("tools", "permissions.allow");
    let others = tools::unlisted_tools(&rules.allow);
    for tool in &others {
        rules.deny(*tool);
    }
    if !others.is_empty() {
        builder.mapped("tools (those not listed)", "permissions.deny");
    }
    rules.write(builder);
    if !unknown.is_empty() {
        for tool in unknown {
            builder.dropped(&format!("tools.{tool}"), "a tool that only copilot has");
        }
        builder.keep("tools", value.clone());
    }
}
