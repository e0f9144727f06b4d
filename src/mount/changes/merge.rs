//! Merges two versions of a text line by line over their common base. Pure: bytes in, bytes out. It prefers caution to cleverness: if
//! two ways of comparing the versions lead to different results, there is no result.

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};
use std::collections::HashMap;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Larger files are not merged.
pub const LARGEST: u64 = 2 << 20;
/// How long one comparison may take. After that it gets coarser, which can only turn a merge into a conflict.
const PATIENCE: Duration = Duration::from_millis(500);

/// The outcome of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merge {
    Clean(Vec<u8>),
    Conflict(MergeConflict),
}

/// Why two versions cannot be merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeConflict {
    /// Both changed the same lines, or adjacent lines.
    Overlap,
    /// One of the versions is too large, or is not text with consistent line endings.
    NotText,
}

/// Merges `ours` and `theirs`, which were both made from `base`. Changes of adjacent lines conflict, as in git; the same change on
/// both sides does not.
pub fn merge(base: &[u8], ours: &[u8], theirs: &[u8]) -> Merge {
    let sides = [base, ours, theirs];
    if !sides.iter().all(|bytes| is_text(bytes)) || !have_same_line_ends(sides) {
        return Merge::Conflict(MergeConflict::NotText);
    }
    let mut lines = Lines::default();
    let [base_ids, our_ids, their_ids] = sides.map(|bytes| lines.number(bytes));
    let our_hunks = WAYS.map(|way| way.hunks(&base_ids, &our_ids));
    let their_hunks = WAYS.map(|way| way.hunks(&base_ids, &their_ids));
    let anchors = lines_that_occur_once([&base_ids, &our_ids, &their_ids], lines.lines.len());
    let mut result: Option<Vec<u32>> = None;
    // Where lines repeat, the position of a change is ambiguous. Only a result that does not depend on it counts.
    for ours in &our_hunks {
        for theirs in &their_hunks {
            let merged = merge_hunks((&base_ids, &anchors), (&our_ids, ours), (&their_ids, theirs));
            match (merged, &result) {
                (Some(merged), None) => result = Some(merged),
                (Some(merged), Some(result)) if merged == *result => {}
                _ => return Merge::Conflict(MergeConflict::Overlap),
            }
        }
    }
    match result.and_then(|ids| lines.text(&ids)) {
        Some(bytes) => Merge::Clean(bytes),
        None => Merge::Conflict(MergeConflict::Overlap),
    }
}

/// Whether a file with these bytes could be merged at all.
pub(crate) fn is_text(bytes: &[u8]) -> bool {
    bytes.len() as u64 <= LARGEST && memchr::memchr(0, bytes).is_none()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineEnd {
    Lf,
    CrLf,
}

/// Whether all lines of all versions end the same way. A carriage return elsewhere counts as another kind of line end.
fn have_same_line_ends(sides: [&[u8]; 3]) -> bool {
    let mut first = None;
    for bytes in sides {
        let ends = memchr::memchr2_iter(b'\n', b'\r', bytes).filter_map(|at| match bytes[at] {
            b'\r' if bytes.get(at + 1) == Some(&b'\n') => None,
            b'\r' => Some(None),
            _ if at > 0 && bytes[at - 1] == b'\r' => Some(Some(LineEnd::CrLf)),
            _ => Some(Some(LineEnd::Lf)),
        });
        for end in ends {
            let Some(end) = end else { return false };
            if *first.get_or_insert(end) != end {
                return false;
            }
        }
    }
    true
}

/// Lines as numbers: equal lines have equal numbers.
#[derive(Default)]
pub(super) struct Lines<'a> {
    numbers: HashMap<&'a [u8], u32>,
    pub(super) lines: Vec<&'a [u8]>,
}

impl<'a> Lines<'a> {
    pub(super) fn number(&mut self, bytes: &'a [u8]) -> Vec<u32> {
        let mut numbers = Vec::new();
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            let next = u32::try_from(self.lines.len()).unwrap_or(u32::MAX);
            let number = *self.numbers.entry(line).or_insert(next);
            if number == next {
                self.lines.push(line);
            }
            numbers.push(number);
        }
        numbers
    }

    /// `None` if a line without a line end would not be the last one.
    fn text(&self, numbers: &[u32]) -> Option<Vec<u8>> {
        let mut bytes: Vec<u8> = Vec::new();
        for &number in numbers {
            if bytes.last().is_some_and(|&last| last != b'\n') {
                return None;
            }
            bytes.extend_from_slice(self.lines[number as usize]);
        }
        Some(bytes)
    }
}

/// A way of comparing two versions. They differ in which common lines they choose where there is a choice.
#[derive(Debug, Clone, Copy)]
pub(super) struct Way {
    algorithm: Algorithm,
    /// From the last line to the first.
    is_backward: bool,
    /// From the new version to the old one.
    is_inverse: bool,
}

pub(super) const WAYS: [Way; 5] = [
    Way { algorithm: Algorithm::Myers, is_backward: false, is_inverse: false },
    Way { algorithm: Algorithm::Myers, is_backward: true, is_inverse: false },
    Way { algorithm: Algorithm::Myers, is_backward: false, is_inverse: true },
    Way { algorithm: Algorithm::Myers, is_backward: true, is_inverse: true },
    Way { algorithm: Algorithm::Patience, is_backward: false, is_inverse: false },
];

/// Lines of the base, and the lines of the new version that replace them. Either may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hunk {
    pub(super) old: Range<usize>,
    pub(super) new: Range<usize>,
}

impl Way {
    pub(super) fn hunks(self, old: &[u32], new: &[u32]) -> Vec<Hunk> {
        let mut hunks = if self.is_inverse {
            let inverse = self.compare(new, old).into_iter();
            inverse.map(|hunk| Hunk { old: hunk.new, new: hunk.old }).collect()
        } else {
            self.compare(old, new)
        };
        if self.is_backward {
            let flip = |range: &Range<usize>, length: usize| length - range.end..length - range.start;
            hunks.reverse();
            for hunk in &mut hunks {
                *hunk = Hunk { old: flip(&hunk.old, old.len()), new: flip(&hunk.new, new.len()) };
            }
        }
        widened(hunks, old, new)
    }

    pub(super) fn compare(self, old: &[u32], new: &[u32]) -> Vec<Hunk> {
        let in_direction = |lines: &[u32]| -> Vec<u32> {
            if self.is_backward { lines.iter().rev().copied().collect() } else { lines.to_vec() }
        };
        let (old, new) = (in_direction(old), in_direction(new));
        let deadline = Some(Instant::now() + PATIENCE);
        hunks_of(&capture_diff_slices_deadline(self.algorithm, &old, &new, deadline), &old, &new)
    }
}

/// In order, with at least one common line between two of them. If that does not clearly hold, one hunk covers everything.
fn hunks_of(ops: &[DiffOp], old: &[u32], new: &[u32]) -> Vec<Hunk> {
    let (mut old_at, mut new_at) = (0, 0);
    let mut hunks: Vec<Hunk> = Vec::new();
    let mut is_sound = true;
    for op in ops {
        // Rely on the lengths: the position of a pure insertion or deletion on the other side is arbitrary.
        let (old_end, new_end) = (old_at + op.old_range().len(), new_at + op.new_range().len());
        if matches!(op, DiffOp::Equal { .. }) {
            let common = (old.get(old_at..old_end), new.get(new_at..new_end));
            is_sound &= common.0.is_some() && common.0 == common.1;
        } else {
            match hunks.last_mut() {
                Some(last) if last.old.end == old_at && last.new.end == new_at => {
                    (last.old.end, last.new.end) = (old_end, new_end);
                }
                _ => hunks.push(Hunk { old: old_at..old_end, new: new_at..new_end }),
            }
        }
        (old_at, new_at) = (old_end, new_end);
    }
    if !is_sound || (old_at, new_at) != (old.len(), new.len()) {
        return vec![Hunk { old: 0..old.len(), new: 0..new.len() }];
    }
    hunks
}

/// The same hunks, extended by the lines over which they could be moved: if `}` and a blank line were inserted after a `}` and a
/// blank line, they may as well have been inserted before them.
fn widened(hunks: Vec<Hunk>, old: &[u32], new: &[u32]) -> Vec<Hunk> {
    let mut wide: Vec<Hunk> = Vec::with_capacity(hunks.len());
    let starts: Vec<usize> = hunks.iter().skip(1).map(|hunk| hunk.old.start).chain([old.len()]).collect();
    let mut last_end = 0;
    for (hunk, next_start) in hunks.into_iter().zip(starts) {
        let up = slide_up(old, &hunk.old).max(slide_up(new, &hunk.new)).min(hunk.old.start - last_end);
        let down = slide_down(old, &hunk.old).max(slide_down(new, &hunk.new)).min(next_start - hunk.old.end);
        last_end = hunk.old.end;
        let hunk = Hunk {
            old: hunk.old.start - up..hunk.old.end + down,
            new: hunk.new.start - up..hunk.new.end + down,
        };
        match wide.last_mut() {
            Some(last) if hunk.old.start <= last.old.end => {
                last.old.end = hunk.old.end.max(last.old.end);
                last.new.end = hunk.new.end.max(last.new.end);
            }
            _ => wide.push(hunk),
        }
    }
    wide
}

fn slide_up(lines: &[u32], range: &Range<usize>) -> usize {
    if range.is_empty() {
        return 0;
    }
    (0..range.start).take_while(|by| lines[range.start - by - 1] == lines[range.end - by - 1]).count()
}

fn slide_down(lines: &[u32], range: &Range<usize>) -> usize {
    if range.is_empty() {
        return 0;
    }
    (0..lines.len() - range.end).take_while(|by| lines[range.start + by] == lines[range.end + by]).count()
}

/// Lines of the base that one side or both changed.
pub(super) struct Region<'a> {
    pub(super) base: Range<usize>,
    pub(super) change: Change<'a>,
}

/// What stands in for the lines of a region.
#[derive(Clone, Copy)]
pub(super) enum Change<'a> {
    Ours(&'a [u32]),
    Theirs(&'a [u32]),
    Both { ours: &'a [u32], theirs: &'a [u32] },
}

/// Iterates over both sides along the base: hunks that overlap or touch form one region.
pub(super) struct Regions<'a> {
    ours: Cursor<'a>,
    theirs: Cursor<'a>,
    at: usize,
}

impl<'a> Regions<'a> {
    /// The lines and hunks of each side.
    pub(super) fn of(ours: (&'a [u32], &'a [Hunk]), theirs: (&'a [u32], &'a [Hunk])) -> Regions<'a> {
        Regions { ours: Cursor::new(ours), theirs: Cursor::new(theirs), at: 0 }
    }
}

impl<'a> Iterator for Regions<'a> {
    type Item = Region<'a>;

    fn next(&mut self) -> Option<Region<'a>> {
        let start = self.ours.next_start().into_iter().chain(self.theirs.next_start()).min()?;
        let mut base = start..start;
        let (mut is_ours, mut is_theirs) = (false, false);
        loop {
            let joined = (self.ours.takes_part(&mut base), self.theirs.takes_part(&mut base));
            if joined == (false, false) {
                break;
            }
            (is_ours, is_theirs) = (is_ours | joined.0, is_theirs | joined.1);
        }
        let common = start - self.at;
        let (ours, theirs) = (self.ours.version_of(&base, common), self.theirs.version_of(&base, common));
        self.at = base.end;
        let change = match (is_ours, is_theirs) {
            (true, true) => Change::Both { ours, theirs },
            (true, false) => Change::Ours(ours),
            _ => Change::Theirs(theirs),
        };
        Some(Region { base, change })
    }
}

/// The position of one side along the base.
struct Cursor<'a> {
    lines: &'a [u32],
    /// The hunks still to come.
    hunks: &'a [Hunk],
    /// The index in `lines` of the next line of the base.
    position: usize,
    /// Lines that its hunks in the current region remove and add.
    old: usize,
    new: usize,
}

impl<'a> Cursor<'a> {
    fn new((lines, hunks): (&'a [u32], &'a [Hunk])) -> Cursor<'a> {
        Cursor { lines, hunks, position: 0, old: 0, new: 0 }
    }

    fn next_start(&self) -> Option<usize> {
        self.hunks.first().map(|hunk| hunk.old.start)
    }

    /// Whether its next hunk begins in this region of the base or right after it; if so, the region grows.
    fn takes_part(&mut self, region: &mut Range<usize>) -> bool {
        match self.hunks.split_first() {
            Some((hunk, rest)) if hunk.old.start <= region.end => {
                region.end = region.end.max(hunk.old.end);
                self.old += hunk.old.len();
                self.new += hunk.new.len();
                self.hunks = rest;
                true
            }
            _ => false,
        }
    }

    /// Its lines for a region that begins this many common lines from here.
    fn version_of(&mut self, region: &Range<usize>, common: usize) -> &'a [u32] {
        let first = self.position + common;
        self.position = first + region.len() - self.old + self.new;
        (self.old, self.new) = (0, 0);
        &self.lines[first..self.position]
    }
}

/// For each number, whether the line occurs exactly once in every version. Such a line aligns the versions unambiguously.
fn lines_that_occur_once(sides: [&[u32]; 3], count: usize) -> Vec<bool> {
    let mut is_once = vec![true; count];
    for lines in sides {
        let mut occurrences = vec![0_usize; count];
        for &line in lines {
            occurrences[line as usize] += 1;
        }
        for (is_once, occurrences) in is_once.iter_mut().zip(occurrences) {
            *is_once &= occurrences == 1;
        }
    }
    is_once
}

/// `None` if hunks of the two sides touch and differ, or if no line between them separates them reliably.
fn merge_hunks(
    (base, anchors): (&[u32], &[bool]),
    ours: (&[u32], &[Hunk]),
    theirs: (&[u32], &[Hunk]),
) -> Option<Vec<u32>> {
    let mut merged = Vec::with_capacity(base.len());
    let mut at = 0;
    let mut last = None;
    for Region { base: changed, change } in Regions::of(ours, theirs) {
        let between = &base[at..changed.start];
        let is_next_to_own = matches!(
            (last, change),
            (None, _)
                | (Some(Change::Ours(_)), Change::Ours(_))
                | (Some(Change::Theirs(_)), Change::Theirs(_))
        );
        if !is_next_to_own && !between.iter().any(|&line| anchors[line as usize]) {
            return None;
        }
        last = Some(change);
        merged.extend_from_slice(between);
        merged.extend_from_slice(match change {
            Change::Both { ours, theirs } if ours != theirs => return None,
            Change::Both { ours: lines, .. } | Change::Ours(lines) | Change::Theirs(lines) => lines,
        });
        at = changed.end;
    }
    merged.extend_from_slice(&base[at..]);
    Some(merged)
}

#[cfg(test)]
#[path = "merge_tests.rs"]
mod tests;
