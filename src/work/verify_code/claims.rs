//! Whether a report says that tests or commands pass. Prose is read with care: what could mean something else is no claim.

use crate::model::worker_report::{WorkerReport, WorkerStatus};
use crate::work::runners::runner_of_command;

/// Texts longer than this are read only so far.
const MOST_TEXT: usize = 64 * 1024;

/// Whether the report says that the tests, or all checks, pass.
pub fn claims_success(report: &WorkerReport) -> bool {
    read(report).is_some_and(|claims| claims.iter().any(|claim| claim.is_about_tests || claim.is_about_all))
}

/// Whether the report says that this command passes. "All tests pass" says nothing about a linter.
pub fn claims_command(report: &WorkerReport, command: &str) -> bool {
    let Some(claims) = read(report) else { return false };
    let name = command.trim().to_lowercase();
    let is_quoted = |claim: &Claim| name.len() > 2 && claim.text.contains(&name);
    claims
        .iter()
        .any(|claim| claim.is_about_all || is_quoted(claim) || claim.is_about_tests && may_be_tests(&name))
}

/// Linters, compilers and formatters are none, unless they test too.
fn may_be_tests(command: &str) -> bool {
    const OTHERS: [&str; 12] = [
        "lint",
        "fmt",
        "format",
        "clippy",
        "tsc",
        "typecheck",
        "type-check",
        "mypy",
        "ruff",
        "flake8",
        "build",
        "prettier",
    ];
    runner_of_command(command, None).is_some()
        || command.contains("test")
        || !OTHERS.iter().any(|word| command.contains(word))
}

struct Claim {
    text: String,
    is_about_tests: bool,
    is_about_all: bool,
}

/// What is claimed to pass; none if the work is not said to be complete, or a failure is admitted anywhere.
fn read(report: &WorkerReport) -> Option<Vec<Claim>> {
    if report.status != WorkerStatus::Completed {
        return None;
    }
    let reviewed = report.self_review.iter().filter(|item| item.verified).map(|item| item.evidence.as_str());
    let mut claims = Vec::new();
    for text in std::iter::once(report.summary.as_str()).chain(reviewed).take(64) {
        for sentence in sentences(text) {
            if admits_failure(&sentence) {
                return None;
            }
            claims.extend(claim(sentence));
        }
    }
    // An unverified rule is an admission too.
    let admits =
        report.self_review.iter().any(|item| !item.verified && item.rule == "no-existing-test-regression");
    (!admits).then_some(claims)
}

fn sentences(text: &str) -> Vec<String> {
    let text: String = text.chars().take(MOST_TEXT).collect::<String>().to_lowercase().replace('’', "'");
    let mut found = vec![String::new()];
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let ends = match character {
            '\n' | ';' | '!' => true,
            '.' => characters.peek().is_none_or(|next| next.is_whitespace()),
            _ => false,
        };
        match found.last_mut() {
            Some(last) if !ends => last.push(character),
            _ => found.push(String::new()),
        }
    }
    found.retain(|sentence| !sentence.trim().is_empty());
    found
}

fn words(sentence: &str) -> Vec<&str> {
    sentence.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty()).collect()
}

const NEGATIONS: [&str; 12] = [
    "not", "cannot", "never", "unable", "don't", "doesn't", "didn't", "can't", "couldn't", "won't", "isn't",
    "aren't",
];
const PAST: [&str; 7] = ["before", "previously", "originally", "were", "was", "used", "initially"];

/// "2 tests still fail", "npm test fails", "1 failed".
fn admits_failure(sentence: &str) -> bool {
    let words = words(sentence);
    let is_past = words.iter().any(|word| PAST.contains(word));
    let is_about_tests = words.iter().any(|word| {
        word.starts_with("test") || matches!(*word, "suite" | "spec" | "specs" | "check" | "checks")
    });
    let is_conditional = words.iter().any(|word| {
        matches!(
            *word,
            "if" | "when"
                | "would"
                | "should"
                | "no"
                | "longer"
                | "none"
                | "without"
                | "fixed"
                | "fixes"
                | "fix"
        )
    });
    for (at, word) in words.iter().enumerate() {
        let previous = at.checked_sub(1).map_or("", |at| words[at]);
        let number = previous.parse::<u64>().ok();
        let is_failing =
            matches!(*word, "fail" | "fails" | "failed" | "failing" | "failures" | "failure" | "broken");
        if is_failing && number.is_some_and(|number| number > 0) && !is_past {
            return true;
        }
        let is_present = matches!(*word, "fail" | "fails")
            || *word == "failing"
                && matches!(previous, "still" | "are" | "is" | "remain" | "remains" | "keeps");
        if is_present && is_about_tests && !is_past && !is_conditional {
            return true;
        }
        if previous == "still" && is_failing {
            return true;
        }
        let is_pass = matches!(*word, "pass" | "passes" | "passing" | "green" | "run");
        if is_pass && is_about_tests && NEGATIONS.contains(&previous) && !is_past {
            return true;
        }
    }
    false
}

/// What a sentence claims to pass, if it does.
fn claim(sentence: String) -> Option<Claim> {
    const HEDGES: [&str; 19] = [
        "should",
        "would",
        "will",
        "could",
        "might",
        "may",
        "must",
        "if",
        "once",
        "until",
        "hopefully",
        "expect",
        "expected",
        "likely",
        "probably",
        "assume",
        "assuming",
        "ensure",
        "unless",
    ];
    let words = words(&sentence);
    if words.iter().any(|word| HEDGES.contains(word) || NEGATIONS.contains(word)) {
        return None;
    }
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(word));
    let mut passes = has(&["passes", "passed", "passing", "succeeds", "succeeded", "succeed", "green"]);
    for (at, word) in words.iter().enumerate() {
        let before = |n: usize| at.checked_sub(n).map_or("", |at| words[at]);
        // "to make the tests pass" is an intention.
        let is_intention =
            (1..=4).any(|n| matches!(before(n), "to" | "make" | "makes" | "let" | "lets" | "so" | "get"));
        passes |= *word == "pass" && !is_intention;
        passes |= *word == "0" && matches!(before(1), "exit" | "code" | "status");
    }
    if !passes || has(&["previously", "originally", "before"]) && !has(&["now"]) {
        return None;
    }
    let has_all = has(&["all", "every", "everything", "full", "whole", "entire", "complete"]);
    // "the new test passes" says nothing about the others.
    let is_part = has(&[
        "new", "added", "my", "this", "that", "relevant", "affected", "unit", "some", "most", "manual",
        "manually",
    ]) && !has_all;
    let tests = has(&[
        "test",
        "tests",
        "suite",
        "suites",
        "spec",
        "specs",
        "testsuite",
        "pytest",
        "jest",
        "vitest",
        "mocha",
        "unittest",
    ]);
    let counted = words
        .windows(2)
        .any(|pair| pair[0].parse::<u64>().is_ok() && matches!(pair[1], "passed" | "passing" | "tests"));
    let all = has_all
        && has(&[
            "checks",
            "check",
            "commands",
            "command",
            "validation",
            "validations",
            "everything",
            "green",
            "ci",
        ])
        && !tests;
    let is_about_tests = (tests || counted) && !is_part;
    let is_about_all = all || has(&["validation", "validations"]) && !is_part;
    Some(Claim { text: sentence, is_about_tests, is_about_all })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::worker_report::SelfReviewItem;

    fn says(summary: &str) -> WorkerReport {
        WorkerReport { summary: summary.to_owned(), ..WorkerReport::default() }
    }

    #[test]
    fn statements_of_success_are_claims() {
        for text in [
            "All tests pass.",
            "Fixed the login. All 48 tests pass now",
            "tests are passing",
            "npm test: 48 passed, 0 failed",
            "The test suite passes",
            "The test suite is green!",
            "all checks pass",
            "Everything passes: all green",
            "ran cargo test, exit code 0",
            "Fixed the failing login test and all tests pass",
            "3 tests were failing before. Now all tests pass.",
            "Fixed login that fails on expired tokens. All tests pass.",
            "All validation commands pass",
            "pytest passes",
            "12 tests passed",
            "Full test suite passes with no failures.",
            "no regressions; all tests pass",
        ] {
            assert!(claims_success(&says(text)), "{text}");
        }
        let item = SelfReviewItem {
            rule: "no-existing-test-regression".into(),
            verified: true,
            evidence: "npm test: 48 passed".into(),
        };
        assert!(claims_success(&WorkerReport { self_review: vec![item], ..says("done") }));
    }

    #[test]
    fn what_may_mean_something_else_is_no_claim() {
        for text in [
            "",
            "Implemented the login.",
            "2 tests still fail",
            "All tests pass except 2 tests still failing",
            "npm test fails with one error",
            "The tests do not pass yet",
            "I could not run the tests",
            "All tests should pass now",
            "Changed it to make the tests pass",
            "Tests will pass once the server is up",
            "The new test passes",
            "I passed the token to the test helper's caller".split(" to").next().unwrap(),
            "47 passed, 1 failed",
            "All tests pass. However, lint tests still fail.",
            "Tests were not run",
            "Tests are not passing",
            "added tests that fail before the fix",
        ] {
            assert!(!claims_success(&says(text)), "{text}");
        }
        let report = WorkerReport { status: WorkerStatus::Failed, ..says("all tests pass") };
        assert!(!claims_success(&report));
        assert!(!claims_success(&says(&"a.b ".repeat(100_000))));
    }

    #[test]
    fn a_claim_about_tests_is_none_about_a_linter() {
        let report = says("All tests pass");
        assert!(claims_command(&report, "npm test") && claims_command(&report, "make check"));
        assert!(!claims_command(&report, "npm run lint") && !claims_command(&report, "cargo clippy"));
        assert!(claims_command(&says("`npm run lint` passes"), "npm run lint"));
        assert!(!claims_command(&says("`npm run lint` passes"), "npm test"));
        assert!(claims_command(&says("all checks pass"), "npm run lint"));
    }
}
