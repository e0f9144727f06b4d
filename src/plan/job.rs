//! What an adapter is given and what it hands back. Adapters translate; they neither choose nor start anything.

use crate::model::persona::{HarnessSettings, Limits, McpServer, Permissions};
use crate::model::plan::{Conversation, Enforcement, EnforcementLevel, Mode, PlannedFile};
use crate::model::template::Template;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A run, decided, in terms that no harness knows yet.
pub struct Job<'a> {
    pub persona_id: &'a str,
    pub mode: Mode,
    pub system_prompt: &'a str,
    pub model: Option<&'a str>,
    pub settings: &'a HarnessSettings,
    pub permissions: &'a Permissions,
    pub limits: Limits,
    /// Servers whose references can all be had, or at least the required ones.
    pub mcp_servers: &'a BTreeMap<String, McpServer>,
    pub has_skills: bool,
    pub resume: Option<&'a Conversation>,
    /// The persona's own instruction file and whether the mount carries it.
    pub sidecar_bytes: Option<usize>,
    pub bare: bool,
    pub hermetic: bool,
    /// The child's working directory, relative to the root.
    pub cwd: &'a Path,
    /// The mounted directory; with a private mount the harness sees it at `{mount}`.
    pub root: &'a Path,
    pub mounted: bool,
    /// The root is the top level of a git repository: some harnesses look no further up then.
    pub root_is_repository: bool,
    /// The user's home directory, for harness state that has to stay reachable.
    pub home: Option<&'a PathBuf>,
    /// The user's own `CODEX_HOME`, if set.
    pub codex_home: Option<&'a str>,
}

/// A run in the terms of one harness.
#[derive(Debug, Default)]
pub struct HarnessPlan {
    pub program: &'static str,
    pub args: Vec<Template>,
    pub env: BTreeMap<String, Template>,
    pub files: Vec<PlannedFile>,
    /// Where it looks for skills.
    pub skills_path: Option<Template>,
    /// Where the harness keeps its own state; what is not there is passed over.
    pub state: Vec<PathBuf>,
    pub enforcement: Vec<Enforcement>,
    pub warnings: Vec<String>,
}

impl HarnessPlan {
    pub fn new(program: &'static str) -> HarnessPlan {
        HarnessPlan { program, ..HarnessPlan::default() }
    }

    pub fn arg(&mut self, arg: impl Into<String>) {
        self.args.push(Template::text(arg));
    }

    pub fn option(&mut self, flag: &str, value: impl Into<String>) {
        self.arg(flag);
        self.arg(value);
    }

    pub fn option_at(&mut self, flag: &str, value: Template) {
        self.arg(flag);
        self.args.push(value);
    }

    pub fn enforced(&mut self, field: &str, how: impl Into<String>) {
        self.row(field, EnforcementLevel::Enforced, how);
    }

    pub fn advisory(&mut self, field: &str, how: impl Into<String>) {
        self.row(field, EnforcementLevel::Advisory, how);
    }

    pub fn unsupported(&mut self, field: &str, how: impl Into<String>) {
        self.row(field, EnforcementLevel::Unsupported, how);
    }

    fn row(&mut self, field: &str, level: EnforcementLevel, how: impl Into<String>) {
        self.enforcement.push(Enforcement { field: field.to_owned(), level, how: how.into() });
    }

    pub fn warn(&mut self, text: impl Into<String>) {
        self.warnings.push(text.into());
    }
}
