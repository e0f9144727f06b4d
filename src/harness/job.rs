//! What an adapter is given and what it returns. Adapters translate; they neither choose nor start anything.

use crate::model::demand::Demand;
use crate::model::inherit::PlannedInherit;
use crate::model::limits::Limits;
use crate::model::mount::HarnessConfig;
use crate::model::persona::{HarnessSettings, McpServer, Permissions};
use crate::model::plan::{Conversation, Enforcement, EnforcementLevel, FileBody, Mode, PlannedFile};
use crate::model::run_extras::RunExtras;
use crate::model::template::Template;
use crate::model::warning::{Warning, WarningCode};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The system prompt in the session directory.
pub const SYSTEM_PROMPT: &str = "system-prompt.md";
/// The schema of the final answer, beside it.
pub const OUTPUT_SCHEMA: &str = "output-schema.json";

/// A run, decided, in terms of the persona.
pub struct Job<'a> {
    pub persona_id: &'a str,
    pub mode: Mode,
    pub system_prompt: &'a str,
    pub model: Option<&'a str>,
    pub settings: &'a HarnessSettings,
    pub permissions: &'a Permissions,
    pub limits: Limits,
    /// Servers that can be started: what their references need is set.
    pub mcp_servers: &'a BTreeMap<String, McpServer>,
    /// Whether some of them are the persona's own.
    pub own_servers: bool,
    /// Names of inherited servers, those of the user included, that the persona's `allow` says nothing of.
    pub inherited_servers: &'a [String],
    /// What is taken over from the repository's own setup.
    pub inherit: &'a PlannedInherit,
    /// Hooks of the repository, by event, as the harness's own files have them.
    pub hooks: &'a Map<String, Value>,
    /// MCP servers in files above the project, by name, that must not be started.
    pub foreign_servers: &'a [String],
    /// There may be more of them than can be named: none but those of this run may be started.
    pub has_unclear_servers: bool,
    pub has_skills: bool,
    pub resume: Option<&'a Conversation>,
    /// What the user passes to the harness as it is.
    pub own_args: &'a [String],
    /// Whether it sees anything of the repository's own setup.
    pub shows_setup: bool,
    /// The length of the persona's own instruction file, if the mount has it.
    pub sidecar_bytes: Option<usize>,
    pub bare: bool,
    pub hermetic: bool,
    /// The child's working directory, relative to the root.
    pub cwd: &'a Path,
    /// The mounted directory; with a private mount the harness sees it at `{mount}`.
    pub root: &'a Path,
    pub mounted: bool,
    /// The root is the top level of a git repository: some harnesses look no further up in that case.
    pub root_is_repository: bool,
    /// The user's configuration of the harness is protected: the sandbox level is `strict`.
    pub protects_config: bool,
    /// The user's home directory, for harness state that has to stay reachable.
    pub home: Option<&'a PathBuf>,
    /// The user's environment, for variables that say where a harness keeps its state. No value of a persona's variable may
    /// get from here into a plan.
    pub env: &'a BTreeMap<String, String>,
    /// What the caller of the run adds.
    pub extras: &'a RunExtras,
}

/// A run in the terms of one harness.
#[derive(Debug, Default)]
pub struct HarnessPlan {
    pub args: Vec<Template>,
    pub env: BTreeMap<String, Template>,
    pub files: Vec<PlannedFile>,
    /// Where it looks for skills.
    pub skills_path: Option<Template>,
    /// Where the harness keeps its own state and nothing else; a path that does not exist is ignored.
    pub state: Vec<PathBuf>,
    /// Where it keeps its configuration, with or without state.
    pub config: Vec<HarnessConfig>,
    pub enforcement: Vec<Enforcement>,
    pub warnings: Vec<Warning>,
    /// Whether it runs its commands in a sandbox of its own, made of namespaces.
    pub has_sandbox: bool,
    /// Why the harness does not read the persona's sidecar, if it does not.
    pub sidecar_unread: Option<&'static str>,
}

impl Job<'_> {
    /// The inherited servers whose tools have to be allowed. At a terminal the harness asks; in a headless run nobody would answer,
    /// and a persona that inherits servers is meant to use them.
    pub fn allowed_servers(&self) -> &[String] {
        match self.mode {
            Mode::Headless => self.inherited_servers,
            Mode::Interactive => &[],
        }
    }

    /// What becomes of the tools of inherited servers.
    pub fn inherited_tools(&self) -> &'static str {
        match self.mode {
            Mode::Headless => {
                "their tools run unless the persona's permissions deny them, or allow only some"
            }
            Mode::Interactive => "their tools are subject to the persona's permissions",
        }
    }
}

impl HarnessPlan {
    pub fn arg(&mut self, arg: impl Into<String>) {
        self.args.push(Template::text(arg));
    }

    pub fn option(&mut self, flag: &str, value: impl Into<String>) {
        self.arg(flag);
        self.arg(value);
    }

    /// `--flag=value`, for a value of a persona: whatever it begins with, it is no option.
    pub fn value(&mut self, flag: &str, value: &str) {
        self.arg(format!("{flag}={value}"));
    }

    pub fn option_at(&mut self, flag: &str, value: Template) {
        self.arg(flag);
        self.args.push(value);
    }

    pub fn enforced(&mut self, field: Demand, how: impl Into<String>) {
        self.row(field, EnforcementLevel::Enforced, how);
    }

    pub fn advisory(&mut self, field: Demand, how: impl Into<String>) {
        self.row(field, EnforcementLevel::Advisory, how);
    }

    pub fn unsupported(&mut self, field: Demand, how: impl Into<String>) {
        self.row(field, EnforcementLevel::Unsupported, how);
    }

    fn row(&mut self, field: Demand, level: EnforcementLevel, how: impl Into<String>) {
        self.enforcement.push(Enforcement { field, level, how: how.into() });
    }

    /// One row for every demand that the persona makes.
    pub fn unsupported_if_set<const N: usize>(&mut self, demands: [(Demand, bool); N], how: &str) {
        for (field, _) in demands.into_iter().filter(|(_, is_set)| *is_set) {
            self.unsupported(field, how);
        }
    }

    pub fn warn(&mut self, code: WarningCode, message: impl Into<String>) {
        self.warnings.push(Warning::new(code, message));
    }

    /// A file in the session directory.
    pub fn session_file(&mut self, path: &str, purpose: &str, content: Template) {
        self.files.push(PlannedFile {
            path: Template::session(path),
            purpose: purpose.into(),
            body: FileBody::Content(content),
        });
    }

    /// An empty directory in the session directory.
    pub fn session_directory(&mut self, path: &str, purpose: &str) {
        self.files.push(PlannedFile {
            path: Template::session(path),
            purpose: purpose.into(),
            body: FileBody::Directory(true),
        });
    }

    /// The schema of the final answer as a file; `None` where none is asked for.
    pub fn schema_file(&mut self, job: &Job) -> Option<Template> {
        let schema = job.extras.output_schema.as_ref().filter(|_| job.mode == Mode::Headless)?;
        self.session_file(OUTPUT_SCHEMA, "schema of the answer", Template::text(format!("{schema:#}\n")));
        Some(Template::session(OUTPUT_SCHEMA))
    }

    /// The system prompt as a file: large prompts do not fit on a command line.
    pub fn system_prompt_file(&mut self, job: &Job) {
        self.session_file(SYSTEM_PROMPT, "system prompt", Template::text(job.system_prompt));
    }

    /// Settings that only codex has, on another harness.
    pub fn codex_settings(&mut self, job: &Job) {
        let settings = job.settings;
        let bypass = settings.dangerously_bypass_approvals_and_sandbox;
        let demands = [
            (Demand::SandboxMode, settings.sandbox_mode.is_some()),
            (Demand::ApprovalPolicy, settings.approval_policy.is_some()),
            (Demand::NetworkAccess, settings.workspace_write_network_access.is_some()),
            (Demand::WebSearch, settings.web_search.is_some()),
            (Demand::BypassApprovalsAndSandbox, bypass.is_some()),
        ];
        self.unsupported_if_set(demands, "a setting of codex");
    }
}
