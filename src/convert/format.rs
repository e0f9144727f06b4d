//! The tools whose agent files are read, and one file of them.

use crate::harness::AgentFile;

/// A tool whose agent files are imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    Claude,
    Opencode,
    Codex,
    Goose,
    Copilot,
    Kiro,
    Minions,
}

impl Format {
    pub const ALL: [Format; 7] = [
        Format::Claude,
        Format::Opencode,
        Format::Codex,
        Format::Goose,
        Format::Copilot,
        Format::Kiro,
        Format::Minions,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Format::Claude => "claude",
            Format::Opencode => "opencode",
            Format::Codex => "codex",
            Format::Goose => "goose",
            Format::Copilot => "copilot",
            Format::Kiro => "kiro",
            Format::Minions => "minions",
        }
    }

    /// Whether it is the format of a harness that runs here. Its agents have the first choice of names.
    pub fn is_of_a_harness(self) -> bool {
        matches!(self, Format::Claude | Format::Opencode | Format::Codex)
    }

    /// The harness of an imported persona; claude for tools that cannot be launched.
    pub fn harness(self) -> &'static str {
        match self {
            Format::Opencode => "opencode",
            Format::Codex => "codex",
            Format::Claude | Format::Goose | Format::Copilot | Format::Kiro | Format::Minions => "claude",
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

/// How an import came to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The user named the file itself, so it is an agent whatever it looks like.
    Named,
    /// It is below a directory that the user named.
    Found,
}

/// One file to convert.
pub struct Source<'a> {
    /// Its path with `/` as separator: names and directories show what kind of file it is.
    pub path: &'a str,
    /// The same, relative to the directory that the user named.
    pub below: &'a str,
    pub text: &'a str,
    /// Reads a file that this one names, relative to its directory.
    pub nearby: &'a dyn Fn(&str) -> Result<String, Missing>,
}

/// Why a file that another one names is not available.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing {
    /// It does not exist.
    Absent,
    /// It is outside of what is imported, where nothing is read.
    Outside,
    Unreadable(String),
}

impl std::fmt::Display for Missing {
    fn fmt(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Missing::Absent => formatter.write_str("does not exist"),
            Missing::Outside => formatter.write_str("is outside of what is imported and was not read"),
            Missing::Unreadable(why) => formatter.write_str(why),
        }
    }
}

impl<'a> Source<'a> {
    pub fn file_name(&self) -> &'a str {
        self.path.rsplit('/').next().unwrap_or(self.path)
    }

    /// The file's name without its endings.
    pub fn stem(&self) -> &'a str {
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
