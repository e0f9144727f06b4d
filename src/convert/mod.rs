//! Other tools' agent files as personas, and personas as theirs: text in, documents and an account of every field out.
//! Pure: finding, reading and writing files is the commands' business.

use crate::harness::AgentFile;
use crate::model::shape::Object;

mod account;
mod carried;
mod claude;
mod codex;
mod copilot;
mod cut;
pub mod detect;
pub mod export;
mod frontmatter;
mod goose;
mod jsonc;
mod minions;
pub mod names;
mod opencode;
mod permission;
mod servers;
mod tools;
mod values;
mod yaml;

pub use account::{Account, Fate, FieldFate};
pub use carried::CarriedRole;

/// A tool whose agent files we read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    Claude,
    Opencode,
    Codex,
    Goose,
    Copilot,
    Minions,
}

impl Format {
    pub fn name(self) -> &'static str {
        match self {
            Format::Claude => "claude",
            Format::Opencode => "opencode",
            Format::Codex => "codex",
            Format::Goose => "goose",
            Format::Copilot => "copilot",
            Format::Minions => "minions",
        }
    }

    /// The harness that serves what is imported; a tool that we do not launch is served by claude.
    fn harness(self) -> &'static str {
        match self {
            Format::Opencode => "opencode",
            Format::Codex => "codex",
            Format::Claude | Format::Goose | Format::Copilot | Format::Minions => "claude",
        }
    }
}

impl From<AgentFile> for Format {
    fn from(file: AgentFile) -> Format {
        match file {
            AgentFile::ClaudeMarkdown => Format::Claude,
            AgentFile::OpencodeMarkdown => Format::Opencode,
            AgentFile::CodexToml => Format::Codex,
        }
    }
}

/// One file to convert.
pub struct Source<'a> {
    /// Where it was found, with `/` between its parts: names and places tell what a file is.
    pub path: &'a str,
    /// The same, seen from the directory that was named.
    pub below: &'a str,
    pub text: &'a str,
    /// The text of a file that this one names, seen from its directory, or why it cannot be had.
    pub nearby: &'a dyn Fn(&str) -> Result<String, Missing>,
}

/// Why a file that another one names cannot be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing {
    /// It is not there.
    Absent,
    /// It is there or not: nothing outside of what is imported is looked at.
    Outside,
    Unreadable(String),
}

impl std::fmt::Display for Missing {
    fn fmt(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Missing::Absent => formatter.write_str("is not there"),
            Missing::Outside => formatter.write_str("is outside of what is imported and was not read"),
            Missing::Unreadable(why) => formatter.write_str(why),
        }
    }
}

impl<'a> Source<'a> {
    pub fn file_name(&self) -> &'a str {
        self.path.rsplit('/').next().unwrap_or(self.path)
    }

    /// The file's name without what only says what kind of file it is.
    fn stem(&self) -> &'a str {
        let mut stem = self.file_name();
        for ending in [".md", ".mdc", ".markdown", ".toml", ".yaml", ".yml", ".json", ".jsonc"] {
            stem = stem.strip_suffix(ending).unwrap_or(stem);
        }
        for ending in [".agent", ".chatmode", ".config", ".recipe"] {
            stem = stem.strip_suffix(ending).unwrap_or(stem);
        }
        stem
    }
}

/// A persona document with the account of where its fields come from.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    pub persona: Object,
    pub fields: Vec<FieldFate>,
    pub warnings: Vec<String>,
    /// A role that comes with it.
    pub role: Option<RoleDraft>,
}

/// A role document under its key.
#[derive(Debug, Clone, PartialEq)]
pub struct RoleDraft {
    pub key: String,
    pub role: Object,
    pub fields: Vec<FieldFate>,
    pub warnings: Vec<String>,
}

/// What one file holds. A part that cannot be used is named with the reason and does not stop the others.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Converted {
    pub drafts: Vec<Draft>,
    pub roles: Vec<RoleDraft>,
    pub refused: Vec<String>,
    /// Fields of the file that belong to none of its agents.
    pub fields: Vec<FieldFate>,
}

impl Converted {
    fn one(draft: Result<Draft, String>) -> Converted {
        match draft {
            Ok(mut draft) => {
                let roles = draft.role.take().into_iter().collect();
                Converted { drafts: vec![draft], roles, ..Converted::default() }
            }
            Err(reason) => Converted { refused: vec![reason], ..Converted::default() },
        }
    }
}

/// Reads a file as this format. `Err` says why nothing of it can be read.
pub fn convert(format: Format, source: &Source) -> Result<Converted, String> {
    match format {
        Format::Claude => Ok(Converted::one(claude::convert(source))),
        Format::Opencode => opencode::convert(source),
        Format::Codex => codex::convert(source),
        Format::Goose => Ok(Converted::one(goose::convert(source))),
        Format::Copilot => Ok(Converted::one(copilot::convert(source))),
        Format::Minions => minions::convert(source),
    }
}
