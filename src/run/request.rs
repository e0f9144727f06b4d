//! A run as somebody asks for it: plain data without a command line or a terminal. What it comes to is decided in `prepare`.

use crate::model::inherit::Inherit;
use crate::model::limits::Limits;
use crate::model::mount::{Backend, Sandbox};
use crate::model::plan::{ApplyPolicy, PlannedCheck};
use crate::model::raw_path::RawPath;
use crate::model::run_extras::RunExtras;
use crate::model::selector::Selector;
use crate::model::tier::Harness;
use crate::model::warning::Warning;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What is run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Subject {
    /// The persona's harness.
    Persona(Selector),
    /// Any command, with what this persona would see.
    Command { argv: Vec<RawPath>, persona: Option<Selector> },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunRequest {
    pub subject: Subject,
    /// A task makes the run headless.
    pub task: Option<String>,
    /// The session whose conversation and mount go on.
    pub resume: Option<Resume>,
    /// The directory to mount, if it is not the project around the working directory.
    pub root: Option<PathBuf>,
    pub overrides: Overrides,
    pub view: ViewRequest,
    pub limits: Limits,
    pub checks: Vec<PlannedCheck>,
    /// A session that goes on does so without its checks.
    #[serde(default)]
    pub no_checks: bool,
    pub changes: ChangesRequest,
    /// Refuse instead of warn.
    pub strict: bool,
    /// Run although restrictions of the persona are ignored.
    #[serde(default)]
    pub ignore_unsupported: bool,
    /// Take skills from the cache only.
    pub offline: bool,
    /// Fetch skills again, however young the copy in the cache is.
    #[serde(default)]
    pub refresh_skills: bool,
    /// Whether a person at a terminal can answer questions.
    pub attended: bool,
    /// What was found while the request was made.
    #[serde(default)]
    pub warnings: Vec<Warning>,
    /// Whether stdout is the caller's own: what a command writes there goes to stderr then.
    pub reserve_stdout: bool,
    /// What the caller adds to the persona.
    #[serde(default)]
    pub extras: RunExtras,
}

/// Which session goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Resume {
    /// By its id, or the beginning of it.
    Session(String),
    /// The last conversation in this project.
    Last,
    /// The last one with this persona.
    LastOfPersona,
}

/// What the caller sets instead of the persona.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Overrides {
    pub harness: Option<Harness>,
    /// What is taken over from the repository's own setup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inherit: Option<Vec<Inherit>>,
    /// For those who only look: patterns that a run would be given with its view.
    #[serde(skip)]
    pub reveal: Vec<String>,
    pub model: Option<String>,
    pub inputs: BTreeMap<String, String>,
    /// Passed to the harness as they are.
    pub harness_args: Vec<String>,
}

/// The view of the project that the caller demands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ViewRequest {
    pub backend: Option<Backend>,
    pub sandbox: Option<Sandbox>,
    /// Patterns of built-in hidden paths that are shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reveal: Vec<String>,
    /// The caller's word that persona layers and rule files may be changed.
    #[serde(default)]
    pub allow_layer_changes: bool,
}

/// What is to become of the changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangesRequest {
    /// Asking is the default where somebody can answer.
    pub apply: Option<ApplyPolicy>,
    pub include_ignored: bool,
    /// Whether a file that the user changed, too, is a conflict in any case.
    #[serde(default)]
    pub no_merge: bool,
    pub keep: bool,
}

impl RunRequest {
    /// A run of this subject with everything else left to the persona and the config.
    pub fn new(subject: Subject) -> RunRequest {
        RunRequest {
            subject,
            task: None,
            resume: None,
            root: None,
            overrides: Overrides::default(),
            view: ViewRequest::default(),
            limits: Limits::default(),
            checks: Vec::new(),
            no_checks: false,
            changes: ChangesRequest::default(),
            strict: false,
            ignore_unsupported: false,
            offline: false,
            refresh_skills: false,
            attended: false,
            warnings: Vec::new(),
            reserve_stdout: false,
            extras: RunExtras::default(),
        }
    }

    /// A run of a persona.
    pub fn of(persona: Selector) -> RunRequest {
        RunRequest::new(Subject::Persona(persona))
    }

    /// The persona that decides what is seen, if there is one.
    pub fn persona(&self) -> Option<&Selector> {
        match &self.subject {
            Subject::Persona(selector) => Some(selector),
            Subject::Command { persona, .. } => persona.as_ref(),
        }
    }
}
