//! `install`: from a source to personas in a layer, with a lock beside them.

use super::{
    Fetcher, count, counted, differing, main_file, named, note, rows, target_of, write, yield_to_rivals,
};
use crate::cli::InstallArgs;
use crate::commands::workforce::Workforce;
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::host::Host;
use crate::load::library;
use crate::model::path_text::path_text;
use crate::pack::apply;
use crate::pack::contents::{self, Contents, UnitKind};
use crate::pack::decide::{self, Action, Decision, Existing, OnDisk};
use crate::pack::fetch::Fetched;
use crate::pack::lockfile::{LOCK_FILE, Lock, LockedPack};
use crate::pack::source::PackSource;
use crate::pack::target::Target;
use crate::ui::{Ui, printable};
use serde_json::{Value, json};

pub fn run(args: &InstallArgs, host: &Host, ui: &mut Ui) -> Result<Exit> {
    let workforce = Workforce::open(host)?;
    let target = target_of(&workforce, args.to)?;
    let fetcher = Fetcher::new(host, args.timeout)?;
    let job = Job { args, workforce: &workforce, target: &target, fetcher: &fetcher };
    match &args.source {
        Some(source) => job.source(source, ui),
        None => job.restore(ui),
    }
}

struct Job<'a> {
    args: &'a InstallArgs,
    workforce: &'a Workforce,
    target: &'a Target,
    fetcher: &'a Fetcher<'a>,
}

/// A pack that was fetched and checked.
struct Checked {
    name: String,
    source: PackSource,
    resolved: Option<String>,
    contents: Contents,
}

/// What became of one pack.
struct Outcome {
    name: String,
    source: String,
    resolved: Option<String>,
    decisions: Vec<Decision>,
}

impl Job<'_> {
    fn source(&self, text: &str, ui: &mut Ui) -> Result<Exit> {
        let host = &self.workforce.host;
        let source = PackSource::parse(text, host)?;
        if matches!(source, PackSource::Npm(_)) && host.cwd.join(text).is_dir() {
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
            let locked = self.locked_pack(&before, &checked.name)?;
            if wanted.is_empty() && !locked.selected.is_empty() {
                checked = check(checked.source, &fetched, &locked.selected)?;
            }
            self.refuse_drift(&checked, locked)?;
        }
        self.warn_about_roles(&checked, ui);
        let outcome = self.install(checked, &wanted)?;
        self.report(&[outcome], ui)
    }

    /// Everything that the lock names, at the versions that it names. What is there is not fetched.
    fn restore(&self, ui: &mut Ui) -> Result<Exit> {
        let lock = Lock::read(&self.target.personas)?;
        if lock.packs.is_empty() {
            let path = self.target.personas.join(LOCK_FILE);
            return Err(CommandError::new(Exit::Refused, format!("there is no {}", path.display()))
                .hint("`agentworkforce install <source>` writes it"));
        }
        let look = |path: &str| self.target.look(path);
        let mut edited = Vec::new();
        for locked in lock.packs.values() {
            edited.extend(decide::edits(locked, &look));
        }
        if !edited.is_empty() {
            return Err(drifted(edited));
        }
        let mut outcomes = Vec::new();
        for (name, locked) in &lock.packs {
            let mut files = locked.units().flat_map(|(_, _, files)| files.keys());
            if files.all(|path| look(path) != OnDisk::Nothing) {
                outcomes.push(unchanged(name, locked));
                continue;
            }
            let source = PackSource::of_text(&locked.source, &self.workforce.host, &self.target.base)?;
            let (pinned, commit) = pinned(&source, name, locked);
            let fetched = self.fetcher.fetch(&pinned, commit, ui)?;
            let wanted: Vec<String> = locked.personas.keys().cloned().collect();
            let checked = Checked { name: name.clone(), source, ..check(pinned, &fetched, &wanted)? };
            self.refuse_drift(&checked, locked)?;
            outcomes.push(self.install(checked, &[])?);
        }
        self.report(&outcomes, ui)
    }

    fn locked_pack<'l>(&self, lock: &'l Lock, name: &str) -> Result<&'l LockedPack> {
        lock.packs.get(name).ok_or_else(|| {
            let path = self.target.personas.join(LOCK_FILE);
            CommandError::new(Exit::Refused, format!("pack `{name}` is not in {}", path.display()))
                .hint("install it once without `--locked`, and commit the lock")
        })
    }

    fn refuse_drift(&self, checked: &Checked, locked: &LockedPack) -> Result<()> {
        let look = |path: &str| self.target.look(path);
        let mut drift = decide::drift(&checked.contents.units, locked, &look);
        if checked.resolved != locked.resolved {
            let shown = |version: &Option<String>| version.clone().unwrap_or_else(|| "no version".into());
            let line = format!(
                "pack `{}` is at {}, the lock says {}",
                checked.name,
                shown(&checked.resolved),
                shown(&locked.resolved)
            );
            drift.insert(0, line);
        }
        if drift.is_empty() { Ok(()) } else { Err(drifted(drift)) }
    }

    fn install(&self, checked: Checked, wanted: &[String]) -> Result<Outcome> {
        let target = self.target;
        let look = |path: &str| target.look(path);
        let existing = if self.args.overwrite { Existing::Overwrite } else { Existing::Keep };
        let units = &checked.contents.units;
        self.fetcher.check_signals()?;
        // A dry run makes no directory only to lock it.
        let _locks = if self.args.dry_run { None } else { Some(apply::lock(target)?) };
        let before = Lock::read(&target.personas)?;
        let known = before.packs.get(&checked.name);
        self.check_kin(&checked, known)?;
        let mut decisions = decide::install(units, known, existing, &look);
        yield_to_rivals(self.workforce, target, known, &mut decisions);
        let source = checked.source.kept(&target.base);
        if !self.args.dry_run {
            let pack = if self.args.locked {
                known.cloned().unwrap_or_default()
            } else {
                merged(known, &checked, &source, wanted, &decisions)
            };
            write(target, &before, &checked.name, pack, &decisions)?;
            if decisions.iter().any(Decision::changes_files) {
                note(self.workforce, &format!("install {} from {source}", checked.name));
            }
        }
        Ok(Outcome { name: checked.name, source, resolved: checked.resolved, decisions })
    }

    /// A pack can call itself what it likes: it must not take the place of another one unseen.
    fn check_kin(&self, checked: &Checked, known: Option<&LockedPack>) -> Result<()> {
        let Some(known) = known.filter(|_| !self.args.overwrite && !self.args.locked) else { return Ok(()) };
        let before = PackSource::of_text(&known.source, &self.workforce.host, &self.target.base);
        if before.is_ok_and(|before| before.is_kin(&checked.source)) {
            return Ok(());
        }
        let text = format!("a pack `{}` is installed from {}", checked.name, known.source);
        Err(CommandError::new(Exit::Failed, text)
            .hint(format!("`agentworkforce uninstall {}` removes it", checked.name))
            .hint("`--overwrite` takes this one in its place"))
    }

    /// A role of a pack counts for every persona that follows it.
    fn warn_about_roles(&self, checked: &Checked, ui: &mut Ui) {
        let roles = checked.contents.units.iter().filter(|unit| unit.kind == UnitKind::Role);
        for role in roles.filter(|role| library::has_role(&role.id)) {
            ui.warning(format!(
                "the pack changes the built-in role `{}` for everybody who follows it",
                role.id
            ));
        }
    }

    fn report(&self, outcomes: &[Outcome], ui: &mut Ui) -> Result<Exit> {
        let skipped: usize = outcomes.iter().map(|outcome| count(&outcome.decisions, Action::Skipped)).sum();
        let exit = if skipped > 0 { Exit::Failed } else { Exit::Done };
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
            return Ok(exit);
        }
        for outcome in outcomes {
            self.tell(outcome, ui);
        }
        if skipped > 0 {
            ui.flush();
            ui.say(&format!(
                "Skipped {}; `--overwrite` replaces, `agentworkforce update` keeps your edits",
                counted(skipped, "existing persona")
            ));
        }
        Ok(exit)
    }

    fn pack_json(&self, outcome: &Outcome) -> Value {
        json!({
            "name": outcome.name, "source": outcome.source, "resolved": outcome.resolved,
            "units": rows(self.target, &outcome.decisions),
        })
    }

    fn tell(&self, outcome: &Outcome, ui: &mut Ui) {
        for decision in &outcome.decisions {
            let (name, file) = (named(decision), main_file(self.target, decision));
            let would = if self.args.dry_run { "would be " } else { "" };
            match decision.action {
                Action::Skipped => {
                    let paths = differing(self.target, decision);
                    ui.flush();
                    ui.warning(printable(&format!(
                        "conflict {name}: {paths} already exists and is not the pack's (use --overwrite to replace it)"
                    )));
                }
                Action::Unchanged => ui.line(printable(&format!("unchanged {name}"))),
                action => ui.line(printable(&format!("{would}{} {name} -> {file}", action.word()))),
            }
        }
        let personas: Vec<&Decision> =
            outcome.decisions.iter().filter(|decision| decision.kind == UnitKind::Persona).collect();
        let written = personas.iter().filter(|decision| decision.changes_files()).count();
        let version = outcome.resolved.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
        let pack = printable(&format!("{}{version}", outcome.name)).into_owned();
        let dir = self.target.personas.display();
        ui.line(match (written, self.args.dry_run) {
            (0, _) => format!("Nothing to do: {pack} in {dir}"),
            (_, true) => format!("Would install {} of {pack} into {dir}", counted(written, "persona")),
            (_, false) => format!("Installed {} of {pack} into {dir}", counted(written, "persona")),
        });
    }
}

fn check(source: PackSource, fetched: &Fetched, wanted: &[String]) -> Result<Checked> {
    let contents = contents::read(&fetched.tree, wanted)?;
    let name = contents.name.clone().unwrap_or_else(|| source.name());
    let resolved = fetched.commit.clone().or_else(|| contents.version.clone());
    Ok(Checked { name, source, resolved, contents })
}

/// What the lock says of the pack, before the decisions are taken into it.
fn merged(
    known: Option<&LockedPack>,
    checked: &Checked,
    source: &str,
    wanted: &[String],
    decisions: &[Decision],
) -> LockedPack {
    let mut pack = known.cloned().unwrap_or_default();
    let is_left_alone = |decision: &Decision| decision.action == Action::Skipped;
    if known.is_some() && decisions.iter().all(is_left_alone) {
        return pack;
    }
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

/// The source with the version that the lock names.
fn pinned<'l>(source: &PackSource, name: &str, locked: &'l LockedPack) -> (PackSource, Option<&'l str>) {
    match (source, &locked.resolved) {
        (PackSource::Npm(spec), Some(version)) if !spec.contains(':') => {
            (PackSource::Npm(format!("{name}@{version}")), None)
        }
        (PackSource::Git(_), Some(commit)) => (source.clone(), Some(commit)),
        _ => (source.clone(), None),
    }
}

fn unchanged(name: &str, locked: &LockedPack) -> Outcome {
    let decision = |(kind, id, files): (UnitKind, &String, &std::collections::BTreeMap<String, String>)| {
        Decision::unchanged(kind, id, files.clone())
    };
    Outcome {
        name: name.to_owned(),
        source: locked.source.clone(),
        resolved: locked.resolved.clone(),
        decisions: locked.units().map(decision).collect(),
    }
}

fn drifted(lines: Vec<String>) -> CommandError {
    let mut error =
        CommandError::new(Exit::Refused, format!("{LOCK_FILE} does not agree; nothing was written"));
    error.causes = lines;
    error
        .hint("`agentworkforce update --diff` shows what is new; without `--locked` the lock is written anew")
}
