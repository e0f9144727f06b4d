//! What the commands for packs share: the target directories, fetching with progress, and writing what was decided.

use self::stop_signals::StopSignals;
use super::edit::{audit, layer_dir, user_personas};
use crate::cli::LayerArg;
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::host::Host;
use crate::load::places::PROJECT_DIR;
use crate::mount::CrashPoints;
use crate::pack::apply;
use crate::pack::contents::UnitKind;
use crate::pack::decide::{Action, Decision, OnDisk, Reason};
use crate::pack::edits::Edits;
use crate::pack::fetch::{Fetched, Fetching, fetch};
use crate::pack::lockfile::{LOCK_FILE, Lock, LockedPack};
use crate::pack::policy::{ConflictChoice, Policy, update_policy};
use crate::pack::record::record_decisions;
use crate::pack::source::PackSource;
use crate::pack::target::Target;
use crate::pack::tree::File;
use crate::resolve::chain::same_id;
use crate::ui::{Ui, printable};
use crate::workforce::Workforce;
use std::cell::{Cell, RefCell};
use std::path::Path;
use std::time::{Duration, Instant};

mod backup;
pub mod install;
mod installation;
mod locked;
pub mod pack;
mod stop_signals;
mod summary;
pub mod uninstall;
pub mod update;
mod warnings;

/// The directories of a layer.
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
        let text = format!("{} is a file, not the directory of personas", personas.display());
        return Err(CommandError::usage(text).hint("move it away and run this again"));
    }
    Ok(target)
}

/// A cloned project must not make anybody write outside of it.
fn stay_inside(base: &Path, dir: &Path) -> Result<()> {
    let Ok(root) = base.canonicalize() else { return Ok(()) };
    let steps: Vec<&Path> = dir.ancestors().take_while(|step| *step != base).collect();
    for step in steps.into_iter().rev().filter(|step| step.is_symlink()) {
        let leads = match step.canonicalize() {
            Ok(real) if real.starts_with(&root) => continue,
            Ok(real) => format!("leaves the project: it points to {}", real.display()),
            Err(_) => "is broken".to_owned(),
        };
        return Err(CommandError::new(Exit::Refused, format!("{} is a link that {leads}", step.display()))
            .hint("replace it by a directory to install packs into the project")
            .hint("`--in user` installs them into your own layer instead"));
    }
    Ok(())
}

/// Fetches packs, shows progress on a terminal, and stops cleanly on a signal.
pub struct Fetcher<'a> {
    host: &'a Host,
    time: Duration,
    signals: StopSignals,
}

impl<'a> Fetcher<'a> {
    fn new(host: &'a Host, seconds: f64) -> Result<Fetcher<'a>> {
        // From here on signals are only checked between steps, so that none interrupts a write.
        let signals = StopSignals::catch()?;
        let time = Duration::try_from_secs_f64(seconds)
            .map_err(|_| CommandError::usage("`--timeout` is too long"))?;
        Ok(Fetcher { host, time, signals })
    }

    fn fetch(&self, source: &PackSource, pinned: Option<&str>, ui: &mut Ui) -> Result<Fetched> {
        let is_shown = self.host.shows_progress() && !ui.is_json();
        let shown = printable(&source.lock_text(&self.host.cwd)).into_owned();
        let started = Instant::now();
        let second = Cell::new(0);
        let screen = RefCell::new(&mut *ui);
        let stop = || {
            let now = started.elapsed().as_secs();
            if is_shown && now > second.replace(now) {
                screen.borrow_mut().progress(&format!("fetching {shown} ... {now} s"));
            }
            self.signals.received().is_some()
        };
        if is_shown {
            screen.borrow_mut().progress(&format!("fetching {shown} ..."));
        }
        let fetched = fetch(source, pinned, &Fetching { host: self.host, time: self.time, stop: &stop });
        if is_shown {
            ui.end_progress();
        }
        self.check_signals()?;
        Ok(fetched?)
    }

    /// Fails if a signal arrived. Called before anything is written.
    fn check_signals(&self) -> Result<()> {
        match self.signals.received() {
            Some(signal) => Err(CommandError::new(Exit::Signal(signal), "stopped; nothing was written")),
            None => Ok(()),
        }
    }
}

/// The lock after these decisions.
fn recorded(before: &Lock, name: &str, pack: LockedPack, decisions: &[Decision]) -> Lock {
    let mut after = before.clone();
    record_decisions(&mut after, name, pack, decisions);
    after
}

/// Other packs that are no longer in the lock.
fn emptied(before: &Lock, after: &Lock, name: &str) -> Vec<String> {
    let removed = before.packs.keys().filter(|other| *other != name && !after.packs.contains_key(*other));
    removed.cloned().collect()
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
    if edits.is_empty() {
        return Ok(());
    }
    let crash_points = CrashPoints::of(host);
    let is_shown = host.shows_progress() && !ui.is_json();
    let number = edits.len();
    if is_shown {
        ui.progress(&format!("changing {number} files ..."));
    }
    let screen = RefCell::new(&mut *ui);
    let done = Cell::new(0);
    let applied = apply::apply(target, edits, &|name| {
        crash_points.at(name);
        // Replacing many files one by one is slow.
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
    Ok(applied?)
}

/// Skips a persona whose id is used by a file of another name: with two files neither would work.
fn skip_taken_ids(
    workforce: &Workforce,
    target: &Target,
    known: Option<&LockedPack>,
    choice: Option<&ConflictChoice>,
    decisions: &mut [Decision],
) {
    let is_new = |decision: &&mut Decision| {
        let json = format!("{}.json", decision.id);
        decision.kind == UnitKind::Persona
            && decision.writes.contains_key(&json)
            && target.on_disk(&json) == OnDisk::Missing
    };
    for decision in decisions.iter_mut().filter(is_new) {
        let other = workforce.catalogue.entries.iter().find_map(|entry| {
            let file = entry.source.file.as_deref()?;
            let is_here = file.parent() == Some(&target.personas);
            (is_here && same_id(&entry.header.id, &decision.id)).then(|| file.file_name()?.to_str())?
        });
        let Some(other) = other else { continue };
        decision.differing = vec![other.to_owned()];
        if update_policy(choice, decision.kind, &decision.id) == Policy::KeepMine {
            // The user's persona is in the other file, so none of the pack's files is written.
            decision.action = Action::Kept;
            decision.kept = decision.writes.keys().map(|path| (path.clone(), None)).collect();
            decision.writes.clear();
            decision.removes.clear();
        } else {
            decision.leave(Action::Skipped, Reason::IdTaken, known);
        }
    }
}

/// Fetches a pack from its source in the lock.
fn fetch_locked(
    fetcher: &Fetcher<'_>,
    source: &PackSource,
    (kept, commit): (&str, Option<&str>),
    ui: &mut Ui,
) -> Result<Fetched> {
    if let Some(place) = source.local_path().filter(|path| path.symlink_metadata().is_err()) {
        return Err(CommandError::new(
            Exit::Failed,
            format!("there is no {kept}, which is its source in the lock"),
        )
        .caused_by(format!("its full path is {}", place.display()))
        .hint("restore it, or `agentworkforce install` it from its new place"));
    }
    fetcher.fetch(source, commit, ui)
}

/// The error with the pack that it is about.
fn about_pack(name: &str, what: &str, error: CommandError) -> CommandError {
    let CommandError { exit, message, mut causes, hints } = error;
    causes.insert(0, message);
    CommandError { exit, message: format!("pack `{name}` {what}"), causes, hints }
}

/// Appends a line to the audit log. Where the home is not writable, the change stays valid without it.
fn log_change(workforce: &Workforce, text: &str) {
    let _ = audit(workforce, text);
}

/// The pack of this name in the lock.
fn installed<'l>(lock: &'l Lock, name: &str, target: &Target) -> Result<&'l LockedPack> {
    lock.packs.get(name).ok_or_else(|| {
        let names: Vec<&str> = lock.packs.keys().map(String::as_str).collect();
        let near = crate::model::words::nearest(name, names.iter().copied());
        let known = if names.is_empty() {
            "no pack is installed there".to_owned()
        } else {
            format!("installed: {}", names.join(", "))
        };
        CommandError::usage(format!("no pack `{name}` is installed in {}", target.personas.display()))
            .maybe_hint(near.map(|near| format!("did you mean `{near}`?")))
            .hint(known)
            .hint("`--in user` selects your own layer instead of the project's")
    })
}
