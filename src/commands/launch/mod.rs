//! Carries out a plan: session, files, mount, harness, checks, changes, report. The order matters: a failure before the harness
//! starts leaves nothing behind, a failure after it never loses its work.

mod audience;
mod checks;
pub mod conversation;
mod end;
mod skills;
mod story;

use super::changes_review::ApplyPolicy;
use super::mounted::{self, Opening, Settling};
use super::sessions;
use crate::cli::AgentArgs;
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::harness::adapter;
use crate::host::Host;
use crate::launch::staging::{self, Places};
use crate::launch::{headless, program};
use crate::model::mount::Backend;
use crate::model::mount_record::MountRecord;
use crate::model::plan::{Mode, RunPlan};
use crate::model::report::RunReport;
use crate::model::secrets::Secrets;
use crate::mount::CrashPoints;
use crate::mount::changes::diff::{diff, printable_name};
use crate::mount::changes::{Ignored, review};
use crate::mount::process::attend::{TimeLimits, limit_of};
use crate::mount::{ChildStdio, InjectedFile, OpenMount, SignalInbox, catch_runner_signals};
use crate::session::Sessions;
use crate::session::leaks::Leaks;
use crate::session::{Session, SessionState, SessionStore};
use crate::tool;
use crate::ui::{Ui, printable};
use crate::workforce::Workforce;
use audience::{Progress, Told};
use conversation::{Noted, Resumed};
use end::End;
use serde_json::{Value, json};
use std::fs::File;
use std::path::{Path, PathBuf};
use story::Story;

const PLAN_FILE: &str = "plan.json";
const REPORT_FILE: &str = "report.json";
const TASK_FILE: &str = "task.md";
/// Above this many changes their lines are not counted: the report must not take longer than the work.
const MOST_COUNTED: usize = 500;

/// What a run needs besides its plan.
pub struct Launch<'a> {
    pub plan: &'a RunPlan,
    pub args: &'a AgentArgs,
    pub workforce: &'a Workforce,
    pub store: &'a SessionStore,
    /// The session that goes on, if one does.
    pub resumed: Option<Resumed>,
}

/// Runs the plan and reports. In JSON every end of a run, good or bad, is a report.
pub fn run(launch: Launch<'_>, ui: &mut Ui) -> Result<Exit> {
    let plan = launch.plan;
    let stream = launch.args.stream_json;
    let mut story = Story::new(plan, &launch.workforce.general_warnings());
    let env = &launch.workforce.host.env;
    let secrets = Secrets::new(plan.references.iter().filter_map(|name| Some((name, env.get(name)?))));
    let ended = launch.go(&mut story, &secrets, ui);
    let (exit, report) = match ended {
        Ok(exit) => (exit, without_secrets(&story.report(exit), &secrets)),
        Err(error) if ui.is_json() => {
            ui.explain(&error);
            (error.exit, without_secrets(&story.failure(&error), &secrets))
        }
        Err(error) => return Err(error),
    };
    if stream {
        let mut last = json!({"type": "report"});
        last.as_object_mut().expect("one").extend(report.as_object().cloned().unwrap_or_default());
        ui.json_line(&last.to_string());
    } else if ui.is_json() {
        ui.json(&report);
    }
    Ok(exit)
}

/// The report as it is printed and kept: whatever an agent said, no value of a variable is in it.
fn without_secrets(report: &RunReport, secrets: &Secrets) -> Value {
    let text = serde_json::to_string(report).expect("our own reports always serialise");
    serde_json::from_str(&secrets.redact(&text)).expect("names and brackets keep it JSON")
}

impl Launch<'_> {
    fn go(self, story: &mut Story<'_>, secrets: &Secrets, ui: &mut Ui) -> Result<Exit> {
        let (plan, host) = (self.plan, &self.workforce.host);
        if plan.limits.usd == Some(0.0) {
            return Err(CommandError::new(Exit::Refused, "the run may cost nothing: `limits.usd` is 0")
                .hint("raise `limits.usd` of the persona, or say `--max-usd`"));
        }
        let policy = mounted::policy(self.args.changes.apply, host, ui)?;
        if plan.mount.backend == Backend::None && policy == ApplyPolicy::Never {
            return Err(CommandError::usage("without a mount nothing can be held back")
                .hint("leave `--apply never` or `--install-in-repo` out"));
        }
        let program = program::find(&plan.command.program, plan.harness.kind, host)?;
        story.program = Some(program.clone());
        let crash_points = CrashPoints::of(host);
        let mut signals = catch_runner_signals()?;
        crash_points.at("asked");
        let (session, record) = self.session(plan)?;
        crash_points.at("session made");
        let is_new = record.is_none();
        let mut run = Run { launch: &self, session: &session, story, secrets, crash_points: &crash_points };
        let opened = run.open(record, &signals);
        let (open, command) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                // Nothing ran, so nothing is worth keeping; what an earlier run left is.
                let _ = if is_new {
                    self.store.remove(&session)
                } else {
                    session.set_state(host, SessionState::Held)
                };
                return Err(error);
            }
        };
        for warning in &run.story.warnings {
            ui.warning(printable(warning));
        }
        // Not before everything is in place: asking some of them takes longer than all of that.
        let version = VersionQuestion::ask(&program, &self.workforce.layers.home);
        let ended = run.run_harness(&open, &command, is_new, &mut signals, ui);
        run.story.version = version.answer(&mut run.story.warnings);
        if let Err(error) = ended {
            session.set_state(host, SessionState::Held)?;
            let sessions = Sessions { store: self.store, host, crash_points: &crash_points };
            if is_new {
                mounted::remove_if_untouched(&sessions, &session)?;
            }
            return Err(error);
        }
        run.story.session = Some(session.id.to_string());
        run.story.holds_work();
        crash_points.at("ended");
        run.settle(&open, &command, policy, &mut signals, ui).map_err(|error| {
            error.hint(format!(
                "its work is kept in session {0}: `agentworkforce sessions recover {0}`, then `sessions apply {0}`",
                session.id
            ))
        })
    }

    /// The session of this run: the one that goes on, if its mount is still there, else a new one.
    fn session(&self, plan: &RunPlan) -> Result<(Session, Option<MountRecord>)> {
        if let Some(resumed) = &self.resumed {
            let mut session = self.store.find(resumed.session.id.as_str())?;
            session.lock()?;
            let record = session.record()?;
            if let Some(root) = record.as_ref().map(|record| &record.root)
                && **root != *plan.mount.root
            {
                return Err(CommandError::usage(format!(
                    "session `{}` belongs to {}",
                    session.id,
                    root.display()
                ))
                .hint("go on with it there"));
            }
            let record = record.filter(|record| session.dir.join(&record.data).is_dir());
            if let Some(record) = record {
                if session.has_unfinished_journal()? {
                    return Err(CommandError::usage(format!(
                        "an apply of session `{}` was cut off",
                        session.id
                    ))
                    .hint(format!("`agentworkforce sessions recover {}` first", session.id)));
                }
                return Ok((session, Some(record)));
            }
        }
        Ok((self.store.create(&self.workforce.host, &plan.persona.id, &plan.mount.root)?, None))
    }
}

/// A run that has a session.
struct Run<'a, 'p, 's> {
    launch: &'a Launch<'p>,
    session: &'a Session,
    story: &'a mut Story<'s>,
    secrets: &'a Secrets,
    crash_points: &'a CrashPoints,
}

impl Run<'_, '_, '_> {
    fn host(&self) -> &Host {
        &self.launch.workforce.host
    }

    /// Everything that has to be in place before the harness starts.
    fn open(
        &mut self,
        record: Option<MountRecord>,
        signals: &SignalInbox,
    ) -> Result<(OpenMount, crate::mount::ChildCommand)> {
        let (plan, session) = (self.launch.plan, self.session);
        session.write_json(PLAN_FILE, plan)?;
        staging::make_state(plan, self.host());
        let mut shown = staging::write_files(plan, &session.dir)?;
        let terms = skills::Terms { offline: self.launch.args.offline, strict: self.launch.args.strict };
        let staged = skills::stage(plan, self.launch.workforce, &session.dir, terms, signals)?;
        self.story.warnings.extend(staged.warnings);
        shown.read_only.extend(staged.shown);
        let mut injected = self.injected()?;
        injected.extend(staged.injected);
        self.noted().write(session)?;
        let opening = Opening {
            session,
            store: self.launch.store,
            host: &self.launch.workforce.host,
            spec: &plan.mount,
            injected: &injected,
            shown: &shown.read_only,
            lent: &shown.writable,
            signals,
            crash_points: self.crash_points,
        };
        let (open, warnings) = self.story.timed("mount", || match record {
            Some(record) => opening.reopen(record),
            None => opening.open(),
        })?;
        self.story.warnings.extend(warnings);
        self.story.record = Some(open.record.clone());
        let places = Places {
            session_dir: &session.dir,
            session_id: session.id.as_str(),
            mount: &seen_root(&open, plan),
        };
        let program = self.story.program.clone().unwrap_or_default();
        let command = staging::command(plan, &program, &places, self.host())?;
        Ok((open, command))
    }

    /// What is known of the conversation before the harness says anything.
    fn noted(&self) -> Noted {
        let plan = self.launch.plan;
        Noted { harness: plan.harness.kind, persona: plan.persona.id.clone(), session_id: self.known_id() }
    }

    fn known_id(&self) -> Option<String> {
        self.launch.resumed.as_ref().and_then(|resumed| resumed.noted.session_id.clone())
    }

    /// What is put into the mount itself.
    fn injected(&self) -> Result<Vec<InjectedFile>> {
        let plan = self.launch.plan;
        let snapshot = self.launch.workforce.snapshot();
        let sidecar =
            plan.sidecar.as_ref().map(|sidecar| mounted::injected_sidecar(&plan.mount, sidecar, snapshot));
        Ok(sidecar.transpose()?.into_iter().collect())
    }

    fn run_harness(
        &mut self,
        open: &OpenMount,
        command: &crate::mount::ChildCommand,
        is_new: bool,
        signals: &mut SignalInbox,
        ui: &mut Ui,
    ) -> Result<()> {
        let (plan, session, crash_points) = (self.launch.plan, self.session, self.crash_points);
        let host = &self.launch.workforce.host;
        let began = std::time::Instant::now();
        let end = {
            let mut run = || match plan.mode {
                Mode::Interactive => {
                    let limit = plan.limits.wall_seconds.and_then(limit_of);
                    let outcome = open.run(command, ChildStdio::inherited(), signals, limit)?;
                    Ok(End::of_interactive(outcome, plan.limits))
                }
                Mode::Headless => self.run_headless(open, command, signals, ui),
            };
            if is_new {
                mounted::with_base(open, session, host, &plan.mount, crash_points, run)?
            } else {
                // The base is the project as the first run found it.
                session.set_state(host, SessionState::Running)?;
                run()?
            }
        };
        for warning in &end.warnings {
            ui.warning(printable(&self.secrets.redact(warning)));
        }
        if self.known_id().is_some() && adapter(plan.harness.kind).counts_whole_conversation {
            self.story.warnings.push(format!(
                "the usage is that of the whole conversation: {} does not count a single run",
                plan.harness.kind
            ));
        }
        self.story.warnings.extend(end.warnings.iter().cloned());
        self.story.end = Some(end);
        self.story.timed_as("harness", began.elapsed());
        Ok(())
    }

    fn run_headless(
        &self,
        open: &OpenMount,
        command: &crate::mount::ChildCommand,
        signals: &mut SignalInbox,
        ui: &mut Ui,
    ) -> Result<End> {
        let (plan, session) = (self.launch.plan, self.session);
        let task = session.dir.join(TASK_FILE);
        staging::write_private(&task, plan.prompt.as_deref().unwrap_or_default().as_bytes())?;
        let limits = TimeLimits {
            wall: plan.limits.wall_seconds.and_then(limit_of),
            idle: plan.limits.idle_seconds.and_then(limit_of),
        };
        let reader = (adapter(plan.harness.kind).reader)(&plan.persona.id);
        let changed = || changed_so_far(&open.record, &session.dir);
        let progress = self.host().stderr_is_terminal.then(|| Progress::new(&changed));
        let secrets = &self.secrets;
        let mut told = Told::new(session, self.noted(), self.launch.args.stream_json, progress, secrets, ui)?;
        let outcome = headless::run(open, command, File::open(&task)?, reader, limits, signals, &mut told);
        let leaked = told.finish();
        let mut end = End::of_headless(outcome?, plan.limits);
        end.leaked = leaked;
        Ok(end)
    }

    /// Checks, changes, apply, report.
    fn settle(
        &mut self,
        open: &OpenMount,
        command: &crate::mount::ChildCommand,
        policy: ApplyPolicy,
        signals: &mut SignalInbox,
        ui: &mut Ui,
    ) -> Result<Exit> {
        let (args, session) = (self.launch.args, self.session);
        let host = &self.launch.workforce.host;
        session.set_state(host, SessionState::Held)?;
        self.look_at_changes(args.changes.include_ignored)?;
        let succeeded = self.story.end.as_ref().is_some_and(End::succeeded);
        if succeeded && !args.check.is_empty() {
            let checked = checks::run(
                open,
                &checks::Asked {
                    commands: &args.check,
                    timeout: args.check_timeout,
                    env: &command.env,
                    secrets: self.secrets,
                },
                &session.dir,
                signals,
            )?;
            if let (Some(failed), Some(end)) =
                (checked.iter().find(|check| check.exit_code != 0), &mut self.story.end)
            {
                end.fail(format!("the check `{}` ended with code {}", failed.command, failed.exit_code));
            }
            self.story.checks = checked;
        }
        let succeeded = self.story.end.as_ref().is_some_and(End::succeeded);
        let check_failed = self.story.checks.iter().any(|check| check.exit_code != 0);
        let leaks = args.strict && succeeded && self.story.has_leaks_in_work;
        if leaks && let Some(end) = &mut self.story.end {
            end.fail("`--strict` does not apply work with the value of a secret in it".into());
        }
        // What failed a check or holds a secret is never applied, not even by asking: it can still be looked at and
        // applied by hand.
        let policy = if check_failed || leaks { ApplyPolicy::Never } else { policy };
        let sessions = Sessions { store: self.launch.store, host, crash_points: self.crash_points };
        if !ui.is_json() {
            self.say_end(ui);
        }
        let settling = Settling {
            policy,
            succeeded: succeeded && !leaks,
            include_ignored: args.changes.include_ignored,
            keep: args.changes.keep,
        };
        let began = std::time::Instant::now();
        let settled = mounted::settle(&sessions, session, &open.record, settling, signals, ui)?;
        let own = settled.exit();
        let applied = settled.applied;
        self.story.timed_as("apply", began.elapsed());
        let state = session.entry()?.state;
        self.story.settled(applied.as_ref(), state);
        let end = self.story.end.as_ref().expect("it ended");
        let exit = if leaks { Exit::Refused } else { end.exit(self.launch.plan.mode, own) };
        session.write_json(REPORT_FILE, &without_secrets(&self.story.report(exit), self.secrets))?;
        if !ui.is_json() {
            match &applied {
                Some(applied) => sessions::say_applied(applied, ui),
                None => mounted::say_state(session, state, ui),
            }
        }
        Ok(exit)
    }

    fn look_at_changes(&mut self, include_ignored: bool) -> Result<()> {
        if self.story.record.as_ref().is_none_or(|record| record.backend == Backend::None) {
            self.story.leaked(&Leaks::default());
            return Ok(());
        }
        let Some(work) = self.session.work()? else { return Ok(()) };
        for late in crate::mount::newly_hidden(&self.launch.plan.mount, &work.record)? {
            let name = printable_name(late.path.as_ref());
            self.story.warnings.push(format!(
                "{name} appeared while the agent worked, so it could be read: what is hidden is settled at the start"
            ));
        }
        let sides = work.three_way()?;
        let ignored = if include_ignored { Ignored::Include } else { Ignored::KeepOut };
        let found = review(&sides, ignored)?;
        let mut leaks = Leaks::default();
        let paths = found.changes.iter().map(|change| change.path.0.as_path());
        leaks.look_into_changes(self.secrets, sides.mount, paths);
        leaks.look_into_commits(self.secrets, &self.session.dir, &work.record);
        self.story.leaked(&leaks);
        let diffs =
            if found.changes.len() <= MOST_COUNTED { diff(&sides, &found, None)? } else { Vec::new() };
        self.story.changed(&found, &diffs);
        Ok(())
    }

    /// What the harness came to, for people: its answer on stdout, the rest on stderr.
    fn say_end(&self, ui: &mut Ui) {
        let Some(end) = &self.story.end else { return };
        if let Some(result) = &end.result {
            ui.line(printable(&self.secrets.redact(result)));
            ui.flush();
        }
        for check in &self.story.checks {
            let verdict = if check.exit_code == 0 { "passed" } else { "failed" };
            ui.say(&format!("check {verdict}: {}", printable(&check.command)));
            if check.exit_code != 0 {
                ui.hint(format!("its output is in {}", check.log_file));
            }
        }
        if let Some(reason) = end.reason.as_ref().filter(|_| !end.succeeded()) {
            ui.warning(printable(&self.secrets.redact(reason)));
        }
        for leak in &self.story.leaks {
            ui.warning(format!("the value of `{}` is in {}", leak.variable, printable(&leak.place)));
        }
    }
}

/// The root as the harness sees it.
fn seen_root(open: &OpenMount, plan: &RunPlan) -> PathBuf {
    match open.record.backend {
        Backend::Copy => open.session_dir.join(&open.record.data),
        _ => plan.mount.root.clone(),
    }
}

/// How many files the agent has written, roughly and at little cost; only an overlay knows without comparing.
fn changed_so_far(record: &MountRecord, session_dir: &Path) -> Option<usize> {
    const ENOUGH: usize = 10_000;
    if record.backend != Backend::Overlay {
        return None;
    }
    let (mut count, mut waiting) = (0, vec![session_dir.join(&record.data)]);
    while let Some(dir) = waiting.pop() {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && entry.file_name() != ".git" {
                waiting.push(entry.path());
            } else if !kind.is_dir() {
                count += 1;
            }
        }
        if count > ENOUGH {
            break;
        }
    }
    Some(count.saturating_sub(record.injected.len() + record.hidden.len()))
}

/// The harness's version, asked for while it works.
struct VersionQuestion {
    asked: std::thread::JoinHandle<std::result::Result<String, String>>,
}

impl VersionQuestion {
    fn ask(program: &Path, home: &Path) -> VersionQuestion {
        let (program, home) = (program.to_owned(), home.to_owned());
        VersionQuestion {
            asked: std::thread::spawn(move || {
                tool::version::remembered(&program, &home.join("cache/versions"))
            }),
        }
    }

    fn answer(self, warnings: &mut Vec<String>) -> Option<String> {
        match self.asked.join() {
            Ok(Ok(version)) => Some(version),
            Ok(Err(problem)) => {
                warnings.push(format!("the version of the harness is unknown: {problem}"));
                None
            }
            Err(_) => None,
        }
    }
}
