//! `go test`, with and without `-v`, and its `-json` events.

use super::Parser;
use super::names::{Files, Names};
use crate::work::evidence::{TestOutcome, TestSummary};

/// Tests of a package whose own line has not come yet. More are counted, but not named.
const MOST_PENDING: usize = 20_000;

#[derive(Debug, Default)]
pub struct Go {
    pending: Vec<(String, TestOutcome)>,
    has_dropped: bool,
    started: u64,
    finished: u64,
    packages: u64,
    passed: u64,
    failed: u64,
    skipped: u64,
    json_packages_begun: u64,
    json_packages: u64,
    is_json: bool,
    names: Names,
    files: Files,
}

impl Go {
    fn package(&mut self, name: &str, is_ok: bool, has_tests: bool) {
        self.packages += 1;
        let mut ran = 0;
        for (test, outcome) in std::mem::take(&mut self.pending) {
            match outcome {
                TestOutcome::Passed => self.passed += 1,
                TestOutcome::Failed => self.failed += 1,
                TestOutcome::Skipped => self.skipped += 1,
            }
            ran += u64::from(outcome != TestOutcome::Skipped);
            self.names.add(format!("{name}.{test}"), outcome);
        }
        // Without `-v` a package that passes says nothing about its tests.
        if ran == 0 && has_tests {
            ran = 1;
            if is_ok {
                self.passed += 1;
            } else {
                self.failed += 1;
            }
        }
        if ran > 0 {
            self.files.add(name, ran);
        }
    }

    fn event(&mut self, line: &str) -> Option<()> {
        let value: serde_json::Value = serde_json::from_str(line).ok()?;
        let action = value.get("Action")?.as_str()?;
        let package = value.get("Package")?.as_str()?;
        self.is_json = true;
        let outcome = match action {
            "pass" => TestOutcome::Passed,
            "fail" => TestOutcome::Failed,
            "skip" => TestOutcome::Skipped,
            "start" => {
                self.json_packages_begun += 1;
                return Some(());
            }
            "run" => {
                self.started += 1;
                return Some(());
            }
            _ => return Some(()),
        };
        match value.get("Test").and_then(serde_json::Value::as_str) {
            Some(test) => {
                self.finished += 1;
                match outcome {
                    TestOutcome::Passed => self.passed += 1,
                    TestOutcome::Failed => self.failed += 1,
                    TestOutcome::Skipped => self.skipped += 1,
                }
                if outcome != TestOutcome::Skipped {
                    self.files.add(package, 1);
                }
                self.names.add(format!("{package}.{test}"), outcome);
            }
            None => {
                self.json_packages += 1;
                // A package that does not build has no test that failed.
                if outcome == TestOutcome::Failed && self.failed == 0 {
                    self.failed += 1;
                }
            }
        }
        Some(())
    }
}

impl Parser for Go {
    fn line(&mut self, line: &str) {
        if line.starts_with('{') && line.contains("\"Action\"") {
            let _ = self.event(line);
            return;
        }
        let text = line.trim_start();
        if line.starts_with("=== RUN ") {
            self.started += 1;
        } else if let Some(rest) = text.strip_prefix("--- ") {
            let Some((word, rest)) = rest.split_once(": ") else { return };
            let outcome = match word {
                "PASS" => TestOutcome::Passed,
                "FAIL" => TestOutcome::Failed,
                "SKIP" => TestOutcome::Skipped,
                _ => return,
            };
            let name = rest.rsplit_once(" (").map_or(rest, |(name, _)| name);
            if name.is_empty() || name.contains(' ') {
                return;
            }
            self.finished += 1;
            if self.pending.len() < MOST_PENDING && name.len() <= 400 {
                self.pending.push((name.to_owned(), outcome));
            } else {
                self.has_dropped = true;
            }
        } else if let Some(rest) = line.strip_prefix("ok  \t") {
            let name = rest.split('\t').next().unwrap_or(rest).to_owned();
            self.package(&name, true, !rest.contains("[no tests to run]"));
        } else if let Some(rest) = line.strip_prefix("FAIL\t") {
            let name = rest.split(['\t', ' ']).next().unwrap_or(rest).to_owned();
            self.package(&name, false, true);
        } else if line.starts_with("?   \t") && line.ends_with("[no test files]") {
            self.packages += 1;
        } else if line.starts_with('\t') && line.contains("\t\tcoverage: ") {
            // A package without tests, with `-cover`.
            self.packages += 1;
        }
    }

    fn finish(self: Box<Self>) -> Option<TestSummary> {
        if self.packages == 0 && self.started == 0 && self.finished < 1 && !self.is_json {
            return None;
        }
        let is_complete = if self.is_json {
            self.json_packages > 0 && self.json_packages >= self.json_packages_begun
        } else {
            self.packages > 0 && self.pending.is_empty() && self.finished >= self.started
        };
        Some(TestSummary {
            runner: "go test".to_owned(),
            passed: self.passed,
            failed: self.failed,
            skipped: self.skipped,
            tests: if self.has_dropped { std::collections::BTreeMap::new() } else { self.names.into_map() },
            files: self.files.into_map(),
            is_complete,
        })
    }
}
