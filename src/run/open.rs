//! Opens a run: session, files, skills and mount, everything that has to be in place before the harness starts. What fails here
//! leaves nothing behind.

use super::conversation::{self, ConversationNote};
use super::engine::Engine;
use super::error::RunError;
use super::facts::layers_outside;
use super::observer::{Observer, RunEvent};
use super::places::HeldPlaces;
use super::prepare::Prepared;
use super::report::ReportBuilder;
use super::reviewed::Reviewed;
use super::skills;
use super::terms::PLAN_FILE;
use super::version::VersionQuestion;
use super::view::Opening;
use super::watch::Watch;
use crate::host::Host;
use crate::launch::program;
use crate::launch::staging::{self, Places, Shown};
use crate::model::limits::Limits;
use crate::model::mount::Backend;
use crate::model::mount_record::MountRecord;
use crate::model::plan::{AgentPlan, PlannedSubject, RunPlan};
use crate::model::raw_path::RawPath;
use crate::model::secrets::Secrets;
use crate::mount::{ChildCommand, InjectedFile, OpenMount, SignalInbox, catch_runner_signals};
use crate::session::status::{SessionRun, SessionWork};
use crate::session::{Session, SessionState};
use anyhow::Result;
use std::ffi::OsString;
use std::path::PathBuf;

/// A run whose mount is open. Attempts and checks can be made in it as often as one likes.
pub struct OpenRun<'a> {
    pub(super) engine: &'a Engine<'a>,
    pub(super) run: Prepared,
    pub(super) session: Session,
    pub(super) mount: OpenMount,
    pub(super) places: HeldPlaces,
    pub(super) program: PathBuf,
    /// What is known of the harness's conversation; `None` for a command.
    pub(super) conversation: Option<ConversationNote>,
    /// The environment of the last attempt, which checks have too.
    pub(super) env: Vec<(OsString, Option<OsString>)>,
    pub(super) secrets: Secrets,
    pub(super) signals: SignalInbox,
    pub report: ReportBuilder,
    /// Whether this run made the session.
    pub(super) is_new: bool,
    /// Whether the next attempt takes the base: in a new session, until something may have been written. Taken later, it would pass
    /// the user's edits of the meantime for what the agent started from.
    pub(super) needs_base: bool,
    /// Whether a command was started in it, or may have been.
    pub(super) has_started: bool,
    pub(super) version: Option<VersionQuestion>,
    pub(super) reviewed: Option<Reviewed>,
}

/// A session with what an earlier run left in it.
struct SessionOf {
    session: Session,
    record: Option<MountRecord>,
}

impl<'a> Engine<'a> {
    /// Makes everything that a plan needs. On failure a new session is removed again.
    pub fn open(
        &'a self,
        run: Prepared,
        secrets: Secrets,
        report: &mut ReportBuilder,
        observer: &mut dyn Observer,
    ) -> Result<OpenRun<'a>> {
        let _step = tracing::info_span!("open").entered();
        let host = &self.workforce.host;
        let program = match run.plan.agent() {
            Some(agent) => program::find(&agent.command.program, agent.harness.kind, host)?,
            None => PathBuf::new(),
        };
        report.program = run.plan.agent().map(|_| program.clone());
        let signals = catch_runner_signals()?;
        self.crash_points.at("asked");
        let SessionOf { session, record } = self.session(&run)?;
        self.log.write_to(&session.dir);
        tracing::info!(session = session.id.as_str(), resumed = record.is_some(), "session opened");
        self.crash_points.at("session made");
        let is_new = record.is_none();
        let project = (!run.is_unmounted()).then_some(run.plan.mount.root.as_path());
        let home = &self.workforce.layers.home;
        let watch = project.map(|root| {
            let outside = layers_outside(self.workforce, run.parts.as_ref(), root);
            Watch::begin(home, session.id.as_str(), root, outside)
        });
        let places = watch.transpose().and_then(|watch| HeldPlaces::hold(home, &session.dir, project, watch));
        let earlier = session.status()?.map(|status| status.state);
        let mount = self.open_mount(&run, &session, record, &signals, report);
        let (mount, places) = match mount.and_then(|mount| Ok((mount, places?))) {
            Ok(open) => open,
            Err(error) => {
                // Nothing ran, so nothing is worth keeping; what an earlier run left stays as it was.
                let done = match earlier.filter(|_| !is_new) {
                    Some(state) => session.set_state(host, state),
                    None => self.store.remove(&session),
                };
                if let Err(problem) = done {
                    tracing::warn!("after the failure: {problem:#}");
                }
                return Err(error);
            }
        };
        let mut plan = serde_json::to_value(&run.plan)?;
        secrets.redact_json(&mut plan);
        session.write_json(PLAN_FILE, &plan)?;
        let begun = session_run(&run, host, &secrets);
        session.update_status(|status| {
            status.begin(begun);
            if let Some(task_id) = run.flags.extras.work.clone() {
                status.work = Some(SessionWork { task_id, verdict: None });
            }
            // A session that goes on keeps its state until the harness starts: nothing is lost if that fails.
            if is_new {
                status.enter(SessionState::Running, host.now());
            }
        })?;
        report.record = Some(mount.record.clone());
        for warning in &report.warnings {
            observer.event(&RunEvent::Warning(warning));
        }
        observer.event(&RunEvent::Opened {
            session: session.id.as_str(),
            plan: &run.plan,
            record: &mount.record,
            directory: &seen_root(&mount, &run.plan),
        });
        Ok(OpenRun {
            engine: self,
            conversation: note_of(&run),
            env: Vec::new(),
            run,
            session,
            mount,
            places,
            program,
            secrets,
            signals,
            report: report.clone(),
            is_new,
            needs_base: is_new,
            has_started: false,
            version: None,
            reviewed: None,
        })
    }

    /// The session of this run: the one that is continued, if its mount is still there, else a new one.
    fn session(&self, run: &Prepared) -> Result<SessionOf> {
        let plan = &run.plan;
        if let Some(resumed) = &run.resumed {
            let mut session = self.store.find(resumed.session.id.as_str())?;
            session.lock()?;
            let record = session.record()?;
            if let Some(root) = record.as_ref().map(|record| &record.root)
                && **root != *plan.mount.root
            {
                let root = root.to_path_buf();
                return Err(RunError::OtherProject { session: session.id.to_string(), root }.into());
            }
            let record = record.filter(|record| session.dir.join(&record.data).is_dir());
            if record.is_some() {
                if session.has_unfinished_journal()? {
                    return Err(RunError::UnfinishedApply { session: session.id.to_string() }.into());
                }
                session.set_runner()?;
                return Ok(SessionOf { session, record });
            }
        }
        let session = self.store.create(&self.workforce.host, plan.name(), &plan.mount.root)?;
        Ok(SessionOf { session, record: None })
    }

    fn open_mount(
        &self,
        run: &Prepared,
        session: &Session,
        record: Option<MountRecord>,
        signals: &SignalInbox,
        report: &mut ReportBuilder,
    ) -> Result<OpenMount> {
        let plan = &run.plan;
        let mut injected: Vec<InjectedFile> = run.setup_files.clone();
        injected.extend(run.sidecar.clone());
        let mut shown = Shown::default();
        if let Some(agent) = plan.agent() {
            staging::make_state(plan, &self.workforce.host);
            shown = staging::write_files(agent, &session.dir)?;
            if let Some(resumed) = &run.resumed {
                conversation::take_along(agent, &resumed.session.dir, &session.dir)?;
            }
            let staged = skills::stage(plan, agent, self.workforce, &session.dir, signals)?;
            report.warnings.extend(staged.warnings);
            shown.read_only.extend(staged.shown);
            // The persona's own replace what the repository has in their place.
            injected.retain(|file| !staged.injected.iter().any(|skill| skill.path == file.path));
            injected.extend(staged.injected);
        }
        if let Some(note) = note_of(run) {
            note.write(session)?;
        }
        session.write_inherit(&plan.inherit.kinds)?;
        let opening = Opening {
            session,
            store: &self.store,
            helper: &self.helper,
            home: &self.workforce.layers.home,
            spec: &plan.mount,
            facts: run.facts.obstacles.mount.as_ref(),
            injected: &injected,
            shown: &shown.read_only,
            lent: &shown.writable,
            signals,
            crash_points: &self.crash_points,
        };
        let (mut open, warnings) = report.timed("mount", || match record {
            Some(record) => opening.reopen(record),
            None => opening.open(),
        })?;
        // What cannot be held here is advice, and the plan says so.
        let held = run.facts.obstacles.limits.enforceable(plan.limits);
        open.limit(Limits { disk_mb: plan.limits.disk_mb, ..held })?;
        tracing::info!(backend = ?open.record.backend, sandbox = ?open.record.sandbox, "mount opened");
        report.warnings.extend(warnings);
        Ok(open)
    }
}

impl OpenRun<'_> {
    pub fn plan(&self) -> &RunPlan {
        &self.run.plan
    }

    pub(super) fn host(&self) -> &Host {
        &self.engine.workforce.host
    }

    /// The agent's command line for this attempt, with everything filled in.
    pub(super) fn agent_command(&self, agent: &AgentPlan) -> Result<ChildCommand> {
        let places = Places {
            session_dir: &self.session.dir,
            session_id: self.session.id.as_str(),
            conversation_id: self
                .conversation
                .as_ref()
                .and_then(|note| note.session_id.as_deref())
                .unwrap_or_default(),
            mount: &seen_root(&self.mount, &self.run.plan),
        };
        staging::command(agent, &self.program, &places, self.host())
    }

    /// The command of a run without an agent.
    pub(super) fn plain_command(&self, argv: Vec<OsString>) -> ChildCommand {
        let set = |key: &str, value: &str| (OsString::from(key), Some(OsString::from(value)));
        let env = vec![
            set("AGENTWORKFORCE_SESSION", self.session.id.as_str()),
            set("AGENTWORKFORCE_PERSONA", self.run.plan.name()),
            (OsString::from("AGENTWORKFORCE_TEST_KILL_AT"), None),
        ];
        ChildCommand { argv, env, ends_at: None }
    }
}

/// What a session says about a run that begins now.
fn session_run(run: &Prepared, host: &Host, secrets: &Secrets) -> SessionRun {
    let task = match &run.plan.subject {
        PlannedSubject::Agent(agent) => agent.prompt.clone(),
        PlannedSubject::Command(command) => Some(command_line(&command.argv)),
    };
    let mut begun = SessionRun {
        started_at: host.now().to_string(),
        harness: run.plan.agent().map(|agent| agent.harness.kind),
        in_place: run.is_unmounted(),
        ..SessionRun::default()
    };
    begun.set_task(task.map(|task| secrets.redact(&task)));
    begun
}

/// A command as people would type it.
fn command_line(argv: &[RawPath]) -> String {
    let words: Vec<_> = argv.iter().map(|word| word.0.to_string_lossy()).collect();
    shlex::try_join(words.iter().map(|word| &**word)).unwrap_or_else(|_| words.join(" "))
}

/// What is known of the conversation before the harness says anything.
fn note_of(run: &Prepared) -> Option<ConversationNote> {
    let agent = run.plan.agent()?;
    Some(ConversationNote {
        harness: agent.harness.kind,
        persona: agent.persona.id.clone(),
        session_id: run.resumed.as_ref().and_then(|resumed| resumed.note.session_id.clone()),
        state_dir: agent.state_dir.clone(),
        nothing_said: run.resumed.as_ref().is_some_and(|resumed| resumed.note.nothing_said),
    })
}

/// The root as the harness sees it.
fn seen_root(open: &OpenMount, plan: &RunPlan) -> PathBuf {
    match open.record.backend {
        Backend::Copy => open.session_dir.join(&open.record.data),
        _ => plan.mount.root.clone(),
    }
}
