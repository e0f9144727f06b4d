//! Which lines of a text are new. Deterministic, and bounded for large texts by comparing them as sets.

use similar::{Algorithm, DiffOp, capture_diff_slices};
use std::collections::HashMap;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddedLine<'a> {
    /// Counted from 1.
    pub number: usize,
    pub text: &'a str,
}

/// Above this many differing lines, order is no longer looked at.
const MOST_ORDERED: usize = 6000;

/// The lines of `after` that are not in `before`. The other way round they are those that were removed.
pub fn added_lines<'a>(before: &str, after: &'a str) -> Vec<AddedLine<'a>> {
    let old: Vec<&str> = before.lines().collect();
    let new: Vec<&str> = after.lines().collect();
    let start = old.iter().zip(&new).take_while(|(one, other)| one == other).count();
    let end = old[start..]
        .iter()
        .rev()
        .zip(new[start..].iter().rev())
        .take_while(|(one, other)| one == other)
        .count();
    let (old, middle) = (&old[start..old.len() - end], &new[start..new.len() - end]);
    let line = |index: usize| AddedLine { number: start + index + 1, text: middle[index] };
    if old.is_empty() {
        return (0..middle.len()).map(line).collect();
    }
    if old.len() + middle.len() > MOST_ORDERED {
        let mut known: HashMap<&str, usize> = HashMap::new();
        for text in old {
            *known.entry(text).or_default() += 1;
        }
        let is_new = |index: &usize| match known.get_mut(middle[*index]) {
            Some(count) if *count > 0 => {
                *count -= 1;
                false
            }
            _ => true,
        };
        return (0..middle.len()).filter(is_new).map(line).collect();
    }
    let mut added = Vec::new();
    for operation in capture_diff_slices(Algorithm::Myers, old, middle) {
        if let DiffOp::Insert { new_index, new_len, .. } | DiffOp::Replace { new_index, new_len, .. } =
            operation
        {
            added.extend((new_index..new_index + new_len).map(line));
        }
    }
    added
}
