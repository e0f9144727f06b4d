//! GitHub Copilot's custom agents: markdown with frontmatter, the body is the prompt.

use super::draft::Draft;
use super::format::{Format, Source};
use super::permission_rules::PermissionRules;
use super::persona_builder::PersonaBuilder;
use super::tools::COPILOT;
use super::{frontmatter, models, servers, values};
use serde_json::Value;

pub fn convert(source: &Source) -> Result<Draft, String> {
    let parts = frontmatter::read(source.text);
    let mut builder = PersonaBuilder::new(Format::Copilot, parts.keys).written(parts.written);
    builder.embedded(parts.embedded);
    builder.repeated(&parts.repeated);
    builder.add_warnings(parts.warnings);
    builder.name("name", source.stem());
    builder.describe("description", &parts.body);
    models::take(&mut builder);
    if let Some(value) = builder.as_written("tools") {
        permissions(&mut builder, &value);
    }
    servers::convert_all(&mut builder, "mcp-servers");
    builder.prompt(&parts.body)?;
    if !parts.body.trim().is_empty() {
        builder.mapped("(body)", "systemPrompt");
    }
    // `handoffs` names copilot's own agents: kept, like everything else.
    Ok(builder.finish())
}

fn permissions(builder: &mut PersonaBuilder, value: &Value) {
    let said = values::list(value);
    let mut rules = PermissionRules::default();
    if said.is_empty() && value.is_array() {
        rules.deny_unlisted(builder, "tools");
    } else if !said.is_empty() {
        rules.limit_to(builder, "tools", &said, &COPILOT);
    }
    rules.write(builder);
}
