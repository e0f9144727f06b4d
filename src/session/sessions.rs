//! The sessions of a home: list and show them. What changes a session is in files of its own beside this one.
//! Nothing is parsed or printed here.

use super::entry::SessionEntry;
use super::store::{Session, SessionStore};
use crate::host::Host;
use crate::model::mount_record::MountRecord;
use crate::model::raw_path::RawPath;
use crate::mount::CrashPoints;
use crate::mount::apply::journal::{Journal, State};
use crate::mount::apply::{self, Recovered};
use crate::mount::changes::{Ignored, Merging, Review};
use anyhow::Result;
use schemars::JsonSchema;
use serde::Serialize;

/// The sessions of a home, and what their actions depend on.
pub struct Sessions<'a> {
    pub store: &'a SessionStore,
    pub host: &'a Host,
    pub crash_points: &'a CrashPoints,
    pub merging: Merging,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Shown {
    #[serde(flatten)]
    pub entry: SessionEntry,
    pub directory: RawPath,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mount: Option<MountRecord>,
    /// `None` when the mount is gone or never was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<Review>,
    /// Why there is no review although there is a mount.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    pub journals: Vec<JournalEntry>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JournalEntry {
    pub number: u32,
    pub is_undo: bool,
    pub applied: bool,
    pub unfinished: bool,
    pub paths: Vec<RawPath>,
    /// Those of them that a later undo of some paths took back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undone: Vec<RawPath>,
}

impl<'a> Sessions<'a> {
    /// For what compares no files.
    pub fn plain(store: &'a SessionStore, host: &'a Host, crash_points: &'a CrashPoints) -> Sessions<'a> {
        Sessions { store, host, crash_points, merging: Merging::On }
    }
}

impl Sessions<'_> {
    pub fn list(&self) -> Result<Vec<SessionEntry>> {
        self.store.list()
    }

    pub fn show(&self, wanted: &str) -> Result<Shown> {
        let session = self.store.find(wanted)?;
        let (review, problem) = match session.review(self.merging) {
            Ok(review) => (review, None),
            Err(error) => (None, Some(format!("{error:#}"))),
        };
        let journals = Journal::all(&session.dir)?.iter().map(journal_entry).collect();
        Ok(Shown {
            entry: session.entry()?,
            directory: session.dir.clone().into(),
            mount: session.record()?,
            review,
            problem,
            journals,
        })
    }

    /// Ends applies and undos that a killed process left unfinished.
    pub(super) fn end_journals(&self, session: &Session) -> Result<Vec<Recovered>> {
        self.store.with_context(session, self.crash_points, apply::recover)
    }
}

fn journal_entry(journal: &Journal) -> JournalEntry {
    JournalEntry {
        number: journal.number,
        is_undo: !journal.purpose.applies(),
        applied: journal.state == State::Done,
        unfinished: !journal.state.is_finished(),
        paths: journal.operations.iter().map(|operation| operation.path.clone()).collect(),
        undone: journal
            .operations
            .iter()
            .filter(|operation| operation.taken_back)
            .map(|operation| operation.path.clone())
            .collect(),
    }
}

pub(super) fn ignored(include: bool) -> Ignored {
    if include { Ignored::Include } else { Ignored::KeepOut }
}

#[cfg(test)]
#[path = "sessions_tests.rs"]
mod tests;
