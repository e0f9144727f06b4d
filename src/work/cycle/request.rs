//! A piece of work as somebody asks for it, and what it came to. Plain values.

use crate::exit::Exit;
use crate::model::contract::{Contract, ValidationCommand};
use crate::model::plan::ApplyPolicy;
use crate::model::report::ApplyStatus;
use crate::model::selector::Selector;
use crate::model::verdict::{AttemptStrategy, Check, Ruling, Signal, Verdict};
use crate::run::request::{Overrides, ViewRequest};
use crate::run::{Observer, RunRequest};
use crate::work::contract::Standing;
use crate::work::evidence::Execution;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A contract and who works under it.
#[derive(Debug, Clone)]
pub struct WorkRequest {
    pub contract: Contract,
    /// Of the file, or of the contract that the flags make.
    pub sha256: String,
    pub standing: Standing,
    pub persona: Selector,
    pub view: ViewRequest,
    pub apply: Option<ApplyPolicy>,
    pub commit: bool,
    pub uses_base: bool,
    pub offline: bool,
    pub attended: bool,
    /// The session that goes on, with its history.
    pub resume: Option<Resumption>,
}

/// A session that goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resumption {
    pub session: String,
    /// How many attempts it gets from now on.
    pub attempts: Option<u32>,
}

/// What a session keeps of its work, so that another process can go on with it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeptWork {
    pub schema_version: u32,
    pub contract: Contract,
    pub sha256: String,
    pub persona: String,
    pub commit: bool,
    pub uses_base: bool,
    pub view: ViewRequest,
    /// Hidden tests, absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holdout: Option<PathBuf>,
}

/// Names of files in a session.
pub const CONTRACT_FILE: &str = "contract.json";
pub const HISTORY_FILE: &str = "history.json";
pub const VERDICT_FILE: &str = "verdict.json";
/// The directory that is lent to the worker, and its report in it.
pub const REPORT_DIR: &str = "report";
pub const WORKER_REPORT_FILE: &str = "report.json";

impl WorkRequest {
    /// The request for a run, without what only an attempt knows.
    pub fn run_request(&self, task: String) -> RunRequest {
        let harness = self.contract.mode.harness();
        let mut request = RunRequest {
            task: Some(task),
            overrides: Overrides { harness, ..Overrides::default() },
            view: self.view.clone(),
            offline: self.offline,
            attended: self.attended,
            ..RunRequest::of(self.persona.clone())
        };
        request.changes.apply = self.apply;
        request.limits.wall_seconds = self.contract.budgets.wall_seconds;
        request.limits.idle_seconds = Some(self.contract.budgets.stall_seconds);
        request.limits.usd = self.contract.budgets.usd;
        request
    }
}

/// Something that happened in the work besides what happens in its runs.
#[derive(Debug)]
pub enum WorkEvent<'a> {
    AttemptStarted {
        number: u32,
        of: u32,
        strategy: AttemptStrategy,
        /// The part that is being worked on.
        subtask: Option<&'a str>,
    },
    CommandEnded {
        command: &'a ValidationCommand,
        execution: &'a Execution,
    },
    Measured {
        number: u32,
        checks: &'a [Check],
        signal: &'a Signal,
    },
    /// Another persona is asked.
    Asking {
        role: &'static str,
        persona: &'a str,
    },
    Note(&'a str),
}

/// Is told what happens in the work and in its runs.
pub trait WorkObserver: Observer {
    fn work(&mut self, event: &WorkEvent<'_>);
}

/// What a piece of work came to.
#[derive(Debug)]
pub struct FinishedWork {
    pub verdict: Verdict,
    /// The verdict as it is printed and kept, without values of secrets.
    pub value: serde_json::Value,
    /// Why it ended, in a few lines.
    pub reason: Option<String>,
    pub exit: Exit,
    pub executions: Vec<Execution>,
    pub contract: Contract,
    /// A commit that was made of it.
    pub commit: Option<String>,
}

/// The exit code of a ruling. `applied` is what became of the changes.
pub fn exit_of(ruling: Ruling, is_noop: bool, applied: Exit) -> Exit {
    match ruling {
        Ruling::Approve => applied,
        Ruling::Skipped if is_noop => Exit::Done,
        Ruling::RequestChanges | Ruling::Escalated | Ruling::Skipped => Exit::Failed,
        Ruling::Advisor => Exit::Refused,
    }
}

/// How an apply status is to be read where nothing was applied.
pub fn status_of(is_held: bool) -> ApplyStatus {
    if is_held { ApplyStatus::Held } else { ApplyStatus::Nothing }
}
