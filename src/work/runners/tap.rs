//! TAP (node, ava, tap, bats) and the `spec` output of `node --test`.

use super::Parser;
use super::names::{Names, Titles, indent, without_duration};
use crate::work::evidence::{TestOutcome, TestSummary};

#[derive(Debug, Default)]
pub struct Tap {
    has_version: bool,
    plan: Option<u64>,
    results: u64,
    passed: u64,
    failed: u64,
    skipped: u64,
    /// What the runner itself says at its end: it counts tests, not suites.
    said_passed: Option<u64>,
    said_failed: Option<u64>,
    said_skipped: u64,
    is_node: bool,
    is_over: bool,
    /// Depth of the last result: a result with less depth that follows closes a suite.
    last_depth: usize,
    titles: Titles,
    names: Names,
}

impl Tap {
    fn result(&mut self, line: &str, text: &str, is_ok: bool) {
        let depth = indent(line);
        let text = text.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
        let text = text.strip_prefix("- ").unwrap_or(text);
        let upper = text.to_uppercase();
        let is_skipped = upper.contains("# SKIP") || upper.contains("# TODO");
        let title = text.split(" # ").next().unwrap_or(text).trim();
        let outcome = match (is_skipped, is_ok) {
            (true, _) => TestOutcome::Skipped,
            (false, true) => TestOutcome::Passed,
            (false, false) => TestOutcome::Failed,
        };
        if depth == 0 {
            self.results += 1;
            match outcome {
                TestOutcome::Passed => self.passed += 1,
                TestOutcome::Failed => self.failed += 1,
                TestOutcome::Skipped => self.skipped += 1,
            }
        }
        let is_suite = self.last_depth > depth && self.results + 1 > 0 && self.titles.is_open(depth, title);
        self.last_depth = depth;
        if !is_suite {
            let name = self.titles.name(depth, "", title);
            self.names.add(name, outcome);
        }
    }

    /// `pass 3`, after `# ` or `ℹ `.
    fn said(&mut self, text: &str) {
        let Some((word, number)) = text.trim().split_once(' ') else { return };
        let Ok(number) = number.trim().parse::<u64>() else { return };
        match word {
            "pass" => {
                self.said_passed = Some(self.said_passed.unwrap_or(0).saturating_add(number));
            }
            "fail" | "cancelled" => {
                self.said_failed = Some(self.said_failed.unwrap_or(0).saturating_add(number));
                self.is_node |= word == "cancelled";
            }
            "skipped" | "todo" | "skip" => self.said_skipped = self.said_skipped.saturating_add(number),
            "tests" => self.is_over = true,
            _ => {}
        }
    }
}

impl Parser for Tap {
    fn line(&mut self, line: &str) {
        let text = line.trim_start();
        if line.starts_with("TAP version 1") {
            self.has_version = true;
            self.is_over = false;
        } else if let Some(rest) = text.strip_prefix("not ok ") {
            self.result(line, rest, false);
        } else if let Some(rest) = text.strip_prefix("ok ") {
            // `ok  \tpkg` is Go's.
            if rest.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
                self.result(line, rest, true);
            }
        } else if let Some(rest) = line.strip_prefix("1..") {
            let count: String = rest.chars().take_while(char::is_ascii_digit).collect();
            if let Ok(count) = count.parse::<u64>() {
                self.plan = Some(self.plan.unwrap_or(0).saturating_add(count));
            }
        } else if let Some(title) = text.strip_prefix("# Subtest: ") {
            self.titles.open(indent(line), title.trim());
        } else if let Some(rest) = line.strip_prefix("# ") {
            self.said(rest);
        } else if let Some(rest) = line.strip_prefix("ℹ ") {
            self.is_node = true;
            self.said(rest);
        } else if let Some(title) = text.strip_prefix("▶ ") {
            let plain = without_duration(title);
            if plain == title && !self.is_over {
                self.titles.open(indent(line), title);
            }
        } else if !self.is_over {
            let marks =
                [("✔ ", TestOutcome::Passed), ("✖ ", TestOutcome::Failed), ("﹣ ", TestOutcome::Skipped)];
            for (mark, outcome) in marks {
                if let Some(title) = text.strip_prefix(mark) {
                    let title = title.trim_end_matches("# SKIP").trim_end_matches("# TODO");
                    let title = without_duration(title);
                    if self.titles.is_open(indent(line), title) {
                        self.titles.close_to(indent(line));
                    } else {
                        let name = self.titles.name(indent(line), "", title);
                        self.names.add(name, outcome);
                    }
                }
            }
        }
    }

    fn finish(self: Box<Self>) -> Option<TestSummary> {
        let is_said = self.said_passed.is_some() && self.said_failed.is_some();
        let is_planned = self.plan.is_some() && self.results > 0 || self.plan == Some(0) && self.has_version;
        if !self.has_version && !is_said && !is_planned {
            return None;
        }
        let is_plan_kept = self.plan.is_some_and(|plan| plan == self.results);
        Some(TestSummary {
            runner: if self.is_node { "node --test" } else { "tap" }.to_owned(),
            passed: if is_said { self.said_passed.unwrap_or(0) } else { self.passed },
            failed: if is_said { self.said_failed.unwrap_or(0) } else { self.failed },
            skipped: if is_said { self.said_skipped } else { self.skipped },
            tests: self.names.into_map(),
            is_complete: if self.is_node { is_said } else { is_said || is_plan_kept },
            ..TestSummary::default()
        })
    }
}
