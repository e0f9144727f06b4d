//! Tells whether the agent's change is in the project without an apply: somebody took it over by hand, or made the same one. Only what
//! is known for sure counts; it changes nothing.

use super::base_content::{BaseContent, LARGEST_COMPARED, converted};
use super::compare::{After, Base, Now};
use super::content::unreadable;
use super::three_way::ThreeWay;
use super::touched::Touched;
use super::versions::base_content;
use crate::mount::fs::stat::PERMISSIONS;
use anyhow::Context;

/// Whether the agent and somebody in the project made the same change to a path on which both agree now.
pub(super) fn is_already_there(
    sides: &ThreeWay<'_>,
    one: &Touched,
    base: &Base,
    now: &Now,
) -> anyhow::Result<bool> {
    if sides.earlier.applied.contains_key(&one.path) {
        return Ok(false);
    }
    let entry = match base {
        Base::Unknown => return Ok(false),
        // The agent may have come through a directory that the user made since.
        Base::Absent => return Ok(!matches!(one.after, After::Absent | After::Dir { .. })),
        Base::Known(entry) => entry,
    };
    if one.after.kind() != Some(entry.kind) {
        return Ok(true);
    }
    let After::File { mode, size } = one.after else { return Ok(false) };
    if mode & PERMISSIONS != entry.mode & PERMISSIONS || size != entry.size {
        return Ok(true);
    }
    // Mostly nobody has changed it.
    if matches!(now, Now::Present(stat) if entry.is_unchanged(stat)) || size > LARGEST_COMPARED {
        return Ok(false);
    }
    let (Some((_, content)), Some(contents)) = (base_content(sides, &one.path, base), sides.contents) else {
        return Ok(false);
    };
    let (file, _) = sides.mount.open_file(&one.path).with_context(|| unreadable(sides.mount, &one.path))?;
    if content.is_in(&file, size).with_context(|| unreadable(sides.mount, &one.path))? {
        return Ok(false);
    }
    let is_blob = matches!(content, BaseContent::Blob { .. });
    Ok(!is_blob || converted(contents, sides.project.path(), std::slice::from_ref(&one.path)).is_empty())
}
