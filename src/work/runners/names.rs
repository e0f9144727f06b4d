//! The names and files of a summary, in bounded memory, and the small matchers that all parsers share.

use crate::work::evidence::TestOutcome;
use std::collections::BTreeMap;

const MOST_NAMES: usize = 50_000;
const MOST_BYTES: usize = 8 * 1024 * 1024;
const LONGEST_NAME: usize = 400;

/// Tests by name. Beyond the limits all are dropped: half a list would accuse the other half of being missing.
#[derive(Debug, Default)]
pub struct Names {
    tests: BTreeMap<String, TestOutcome>,
    bytes: usize,
    is_full: bool,
}

impl Names {
    pub fn add(&mut self, name: impl Into<String>, outcome: TestOutcome) {
        let name: String = name.into();
        if self.is_full || name.is_empty() {
            return;
        }
        if let Some(known) = self.tests.get_mut(&name) {
            *known = (*known).max(outcome);
            return;
        }
        self.bytes += name.len();
        if self.tests.len() >= MOST_NAMES || self.bytes > MOST_BYTES || name.len() > LONGEST_NAME * 4 {
            self.is_full = true;
            self.tests.clear();
            return;
        }
        self.tests.insert(name, outcome);
    }

    pub fn count(&self, outcome: TestOutcome) -> u64 {
        self.tests.values().filter(|known| **known == outcome).count() as u64
    }

    pub fn into_map(self) -> BTreeMap<String, TestOutcome> {
        self.tests
    }
}

/// Tests that ran, by file, within the same limits.
#[derive(Debug, Default)]
pub struct Files {
    files: BTreeMap<String, u64>,
    is_full: bool,
}

impl Files {
    pub fn add(&mut self, file: &str, count: u64) {
        if self.is_full || file.len() > LONGEST_NAME * 4 {
            return;
        }
        if self.files.len() >= MOST_NAMES / 4 && !self.files.contains_key(file) {
            self.is_full = true;
            self.files.clear();
            return;
        }
        let known = self.files.entry(file.to_owned()).or_default();
        *known = known.saturating_add(count);
    }

    pub fn into_map(self) -> BTreeMap<String, u64> {
        self.files
    }
}

/// The number that stands right before this word: 3 in `3 passed, 1 failed` for `passed`.
pub fn number_before(text: &str, word: &str) -> Option<u64> {
    let words: Vec<&str> =
        text.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()).take(64).collect();
    words.windows(2).find(|pair| pair[1] == word).and_then(|pair| pair[0].parse().ok())
}

/// The number after a label: 3 in `Failures: 3`, `skipped=3`, `Tests run: 3`.
pub fn number_after(text: &str, label: &str) -> Option<u64> {
    let rest = &text[text.find(label)? + label.len()..];
    let digits: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// A text without a duration at its end: ` (3 ms)`, ` 5ms`, ` (0.5s)`.
pub fn without_duration(text: &str) -> &str {
    let text = text.trim_end();
    let is_duration = |inner: &str| {
        let unit =
            inner.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.' || c == ',').trim_start();
        unit.len() < inner.len() && matches!(unit, "ms" | "s" | "m" | "sec" | "µs" | "us" | "ns")
    };
    if let Some((start, inner)) = text.strip_suffix(')').and_then(|open| open.rsplit_once('('))
        && is_duration(inner)
    {
        return start.trim_end();
    }
    match text.rsplit_once(' ') {
        Some((start, last)) if is_duration(last) => start.trim_end(),
        _ => text,
    }
}

pub fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// The titles that enclose a line, by indentation.
#[derive(Debug, Default)]
pub struct Titles {
    stack: Vec<(usize, String)>,
}

impl Titles {
    pub fn clear(&mut self) {
        self.stack.clear();
    }

    pub fn open(&mut self, indent: usize, title: &str) {
        self.close_to(indent);
        if self.stack.len() < 32 {
            self.stack.push((indent, title.chars().take(200).collect()));
        }
    }

    /// Whether a title of this text is open at this indentation, as the parent of what came last.
    pub fn is_open(&self, indent: usize, title: &str) -> bool {
        self.stack.iter().any(|(depth, open)| *depth == indent && open == title)
    }

    pub fn close_to(&mut self, indent: usize) {
        while self.stack.last().is_some_and(|(depth, _)| *depth >= indent) {
            self.stack.pop();
        }
    }

    /// The full name of a test at this indentation.
    pub fn name(&mut self, indent: usize, file: &str, title: &str) -> String {
        self.close_to(indent);
        let mut parts: Vec<&str> = Vec::new();
        if !file.is_empty() {
            parts.push(file);
        }
        parts.extend(self.stack.iter().map(|(_, title)| title.as_str()));
        let title: String = title.chars().take(LONGEST_NAME).collect();
        parts.push(&title);
        parts.join(" > ")
    }
}
