//! What a plan is made from: the wishes of the caller, the facts of the place, and the persona with its texts.

use super::mount::{MountFlags, MountPlace};
use crate::model::decided::InputValue;
use crate::model::inherit::PlannedInherit;
use crate::model::limits::{LimitObstacles, Limits};
use crate::model::mount_facts::MountFacts;
use crate::model::persona::McpServer;
use crate::model::plan::{ApplyPolicy, ChangePolicy, Conversation, PersonaRef, PlannedCheck};
use crate::model::run_extras::RunExtras;
use crate::model::settings::Settings;
use crate::model::warning::Warning;
use crate::resolve::persona::ResolvedPersona;
use crate::resolve::role::RolePart;
use crate::resolve::select::Selection;
use crate::resolve::sidecar::Sidecar;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// What the command line asks of this run.
#[derive(Debug, Clone, Default)]
pub struct RunFlags {
    /// A task makes the run headless.
    pub prompt: Option<String>,
    pub limits: Limits,
    pub mount: MountFlags,
    pub resume: Option<Conversation>,
    /// Passed to the harness as they are.
    pub extra_args: Vec<String>,
    pub checks: Vec<PlannedCheck>,
    pub apply: Option<ApplyPolicy>,
    pub include_ignored: bool,
    pub no_merge: bool,
    pub keep: bool,
    pub strict: bool,
    pub ignore_unsupported: bool,
    pub offline: bool,
    pub refresh_skills: bool,
    /// Whether a person at a terminal can answer questions.
    pub attended: bool,
    /// What the caller adds to the persona.
    pub extras: RunExtras,
}

impl RunFlags {
    /// Asking is the default where somebody can answer.
    pub fn changes(&self, settings: &Settings) -> ChangePolicy {
        let default = if self.attended { ApplyPolicy::Ask } else { ApplyPolicy::Auto };
        let Self { include_ignored, keep, .. } = *self;
        let merge = !self.no_merge && settings.mount.merge.unwrap_or(true);
        ChangePolicy { apply: self.apply.unwrap_or(default), include_ignored, merge, keep }
    }
}

/// What was found out about the world for this run.
#[derive(Debug, Clone, Default)]
pub struct RunFacts {
    pub env: BTreeMap<String, String>,
    pub home: Option<PathBuf>,
    pub place: MountPlace,
    /// Where the project layer comes from, if not from the working tree.
    pub persona_ref: Option<PersonaRef>,
    /// MCP servers that would start a file of the working tree while the persona comes from a commit, with that file.
    pub untrusted_servers: BTreeMap<String, String>,
    /// What is inherited of the repository's own setup, and what was found of it.
    pub inherit: PlannedInherit,
    pub setup: FoundSetup,
    /// Local skills of the persona that are not there, by id.
    pub missing_skills: Vec<String>,
    /// What was found on the way.
    pub warnings: Vec<Warning>,
    pub obstacles: Obstacles,
}

/// What there is of the repository's own setup that goes into the configuration of the harness.
#[derive(Debug, Clone, Default)]
pub struct FoundSetup {
    pub servers: BTreeMap<String, McpServer>,
    /// Names of the user's own MCP servers.
    pub users_servers: BTreeSet<String>,
    /// By event, as the files of this harness have them.
    pub hooks: serde_json::Map<String, serde_json::Value>,
    /// Names of MCP servers that claude would start, and that are neither the user's nor the repository's: those of directories
    /// above it, and what an agent wrote into a mount that is used again.
    pub foreign_servers: Vec<String>,
    /// There may be more of them than can be named.
    pub has_unclear_servers: bool,
}

/// What was found that may be in the way of a run.
#[derive(Debug, Clone, Default)]
pub struct Obstacles {
    /// Files that may restrict the run and cannot be read.
    pub unreadable: Vec<String>,
    /// Why the root cannot be mounted.
    pub root: Option<String>,
    /// What the machine allows, where a level or the overlay is demanded.
    pub mount: Option<MountFacts>,
    /// Which limits a control group cannot hold, where one is demanded.
    pub limits: LimitObstacles,
}

/// The persona of this run, decided, with the texts that were read for it.
pub struct RunParts<'a> {
    pub resolved: &'a ResolvedPersona,
    pub selection: &'a Selection,
    pub role: Option<RolePart>,
    pub inputs: &'a [InputValue],
    /// The chosen sidecar with its text; `None` where there is none or its file is missing.
    pub sidecar: Option<(&'a Sidecar, String)>,
    pub settings: &'a Settings,
}
