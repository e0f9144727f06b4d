//! RSpec and minitest, PHPUnit, Maven Surefire, ctest and prove.

use super::Parser;
use super::names::{Files, Names, number_after, number_before};
use crate::work::evidence::{TestOutcome, TestSummary};

/// Counts that add up over several runs of the same runner.
#[derive(Debug, Default)]
struct Counts {
    runner: &'static str,
    begun: u64,
    ended: u64,
    passed: u64,
    failed: u64,
    skipped: u64,
}

impl Counts {
    fn end(&mut self, runner: &'static str, total: u64, failed: u64, skipped: u64) {
        self.runner = runner;
        self.ended += 1;
        self.passed = self.passed.saturating_add(total.saturating_sub(failed).saturating_sub(skipped));
        self.failed = self.failed.saturating_add(failed);
        self.skipped = self.skipped.saturating_add(skipped);
    }

    fn summary(self, names: Names, files: Files) -> Option<TestSummary> {
        (self.begun + self.ended > 0).then(|| TestSummary {
            runner: self.runner.to_owned(),
            passed: self.passed,
            failed: self.failed,
            skipped: self.skipped,
            tests: names.into_map(),
            files: files.into_map(),
            is_complete: self.ended > 0 && self.ended >= self.begun,
        })
    }
}

fn begins_with_number(line: &str) -> bool {
    line.starts_with(|c: char| c.is_ascii_digit())
}

/// RSpec, minitest and test-unit.
#[derive(Debug, Default)]
pub struct Ruby {
    counts: Counts,
    names: Names,
}

impl Parser for Ruby {
    fn line(&mut self, line: &str) {
        let number = |word: &str| number_before(line, word).unwrap_or(0);
        if line == "# Running:" {
            self.counts.begun += 1;
            self.counts.runner = "minitest";
        } else if begins_with_number(line) && line.contains(" example") && line.contains(" failure") {
            let total = number("example") + number("examples");
            let failed = number("failure").saturating_add(number("failures"));
            let outside = number("error").saturating_add(number("errors"));
            self.counts.end("rspec", total, failed, number("pending"));
            self.counts.failed = self.counts.failed.saturating_add(outside);
        } else if begins_with_number(line)
            && line.contains(" assertions, ")
            && line.contains(" failures, ")
            && line.contains(" errors")
        {
            let total = number("runs").saturating_add(number("tests"));
            let failed = number("failures").saturating_add(number("errors"));
            let skipped =
                number("skips").saturating_add(number("pendings")).saturating_add(number("omissions"));
            self.counts.end("minitest", total, failed, skipped);
        } else if let Some(rest) = line.strip_prefix("rspec ") {
            if let Some((_, name)) = rest.split_once(" # ") {
                self.names.add(name, TestOutcome::Failed);
            }
        } else if let Some((name, rest)) = line.split_once(" = ")
            && name.contains('#')
            && !name.contains(' ')
            && let Some((_, mark)) = rest.rsplit_once(" = ")
        {
            let outcome = match mark.trim() {
                "." => TestOutcome::Passed,
                "F" | "E" => TestOutcome::Failed,
                "S" => TestOutcome::Skipped,
                _ => return,
            };
            self.names.add(name, outcome);
        }
    }

    fn finish(self: Box<Self>) -> Option<TestSummary> {
        self.counts.summary(self.names, Files::default())
    }
}

#[derive(Debug, Default)]
pub struct PhpUnit {
    counts: Counts,
}

impl Parser for PhpUnit {
    fn line(&mut self, line: &str) {
        if line.starts_with("PHPUnit ") && line.contains(" by Sebastian Bergmann") {
            self.counts.begun += 1;
            self.counts.runner = "phpunit";
        } else if let Some(rest) = line.strip_prefix("OK (").filter(|rest| rest.contains(" assertion")) {
            let total = number_before(rest, "tests").or_else(|| number_before(rest, "test")).unwrap_or(0);
            self.counts.end("phpunit", total, 0, 0);
        } else if line.starts_with("Tests: ") && line.contains(", Assertions: ") {
            let number = |label: &str| number_after(line, label).unwrap_or(0);
            let failed = number("Failures: ").saturating_add(number("Errors: "));
            let skipped = number("Skipped: ").saturating_add(number("Incomplete: "));
            self.counts.end("phpunit", number("Tests: "), failed, skipped);
        } else if line == "No tests executed!" {
            self.counts.end("phpunit", 0, 0, 0);
        }
    }

    fn finish(self: Box<Self>) -> Option<TestSummary> {
        self.counts.summary(Names::default(), Files::default())
    }
}

/// JUnit as Maven's Surefire and Failsafe print it.
#[derive(Debug, Default)]
pub struct Surefire {
    counts: Counts,
    files: Files,
}

impl Parser for Surefire {
    fn line(&mut self, line: &str) {
        let text = line.trim_start_matches(|c: char| {
            c == '[' || c == ']' || c.is_ascii_uppercase() && line.starts_with('[')
        });
        let text = text.trim();
        if text.ends_with("T E S T S") || line.trim().ends_with("T E S T S") {
            self.counts.begun += 1;
            self.counts.runner = "surefire";
            return;
        }
        let Some(at) = line.find("Tests run: ") else { return };
        let counts = &line[at..];
        let number = |label: &str| number_after(counts, label).unwrap_or(0);
        if !counts.contains("Failures: ") {
            return;
        }
        let failed = number("Failures: ").saturating_add(number("Errors: "));
        let total = number("Tests run: ");
        let skipped = number("Skipped: ");
        match counts.rsplit_once(" in ").or_else(|| counts.rsplit_once(" -- in ")) {
            Some((_, class)) if counts.contains("Time elapsed") => {
                self.files.add(class.trim(), total.saturating_sub(skipped));
            }
            _ if counts.contains("Time elapsed") => {}
            _ => self.counts.end("surefire", total, failed, skipped),
        }
    }

    fn finish(self: Box<Self>) -> Option<TestSummary> {
        self.counts.summary(Names::default(), self.files)
    }
}

#[derive(Debug, Default)]
pub struct Ctest {
    counts: Counts,
    named_skipped: u64,
    names: Names,
}

impl Parser for Ctest {
    fn line(&mut self, line: &str) {
        if line.starts_with("Test project ") {
            self.counts.begun += 1;
            self.counts.runner = "ctest";
        } else if line == "No tests were found!!!" {
            self.counts.end("ctest", 0, 0, 0);
        } else if let Some((_, rest)) = line.split_once("% tests passed, ") {
            let failed = number_before(rest, "tests").or_else(|| number_before(rest, "test")).unwrap_or(0);
            let total = number_after(rest, "out of ").unwrap_or(0);
            // What was skipped is among those that "passed".
            let skipped = std::mem::take(&mut self.named_skipped);
            self.counts.end("ctest", total, failed, skipped);
        } else if self.counts.begun > 0
            && let Some((_, rest)) = line.split_once(" Test ")
            && let Some((name, result)) =
                rest.split_once(": ").and_then(|(_, rest)| rest.trim().split_once(' '))
        {
            let outcome = if result.contains("***Skipped") || result.contains("Not Run") {
                self.named_skipped += 1;
                TestOutcome::Skipped
            } else if result.contains("***") {
                TestOutcome::Failed
            } else if result.contains(" Passed ") {
                TestOutcome::Passed
            } else {
                return;
            };
            self.names.add(name, outcome);
        }
    }

    fn finish(self: Box<Self>) -> Option<TestSummary> {
        self.counts.summary(self.names, Files::default())
    }
}

/// Perl's `prove`.
#[derive(Debug, Default)]
pub struct Prove {
    counts: Counts,
    failed: u64,
    total: u64,
    files: Files,
}

impl Parser for Prove {
    fn line(&mut self, line: &str) {
        if let Some((file, result)) = line.split_once(" ..") {
            let result = result.trim_start_matches('.').trim();
            if file.strip_suffix(".t").is_some()
                && !file.contains(' ')
                && (result.starts_with("ok") || result.starts_with("Dubious") || result.starts_with("Failed"))
            {
                self.files.add(file, 1);
            }
        } else if let Some(rest) =
            line.trim_start().strip_prefix("Failed ").filter(|rest| rest.ends_with(" subtests"))
        {
            let failed = rest.split('/').next().and_then(|count| count.parse::<u64>().ok()).unwrap_or(0);
            self.failed = self.failed.saturating_add(failed);
        } else if line.starts_with("Files=") && line.contains(", Tests=") {
            self.total = self.total.saturating_add(number_after(line, "Tests=").unwrap_or(0));
            self.counts.begun += 1;
            self.counts.runner = "prove";
        } else if self.counts.begun > 0
            && (line == "Result: PASS" || line == "Result: FAIL" || line == "Result: NOTESTS")
        {
            let failed = if line == "Result: FAIL" { self.failed.max(1) } else { 0 };
            let total = std::mem::take(&mut self.total);
            self.counts.end("prove", total.max(failed), failed, 0);
        }
    }

    fn finish(self: Box<Self>) -> Option<TestSummary> {
        self.counts.summary(Names::default(), self.files)
    }
}
