//! pytest and unittest.

use super::Parser;
use super::names::{Files, Names, number_after, number_before};
use crate::work::evidence::{TestOutcome, TestSummary};

#[derive(Debug, Default)]
pub struct Pytest {
    begun: u64,
    ended: u64,
    passed: u64,
    failed: u64,
    skipped: u64,
    names: Names,
    files: Files,
}

impl Parser for Pytest {
    fn line(&mut self, line: &str) {
        if line.starts_with('=') && line.trim_matches('=').trim() == "test session starts" {
            self.begun += 1;
        } else if let Some(counts) = final_counts(line) {
            self.ended += 1;
            let number = |word: &str| number_before(counts, word).unwrap_or(0);
            // A test that is expected to fail proves nothing: it counts as one that was skipped.
            self.passed = self.passed.saturating_add(number("passed")).saturating_add(number("xpassed"));
            let failed = number("failed").saturating_add(number("error")).saturating_add(number("errors"));
            self.failed = self.failed.saturating_add(failed);
            self.skipped = self.skipped.saturating_add(number("skipped")).saturating_add(number("xfailed"));
        } else if let Some((name, outcome)) = named_outcome(line) {
            self.names.add(name, outcome);
        } else if let Some((file, count)) = progress_of_file(line) {
            self.files.add(file, count);
        }
    }

    fn finish(self: Box<Self>) -> Option<TestSummary> {
        if self.begun + self.ended == 0 {
            return None;
        }
        let is_complete = self.ended > 0 && self.ended >= self.begun;
        Some(TestSummary {
            runner: "pytest".to_owned(),
            passed: if self.ended > 0 { self.passed } else { self.names.count(TestOutcome::Passed) },
            failed: if self.ended > 0 { self.failed } else { self.names.count(TestOutcome::Failed) },
            skipped: self.skipped,
            tests: self.names.into_map(),
            files: self.files.into_map(),
            is_complete,
        })
    }
}

/// `3 passed, 1 failed` of `== 3 passed, 1 failed in 0.12s ==`; empty for `no tests ran`.
fn final_counts(line: &str) -> Option<&str> {
    const WORDS: [&str; 11] = [
        "passed",
        "failed",
        "skipped",
        "xfailed",
        "xpassed",
        "error",
        "errors",
        "warning",
        "warnings",
        "deselected",
        "rerun",
    ];
    let text = line.trim_matches('=').trim();
    let (counts, duration) = text.rsplit_once(" in ")?;
    let seconds = duration.split(' ').next()?.strip_suffix('s')?;
    if seconds.is_empty() || !seconds.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return None;
    }
    if counts == "no tests ran" {
        return Some("");
    }
    let is_known = |part: &str| {
        let mut words = part.trim().split(' ');
        words.next().is_some_and(|number| number.parse::<u64>().is_ok())
            && words.next().is_some_and(|word| WORDS.contains(&word) || word == "subtests" || word == "no")
    };
    counts.split(',').all(is_known).then_some(counts)
}

fn outcome_of(word: &str) -> Option<TestOutcome> {
    Some(match word {
        "PASSED" | "XPASS" => TestOutcome::Passed,
        "FAILED" | "ERROR" => TestOutcome::Failed,
        "SKIPPED" | "XFAIL" => TestOutcome::Skipped,
        _ => return None,
    })
}

/// `a.py::test_x PASSED [ 20%]`, `[gw0] [ 20%] PASSED a.py::test_x`, `FAILED a.py::test_x - assert 1 == 2`.
fn named_outcome(line: &str) -> Option<(String, TestOutcome)> {
    let text = match line.strip_prefix("[gw") {
        Some(rest) => rest.rsplit_once("%] ").or_else(|| rest.split_once("] "))?.1,
        None => line,
    };
    let (first, rest) = text.split_once(' ')?;
    if let Some(outcome) = outcome_of(first) {
        let name = rest.split(" - ").next()?.trim();
        return name.contains("::").then(|| (name.to_owned(), outcome));
    }
    if !text.contains(".py::") {
        return None;
    }
    let without_percent = match text.rsplit_once('[') {
        Some((start, end)) if end.trim_end().ends_with("%]") => start.trim_end(),
        _ => text,
    };
    for word in ["PASSED", "FAILED", "SKIPPED", "ERROR", "XFAIL", "XPASS"] {
        if let Some(at) = without_percent.rfind(&format!(" {word}")) {
            let after = &without_percent[at + 1 + word.len()..];
            if after.is_empty() || after.starts_with(" (") {
                return outcome_of(word).map(|outcome| (without_percent[..at].to_owned(), outcome));
            }
        }
    }
    None
}

/// `tests/test_a.py ..F.s [100%]`: the tests that ran.
fn progress_of_file(line: &str) -> Option<(&str, u64)> {
    let (file, rest) = line.split_once(' ')?;
    file.strip_suffix(".py")?;
    let marks = rest.trim().split(' ').next()?;
    let is_marks = !marks.is_empty() && marks.bytes().all(|byte| b".FEsxX".contains(&byte));
    is_marks.then(|| (file, marks.bytes().filter(|byte| b".FX".contains(byte)).count() as u64))
}

#[derive(Debug, Default)]
pub struct Unittest {
    /// `Ran N tests` was there, its result not yet.
    pending: Option<u64>,
    /// The test whose docstring stands on the next line.
    before_docstring: Option<String>,
    ran: u64,
    failed: u64,
    skipped: u64,
    ended: u64,
    named: u64,
    names: Names,
}

impl Parser for Unittest {
    fn line(&mut self, line: &str) {
        if let Some(count) = line.strip_prefix("Ran ").and_then(ran_count) {
            self.pending = Some(count);
        } else if line == "OK"
            || line.starts_with("OK (")
            || line == "FAILED"
            || line.starts_with("FAILED (")
            || line.starts_with("NO TESTS RAN")
        {
            let Some(count) = self.pending.take() else { return };
            let number = |label: &str| number_after(line, label).unwrap_or(0);
            let failed = number("failures=")
                .saturating_add(number("errors="))
                .saturating_add(number("unexpected successes="));
            let skipped = number("skipped=").saturating_add(number("expected failures="));
            self.ended += 1;
            self.ran = self.ran.saturating_add(count);
            self.failed = self.failed.saturating_add(failed);
            self.skipped = self.skipped.saturating_add(skipped);
        } else if let Some(name) =
            line.strip_prefix("FAIL: ").or_else(|| line.strip_prefix("ERROR: ")).and_then(test_name)
        {
            self.names.add(name, TestOutcome::Failed);
        } else if let Some((head, end)) = line.rsplit_once(" ... ") {
            let outcome = match end.split([' ', '\'', '"']).next().unwrap_or_default() {
                "ok" => TestOutcome::Passed,
                "FAIL" | "ERROR" | "unexpected" => TestOutcome::Failed,
                "skipped" | "expected" => TestOutcome::Skipped,
                _ => return,
            };
            let name = test_name(head).or_else(|| self.before_docstring.take());
            if let Some(name) = name {
                self.named += 1;
                self.names.add(name, outcome);
            }
        } else {
            self.before_docstring = test_name(line);
        }
    }

    fn finish(self: Box<Self>) -> Option<TestSummary> {
        // Names alone are no proof of the runner: two of them are enough.
        if self.ended == 0 && self.pending.is_none() && self.named < 2 {
            return None;
        }
        let (passed, failed) = if self.ended > 0 {
            (self.ran.saturating_sub(self.failed).saturating_sub(self.skipped), self.failed)
        } else {
            (self.names.count(TestOutcome::Passed), self.names.count(TestOutcome::Failed))
        };
        Some(TestSummary {
            runner: "unittest".to_owned(),
            passed,
            failed,
            skipped: self.skipped,
            tests: self.names.into_map(),
            is_complete: self.ended > 0 && self.pending.is_none(),
            ..TestSummary::default()
        })
    }
}

fn ran_count(rest: &str) -> Option<u64> {
    let (count, rest) = rest.split_once(' ')?;
    (rest.starts_with("tests in ") || rest.starts_with("test in ")).then(|| count.parse().ok())?
}

/// `mod.Class.test_x` of `test_x (mod.Class)` and of `test_x (mod.Class.test_x)`.
fn test_name(text: &str) -> Option<String> {
    let (method, rest) = text.split_once(" (")?;
    let class = rest.split_once(')')?.0;
    let is_name =
        |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.');
    if !is_name(method) || !is_name(class) || !class.contains('.') {
        return None;
    }
    let is_full = class.rsplit('.').next() == Some(method);
    Some(if is_full { class.to_owned() } else { format!("{class}.{method}") })
}
