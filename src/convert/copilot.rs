//! GitHub Copilot's custom agents: markdown with frontmatter, the body is the prompt.

use super::draft::Draft;
use super::format::{Format, Source};
use super::persona_builder::PersonaBuilder;
use super::{frontmatter, limits, models, servers};

pub fn convert(source: &Source) -> Result<Draft, String> {
    let (mut builder, body) = PersonaBuilder::of_markdown(Format::Copilot, frontmatter::read(source.text));
    builder.name("name", source.stem());
    builder.description_or_first_sentence("description", &body);
    models::take(&mut builder);
    limits::take(&mut builder);
    servers::convert_all(&mut builder, "mcp-servers");
    builder.prompt(&body)?;
    if !body.trim().is_empty() {
        builder.mapped("(body)", "systemPrompt");
    }
    // `handoffs` names copilot's own agents: kept, like everything else.
    Ok(builder.finish())
}
