//! Determines the state of a path at launch, as far as it is known, and in the project now. Nothing is compared here.

use super::compare::{Base, Now};
use super::content::unreadable;
use super::earlier::AppliedPath;
use super::manifest::{Entry, Manifest};
use super::own::is_agents_own;
use super::three_way::ThreeWay;
use crate::mount::fs::near::Near;
use crate::mount::fs::stat::Kind;
use crate::mount::fs::tree::Lookup;
use anyhow::Context;
use std::path::{Path, PathBuf};

pub(super) fn base_kind(base: Option<&Manifest>, path: &Path) -> anyhow::Result<Option<Kind>> {
    let Some(base) = base else { return Ok(None) };
    Ok(known(base, path)?.map(|entry| entry.kind))
}

fn known(base: &Manifest, path: &Path) -> anyhow::Result<Option<Entry>> {
    base.get(path).context("cannot read what the project was when the run started")
}

/// The state of a path at launch, as far as the manifest is reliable.
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
    // Not in the manifest: it was absent at launch if the nearest listed directory has not changed since.
    for parent in path.ancestors().skip(1) {
        if let Some(entry) = known(base, parent)? {
            let vouched = entry.kind != Kind::Dir || entry.ctime < launched || is_agents_own(sides, path)?;
            return Ok(if vouched { Base::Absent } else { Base::Unknown });
        }
    }
    Ok(Base::Unknown)
}

/// The base of an applied path is what was applied; if that also contains edits of the user, the agent's version.
fn base_of_applied(applied: &AppliedPath) -> Base {
    let Some(post) = &applied.post else { return Base::Absent };
    let entry = Entry::from(post);
    match (applied.merged, &applied.agents) {
        (false, _) => Base::Known(entry),
        // Matches no file of the project.
        (true, Some(agents)) => Base::Known(Entry { mode: agents.mode, size: agents.size, ino: 0, ..entry }),
        (true, None) => Base::Unknown,
    }
}

pub(crate) fn now_of(sides: &ThreeWay<'_>, project: &Near<'_>, path: &Path) -> anyhow::Result<Now> {
    let lookup = project.lookup(path).with_context(|| unreadable(sides.project, path))?;
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

/// A file that we took out and restored has a new ctime; the base knows its former state.
pub(super) fn before_we_moved_it(sides: &ThreeWay<'_>, path: &Path, now: Now) -> Now {
    let Now::Present(mut stat) = now else { return now };
    for restored in sides.earlier.restored.get(path).into_iter().flatten().rev() {
        if restored.is == stat {
            stat = restored.was;
        }
    }
    Now::Present(stat)
}
