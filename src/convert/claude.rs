//! Claude Code's subagents: markdown with frontmatter, the body is the prompt.

use super::draft::Draft;
use super::format::{Format, Source};
use super::persona_builder::PersonaBuilder;
use super::{frontmatter, limits, models, servers};

pub fn convert(source: &Source) -> Result<Draft, String> {
    let parts = frontmatter::read(source.text);
    let has_block = parts.has_block;
    let (mut builder, body) = PersonaBuilder::of_markdown(Format::Claude, parts);
    if !has_block && !body.trim().is_empty() {
        builder.warn("it has no frontmatter: its name is that of the file, and the whole text is the prompt");
    }
    builder.name("name", source.stem());
    builder.description_or_first_sentence("description", &body);
    models::take(&mut builder);
    limits::take(&mut builder);
    builder.move_text("effort", "harnessSettings.reasoning");
    servers::convert_all(&mut builder, "mcpServers");
    builder.prompt(&body)?;
    if !body.trim().is_empty() {
        builder.mapped("(body)", "systemPrompt");
    }
    Ok(builder.finish())
}
