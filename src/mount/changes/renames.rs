//! Finds deletions and additions that are one file under another name, by what it holds. It marks both halves and judges neither.

use super::change::{Change, Review};
use super::compare::{After, ConflictReason};
use super::content::digest_of;
use super::merge::is_text;
use super::three_way::ThreeWay;
use crate::files::regular;
use crate::model::change_kind::ChangeKind;
use crate::mount::fs::stat::Kind;
use std::collections::{HashMap, HashSet};

/// More files than this on one side are not looked into, as in git.
const MOST: usize = 1000;
/// So many pairs that are only similar.
const MOST_SIMILAR: usize = 50;
/// Larger files are one only if they are the same.
const LARGEST_SIMILAR: u64 = 256 << 10;
/// How much of the larger one both have, of a hundred.
const ALIKE: u64 = 50;

/// A file that went or came.
struct Half {
    number: usize,
    size: u64,
    is_paired: bool,
}

pub(super) fn mark_renames(sides: &ThreeWay<'_>, review: &mut Review) -> anyhow::Result<()> {
    let halves = |size_of: fn(&Change) -> Option<u64>| -> Vec<Half> {
        let sizes = review.changes.iter().map(size_of).enumerate();
        // What is empty came from nowhere.
        let sizes = sizes.filter_map(|(number, size)| Some((number, size.filter(|&size| size > 0)?)));
        sizes.map(|(number, size)| Half { number, size, is_paired: false }).collect()
    };
    let (mut gone, mut new) = (halves(size_of_deleted), halves(size_of_added));
    if gone.is_empty() || new.is_empty() || gone.len() > MOST || new.len() > MOST {
        return Ok(());
    }
    let mut pairs = same(sides, review, &mut gone, &mut new)?;
    gone.retain(|half| !half.is_paired && half.size <= LARGEST_SIMILAR);
    new.retain(|half| !half.is_paired && half.size <= LARGEST_SIMILAR);
    if gone.len() <= MOST_SIMILAR && new.len() <= MOST_SIMILAR {
        pairs.extend(similar(sides, review, &gone, &new));
    }
    for (old, new) in pairs {
        let (from, to) = (review.changes[old].path.clone(), review.changes[new].path.clone());
        review.changes[old].renamed_to = Some(to);
        review.changes[new].renamed_from = Some(from);
    }
    Ok(())
}

fn size_of_deleted(change: &Change) -> Option<u64> {
    // Whoever has edited a file that the agent has moved wants to know where it is now.
    let is_free = matches!(change.conflict, None | Some(ConflictReason::DeletedByAgent));
    let is_gone = change.after == After::Absent && is_free;
    change.now.filter(|now| is_gone && now.kind == Kind::File).map(|now| now.size)
}

fn size_of_added(change: &Change) -> Option<u64> {
    let is_new = change.kind == ChangeKind::Added && change.conflict.is_none() && change.now.is_none();
    match change.after {
        After::File { size, .. } if is_new => Some(size),
        _ => None,
    }
}

/// Those that hold the same; of several, the one with the same name.
fn same(
    sides: &ThreeWay<'_>,
    review: &Review,
    gone: &mut [Half],
    new: &mut [Half],
) -> anyhow::Result<Vec<(usize, usize)>> {
    let path = |half: &Half| review.changes[half.number].path.0.as_path();
    let sizes = |halves: &[Half]| halves.iter().map(|half| half.size).collect::<HashSet<u64>>();
    let (old_sizes, new_sizes) = (sizes(gone), sizes(new));
    let mut by_content: HashMap<(u64, blake3::Hash), Vec<usize>> = HashMap::new();
    for (number, old) in gone.iter().enumerate().filter(|(_, old)| new_sizes.contains(&old.size)) {
        if let Some(content) = digest_of(sides.project, path(old))? {
            by_content.entry((old.size, content)).or_default().push(number);
        }
    }
    let mut pairs = Vec::new();
    for new in new.iter_mut().filter(|new| old_sizes.contains(&new.size)) {
        let Some(content) = digest_of(sides.mount, path(new))? else { continue };
        let Some(candidates) = by_content.get_mut(&(new.size, content)) else { continue };
        let has_name = |&old: &usize| path(&gone[old]).file_name() == path(new).file_name();
        let at = candidates.iter().position(has_name).unwrap_or(0);
        if at < candidates.len() {
            let old = &mut gone[candidates.remove(at)];
            (old.is_paired, new.is_paired) = (true, true);
            pairs.push((old.number, new.number));
        }
    }
    Ok(pairs)
}

/// Texts that have most of their lines in common, the most similar ones first.
fn similar(sides: &ThreeWay<'_>, review: &Review, gone: &[Half], new: &[Half]) -> Vec<(usize, usize)> {
    let path = |half: &Half| review.changes[half.number].path.0.as_path();
    let text = |file: std::io::Result<(std::fs::File, _)>| {
        let bytes = regular::content(file.ok()?.0, LARGEST_SIMILAR).ok()?;
        is_text(&bytes).then_some(bytes)
    };
    let old_texts: Vec<_> = gone.iter().map(|half| text(sides.project.open_file(path(half)))).collect();
    let new_texts: Vec<_> = new.iter().map(|half| text(sides.mount.open_file(path(half)))).collect();
    let mut scored = Vec::new();
    for (old, old_text) in gone.iter().zip(&old_texts) {
        for (new, new_text) in new.iter().zip(&new_texts) {
            let (Some(old_text), Some(new_text)) = (old_text, new_text) else { continue };
            let score = likeness(old_text, new_text);
            if score >= ALIKE {
                let has_other_name = path(old).file_name() != path(new).file_name();
                scored.push((100 - score.min(100), has_other_name, old.number, new.number));
            }
        }
    }
    scored.sort_unstable();
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for (_, _, old, new) in scored {
        if !pairs.iter().any(|pair| pair.0 == old || pair.1 == new) {
            pairs.push((old, new));
        }
    }
    pairs
}

/// How many bytes of the larger text are in lines that both have, of a hundred.
fn likeness(old: &[u8], new: &[u8]) -> u64 {
    let mut lines: HashMap<&[u8], usize> = HashMap::new();
    for line in old.split_inclusive(|&byte| byte == b'\n') {
        *lines.entry(line).or_default() += 1;
    }
    let mut common = 0;
    for line in new.split_inclusive(|&byte| byte == b'\n') {
        if let Some(count) = lines.get_mut(line).filter(|count| **count > 0) {
            *count -= 1;
            common += line.len() as u64;
        }
    }
    common * 100 / old.len().max(new.len()).max(1) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_alike_by_their_common_lines() {
        assert_eq!(likeness(b"a\nb\nc\nd\n", b"d\na\nb\nc\n"), 100);
        assert_eq!(likeness(b"a\nb\nc\nd\n", b"a\nb\nX\nY\n"), 50);
        assert_eq!(likeness(b"a\na\n", b"a\nb\nb\nb\n"), 25);
        assert_eq!(likeness(b"", b""), 0);
    }
}
