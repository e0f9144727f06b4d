//! Cuts what a worker wrote to what fits into a check, and makes it safe to show. Decides nothing.

use crate::model::printable::{printable, printable_name};
use crate::model::verdict::Check;

const LONGEST_OBSERVED: usize = 400;
const LONGEST_LINE: usize = 400;
/// As many lines of output as a correction may quote.
const MOST_LINES: usize = 42;
/// As many paths as a check names.
const MOST_PATHS: usize = 20;
const LONGEST_NAME: usize = 240;

/// A path on one line in which everything can be seen.
pub fn name(path: &str) -> String {
    printable_name(&cut(path, LONGEST_NAME))
}

/// A quote of other people's text on one line.
pub fn quote(text: &str) -> String {
    let short = cut(text.trim(), LONGEST_LINE);
    let words: Vec<&str> = short.split_whitespace().collect();
    printable(&words.join(" ")).into_owned()
}

/// Paths as lines, and how many more there are.
pub fn names<'p>(paths: impl IntoIterator<Item = &'p str>) -> Vec<String> {
    let mut paths = paths.into_iter();
    let mut lines: Vec<String> = paths.by_ref().take(MOST_PATHS).map(name).collect();
    let more = paths.count();
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    lines
}

/// `1 file`, `3 files`.
pub fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// The same for nouns with a plural of their own.
pub fn count_of(number: usize, noun: &str, plural: &str) -> String {
    format!("{number} {}", if number == 1 { noun } else { plural })
}

/// A check of bounded size in which nothing repaints a terminal.
pub fn bounded(mut check: Check) -> Check {
    check.expected = safe(&check.expected, LONGEST_OBSERVED);
    check.observed = safe(&check.observed, LONGEST_OBSERVED);
    if check.evidence.len() > MOST_LINES {
        let more = check.evidence.len() - MOST_LINES;
        check.evidence.truncate(MOST_LINES);
        check.evidence.push(format!("and {more} more"));
    }
    for line in &mut check.evidence {
        *line = safe(line, LONGEST_LINE);
    }
    check
}

fn safe(text: &str, longest: usize) -> String {
    let short = cut(text, longest);
    match printable(&short) {
        std::borrow::Cow::Borrowed(_) => short,
        std::borrow::Cow::Owned(shown) => cut(&shown, longest * 4),
    }
}

fn cut(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
