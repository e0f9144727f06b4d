//! `sessions`: what runs left behind, and what becomes of it.

mod apply;
mod diff;
mod discard;
mod list;
mod log;
mod paths;
mod show;
mod space;
mod stop;
mod undo;

pub use apply::say_applied;
pub use show::resume_command;
pub use space::tidy;

use self::log::LogRequest;
use self::paths::Typed;
use crate::cli::SessionsCommand;
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::host::Host;
use crate::load::config;
use crate::load::layers::config_path;
use crate::model::amounts::counted;
use crate::mount::CrashPoints;
use crate::mount::apply::UndoRequest;
use crate::mount::changes::Merging;
use crate::mount::changes::diff::printable_name;
use crate::run::watch::{Watch, begin_apply};
use crate::session::recover::Recovery;
use crate::session::{SessionState, SessionStore, Sessions};
use crate::ui::{Ui, printable};
use serde::Serialize;
use serde_json::json;
use std::path::PathBuf;
use std::time::Duration;

pub fn run(command: &SessionsCommand, host: &Host, ui: &mut Ui) -> Result<Exit> {
    let store = SessionStore::new(&host.workforce_home()?).seen_from(&host.cwd);
    // Once: `last` must not become another one on the way.
    let mut command = command.clone();
    if let Some(id) = command.session_mut() {
        *id = store.find(id)?.id.to_string();
    }
    let command = &command;
    let crash_points = CrashPoints::of(host);
    let sessions =
        Sessions { store: &store, host, crash_points: &crash_points, merging: merging(command, host)? };
    let watch = watch(command, &sessions)?;
    let exit = carry_out(command, &sessions, ui)?;
    if let Some((path, note)) = watch.as_ref().and_then(Watch::appeared) {
        let (path, note) = (printable_name(&path), printable_name(note));
        ui.warning(format!(
            "{path} has appeared by this, and would decide about the next run, which is refused"
        ));
        ui.hint(format!("look at what is there; undo this or remove it, or else the note {note}"));
    }
    Ok(exit)
}

/// What must not come to life by what a command brings back into the project.
fn watch(command: &SessionsCommand, sessions: &Sessions) -> Result<Option<Watch>> {
    let (SessionsCommand::Apply { id, .. } | SessionsCommand::Redo { id }) = command else { return Ok(None) };
    let session = sessions.store.find(id)?;
    let Some(status) = session.status()? else { return Ok(None) };
    Ok(Some(begin_apply(sessions.host, session.id.as_str(), &status.root)?))
}

fn carry_out(command: &SessionsCommand, sessions: &Sessions, ui: &mut Ui) -> Result<Exit> {
    match command {
        SessionsCommand::List(args) => list::run(args, sessions, ui),
        SessionsCommand::Show { id } => show::run(sessions, id, ui),
        SessionsCommand::Diff { id, path, include_ignored } => {
            let typed = Typed::of(sessions, id, || {
                if path.is_some() { all_paths(sessions, id) } else { Ok(Vec::new()) }
            })?;
            let path = path.as_ref().map(|path| typed.path(path));
            diff::diff(sessions, id, path.as_ref(), *include_ignored, ui)
        }
        SessionsCommand::Log { id, follow, raw } => {
            log::run(sessions, id, LogRequest { follow: *follow, raw: *raw }, ui)
        }
        SessionsCommand::Stop { id, timeout } => stop::run(sessions, id, *timeout, ui),
        SessionsCommand::Apply { .. } => apply::run(command, sessions, ui),
        SessionsCommand::Discard { id, yes } => discard::run(sessions, id, *yes, ui),
        SessionsCommand::Undo { id, only, force } => {
            let typed = Typed::of(sessions, id, || {
                if only.is_empty() { Ok(Vec::new()) } else { all_paths(sessions, id) }
            })?;
            let request = UndoRequest { only: typed.paths(only), force: *force };
            undo::say(&sessions.undo(id, &request)?, ui)
        }
        SessionsCommand::Redo { id } => undo::say(&sessions.redo(id)?, ui),
        SessionsCommand::Recover { id } => recover(sessions, id.as_deref(), ui),
        SessionsCommand::Du => space::du(sessions, ui),
        SessionsCommand::Prune { older_than, force, dry_run } => {
            space::prune(sessions, older_than, *force, *dry_run, ui)
        }
    }
}

/// Every path that a session has changed or applied.
fn all_paths(sessions: &Sessions, id: &str) -> anyhow::Result<Vec<PathBuf>> {
    let shown = sessions.show(id)?;
    let changes = shown.review.iter().flat_map(|review| &review.changes).map(|change| &change.path);
    let applied = shown.journals.iter().flat_map(|journal| &journal.paths);
    Ok(changes.chain(applied).map(|path| path.0.clone()).collect())
}

fn config(host: &Host) -> Result<config::Config> {
    Ok(config::read(&config_path(&host.workforce_home()?)))
}

/// What the command line and the config say about merging.
fn merging(command: &SessionsCommand, host: &Host) -> Result<Merging> {
    let is_off = matches!(command, SessionsCommand::Apply { no_merge: true, .. });
    let config = config(host)?;
    let is_on = !is_off && config.settings.mount.merge.unwrap_or(true);
    Ok(if is_on { Merging::On } else { Merging::Off })
}

/// A result as the one JSON object, with our version in front and the warnings behind.
fn answer(value: &impl Serialize, ui: &mut Ui) {
    let mut whole = json!({"schemaVersion": 2});
    if let (Some(object), Ok(serde_json::Value::Object(fields))) =
        (whole.as_object_mut(), serde_json::to_value(value))
    {
        object.extend(fields);
        object.entry("warnings").or_insert_with(|| json!([]));
    }
    ui.json(&whole);
}

fn recover(sessions: &Sessions, id: Option<&str>, ui: &mut Ui) -> Result<Exit> {
    let Recovery { recovered, running } = sessions.recover(id)?;
    let failed = recovered.iter().any(|session| session.problem.is_some());
    if ui.is_json() {
        answer(&json!({"recovered": recovered, "running": running}), ui);
    } else if recovered.is_empty() {
        ui.line("nothing to recover");
        if !running.is_empty() {
            ui.hint(format!("still running: {}", running.join(", ")));
        }
    } else {
        for session in &recovered {
            ui.line(format!(
                "{}  {}  {}, {}",
                session.session,
                session.state.text(),
                counted(session.changes, "change"),
                counted(session.conflicts, "conflict")
            ));
            if let Some(problem) = &session.problem {
                ui.warning(printable(problem));
            }
            if session.state == SessionState::Held {
                ui.hint(format!(
                    "`agentworkforce sessions diff {0}`, then `sessions apply {0}` or `sessions discard {0}`",
                    session.session
                ));
            }
        }
    }
    Ok(if failed { Exit::Failed } else { Exit::Done })
}

/// `7d`, `12h`, `30m`, `90s`, or plain seconds.
fn parse_age(text: &str) -> Result<Duration> {
    let wrong = || {
        CommandError::usage(format!("`{text}` is not an age")).hint("write it as `7d`, `12h`, `30m` or `90s`")
    };
    let (number, unit) = match text.find(|c: char| !c.is_ascii_digit()) {
        Some(at) => text.split_at(at),
        None => (text, "s"),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86400,
        _ => return Err(wrong()),
    };
    Ok(Duration::from_secs(number.saturating_mul(seconds)))
}
