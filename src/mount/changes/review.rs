//! Judges what was touched: protected, excluded, or a change with its three-way verdict. The order matters: what must never be applied
//! is sorted out before anything is compared.

use super::already::is_already_there;
use super::change::{Change, MOST_KEPT, Review};
use super::compare::{After, Base, ConflictReason, Now, Verdict, compare};
use super::content::same_content;
use super::ignored::{Asked, IgnoreView};
use super::manifest::Manifest;
use super::moved::hold_what_moved_to_protected;
use super::path_states::{base_kind, base_of, before_we_moved_it, now_of};
use super::protect::{Candidates, without_protected};
use super::renames::mark_renames;
use super::repositories::{dropped_git, without_git_directories};
use super::settle::{Judged, Settled, Settling};
use super::three_way::ThreeWay;
use super::touched::{Found, Touched};
use super::{copied, upper};
use crate::host::interruption;
use crate::model::mount::Backend;
use crate::mount::fs::near::Near;
use crate::mount::fs::stat::Kind;
use crate::mount::fs::tree::{self, Tree};
use crate::mount::git::settings_now;
use crate::rules::PathRules;
use anyhow::{anyhow, bail};
use std::collections::HashSet;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// Whether changes to paths that git ignores are included.
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
    let project = Near::new(sides.project);
    let Candidates { touched, about_agents } = without_protected(sides, &rules, touched, &mut review)?;
    let judged = judge_unignored(sides, &project, touched, ignored, &mut review)?;
    let mut conflicts = Vec::new();
    for judged in judged {
        match judged.verdict {
            Verdict::Conflict(..) => conflicts.push(judged),
            Verdict::Nothing if is_already_there(sides, &judged.one, &judged.base, &judged.now)? => {
                review.already.push(judged.one.path.into());
            }
            _ => add(&about_agents, judged.as_it_is(), judged, &mut review),
        }
    }
    let settling = Settling::of(sides, &conflicts);
    for judged in conflicts {
        add(&about_agents, settling.settle(&judged)?, judged, &mut review);
    }
    review.changes.sort_by(|a, b| a.path.cmp(&b.path));
    hold_what_moved_to_protected(sides, &in_git, &mut review)?;
    mark_directories_that_must_stay(sides, &mut review)?;
    mark_renames(sides, &mut review)?;
    Ok(review)
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

/// Compares the candidates that git does not ignore, and counts the others.
fn judge_unignored(
    sides: &ThreeWay<'_>,
    project: &Near<'_>,
    candidates: Vec<Touched>,
    ignored: Ignored,
    review: &mut Review,
) -> anyhow::Result<Vec<Judged>> {
    let judged = |one: Touched| judge(sides, project, &one).map(|compared| compared.of(one));
    if ignored == Ignored::Include {
        return candidates.into_iter().map(judged).collect();
    }
    let mut view = IgnoreView::new(sides.project, sides.mount, sides.record.backend == Backend::Overlay);
    // The agent must not expose files that the user has and git ignores, so the user's own ignore files count as well.
    let mut users = view.of_project();
    let mut covers: Vec<Option<PathBuf>> = Vec::with_capacity(candidates.len());
    let mut asked = Vec::new();
    for one in &candidates {
        interruption::check()?;
        let is_dir = matches!(one.after, After::Dir { .. })
            || (one.after == After::Absent && base_kind(sides.base, &one.path)? == Some(Kind::Dir));
        let mut cover = view.ignored_by_pattern(&one.path, is_dir);
        let now = project.stat(&one.path).ok().flatten().map(|stat| stat.kind);
        if cover.is_none() && now.is_some() {
            cover = users.ignored_by_pattern(&one.path, is_dir);
        }
        if cover.is_none() {
            asked.push(Asked { path: &one.path, is_dir, now });
        }
        covers.push(cover);
    }
    // Git takes its time, and what it ignores beyond our patterns is rare.
    let (ignored, compared) = std::thread::scope(|scope| {
        let ignored = scope.spawn(|| view.ignored_by_git(&asked));
        let compare =
            |(one, cover): (&Touched, &Option<PathBuf>)| cover.is_none().then(|| judge(sides, project, one));
        let compared: Vec<_> = candidates.iter().zip(&covers).map(compare).collect();
        (ignored.join().expect("nothing panics there"), compared)
    });
    for (one, cover) in candidates.iter().zip(&mut covers).filter(|(_, cover)| cover.is_none()) {
        *cover = ignored.get(&one.path).cloned();
    }
    let tops: HashSet<PathBuf> = covers.iter().flatten().cloned().collect();
    let tracked = if tops.is_empty() { HashSet::new() } else { view.tracked(&tops) };
    let mut rest = Vec::new();
    for ((one, cover), compared) in candidates.into_iter().zip(covers).zip(compared) {
        if cover.is_some() && !tracked.contains(&one.path) {
            // A directory that was only passed through is not a change.
            let is_passed = matches!((base_of(sides, &one.path)?, &one.after),
                (Base::Known(entry), After::Dir { mode }) if entry.mode & 0o777 == mode & 0o777);
            if !is_passed {
                review.ignored.add(&one.path);
            }
        } else {
            rest.push(match compared {
                Some(compared) => compared?.of(one),
                None => judged(one)?,
            });
        }
    }
    Ok(rest)
}

/// What a comparison of one path found.
struct Compared {
    base: Base,
    now: Now,
    verdict: Verdict,
}

impl Compared {
    fn of(self, one: Touched) -> Judged {
        let Compared { base, now, verdict } = self;
        Judged { one, base, now, verdict }
    }
}

/// Compares a path by stats, and by the project's content if that is decisive.
fn judge(sides: &ThreeWay<'_>, project: &Near<'_>, one: &Touched) -> anyhow::Result<Compared> {
    let base = base_of(sides, &one.path)?;
    let now = now_of(sides, project, &one.path)?;
    let as_compared = before_we_moved_it(sides, &one.path, now);
    let verdict = compare(&base, &as_compared, &one.after, || same_content(sides, &one.path, &one.after))?;
    Ok(Compared { base, now, verdict })
}

fn add(about_agents: &HashSet<PathBuf>, settled: Settled, judged: Judged, review: &mut Review) {
    let Judged { one, base, now, .. } = judged;
    let Settled { verdict, after, merged, touched } = settled;
    let (kind, conflict) = match verdict {
        Verdict::Apply(kind) => (kind, None),
        Verdict::Conflict(kind, reason) => (kind, Some(reason)),
        Verdict::KeepUsers | Verdict::Nothing => {
            if after.kind() != Some(Kind::Dir) && review.unchanged.len() < MOST_KEPT {
                review.unchanged.push(one.path.into());
            }
            return;
        }
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
        affects_agents: about_agents.contains(&one.path),
        path: one.path.into(),
        kind,
        conflict,
        merged,
        touched,
        partly: false,
        marked: false,
        renamed_from: None,
        renamed_to: None,
        after,
        now,
    });
}

/// A directory can only be removed if the agent may delete everything in it. Otherwise a removed directory stays, which is reported;
/// one that was replaced by something else is a conflict.
fn mark_directories_that_must_stay(sides: &ThreeWay<'_>, review: &mut Review) -> anyhow::Result<()> {
    let mut deleted: HashSet<PathBuf> = review
        .changes
        .iter()
        .filter(|change| change.after == After::Absent && change.conflict.is_none())
        .map(|change| change.path.0.clone())
        .collect();
    let mut kept = HashSet::new();
    // Children first, so that each directory has to be listed only once.
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
