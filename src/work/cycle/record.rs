//! What a session keeps of its work: contract, history, verdict. Each is written as a whole, so that a kill leaves the one before.

use super::request::{CONTRACT_FILE, HISTORY_FILE, KeptWork, VERDICT_FILE, WorkRequest};
use crate::model::contract::Contract;
use crate::run::open::OpenRun;
use crate::session::Session;
use crate::work::history::History;
use anyhow::{Context, Result};
use serde_json::Value;
use std::path::Path;

impl KeptWork {
    pub fn of(request: &WorkRequest, contract: &Contract, holdout: Option<&Path>) -> KeptWork {
        KeptWork {
            schema_version: 1,
            contract: contract.clone(),
            sha256: request.sha256.clone(),
            persona: request.persona.to_string(),
            commit: request.commit,
            uses_base: request.uses_base,
            view: request.view.clone(),
            holdout: holdout.map(Path::to_path_buf),
        }
    }

    /// What a session keeps; `None` if it is no work.
    pub fn read(session: &Session) -> Result<Option<KeptWork>> {
        session.read_json(CONTRACT_FILE).context("the contract of the session cannot be read")
    }

    pub fn write(&self, open: &OpenRun<'_>) -> Result<()> {
        open.session().write_json(CONTRACT_FILE, &open.redacted(self)?)
    }
}

/// The history that a session has; an empty one if it was killed before there was any.
pub fn read_history(session: &Session) -> Result<History> {
    let kept = session.read_json(HISTORY_FILE).context("the history of the session cannot be read")?;
    Ok(kept.unwrap_or_default())
}

pub fn write_history(open: &OpenRun<'_>, history: &History) -> Result<()> {
    open.session().write_json(HISTORY_FILE, &open.redacted(history)?)
}

pub fn write_verdict(open: &OpenRun<'_>, verdict: &Value) -> Result<()> {
    open.session().write_json(VERDICT_FILE, verdict)
}
