//! One attempt: the harness or command runs once in the open mount, and leaves a record of its own in `attempts/<n>/`.

use super::conversation::ConversationNote;
use super::error::{Place, RunError};
use super::observer::{Live, Observer, RunEvent};
use super::open::OpenRun;
use super::outcome::HarnessOutcome;
use super::persona_parts::PersonaParts;
use super::recorder::Recorder;
use super::records::{RunRecords, Seen};
use super::version::VersionQuestion;
use super::view::{self, Base};
use crate::files::regular;
use crate::harness::adapter;
use crate::harness::transcript::Span;
use crate::host::Host;
use crate::launch::record::{EVENTS_FILE, LOG_FILE};
use crate::launch::{headless, staging};
use crate::model::event::RecordedEvent;
use crate::model::plan::{AgentPlan, Mode, PlannedSubject, RunPlan};
use crate::model::raw_path::RawPath;
use crate::model::template::Hole;
use crate::model::warning::{Warning, WarningCode};
use crate::mount::process::attend::{TimeLimits, limit_of};
use crate::mount::{ChangedFiles, ChildCommand, ChildStdio, MountError};
use crate::plan::run as plan_run;
use crate::session::SessionState;
use anyhow::{Context, Result};
use serde_json::json;
use std::ffi::OsString;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

pub(super) const ATTEMPTS_DIR: &str = "attempts";
pub(super) const TASK_FILE: &str = "task.md";
pub(super) const COMMAND_FILE: &str = "command.json";
/// Larger records of events are not read as a whole.
const MOST_EVENTS: u64 = 80 << 20;
pub(super) const OUTCOME_FILE: &str = "outcome.json";

/// What an attempt asks of the harness.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// The task; `None` for an interactive run or a command.
    pub prompt: Option<String>,
    pub conversation: ConversationChoice,
    /// Variables of this attempt alone.
    pub env: Vec<(String, OsString)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConversationChoice {
    /// As the plan says: a new one, or the one that is resumed.
    Planned,
    /// A new one, in the same mount.
    New,
    /// The one of the last attempt.
    Same,
}

impl Ask {
    /// What the plan asks for.
    pub fn planned(plan: &RunPlan) -> Ask {
        let prompt = plan.agent().and_then(|agent| agent.prompt.clone());
        Ask { prompt, conversation: ConversationChoice::Planned, env: Vec::new() }
    }
}

impl OpenRun<'_> {
    /// Runs the harness or command once and stays with it to the end.
    pub fn attempt(&mut self, ask: &Ask, observer: &mut dyn Observer) -> Result<HarnessOutcome> {
        let result = self.make_attempt(ask, observer);
        if let Err(error) = &result {
            self.keep_or_remove(error);
        }
        result
    }

    fn make_attempt(&mut self, ask: &Ask, observer: &mut dyn Observer) -> Result<HarnessOutcome> {
        let (number, dir) = self.new_attempt_dir()?;
        let _step = tracing::info_span!("attempt", number).entered();
        let replanned = self.replanned(ask);
        let agent = replanned.as_ref().or_else(|| self.run.plan.agent()).cloned();
        let begins = self.begin_conversation(agent.as_ref(), ask.conversation)?;
        let mut command = match (&agent, &self.run.plan.subject) {
            (Some(agent), _) => {
                if replanned.is_some() {
                    staging::write_files(agent, &self.session.dir)?;
                }
                self.agent_command(agent)?
            }
            (None, PlannedSubject::Command(command)) => {
                let word = |word: &RawPath| OsString::from(word.0.as_os_str());
                self.plain_command(command.argv.iter().map(word).collect())
            }
            (None, PlannedSubject::Agent(_)) => unreachable!("an agent has its plan"),
        };
        command.env.extend(ask.env.iter().map(|(name, value)| (name.into(), Some(value.clone()))));
        self.env.clone_from(&command.env);
        self.record(
            &dir,
            COMMAND_FILE,
            &json!({"schemaVersion": 1, "startedAt": self.host().now().to_string(), "argv": words(&command)}),
        )?;
        if let (Some(_), None) = (&agent, &self.version) {
            // Not before everything is in place: some take longer to answer than all of that.
            let home = &self.engine.workforce.layers.home;
            self.version = Some(VersionQuestion::ask(&self.program, home));
        }
        tracing::info!("attempt started");
        let began = Instant::now();
        let ran = self.run_once(agent.as_ref(), begins, &command, &dir, observer);
        let version = self.version.take().map(VersionQuestion::answer);
        // Before any other failure, which may only follow from it.
        if let Err(replaced) = self.places.check() {
            self.report.session = Some(self.session.id.to_string());
            return Err(replaced.into());
        }
        let outcome = ran?;
        self.reviewed = None;
        self.report.log = Some(dir.join(LOG_FILE)).filter(|log| log.is_file());
        // From here on there is work to keep, whatever else fails.
        self.report.session = Some(self.session.id.to_string());
        tracing::info!(status = ?outcome.status, reason = ?outcome.reason, "attempt ended");
        match version {
            Some(Ok(version)) => self.report.version = Some(version),
            Some(Err(problem)) => {
                let text = format!("the version of the harness is unknown: {problem}");
                self.report.warnings.push(Warning::new(WarningCode::Harness, text));
            }
            None => {}
        }
        if let Err(error) = self.record(&dir, OUTCOME_FILE, &outcome) {
            // A full disk costs the record, not the run.
            tracing::warn!("the outcome was not recorded: {error:#}");
        }
        self.report.timed_as("harness", began.elapsed());
        for warning in &outcome.warnings {
            let message = self.secrets.redact(&warning.message);
            observer.event(&RunEvent::Warning(&Warning { message, ..warning.clone() }));
        }
        self.report.warnings.extend(outcome.warnings.iter().cloned());
        if let Some(agent) = &agent
            && adapter(agent.harness.kind).counts_whole_conversation
            && self.run.resumed.as_ref().is_some_and(|resumed| resumed.note.session_id.is_some())
        {
            let harness = agent.harness.kind;
            let text =
                format!("the usage is that of the whole conversation: {harness} does not count a single run");
            self.report.warnings.push(Warning::new(WarningCode::Harness, text));
        }
        self.report.outcome = Some(outcome.clone());
        self.report.holds_work();
        self.engine.crash_points.at("ended");
        observer.event(&RunEvent::AttemptEnded { number });
        Ok(outcome)
    }

    /// The agent's part of the plan for another prompt or conversation; `None` where the plan itself holds.
    fn replanned(&self, ask: &Ask) -> Option<AgentPlan> {
        let planned = Ask::planned(&self.run.plan);
        if ask.prompt == planned.prompt && ask.conversation == planned.conversation {
            return None;
        }
        let parts = self.run.parts.as_ref()?;
        let mut flags = self.run.flags.clone();
        flags.prompt.clone_from(&ask.prompt);
        match ask.conversation {
            ConversationChoice::Planned => {}
            ConversationChoice::New => flags.resume = None,
            ConversationChoice::Same => {
                flags.resume = self.conversation.as_ref().and_then(ConversationNote::conversation);
            }
        }
        let plan = plan_run::agent(&parts.parts(self.engine.workforce), &flags, &self.run.facts);
        match plan.subject {
            PlannedSubject::Agent(agent) => Some(*agent),
            PlannedSubject::Command(_) => None,
        }
    }

    /// Notes which conversation the attempt has, as far as that is known before; says whether it is a new one.
    fn begin_conversation(&mut self, agent: Option<&AgentPlan>, choice: ConversationChoice) -> Result<bool> {
        let (Some(agent), Some(note)) = (agent, &mut self.conversation) else { return Ok(false) };
        let begins = match choice {
            ConversationChoice::Planned => self.run.flags.resume.is_none(),
            ConversationChoice::New => true,
            ConversationChoice::Same => note.conversation().is_none(),
        };
        if begins {
            let takes_id = agent.command.args.iter().any(|arg| arg.0.contains(&Hole::ConversationId));
            note.begin(takes_id.then(|| new_id(&self.engine.workforce.host)).transpose()?);
            note.write(&self.session)?;
        }
        Ok(begins)
    }

    /// The next number, and a private directory for its record.
    fn new_attempt_dir(&self) -> Result<(u32, PathBuf)> {
        let all = self.session.dir.join(ATTEMPTS_DIR);
        let failed = || format!("{} cannot be made", all.display());
        DirBuilder::new().recursive(true).mode(0o700).create(&all).with_context(failed)?;
        let mut number = 1;
        loop {
            let dir = all.join(number.to_string());
            match DirBuilder::new().mode(0o700).create(&dir) {
                Ok(()) => return Ok((number, dir)),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(error).with_context(failed),
            }
        }
    }

    fn record(&self, dir: &Path, name: &str, value: &impl serde::Serialize) -> Result<()> {
        let mut value = serde_json::to_value(value)?;
        self.secrets.redact_json(&mut value);
        let text = format!("{value:#}\n");
        staging::write_private(&dir.join(name), text.as_bytes())
            .with_context(|| format!("{} cannot be written", dir.join(name).display()))
    }

    /// The attempt failed on our side. A new session whose command never started goes away; any other is kept and named,
    /// because there may be work in it.
    fn keep_or_remove(&mut self, error: &anyhow::Error) {
        let could_not_start = matches!(
            error.downcast_ref(),
            Some(
                MountError::ProgramNotFound { .. }
                    | MountError::ProgramNotExecutable { .. }
                    | MountError::CannotMount { .. }
            )
        );
        let is_ours = !matches!(
            error.downcast_ref(),
            Some(RunError::Replaced { place: Place::Home | Place::Session, .. })
        );
        let done = if !is_ours {
            // What is at the session's path is not ours to write.
            Ok(())
        } else if self.is_new && self.report.session.is_none() && (could_not_start || !self.has_started) {
            self.engine.store.remove(&self.session)
        } else {
            self.report.session = Some(self.session.id.to_string());
            self.hold()
        };
        if let Err(problem) = done {
            tracing::warn!("after the failure: {problem:#}");
        }
    }

    fn run_once(
        &mut self,
        agent: Option<&AgentPlan>,
        begins: bool,
        command: &ChildCommand,
        dir: &Path,
        observer: &mut dyn Observer,
    ) -> Result<HarnessOutcome> {
        self.has_started = true;
        let reserve_stdout = self.run.reserve_stdout;
        let (engine, plan) = (self.engine, &self.run.plan);
        let (session, mount, secrets, signals) =
            (&self.session, &self.mount, &self.secrets, &mut self.signals);
        let host = &engine.workforce.host;
        let keeps_base = self.run.flags.extras.keeps_base;
        let permissions = self.run.parts.as_ref().map(|parts| &parts.found.resolved.persona.permissions);
        let permission_mode = permissions.and_then(|permissions| permissions.mode.as_deref());
        let conversation = &mut self.conversation;
        let began = host.now();
        let records = agent.map(|agent| RunRecords {
            records: adapter(agent.harness.kind).records,
            session_dir: &session.dir,
            state_dir: agent.state_dir.as_deref(),
        });
        // What the records said; `None` if the harness itself has said it, as a headless one does.
        let is_headless = agent.is_some_and(|agent| agent.mode == Mode::Headless);
        let mut seen = Some(Seen { is_recorded: is_headless, ..Seen::default() });
        let mut run = || -> Result<HarnessOutcome> {
            let headless = agent.filter(|agent| agent.mode == Mode::Headless);
            let Some(agent) = headless else {
                let limit = plan.limits.wall_seconds.and_then(limit_of);
                let stdio =
                    if reserve_stdout { ChildStdio::all_on_stderr()? } else { ChildStdio::inherited()? };
                let run = || mount.run(command, stdio, signals, limit);
                let outcome = match (&records, &conversation) {
                    (Some(records), Some(note)) => {
                        records.forget();
                        let noted = |id: &str| {
                            // Now and not at the end: a runner that is killed leaves a conversation that can be continued.
                            let session_id = Some(id.to_owned());
                            let _ = ConversationNote { session_id, ..note.clone() }.write(session);
                        };
                        let (outcome, found) = records.watch(&noted, run);
                        seen = Some(found);
                        outcome?
                    }
                    _ => run()?,
                };
                return Ok(HarnessOutcome::of_interactive(outcome, plan.limits));
            };
            let task = agent.prompt.as_deref().unwrap_or_default();
            staging::write_private(&dir.join(TASK_FILE), task.as_bytes())?;
            let limits = TimeLimits {
                wall: plan.limits.wall_seconds.and_then(limit_of),
                idle: plan.limits.idle_seconds.and_then(limit_of),
            };
            let adapter = adapter(agent.harness.kind);
            let reader = (adapter.reader)(&adapter.agent_name(&agent.persona.id));
            let counter = ChangedFiles::of(&mount.record, &session.dir);
            let changed = || counter.as_ref().map(ChangedFiles::count);
            let live = Live { changed_files: &changed };
            let note = conversation.clone().expect("an agent has a conversation");
            let mut recorder = Recorder::new(session, host, dir, note, live, secrets, observer)?;
            let outcome = headless::run(mount, command, task, reader, limits, signals, &mut recorder);
            let recorded = recorder.finish();
            *conversation = Some(recorded.note);
            if recorded.is_noted {
                seen = None;
            }
            let mut outcome = HarnessOutcome::of_headless(outcome?, plan.limits, permission_mode);
            outcome.leaked = recorded.leaked;
            Ok(outcome)
        };
        let mut outcome = if std::mem::take(&mut self.needs_base) {
            let ends = |outcome: &HarnessOutcome| {
                outcome.succeeded() && plan.checks.is_empty() && !plan.changes.keep && !keeps_base
            };
            let with_base =
                view::with_base(mount, session, host, &plan.mount, &engine.crash_points, run, ends);
            with_base.map(|(outcome, base)| {
                self.needs_base = base == Base::Skipped;
                outcome
            })
        } else {
            // The base is the project as the first attempt found it.
            session.set_state(host, SessionState::Running)?;
            run()
        };
        mount.keep_state();
        if let (Some(seen), Some(records), Some(note)) = (seen, records, conversation) {
            note.settle(begins, &seen, &records);
            // A session directory that was replaced is not ours to write.
            let written = if self.places.check().is_ok() { note.write(session) } else { Ok(()) };
            if let Err(error) = written {
                tracing::warn!("the conversation was not noted: {error:#}");
            }
            if let (false, Some(agent), Ok(outcome)) = (is_headless, agent, &mut outcome) {
                let transcripts = adapter(agent.harness.kind).transcripts;
                let span = Span { from: Some(began), until: None };
                let recorded = records.read(note.session_id.as_deref(), transcripts, span);
                (outcome.usage, outcome.model, outcome.said) =
                    (recorded.usage, recorded.model, recorded.task);
            }
        }
        outcome
    }

    /// Limits every attempt from now on to what is left of these.
    pub fn limit_attempts(&mut self, wall_seconds: Option<f64>, usd: Option<f64>) {
        let plan = &mut self.run.plan.limits;
        let flags = &mut self.run.flags.limits;
        if let Some(seconds) = wall_seconds {
            plan.wall_seconds = Some(plan.wall_seconds.map_or(seconds, |own| own.min(seconds)));
            flags.wall_seconds = plan.wall_seconds;
        }
        if let Some(usd) = usd {
            plan.usd = Some(plan.usd.map_or(usd, |own| own.min(usd)));
            flags.usd = plan.usd;
        }
    }

    /// What was recorded of all attempts of the session, in order.
    pub fn recorded_events(&self) -> Vec<RecordedEvent> {
        let all = self.session.dir.join(ATTEMPTS_DIR);
        let mut events = Vec::new();
        for number in 1.. {
            let dir = all.join(number.to_string());
            if !dir.is_dir() {
                break;
            }
            let Ok(bytes) = regular::read(&dir.join(EVENTS_FILE), MOST_EVENTS) else { continue };
            let lines = bytes.split(|byte| *byte == b'\n');
            events.extend(lines.filter_map(|line| serde_json::from_slice::<RecordedEvent>(line).ok()));
        }
        events
    }

    /// Takes values of secrets out of the files that the runs of this session needed.
    pub fn redact_files(&self) {
        if let Some(agent) = self.run.plan.agent()
            && let Err(error) = staging::redact_files(agent, &self.session.dir, &self.secrets)
        {
            tracing::warn!("values of secrets are left in the session: {error:#}");
        }
    }

    /// A value without values of secrets.
    pub fn redacted(&self, value: &impl serde::Serialize) -> Result<serde_json::Value> {
        let mut value = serde_json::to_value(value)?;
        self.secrets.redact_json(&mut value);
        Ok(value)
    }

    /// The persona that runs, with its texts.
    pub fn persona(&self) -> Option<&PersonaParts> {
        self.run.parts.as_ref()
    }

    /// Whether the last attempt did what it was to do.
    pub fn succeeded(&self) -> bool {
        self.report.outcome.as_ref().is_some_and(HarnessOutcome::succeeded)
    }

    /// Notes that the work waits in the session.
    pub fn hold(&self) -> Result<()> {
        let state = if self.run.is_unmounted() { SessionState::Nothing } else { SessionState::Held };
        let now = self.host().now();
        self.session.update_status(|status| {
            status.enter(state, now);
            if let Some(run) = status.runs.last_mut() {
                run.ended_at.get_or_insert_with(|| now.to_string());
                self.note_run(run);
            }
        })?;
        self.engine.crash_points.at("held");
        Ok(())
    }
}

/// What the harness wrote in the last attempt of a session, where that was recorded.
pub fn last_log(session: &Path) -> Option<PathBuf> {
    let attempts = session.join(ATTEMPTS_DIR);
    let entries = std::fs::read_dir(&attempts).ok()?.flatten();
    let last = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()).max()?;
    Some(attempts.join(last.to_string()).join(LOG_FILE)).filter(|log| log.is_file())
}

/// A random UUID.
fn new_id(host: &Host) -> Result<String> {
    let hex = host.random_hex(32)?;
    let (a, b, c, d) = (&hex[..8], &hex[8..12], &hex[13..16], &hex[17..20]);
    // The digits that say which kind of UUID it is.
    Ok(format!("{a}-{b}-4{c}-8{d}-{}", &hex[20..]))
}

fn words(command: &ChildCommand) -> Vec<String> {
    command.argv.iter().map(|word| word.to_string_lossy().into_owned()).collect()
}
