//! Reads the versions of one file as texts: at launch, the user's and the agent's. It compares and merges nothing.

use super::base_content::{BaseContent, converted};
use super::change::{Change, Merged};
use super::compare::{After, Base};
use super::content::unreadable;
use super::manifest::Entry;
use super::merge::{LARGEST, is_text};
use super::path_states::base_of;
use super::three_way::ThreeWay;
use crate::files::regular;
use crate::model::change_kind::ChangeKind;
use crate::mount::fs::stat::{Kind, PERMISSIONS, Stat};
use anyhow::Context;
use std::fs::File;
use std::path::Path;

/// The texts of a file that both sides have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextVersions {
    /// The common base of both; `None` if it is unknown.
    pub base: Option<Vec<u8>>,
    pub ours: Vec<u8>,
    pub theirs: Vec<u8>,
    /// The permission bits for the result: the user's, unless only the agent has changed them.
    pub mode: u32,
}

/// `None` if one side is no text of the size that can be merged, or has changed since the review.
pub fn text_versions(sides: &ThreeWay<'_>, change: &Change) -> anyhow::Result<Option<TextVersions>> {
    let path = change.path.0.as_path();
    let After::File { mode: agents_mode, size } = *change.agents_after() else { return Ok(None) };
    let Some(now) = change.now.filter(|now| now.kind == Kind::File) else { return Ok(None) };
    if change.kind == ChangeKind::Mode {
        return Ok(None);
    }
    let (Some(ours), Some(theirs)) = (our_text(sides, path, &now)?, agents_text(sides, path, size)?) else {
        return Ok(None);
    };
    let text = change.merged.as_deref().and_then(|Merged { text, .. }| text.as_ref());
    if text.is_some_and(|text| text.agents != theirs) {
        return Ok(None);
    }
    let (base, mode) = match (text, change.conflict) {
        (Some(text), _) => (text.base.clone(), change.after.permissions()),
        // The user's is what it was.
        (None, None) => (Some(ours.clone()), change.after.permissions()),
        (None, Some(_)) => {
            let base = base_of(sides, path)?;
            let base_mode = match base {
                Base::Known(entry) => Some(entry.mode & PERMISSIONS),
                Base::Absent | Base::Unknown => None,
            };
            let is_agents = base_mode == Some(now.permissions());
            (base_text(sides, path, &base), is_agents.then_some(agents_mode & PERMISSIONS))
        }
    };
    let mode = mode.unwrap_or_else(|| now.permissions());
    Ok(Some(TextVersions { base, ours, theirs, mode }))
}

/// What the file held at launch, if that is known for sure and is text.
pub(super) fn base_text(sides: &ThreeWay<'_>, path: &Path, base: &Base) -> Option<Vec<u8>> {
    let (_, content) = base_content(sides, path, base)?;
    let contents = sides.contents?;
    let root = sides.project.path();
    let is_blob = matches!(content, BaseContent::Blob { .. });
    if is_blob && !converted(contents, root, &[path.to_owned()]).is_empty() {
        return None;
    }
    content.bytes(contents, root).filter(|bytes| is_text(bytes))
}

/// Where the content is that the file had at launch or when it was applied. Whether git converts it is not asked here.
pub(super) fn base_content(sides: &ThreeWay<'_>, path: &Path, base: &Base) -> Option<(Entry, BaseContent)> {
    let Base::Known(entry) = base else { return None };
    if entry.kind != Kind::File {
        return None;
    }
    let content = match sides.earlier.applied.get(path) {
        Some(applied) => BaseContent::Kept { hash: applied.agents.as_ref()?.blake3.clone() },
        None => sides.contents?.of(path, entry)?,
    };
    Some((*entry, content))
}

/// The user's file, and whether it is still the one that was compared.
pub(super) fn open_ours(sides: &ThreeWay<'_>, path: &Path, now: &Stat) -> anyhow::Result<(File, bool)> {
    let project = sides.project;
    let (file, stat) = project.open_file(path).with_context(|| unreadable(project, path))?;
    Ok((file, stat == *now))
}

/// `None` if it is not text, or changes while we read it.
pub(super) fn our_text(sides: &ThreeWay<'_>, path: &Path, now: &Stat) -> anyhow::Result<Option<Vec<u8>>> {
    let (file, is_as_found) = open_ours(sides, path, now)?;
    if now.size > LARGEST || !is_as_found {
        return Ok(None);
    }
    let bytes = regular::content(file, LARGEST).with_context(|| unreadable(sides.project, path))?;
    let (_, is_as_found) = open_ours(sides, path, now)?;
    Ok((is_as_found && bytes.len() as u64 == now.size && is_text(&bytes)).then_some(bytes))
}

pub(super) fn agents_text(sides: &ThreeWay<'_>, path: &Path, size: u64) -> anyhow::Result<Option<Vec<u8>>> {
    if size > LARGEST {
        return Ok(None);
    }
    let mount = sides.mount;
    let (file, _) = mount.open_file(path).with_context(|| unreadable(mount, path))?;
    let bytes = regular::content(file, LARGEST).with_context(|| unreadable(mount, path))?;
    Ok(is_text(&bytes).then_some(bytes))
}
