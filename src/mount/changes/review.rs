//! Judges what was touched: protected, kept out, or a change with its three-way verdict.
//! The order of the questions matters: what must never be applied is sorted out before anything is compared.

use super::change::{Change, Protected, ProtectedWhy, Review};
use super::content::{same_content, unreadable};
use super::earlier::AppliedPath;
use super::ignored::IgnoreView;
use super::moved::hold_what_moved_to_protected;
use super::own::is_agents_own;
use super::settle::{Judged, Settled, Settling};
use super::three_way::ThreeWay;
use super::touched::{Found, Touched, is_git_name};
use super::{copied, upper};
use crate::files::regular;
use crate::model::mount::{Backend, Effect, PathRule, RuleSource};
use crate::model::mount_record::{InjectedRecord, LARGEST_INJECTED};
use crate::model::raw_path::RawPath;
use crate::mount::changes::compare::{After, Base, ConflictReason, Now, Verdict, compare};
use crate::mount::changes::manifest::{Entry, Manifest};
use crate::mount::fs::stat::Kind;
use crate::mount::fs::tree::{self, Lookup, Tree};
use crate::mount::git::git_directory::GitDirectories;
use crate::mount::git::repository::LARGEST_SETTINGS;
use crate::mount::git::{settings, settings_now};
use crate::rules::inherit::is_installed_by_harness;
use crate::rules::layer::folded;
use crate::rules::{PathRules, Visibility};
use anyhow::{Context, anyhow, bail};
use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// Whether changes to paths that git ignores are part of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ignored {
    #[default]
    KeepOut,
    Include,
}

pub fn review(sides: &ThreeWay<'_>, ignored: Ignored) -> anyhow::Result<Review> {
    let Found { mut touched, unreadable, git_paths, git_entries } = find(sides)?;
    touched.sort_by(|a, b| a.path.cmp(&b.path));
    let paths = touched.iter().map(|one| one.path.as_path());
    let list = settings_now::with_rules(sides.record, sides.rules, paths);
    let rules = PathRules::compile(&list).map_err(|error| anyhow!("{error}"))?;
    let sides = &ThreeWay { rules: &list, earlier: sides.earlier.clone(), ..*sides };
    let mut review = Review {
        git_paths,
        dropped_git: dropped_git(sides, git_entries)?,
        git_settings: super::git_settings::written(sides).into_iter().map(Into::into).collect(),
        unreadable: unreadable.into_iter().map(Into::into).collect(),
        ..Review::default()
    };
    let (touched, in_git) = without_git_directories(sides, touched, &mut review)?;
    let candidates = without_protected(sides, &rules, touched, &mut review)?;
    let candidates = without_ignored(sides, candidates, ignored, &mut review)?;
    let mut conflicts = Vec::new();
    for candidate in candidates {
        let judged = judge(sides, candidate)?;
        match judged.verdict {
            Verdict::Conflict(..) => conflicts.push(judged),
            _ => add(&rules, judged.as_it_is(), judged, &mut review),
        }
    }
    let settling = Settling::of(sides, &conflicts);
    for judged in conflicts {
        add(&rules, settling.settle(&judged)?, judged, &mut review);
    }
    review.changes.sort_by(|a, b| a.path.cmp(&b.path));
    hold_what_moved_to_protected(sides, &in_git, &mut review)?;
    mark_directories_that_must_stay(sides, &mut review)?;
    Ok(review)
}

/// Sorts out what is in a directory that git would take for a repository, and says what the agent wrote there.
fn without_git_directories(
    sides: &ThreeWay<'_>,
    touched: Vec<Touched>,
    review: &mut Review,
) -> anyhow::Result<(Vec<Touched>, Vec<PathBuf>)> {
    // On either side: a repository may be made in two runs, and what the agent removes may stay.
    let mut directories = GitDirectories::new(|path| {
        let agents = sides.mount.stat(path).ok().flatten();
        agents.is_some_and(|stat| !stat.is_whiteout()) || sides.project.stat(path).ok().flatten().is_some()
    });
    let known = known_repositories(sides);
    let mut view = IgnoreView::new(sides.project, sides.mount, sides.record.backend == Backend::Overlay);
    let (mut rest, mut dropped, mut written) = (Vec::new(), HashSet::new(), Vec::new());
    for one in touched {
        let Some(directory) = directories.around(&one.path) else {
            rest.push(one);
            continue;
        };
        // It has a report of its own.
        if known.contains(&directory) || !is_real_write(sides, &one)? {
            continue;
        }
        let is_root = directory.as_os_str().is_empty();
        // Tools make repositories in caches.
        if is_root || view.ignored_by_pattern(&directory, true).is_none() {
            dropped.insert(if is_root { one.path.clone() } else { directory });
        }
        if one.after != After::Absent {
            written.push(one.path);
        }
    }
    review.dropped_git.extend(dropped.into_iter().map(RawPath::from));
    review.dropped_git.sort();
    Ok((rest, written))
}

/// The git directories that were mounted as such, as paths of the project.
fn known_repositories(sides: &ThreeWay<'_>) -> HashSet<PathBuf> {
    let dirs = sides.record.git.iter().flat_map(|git| [&git.git_dir, &git.common_dir]);
    dirs.filter_map(|dir| Some(dir.strip_prefix(&sides.record.root).ok()?.to_owned())).collect()
}

/// What the agent's side has of git, without the repositories of the project: those have their own report. What git ignores
/// is left out, because tools make repositories in caches.
fn dropped_git(sides: &ThreeWay<'_>, entries: Vec<PathBuf>) -> anyhow::Result<Vec<RawPath>> {
    let known = known_repositories(sides);
    let mut view = IgnoreView::new(sides.project, sides.mount, sides.record.backend == Backend::Overlay);
    let mut dropped = Vec::new();
    for path in entries.into_iter().filter(|path| !known.contains(path)) {
        let is_ignored = path.parent().is_some_and(|tree| {
            !tree.as_os_str().is_empty() && view.ignored_by_pattern(tree, true).is_some()
        });
        // A copy has the pointer of every submodule; it is the agent's if it is not the project's.
        let same = sides.record.backend == Backend::Copy
            && matches!((sides.project.stat(&path)?, sides.mount.stat(&path)?),
                (Some(ours), Some(agents)) if ours.kind == agents.kind && ours.size == agents.size);
        if !is_ignored && !same {
            dropped.push(path.into());
        }
    }
    dropped.sort();
    Ok(dropped)
}

fn find(sides: &ThreeWay<'_>) -> anyhow::Result<Found> {
    let nothing = Manifest::default();
    let base = sides.base.unwrap_or(&nothing);
    match sides.record.backend {
        Backend::Overlay => upper::touched(sides.record, sides.mount, base),
        Backend::Copy => copied::touched(sides.record, sides.mount, base, sides.made),
        Backend::Auto | Backend::None => {
            bail!("this run had no mount, so its changes are in the project already")
        }
    }
}

fn without_protected(
    sides: &ThreeWay<'_>,
    rules: &PathRules,
    touched: Vec<Touched>,
    review: &mut Review,
) -> anyhow::Result<Vec<Touched>> {
    let injected: HashMap<&Path, &InjectedRecord> =
        sides.record.injected.iter().map(|injected| (injected.path.0.as_path(), injected)).collect();
    let made_for_injected: HashSet<&Path> =
        injected.keys().flat_map(|path| path.ancestors().skip(1)).collect();
    let closed: HashMap<&Path, &PathRule> = sides
        .record
        .hidden
        .iter()
        .filter(|hidden| hidden.rule.source == RuleSource::Unreadable)
        .map(|hidden| (hidden.path.0.as_path(), &hidden.rule))
        .collect();
    let mut seen_injected = HashSet::new();
    let mut candidates = Vec::new();
    for one in touched {
        let path = one.path.as_path();
        if path.components().any(|component| is_git_name(component.as_os_str())) {
            review.git_paths += 1;
            continue;
        }
        if let Some(injected) = injected.get(path) {
            seen_injected.insert(path.to_owned());
            if !is_as_injected(sides.mount, injected, &one.after)? {
                review.protected.push(protected(&one, ProtectedWhy::Injected, None));
            }
            continue;
        }
        let is_dir = matches!(one.after, After::Dir { .. })
            || (one.after == After::Absent && base_kind(sides.base, path)? == Some(Kind::Dir));
        // A directory that is only there for a injected file is ours as well.
        if is_dir && made_for_injected.contains(path) && base_of(sides, path)? == Base::Absent {
            continue;
        }
        // What the project has at a place that could not be read is not known, so nothing may be put there.
        if !closed.is_empty()
            && let Some(rule) = path.ancestors().find_map(|above| closed.get(above))
        {
            review.protected.push(protected(&one, ProtectedWhy::Hidden, Some((*rule).clone())));
            continue;
        }
        let decision = rules.decide(path, is_dir);
        let leads_to = layer_that_it_leads_to(rules, &one)
            .filter(|&rule| sides.rules.get(rule).is_some_and(|rule| rule.effect == Effect::Readonly));
        let (why, rule) = match (decision.visibility, leads_to) {
            (Visibility::Hidden, _) => (Some(ProtectedWhy::Hidden), decision.rule),
            (Visibility::Readonly, _) => (Some(ProtectedWhy::Readonly), decision.rule),
            (Visibility::Writable, Some(layer)) => (Some(ProtectedWhy::Readonly), Some(layer)),
            (Visibility::Writable, None) => (None, None),
        };
        if let Some(why) = why {
            let rule = rule.and_then(|index| sides.rules.get(index)).cloned();
            let is_setup = rule.as_ref().is_some_and(|rule| rule.source == RuleSource::BuiltinHarness);
            if is_setup && is_installed_by_harness(path) && base_of(sides, path)? == Base::Absent {
                continue;
            }
            if is_real_write(sides, &one)? {
                review.protected.push(protected(&one, why, rule));
            }
            continue;
        }
        let was_special = one.after == After::Absent && base_kind(sides.base, path)? == Some(Kind::Special);
        if one.after == After::Special || was_special {
            review.special.push(path.into());
            continue;
        }
        if runs_commands_in_modules(sides, &one) {
            review.protected.push(protected(&one, ProtectedWhy::Readonly, Some(modules_rule())));
            continue;
        }
        candidates.push(one);
    }
    // An overlay shows a removed injected file by nothing at all, a copy as a deletion of something not in the base.
    for (path, injected) in injected {
        let is_gone = sides.mount.stat(path)?.is_none_or(|stat| stat.is_whiteout());
        if is_gone && !seen_injected.contains(path) {
            let gone = Touched { path: path.to_owned(), after: After::Absent };
            if !is_as_injected(sides.mount, injected, &gone.after)? {
                review.protected.push(protected(&gone, ProtectedWhy::Injected, None));
            }
        }
    }
    review.protected.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(candidates)
}

/// Whether this is a `.gitmodules` that has git run a command.
fn runs_commands_in_modules(sides: &ThreeWay<'_>, one: &Touched) -> bool {
    let is_modules = one.path.file_name().is_some_and(|name| *folded(name) == *b".gitmodules");
    if !is_modules || !matches!(one.after, After::File { .. }) {
        return false;
    }
    let Ok((file, _)) = sides.mount.open_file(&one.path) else { return true };
    regular::content(file, LARGEST_SETTINGS).map_or(true, |text| settings::modules_run_commands(&text))
}

fn modules_rule() -> PathRule {
    PathRule {
        pattern: ".gitmodules".to_owned(),
        effect: Effect::Readonly,
        source: RuleSource::BuiltinGit,
        origin: "built-in: git settings (`update` runs a command)".to_owned(),
    }
}

/// The layer that a link at this path would replace, because the layer is somewhere below it.
fn layer_that_it_leads_to(rules: &PathRules, one: &Touched) -> Option<usize> {
    match one.after {
        After::Dir { .. } | After::Absent => None,
        After::File { .. } | After::Symlink | After::Special => rules.layer_below(&one.path),
    }
}

fn affects_agents(rules: &PathRules, one: &Touched) -> bool {
    let is_dir = matches!(one.after, After::Dir { .. });
    rules.decide(&one.path, is_dir).is_layer() || layer_that_it_leads_to(rules, one).is_some()
}

fn protected(one: &Touched, why: ProtectedWhy, rule: Option<PathRule>) -> Protected {
    Protected { path: one.path.clone().into(), why, deleted: one.after == After::Absent, rule }
}

fn is_as_injected(mount: &Tree, injected: &InjectedRecord, after: &After) -> anyhow::Result<bool> {
    let After::File { mode, .. } = after else { return Ok(false) };
    if mode & 0o777 != injected.mode & 0o777 {
        return Ok(false);
    }
    let (file, stat) = mount.open_file(&injected.path).with_context(|| unreadable(mount, &injected.path))?;
    if stat.size > LARGEST_INJECTED {
        return Ok(false);
    }
    let mut hasher = blake3::Hasher::new();
    let mut file = file.take(LARGEST_INJECTED);
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let length = file.read(&mut buffer)?;
        if length == 0 {
            return Ok(hasher.finalize().to_hex().as_str() == injected.blake3);
        }
        hasher.update(&buffer[..length]);
    }
}

/// A readonly or hidden path that was only passed through or rewritten as it is needs no word in the report.
fn is_real_write(sides: &ThreeWay<'_>, one: &Touched) -> anyhow::Result<bool> {
    let base = base_of(sides, &one.path)?;
    let now = now_of(sides, &one.path)?;
    Ok(match (&base, &one.after) {
        (Base::Absent, After::Absent) => false,
        (Base::Absent | Base::Unknown, _) => true,
        (Base::Known(_), after) => {
            let verdict = compare(&base, &now, after, || same_content(sides, &one.path, after))?;
            !matches!(verdict, Verdict::Nothing | Verdict::KeepUsers)
        }
    })
}

fn without_ignored(
    sides: &ThreeWay<'_>,
    candidates: Vec<Touched>,
    ignored: Ignored,
    review: &mut Review,
) -> anyhow::Result<Vec<Touched>> {
    if ignored == Ignored::Include {
        return Ok(candidates);
    }
    let mut view = IgnoreView::new(sides.project, sides.mount, sides.record.backend == Backend::Overlay);
    // What the user has and git ignores is not the agent's to uncover: by the ignore files that the user has, too.
    let mut users = view.of_project();
    let mut covers: Vec<Option<PathBuf>> = Vec::with_capacity(candidates.len());
    for one in &candidates {
        let is_dir = matches!(one.after, After::Dir { .. })
            || (one.after == After::Absent && base_kind(sides.base, &one.path)? == Some(Kind::Dir));
        let mut cover = view.ignored_by_pattern(&one.path, is_dir);
        if cover.is_none() && sides.project.stat(&one.path).ok().flatten().is_some() {
            cover = users.ignored_by_pattern(&one.path, is_dir);
        }
        covers.push(cover);
    }
    let tops: HashSet<PathBuf> = covers.iter().flatten().cloned().collect();
    let tracked = if tops.is_empty() { HashSet::new() } else { view.tracked(&tops) };
    let mut rest = Vec::new();
    for (one, cover) in candidates.into_iter().zip(covers) {
        if cover.is_some() && !tracked.contains(&one.path) {
            // A directory that was only passed through on the way to something is no change of its own.
            let is_passed = matches!((base_of(sides, &one.path)?, &one.after),
                (Base::Known(entry), After::Dir { mode }) if entry.mode & 0o777 == mode & 0o777);
            if !is_passed {
                review.ignored.add(&one.path);
            }
        } else {
            rest.push(one);
        }
    }
    Ok(rest)
}

/// Compares a path by stats, and with the project's content where that decides.
fn judge(sides: &ThreeWay<'_>, one: Touched) -> anyhow::Result<Judged> {
    let base = base_of(sides, &one.path)?;
    let now = now_of(sides, &one.path)?;
    let as_compared = before_we_moved_it(sides, &one.path, now);
    let verdict = compare(&base, &as_compared, &one.after, || same_content(sides, &one.path, &one.after))?;
    Ok(Judged { one, base, now, verdict })
}

fn add(rules: &PathRules, settled: Settled, judged: Judged, review: &mut Review) {
    let Judged { one, base, now, .. } = judged;
    let Settled { verdict, after, merged, touched } = settled;
    let (kind, conflict) = match verdict {
        Verdict::Apply(kind) => (kind, None),
        Verdict::Conflict(kind, reason) => (kind, Some(reason)),
        Verdict::KeepUsers | Verdict::Nothing => return,
    };
    let now = match now {
        Now::Present(stat) => Some(stat),
        Now::Absent | Now::ParentGone => None,
    };
    let was = match base {
        Base::Known(entry) => entry.kind,
        Base::Absent | Base::Unknown => now.map_or(Kind::File, |stat| stat.kind),
    };
    review.changes.push(Change {
        node: after.kind().unwrap_or(was),
        mode: after.permissions(),
        size: match after {
            After::File { size, .. } => Some(size),
            _ => None,
        },
        affects_agents: affects_agents(rules, &one),
        path: one.path.into(),
        kind,
        conflict,
        merged,
        touched,
        after,
        now,
    });
}

/// A directory can only go if all it holds is the agent's to delete. One that the agent removed stays otherwise, which
/// is reported; one that it made into something else is a conflict.
fn mark_directories_that_must_stay(sides: &ThreeWay<'_>, review: &mut Review) -> anyhow::Result<()> {
    let mut deleted: HashSet<PathBuf> = review
        .changes
        .iter()
        .filter(|change| change.after == After::Absent && change.conflict.is_none())
        .map(|change| change.path.0.clone())
        .collect();
    let mut kept = HashSet::new();
    // Children first, so that one listing of each directory is enough.
    for change in review.changes.iter_mut().rev() {
        let was_dir = change.now.is_some_and(|stat| stat.kind == Kind::Dir);
        let stays_dir = matches!(change.after, After::Dir { .. });
        if change.conflict.is_some() || stays_dir || !was_dir {
            continue;
        }
        if holds_only(sides.project, &change.path, &deleted)? {
            continue;
        }
        if change.after == After::Absent {
            deleted.remove(&change.path.0);
            kept.insert(change.path.clone());
        } else {
            change.conflict = Some(ConflictReason::NotEmpty);
        }
    }
    review.changes.retain(|change| !kept.contains(&change.path));
    review.kept_directories = kept.into_iter().collect();
    review.kept_directories.sort();
    Ok(())
}

fn holds_only(project: &Tree, directory: &Path, deleted: &HashSet<PathBuf>) -> anyhow::Result<bool> {
    let Ok(dir) = project.open_dir(directory) else { return Ok(false) };
    Ok(tree::list(dir.as_fd())?.iter().all(|name| deleted.contains(&directory.join(name))))
}

fn base_kind(base: Option<&Manifest>, path: &Path) -> anyhow::Result<Option<Kind>> {
    let Some(base) = base else { return Ok(None) };
    Ok(known(base, path)?.map(|entry| entry.kind))
}

fn known(base: &Manifest, path: &Path) -> anyhow::Result<Option<Entry>> {
    base.get(path).context("cannot read what the project was when the run started")
}

/// What the path was at launch, as far as the manifest can vouch for it.
pub(crate) fn base_of(sides: &ThreeWay<'_>, path: &Path) -> anyhow::Result<Base> {
    if let Some(applied) = sides.earlier.applied.get(path) {
        return Ok(base_of_applied(applied));
    }
    let Some(base) = sides.base else { return Ok(Base::Unknown) };
    if sides.record.left_out.iter().any(|left_out| path.starts_with(&left_out.path)) {
        return Ok(Base::Unknown);
    }
    let launched = sides.record.launched_at;
    if let Some(entry) = known(base, path)? {
        // A directory is judged by what it is, and its ctime moves with what it holds.
        let vouched = entry.kind == Kind::Dir || entry.ctime < launched;
        return Ok(if vouched { Base::Known(entry) } else { Base::Unknown });
    }
    // Not in the manifest: absent at launch, if the nearest directory that is in it was not changed since.
    for parent in path.ancestors().skip(1) {
        if let Some(entry) = known(base, parent)? {
            let vouched = entry.kind != Kind::Dir || entry.ctime < launched || is_agents_own(sides, path)?;
            return Ok(if vouched { Base::Absent } else { Base::Unknown });
        }
    }
    Ok(Base::Unknown)
}

/// The base of what was applied is what was applied. Where that has something of the user's, too, it is what the agent had.
fn base_of_applied(applied: &AppliedPath) -> Base {
    let Some(post) = &applied.post else { return Base::Absent };
    let entry = Entry::from(post);
    match (applied.merged, &applied.agents) {
        (false, _) => Base::Known(entry),
        // No file of the project is this one.
        (true, Some(agents)) => Base::Known(Entry { mode: agents.mode, size: agents.size, ino: 0, ..entry }),
        (true, None) => Base::Unknown,
    }
}

pub(crate) fn now_of(sides: &ThreeWay<'_>, path: &Path) -> anyhow::Result<Now> {
    let lookup = sides.project.lookup(path).with_context(|| unreadable(sides.project, path))?;
    Ok(match lookup {
        Lookup::Present(stat) => Now::Present(stat),
        Lookup::Absent => Now::Absent,
        Lookup::NoParent { existing } => {
            let missing: PathBuf = path.components().take(existing + 1).collect();
            match base_kind(sides.base, &missing)? {
                Some(Kind::Dir) => Now::ParentGone,
                // The agent made that directory, or made it out of something else.
                _ => Now::Absent,
            }
        }
    })
}

/// A file that we took out and put back has a new ctime; what it was before that is what the base knows.
fn before_we_moved_it(sides: &ThreeWay<'_>, path: &Path, now: Now) -> Now {
    let Now::Present(mut stat) = now else { return now };
    for restored in sides.earlier.restored.get(path).into_iter().flatten().rev() {
        if restored.is == stat {
            stat = restored.was;
        }
    }
    Now::Present(stat)
}
