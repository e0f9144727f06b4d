//! The report of a session's last run as far as it is shown again. What is missing in a report of an older version is empty.

use super::store::Session;
use crate::model::report::{Outcome, ReportedChange, ReportedCheck, ReportedCommit, Usage};
use anyhow::Result;
use serde::Deserialize;

pub const REPORT_FILE: &str = "report.json";

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct KeptReport {
    pub task: Option<String>,
    pub result: Option<String>,
    pub persona: KeptPersona,
    pub harness: KeptHarness,
    pub outcome: Option<Outcome>,
    pub usage: Usage,
    pub changes: Vec<ReportedChange>,
    pub checks: Vec<ReportedCheck>,
    pub commits: Vec<ReportedCommit>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct KeptPersona {
    pub tier: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct KeptHarness {
    pub kind: Option<String>,
    pub model: Option<String>,
}

/// What was said, and nothing else: a search must not keep a whole report.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Said {
    pub task: Option<String>,
    pub result: Option<String>,
}

impl Session {
    /// `None` for a command, and for a run that has not ended.
    pub fn report(&self) -> Result<Option<KeptReport>> {
        self.read_json(REPORT_FILE)
    }
}
