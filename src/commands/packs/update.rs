//! `update [--diff]`: what new versions of installed packs change. What the user edited is a conflict and stays.

use super::replaced;
use super::tell::{self, count, counted, main_file, named, rows};
use super::warnings::{self, Scope, Warning};
use super::{
    Fetcher, emptied, fetch_locked, installed, note, of_pack, settled, target_of, write, yield_to_rivals,
};
use crate::cli::UpdateArgs;
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::host::Host;
use crate::model::path_text::path_text;
use crate::model::words::nearest;
use crate::pack::apply;
use crate::pack::contents::{self, Contents, Unit};
use crate::pack::decide::{self, Action, Decision};
use crate::pack::fetch::Fetched;
use crate::pack::lockfile::{Lock, LockedPack, is_executable, label, mark_of};
use crate::pack::settlement::Settlement;
use crate::pack::source::PackSource;
use crate::pack::target::Target;
use crate::ui::{Ui, printable};
use crate::workforce::Workforce;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::PathBuf;

/// A pack that was fetched.
struct New {
    name: String,
    source: PackSource,
    contents: Contents,
    version: Option<String>,
}

/// What a new version of one pack does.
struct Outcome {
    name: String,
    source: PackSource,
    from: Option<String>,
    to: Option<String>,
    decisions: Vec<Decision>,
    /// Other packs that lost all that they had to this one.
    emptied: Vec<String>,
    warnings: Vec<Warning>,
    /// Where that is which the user had in place of what was written.
    backup: Option<PathBuf>,
    diff: String,
}

struct Job<'a> {
    args: &'a UpdateArgs,
    workforce: &'a Workforce,
    target: &'a Target,
    fetcher: &'a Fetcher<'a>,
    settlement: Settlement,
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
            .hint("`--to user` looks among your own personas instead of the project's"));
    }
    let fetcher = Fetcher::new(host, args.timeout)?;
    let settlement = settlement(args, &lock)?;
    let job = Job { args, workforce: &workforce, target: &target, fetcher: &fetcher, settlement };
    job.run(&lock, ui)
}

/// What the flags say, as far as it can be meant.
fn settlement(args: &UpdateArgs, lock: &Lock) -> Result<Settlement> {
    let settlement = Settlement { mine: args.keep_mine.clone(), theirs: args.take_theirs.clone() };
    let (Some(mine), Some(theirs)) = (&settlement.mine, &settlement.theirs) else {
        return check_names(settlement, lock);
    };
    if mine.is_empty() && theirs.is_empty() {
        return Err(CommandError::usage("`--keep-mine` and `--take-theirs` cannot both be for everything")
            .hint("name the personas of one of them"));
    }
    match mine.iter().find(|id| theirs.contains(id)) {
        Some(id) => Err(CommandError::usage(format!("`{id}` cannot be both kept and taken"))),
        None => check_names(settlement, lock),
    }
}

fn check_names(settlement: Settlement, lock: &Lock) -> Result<Settlement> {
    let pack = settlement.named().find(|name| lock.packs.contains_key(*name)).cloned();
    match pack {
        Some(pack) => Err(CommandError::usage(format!("`{pack}` is a pack, not a persona")).hint(format!(
            "packs come before `--keep-mine` and `--take-theirs`: `agentworkforce update {pack} --keep-mine`"
        ))),
        None => Ok(settlement),
    }
}

impl Job<'_> {
    fn run(&self, lock: &Lock, ui: &mut Ui) -> Result<Exit> {
        let is_meant = |name: &&String| self.args.packs.is_empty() || self.args.packs.contains(name);
        let names: Vec<&String> = lock.packs.keys().filter(is_meant).collect();
        let wrapped = |name: &str, error| of_pack(name, "was not updated", error);
        let mut results: Vec<(&String, Result<New>)> = Vec::new();
        for name in names {
            let new = self.fetch(name, &lock.packs[name], ui);
            // A pack that cannot be updated does not keep the others from it; a signal does.
            self.fetcher.check_signals()?;
            results.push((name, new.map_err(|error| wrapped(name, error))));
        }
        self.check_known(lock, &results)?;
        let mut outcomes: Vec<(&String, Result<Outcome>)> = Vec::new();
        for (name, new) in results {
            let done = outcomes.iter().filter_map(|(_, outcome)| outcome.as_ref().ok());
            if !self.is_dry() && done.flat_map(|outcome| &outcome.emptied).any(|gone| gone == name) {
                // A pack before it took the last that it had, and says so.
                continue;
            }
            let outcome = new.and_then(|new| self.one(new, ui).map_err(|error| wrapped(name, error)));
            if let Err(error) = &outcome
                && matches!(error.exit, Exit::Signal(_))
            {
                return outcome.map(|_| Exit::Done);
            }
            outcomes.push((name, outcome));
        }
        // One pack that was asked for has one answer.
        if let [(_, Err(_))] = &outcomes[..] {
            return outcomes.pop().map_or(Ok(Exit::Done), |(_, outcome)| outcome.map(|_| Exit::Done));
        }
        Ok(self.report(&outcomes, ui))
    }

    fn fetch(&self, name: &str, known: &LockedPack, ui: &mut Ui) -> Result<New> {
        let source = PackSource::of_text(&known.source, &self.workforce.host, &self.target.base)?;
        let fetched = fetch_locked(self.fetcher, &source, (&known.source, None), ui)?;
        let contents = selected(&fetched, known, name)?;
        let version = fetched.commit.clone().or_else(|| contents.version.clone());
        Ok(New { name: name.to_owned(), source, contents, version })
    }

    /// Whether all that is to be settled is there.
    fn check_known(&self, lock: &Lock, results: &[(&String, Result<New>)]) -> Result<()> {
        let mut labels: BTreeSet<String> = BTreeSet::new();
        for (name, result) in results {
            labels.extend(lock.packs[*name].units().map(|(kind, id, _)| label(kind, id)));
            let units = result.iter().flat_map(|new| &new.contents.units);
            labels.extend(units.map(|unit| label(unit.kind, &unit.id)));
        }
        let Some(unknown) = self.settlement.named().find(|name| !labels.contains(*name)) else {
            return Ok(());
        };
        let near = nearest(unknown, labels.iter().map(String::as_str));
        Err(CommandError::usage(format!("no persona `{unknown}` is in these packs"))
            .maybe_hint(near.map(|near| format!("did you mean `{near}`?")))
            .hint(format!("they have {}", labels.iter().cloned().collect::<Vec<_>>().join(", "))))
    }

    fn is_dry(&self) -> bool {
        self.args.dry_run || self.args.diff
    }

    fn one(&self, new: New, ui: &mut Ui) -> Result<Outcome> {
        let Job { args, target, .. } = *self;
        let New { name, source, contents, version: to } = new;
        let look = |path: &str| target.look(path);
        let is_dry = self.is_dry();
        self.fetcher.check_signals()?;
        warnings::refuse_bypass(target, &contents.units, args.allow_bypass)?;
        let _locks = if is_dry { None } else { Some(apply::lock(target)?) };
        let before = Lock::read(&target.personas)?;
        let known = installed(&before, &name, target)?;
        let mut decisions = decide::update(&contents.units, known, &self.settlement, &look);
        yield_to_rivals(self.workforce, target, Some(known), &self.settlement, &mut decisions);
        decide::among_others(&name, &before, &mut decisions);
        let warnings = warnings::of(self.workforce, target, &contents.units, Scope::New);
        let diff = if args.diff { diff_of(&decisions, &contents.units, target) } else { String::new() };
        let from = known.resolved.clone();
        let pack = LockedPack { resolved: to.clone(), ..known.clone() };
        let after = settled(&before, &name, pack, &decisions);
        let emptied = emptied(&before, &after, &name);
        let mut backup = None;
        if !is_dry {
            backup = replaced::keep(self.workforce, target, &decisions)?;
            write(&self.workforce.host, target, (&before, &after), &decisions, ui)?;
            if decisions.iter().any(Decision::changes_files) {
                note(self.workforce, &format!("update {name}"));
            }
        }
        Ok(Outcome { name, source, from, to, decisions, emptied, warnings, backup, diff })
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
                "schemaVersion": 1, "ok": exit == Exit::Done, "dryRun": is_dry,
                "target": path_text(&self.target.personas), "packs": packs,
            }));
        }
        for (_, outcome) in outcomes {
            match outcome {
                Ok(outcome) => {
                    if !ui.is_json() {
                        self.tell(outcome, ui);
                    }
                    warnings::tell(&outcome.warnings, ui);
                    tell::warn(self.target, &outcome.decisions, &outcome.emptied, ui);
                }
                Err(error) => {
                    ui.flush();
                    ui.explain(error);
                }
            }
        }
        let mut hints = tell::settling(done().flat_map(|outcome| &outcome.decisions), self.args.to);
        if !hints.is_empty() && !self.args.diff {
            hints.push(format!("{} shows the difference", tell::command("update --diff", self.args.to)));
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
            "units": rows(self.target, &outcome.decisions), "warnings": warnings::rows(&outcome.warnings),
            "emptied": outcome.emptied, "backup": outcome.backup.as_deref().map(path_text),
        });
        if self.args.diff {
            value["diff"] = json!(outcome.diff);
        }
        value
    }

    fn tell(&self, outcome: &Outcome, ui: &mut Ui) {
        let would = if self.args.dry_run || self.args.diff { "would be " } else { "" };
        for decision in &outcome.decisions {
            let (name, file) = (named(decision), main_file(self.target, decision));
            match decision.action {
                Action::Unchanged | Action::Skipped | Action::Conflict => {}
                Action::Kept | Action::Shared => {
                    let reason = tell::reason(self.target, decision).unwrap_or_default();
                    ui.line(printable(&format!("{would}kept {name}: {reason}")));
                }
                Action::Removed => {
                    ui.line(printable(&format!("{would}removed {name}: the pack has it no more")));
                }
                action => ui.line(printable(&format!("{would}{} {name} -> {file}", action.word()))),
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
        let changed = tell::amount(&outcome.decisions, is_change);
        let open = count(&outcome.decisions, Action::is_left_alone);
        let pack = if outcome.from == outcome.to {
            format!("{} {}", outcome.name, shown(&outcome.to))
        } else {
            format!("{} {} -> {}", outcome.name, shown(&outcome.from), shown(&outcome.to))
        };
        let is_still = outcome.from == outcome.to && changed.is_none() && open == 0;
        let changed = changed.unwrap_or_else(|| "nothing".into());
        let text = match open {
            _ if is_still => format!("{pack} is up to date"),
            0 => format!("{pack}: {changed} {would}changed"),
            _ => {
                let open = counted(open, "conflict");
                format!("{pack}: {changed} {would}changed, {open} left as you have {}", tell::pronoun(&open))
            }
        };
        ui.line(printable(&text));
        tell::kept(outcome.backup.as_deref(), ui);
        if is_still && matches!(outcome.source, PackSource::Archive(_)) {
            ui.flush();
            ui.hint(printable(&format!(
                "{} is installed from an archive: `agentworkforce install <archive>` takes a newer one",
                outcome.name
            )));
        }
    }
}

/// The personas that were asked for, as far as the new version has them.
fn selected(fetched: &Fetched, known: &LockedPack, name: &str) -> Result<Contents> {
    if known.selected.is_empty() {
        return contents::read(&fetched.tree, &[]);
    }
    let ids = contents::ids(&fetched.tree)?;
    let wanted: Vec<String> = known.selected.iter().filter(|id| ids.contains(id)).cloned().collect();
    if wanted.is_empty() {
        return Err(CommandError::new(Exit::Failed, "the pack has none of the installed personas any more")
            .hint(format!("`agentworkforce uninstall {name}` removes them")));
    }
    contents::read(&fetched.tree, &wanted)
}

/// What is on disk against what the pack has, for every file that one would change in the other.
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
            let modes = new.map(mark_of).zip(target.look(path).kept());
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
