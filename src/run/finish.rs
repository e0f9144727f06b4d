//! Decides about the changes of a run and applies, keeps or discards them.

use super::observer::{Decider, Decision, Offer, Signals};
use super::open::OpenRun;
use super::report::without_secrets;
use super::review::merging;
use crate::exit::Exit;
use crate::model::mount::{Backend, LayerChanges};
use crate::model::plan::{ApplyPolicy, Mode};
use crate::model::verdict::Ruling;
use crate::model::warning::{Warning, WarningCode};
use crate::mount::SignalInbox;
use crate::mount::apply::Selection;
use crate::mount::changes::diff::printable_name;
use crate::mount::changes::{Change, Review, ThreeWay};
use crate::mount::fs::stat::{Kind, Stat};
use crate::session::SessionState;
use crate::session::status::{HeldBecause, SessionRun};
use crate::session::{Applied, ApplyRequest, Sessions};
use anyhow::Result;
use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::time::Instant;

/// Why changes are held at a terminal that nobody could be asked at.
const NOBODY_TO_ASK: &str = "the run is in the background of its terminal, so nobody could be asked: the work is held until you apply \
     it; `--apply auto` applies without a question";

/// Whether the changes may be applied at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApplyGate {
    /// As the plan says.
    Open,
    /// They are held, whatever the plan says.
    Closed,
}

/// What became of the changes.
#[derive(Debug)]
pub struct Changes {
    /// `None` where nothing was applied.
    pub applied: Option<Applied>,
    /// The signal that ended the question about them; they are kept.
    pub interrupted_by: Option<i32>,
    /// Held until a person looks: nobody could be asked, or what would have been applied unasked changes what agents may do.
    pub needs_approval: bool,
    pub state: SessionState,
}

impl Changes {
    /// What this means for the exit code.
    pub fn exit(&self) -> Exit {
        match self.interrupted_by {
            Some(signal) => Exit::Signal(u8::try_from(signal).unwrap_or(0)),
            None if self.needs_approval => Exit::Conflict,
            None => self.applied.as_ref().map_or(Exit::Done, Applied::exit),
        }
    }
}

impl OpenRun<'_> {
    /// Asks the plan, and where it says so the decider, what becomes of the changes, and does it.
    pub fn finish_changes(&mut self, gate: ApplyGate, decider: &mut dyn Decider) -> Result<Changes> {
        let _step = tracing::info_span!("finish").entered();
        let began = Instant::now();
        let mut changes = Changes {
            applied: None,
            interrupted_by: None,
            needs_approval: false,
            state: SessionState::Nothing,
        };
        if self.mount.record.backend != Backend::None {
            let decision = self.decision(gate, decider)?;
            tracing::info!(?decision, "decided about the changes");
            changes.needs_approval = match decision {
                Decision::Keep => self.needs_approval(gate)?,
                Decision::NobodyToAsk => {
                    self.report.warnings.push(Warning::new(WarningCode::NotApplied, NOBODY_TO_ASK));
                    true
                }
                _ => false,
            };
            self.carry_out(decision, &mut changes)?;
            self.engine.crash_points.at("settled");
        }
        self.report.timed_as("apply", began.elapsed());
        changes.state = self.session.entry()?.state;
        self.report.finished(changes.applied.as_ref(), changes.state);
        Ok(changes)
    }

    /// What is decided holds for what was looked at, and for nothing that has become a change since.
    fn decision(&mut self, gate: ApplyGate, decider: &mut dyn Decider) -> Result<Decision> {
        let mut decision = self.decide(gate, decider)?;
        if let (Decision::Apply(selection), Some(reviewed)) = (&mut decision, &self.reviewed) {
            let paths = reviewed.review.changes.iter().map(|change| change.path.0.clone());
            selection.shown = Some(paths.collect());
            // What was verified holds for what was looked at, too.
            if self.run.flags.extras.work.is_some() && selection.seen.is_empty() {
                selection.seen = seen(&reviewed.work.three_way(reviewed.merging)?, &reviewed.review)?;
            }
        }
        Ok(decision)
    }

    fn decide(&mut self, gate: ApplyGate, decider: &mut dyn Decider) -> Result<Decision> {
        let policy = match gate {
            ApplyGate::Open => self.run.plan.changes.apply,
            ApplyGate::Closed => ApplyPolicy::Never,
        };
        if policy == ApplyPolicy::Auto && self.succeeded() && !self.needs_approval(gate)? {
            return Ok(Decision::Apply(Selection::all()));
        }
        self.reviewed()?;
        let Some(reviewed) = &self.reviewed else { return Ok(Decision::Keep) };
        match policy {
            // Nothing to hold back: the session ends the same way as after a success.
            ApplyPolicy::Auto | ApplyPolicy::Never if reviewed.review.changes.is_empty() => {
                Ok(Decision::Apply(Selection::all()))
            }
            ApplyPolicy::Auto | ApplyPolicy::Never => Ok(Decision::Keep),
            ApplyPolicy::Ask => {
                let sides = &reviewed.work.three_way(reviewed.merging)?;
                let (session, scratch) = (self.session.id.as_str(), self.session.dir.as_path());
                let review = &reviewed.review;
                let seen = seen(sides, review)?;
                let offer = Offer { session, scratch, review, sides };
                let mut decision = decider.decide(&offer, &mut self.signals)?;
                if let Decision::Apply(selection) = &mut decision {
                    selection.seen = seen;
                }
                Ok(decision)
            }
        }
    }

    /// Whether changes that would be applied without a question are ones that a person has to see first.
    fn needs_approval(&mut self, gate: ApplyGate) -> Result<bool> {
        let plan = &self.run.plan;
        if gate == ApplyGate::Closed || plan.changes.apply != ApplyPolicy::Auto || !self.succeeded() {
            return Ok(false);
        }
        // Where layers are protected, configuration of harnesses may still be there.
        let reviews_layers = plan.mount.layer_changes != LayerChanges::Allowed;
        let Some(reviewed) = self.reviewed()? else { return Ok(false) };
        let mut reasons = Vec::new();
        if reviews_layers && let Some(names) = first_of(reviewed.review.affecting_agents()) {
            reasons.push(format!(
                "{names} would change what agents may do: the work is held until you apply it, or pass `--allow-layer-changes`"
            ));
        }
        if let Some(names) = first_of(reviewed.review.touched()) {
            reasons.push(format!(
                "you saved and restored {names} while the agent had it, so its version may hold lines that you took back: the work is held until you apply it"
            ));
        }
        let is_held = !reasons.is_empty();
        for text in reasons {
            let warning = Warning::new(WarningCode::NotApplied, text);
            if !self.report.warnings.contains(&warning) {
                self.report.warnings.push(warning);
            }
        }
        Ok(is_held)
    }

    fn carry_out(&self, decision: Decision, changes: &mut Changes) -> Result<()> {
        // Once more: checks have run since.
        self.places.check()?;
        let engine = self.engine;
        let host = self.host();
        match decision {
            Decision::Apply(selection) => {
                let policy = self.run.plan.changes;
                let request = ApplyRequest {
                    session: self.session.id.to_string(),
                    selection,
                    include_ignored: policy.include_ignored,
                    keep: policy.keep,
                    unverified: true,
                };
                let sessions = Sessions {
                    store: &engine.store,
                    host,
                    crash_points: &engine.crash_points,
                    merging: merging(policy.merge),
                };
                changes.applied = Some(sessions.apply_locked(&self.session, &request)?);
            }
            Decision::Keep | Decision::NobodyToAsk => {}
            Decision::Interrupted(signal) => changes.interrupted_by = Some(signal),
            Decision::Discard => {
                self.session.set_state(host, SessionState::Discarded)?;
                self.session.remove_mount(&engine.crash_points)?;
            }
        }
        Ok(())
    }

    /// The exit code of the run.
    pub fn exit(&self, changes: &Changes) -> Exit {
        let mode = self.run.plan.agent().map_or(Mode::Interactive, |agent| agent.mode);
        let outcome = self.report.outcome.as_ref();
        outcome.map_or(Exit::Internal, |outcome| outcome.exit(mode, changes.exit()))
    }

    /// Notes in the session what became of the run.
    pub fn note_end(&self, changes: &Changes) -> Result<()> {
        self.session.update_status(|status| {
            let Some(run) = status.runs.last_mut() else { return };
            self.note_run(run);
            // What a command changed is not in a report.
            let applied = changes.applied.iter().flat_map(|applied| &applied.outcome.applied);
            let reviewed = self.reviewed.iter().flat_map(|reviewed| &reviewed.review.changes);
            run.changed = run.changed.max(files(applied)).max(files(reviewed));
            if changes.state == SessionState::Held {
                let why = match self.run.plan.changes.apply {
                    _ if changes.needs_approval => HeldBecause::NeedsApproval,
                    ApplyPolicy::Never => HeldBecause::Requested,
                    ApplyPolicy::Ask | ApplyPolicy::Auto => HeldBecause::Kept,
                };
                run.held = run.held.or(Some(why));
            }
        })
    }

    /// Notes in the session what its work was found to be.
    pub fn note_verdict(&self, ruling: Ruling) -> Result<()> {
        self.session.update_status(|status| {
            if let Some(work) = &mut status.work {
                work.verdict = Some(ruling);
            }
            if let Some(run) = status.runs.last_mut().filter(|_| ruling != Ruling::Approve) {
                run.held = Some(HeldBecause::NotApproved);
            }
        })
    }

    /// What is known of the run so far, without values of secrets.
    pub(super) fn note_run(&self, run: &mut SessionRun) {
        self.report.note(run);
        for text in [&mut run.reason, &mut run.task] {
            *text = text.as_ref().map(|text| self.secrets.redact(text));
        }
    }

    /// Keeps the report of an agent in the session.
    pub fn write_report(&self, exit: Exit, name: &str) -> Result<()> {
        if let Some(agent) = self.run.plan.agent() {
            let report = self.report.report(&self.run.plan, agent, exit);
            self.session.write_json(name, &without_secrets(&report, &self.secrets))?;
        }
        Ok(())
    }
}

fn files<'a>(changes: impl Iterator<Item = &'a Change>) -> u64 {
    changes.filter(|change| change.node != Kind::Dir).count() as u64
}

/// The agent's side of what is about to be looked at.
fn seen(sides: &ThreeWay<'_>, review: &Review) -> Result<BTreeMap<PathBuf, Option<Stat>>> {
    let seen = |change: &Change| Ok((change.path.0.clone(), sides.mount.stat(&change.path)?));
    review.changes.iter().map(seen).collect()
}

/// The first path of some changes, and how many more there are.
fn first_of<'a>(mut changes: impl Iterator<Item = &'a Change>) -> Option<String> {
    let first = printable_name(changes.next()?.path.as_ref());
    Some(match changes.count() {
        0 => first,
        more => format!("{first} and {more} more"),
    })
}

impl Signals for SignalInbox {
    fn take(&mut self) -> Vec<i32> {
        SignalInbox::take(self)
    }

    fn wake_fd(&self) -> BorrowedFd<'_> {
        SignalInbox::wake_fd(self)
    }
}
