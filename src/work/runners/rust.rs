//! `cargo test` (libtest, doc tests included) and `cargo nextest`.

use super::Parser;
use super::names::{Names, number_before};
use crate::work::evidence::{TestOutcome, TestSummary};

/// Several binaries add up.
#[derive(Debug, Default)]
pub struct Libtest {
    binary: String,
    begun: u64,
    ended: u64,
    passed: u64,
    failed: u64,
    skipped: u64,
    names: Names,
}

impl Parser for Libtest {
    fn line(&mut self, line: &str) {
        let text = line.trim_start();
        if let Some(rest) = text.strip_prefix("Running ").filter(|rest| rest.ends_with(')')) {
            self.binary = artifact(rest);
        } else if let Some(name) = text.strip_prefix("Doc-tests ") {
            self.binary = format!("{} (doc)", name.trim());
        } else if let Some(rest) = line.strip_prefix("running ") {
            let is_count = rest.strip_suffix(" tests").or_else(|| rest.strip_suffix(" test"));
            if is_count.is_some_and(|count| count.parse::<u64>().is_ok()) {
                self.begun += 1;
            }
        } else if let Some(rest) = line.strip_prefix("test result: ") {
            let Some(passed) = number_before(rest, "passed") else { return };
            self.ended += 1;
            self.passed = self.passed.saturating_add(passed);
            self.failed = self.failed.saturating_add(number_before(rest, "failed").unwrap_or(0));
            self.skipped = self.skipped.saturating_add(number_before(rest, "ignored").unwrap_or(0));
        } else if let Some((name, outcome)) =
            line.strip_prefix("test ").and_then(|rest| rest.rsplit_once(" ... "))
        {
            let word = outcome.split([' ', ',']).next().unwrap_or_default();
            let outcome = match word {
                "ok" => TestOutcome::Passed,
                "FAILED" => TestOutcome::Failed,
                "ignored" => TestOutcome::Skipped,
                _ => return,
            };
            let name = plain_name(name);
            let full = if self.binary.is_empty() { name } else { format!("{}::{name}", self.binary) };
            self.names.add(full, outcome);
        }
    }

    fn finish(self: Box<Self>) -> Option<TestSummary> {
        if self.begun == 0 {
            return None;
        }
        let is_complete = self.ended >= self.begun;
        Some(TestSummary {
            runner: "cargo test".to_owned(),
            passed: self.passed.max(if is_complete { 0 } else { self.names.count(TestOutcome::Passed) }),
            failed: self.failed.max(if is_complete { 0 } else { self.names.count(TestOutcome::Failed) }),
            skipped: self.skipped,
            tests: self.names.into_map(),
            is_complete,
            ..TestSummary::default()
        })
    }
}

/// `it` for `tests/it/main.rs (target/debug/deps/it-0123456789abcdef)`.
fn artifact(rest: &str) -> String {
    let inside = rest.rsplit_once('(').map_or("", |(_, inside)| inside.trim_end_matches(')'));
    let file = inside.rsplit(['/', '\\']).next().unwrap_or_default();
    let file = file.strip_suffix(".exe").unwrap_or(file);
    match file.rsplit_once('-') {
        Some((name, hash)) if hash.len() == 16 => name.to_owned(),
        _ => file.to_owned(),
    }
}

/// Without what changes when lines move: `src/lib.rs - f (line 3) - compile` is `src/lib.rs - f`.
fn plain_name(name: &str) -> String {
    let name = name.strip_suffix(" - should panic").unwrap_or(name);
    match name.rsplit_once(" (line ") {
        Some((start, _)) => start.to_owned(),
        None => name.to_owned(),
    }
}

#[derive(Debug, Default)]
pub struct Nextest {
    begun: u64,
    ended: u64,
    passed: u64,
    failed: u64,
    skipped: u64,
    names: Names,
}

impl Parser for Nextest {
    fn line(&mut self, line: &str) {
        let text = line.trim_start();
        if text.starts_with("Starting ") && text.contains(" test") && text.contains(" across ") {
            self.begun += 1;
        } else if let Some(rest) = text.strip_prefix("Summary [").and_then(|rest| rest.split_once("] ")) {
            let Some((_, counts)) = rest.1.split_once(" run: ") else { return };
            self.ended += 1;
            self.passed = self.passed.saturating_add(number_before(counts, "passed").unwrap_or(0));
            for word in ["failed", "timed", "exec"] {
                self.failed = self.failed.saturating_add(number_before(counts, word).unwrap_or(0));
            }
            self.skipped = self.skipped.saturating_add(number_before(counts, "skipped").unwrap_or(0));
        } else if self.begun > 0 {
            let outcome = if text.starts_with("PASS [") || text.starts_with("LEAK [") {
                TestOutcome::Passed
            } else if ["FAIL [", "TIMEOUT [", "SIGABRT [", "SIGSEGV [", "ABORT ["]
                .iter()
                .any(|mark| text.starts_with(mark))
            {
                TestOutcome::Failed
            } else {
                return;
            };
            let name = text.split_once(']').map_or("", |(_, name)| name.trim());
            // `(1/3) crate test` in newer versions.
            let name = match name.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
                Some((_, rest)) => rest.trim(),
                None => name,
            };
            self.names.add(name.split_whitespace().collect::<Vec<_>>().join("::"), outcome);
        }
    }

    fn finish(self: Box<Self>) -> Option<TestSummary> {
        if self.begun + self.ended == 0 {
            return None;
        }
        Some(TestSummary {
            runner: "cargo nextest".to_owned(),
            passed: self.passed,
            failed: self.failed,
            skipped: self.skipped,
            tests: self.names.into_map(),
            is_complete: self.ended > 0 && self.ended >= self.begun,
            ..TestSummary::default()
        })
    }
}
