//! Removes old sessions that nobody needs any more. What exists only in a session keeps it.

use super::sessions::Sessions;
use super::status::SessionState;
use super::store::Session;
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
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pruned {
    pub removed: Vec<String>,
    pub kept: Vec<KeptSession>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeptSession {
    pub session: String,
    pub reason: String,
}

impl Sessions<'_> {
    pub fn prune(&self, request: &PruneRequest) -> Result<Pruned> {
        self.store.sweep()?;
        let mut pruned = Pruned::default();
        for mut session in self.store.all()? {
            let id = session.id.clone();
            match self.may_go(&mut session, request) {
                Ok(None) => {
                    self.store.remove(&session)?;
                    pruned.removed.push(id.to_string());
                }
                // Its own runner has removed it.
                Err(_) if !session.exists() => {}
                Ok(Some(reason)) => pruned.kept.push(KeptSession { session: id.to_string(), reason }),
                Err(error) => {
                    let reason = format!("it could not be read: {error:#}");
                    pruned.kept.push(KeptSession { session: id.to_string(), reason });
                }
            }
        }
        Ok(pruned)
    }

    /// Why a session stays, or `None`.
    fn may_go(&self, session: &mut Session, request: &PruneRequest) -> Result<Option<String>> {
        let because = |reason: &str| Ok(Some(reason.to_owned()));
        if session.is_live()? {
            return because("its runner is at work");
        }
        if !self.is_older(session, request.older_than)? {
            return because("it is newer than the age given");
        }
        session.lock()?;
        // Not even by force: files of the user's may be in the stage of a journal that was cut off.
        if session.has_unfinished_journal()? {
            return because("an apply was cut off; run `sessions recover` first");
        }
        let state = session.entry()?.state;
        if request.force || state == SessionState::Discarded {
            return Ok(None);
        }
        if state.is_settled() {
            if session.has_undone_work()? {
                return because("some of its changes were undone and exist only here");
            }
            return only_here(session);
        }
        match session.review(self.merging)? {
            None if state == SessionState::Undone => because("its changes were undone and exist only here"),
            None => Ok(None),
            Some(review) if review.changes.is_empty() && !review.keeps_something_out() => {
                Ok(self.keep_commits(session)?.or(only_here(session)?))
            }
            Some(_) => because("it holds changes that were never applied"),
        }
    }

    fn is_older(&self, session: &Session, age: Duration) -> Result<bool> {
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
fn only_here(session: &Session) -> Result<Option<String>> {
    let Some(work) = session.work()? else { return Ok(None) };
    let found = review(&work.three_way(Merging::On)?, Ignored::KeepOut)?;
    let kept = found.protected.len() + found.special.len() + found.unreadable.len();
    if kept > 0 {
        return Ok(Some(format!("{kept} change(s) to protected paths exist only here")));
    }
    let exported = export(&session.dir, session.id.as_str(), &work.record, &work.rules)?;
    if let Some(branch) = exported.held.first() {
        let name = branch.branch.0.display();
        return Ok(Some(format!("commits on {name} exist only here: {}", branch.reason)));
    }
    let stashed = session.has_stash(&work.record);
    Ok(stashed.then(|| "a git stash of the agent exists only here".to_owned()))
}
