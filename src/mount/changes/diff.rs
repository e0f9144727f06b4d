//! The agent's changes as unified diffs for people: names and content made safe for a terminal, binary and huge files
//! said and not dumped. It reads both sides and decides nothing.

use super::change::{Change, Merged, Review};
use super::conflict_base::base_of_conflict;
use super::patience::Patience;
use super::three_way::ThreeWay;
use crate::host::interruption;
use crate::model::change_kind::ChangeKind;
use crate::model::printable::{self, printable};
use crate::model::raw_path::RawPath;
use crate::mount::changes::compare::{After, ConflictReason};
use crate::mount::fs::stat::Kind;
use crate::mount::fs::tree::Tree;
use anyhow::Context;
use schemars::JsonSchema;
use serde::Serialize;
use similar::{Algorithm, TextDiff};
use std::fmt::Write;
use std::io::Read;
use std::path::Path;
use std::time::Instant;

/// A file above this is named with its size instead of being compared line by line.
const LARGEST: u64 = 2 << 20;
/// Where git looks for a zero byte to tell text from the rest.
const PROBE: usize = 8000;

/// What it means that a file is merged.
pub const MERGED: &str = "you changed it too; the result has both";
/// What it means that a file is touched.
pub const TOUCHED: &str =
    "saved and restored in the project while the agent had it; look for lines that you took back";

/// One path of a diff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileDiff {
    pub path: RawPath,
    pub kind: ChangeKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conflict: Option<ConflictReason>,
    /// The diff is from the project as it is to a result that has your edits, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub merged: bool,
    /// You saved and restored the file while the agent had it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub touched: bool,
    /// Lines; `None` where lines mean nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub added: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removed: Option<usize>,
    /// Ready for a terminal: headers and hunks, or a sentence.
    pub text: String,
}

enum Side {
    Nothing,
    Text(String),
    Binary(u64),
    Large(u64),
    Directory,
}

/// How the two halves of a rename are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Renames {
    /// A deletion and an addition.
    Apart,
    /// What changed from the old name to the new one; the deletion has no text.
    Together,
}

/// The diffs of all changes, or of those at or below one path.
pub fn diff(sides: &ThreeWay<'_>, review: &Review, below: Option<&Path>) -> anyhow::Result<Vec<FileDiff>> {
    let wanted = |change: &&Change| below.is_none_or(|below| change.path.starts_with(below));
    diffs(sides, review.changes.iter().filter(wanted), Renames::Apart)
}

/// The diffs of all changes, with renames as such.
pub fn diff_with_renames(sides: &ThreeWay<'_>, review: &Review) -> anyhow::Result<Vec<FileDiff>> {
    diffs(sides, review.changes.iter(), Renames::Together)
}

fn diffs<'a>(
    sides: &ThreeWay<'_>,
    changes: impl Iterator<Item = &'a Change>,
    renames: Renames,
) -> anyhow::Result<Vec<FileDiff>> {
    let patience = Patience::new();
    let diff = |change| {
        interruption::check()?;
        diff_of(sides, change, renames, &patience)
    };
    changes.map(diff).collect()
}

fn diff_of(
    sides: &ThreeWay<'_>,
    change: &Change,
    renames: Renames,
    patience: &Patience,
) -> anyhow::Result<FileDiff> {
    let path = change.path.0.as_path();
    let now = change.now.map(|stat| stat.kind);
    let is_together = renames == Renames::Together;
    let from = change.renamed_from.as_ref().filter(|_| is_together).map(|from| from.0.as_path());
    let before = match from {
        Some(from) => {
            side(sides.project, from, Some(Kind::File)).with_context(|| cannot_read(sides.project, from))?
        }
        None => side(sides.project, path, now).with_context(|| cannot_read(sides.project, path))?,
    };
    let after = match change.merged.as_deref() {
        Some(Merged { text: Some(text), .. }) => text_of(text.result.clone()),
        // Only the mode is the agent's.
        Some(_) if change.kind == ChangeKind::Mode => {
            side(sides.project, path, now).with_context(|| cannot_read(sides.project, path))?
        }
        _ => side(sides.mount, path, change.after.kind()).with_context(|| cannot_read(sides.mount, path))?,
    };
    let name = printable_name(path);
    let mut text = String::new();
    if let Some(reason) = change.conflict {
        let _ = writeln!(text, "conflict: {}", reason.text());
    }
    if change.merged.is_some() {
        let _ = writeln!(text, "merged: {MERGED}");
    }
    if change.touched {
        let _ = writeln!(text, "touched: {TOUCHED}");
    }
    let compared = |names: (&str, &str), before: &Side, after: &Side, text: &mut String| {
        compared(names, before, after, patience.deadline(), text)
    };
    let counts = match base_of_conflict(sides, change)?.map(text_of) {
        Some(base) => {
            let _ = writeln!(text, "diff a/{name} b/{name}: what you changed");
            compared((&name, &name), &base, &before, &mut text);
            let _ = writeln!(text, "diff a/{name} b/{name}: what the agent changed");
            modes(change, now, &mut text);
            compared((&name, &name), &base, &after, &mut text)
        }
        // The other half tells it.
        None if is_together && change.renamed_to.is_some() => Some((0, 0)),
        None if from.is_some() => {
            let old = from.map_or_else(String::new, printable_name);
            let _ = writeln!(text, "diff a/{old} b/{name}\nrenamed from {old}");
            compared((&old, &name), &before, &after, &mut text)
        }
        None => {
            let note = if change.conflict.is_some() { ": from your version to the agent's" } else { "" };
            let _ = writeln!(text, "diff a/{name} b/{name}{note}");
            modes(change, now, &mut text);
            compared((&name, &name), &before, &after, &mut text)
        }
    };
    let (added, removed) = counts.unzip();
    Ok(FileDiff {
        path: change.path.clone(),
        kind: change.kind,
        conflict: change.conflict,
        merged: change.merged.is_some(),
        touched: change.touched,
        added,
        removed,
        text,
    })
}

/// The lines that differ, or a sentence; with their numbers, where lines mean something.
fn compared(
    names: (&str, &str),
    before: &Side,
    after: &Side,
    deadline: Instant,
    text: &mut String,
) -> Option<(usize, usize)> {
    match (before, after) {
        (Side::Text(_) | Side::Nothing | Side::Directory, Side::Text(_))
        | (Side::Text(_), Side::Nothing | Side::Directory) => {
            Some(lines(names, before, after, deadline, text))
        }
        (Side::Nothing | Side::Directory, Side::Nothing | Side::Directory) => None,
        _ => {
            let _ = writeln!(text, "{} ({} -> {})", not_shown(before, after), size(before), size(after));
            None
        }
    }
}

fn lines(
    names: (&str, &str),
    before: &Side,
    after: &Side,
    deadline: Instant,
    text: &mut String,
) -> (usize, usize) {
    let content = |side: &Side| match side {
        Side::Text(text) => text.clone(),
        _ => String::new(),
    };
    let label = |side: &Side, prefix: &str, name: &str| match side {
        Side::Nothing | Side::Directory => "/dev/null".to_owned(),
        _ => format!("{prefix}/{name}"),
    };
    let (old, new) = (content(before), content(after));
    let diff = TextDiff::configure().algorithm(Algorithm::Myers).deadline(deadline).diff_lines(&old, &new);
    let mut counts = (0, 0);
    for change in diff.iter_all_changes() {
        match change.tag() {
            similar::ChangeTag::Insert => counts.0 += 1,
            similar::ChangeTag::Delete => counts.1 += 1,
            similar::ChangeTag::Equal => {}
        }
    }
    if counts != (0, 0) {
        let hunks = diff.unified_diff().context_radius(3).to_string();
        let _ = writeln!(text, "--- {}\n+++ {}", label(before, "a", names.0), label(after, "b", names.1));
        text.push_str(&printable(&hunks));
    }
    counts
}

fn modes(change: &Change, now: Option<Kind>, text: &mut String) {
    let old = change.now.map(|stat| stat.permissions());
    let new = change.after.permissions();
    let word = |kind: Option<Kind>| match kind {
        Some(Kind::Dir) => "directory",
        Some(Kind::Symlink) => "symlink",
        Some(Kind::Special) => "special file",
        Some(Kind::File) | None => "file",
    };
    let _ = match (&change.after, old, new) {
        (After::Absent, ..) => writeln!(text, "deleted {}", word(now)),
        (_, None, Some(new)) => writeln!(text, "new {} mode {new:o}", word(change.after.kind())),
        (_, None, None) => writeln!(text, "new {}", word(change.after.kind())),
        (_, Some(_), _) if now != change.after.kind() => {
            writeln!(text, "{} becomes {}", word(now), word(change.after.kind()))
        }
        (_, Some(old), Some(new)) if old != new => writeln!(text, "mode {old:o} -> {new:o}"),
        _ => Ok(()),
    };
}

fn side(tree: &Tree, path: &Path, kind: Option<Kind>) -> anyhow::Result<Side> {
    Ok(match kind {
        None | Some(Kind::Special) => Side::Nothing,
        Some(Kind::Dir) => Side::Directory,
        Some(Kind::Symlink) => Side::Text(tree.read_link(path)?.to_string_lossy().into_owned()),
        Some(Kind::File) => {
            let (file, stat) = tree.open_file(path)?;
            if stat.size > LARGEST {
                return Ok(Side::Large(stat.size));
            }
            let mut bytes = Vec::new();
            file.take(LARGEST + 1).read_to_end(&mut bytes)?;
            if bytes.iter().take(PROBE).any(|&byte| byte == 0) {
                return Ok(Side::Binary(stat.size));
            }
            text_of(bytes)
        }
    })
}

/// Replacement characters would make different bytes look the same, so that what is no text is not shown as one.
fn text_of(bytes: Vec<u8>) -> Side {
    let size = bytes.len() as u64;
    String::from_utf8(bytes).map_or(Side::Binary(size), Side::Text)
}

fn not_shown(before: &Side, after: &Side) -> &'static str {
    let is_large = |side: &Side| matches!(side, Side::Large(_));
    if is_large(before) || is_large(after) { "too large to show" } else { "binary files differ" }
}

fn size(side: &Side) -> String {
    match side {
        Side::Nothing | Side::Directory => "nothing".into(),
        Side::Text(text) => format!("{} bytes", text.len()),
        Side::Binary(bytes) | Side::Large(bytes) => format!("{bytes} bytes"),
    }
}

/// A name on one line: an agent could otherwise put a false header into it.
pub fn printable_name(path: &Path) -> String {
    printable::printable_name(&path.to_string_lossy())
}

/// The first few of some paths, and how many more there are.
pub fn some_names(paths: &[RawPath]) -> String {
    const MOST: usize = 5;
    let mut names: Vec<String> = paths.iter().take(MOST).map(|path| printable_name(path.as_ref())).collect();
    if paths.len() > MOST {
        names.push(format!("{} more", paths.len() - MOST));
    }
    names.join(", ")
}

fn cannot_read(tree: &Tree, path: &Path) -> String {
    format!("cannot read {}", tree.path().join(path).display())
}
