//! `install --locked`: restores missing files at the locked versions and refuses everything that differs from the lock.

use super::installation::{Checked, Job, Outcome, check};
use super::summary::{command, resolving_labels};
use super::{about_pack, fetch_locked};
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::pack::contents::{self, UnitKind};
use crate::pack::decide::{Decision, OnDisk};
use crate::pack::drift::{self, Drift, Fix};
use crate::pack::lockfile::{LOCK_FILE, Lock, LockedFiles, LockedPack, Version, label};
use crate::pack::source::PackSource;
use crate::ui::Ui;
use std::collections::BTreeSet;

/// Restores everything in the lock at the locked versions. Fetches only packs with missing files.
pub fn restore(job: &Job<'_>, ui: &mut Ui) -> Result<Exit> {
    let lock = Lock::read(&job.target.personas)?;
    if lock.packs.is_empty() {
        let path = job.target.personas.join(LOCK_FILE);
        return Err(CommandError::new(Exit::Refused, format!("there is no {}", path.display()))
            .hint("`agentworkforce install <source>` creates it"));
    }
    let on_disk = |path: &str| job.target.on_disk(path);
    let edited: Vec<Drift> = lock.packs.values().flat_map(|locked| drift::here(locked, &on_disk)).collect();
    if !edited.is_empty() {
        return Err(drift_error(edited, None, job));
    }
    let mut outcomes = Vec::new();
    for (name, locked) in &lock.packs {
        let versions = missing_versions(locked, job);
        if versions.is_empty() {
            outcomes.push(unchanged(name, locked));
            continue;
        }
        let outcome = restore_pack(name, locked, &versions, job, ui);
        outcomes.push(outcome.map_err(|error| about_pack(name, "was not restored", error))?);
    }
    job.report(&outcomes, ui)
}

/// The versions of missing personas and roles.
fn missing_versions(locked: &LockedPack, job: &Job<'_>) -> BTreeSet<Version> {
    let is_missing = |path: &String| {
        job.target.on_disk(path) == OnDisk::Missing && !matches!(locked.kept.get(path), Some(None))
    };
    let units = locked.units().filter(|(_, _, files)| files.keys().any(is_missing));
    units.map(|(kind, id, _)| locked.version_of(&label(kind, id))).collect()
}

fn restore_pack(
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
        let is_of_version = |kind: UnitKind, id: &str| {
            locked.units_of(kind).contains_key(id) && locked.version_of(&label(kind, id)) == *version
        };
        let wanted: Vec<String> =
            locked.personas.keys().filter(|id| is_of_version(UnitKind::Persona, id)).cloned().collect();
        let available = contents::ids(&fetched.tree)?;
        let lost = wanted.iter().filter(|id| !available.contains(id));
        let lost: Vec<Drift> = lost
            .map(|id| Drift { line: format!("the pack has no persona `{id}`"), fix: Fix::Update })
            .collect();
        if !lost.is_empty() {
            return Err(drift_error(lost, Some(name), job));
        }
        let mut checked = check(pinned, &fetched, &wanted)?;
        checked.contents.units.retain(|unit| is_of_version(unit.kind, &unit.id));
        let of_version = LockedPack { resolved: version.resolved.clone(), ..locked.clone() };
        checked.name = name.to_owned();
        refuse_drift(job, &checked, &of_version)?;
        match &mut all {
            Some(all) => all.contents.units.append(&mut checked.contents.units),
            None => all = Some(checked),
        }
    }
    let checked = all.ok_or_else(|| CommandError::internal("no version to restore"))?;
    let source = PackSource::of_text(&locked.source, &job.workforce.host, &job.target.base)?;
    job.install(Checked { source, resolved: locked.resolved.clone(), ..checked }, &[], ui)
}

pub fn pack_of<'l>(job: &Job<'_>, lock: &'l Lock, name: &str) -> Result<&'l LockedPack> {
    lock.packs.get(name).ok_or_else(|| {
        let path = job.target.personas.join(LOCK_FILE);
        CommandError::new(Exit::Refused, format!("pack `{name}` is not in {}", path.display()))
            .hint("install it once without `--locked` and commit the lock")
    })
}

pub fn refuse_drift(job: &Job<'_>, checked: &Checked, locked: &LockedPack) -> Result<()> {
    let on_disk = |path: &str| job.target.on_disk(path);
    let mut drift = drift::in_pack(&checked.contents.units, locked, &on_disk);
    if checked.resolved != locked.resolved {
        let shown = |version: &Option<String>| version.clone().unwrap_or_else(|| "no version".into());
        let line = format!(
            "pack `{}` is at {}, the lock says {}",
            checked.name,
            shown(&checked.resolved),
            shown(&locked.resolved)
        );
        drift.insert(0, Drift { line, fix: Fix::Update });
    }
    if drift.is_empty() { Ok(()) } else { Err(drift_error(drift, Some(&checked.name), job)) }
}

/// The source with the locked version.
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
        powers: Vec::new(),
        backup: None,
    }
}

/// Lists the differences, with a command for each kind of fix.
fn drift_error(drift: Vec<Drift>, pack: Option<&str>, job: &Job<'_>) -> CommandError {
    let fixes: BTreeSet<Fix> = drift.iter().map(|drift| drift.fix.clone()).collect();
    let mut error =
        CommandError::new(Exit::Refused, format!("{LOCK_FILE} does not match; nothing was written"));
    error.causes = drift.into_iter().map(|drift| drift.line).collect();
    let edited = fixes.iter().filter_map(|fix| match fix {
        Fix::Choose(label) => Some(label.clone()),
        _ => None,
    });
    let edited: Vec<String> = edited.collect();
    if !edited.is_empty() {
        error.hints.extend(resolving_labels(&edited, job.args.to));
    }
    let lost = fixes.iter().filter_map(|fix| match fix {
        Fix::Restore(label) => Some(label.clone()),
        _ => None,
    });
    let lost: Vec<String> = lost.collect();
    if !lost.is_empty() {
        let theirs = command(&format!("update --take-theirs {}", lost.join(" ")), job.args.to);
        error = error
            .hint(format!("restore your file from version control, or {theirs} takes the pack's version"));
    }
    if fixes.contains(&Fix::Update) {
        let name = pack.map(|name| format!(" {name}")).unwrap_or_default();
        let shows = command(&format!("update --diff{name}"), job.args.to);
        let takes = command(&format!("update{name}"), job.args.to);
        error = error
            .hint(format!("{shows} shows what is new in the pack, {takes} installs it and updates the lock"));
        if job.args.source.is_some() {
            error = error.hint("`install --locked` without a source restores the locked versions");
        }
    }
    error
}
