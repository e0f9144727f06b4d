//! `update`: installs new versions of packs. What the user edited is never overwritten: it stays, as a conflict where
//! the pack changed it, too.

use super::summary::{self, count, display_name, main_file, rows};
use super::warnings::{self, Scope};
use super::{
    Fetcher, about_pack, backup, emptied, fetch_locked, installed, log_change, recorded, skip_taken_ids,
    target_of, write,
};
use crate::cli::UpdateArgs;
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::host::Host;
use crate::model::amounts::counted;
use crate::model::path_text::path_text;
use crate::model::warning::Warning;
use crate::model::words::nearest;
use crate::pack::apply;
use crate::pack::contents::{self, Contents, Unit};
use crate::pack::decide::{self, Action, Decision};
use crate::pack::fetch::Fetched;
use crate::pack::lockfile::{Lock, LockedPack, fingerprint_of, is_executable, label};
use crate::pack::policy::ConflictChoice;
use crate::pack::source::PackSource;
use crate::pack::target::Target;
use crate::ui::{Ui, printable};
use crate::workforce::Workforce;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::PathBuf;

/// A fetched pack.
struct NewVersion {
    name: String,
    source: PackSource,
    contents: Contents,
    version: Option<String>,
}

/// The result for one pack.
struct Outcome {
    name: String,
    source: PackSource,
    from: Option<String>,
    to: Option<String>,
    decisions: Vec<Decision>,
    /// Other packs whose last files this one took over.
    emptied: Vec<String>,
    warnings: Vec<Warning>,
    /// The powers of its personas, for `--json`.
    powers: Vec<Value>,
    /// Backup of the user's files that were replaced.
    backup: Option<PathBuf>,
    diff: String,
}

struct Job<'a> {
    args: &'a UpdateArgs,
    workforce: &'a Workforce,
    target: &'a Target,
    fetcher: &'a Fetcher<'a>,
    choice: Option<ConflictChoice>,
}

pub fn run(args: &UpdateArgs, host: &Host, ui: &mut Ui) -> Result<Exit> {
    let workforce = Workforce::open(host)?;
    let target = target_of(&workforce, args.to)?;
    if !args.dry_run && !args.diff {
        apply::recover(&target)?;
    }
    let lock = Lock::read(&target.personas)?;
    for name in &args.packs {
        installed(&lock, name, &target)?;
    }
    if lock.packs.is_empty() {
        return Err(CommandError::usage(format!("no pack is installed in {}", target.personas.display()))
            .hint("`agentworkforce install <source>` installs one")
            .hint("`--in user` selects your own layer instead of the project's"));
    }
    let fetcher = Fetcher::new(host, args.timeout)?;
    let choice = conflict_choice(args, &lock)?;
    let job = Job { args, workforce: &workforce, target: &target, fetcher: &fetcher, choice };
    job.run(&lock, ui)
}

/// The choice that the flags make. Only one of them can be given.
fn conflict_choice(args: &UpdateArgs, lock: &Lock) -> Result<Option<ConflictChoice>> {
    let mine = args.keep_mine.clone().map(ConflictChoice::KeepMine);
    let choice = mine.or_else(|| args.take_theirs.clone().map(ConflictChoice::TakeTheirs));
    let labels = choice.as_ref().map(ConflictChoice::labels).unwrap_or_default();
    match labels.iter().find(|label| lock.packs.contains_key(*label)) {
        Some(pack) => Err(CommandError::usage(format!("`{pack}` is a pack, not a persona")).hint(format!(
            "packs come before `--keep-mine` and `--take-theirs`: `agentworkforce update {pack} --keep-mine`"
        ))),
        None => Ok(choice),
    }
}

impl Job<'_> {
    fn run(&self, lock: &Lock, ui: &mut Ui) -> Result<Exit> {
        let is_selected = |name: &&String| self.args.packs.is_empty() || self.args.packs.contains(name);
        let names: Vec<&String> = lock.packs.keys().filter(is_selected).collect();
        let wrapped = |name: &str, error| about_pack(name, "was not updated", error);
        let mut results: Vec<(&String, Result<NewVersion>)> = Vec::new();
        for name in names {
            let new = self.fetch(name, &lock.packs[name], ui);
            // The other packs are still updated where one cannot be fetched, but not after a signal.
            self.fetcher.check_signals()?;
            results.push((name, new.map_err(|error| wrapped(name, error))));
        }
        self.check_labels(lock, &results)?;
        let mut outcomes: Vec<(&String, Result<Outcome>)> = Vec::new();
        for (name, new) in results {
            let done = outcomes.iter().filter_map(|(_, outcome)| outcome.as_ref().ok());
            if !self.is_dry() && done.flat_map(|outcome| &outcome.emptied).any(|gone| gone == name) {
                // An earlier pack took over all of its files; the report says so.
                continue;
            }
            let outcome = new.and_then(|new| self.update(new, ui).map_err(|error| wrapped(name, error)));
            if let Err(error) = &outcome
                && matches!(error.exit, Exit::Signal(_))
            {
                return outcome.map(|_| Exit::Done);
            }
            outcomes.push((name, outcome));
        }
        // The failure of the only pack is the error of the command.
        if let [(_, Err(_))] = &outcomes[..] {
            return outcomes.pop().map_or(Ok(Exit::Done), |(_, outcome)| outcome.map(|_| Exit::Done));
        }
        Ok(self.report(&outcomes, ui))
    }

    fn fetch(&self, name: &str, known: &LockedPack, ui: &mut Ui) -> Result<NewVersion> {
        let source = PackSource::of_text(&known.source, &self.workforce.host, &self.target.base)?;
        let fetched = fetch_locked(self.fetcher, &source, (&known.source, None), ui)?;
        let contents = read_selected(&fetched, known, name)?;
        let version = fetched.commit.clone().or_else(|| contents.version.clone());
        Ok(NewVersion { name: name.to_owned(), source, contents, version })
    }

    /// Whether the packs have every persona that the user named.
    fn check_labels(&self, lock: &Lock, results: &[(&String, Result<NewVersion>)]) -> Result<()> {
        let mut labels: BTreeSet<String> = BTreeSet::new();
        for (name, result) in results {
            labels.extend(lock.packs[*name].units().map(|(kind, id, _)| label(kind, id)));
            let units = result.iter().flat_map(|new| &new.contents.units);
            labels.extend(units.map(|unit| label(unit.kind, &unit.id)));
        }
        let named = self.choice.as_ref().map(ConflictChoice::labels).unwrap_or_default();
        let Some(unknown) = named.iter().find(|name| !labels.contains(*name)) else {
            return Ok(());
        };
        let near = nearest(unknown, labels.iter().map(String::as_str));
        Err(CommandError::usage(format!("these packs have no persona `{unknown}`"))
            .maybe_hint(near.map(|near| format!("did you mean `{near}`?")))
            .hint(format!("they have {}", labels.iter().cloned().collect::<Vec<_>>().join(", "))))
    }

    fn is_dry(&self) -> bool {
        self.args.dry_run || self.args.diff
    }

    fn update(&self, new: NewVersion, ui: &mut Ui) -> Result<Outcome> {
        let Job { args, target, .. } = *self;
        let NewVersion { name, source, contents, version: to } = new;
        let on_disk = |path: &str| target.on_disk(path);
        let is_dry = self.is_dry();
        self.fetcher.check_signals()?;
        warnings::refuse_bypass(target, &contents.units, args.allow_bypass)?;
        let _locks = if is_dry { None } else { Some(apply::lock(target)?) };
        let before = Lock::read(&target.personas)?;
        let known = installed(&before, &name, target)?;
        let mut decisions = decide::update(&contents.units, known, self.choice.as_ref(), &on_disk);
        skip_taken_ids(self.workforce, target, Some(known), self.choice.as_ref(), &mut decisions);
        decide::respect_other_packs(&name, &before, &mut decisions);
        let findings = warnings::find(self.workforce, target, &contents.units, Scope::New);
        let diff = if args.diff { diff_of(&decisions, &contents.units, target) } else { String::new() };
        let from = known.resolved.clone();
        let pack = LockedPack { resolved: to.clone(), ..known.clone() };
        let after = recorded(&before, &name, pack, &decisions);
        let emptied = emptied(&before, &after, &name);
        let mut warnings = findings.warnings;
        warnings.extend(summary::warnings(target, &decisions, &emptied));
        let mut backup = None;
        if !is_dry {
            backup = backup::back_up(self.workforce, target, &decisions)?;
            write(&self.workforce.host, target, (&before, &after), &decisions, ui)?;
            if decisions.iter().any(Decision::changes_files) {
                log_change(self.workforce, &format!("update {name}"));
            }
        }
        Ok(Outcome {
            name,
            source,
            from,
            to,
            decisions,
            emptied,
            warnings,
            powers: findings.powers,
            backup,
            diff,
        })
    }

    fn report(&self, outcomes: &[(&String, Result<Outcome>)], ui: &mut Ui) -> Exit {
        let done = || outcomes.iter().filter_map(|(_, outcome)| outcome.as_ref().ok());
        let conflicts: usize = done().map(|outcome| count(&outcome.decisions, Action::is_left_alone)).sum();
        let exit = match (done().count() < outcomes.len(), conflicts) {
            (true, _) => Exit::Failed,
            (false, 0) => Exit::Done,
            (false, _) => Exit::Conflict,
        };
        let is_dry = self.is_dry();
        if ui.is_json() {
            let packs: Vec<Value> =
                outcomes.iter().map(|(name, outcome)| self.pack_json(name, outcome)).collect();
            ui.json(&json!({
                "schemaVersion": 2, "ok": exit == Exit::Done, "dryRun": is_dry,
                "target": path_text(&self.target.personas), "packs": packs,
                "warnings": done().flat_map(|outcome| &outcome.warnings).collect::<Vec<_>>(),
            }));
        }
        for (_, outcome) in outcomes {
            match outcome {
                Ok(outcome) => {
                    if !ui.is_json() {
                        self.print(outcome, ui);
                    }
                    summary::print_warnings(&outcome.warnings, ui);
                }
                Err(error) => {
                    ui.flush();
                    ui.explain(error);
                }
            }
        }
        let mut hints = summary::resolving(done().flat_map(|outcome| &outcome.decisions), self.args.to);
        if !hints.is_empty() && !self.args.diff {
            hints.push(format!("{} shows the differences", summary::command("update --diff", self.args.to)));
        }
        for hint in hints {
            ui.hint(printable(&hint));
        }
        exit
    }

    fn pack_json(&self, name: &str, outcome: &Result<Outcome>) -> Value {
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(error) => {
                return json!({"name": name, "error": {
                    "kind": error.exit.word(), "message": error.message, "causes": error.causes, "hints": error.hints,
                }});
            }
        };
        let mut value = json!({
            "name": outcome.name, "from": outcome.from, "to": outcome.to,
            "units": rows(self.target, &outcome.decisions), "powers": outcome.powers,
            "emptied": outcome.emptied, "backup": outcome.backup.as_deref().map(path_text),
        });
        if self.args.diff {
            value["diff"] = json!(outcome.diff);
        }
        value
    }

    fn print(&self, outcome: &Outcome, ui: &mut Ui) {
        let would = if self.args.dry_run || self.args.diff { "would be " } else { "" };
        for decision in &outcome.decisions {
            let (name, file) = (display_name(decision), main_file(self.target, decision));
            match decision.action {
                Action::Unchanged | Action::Skipped | Action::Conflict => {}
                Action::Kept | Action::Shared => {
                    let reason = summary::reason(self.target, decision).unwrap_or_default();
                    ui.line(printable(&format!("{would}kept {name}: {reason}")));
                }
                Action::Removed => {
                    ui.line(printable(&format!("{would}removed {name}: the pack no longer has it")));
                }
                action => ui.line(printable(&format!("{would}{} {name} -> {file}", action.name()))),
            }
        }
        for line in outcome.diff.lines() {
            ui.line(printable(line));
        }
        let shown = |version: &Option<String>| version.clone().unwrap_or_else(|| "(no version)".into());
        let is_change = |decision: &Decision| {
            use Action::{Installed, Removed, Replaced, Updated};
            matches!(decision.action, Installed | Replaced | Updated | Removed)
        };
        let changed = summary::amount(&outcome.decisions, is_change);
        let open = count(&outcome.decisions, Action::is_left_alone);
        let pack = if outcome.from == outcome.to {
            format!("{} {}", outcome.name, shown(&outcome.to))
        } else {
            format!("{} {} -> {}", outcome.name, shown(&outcome.from), shown(&outcome.to))
        };
        let is_up_to_date = outcome.from == outcome.to && changed.is_none() && open == 0;
        let changed = changed.unwrap_or_else(|| "nothing".into());
        let text = match open {
            _ if is_up_to_date => format!("{pack} is up to date"),
            0 => format!("{pack}: {changed} {would}changed"),
            _ => {
                let open = counted(open, "conflict");
                format!(
                    "{pack}: {changed} {would}changed, {open} left as you have {}",
                    summary::pronoun(&open)
                )
            }
        };
        ui.line(printable(&text));
        summary::print_backup(outcome.backup.as_deref(), ui);
        if is_up_to_date && matches!(outcome.source, PackSource::Archive(_)) {
            ui.flush();
            ui.hint(printable(&format!(
                "{} is installed from an archive: `agentworkforce install <archive>` installs a newer one",
                outcome.name
            )));
        }
    }
}

/// The selected personas that the new version has.
fn read_selected(fetched: &Fetched, known: &LockedPack, name: &str) -> Result<Contents> {
    if known.selected.is_empty() {
        return Ok(contents::read(&fetched.tree, &[])?);
    }
    let ids = contents::ids(&fetched.tree)?;
    let wanted: Vec<String> = known.selected.iter().filter(|id| ids.contains(id)).cloned().collect();
    if wanted.is_empty() {
        return Err(CommandError::new(Exit::Failed, "the pack no longer has any of the installed personas")
            .hint(format!("`agentworkforce uninstall {name}` removes them")));
    }
    Ok(contents::read(&fetched.tree, &wanted)?)
}

/// The differences between the files on disk and in the pack.
fn diff_of(decisions: &[Decision], units: &[Unit], target: &Target) -> String {
    let mut text = String::new();
    for decision in decisions {
        let unit = units.iter().find(|unit| unit.kind == decision.kind && unit.id == decision.id);
        let mut paths: BTreeSet<&String> = decision.writes.keys().chain(&decision.removes).collect();
        if decision.action == Action::Conflict && decision.blocked.is_empty() {
            paths.extend(&decision.differing);
        }
        for path in paths {
            let new = unit.and_then(|unit| unit.files.get(path));
            let modes = new.map(fingerprint_of).zip(target.on_disk(path).kept());
            let modes = modes.map(|(new, old)| (is_executable(&old), is_executable(&new)));
            if let Some((was, is)) = modes.filter(|(was, is)| was != is) {
                let word = |is| if is { "executable" } else { "not executable" };
                let _ = writeln!(text, "mode of {path}: {} -> {}", word(was), word(is));
            }
            let new = new.map(|file| String::from_utf8_lossy(&file.bytes).into_owned()).unwrap_or_default();
            let old = target.text(path);
            let (here, there) = (format!("here/{path}"), format!("pack/{path}"));
            text.push_str(
                &similar::TextDiff::from_lines(&old, &new).unified_diff().header(&here, &there).to_string(),
            );
        }
    }
    text
}
