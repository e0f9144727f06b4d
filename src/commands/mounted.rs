//! What every run in a mount goes through, whatever it runs: the mount is opened, the base is taken, the changes are settled.

use super::changes_review::{self, ApplyPolicy, Decision};
use crate::cli::ApplyArg;
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::host::Host;
use crate::load::snapshot::{Item, Snapshot};
use crate::model::mount::{Backend, MountSpec, Sandbox};
use crate::model::mount_record::MountRecord;
use crate::model::persona::SidecarMode;
use crate::model::plan::PlannedSidecar;
use crate::mount::CrashPoints;
use crate::mount::changes::base;
use crate::mount::{self, InjectedFile, OpenMount, OpenRequest, SignalInbox, probe, root};
use crate::session::{Applied, ApplyRequest, Sessions};
use crate::session::{Session, SessionState, SessionStore};
use crate::ui::Ui;
use crate::workforce::Workforce;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The directory that a run is about: the one that the user names, or the one that the project suggests.
pub fn find_root(workforce: &Workforce, asked: Option<&Path>) -> Result<root::MountRoot> {
    let home = workforce.host.home_dir();
    let asked = asked.map(|dir| workforce.host.expand_tilde(&dir.to_string_lossy()));
    let project = workforce.layers.project_root.as_deref();
    Ok(root::find(surroundings(workforce, home.as_deref()), asked.as_deref(), project)?)
}

/// Fails if that directory cannot be mounted.
pub fn refuse_root(workforce: &Workforce, root: &Path) -> Result<()> {
    let home = workforce.host.home_dir();
    Ok(root::refuse(root, surroundings(workforce, home.as_deref()))?)
}

/// Fails if something that was meant to have a say in the run cannot be read: it may be what forbids things.
pub fn refuse_unheard(workforce: &Workforce, persona: Option<&str>, root: &Path) -> Result<()> {
    let found = persona.map(|persona| workforce.find(persona)).transpose()?;
    let rules = workforce.rule_files(root, found.as_ref().map_or("mount", |found| found.resolved.id()))?;
    let problems = workforce.blocking_problems(found.as_ref(), &rules);
    if problems.is_empty() {
        return Ok(());
    }
    let mut error = CommandError::usage("not started: configuration files are invalid");
    error.causes = problems.iter().map(ToString::to_string).collect();
    Err(error.hint(
        "`agentworkforce lint` shows every problem; without these files the run could do more than you allow",
    ))
}

fn surroundings<'a>(workforce: &'a Workforce, home: Option<&'a Path>) -> root::Surroundings<'a> {
    root::Surroundings { cwd: &workforce.host.cwd, home, state: &workforce.layers.home }
}

/// What a mount is made of.
pub struct Opening<'a> {
    pub session: &'a Session,
    pub store: &'a SessionStore,
    pub host: &'a Host,
    pub spec: &'a MountSpec,
    pub injected: &'a [InjectedFile],
    /// Below the session directory: what the command has to read, and where it may write.
    pub shown: &'a [PathBuf],
    pub lent: &'a [PathBuf],
    pub signals: &'a SignalInbox,
    pub crash_points: &'a CrashPoints,
}

impl Opening<'_> {
    /// Makes the mount, and says what is worth a warning about it.
    pub fn open(&self) -> Result<(OpenMount, Vec<String>)> {
        self.session.write_rules(&self.spec.rules)?;
        self.crash_points.at("rules written");
        let open = self.with_request(|request| Ok(mount::open(request)?))?;
        self.crash_points.at("opened");
        if open.record.backend == Backend::Copy {
            base::take_copy(&self.session.dir, &self.session.dir.join(&open.record.data))?;
        }
        let warnings = warnings(&open.record);
        self.crash_points.at("copy noted");
        Ok((open, warnings))
    }

    /// The mount that an earlier run of the session left.
    pub fn reopen(&self, mut record: MountRecord) -> Result<(OpenMount, Vec<String>)> {
        let warnings = warnings(&record);
        let reopened = self.with_request(|request| {
            mount::hide_newly_hidden(request, &mut record)?;
            Ok(mount::reopen(request, record)?)
        });
        Ok((reopened?, warnings))
    }

    fn with_request<T>(&self, then: impl FnOnce(&OpenRequest<'_>) -> Result<T>) -> Result<T> {
        let helper = Path::new("/proc/self/exe");
        let facts = probe::facts(helper, &self.host.workforce_home()?, &self.spec.root)?;
        self.crash_points.at("probed");
        then(&OpenRequest {
            spec: self.spec,
            facts: &facts,
            helper,
            sessions_dir: &self.store.sessions_dir(),
            session_dir: &self.session.dir,
            injected: self.injected,
            expose: self.shown,
            lend: self.lent,
            writable: &self.spec.writable,
            signals: Some(self.signals),
            lock: self.session.lock_file(),
            crash_points: self.crash_points,
        })
    }
}

fn warnings(record: &MountRecord) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(reason) = &record.fallback {
        warnings.push(format!("the mount is a copy: {reason}"));
    }
    if record.backend == Backend::Copy {
        warnings.push("in a copy the real project can still be reached by its absolute path".into());
    }
    if record.backend == Backend::Overlay && record.sandbox == Sandbox::Off {
        warnings.push("without a PID namespace root's other processes lead around what is hidden".into());
    }
    if record.backend == Backend::None {
        warnings.push(
            "there is no mount: the command works in the real directory, and nothing can be undone".into(),
        );
    }
    warnings
}

/// The persona's instruction file as the mount will have it; `extend` reads the real one, which stays as it is.
pub fn injected_sidecar(
    spec: &MountSpec,
    sidecar: &PlannedSidecar,
    snapshot: Option<&Snapshot>,
) -> Result<InjectedFile> {
    let mut bytes = Vec::new();
    if sidecar.mode == SidecarMode::Extend
        && let Some(text) = extended(&spec.root.join(&sidecar.target), snapshot)?
    {
        bytes = text;
        bytes.extend_from_slice(b"\n\n---\n\n");
    }
    bytes.extend_from_slice(sidecar.content.as_bytes());
    Ok(InjectedFile { path: PathBuf::from(&sidecar.target), bytes, mode: 0o644 })
}

/// The repository's own instruction file, if it has one. Where the persona is a commit's, so is this: what is judged
/// must not instruct its judge.
fn extended(real: &Path, snapshot: Option<&Snapshot>) -> Result<Option<Vec<u8>>> {
    let refused = |why: &str| {
        CommandError::usage(format!("{} cannot be read: {why}", real.display()))
            .hint("the persona extends this file; make it readable, or use `overwrite`")
    };
    let Some(snapshot) = snapshot else {
        return match std::fs::read(real) {
            Ok(text) => Ok(Some(text)),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
            Err(error) => Err(refused(&error.to_string())),
        };
    };
    let (Some(dir), Some(name)) = (real.parent(), real.file_name().and_then(|name| name.to_str())) else {
        return Ok(None);
    };
    let item_of = |name: &str| Ok::<_, CommandError>(snapshot.files_of(dir, &[name.to_owned()])?.pop());
    let mut found = item_of(name)?;
    // `CLAUDE.md -> AGENTS.md` is common; a link that leads elsewhere is not followed.
    if let Some((_, Item::Link(target))) = &found
        && let Ok(beside) = std::str::from_utf8(target)
        && !beside.contains('/')
    {
        found = item_of(beside)?;
    }
    match found {
        None => Ok(None),
        Some((_, Item::File(text))) => Ok(Some(text)),
        Some((_, Item::TooLarge(_))) => Err(refused("it is too large in the commit")),
        Some((_, Item::Link(_))) => Err(refused("it is a link in the commit that leads elsewhere")),
    }
}

/// `ask` needs somebody to ask; without a word it is the default on a terminal, and `auto` elsewhere.
pub fn policy(asked: Option<ApplyArg>, host: &Host, ui: &Ui) -> Result<ApplyPolicy> {
    let terminal = host.stdin_is_terminal && host.stderr_is_terminal && !ui.is_json();
    match (asked, terminal) {
        (Some(ApplyArg::Ask), false) => Err(CommandError::usage("`--apply ask` needs a terminal")
            .hint("use `--apply auto` or `--apply never` in scripts")),
        (Some(ApplyArg::Ask) | None, true) => Ok(ApplyPolicy::Ask),
        (Some(ApplyArg::Auto), _) | (None, false) => Ok(ApplyPolicy::Auto),
        (Some(ApplyArg::Never), _) => Ok(ApplyPolicy::Never),
    }
}

/// Runs something in the mount while the base is taken: what changes meanwhile counts as the user's.
pub fn with_base<T>(
    open: &OpenMount,
    session: &Session,
    host: &Host,
    spec: &MountSpec,
    crash_points: &CrashPoints,
    run: impl FnOnce() -> Result<T>,
) -> Result<T> {
    session.set_state(host, SessionState::Running)?;
    crash_points.at("running");
    std::thread::scope(|scope| {
        let manifest = scope.spawn(|| match open.record.backend {
            Backend::None => Ok(()),
            _ => {
                crash_points.at("base begun");
                let taken = base::take_project(&session.dir, &spec.root, &spec.rules);
                crash_points.at("base taken");
                taken
            }
        });
        let outcome = run();
        let taken = manifest.join().map_err(|_| CommandError::internal("the base could not be taken"))?;
        let outcome = outcome?;
        // Without a base every change is a conflict: held, never lost.
        taken.map_err(CommandError::from)?;
        Ok(outcome)
    })
}

/// A session whose command never started holds nothing.
pub fn remove_if_untouched(sessions: &Sessions, session: &Session) -> Result<()> {
    let shown = sessions.show(session.id.as_str())?;
    let untouched =
        shown.review.is_some_and(|review| review.changes.is_empty() && !review.keeps_something_out());
    if untouched {
        sessions.store.remove(session)?;
    }
    Ok(())
}

/// How the changes of a run are to be settled.
#[derive(Debug, Clone, Copy)]
pub struct Settling {
    pub policy: ApplyPolicy,
    /// Whether the run did what it was to do; without that nothing is applied unasked.
    pub succeeded: bool,
    pub include_ignored: bool,
    pub keep: bool,
}

/// What became of the changes.
#[derive(Debug, Default)]
pub struct Settled {
    /// `None` where nothing was applied.
    pub applied: Option<Applied>,
    /// The signal that ended the question about them; they are kept.
    pub interrupted_by: Option<i32>,
}

impl Settled {
    /// What this means for the exit code.
    pub fn exit(&self) -> Exit {
        match self.interrupted_by {
            Some(signal) => Exit::Signal(u8::try_from(signal).unwrap_or(0)),
            None => self.applied.as_ref().map_or(Exit::Done, Applied::exit),
        }
    }
}

/// Decides about the changes and applies, keeps or discards them.
pub fn settle(
    sessions: &Sessions,
    session: &Session,
    record: &MountRecord,
    settling: Settling,
    signals: &mut SignalInbox,
    ui: &mut Ui,
) -> Result<Settled> {
    let mut settled = Settled::default();
    if record.backend == Backend::None {
        session.set_state(sessions.host, SessionState::Nothing)?;
        return Ok(settled);
    }
    session.set_state(sessions.host, SessionState::Held)?;
    sessions.crash_points.at("held");
    let Settling { policy, succeeded, include_ignored, keep } = settling;
    match changes_review::decide(session, policy, succeeded, include_ignored, signals, ui)? {
        Decision::Apply(selection) => {
            let request = ApplyRequest { session: session.id.to_string(), selection, include_ignored, keep };
            settled.applied = Some(sessions.apply_locked(session, &request)?);
        }
        Decision::Keep => {}
        Decision::Interrupted(signal) => settled.interrupted_by = Some(signal),
        Decision::Discard => {
            session.set_state(sessions.host, SessionState::Discarded)?;
            session.remove_mount(sessions.crash_points)?;
        }
    }
    sessions.crash_points.at("settled");
    Ok(settled)
}

pub fn say_state(session: &Session, state: SessionState, ui: &mut Ui) {
    match state {
        SessionState::Held => {
            ui.say(&format!("the work is held in session {}", session.id));
            ui.hint(format!(
                "`agentworkforce sessions diff {0}` shows it, `sessions apply {0}` applies it",
                session.id
            ));
        }
        SessionState::Discarded => ui.say("discarded"),
        _ => ui.say("nothing was changed"),
    }
}
