//! Installs one checked pack and reports the result. Where the pack comes from is decided in `install` and `locked`.

use super::summary::{self, display_name, main_file, rows};
use super::warnings::{self, Scope};
use super::{Fetcher, backup, emptied, log_change, recorded, skip_taken_ids, write};
use crate::cli::InstallArgs;
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::model::path_text::path_text;
use crate::model::warning::Warning;
use crate::pack::apply;
use crate::pack::contents::{self, Contents, UnitKind};
use crate::pack::decide::{self, Action, Decision, Existing};
use crate::pack::fetch::Fetched;
use crate::pack::lockfile::{LOCK_FILE, Lock, LockedPack};
use crate::pack::policy::Policy;
use crate::pack::source::PackSource;
use crate::pack::target::Target;
use crate::ui::{Ui, printable};
use crate::workforce::Workforce;
use serde_json::{Value, json};
use std::path::PathBuf;

pub struct Job<'a> {
    pub args: &'a InstallArgs,
    pub workforce: &'a Workforce,
    pub target: &'a Target,
    pub fetcher: &'a Fetcher<'a>,
}

/// A pack that was fetched and checked.
pub struct Checked {
    pub name: String,
    pub source: PackSource,
    pub resolved: Option<String>,
    pub contents: Contents,
}

/// The result for one pack.
pub struct Outcome {
    pub name: String,
    pub source: String,
    pub resolved: Option<String>,
    pub decisions: Vec<Decision>,
    /// Whether the pack is in the new lock, so that `update` can resolve what was left alone.
    pub is_known: bool,
    /// Other packs whose last files this one took over.
    pub emptied: Vec<String>,
    pub warnings: Vec<Warning>,
    /// The powers of its personas, for `--json`.
    pub powers: Vec<Value>,
    /// Backup of the user's files that were replaced.
    pub backup: Option<PathBuf>,
}

impl Job<'_> {
    pub fn install(&self, checked: Checked, wanted: &[String], ui: &mut Ui) -> Result<Outcome> {
        let target = self.target;
        let on_disk = |path: &str| target.on_disk(path);
        let existing = if self.args.overwrite { Existing::Overwrite } else { Existing::Keep };
        let units = &checked.contents.units;
        self.fetcher.check_signals()?;
        // What is in the lock was allowed when it was installed.
        warnings::refuse_bypass(target, units, self.args.allow_bypass || self.args.locked).map_err(
            |error| match units.iter().filter(|unit| unit.kind == UnitKind::Persona).count() {
                0 | 1 => error,
                _ => error.hint("`--persona ID` installs only that persona"),
            },
        )?;
        // A dry run must not create the directory to lock it.
        let _locks = if self.args.dry_run { None } else { Some(apply::lock(target)?) };
        let before = Lock::read(&target.personas)?;
        let known = before.packs.get(&checked.name);
        self.check_same_pack(&checked, known)?;
        let mut decisions = decide::install(units, known, existing, &on_disk);
        // Where single personas were selected, the others are not affected.
        if let Some(known) = known.filter(|_| wanted.is_empty() && !self.args.locked) {
            decisions.extend(decide::removed_from_pack(units, known, Policy::Install, &on_disk));
        }
        skip_taken_ids(self.workforce, target, known, None, &mut decisions);
        decide::respect_other_packs(&checked.name, &before, &mut decisions);
        let findings = warnings::find(self.workforce, target, units, Scope::All);
        let source = checked.source.lock_text(&target.base);
        let is_known = known.is_some() || decisions.iter().any(|decision| decision.locked.is_some());
        let after = if self.args.locked {
            before.clone()
        } else {
            recorded(&before, &checked.name, lock_entry(known, &checked, &source, wanted), &decisions)
        };
        let emptied = emptied(&before, &after, &checked.name);
        let mut warnings = findings.warnings;
        warnings.extend(summary::warnings(target, &decisions, &emptied));
        let mut backup = None;
        if !self.args.dry_run {
            backup = backup::back_up(self.workforce, target, &decisions)?;
            write(&self.workforce.host, target, (&before, &after), &decisions, ui)?;
            if decisions.iter().any(Decision::changes_files) {
                log_change(self.workforce, &format!("install {} from {source}", checked.name));
            }
        }
        Ok(Outcome {
            name: checked.name,
            source,
            resolved: checked.resolved,
            decisions,
            is_known,
            emptied,
            warnings,
            powers: findings.powers,
            backup,
        })
    }

    /// Packs choose their own names, so one must not replace another of the same name unnoticed.
    fn check_same_pack(&self, checked: &Checked, known: Option<&LockedPack>) -> Result<()> {
        let Some(known) = known.filter(|_| !self.args.overwrite && !self.args.locked) else { return Ok(()) };
        let before = PackSource::of_text(&known.source, &self.workforce.host, &self.target.base);
        // A local source that no longer exists was probably moved.
        let is_moved = |before: &PackSource| {
            before.local_path().is_some_and(|path| path.symlink_metadata().is_err())
                && checked.source.local_path().is_some()
        };
        if before.is_ok_and(|before| before.is_same_pack(&checked.source) || is_moved(&before)) {
            return Ok(());
        }
        let text = format!("another pack `{}` is installed from {}", checked.name, known.source);
        Err(CommandError::new(Exit::Failed, text)
            .hint(format!("`agentworkforce uninstall {}` removes it", checked.name))
            .hint("`--overwrite` replaces it by this one"))
    }

    pub fn report(&self, outcomes: &[Outcome], ui: &mut Ui) -> Result<Exit> {
        let all = || outcomes.iter().flat_map(|outcome| &outcome.decisions);
        let is_clean = !all().any(|decision| decision.action.is_left_alone());
        let exit = if is_clean { Exit::Done } else { Exit::Failed };
        if ui.is_json() {
            let packs: Vec<Value> = outcomes.iter().map(|outcome| self.pack_json(outcome)).collect();
            ui.json(&json!({
                "schemaVersion": 2,
                "ok": exit == Exit::Done,
                "dryRun": self.args.dry_run,
                "target": path_text(&self.target.personas),
                "lock": path_text(&self.target.personas.join(LOCK_FILE)),
                "packs": packs,
                "warnings": outcomes.iter().flat_map(|outcome| &outcome.warnings).collect::<Vec<_>>(),
            }));
        }
        for outcome in outcomes {
            if !ui.is_json() {
                self.print(outcome, ui);
            }
            summary::print_warnings(&outcome.warnings, ui);
            for hint in self.hints(outcome) {
                ui.hint(printable(&hint));
            }
        }
        Ok(exit)
    }

    /// How to resolve what was left alone.
    fn hints(&self, outcome: &Outcome) -> Vec<String> {
        let hints = summary::resolving(outcome.decisions.iter(), self.args.to);
        if hints.is_empty() {
            return hints;
        }
        match (outcome.is_known, self.args.dry_run) {
            (false, _) => vec!["`--overwrite` replaces the existing files".into()],
            (true, true) => hints.into_iter().map(|hint| format!("once this is installed, {hint}")).collect(),
            (true, false) => hints,
        }
    }

    fn pack_json(&self, outcome: &Outcome) -> Value {
        json!({
            "name": outcome.name, "source": outcome.source, "resolved": outcome.resolved,
            "units": rows(self.target, &outcome.decisions), "powers": outcome.powers,
            "emptied": outcome.emptied, "backup": outcome.backup.as_deref().map(path_text),
        })
    }

    fn print(&self, outcome: &Outcome, ui: &mut Ui) {
        let would = if self.args.dry_run { "would be " } else { "" };
        for decision in &outcome.decisions {
            let name = display_name(decision);
            let reason = summary::reason(self.target, decision).map(|reason| format!(": {reason}"));
            let reason = reason.unwrap_or_default();
            match decision.action {
                Action::Skipped | Action::Conflict => {}
                Action::Unchanged => ui.line(printable(&format!("unchanged {name}"))),
                Action::Removed | Action::Kept | Action::Shared => {
                    ui.line(printable(&format!("{would}{} {name}{reason}", decision.action.name())));
                }
                action => {
                    let file = main_file(self.target, decision);
                    ui.line(printable(&format!("{would}{} {name} -> {file}", action.name())));
                }
            }
        }
        ui.line(printable(&self.summary(outcome)));
        summary::print_backup(outcome.backup.as_deref(), ui);
    }

    fn summary(&self, outcome: &Outcome) -> String {
        let amount = |is_counted: &dyn Fn(&Decision) -> bool| summary::amount(&outcome.decisions, is_counted);
        let written = amount(&|decision| !decision.writes.is_empty());
        let removed = amount(&|decision| decision.action == Action::Removed);
        let skipped = amount(&|decision| decision.action.is_left_alone());
        let version = outcome.resolved.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
        let pack = format!("{}{version}", outcome.name);
        let dir = self.target.display();
        let verb = if self.args.dry_run { "Would install" } else { "Installed" };
        if written.is_none() && removed.is_none() && skipped.is_none() {
            return format!("Nothing to do: {pack} in {dir}");
        }
        let mut text = format!("{verb} {} of {pack} into {dir}", written.as_deref().unwrap_or("nothing"));
        if let Some(number) = removed {
            text = format!("{text}, {number} removed");
        }
        if let Some(number) = skipped {
            text = format!("{text}, {number} left as you have {}", summary::pronoun(&number));
        }
        text
    }
}

pub fn check(source: PackSource, fetched: &Fetched, wanted: &[String]) -> Result<Checked> {
    let contents = contents::read(&fetched.tree, wanted)?;
    let name = contents.name.clone().unwrap_or_else(|| source.name());
    let resolved = fetched.commit.clone().or_else(|| contents.version.clone());
    Ok(Checked { name, source, resolved, contents })
}

/// The pack's entry in the lock, before the decisions are recorded.
fn lock_entry(known: Option<&LockedPack>, checked: &Checked, source: &str, wanted: &[String]) -> LockedPack {
    let mut pack = known.cloned().unwrap_or_default();
    pack.selected = match known {
        // All personas are selected, now or earlier.
        _ if wanted.is_empty() => Vec::new(),
        Some(known) if known.selected.is_empty() => Vec::new(),
        _ => {
            let mut selected: Vec<String> = pack.selected.iter().chain(wanted).cloned().collect();
            selected.sort();
            selected.dedup();
            selected
        }
    };
    source.clone_into(&mut pack.source);
    pack.resolved = checked.resolved.clone();
    pack
}
