//! Recognises what was there before: the same failure, the same changes, the same question. Pure; it decides nothing.

use super::evidence::{ChangeSet, FileState, Node};
use super::path_kind;
use crate::model::verdict::Check;
use crate::model::worker_report::AdvisorReason;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// Longer lines are compared by their beginning.
const LONGEST_LINE: usize = 400;
const LENGTH: usize = 12;

/// What an attempt failed of: the ids of the checks that block and the first error line of each, as 12 digits. None if nothing blocks.
pub fn signature(checks: &[Check]) -> Option<String> {
    let mut parts: Vec<String> = checks
        .iter()
        .filter(|check| check.blocks())
        .map(|check| format!("{} {}", check.id, normalized(&error_line(check))))
        .collect();
    if parts.is_empty() {
        return None;
    }
    parts.sort();
    Some(short_hash(&parts.join("\n")))
}

/// The signature of one error text.
pub fn signature_of_text(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    short_hash(&normalized(line))
}

fn short_hash(text: &str) -> String {
    let mut digits = hexadecimal(Sha256::digest(text.as_bytes()).as_slice());
    digits.truncate(LENGTH);
    digits
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// `task_id:reason_code:signature`, by which a question is asked only once.
pub fn trigger_hash(task_id: &str, reason: AdvisorReason, signature: &str) -> String {
    format!("{task_id}:{}:{signature}", reason.text())
}

/// The line of a check that says what went wrong: the first of its evidence that looks like an error, else what was observed.
pub fn error_line(check: &Check) -> String {
    let found = check.evidence.iter().map(|line| plain(line)).find(|line| looks_like_error(line));
    found.unwrap_or_else(|| {
        let observed = plain(&check.observed);
        if observed.trim().is_empty() {
            check.evidence.first().map(|line| plain(line)).unwrap_or_default()
        } else {
            observed
        }
    })
}

fn looks_like_error(line: &str) -> bool {
    let lower = line.to_lowercase();
    // `0 failed` and `0 errors` say the opposite.
    let counts_none = ["0 failed", "0 errors", "no errors"].iter().any(|words| lower.contains(words));
    let words =
        ["error", "fail", "panicked", "exception", "assert", "not ok", "cannot ", "undefined", "✗", "✕", "×"];
    !counts_none && words.iter().any(|word| lower.contains(word))
}

/// The beginning of a text without escape sequences.
pub fn plain(text: &str) -> String {
    let text = &text[..text.floor_char_boundary(LONGEST_LINE)];
    let mut result = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if c != '\u{1b}' {
            if !c.is_control() {
                result.push(c);
            } else if c.is_whitespace() {
                result.push(' ');
            }
            continue;
        }
        match rest.next() {
            // A control sequence ends with a letter or one of `@[\]^_{|}~` and the backquote.
            Some('[') => while rest.next().is_some_and(|c| !('\u{40}'..='\u{7e}').contains(&c)) {},
            // An operating system command ends with BEL or ESC.
            Some(']') => while rest.next().is_some_and(|c| c != '\u{7}' && c != '\u{1b}') {},
            _ => {}
        }
    }
    result
}

/// A line without what differs from run to run: colours, paths, numbers, hexadecimal digits, durations.
pub fn normalized(line: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut after_number = false;
    for token in plain(line).split_whitespace() {
        let word = if is_path(token) { String::new() } else { without_numbers(token) };
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let is_unit = after_number && UNIT_WORDS.contains(&bare);
        after_number = bare.is_empty() && token.contains(|c: char| c.is_ascii_digit());
        if !is_unit && !bare.is_empty() {
            words.push(word);
        }
    }
    words.join(" ")
}

const UNITS: [&str; 14] =
    ["s", "ms", "us", "µs", "ns", "m", "h", "hm", "hms", "min", "sec", "secs", "mins", "d"];
const UNIT_WORDS: [&str; 12] = [
    "s",
    "ms",
    "sec",
    "secs",
    "second",
    "seconds",
    "millisecond",
    "milliseconds",
    "min",
    "mins",
    "minute",
    "minutes",
];

fn is_path(token: &str) -> bool {
    let bare =
        token.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '/' | '\\' | '.' | '_' | '~'));
    let name = bare.split(':').next().unwrap_or(bare);
    let has_letter = bare.contains(|c: char| c.is_alphanumeric());
    has_letter && (bare.contains('/') || bare.contains('\\') || path_kind::is_code(name))
}

/// In lower case, without numbers, and without words of hexadecimal digits.
fn without_numbers(token: &str) -> String {
    let mut result = String::with_capacity(token.len());
    let mut run = String::new();
    for c in token.chars().flat_map(char::to_lowercase).chain(['\0']) {
        if c.is_alphanumeric() || c == '_' {
            run.push(c);
            continue;
        }
        let has_digit = run.contains(|c: char| c.is_ascii_digit());
        let digits = run.strip_prefix("0x").unwrap_or(&run);
        let is_hexadecimal = digits.len() >= 6 && digits.chars().all(|c| c.is_ascii_hexdigit());
        if !has_digit {
            result.push_str(&run);
        } else if !is_hexadecimal && !run.starts_with("0x") {
            let letters: String = run.chars().filter(|c| !c.is_ascii_digit()).collect();
            if !UNITS.contains(&letters.as_str()) {
                result.push_str(&letters);
            }
        }
        run.clear();
        if c != '\0' {
            result.push(c);
        }
    }
    result
}

/// One hash of everything that changed: paths, kinds, modes, contents and link targets.
pub fn change_set_hash(changes: &ChangeSet) -> String {
    let mut files: Vec<_> = changes.files.iter().collect();
    files.sort_by(|one, other| one.path.cmp(&other.path));
    let mut hasher = Sha256::new();
    for file in files {
        add(&mut hasher, file.path.as_bytes());
        add(&mut hasher, file.kind.name().as_bytes());
        add_state(&mut hasher, file.after.as_ref());
    }
    hexadecimal(hasher.finalize().as_slice())
}

fn add(hasher: &mut Sha256, bytes: &[u8]) {
    hasher.update((bytes.len() as u64).to_le_bytes());
    hasher.update(bytes);
}

fn add_state(hasher: &mut Sha256, state: Option<&FileState>) {
    let Some(state) = state else { return add(hasher, b"absent") };
    match &state.node {
        Node::File(_) => add(hasher, b"file"),
        Node::Directory => add(hasher, b"directory"),
        Node::Link(target) => {
            add(hasher, b"link");
            add(hasher, target.as_bytes());
        }
    }
    hasher.update(state.mode.to_le_bytes());
    add(hasher, state.hash.as_bytes());
}

#[cfg(test)]
#[path = "signature_tests.rs"]
mod tests;
