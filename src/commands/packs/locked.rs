//! `install --locked`: what the lock says and nothing else, restored where it is missing.

use super::install::{Checked, Job, Outcome, check};
use super::tell::{command, settling_of};
use super::{fetch_locked, of_pack};
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::pack::contents::{self, UnitKind};
use crate::pack::decide::{Decision, OnDisk};
use crate::pack::drift::{self, Drift, Mend};
use crate::pack::lockfile::{LOCK_FILE, Lock, LockedFiles, LockedPack, Version, label};
use crate::pack::source::PackSource;
use crate::ui::Ui;
use std::collections::BTreeSet;

/// Everything that the lock names, at the versions that it names. What is there is not fetched.
pub fn restore(job: &Job<'_>, ui: &mut Ui) -> Result<Exit> {
    let lock = Lock::read(&job.target.personas)?;
    if lock.packs.is_empty() {
        let path = job.target.personas.join(LOCK_FILE);
        return Err(CommandError::new(Exit::Refused, format!("there is no {}", path.display()))
            .hint("`agentworkforce install <source>` writes it"));
    }
    let look = |path: &str| job.target.look(path);
    let edited: Vec<Drift> = lock.packs.values().flat_map(|locked| drift::here(locked, &look)).collect();
    if !edited.is_empty() {
        return Err(drifted(edited, None, job));
    }
    let mut outcomes = Vec::new();
    for (name, locked) in &lock.packs {
        let versions = missing(locked, job);
        if versions.is_empty() {
            outcomes.push(unchanged(name, locked));
            continue;
        }
        let outcome = restore_one(name, locked, &versions, job, ui);
        outcomes.push(outcome.map_err(|error| of_pack(name, "was not restored", error))?);
    }
    job.report(&outcomes, ui)
}

/// The versions of what is missing.
fn missing(locked: &LockedPack, job: &Job<'_>) -> BTreeSet<Version> {
    let is_missing = |path: &String| {
        job.target.look(path) == OnDisk::Nothing && !matches!(locked.kept.get(path), Some(None))
    };
    let units = locked.units().filter(|(_, _, files)| files.keys().any(is_missing));
    units.map(|(kind, id, _)| locked.version_of(&label(kind, id))).collect()
}

fn restore_one(
    name: &str,
    locked: &LockedPack,
    versions: &BTreeSet<Version>,
    job: &Job<'_>,
    ui: &mut Ui,
) -> Result<Outcome> {
    let mut all: Option<Checked> = None;
    for version in versions {
        let source = PackSource::of_text(&version.source, &job.workforce.host, &job.target.base)?;
        let (pinned, commit) = pinned(&source, name, version);
        let fetched = fetch_locked(job.fetcher, &pinned, (&version.source, commit), ui)?;
        let is_of_it = |kind: UnitKind, id: &str| {
            locked.of(kind).contains_key(id) && locked.version_of(&label(kind, id)) == *version
        };
        let wanted: Vec<String> =
            locked.personas.keys().filter(|id| is_of_it(UnitKind::Persona, id)).cloned().collect();
        let there = contents::ids(&fetched.tree)?;
        let lost = wanted.iter().filter(|id| !there.contains(id));
        let lost: Vec<Drift> = lost
            .map(|id| Drift { line: format!("the pack has no persona `{id}`"), mend: Mend::Update })
            .collect();
        if !lost.is_empty() {
            return Err(drifted(lost, Some(name), job));
        }
        let mut checked = check(pinned, &fetched, &wanted)?;
        checked.contents.units.retain(|unit| is_of_it(unit.kind, &unit.id));
        let of_version = LockedPack { resolved: version.resolved.clone(), ..locked.clone() };
        checked.name = name.to_owned();
        refuse_drift(job, &checked, &of_version)?;
        match &mut all {
            Some(all) => all.contents.units.append(&mut checked.contents.units),
            None => all = Some(checked),
        }
    }
    let checked = all.ok_or_else(|| CommandError::internal("nothing was to be restored"))?;
    let source = PackSource::of_text(&locked.source, &job.workforce.host, &job.target.base)?;
    job.install(Checked { source, resolved: locked.resolved.clone(), ..checked }, &[], ui)
}

pub fn pack_of<'l>(job: &Job<'_>, lock: &'l Lock, name: &str) -> Result<&'l LockedPack> {
    lock.packs.get(name).ok_or_else(|| {
        let path = job.target.personas.join(LOCK_FILE);
        CommandError::new(Exit::Refused, format!("pack `{name}` is not in {}", path.display()))
            .hint("install it once without `--locked`, and commit the lock")
    })
}

pub fn refuse_drift(job: &Job<'_>, checked: &Checked, locked: &LockedPack) -> Result<()> {
    let look = |path: &str| job.target.look(path);
    let mut drift = drift::against(&checked.contents.units, locked, &look);
    if checked.resolved != locked.resolved {
        let shown = |version: &Option<String>| version.clone().unwrap_or_else(|| "no version".into());
        let line = format!(
            "pack `{}` is at {}, the lock says {}",
            checked.name,
            shown(&checked.resolved),
            shown(&locked.resolved)
        );
        drift.insert(0, Drift { line, mend: Mend::Update });
    }
    if drift.is_empty() { Ok(()) } else { Err(drifted(drift, Some(&checked.name), job)) }
}

/// The source with the version that the lock names.
fn pinned<'l>(source: &PackSource, name: &str, version: &'l Version) -> (PackSource, Option<&'l str>) {
    match (source, &version.resolved) {
        (PackSource::Npm(spec), Some(version)) if !spec.contains(':') => {
            (PackSource::Npm(format!("{name}@{version}")), None)
        }
        (PackSource::Git(_), Some(commit)) => (source.clone(), Some(commit)),
        _ => (source.clone(), None),
    }
}

fn unchanged(name: &str, locked: &LockedPack) -> Outcome {
    let decision =
        |(kind, id, files): (UnitKind, &String, &LockedFiles)| Decision::unchanged(kind, id, files.clone());
    Outcome {
        name: name.to_owned(),
        source: locked.source.clone(),
        resolved: locked.resolved.clone(),
        decisions: locked.units().map(decision).collect(),
        is_known: true,
        emptied: Vec::new(),
        warnings: Vec::new(),
        backup: None,
    }
}

/// Says what drifted, and for each kind of it the command that mends it.
fn drifted(drift: Vec<Drift>, pack: Option<&str>, job: &Job<'_>) -> CommandError {
    let mends: BTreeSet<Mend> = drift.iter().map(|drift| drift.mend.clone()).collect();
    let mut error =
        CommandError::new(Exit::Refused, format!("{LOCK_FILE} does not agree; nothing was written"));
    error.causes = drift.into_iter().map(|drift| drift.line).collect();
    let edited = mends.iter().filter_map(|mend| match mend {
        Mend::Settle(label) => Some(label.clone()),
        _ => None,
    });
    let edited: Vec<String> = edited.collect();
    if !edited.is_empty() {
        error.hints.extend(settling_of(&edited, job.args.to));
    }
    let lost = mends.iter().filter_map(|mend| match mend {
        Mend::BringBack(label) => Some(label.clone()),
        _ => None,
    });
    let lost: Vec<String> = lost.collect();
    if !lost.is_empty() {
        let theirs = command(&format!("update --take-theirs {}", lost.join(" ")), job.args.to);
        error =
            error.hint(format!("take your file from version control again, or {theirs} takes the pack's"));
    }
    if mends.contains(&Mend::Update) {
        let name = pack.map(|name| format!(" {name}")).unwrap_or_default();
        let shows = command(&format!("update --diff{name}"), job.args.to);
        let takes = command(&format!("update{name}"), job.args.to);
        error = error
            .hint(format!("{shows} shows what is new in the pack, {takes} takes it and writes the lock"));
        if job.args.source.is_some() {
            error =
                error.hint("`install --locked` without a source restores the versions that the lock names");
        }
    }
    error
}
