//! Removes old sessions that nobody needs any more. What exists only in a session keeps it.

use super::error::SessionError;
use super::sessions::Sessions;
use super::status::SessionState;
use super::store::Session;
use crate::model::amounts::counted;
use crate::mount::changes::{Ignored, Merging, review};
use crate::mount::git::export::export;
use anyhow::Result;
use schemars::JsonSchema;
use serde::Serialize;
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PruneRequest {
    pub older_than: Duration,
    /// Also those with work that was never applied.
    pub force: bool,
    /// Only say what would go.
    pub dry_run: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pruned {
    /// Nothing was removed, only looked at.
    pub dry_run: bool,
    pub removed: Vec<String>,
    /// The disk space that they took.
    pub bytes: u64,
    pub kept: Vec<KeptSession>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeptSession {
    pub session: String,
    pub because: KeptBecause,
    pub reason: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KeptBecause {
    Running,
    Newer,
    /// Something of the agent's work exists only there.
    Work,
    /// An apply was cut off.
    Unfinished,
    Unreadable,
}

impl KeptBecause {
    fn with_reason(self, reason: impl Into<String>) -> (KeptBecause, String) {
        (self, reason.into())
    }
}

/// Why a session stays, or nothing.
type Reason = Option<(KeptBecause, String)>;

impl Sessions<'_> {
    pub fn prune(&self, request: &PruneRequest) -> Result<Pruned> {
        if !request.dry_run {
            self.store.sweep()?;
        }
        let mut pruned = Pruned { dry_run: request.dry_run, ..Pruned::default() };
        for mut session in self.store.all()? {
            let id = session.id.to_string();
            let (because, reason) = match self.may_go(&mut session, request) {
                Ok(None) => {
                    pruned.bytes += session.disk_use(None).unwrap_or_default();
                    if !request.dry_run {
                        self.store.remove(&session)?;
                    }
                    pruned.removed.push(id);
                    continue;
                }
                // Its own runner has removed it.
                Err(_) if !session.exists() => continue,
                Ok(Some(kept)) => kept,
                Err(error) => (KeptBecause::Unreadable, format!("it could not be read: {error:#}")),
            };
            pruned.kept.push(KeptSession { session: id, because, reason });
        }
        Ok(pruned)
    }

    fn may_go(&self, session: &mut Session, request: &PruneRequest) -> Result<Reason> {
        if session.is_live()? {
            return Ok(Some(KeptBecause::Running.with_reason("its runner is at work")));
        }
        if !self.is_older(session, request.older_than)? {
            return Ok(Some(KeptBecause::Newer.with_reason("it is newer than the age given")));
        }
        match session.lock().map_err(anyhow::Error::downcast::<SessionError>) {
            Err(Ok(SessionError::InUse { .. })) => {
                return Ok(Some(KeptBecause::Running.with_reason("another command is at work on it")));
            }
            Err(Ok(error)) => return Err(error.into()),
            Err(Err(error)) => return Err(error),
            Ok(()) => {}
        }
        // Not even by force: files of the user's may be in the stage of a journal that was cut off.
        if session.has_unfinished_journal()? {
            let reason = "an apply was cut off; run `sessions recover` first";
            return Ok(Some(KeptBecause::Unfinished.with_reason(reason)));
        }
        let state = session.entry()?.state;
        if request.force || state == SessionState::Discarded {
            return Ok(None);
        }
        let reason = self.work_in(session, state, request.dry_run)?;
        Ok(reason.map(|reason| KeptBecause::Work.with_reason(reason)))
    }

    /// What of the agent's work is nowhere else. A dry run does not look for commits: keeping them writes to the repository.
    fn work_in(&self, session: &Session, state: SessionState, is_dry_run: bool) -> Result<Option<String>> {
        let because = |reason: &str| Ok(Some(reason.to_owned()));
        if state.is_settled() {
            if session.has_undone_work()? {
                return because("some of its changes were undone and exist only here");
            }
            return only_here(session, is_dry_run);
        }
        match session.review(self.merging)? {
            None if state == SessionState::Undone => because("its changes were undone and exist only here"),
            None => Ok(None),
            Some(review) if review.changes.is_empty() && !review.keeps_something_out() => {
                let commits = if is_dry_run { None } else { self.keep_commits(session)? };
                Ok(commits.or(only_here(session, is_dry_run)?))
            }
            Some(_) => because("it holds changes that were never applied"),
        }
    }

    pub(super) fn is_older(&self, session: &Session, age: Duration) -> Result<bool> {
        let status = session.status().unwrap_or_default();
        let said = status.map(|status| status.ended_at.unwrap_or(status.started_at));
        let seconds = if let Some(time) = said.and_then(|time| time.parse::<jiff::Timestamp>().ok()) {
            self.host.now().as_second() - time.as_second()
        } else {
            let modified = std::fs::metadata(&session.dir)?.modified()?;
            i64::try_from(modified.elapsed().unwrap_or_default().as_secs()).unwrap_or(i64::MAX)
        };
        Ok(seconds >= i64::try_from(age.as_secs()).unwrap_or(i64::MAX))
    }
}

/// What of the agent's work a session that is done with still holds and nobody else has.
fn only_here(session: &Session, is_dry_run: bool) -> Result<Option<String>> {
    let Some(work) = session.work()? else { return Ok(None) };
    let found = review(&work.three_way(Merging::On)?, Ignored::KeepOut)?;
    let kept = found.protected.len() + found.special.len() + found.unreadable.len();
    if kept > 0 {
        return Ok(Some(format!("{} to protected paths exist only in it", counted(kept, "change"))));
    }
    if is_dry_run {
        return Ok(None);
    }
    let exported = export(&session.dir, session.id.as_str(), &work.record, &work.rules)?;
    if let Some(branch) = exported.held.first() {
        let name = branch.branch.0.display();
        return Ok(Some(format!("commits on {name} exist only here: {}", branch.reason)));
    }
    let stashed = session.has_stash(&work.record);
    Ok(stashed.then(|| "a git stash of the agent exists only here".to_owned()))
}
