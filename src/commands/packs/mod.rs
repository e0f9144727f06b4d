//! What the commands for packs share: where packs go, fetching with a sign of life, writing what was decided, telling it.

use super::edit::{audit, layer_dir, user_personas};
use crate::cli::LayerArg;
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::host::Host;
use crate::load::places::PROJECT_DIR;
use crate::mount::CrashPoints;
use crate::mount::process::signals::SignalInbox;
use crate::pack::apply::{self, Edits};
use crate::pack::contents::UnitKind;
use crate::pack::decide::{Action, Because, Decision, OnDisk, Way};
use crate::pack::fetch::{Fetched, Fetching, fetch};
use crate::pack::lockfile::{LOCK_FILE, Lock, LockedPack};
use crate::pack::settle::settle;
use crate::pack::settlement::Settlement;
use crate::pack::source::PackSource;
use crate::pack::target::Target;
use crate::pack::tree::File;
use crate::resolve::chain::same_id;
use crate::ui::{Ui, printable};
use crate::workforce::Workforce;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::cell::{Cell, RefCell};
use std::path::Path;
use std::time::{Duration, Instant};

pub mod install;
mod locked;
pub mod pack;
mod replaced;
mod tell;
pub mod uninstall;
pub mod update;
mod warnings;

/// Where packs of a layer are.
fn target_of(workforce: &Workforce, layer: LayerArg) -> Result<Target> {
    let dir = layer_dir(workforce, layer);
    let target = match layer {
        LayerArg::Project => {
            let levels = Path::new(PROJECT_DIR).components().count();
            let base = dir.ancestors().nth(levels).unwrap_or(&dir).to_owned();
            for name in ["personas", "roles"] {
                stay_inside(&base, &dir.join(name))?;
            }
            Target { personas: dir.join("personas"), roles: dir.join("roles"), base }
        }
        LayerArg::User => {
            Target { personas: user_personas(workforce)?, roles: dir.join("roles"), base: dir.clone() }
        }
    };
    let personas = &target.personas;
    if personas.metadata().is_ok_and(|found| !found.is_dir()) {
        let text = format!("{} is a file where the directory of personas belongs", personas.display());
        return Err(CommandError::usage(text).hint("move it away and run this again"));
    }
    Ok(target)
}

/// A project that was cloned must not lead anybody to write elsewhere.
fn stay_inside(base: &Path, dir: &Path) -> Result<()> {
    let Ok(root) = base.canonicalize() else { return Ok(()) };
    let steps: Vec<&Path> = dir.ancestors().take_while(|step| *step != base).collect();
    for step in steps.into_iter().rev().filter(|step| step.is_symlink()) {
        let leads = match step.canonicalize() {
            Ok(real) if real.starts_with(&root) => continue,
            Ok(real) => format!("leaves the project: it leads to {}", real.display()),
            Err(_) => "leads nowhere".to_owned(),
        };
        return Err(CommandError::new(Exit::Refused, format!("{} is a link that {leads}", step.display()))
            .hint("put a directory in its place to have packs in the project")
            .hint("`--to user` installs them for yourself instead"));
    }
    Ok(())
}

/// Fetches packs, stays alive on a terminal, and ends in good order when it is told to.
pub struct Fetcher<'a> {
    host: &'a Host,
    time: Duration,
    signals: SignalInbox,
}

impl<'a> Fetcher<'a> {
    fn new(host: &'a Host, seconds: f64) -> Result<Fetcher<'a>> {
        // From here on a signal is asked for, so that nobody is ended in the middle of writing.
        let signals = SignalInbox::catch(&[SIGINT, SIGTERM, SIGHUP])?;
        let time = Duration::try_from_secs_f64(seconds)
            .map_err(|_| CommandError::usage("`--timeout` is too long"))?;
        Ok(Fetcher { host, time, signals })
    }

    fn fetch(&self, source: &PackSource, pinned: Option<&str>, ui: &mut Ui) -> Result<Fetched> {
        let is_shown = self.host.stderr_is_terminal && !ui.is_json();
        let shown = printable(&source.kept(&self.host.cwd)).into_owned();
        let started = Instant::now();
        let second = Cell::new(0);
        let screen = RefCell::new(&mut *ui);
        let stop = || {
            let now = started.elapsed().as_secs();
            if is_shown && now > second.replace(now) {
                screen.borrow_mut().progress(&format!("fetching {shown} ... {now} s"));
            }
            self.signals.asked_to_end().is_some()
        };
        if is_shown {
            screen.borrow_mut().progress(&format!("fetching {shown} ..."));
        }
        let fetched = fetch(source, pinned, &Fetching { host: self.host, time: self.time, stop: &stop });
        if is_shown {
            ui.end_progress();
        }
        self.check_signals()?;
        fetched
    }

    /// Before anything is written: whether the user wants to stop.
    fn check_signals(&self) -> Result<()> {
        match self.signals.asked_to_end() {
            Some(signal) => {
                let number = u8::try_from(signal).unwrap_or(u8::MAX);
                Err(CommandError::new(Exit::Signal(number), "stopped; nothing was written"))
            }
            None => Ok(()),
        }
    }
}

/// The lock after these decisions.
fn settled(before: &Lock, name: &str, pack: LockedPack, decisions: &[Decision]) -> Lock {
    let mut after = before.clone();
    settle(&mut after, name, pack, decisions);
    after
}

/// Other packs that lost all that they had.
fn emptied(before: &Lock, after: &Lock, name: &str) -> Vec<String> {
    let gone = before.packs.keys().filter(|other| *other != name && !after.packs.contains_key(*other));
    gone.cloned().collect()
}

/// Writes what was decided, with the lock, in one step. The caller holds the lock of the directory.
fn write(
    host: &Host,
    target: &Target,
    (before, after): (&Lock, &Lock),
    decisions: &[Decision],
    ui: &mut Ui,
) -> Result<()> {
    let mut edits = Edits::default();
    for decision in decisions {
        edits.writes.extend(decision.writes.iter().map(|(path, file)| (path.clone(), file.clone())));
        edits.removes.extend(decision.removes.iter().cloned());
    }
    if after.packs.is_empty() {
        if target.personas.join(LOCK_FILE).symlink_metadata().is_ok() {
            edits.removes.push(LOCK_FILE.to_owned());
        }
    } else if after != before {
        let lock = File { bytes: after.bytes().into(), executable: false };
        edits.writes.insert(LOCK_FILE.to_owned(), lock);
    }
    if edits.writes.is_empty() && edits.removes.is_empty() {
        return Ok(());
    }
    let crash_points = CrashPoints::of(host);
    let is_shown = host.stderr_is_terminal && !ui.is_json();
    let number = edits.writes.len() + edits.removes.len();
    if is_shown {
        ui.progress(&format!("changing {number} files ..."));
    }
    let screen = RefCell::new(&mut *ui);
    let done = Cell::new(0);
    let applied = apply::apply(target, edits, &|name| {
        crash_points.at(name);
        // One by one is slow where there are many.
        if is_shown && matches!(name, "written" | "removed") {
            done.set(done.get() + 1);
            if done.get() % 100 == 0 {
                screen.borrow_mut().progress(&format!("changing files: {} of {number} ...", done.get()));
            }
        }
    });
    if is_shown {
        ui.end_progress();
    }
    applied
}

/// A persona whose id is taken by a file of another name is left out: two of them would spoil both.
fn yield_to_rivals(
    workforce: &Workforce,
    target: &Target,
    known: Option<&LockedPack>,
    settlement: &Settlement,
    decisions: &mut [Decision],
) {
    let is_new = |decision: &&mut Decision| {
        let json = format!("{}.json", decision.id);
        decision.kind == UnitKind::Persona
            && decision.writes.contains_key(&json)
            && target.look(&json) == OnDisk::Nothing
    };
    for decision in decisions.iter_mut().filter(is_new) {
        let rival = workforce.catalogue.entries.iter().find_map(|entry| {
            let file = entry.source.file.as_deref()?;
            let is_here = file.parent() == Some(&target.personas);
            (is_here && same_id(&entry.header.id, &decision.id)).then(|| file.file_name()?.to_str())?
        });
        let Some(rival) = rival else { continue };
        decision.differing = vec![rival.to_owned()];
        if settlement.way(decision.kind, &decision.id) == Way::KeepMine {
            // Theirs is the one of the other name: none of the pack's files is wanted.
            decision.action = Action::Kept;
            decision.kept = decision.writes.keys().map(|path| (path.clone(), None)).collect();
            decision.writes.clear();
            decision.removes.clear();
        } else {
            decision.leave(Action::Skipped, Because::IdIsTaken, known);
        }
    }
}

/// A pack that the lock names, from where the lock says.
fn fetch_locked(
    fetcher: &Fetcher<'_>,
    source: &PackSource,
    (kept, commit): (&str, Option<&str>),
    ui: &mut Ui,
) -> Result<Fetched> {
    if let Some(place) = source.place().filter(|place| place.symlink_metadata().is_err()) {
        return Err(CommandError::new(
            Exit::Failed,
            format!("there is no {kept}, where the lock says it is from"),
        )
        .caused_by(format!("that would be {}", place.display()))
        .hint("put it there again, or `agentworkforce install` it from where it is now"));
    }
    fetcher.fetch(source, commit, ui)
}

/// The error of one pack, where there may be others.
fn of_pack(name: &str, what: &str, error: CommandError) -> CommandError {
    let CommandError { exit, message, mut causes, hints } = error;
    causes.insert(0, message);
    CommandError { exit, message: format!("pack `{name}` {what}"), causes, hints }
}

/// A line in the home's log. What is installed is installed, also where the home cannot be written.
fn note(workforce: &Workforce, text: &str) {
    let _ = audit(workforce, text);
}

/// The pack of this name in the lock.
fn installed<'l>(lock: &'l Lock, name: &str, target: &Target) -> Result<&'l LockedPack> {
    lock.packs.get(name).ok_or_else(|| {
        let names: Vec<&str> = lock.packs.keys().map(String::as_str).collect();
        let near = crate::model::words::nearest(name, names.iter().copied());
        let known = if names.is_empty() {
            "no pack is installed here".to_owned()
        } else {
            format!("installed here: {}", names.join(", "))
        };
        CommandError::usage(format!("there is no pack `{name}` in {}", target.personas.display()))
            .maybe_hint(near.map(|near| format!("did you mean `{near}`?")))
            .hint(known)
            .hint("`--to user` looks among your own personas instead of the project's")
    })
}
