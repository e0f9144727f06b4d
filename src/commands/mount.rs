//! `mount`: runs any command in a private view of the project, then brings its work back or holds it.

use super::changes_review::ApplyPolicy;
use super::mounted::{self, Opening, Settling};
use super::request::{self, PlanRequest, backend, sandbox};
use super::say;
use crate::cli::MountArgs;
use crate::error::Result;
use crate::exit::Exit;
use crate::host::Host;
use crate::model::mount::{Backend, MountSpec};
use crate::model::mount_record::MountRecord;
use crate::model::persona::MountPolicy;
use crate::model::selector::Selector;
use crate::mount::CrashPoints;
use crate::mount::changes::diff::printable_name;
use crate::mount::{
    ChildCommand, ChildOutcome, ChildStdio, Ending, InjectedFile, OpenMount, SignalInbox,
    catch_runner_signals,
};
use crate::plan::mount::{MountFlags, MountPlace};
use crate::session::{Applied, Sessions};
use crate::session::{Session, SessionState, SessionStore};
use crate::ui::{Ui, printable};
use crate::workforce::Workforce;
use serde::Serialize;
use std::ffi::OsString;
use std::path::Path;

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
    let policy = mounted::policy(args.changes.apply, host, ui)?;
    let workforce = Workforce::open_at(host, args.from.persona_ref())?;
    say::persona_ref(&workforce, ui);
    say::warnings(&workforce.general_warnings(), ui);
    let wanted = Wanted::of(args, &workforce, ui)?;
    let store = SessionStore::new(&workforce.layers.home);
    let crash_points = CrashPoints::of(host);
    let mut signals = catch_runner_signals()?;
    crash_points.at("asked");
    let session = store.create(host, &wanted.name, &wanted.spec.root)?;
    crash_points.at("session made");
    let opening = Opening {
        session: &session,
        store: &store,
        host,
        spec: &wanted.spec,
        injected: &wanted.injected,
        shown: &[],
        lent: &[],
        signals: &signals,
        crash_points: &crash_points,
    };
    let (open, facts_warning) = match opening.open() {
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
    if host.stdin_is_terminal && host.stderr_is_terminal && !ui.is_json() {
        say_where(&open.record, policy, ui);
    }
    let command = ChildCommand { argv: args.command.clone(), env: environment(&session, &wanted.name) };
    let json = ui.is_json();
    let outcome = mounted::with_base(&open, &session, host, &wanted.spec, &crash_points, || {
        // The object is all that may be on our stdout.
        let stdio = if json { ChildStdio::all_on_stderr()? } else { ChildStdio::inherited() };
        Ok(open.run(&command, stdio, &mut signals, None)?)
    });
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => {
            session.set_state(host, SessionState::Held)?;
            let sessions = Sessions { store: &store, host, crash_points: &crash_points };
            mounted::remove_if_untouched(&sessions, &session)?;
            return Err(error);
        }
    };
    crash_points.at("ended");
    let sessions = Sessions { store: &store, host, crash_points: &crash_points };
    let succeeded = outcome.ending == Ending::Code(0) && outcome.interrupted_by.is_none();
    let settling = Settling {
        policy,
        succeeded,
        include_ignored: args.changes.include_ignored,
        keep: args.changes.keep,
    };
    finish(&sessions, &session, &open, outcome, settling, &mut signals, ui).map_err(|error| {
        error.hint(format!(
            "its work is kept in session {0}: `agentworkforce sessions recover {0}`, then `sessions apply {0}`",
            session.id
        ))
    })
}

/// The spec, and what is injected in the mount.
struct Wanted {
    name: String,
    spec: MountSpec,
    injected: Vec<InjectedFile>,
}

impl Wanted {
    fn of(args: &MountArgs, workforce: &Workforce, ui: &mut Ui) -> Result<Wanted> {
        let chosen = mounted::find_root(workforce, args.root.as_deref())?;
        mounted::refuse_root(workforce, &chosen.root)?;
        let persona = args.persona.as_deref().map(Selector::parse).transpose()?;
        let name = persona.as_ref().map(|selector| selector.name.as_str());
        mounted::refuse_unheard(workforce, name, &chosen.root)?;
        let flags = MountFlags { backend: args.mount.map(backend), sandbox: args.sandbox.map(sandbox) };
        let mut wanted = match persona {
            Some(selector) => Wanted::of_persona(selector, flags, &chosen.root, workforce, ui)?,
            None => {
                // Those that cannot be read have ended it above.
                let rules = workforce.rule_files(&chosen.root, "mount")?;
                let place = MountPlace {
                    is_repository: chosen.root.join(".git").symlink_metadata().is_ok(),
                    root: chosen.root.clone(),
                    cwd: chosen.cwd.clone(),
                    rule_files: rules.files,
                    rule_prefix: rules.prefix,
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
                Wanted { name: "mount".into(), spec, injected: Vec::new() }
            }
        };
        (wanted.spec.root, wanted.spec.cwd) = (chosen.root, chosen.cwd);
        Ok(wanted)
    }

    fn of_persona(
        selector: Selector,
        flags: MountFlags,
        root: &Path,
        workforce: &Workforce,
        ui: &mut Ui,
    ) -> Result<Wanted> {
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
        let injected = plan
            .sidecar
            .as_ref()
            .map(|sidecar| mounted::injected_sidecar(&plan.mount, sidecar, workforce.snapshot()))
            .transpose()?;
        Ok(Wanted {
            name: plan.persona.id.clone(),
            spec: plan.mount,
            injected: injected.into_iter().collect(),
        })
    }
}

/// Where somebody at a terminal is now, and what becomes of what is done here: it looks like the project itself.
fn say_where(record: &MountRecord, policy: ApplyPolicy, ui: &mut Ui) {
    let root = printable_name(record.root.as_ref());
    let what = match record.backend {
        Backend::Overlay => format!("a private view of {root} (overlay)"),
        Backend::Copy => format!("a private copy of {root}"),
        Backend::Auto | Backend::None => {
            ui.say(&format!("this is {root} itself, not a private view; every change is final"));
            return;
        }
    };
    let then = match policy {
        ApplyPolicy::Ask => "you are asked about the changes when it ends",
        ApplyPolicy::Auto => "the changes are applied when it ends with success",
        ApplyPolicy::Never => "the changes are held in the session when it ends",
    };
    ui.say(&format!("this is {what}: nothing you do here reaches the project yet; {then}"));
    ui.hint("a shell is left with `exit` or Ctrl-D");
}

fn environment(session: &Session, name: &str) -> Vec<(OsString, Option<OsString>)> {
    let set = |key: &str, value: &str| (OsString::from(key), Some(OsString::from(value)));
    vec![
        set("AGENTWORKFORCE_SESSION", session.id.as_str()),
        set("AGENTWORKFORCE_PERSONA", name),
        (OsString::from("AGENTWORKFORCE_TEST_KILL_AT"), None),
    ]
}

fn finish(
    sessions: &Sessions,
    session: &Session,
    open: &OpenMount,
    outcome: ChildOutcome,
    settling: Settling,
    signals: &mut SignalInbox,
    ui: &mut Ui,
) -> Result<Exit> {
    let settled = mounted::settle(sessions, session, &open.record, settling, signals, ui)?;
    let own = settled.exit();
    let applied = settled.applied;
    let warnings = applied.as_ref().map(|applied| &applied.warnings[..]).unwrap_or_default();
    let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    let state = session.entry()?.state;
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
            None => mounted::say_state(session, state, ui),
        }
    }
    Ok(exit)
}
