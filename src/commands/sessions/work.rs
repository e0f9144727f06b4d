//! What `sessions list|show|diff|apply|discard|undo|redo|recover|prune` do, as functions from typed requests to typed results.
//! Nothing is parsed or printed here.

use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::host::Host;
use crate::model::mount_record::{GitRecord, MountRecord};
use crate::model::raw_path::RawPath;
use crate::mount::CrashPoints;
use crate::mount::apply::journal::{Journal, State};
use crate::mount::apply::{self, ApplyOutcome, ApplyResult, Recovered, Selection, UndoOutcome};
use crate::mount::changes::diff::{FileDiff, diff};
use crate::mount::changes::{Ignored, Review, review};
use crate::mount::git::export::{GitExport, export};
use crate::session::store::SessionEntry;
use crate::session::{Session, SessionState, SessionStore};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::PathBuf;
use std::time::Duration;

/// Where sessions are, and what stands for the machine.
pub struct Sessions<'a> {
    pub store: &'a SessionStore,
    pub host: &'a Host,
    pub crash_points: &'a CrashPoints,
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
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApplyRequest {
    pub session: String,
    pub selection: Selection,
    pub include_ignored: bool,
    /// Keep the mount after all is applied.
    pub keep: bool,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Applied {
    pub session: String,
    pub state: SessionState,
    pub outcome: ApplyOutcome,
    pub git: GitExport,
    pub mount_removed: bool,
    pub warnings: Vec<String>,
}

impl Applied {
    pub fn exit(&self) -> Exit {
        if self.outcome.status == ApplyResult::Conflict { Exit::Conflict } else { Exit::Done }
    }
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Undone {
    pub session: String,
    pub state: SessionState,
    pub outcome: UndoOutcome,
}

impl Undone {
    pub fn exit(&self) -> Exit {
        match self.outcome.status {
            apply::UndoStatus::Undone | apply::UndoStatus::Redone => Exit::Done,
            apply::UndoStatus::Nothing => Exit::Usage,
            apply::UndoStatus::Conflict => Exit::Conflict,
        }
    }
}

#[derive(Debug, Default)]
pub struct Recovery {
    pub recovered: Vec<RecoveredSession>,
    /// Sessions of runners that live; they are left alone.
    pub running: Vec<String>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecoveredSession {
    pub session: String,
    pub state: SessionState,
    pub journals: Vec<Recovered>,
    /// How many changes wait to be applied.
    pub changes: usize,
    pub conflicts: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

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
    pub fn list(&self) -> Result<Vec<SessionEntry>> {
        self.store.list()
    }

    pub fn show(&self, wanted: &str) -> Result<Shown> {
        let session = self.store.find(wanted)?;
        let (review, problem) = match review_of(&session) {
            Ok(review) => (review, None),
            Err(error) => (None, Some(whole(&error))),
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

    /// The diffs of a session, or of what is at or below one path.
    pub fn diff(
        &self,
        wanted: &str,
        below: Option<&PathBuf>,
        include_ignored: bool,
    ) -> Result<Vec<FileDiff>> {
        let session = self.store.find(wanted)?;
        let work = session.work()?.ok_or_else(|| mount_is_gone(&session))?;
        let sides = work.three_way()?;
        let review = review(&sides, ignored(include_ignored))?;
        Ok(diff(&sides, &review, below.map(PathBuf::as_path))?)
    }

    pub fn apply(&self, request: &ApplyRequest) -> Result<Applied> {
        let mut session = self.store.find(&request.session)?;
        session.lock()?;
        self.apply_locked(&session, request)
    }

    /// For the runner, which holds the session already.
    pub fn apply_locked(&self, session: &Session, request: &ApplyRequest) -> Result<Applied> {
        self.end_journals(session)?;
        let work = session.work()?.ok_or_else(|| mount_is_gone(session))?;
        let sides = work.three_way()?;
        let outcome = self.store.with_context(session, self.crash_points, |context| {
            apply::apply(context, &sides, &request.selection, ignored(request.include_ignored))
        })?;
        let mut warnings: Vec<String> = Vec::new();
        for path in request.selection.unknown(&outcome.review) {
            warnings.push(format!("no change of the agent is at `{}`", path.display()));
        }
        self.crash_points.at("apply: ended");
        let mut git = GitExport::default();
        let mut has_unknown_commits = false;
        if outcome.status != ApplyResult::Conflict {
            match export(&session.dir, session.id.as_str(), &work.record, &work.rules) {
                Ok(export) => git = export,
                Err(error) => {
                    has_unknown_commits = true;
                    warnings.push(format!("the agent's commits could not be looked at: {error:#}"));
                }
            }
        }
        let is_complete = outcome.status != ApplyResult::Conflict && outcome.remaining.is_empty();
        let state = match (is_complete, outcome.status) {
            (false, _) => SessionState::Held,
            (true, ApplyResult::Nothing) if !was_applied(session)? => SessionState::Nothing,
            (true, _) => SessionState::Applied,
        };
        self.crash_points.at("apply: commits kept");
        session.set_state(self.host, state)?;
        self.crash_points.at("apply: state written");
        // What was kept out exists nowhere else, so the mount stays with it until the session is pruned.
        let stashed = has_stash(session, &work.record);
        if stashed {
            warnings.push("a stash of the agent's stays in the session".into());
        }
        let keeps_something =
            outcome.review.keeps_something_out() || !git.held.is_empty() || has_unknown_commits || stashed;
        let mount_removed = is_complete && !request.keep && !keeps_something;
        drop(sides);
        if mount_removed {
            session.remove_mount(self.crash_points)?;
            self.crash_points.at("apply: mount removed");
        }
        Ok(Applied { session: session.id.to_string(), state, outcome, git, mount_removed, warnings })
    }

    /// The agent's work goes; what was applied of it before stays applied and can still be undone.
    pub fn discard(&self, wanted: &str) -> Result<SessionEntry> {
        let mut session = self.store.find(wanted)?;
        session.lock()?;
        self.end_journals(&session)?;
        session.set_state(self.host, SessionState::Discarded)?;
        session.remove_mount(self.crash_points)?;
        let mut entry = session.entry()?;
        entry.live = false;
        Ok(entry)
    }

    pub fn undo(&self, wanted: &str) -> Result<Undone> {
        let mut session = self.store.find(wanted)?;
        session.lock()?;
        self.end_journals(&session)?;
        let outcome = self.store.with_context(&session, self.crash_points, apply::undo)?;
        if outcome.status == apply::UndoStatus::Undone && outcome.earlier == 0 {
            session.set_state(self.host, SessionState::Undone)?;
        }
        let state = session.entry()?.state;
        Ok(Undone { session: session.id.to_string(), state, outcome })
    }

    /// Applies again what an undo took back, with or without the mount.
    pub fn redo(&self, wanted: &str) -> Result<Undone> {
        let mut session = self.store.find(wanted)?;
        session.lock()?;
        self.end_journals(&session)?;
        let outcome = self.store.with_context(&session, self.crash_points, apply::redo)?;
        if outcome.status == apply::UndoStatus::Redone {
            let waits = review_of(&session)?.is_some_and(|review| !review.changes.is_empty());
            let state = if waits { SessionState::Held } else { SessionState::Applied };
            session.set_state(self.host, state)?;
        }
        let state = session.entry()?.state;
        Ok(Undone { session: session.id.to_string(), state, outcome })
    }

    /// One session, or all whose runner died or whose journal is not ended. Live sessions are left alone.
    pub fn recover(&self, wanted: Option<&str>) -> Result<Recovery> {
        let mut sessions = match wanted {
            Some(wanted) => vec![self.store.find(wanted)?],
            None => {
                self.store.sweep()?;
                self.store.all()?
            }
        };
        let mut recovery = Recovery::default();
        for session in &mut sessions {
            if wanted.is_none() && session.is_live_after_a_moment()? {
                recovery.running.push(session.id.to_string());
                continue;
            }
            let entry = session.entry()?;
            let needs_it = entry.state == SessionState::Interrupted
                || session.has_unfinished_journal().unwrap_or(true)
                || (entry.state == SessionState::Held && is_applied_without_saying(session));
            if wanted.is_none() && !needs_it {
                continue;
            }
            match session.lock().and_then(|()| self.recover_one(session)) {
                Ok(recovered) => recovery.recovered.push(recovered),
                // Its runner was about to remove it, and has.
                Err(_) if wanted.is_none() && !session.exists() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(recovery)
    }

    fn recover_one(&self, session: &Session) -> Result<RecoveredSession> {
        let mut result = RecoveredSession {
            session: session.id.to_string(),
            state: SessionState::Held,
            journals: Vec::new(),
            changes: 0,
            conflicts: 0,
            problem: None,
        };
        match self.end_journals(session) {
            Ok(journals) => result.journals = journals,
            Err(error) => result.problem = Some(whole(&error)),
        }
        let mut was_reviewed = false;
        match review_of(session) {
            Ok(Some(review)) => {
                was_reviewed = true;
                result.changes = review.changes.len();
                result.conflicts = review.conflicts().count();
                let was_applied = was_applied(session)?;
                result.state = match (review.changes.is_empty(), was_applied) {
                    (true, true) => SessionState::Applied,
                    (true, false) if !review.keeps_something_out() => SessionState::Nothing,
                    _ => SessionState::Held,
                };
            }
            Ok(None) => {
                let said = session.status()?.map_or(SessionState::Nothing, |status| status.state);
                result.state = if said.is_active() { SessionState::Nothing } else { said };
            }
            Err(error) => result.problem = Some(whole(&error)),
        }
        session.set_state(self.host, result.state)?;
        if was_reviewed && matches!(result.state, SessionState::Applied | SessionState::Nothing) {
            // No file waits, but the agent's commits may still be only in the mount.
            match self.keep_commits(session) {
                Ok(problem) => result.problem = result.problem.or(problem),
                Err(error) => result.problem = Some(whole(&error)),
            }
        }
        Ok(result)
    }

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
                    let reason = format!("it could not be looked at: {}", whole(&error));
                    pruned.kept.push(KeptSession { session: id.to_string(), reason });
                }
            }
        }
        Ok(pruned)
    }

    /// The commits of a session whose files are all applied or never changed; what could not be kept.
    fn keep_commits(&self, session: &Session) -> Result<Option<String>> {
        let rest = ApplyRequest { session: session.id.to_string(), keep: true, ..ApplyRequest::default() };
        let applied = self.apply_locked(session, &rest)?;
        let held = applied.git.held.first().map(|branch| format!("commits are held: {}", branch.reason));
        Ok(applied.warnings.into_iter().next().or(held))
    }

    /// Why a session stays, or `None`.
    fn may_go(&self, session: &mut Session, request: &PruneRequest) -> Result<Option<String>> {
        let because = |reason: &str| Ok(Some(reason.to_owned()));
        if session.is_live()? {
            return because("its runner is at work");
        }
        if !self.is_older(session, request.older_than)? {
            return because("it is too young");
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
            return only_here(session);
        }
        match review_of(session)? {
            None if state == SessionState::Undone => {
                because("its changes were taken back and exist only here")
            }
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

    fn end_journals(&self, session: &Session) -> Result<Vec<Recovered>> {
        Ok(self.store.with_context(session, self.crash_points, apply::recover)?)
    }
}

/// What of the agent's work a session that is done with still holds and nobody else has.
fn only_here(session: &Session) -> Result<Option<String>> {
    let Some(work) = session.work()? else { return Ok(None) };
    let found = review(&work.three_way()?, Ignored::KeepOut)?;
    let kept = found.protected.len() + found.special.len() + found.unreadable.len();
    if kept > 0 {
        return Ok(Some(format!("{kept} change(s) to protected paths exist only here")));
    }
    let exported = export(&session.dir, session.id.as_str(), &work.record, &work.rules)?;
    if let Some(branch) = exported.held.first() {
        let name = branch.branch.0.display();
        return Ok(Some(format!("commits on {name} exist only here: {}", branch.reason)));
    }
    let stashed = has_stash(session, &work.record);
    Ok(stashed.then(|| "a stash of the agent's exists only here".to_owned()))
}

/// Whether the agent put something aside with git; a stash of the user's own is not in an upper directory.
fn has_stash(session: &Session, record: &MountRecord) -> bool {
    let stash = |git: &GitRecord| session.dir.join(&git.data).join("refs/stash");
    let theirs = |git: &GitRecord| git.common_dir.join("refs/stash");
    let content = |path: PathBuf| std::fs::read(path).ok();
    record.git.iter().any(|git| {
        let own = content(stash(git));
        own.is_some() && own != content(theirs(git))
    })
}

fn review_of(session: &Session) -> Result<Option<Review>> {
    match session.work()? {
        None => Ok(None),
        Some(work) => Ok(Some(review(&work.three_way()?, Ignored::KeepOut)?)),
    }
}

/// Killed between the end of an apply and the note of it.
fn is_applied_without_saying(session: &Session) -> bool {
    was_applied(session).unwrap_or(false)
        && review_of(session).is_ok_and(|review| review.is_some_and(|review| review.changes.is_empty()))
}

fn was_applied(session: &Session) -> Result<bool> {
    let journals = Journal::all(&session.dir)?;
    Ok(journals.iter().any(|journal| journal.purpose.applies() && journal.state == State::Done))
}

fn journal_entry(journal: &Journal) -> JournalEntry {
    JournalEntry {
        number: journal.number,
        is_undo: !journal.purpose.applies(),
        applied: journal.state == State::Done,
        unfinished: !journal.state.is_finished(),
        paths: journal.operations.iter().map(|operation| operation.path.clone()).collect(),
    }
}

fn ignored(include: bool) -> Ignored {
    if include { Ignored::Include } else { Ignored::KeepOut }
}

fn mount_is_gone(session: &Session) -> CommandError {
    let error = CommandError::usage(format!("session `{}` has no mount any more", session.id));
    match session.entry().map(|entry| entry.state) {
        Ok(SessionState::Undone) => {
            error.hint(format!("`agentworkforce sessions redo {}` applies again what was undone", session.id))
        }
        _ => error
            .hint("its work was applied, taken back or discarded; `agentworkforce sessions show` says which"),
    }
}

fn whole(error: &CommandError) -> String {
    std::iter::once(&error.message).chain(&error.causes).map(String::as_str).collect::<Vec<_>>().join(": ")
}

#[cfg(test)]
#[path = "work_tests.rs"]
mod tests;
