//! `mount`: runs any command in a private view of the project, then brings its work back or holds it.

use super::changes_review::{self, ApplyPolicy, Decision};
use super::request::{self, PlanRequest, backend, sandbox};
use super::sessions::work::{Applied, ApplyRequest, Sessions};
use super::workforce::Workforce;
use crate::cli::{ApplyArg, MountArgs};
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::host::Host;
use crate::model::mount::{Backend, MountSpec};
use crate::model::mount_record::MountRecord;
use crate::model::persona::{MountPolicy, SidecarMode};
use crate::model::plan::PlannedSidecar;
use crate::mount::apply::Instants;
use crate::mount::{
    self, ChildCommand, ChildOutcome, Ending, OpenMount, OpenRequest, PlantedFile, base,
    catch_runner_signals, probe, root,
};
use crate::plan::mount::{MountFlags, MountPlace};
use crate::session::{Session, SessionState, SessionStore};
use crate::ui::{Ui, printable};
use serde::Serialize;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What `mount --json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct MountReport<'a> {
    schema_version: u32,
    session: String,
    outcome: ReportedOutcome,
    mount: &'a MountRecord,
    /// `None` where the changes were not applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    applied: Option<&'a Applied>,
    state: SessionState,
    warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ReportedOutcome {
    exit_code: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    command_exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<i32>,
}

pub fn run(args: &MountArgs, host: &Host, ui: &mut Ui) -> Result<Exit> {
    let policy = policy(args.apply, host, ui)?;
    let workforce = Workforce::open(host)?;
    for warning in workforce.general_warnings() {
        ui.warning(printable(&warning));
    }
    let wanted = Wanted::of(args, &workforce, ui)?;
    let store = SessionStore::new(&workforce.layers.home);
    let instants = instants(host)?;
    let mut signals = catch_runner_signals()?;
    instants.at("asked");
    let session = store.create(host, &wanted.name, &wanted.spec.root)?;
    instants.at("session made");
    let opened = open_in(&session, &store, host, &wanted, &signals, &instants);
    let (open, facts_warning) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            // Nothing ran, so nothing is worth keeping.
            let _ = store.remove(&session);
            return Err(error);
        }
    };
    for warning in &facts_warning {
        ui.warning(printable(warning));
    }
    let command = ChildCommand { argv: args.command.clone(), env: environment(&session, &wanted.name) };
    let outcome = run_child(&open, &session, host, &wanted.spec, &command, &mut signals, &instants);
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => {
            session.set_state(host, SessionState::Held)?;
            let sessions = Sessions { store: &store, host, instants: &instants };
            remove_if_untouched(&sessions, &session)?;
            return Err(error);
        }
    };
    instants.at("ended");
    let sessions = Sessions { store: &store, host, instants: &instants };
    finish(&sessions, &session, &open, outcome, policy, args, ui).map_err(|error| {
        error.hint(format!(
            "its work is kept in session {0}: `agentworkforce sessions recover {0}`, then `sessions apply {0}`",
            session.id
        ))
    })
}

/// The spec, and what is planted in the mount.
struct Wanted {
    name: String,
    spec: MountSpec,
    planted: Vec<PlantedFile>,
}

impl Wanted {
    fn of(args: &MountArgs, workforce: &Workforce, ui: &mut Ui) -> Result<Wanted> {
        let host = &workforce.host;
        let home = host.home_dir();
        let around =
            root::Surroundings { cwd: &host.cwd, home: home.as_deref(), state: &workforce.layers.home };
        let asked = args.root.as_ref().map(|dir| host.expand_tilde(&dir.to_string_lossy()));
        let chosen = root::choose(around, asked.as_deref(), workforce.layers.project_root.as_deref())?;
        let flags = MountFlags { backend: args.mount.map(backend), sandbox: args.sandbox.map(sandbox) };
        let mut wanted = match &args.persona {
            Some(selector) => Wanted::of_persona(selector, flags, &chosen.root, workforce, ui)?,
            None => {
                let (files, problems) = crate::load::project::rule_files(&chosen.root, "mount");
                for problem in problems {
                    ui.warning(printable(&problem));
                }
                let rule_files = files.into_iter().map(|file| (file.name, file.text)).collect();
                let place = MountPlace {
                    is_repository: chosen.root.join(".git").symlink_metadata().is_ok(),
                    root: chosen.root.clone(),
                    cwd: chosen.cwd.clone(),
                    rule_files,
                };
                let settings = &workforce.config.settings.mount;
                let spec = crate::plan::mount::spec(
                    "mount",
                    None,
                    &MountPolicy::default(),
                    settings,
                    &flags,
                    &place,
                );
                Wanted { name: "mount".into(), spec, planted: Vec::new() }
            }
        };
        (wanted.spec.root, wanted.spec.cwd) = (chosen.root, chosen.cwd);
        Ok(wanted)
    }

    fn of_persona(
        selector: &str,
        flags: MountFlags,
        root: &Path,
        workforce: &Workforce,
        ui: &mut Ui,
    ) -> Result<Wanted> {
        let selector = super::workforce::parse_selector(selector)?;
        let mut request = PlanRequest {
            persona: selector.name,
            tier: selector.tier,
            root: Some(root.to_owned()),
            ..PlanRequest::default()
        };
        request.flags.mount = flags;
        let (_, plan) = request::look(workforce, &request)?;
        for warning in &plan.warnings {
            ui.warning(printable(warning));
        }
        let planted =
            plan.sidecar.as_ref().map(|sidecar| planted_sidecar(&plan.mount, sidecar)).transpose()?;
        Ok(Wanted { name: plan.persona.id.clone(), spec: plan.mount, planted: planted.into_iter().collect() })
    }
}

/// The persona's instruction file as the mount will have it; `extend` reads the real one, which stays as it is.
fn planted_sidecar(spec: &MountSpec, sidecar: &PlannedSidecar) -> Result<PlantedFile> {
    let real = spec.root.join(&sidecar.target);
    let mut bytes = Vec::new();
    if sidecar.mode == SidecarMode::Extend {
        match std::fs::read(&real) {
            Ok(text) => {
                bytes = text;
                bytes.extend_from_slice(b"\n\n---\n\n");
            }
            Err(error)
                if matches!(
                    error.kind(),
                    std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
                ) => {}
            Err(error) => {
                return Err(CommandError::usage(format!("{} cannot be read: {error}", real.display()))
                    .hint("the persona extends this file; make it readable, or use `overwrite`"));
            }
        }
    }
    bytes.extend_from_slice(sidecar.content.as_bytes());
    Ok(PlantedFile { path: PathBuf::from(&sidecar.target), bytes, mode: 0o644 })
}

/// `ask` needs somebody to ask; without a word it is the default on a terminal, and `auto` elsewhere.
fn policy(asked: Option<ApplyArg>, host: &Host, ui: &Ui) -> Result<ApplyPolicy> {
    let terminal = host.stdin_is_terminal && host.stderr_is_terminal && !ui.is_json();
    match (asked, terminal) {
        (Some(ApplyArg::Ask), false) => Err(CommandError::usage("`--apply ask` needs a terminal")
            .hint("use `--apply auto` or `--apply never` in scripts")),
        (Some(ApplyArg::Ask) | None, true) => Ok(ApplyPolicy::Ask),
        (Some(ApplyArg::Auto), _) | (None, false) => Ok(ApplyPolicy::Auto),
        (Some(ApplyArg::Never), _) => Ok(ApplyPolicy::Never),
    }
}

/// A hook for the crash tests: the number of the moment at which this process kills itself.
pub fn instants(host: &Host) -> Result<Instants> {
    match host.var("AGENTWORKFORCE_TEST_KILL_AT") {
        None => Ok(Instants::none()),
        Some(number) => number
            .parse()
            .map(Instants::kill_at)
            .map_err(|_| CommandError::usage("`AGENTWORKFORCE_TEST_KILL_AT` is not a number")),
    }
}

fn open_in(
    session: &Session,
    store: &SessionStore,
    host: &Host,
    wanted: &Wanted,
    signals: &mount::SignalInbox,
    instants: &Instants,
) -> Result<(OpenMount, Vec<String>)> {
    session.write_rules(&wanted.spec.rules)?;
    instants.at("rules written");
    let helper = Path::new("/proc/self/exe");
    let state = host.workforce_home()?;
    let facts = probe::facts(helper, &state, &wanted.spec.root)?;
    instants.at("probed");
    let open = mount::open(&OpenRequest {
        spec: &wanted.spec,
        facts: &facts,
        helper,
        sessions_dir: &store.sessions_dir(),
        session_dir: &session.dir,
        planted: &wanted.planted,
        expose: &[],
        writable: &[],
        signals: Some(signals),
        lock: session.lock_file(),
        instants,
    })?;
    instants.at("opened");
    let mut warnings = Vec::new();
    if let Some(reason) = &open.record.fallback {
        warnings.push(format!("the mount is a copy: {reason}"));
    }
    if open.record.backend == Backend::Copy {
        warnings.push("in a copy the real project can still be reached by its absolute path".into());
        base::take_copy(&session.dir, &session.dir.join(&open.record.data))?;
    }
    if open.record.backend == Backend::None {
        warnings.push(
            "there is no mount: the command works in the real directory, and nothing can be undone".into(),
        );
    }
    instants.at("copy noted");
    Ok((open, warnings))
}

fn environment(session: &Session, name: &str) -> Vec<(OsString, Option<OsString>)> {
    let set = |key: &str, value: &str| (OsString::from(key), Some(OsString::from(value)));
    vec![
        set("AGENTWORKFORCE_SESSION", session.id.as_str()),
        set("AGENTWORKFORCE_PERSONA", name),
        (OsString::from("AGENTWORKFORCE_TEST_KILL_AT"), None),
    ]
}

fn run_child(
    open: &OpenMount,
    session: &Session,
    host: &Host,
    spec: &MountSpec,
    command: &ChildCommand,
    signals: &mut mount::SignalInbox,
    instants: &Instants,
) -> Result<ChildOutcome> {
    session.set_state(host, SessionState::Running)?;
    instants.at("running");
    std::thread::scope(|scope| {
        // The base is taken while the command starts: what changes meanwhile counts as the user's.
        let manifest = scope.spawn(|| match open.record.backend {
            Backend::None => Ok(()),
            _ => {
                instants.at("base begun");
                let taken = base::take_project(&session.dir, &spec.root, &spec.rules);
                instants.at("base taken");
                taken
            }
        });
        let outcome = open.run(command, signals);
        let taken = manifest.join().map_err(|_| CommandError::internal("the base could not be taken"))?;
        let outcome = outcome?;
        // Without a base every change is a conflict: held, never lost.
        taken.map_err(CommandError::from)?;
        Ok(outcome)
    })
}

/// A session whose command never started holds nothing.
fn remove_if_untouched(sessions: &Sessions, session: &Session) -> Result<()> {
    let shown = sessions.show(session.id.as_str())?;
    let untouched =
        shown.review.is_some_and(|review| review.changes.is_empty() && !review.keeps_something_out());
    if untouched {
        sessions.store.remove(session)?;
    }
    Ok(())
}

fn finish(
    sessions: &Sessions,
    session: &Session,
    open: &OpenMount,
    outcome: ChildOutcome,
    policy: ApplyPolicy,
    args: &MountArgs,
    ui: &mut Ui,
) -> Result<Exit> {
    let succeeded = outcome.ending == Ending::Code(0) && outcome.interrupted_by.is_none();
    let mut warnings = Vec::new();
    let mut applied = None;
    if open.record.backend == Backend::None {
        session.set_state(sessions.host, SessionState::Nothing)?;
    } else {
        session.set_state(sessions.host, SessionState::Held)?;
        sessions.instants.at("held");
        let decision = changes_review::decide(session, policy, succeeded, args.include_ignored, ui)?;
        match decision {
            Decision::Apply(selection) => {
                let request = ApplyRequest {
                    session: session.id.to_string(),
                    selection,
                    include_ignored: args.include_ignored,
                    keep: args.keep,
                };
                let result = sessions.apply_locked(session, &request)?;
                warnings.extend(result.warnings.iter().cloned());
                applied = Some(result);
            }
            Decision::Keep => {}
            Decision::Discard => {
                session.set_state(sessions.host, SessionState::Discarded)?;
                session.remove_mount(sessions.instants)?;
            }
        }
    }
    sessions.instants.at("settled");
    let state = session.entry()?.state;
    let own = applied.as_ref().map_or(Exit::Done, Applied::exit);
    let exit = if own == Exit::Done { outcome.exit() } else { own };
    if ui.is_json() {
        let (command_exit_code, signal) = match outcome.ending {
            Ending::Code(code) => (Some(code), None),
            Ending::Signal(number) => (None, Some(number)),
            Ending::Killed => (None, Some(9)),
        };
        ui.json(&MountReport {
            schema_version: 1,
            session: session.id.to_string(),
            outcome: ReportedOutcome { exit_code: exit.code(), command_exit_code, signal },
            mount: &open.record,
            applied: applied.as_ref(),
            state,
            warnings,
        });
    } else {
        for warning in &warnings {
            ui.warning(printable(warning));
        }
        match &applied {
            Some(applied) => super::sessions::say_applied(applied, ui),
            None => say_state(session, state, ui),
        }
    }
    Ok(exit)
}

fn say_state(session: &Session, state: SessionState, ui: &mut Ui) {
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
