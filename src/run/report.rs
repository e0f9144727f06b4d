//! Collects what happens in a run; the report is made from it at the end.

use super::outcome::HarnessOutcome;
use crate::exit::Exit;
use crate::model::amounts::counted;
use crate::model::mount::{Backend, Effect, PathRule, Sandbox};
use crate::model::mount_record::MountRecord;
use crate::model::plan::{AgentPlan, RunPlan};
use crate::model::raw_path::RawPath;
use crate::model::report::{
    ApplyStatus, Outcome, ReportedApply, ReportedChange, ReportedCheck, ReportedCommit, ReportedHarness,
    ReportedLeak, ReportedMount, ReportedPersona, ReportedRule, RunReport, Status,
};
use crate::model::secrets::Secrets;
use crate::model::warning::{Warning, WarningCode};
use crate::mount::apply;
use crate::mount::changes::diff::{FileDiff, printable_name, some_names};
use crate::mount::changes::{ProtectedWhy, Review};
use crate::mount::fs::stat::Kind;
use crate::session::Applied;
use crate::session::SessionState;
use crate::session::leaks::Leaks;
use crate::session::status::{HeldBecause, SessionRun};
use jiff::Timestamp;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::Instant;

#[derive(Debug, Clone)]
pub struct ReportBuilder {
    began: Instant,
    started_at: Timestamp,
    /// None until there is a session that stays.
    pub session: Option<String>,
    pub program: Option<PathBuf>,
    pub version: Option<String>,
    pub record: Option<MountRecord>,
    pub outcome: Option<HarnessOutcome>,
    /// What the harness of the last attempt wrote, where it was recorded.
    pub log: Option<PathBuf>,
    pub checks: Vec<ReportedCheck>,
    pub warnings: Vec<Warning>,
    pub leaks: Vec<ReportedLeak>,
    /// Whether one of them is in a file or commit of the agent's, and not only in what it said.
    pub has_leaks_in_work: bool,
    changes: Vec<ReportedChange>,
    protected: Vec<ReportedRule>,
    conflicts: Vec<RawPath>,
    commits: Vec<ReportedCommit>,
    apply: ApplyStatus,
    timings: BTreeMap<String, f64>,
}

impl ReportBuilder {
    pub fn new(plan: &RunPlan, started_at: Timestamp) -> ReportBuilder {
        ReportBuilder {
            began: Instant::now(),
            started_at,
            session: None,
            program: None,
            version: None,
            record: None,
            outcome: None,
            log: None,
            checks: Vec::new(),
            warnings: plan.warnings.clone(),
            leaks: Vec::new(),
            has_leaks_in_work: false,
            changes: Vec::new(),
            protected: Vec::new(),
            conflicts: Vec::new(),
            commits: Vec::new(),
            apply: ApplyStatus::Nothing,
            timings: BTreeMap::new(),
        }
    }

    fn warn(&mut self, code: WarningCode, text: impl Into<String>) {
        self.warnings.push(Warning::new(code, text));
    }

    pub fn timed_as(&mut self, phase: &str, took: std::time::Duration) {
        self.timings.insert(phase.to_owned(), took.as_secs_f64());
    }

    /// How long something took.
    pub fn timed<T>(&mut self, phase: &str, action: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let result = action();
        self.timings.insert(phase.to_owned(), began.elapsed().as_secs_f64());
        result
    }

    /// The harness ran: until its changes are dealt with, they are in the session.
    pub fn holds_work(&mut self) {
        if self.record.as_ref().is_some_and(|record| record.backend != Backend::None) {
            self.apply = ApplyStatus::Held;
        }
    }

    /// What the agent changed, before anything is decided about it.
    pub fn changed(&mut self, review: &Review, diffs: &[FileDiff]) {
        let lines: HashMap<&Path, &FileDiff> =
            diffs.iter().map(|diff| (diff.path.0.as_path(), diff)).collect();
        let change = |change: &crate::mount::changes::Change| {
            let diff = lines.get(change.path.0.as_path());
            let count = |lines: Option<usize>| lines.map(|lines| lines as u64);
            ReportedChange {
                path: change.path.clone(),
                kind: change.kind,
                directory: change.node == Kind::Dir,
                added: diff.and_then(|diff| count(diff.added)),
                removed: diff.and_then(|diff| count(diff.removed)),
                affects_agents: change.affects_agents,
                merged: change.merged.is_some(),
                touched: change.touched,
                applied: false,
            }
        };
        self.changes = review.changes.iter().map(change).collect();
        self.conflicts = review.conflicts().map(|change| change.path.clone()).collect();
        let protected = |protected: &crate::mount::changes::Protected| ReportedRule {
            path: protected.path.clone(),
            rule: match (&protected.rule, protected.why) {
                (Some(rule), _) => rule_text(rule),
                (None, ProtectedWhy::Injected) => "a file of the persona".into(),
                (None, ProtectedWhy::Moved) => "moved to a protected path".into(),
                (None, ProtectedWhy::Hidden) => "hidden".into(),
                (None, ProtectedWhy::Readonly) => "readonly".into(),
            },
        };
        self.protected = review.protected.iter().map(protected).collect();
        self.warnings.extend(not_applied(review));
    }

    /// Values of variables in what the agent left or said.
    pub fn leaked(&mut self, leaks: &Leaks) {
        self.has_leaks_in_work = !leaks.found.is_empty();
        let said = self.outcome.iter().flat_map(|outcome| &outcome.leaked);
        let said = said.map(|variable| (variable.clone(), "the harness's output".to_owned()));
        let left = leaks.found.iter().map(|leak| (leak.variable.clone(), leak.place.clone()));
        self.leaks = left.chain(said).map(|(variable, place)| ReportedLeak { variable, place }).collect();
        for unread in &leaks.unread {
            self.warn(WarningCode::SecretScan, format!("not scanned for secrets: {unread}"));
        }
    }

    /// What became of the changes, as far as that is known.
    pub fn applied(&self) -> ReportedApply {
        ReportedApply { status: self.apply }
    }

    /// What became of the changes.
    pub fn finished(&mut self, applied: Option<&Applied>, state: SessionState) {
        self.apply = match (applied.map(|applied| applied.outcome.status), state) {
            (Some(apply::ApplyResult::Conflict), _) => ApplyStatus::Conflict,
            (Some(apply::ApplyResult::Applied), _) => ApplyStatus::Applied,
            (Some(apply::ApplyResult::Nothing) | None, SessionState::Discarded) => ApplyStatus::Discarded,
            (None, SessionState::Held) => ApplyStatus::Held,
            (Some(apply::ApplyResult::Nothing) | None, _) => ApplyStatus::Nothing,
        };
        let Some(applied) = applied else { return };
        let warnings = applied.warnings.iter();
        self.warnings.extend(warnings.map(|text| Warning::new(WarningCode::NotApplied, text.to_string())));
        let done: HashMap<&RawPath, bool> =
            applied.outcome.applied.iter().map(|change| (&change.path, change.merged.is_some())).collect();
        for change in &mut self.changes {
            change.applied = done.contains_key(&change.path);
            // The file may have changed since it was looked at for the report.
            change.merged = done.get(&change.path).copied().unwrap_or(change.merged);
        }
        let is_open = |path: &&RawPath| !applied.outcome.kept_yours.contains(path);
        let remaining = applied.outcome.remaining.iter().filter(|change| change.conflict.is_some());
        self.conflicts = remaining.map(|change| &change.path).filter(is_open).cloned().collect();
        for branch in &applied.git.exported {
            let reference = branch.reference.0.display().to_string();
            self.commits.extend(branch.commits.iter().map(|commit| ReportedCommit {
                id: commit.id.clone(),
                subject: commit.subject.clone(),
                reference: reference.clone(),
            }));
            let text = if branch.command.contains(" log ") {
                let names = some_names(&branch.differing);
                format!(
                    "the agent's commits are at {reference} and differ from your files ({names}): look at them with `{}`",
                    branch.command
                )
            } else {
                format!("the agent's commits are at {reference}; `{}` takes them over", branch.command)
            };
            self.warn(WarningCode::Commits, text);
        }
        for branch in &applied.git.held {
            let name = branch.branch.0.display();
            self.warn(
                WarningCode::Commits,
                format!("commits on {name} are not taken over: {}", branch.reason),
            );
        }
    }

    /// Notes in the session what its lists show of this run.
    pub fn note(&self, run: &mut SessionRun) {
        if let Some(outcome) = &self.outcome {
            run.status = Some(outcome.status);
            run.reason.clone_from(&outcome.reason);
            run.usage = outcome.usage.clone();
            if run.task.is_none() {
                run.set_task(outcome.said.clone());
            }
        }
        run.changed = self.changes.iter().filter(|change| !change.directory).count() as u64;
        run.added = self.changes.iter().filter_map(|change| change.added).sum();
        run.removed = self.changes.iter().filter_map(|change| change.removed).sum();
        run.held = match (self.apply, run.status) {
            (ApplyStatus::Conflict, _) => Some(HeldBecause::Conflict),
            _ if self.checks.iter().any(|check| check.exit_code != 0) => Some(HeldBecause::CheckFailed),
            (_, Some(Status::Failed)) => Some(HeldBecause::Failed),
            (_, Some(Status::TimedOut)) => Some(HeldBecause::TimedOut),
            (_, Some(Status::Interrupted)) => Some(HeldBecause::Interrupted),
            _ => None,
        };
    }

    /// The report of a run that ended.
    pub fn report(&self, plan: &RunPlan, agent: &AgentPlan, exit: Exit) -> RunReport {
        let outcome = self.outcome.as_ref();
        let outcome = Outcome {
            status: outcome.map_or(Status::NotStarted, |outcome| outcome.status),
            exit_code: exit.code(),
            harness_exit_code: outcome.and_then(|outcome| outcome.harness_exit_code),
            signal: outcome.and_then(|outcome| outcome.signal),
            reason: outcome.and_then(|outcome| outcome.reason.clone()),
        };
        self.with_outcome(plan, agent, outcome)
    }

    /// The report of a run that a failure of our own ended.
    pub fn failure(&self, plan: &RunPlan, agent: &AgentPlan, exit: Exit, reason: String) -> RunReport {
        let outcome = self.outcome.as_ref();
        let (status, interrupted_by) = match exit {
            Exit::Signal(signal) if self.session.is_some() => (Status::Interrupted, Some(signal.into())),
            _ if self.session.is_some() => (Status::Failed, None),
            _ => (Status::NotStarted, None),
        };
        let outcome = Outcome {
            status,
            exit_code: exit.code(),
            harness_exit_code: outcome.and_then(|outcome| outcome.harness_exit_code),
            signal: interrupted_by.or(outcome.and_then(|outcome| outcome.signal)),
            reason: Some(reason),
        };
        self.with_outcome(plan, agent, outcome)
    }

    fn with_outcome(&self, plan: &RunPlan, agent: &AgentPlan, outcome: Outcome) -> RunReport {
        let end = self.outcome.as_ref();
        let mut timings = self.timings.clone();
        timings.insert("total".into(), self.began.elapsed().as_secs_f64());
        RunReport {
            schema_version: 2,
            session: self.session.clone(),
            task: agent.prompt.clone(),
            started_at: self.started_at.to_string(),
            persona: ReportedPersona {
                id: agent.persona.id.clone(),
                name: agent.persona.name.clone(),
                tier: agent.persona.tier,
                origin: agent.persona.origin.describe(),
                version: agent.persona.version.clone(),
            },
            persona_ref: plan.persona_ref.clone(),
            harness: ReportedHarness {
                kind: agent.harness.kind,
                version: self.version.clone(),
                path: self.program.as_ref().map(|path| path.display().to_string()),
                session_id: end.and_then(|end| end.session_id.clone()),
                model: end
                    .and_then(|end| end.model.clone())
                    .or_else(|| agent.model.as_ref().map(|model| model.value.clone())),
            },
            outcome,
            result: end.and_then(|end| end.result.clone()),
            usage: end.map(|end| end.usage.clone()).unwrap_or_default(),
            mount: self.mount(plan),
            changes: self.changes.clone(),
            protected: self.protected.clone(),
            conflicts: self.conflicts.clone(),
            commits: self.commits.clone(),
            checks: self.checks.clone(),
            leaks: self.leaks.clone(),
            apply: ReportedApply { status: self.apply },
            warnings: self.warnings.clone(),
            timings,
        }
    }

    fn mount(&self, plan: &RunPlan) -> ReportedMount {
        let spec = &plan.mount;
        let mounted = self.record.as_ref().is_none_or(|record| record.backend != Backend::None);
        let readonly = spec.rules.iter().filter(|rule| mounted && rule.effect == Effect::Readonly);
        let hidden = self.record.iter().flat_map(|record| &record.hidden);
        ReportedMount {
            backend: self.record.as_ref().map_or(spec.backend, |record| record.backend),
            root: spec.root.display().to_string(),
            sandbox: self.record.as_ref().map_or(Sandbox::Off, |record| match record.backend {
                Backend::None => Sandbox::Off,
                _ => record.sandbox,
            }),
            hidden: hidden
                .map(|hidden| ReportedRule { path: hidden.path.clone(), rule: rule_text(&hidden.rule) })
                .collect(),
            readonly: readonly
                .map(|rule| ReportedRule { path: RawPath::from(&rule.pattern), rule: rule.origin.clone() })
                .collect(),
        }
    }
}

fn rule_text(rule: &PathRule) -> String {
    format!("{} ({})", rule.pattern, rule.origin)
}

/// Why a `.git` of the agent's stays in the session.
pub const DROPPED_GIT: &str =
    "is a repository that the agent made or changed; git directories are never applied";

/// What an apply leaves out whatever is decided, as warnings.
fn not_applied(review: &Review) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut warn = |text: String| warnings.push(Warning::new(WarningCode::NotApplied, text));
    if !review.git_settings.is_empty() {
        warn(format!("the agent wrote {}", git_settings(review)));
    }
    for path in &review.dropped_git {
        warn(format!("{} {DROPPED_GIT}", printable_name(path.as_ref())));
    }
    if review.ignored.count > 0 {
        let count = review.ignored.count;
        warn(format!(
            "not applied: {} that git ignores (`--include-ignored` applies them)",
            counted(count, "changed path")
        ));
    }
    for path in &review.special {
        let name = printable_name(path.as_ref());
        warn(format!("{name} is not a file, directory or link and is not applied"));
    }
    for path in &review.unreadable {
        warn(format!("{} cannot be read, or is too deep, and is not applied", printable_name(path.as_ref())));
    }
    warnings
}

/// The git settings and hooks that the agent wrote, in one line.
pub fn git_settings(found: &Review) -> String {
    let names: Vec<String> = found.git_settings.iter().map(|path| printable_name(path.as_ref())).collect();
    format!("{} (settings and hooks of a repository are never applied)", names.join(", "))
}

/// The report as it is printed and kept: whatever an agent said, no value of a variable is in it.
pub(super) fn without_secrets(report: &RunReport, secrets: &Secrets) -> Value {
    let mut value = serde_json::to_value(report).expect("our own reports always serialise");
    secrets.redact_json(&mut value);
    value
}
