//! jest, vitest and mocha.

use super::Parser;
use super::names::{Files, Names, Titles, indent, number_before, without_duration};
use crate::work::evidence::{TestOutcome, TestSummary};

fn marked(text: &str) -> Option<(&str, TestOutcome)> {
    const MARKS: [(&str, TestOutcome); 9] = [
        ("✓ ", TestOutcome::Passed),
        ("✔ ", TestOutcome::Passed),
        ("√ ", TestOutcome::Passed),
        ("✕ ", TestOutcome::Failed),
        ("✖ ", TestOutcome::Failed),
        ("× ", TestOutcome::Failed),
        ("○ ", TestOutcome::Skipped),
        ("✎ ", TestOutcome::Skipped),
        ("↓ ", TestOutcome::Skipped),
    ];
    MARKS.iter().find_map(|(mark, outcome)| text.strip_prefix(mark).map(|title| (title.trim(), *outcome)))
}

fn is_script(file: &str) -> bool {
    [".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts", ".vue", ".svelte"]
        .iter()
        .any(|ending| file.ends_with(ending))
}

#[derive(Debug, Default)]
pub struct Jest {
    file: String,
    ended: u64,
    is_over: bool,
    passed: u64,
    failed: u64,
    skipped: u64,
    titles: Titles,
    names: Names,
    files: Files,
}

impl Parser for Jest {
    fn line(&mut self, line: &str) {
        let result = line.strip_prefix("PASS ").or_else(|| line.strip_prefix("FAIL "));
        if let Some(file) = result.map(|rest| without_duration(rest.trim())).filter(|file| is_script(file)) {
            // Failed files are listed again under the summary of a long run.
            if !self.is_over {
                self.files.add(file, 1);
            }
            self.file = file.to_owned();
            self.titles.clear();
        } else if let Some(counts) = line.strip_prefix("Tests: ") {
            let Some(total) = number_before(counts, "total") else { return };
            let number = |word: &str| number_before(counts, word).unwrap_or(0);
            self.ended += 1;
            self.is_over = true;
            self.passed = self.passed.saturating_add(number("passed")).min(self.passed.saturating_add(total));
            self.failed = self.failed.saturating_add(number("failed"));
            self.skipped = self.skipped.saturating_add(number("skipped")).saturating_add(number("todo"));
        } else if line.starts_with("No tests found, exiting with code") {
            self.ended += 1;
        } else if line.starts_with("Summary of all failing tests") {
            self.is_over = true;
        } else if !self.file.is_empty() && line.starts_with("  ") {
            let text = line.trim_start();
            if let Some((title, outcome)) = marked(text) {
                let title =
                    title.strip_prefix("skipped ").or_else(|| title.strip_prefix("todo ")).unwrap_or(title);
                let name = self.titles.name(indent(line), &self.file, without_duration(title));
                self.names.add(name, outcome);
            } else if !text.starts_with('●') {
                self.titles.open(indent(line), text);
            }
        }
    }

    fn finish(self: Box<Self>) -> Option<TestSummary> {
        if self.ended == 0 && self.file.is_empty() {
            return None;
        }
        let is_complete = self.ended > 0;
        Some(TestSummary {
            runner: "jest".to_owned(),
            passed: if is_complete { self.passed } else { self.names.count(TestOutcome::Passed) },
            failed: if is_complete { self.failed } else { self.names.count(TestOutcome::Failed) },
            skipped: self.skipped,
            tests: self.names.into_map(),
            files: self.files.into_map(),
            is_complete,
        })
    }
}

#[derive(Debug, Default)]
pub struct Vitest {
    begun: u64,
    ended: u64,
    passed: u64,
    failed: u64,
    skipped: u64,
    names: Names,
    files: Files,
}

impl Parser for Vitest {
    fn line(&mut self, line: &str) {
        let text = line.trim_start();
        if let Some(rest) = text.strip_prefix("RUN ").or_else(|| text.strip_prefix("DEV ")) {
            let rest = rest.trim_start();
            if rest.starts_with('v') && rest[1..].starts_with(|c: char| c.is_ascii_digit()) {
                self.begun += 1;
            }
        } else if let Some(counts) = text.strip_prefix("Tests  ") {
            if !counts.ends_with(')') {
                return;
            }
            let number = |word: &str| number_before(counts, word).unwrap_or(0);
            self.ended += 1;
            self.passed = self.passed.saturating_add(number("passed"));
            self.failed = self.failed.saturating_add(number("failed"));
            self.skipped = self.skipped.saturating_add(number("skipped")).saturating_add(number("todo"));
        } else if text.starts_with("No test files found, exiting with code") || text == "Tests  no tests" {
            self.ended += 1;
        } else if self.begun > 0 && self.ended == 0 {
            let of_file = text.strip_prefix("❯ ").map(|rest| (rest.trim(), TestOutcome::Failed));
            let Some((title, outcome)) = marked(text).or(of_file) else { return };
            let plain = without_duration(title);
            if plain.contains(" > ") {
                self.names.add(plain, outcome);
            } else if let Some((file, counts)) = plain.split_once('(')
                && is_script(file.trim())
            {
                let tests =
                    counts.split([' ', ')']).next().and_then(|count| count.parse::<u64>().ok()).unwrap_or(0);
                let skipped = number_before(counts, "skipped").unwrap_or(0);
                self.files.add(file.trim(), tests.saturating_sub(skipped));
            }
        }
    }

    fn finish(self: Box<Self>) -> Option<TestSummary> {
        if self.begun + self.ended == 0 {
            return None;
        }
        Some(TestSummary {
            runner: "vitest".to_owned(),
            passed: self.passed,
            failed: self.failed,
            skipped: self.skipped,
            tests: self.names.into_map(),
            files: self.files.into_map(),
            is_complete: self.ended > 0 && self.ended >= self.begun,
        })
    }
}

#[derive(Debug, Default)]
pub struct Mocha {
    ended: u64,
    is_over: bool,
    passed: u64,
    failed: u64,
    skipped: u64,
    titles: Titles,
    names: Names,
}

impl Parser for Mocha {
    fn line(&mut self, line: &str) {
        let text = line.trim_start();
        if let Some(number) = counted(text, "passing") {
            self.ended += 1;
            self.is_over = true;
            self.passed = self.passed.saturating_add(number);
        } else if let Some(number) = counted(text, "failing").filter(|_| self.is_over) {
            self.failed = self.failed.saturating_add(number);
        } else if let Some(number) = counted(text, "pending").filter(|_| self.is_over) {
            self.skipped = self.skipped.saturating_add(number);
        } else if !self.is_over && line.starts_with("  ") {
            let numbered = text.split_once(") ").filter(|(number, _)| number.parse::<u64>().is_ok());
            let found = marked(text)
                .or_else(|| numbered.map(|(_, title)| (title, TestOutcome::Failed)))
                .or_else(|| text.strip_prefix("- ").map(|title| (title, TestOutcome::Skipped)));
            match found {
                Some((title, outcome)) => {
                    let name = self.titles.name(indent(line), "", without_duration(title));
                    self.names.add(name, outcome);
                }
                None => self.titles.open(indent(line), text),
            }
        }
    }

    fn finish(self: Box<Self>) -> Option<TestSummary> {
        if self.ended == 0 {
            return None;
        }
        Some(TestSummary {
            runner: "mocha".to_owned(),
            passed: self.passed,
            failed: self.failed,
            skipped: self.skipped,
            tests: self.names.into_map(),
            is_complete: true,
            ..TestSummary::default()
        })
    }
}

/// 3 for `3 passing (10ms)`.
fn counted(text: &str, word: &str) -> Option<u64> {
    let rest = without_duration(text).strip_suffix(word)?;
    rest.strip_suffix(' ')?.parse().ok()
}
