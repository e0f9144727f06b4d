//! Converts other tools' agent files to personas and back: text in, documents and a record of every field out.
//! Pure: finding, reading and writing files is done by the commands.

mod braces;
mod claude;
mod codex;
mod copilot;
pub mod detect;
mod draft;
mod embedded_persona;
pub mod export;
mod format;
mod frontmatter;
mod goose;
mod jsonc;
mod kiro;
mod limits;
mod minions;
mod models;
pub mod names;
mod opencode;
mod opencode_permission;
mod permission_rules;
mod persona_builder;
mod places;
mod servers;
pub mod setup_servers;
pub mod split_frontmatter;
mod text;
mod toml_keys;
mod tool_switches;
mod tools;
mod values;
pub mod yaml;

pub use draft::{Converted, Draft, Fate, FieldFate, RoleDraft};
pub use embedded_persona::EmbeddedRole;
pub use format::{Format, Missing, Origin, Source};

/// Reads a file in this format. `Err` is the reason why nothing of it can be read.
pub fn convert(format: Format, source: &Source) -> Result<Converted, String> {
    match format {
        Format::Claude => Ok(Converted::single(claude::convert(source))),
        Format::Opencode => opencode::convert(source),
        Format::Codex => codex::convert(source),
        Format::Goose => Ok(Converted::single(goose::convert(source))),
        Format::Copilot => Ok(Converted::single(copilot::convert(source))),
        Format::Kiro => Ok(Converted::single(kiro::convert(source))),
        Format::Minions => minions::convert(source),
    }
}
