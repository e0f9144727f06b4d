//! `install`: from a source to personas in a layer, with a lock beside them.

use super::locked;
use super::tell::{self, main_file, named, rows};
use super::warnings::{self, Scope, Warning};
use super::{Fetcher, emptied, note, replaced, settled, target_of, write, yield_to_rivals};
use crate::cli::InstallArgs;
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::host::Host;
use crate::model::path_text::path_text;
use crate::pack::apply;
use crate::pack::contents::{self, Contents};
use crate::pack::decide::{self, Action, Decision, Existing, Way};
use crate::pack::fetch::Fetched;
use crate::pack::lockfile::{LOCK_FILE, Lock, LockedPack};
use crate::pack::settlement::Settlement;
use crate::pack::source::PackSource;
use crate::pack::target::Target;
use crate::ui::{Ui, printable};
use crate::workforce::Workforce;
use serde_json::{Value, json};
use std::path::PathBuf;

pub fn run(args: &InstallArgs, host: &Host, ui: &mut Ui) -> Result<Exit> {
    let workforce = Workforce::open(host)?;
    let target = target_of(&workforce, args.to)?;
    if !args.dry_run {
        apply::recover(&target)?;
    }
    let fetcher = Fetcher::new(host, args.timeout)?;
    let job = Job { args, workforce: &workforce, target: &target, fetcher: &fetcher };
    match &args.source {
        Some(source) => job.source(source, ui),
        None => locked::restore(&job, ui),
    }
}

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

/// What became of one pack.
pub struct Outcome {
    pub name: String,
    pub source: String,
    pub resolved: Option<String>,
    pub decisions: Vec<Decision>,
    /// Whether the lock knows the pack from now on: then `update` can settle what was left alone.
    pub is_known: bool,
    /// Other packs that lost all that they had to this one.
    pub emptied: Vec<String>,
    pub warnings: Vec<Warning>,
    /// Where that is which the user had in place of what was written.
    pub backup: Option<PathBuf>,
}

impl Job<'_> {
    fn source(&self, text: &str, ui: &mut Ui) -> Result<Exit> {
        let host = &self.workforce.host;
        let source = PackSource::parse(text, host)?;
        if matches!(source, PackSource::Npm(_)) && host.cwd.join(text).is_dir() && !text.starts_with("npm:") {
            ui.warning(printable(&format!(
                "`{text}` is taken for an npm package; `./{text}` is the directory"
            )));
        }
        let before = Lock::read(&self.target.personas)?;
        let fetched = self.fetcher.fetch(&source, None, ui)?;
        let mut wanted = self.args.persona.clone();
        wanted.sort();
        wanted.dedup();
        let mut checked = check(source, &fetched, &wanted)?;
        if self.args.locked {
            let known = locked::pack_of(self, &before, &checked.name)?;
            if wanted.is_empty() && !known.selected.is_empty() {
                checked = check(checked.source, &fetched, &known.selected)?;
            }
            locked::refuse_drift(self, &checked, known)?;
        }
        let outcome = self.install(checked, &wanted, ui)?;
        self.report(&[outcome], ui)
    }

    pub fn install(&self, checked: Checked, wanted: &[String], ui: &mut Ui) -> Result<Outcome> {
        let target = self.target;
        let look = |path: &str| target.look(path);
        let existing = if self.args.overwrite { Existing::Overwrite } else { Existing::Keep };
        let units = &checked.contents.units;
        self.fetcher.check_signals()?;
        // What the lock names was allowed once.
        warnings::refuse_bypass(target, units, self.args.allow_bypass || self.args.locked)
            .map_err(|error| error.hint("`--persona ID` installs only the personas that you name"))?;
        // A dry run makes no directory only to lock it.
        let _locks = if self.args.dry_run { None } else { Some(apply::lock(target)?) };
        let before = Lock::read(&target.personas)?;
        let known = before.packs.get(&checked.name);
        self.check_kin(&checked, known)?;
        let mut decisions = decide::install(units, known, existing, &look);
        // One persona of a pack says nothing about the others.
        if let Some(known) = known.filter(|_| wanted.is_empty() && !self.args.locked) {
            decisions.extend(decide::gone(units, known, Way::Install, &look));
        }
        yield_to_rivals(self.workforce, target, known, &Settlement::default(), &mut decisions);
        decide::among_others(&checked.name, &before, &mut decisions);
        let warnings = warnings::of(self.workforce, target, units, Scope::All);
        let source = checked.source.kept(&target.base);
        let is_known = known.is_some() || decisions.iter().any(|decision| decision.locked.is_some());
        let after = if self.args.locked {
            before.clone()
        } else {
            settled(&before, &checked.name, merged(known, &checked, &source, wanted), &decisions)
        };
        let emptied = emptied(&before, &after, &checked.name);
        let mut backup = None;
        if !self.args.dry_run {
            backup = replaced::keep(self.workforce, target, &decisions)?;
            write(&self.workforce.host, target, (&before, &after), &decisions, ui)?;
            if decisions.iter().any(Decision::changes_files) {
                note(self.workforce, &format!("install {} from {source}", checked.name));
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
            backup,
        })
    }

    /// A pack can call itself what it likes: it must not take the place of another one unseen.
    fn check_kin(&self, checked: &Checked, known: Option<&LockedPack>) -> Result<()> {
        let Some(known) = known.filter(|_| !self.args.overwrite && !self.args.locked) else { return Ok(()) };
        let before = PackSource::of_text(&known.source, &self.workforce.host, &self.target.base);
        // What is no longer where it was has been moved.
        let is_moved = |before: &PackSource| {
            before.place().is_some_and(|place| place.symlink_metadata().is_err())
                && checked.source.place().is_some()
        };
        if before.is_ok_and(|before| before.is_kin(&checked.source) || is_moved(&before)) {
            return Ok(());
        }
        let text = format!("a pack `{}` is installed from {}", checked.name, known.source);
        Err(CommandError::new(Exit::Failed, text)
            .hint(format!("`agentworkforce uninstall {}` removes it", checked.name))
            .hint("`--overwrite` takes this one in its place"))
    }

    pub fn report(&self, outcomes: &[Outcome], ui: &mut Ui) -> Result<Exit> {
        let all = || outcomes.iter().flat_map(|outcome| &outcome.decisions);
        let is_clean = !all().any(|decision| decision.action.is_left_alone());
        let exit = if is_clean { Exit::Done } else { Exit::Failed };
        if ui.is_json() {
            let packs: Vec<Value> = outcomes.iter().map(|outcome| self.pack_json(outcome)).collect();
            ui.json(&json!({
                "schemaVersion": 1,
                "ok": exit == Exit::Done,
                "dryRun": self.args.dry_run,
                "target": path_text(&self.target.personas),
                "lock": path_text(&self.target.personas.join(LOCK_FILE)),
                "packs": packs,
            }));
        }
        for outcome in outcomes {
            if !ui.is_json() {
                self.tell(outcome, ui);
            }
            warnings::tell(&outcome.warnings, ui);
            tell::warn(self.target, &outcome.decisions, &outcome.emptied, ui);
            for hint in self.hints(outcome) {
                ui.hint(printable(&hint));
            }
        }
        Ok(exit)
    }

    /// What settles that which was left alone.
    fn hints(&self, outcome: &Outcome) -> Vec<String> {
        let hints = tell::settling(outcome.decisions.iter(), self.args.to);
        if hints.is_empty() {
            return hints;
        }
        match (outcome.is_known, self.args.dry_run) {
            (false, _) => vec!["`--overwrite` replaces what is there".into()],
            (true, true) => hints.into_iter().map(|hint| format!("once this is installed, {hint}")).collect(),
            (true, false) => hints,
        }
    }

    fn pack_json(&self, outcome: &Outcome) -> Value {
        json!({
            "name": outcome.name, "source": outcome.source, "resolved": outcome.resolved,
            "units": rows(self.target, &outcome.decisions), "warnings": warnings::rows(&outcome.warnings),
            "emptied": outcome.emptied, "backup": outcome.backup.as_deref().map(path_text),
        })
    }

    fn tell(&self, outcome: &Outcome, ui: &mut Ui) {
        let would = if self.args.dry_run { "would be " } else { "" };
        for decision in &outcome.decisions {
            let name = named(decision);
            let reason = tell::reason(self.target, decision).map(|reason| format!(": {reason}"));
            let reason = reason.unwrap_or_default();
            match decision.action {
                Action::Skipped | Action::Conflict => {}
                Action::Unchanged => ui.line(printable(&format!("unchanged {name}"))),
                Action::Removed | Action::Kept | Action::Shared => {
                    ui.line(printable(&format!("{would}{} {name}{reason}", decision.action.word())));
                }
                action => {
                    let file = main_file(self.target, decision);
                    ui.line(printable(&format!("{would}{} {name} -> {file}", action.word())));
                }
            }
        }
        ui.line(printable(&self.summary(outcome)));
        tell::kept(outcome.backup.as_deref(), ui);
    }

    fn summary(&self, outcome: &Outcome) -> String {
        let amount = |is_meant: &dyn Fn(&Decision) -> bool| tell::amount(&outcome.decisions, is_meant);
        let written = amount(&|decision| !decision.writes.is_empty());
        let removed = amount(&|decision| decision.action == Action::Removed);
        let skipped = amount(&|decision| decision.action.is_left_alone());
        let version = outcome.resolved.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
        let pack = format!("{}{version}", outcome.name);
        let dir = self.target.shown();
        let verb = if self.args.dry_run { "Would install" } else { "Installed" };
        if written.is_none() && removed.is_none() && skipped.is_none() {
            return format!("Nothing to do: {pack} in {dir}");
        }
        let mut text = format!("{verb} {} of {pack} into {dir}", written.as_deref().unwrap_or("nothing"));
        if let Some(number) = removed {
            text = format!("{text}, {number} removed");
        }
        if let Some(number) = skipped {
            text = format!("{text}, {number} left as you have {}", tell::pronoun(&number));
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

/// What the lock says of the pack, before the decisions are taken into it.
fn merged(known: Option<&LockedPack>, checked: &Checked, source: &str, wanted: &[String]) -> LockedPack {
    let mut pack = known.cloned().unwrap_or_default();
    pack.selected = match known {
        // All were asked for once, or are now.
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
