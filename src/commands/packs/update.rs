//! `update [--diff]`: what new versions of installed packs change. What the user edited is a conflict and stays.

use super::{
    Fetcher, count, counted, differing, installed, main_file, named, note, rows, target_of, write,
    yield_to_rivals,
};
use crate::cli::UpdateArgs;
use crate::commands::workforce::Workforce;
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::host::Host;
use crate::model::path_text::path_text;
use crate::pack::apply;
use crate::pack::contents::{self, Contents, Unit};
use crate::pack::decide::{self, Action, Decision};
use crate::pack::fetch::Fetched;
use crate::pack::lockfile::{Lock, LockedPack};
use crate::pack::source::PackSource;
use crate::pack::target::Target;
use crate::ui::{Ui, printable};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// What a new version of one pack does.
struct Outcome {
    name: String,
    from: Option<String>,
    to: Option<String>,
    decisions: Vec<Decision>,
    diff: String,
}

pub fn run(args: &UpdateArgs, host: &Host, ui: &mut Ui) -> Result<Exit> {
    let workforce = Workforce::open(host)?;
    let target = target_of(&workforce, args.to)?;
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
    let is_meant = |name: &&String| args.packs.is_empty() || args.packs.contains(name);
    let mut outcomes = Vec::new();
    for name in lock.packs.keys().filter(is_meant) {
        outcomes.push(one(name, &lock, args, (&workforce, &target), &fetcher, ui)?);
    }
    let of = |action| outcomes.iter().map(|outcome| count(&outcome.decisions, action)).sum::<usize>();
    let conflicts = of(Action::Conflict) + of(Action::Skipped);
    let exit = if conflicts > 0 { Exit::Conflict } else { Exit::Done };
    if ui.is_json() {
        let packs: Vec<Value> = outcomes.iter().map(|outcome| pack_json(outcome, &target, args)).collect();
        ui.json(&json!({
            "schemaVersion": 1, "ok": exit == Exit::Done, "dryRun": args.dry_run || args.diff,
            "target": path_text(&target.personas), "packs": packs,
        }));
        return Ok(exit);
    }
    for outcome in &outcomes {
        tell(outcome, &target, args, ui);
    }
    if conflicts > 0 {
        ui.flush();
        ui.hint("a conflict stays as you have it; `agentworkforce update --diff` shows the pack's version, `install --overwrite` takes it");
    }
    Ok(exit)
}

fn one(
    name: &str,
    lock: &Lock,
    args: &UpdateArgs,
    (workforce, target): (&Workforce, &Target),
    fetcher: &Fetcher<'_>,
    ui: &mut Ui,
) -> Result<Outcome> {
    let known = &lock.packs[name];
    let source = PackSource::of_text(&known.source, &workforce.host, &target.base)?;
    let fetched = fetcher.fetch(&source, None, ui)?;
    let contents = selected(&fetched, known)?;
    let to = fetched.commit.clone().or_else(|| contents.version.clone());
    let look = |path: &str| target.look(path);
    let is_dry = args.dry_run || args.diff;
    fetcher.check_signals()?;
    let _locks = if is_dry { None } else { Some(apply::lock(target)?) };
    let before = Lock::read(&target.personas)?;
    let known = installed(&before, name, target)?;
    let mut decisions = decide::update(&contents.units, known, &look);
    yield_to_rivals(workforce, target, Some(known), &mut decisions);
    let diff = if args.diff { diff_of(&decisions, &contents.units, target) } else { String::new() };
    let from = known.resolved.clone();
    if !is_dry {
        let pack = LockedPack { resolved: to.clone(), ..known.clone() };
        write(target, &before, name, pack, &decisions)?;
        if decisions.iter().any(Decision::changes_files) {
            note(workforce, &format!("update {name}"));
        }
    }
    Ok(Outcome { name: name.to_owned(), from, to, decisions, diff })
}

/// The personas that were asked for, as far as the new version has them.
fn selected(fetched: &Fetched, known: &LockedPack) -> Result<Contents> {
    if known.selected.is_empty() {
        return contents::read(&fetched.tree, &[]);
    }
    let ids = contents::ids(&fetched.tree)?;
    let wanted: Vec<String> = known.selected.iter().filter(|id| ids.contains(id)).cloned().collect();
    if wanted.is_empty() {
        return Err(CommandError::new(Exit::Failed, "the pack has none of the installed personas any more")
            .hint("`agentworkforce uninstall` removes them"));
    }
    contents::read(&fetched.tree, &wanted)
}

/// What is on disk against what the pack has, for every file that one would change in the other.
fn diff_of(decisions: &[Decision], units: &[Unit], target: &Target) -> String {
    let mut text = String::new();
    for decision in decisions {
        let unit = units.iter().find(|unit| unit.kind == decision.kind && unit.id == decision.id);
        let mut paths: BTreeSet<&String> = decision.writes.keys().chain(&decision.removes).collect();
        if decision.action == Action::Conflict {
            paths.extend(&decision.differing);
        }
        for path in paths {
            let new = unit.and_then(|unit| unit.files.get(path));
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

fn pack_json(outcome: &Outcome, target: &Target, args: &UpdateArgs) -> Value {
    let mut value = json!({
        "name": outcome.name, "from": outcome.from, "to": outcome.to, "units": rows(target, &outcome.decisions),
    });
    if args.diff {
        value["diff"] = json!(outcome.diff);
    }
    value
}

fn tell(outcome: &Outcome, target: &Target, args: &UpdateArgs, ui: &mut Ui) {
    let would = if args.dry_run || args.diff { "would be " } else { "" };
    for decision in &outcome.decisions {
        let (name, file) = (named(decision), main_file(target, decision));
        match decision.action {
            Action::Unchanged => {}
            Action::Skipped => {
                ui.flush();
                let paths = differing(target, decision);
                ui.warning(printable(&format!("conflict {name}: {paths} has the same id")));
            }
            Action::Conflict => {
                ui.flush();
                let paths = differing(target, decision);
                ui.warning(printable(&format!("conflict {name}: you and the pack changed it: {paths}")));
            }
            Action::Kept => {
                ui.line(printable(&format!("kept {name} with your edits ({})", differing(target, decision))));
            }
            action => ui.line(printable(&format!("{would}{} {name} -> {file}", action.word()))),
        }
    }
    for line in outcome.diff.lines() {
        ui.line(printable(line));
    }
    let version = |version: &Option<String>| version.clone().unwrap_or_else(|| "(no version)".into());
    let changed = outcome.decisions.iter().filter(|decision| decision.changes_files()).count();
    let text = match (changed, outcome.from == outcome.to) {
        (0, true) => format!("{} {} is up to date", outcome.name, version(&outcome.to)),
        (_, true) => format!(
            "{} {}: {} {would}changed",
            outcome.name,
            version(&outcome.to),
            counted(changed, "persona")
        ),
        (_, false) => format!(
            "{} {} -> {}: {} {would}changed",
            outcome.name,
            version(&outcome.from),
            version(&outcome.to),
            counted(changed, "persona")
        ),
    };
    ui.line(printable(&text));
}
