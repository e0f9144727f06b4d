//! What the commands showed: each on the result, beside the base, with and without what git ignores.

use super::claims::claims_command;
use super::test_files::new_inline_tests;
use super::{execution, failed, outcome, short, tdd, undecided};
use crate::model::contract::{Baseline, ValidationCommand};
use crate::model::verdict::{Blocker, Check, CheckName, CheckSeverity};
use crate::work::evidence::{Evidence, Execution, ReportSource, TestOutcome, View};
use crate::work::runners::{error_lines, normalised, runner_of_command};
use std::collections::BTreeSet;

const EXPECTED: &str = "exit 0";
const MOST_TAIL: usize = 12;

/// `validation/<n>`: one for each command.
pub fn validations(evidence: &Evidence) -> Vec<Check> {
    let commands = evidence.contract.validation_commands.iter().enumerate();
    commands.map(|(index, command)| validation(evidence, index, command)).collect()
}

/// Whether the worker, not the runner, says that this command passes.
fn is_claimed(evidence: &Evidence, command: &str) -> bool {
    let report =
        evidence.testimony.report.as_ref().filter(|_| evidence.testimony.source != ReportSource::Runner);
    report.is_some_and(|report| claims_command(report, command))
}

fn validation(evidence: &Evidence, index: usize, command: &ValidationCommand) -> Check {
    let id = CheckName::Validation.of(index + 1);
    let name = command.name();
    let Some(run) = execution(evidence, index, View::Result) else {
        return match &evidence.not_executed {
            Some(why) => Check::skipped(id, format!("not run: {why}")),
            None => Check::inconclusive(id, EXPECTED, format!("{name}: not run")),
        };
    };
    let observed = format!("{name}: {}", outcome(run));
    if run.passed() {
        return Check::passed(id, EXPECTED, format!("{observed} ({:.1}s)", run.seconds));
    }
    if let Some(why) = undecided(run) {
        return Check::inconclusive(id, EXPECTED, format!("{name}: {why}")).with_evidence(last_lines(run));
    }
    let again = execution(evidence, index, View::ResultAgain);
    if again.is_some_and(Execution::passed) {
        return Check::inconclusive(id, EXPECTED, format!("{observed}; flaky: passed when run again"))
            .with_evidence(last_lines(run));
    }
    let base = execution(evidence, index, View::Base).filter(|base| failed(base));
    if let Some(base) = base
        && new_failures(base, run).is_empty()
        && fails_alike(base, run)
    {
        let observed = format!("{observed}; pre-existing: the base fails too ({})", outcome(base));
        if command.baseline == Baseline::MayFail {
            return Check::passed(id, EXPECTED, format!("{observed}, tolerated"));
        }
        let mut lines = shown(run);
        let mentions_hidden =
            base.tail.iter().any(|line| line.contains(".env") || line.contains("environment variable"));
        if mentions_hidden {
            lines.push("hint: if hidden files are why, use `--reveal .env`".to_owned());
        }
        return Check::failed(id, CheckSeverity::Major, Some(Blocker::Partial), EXPECTED, observed)
            .with_evidence(lines);
    }
    let (severity, blocker) = if is_claimed(evidence, &command.command) {
        (CheckSeverity::Critical, Blocker::Hallucination)
    } else {
        (CheckSeverity::Major, Blocker::Partial)
    };
    Check::failed(id, severity, Some(blocker), EXPECTED, observed).with_evidence(shown(run))
}

fn last_lines(run: &Execution) -> Vec<String> {
    let from = run.tail.len().saturating_sub(MOST_TAIL);
    short(run.tail[from..].to_vec())
}

/// The tests that failed, then what the command said.
fn shown(run: &Execution) -> Vec<String> {
    let mut lines: Vec<String> =
        failing(run).into_iter().map(|name| format!("failed: {name}")).take(MOST_TAIL).collect();
    let errors = error_lines(&run.tail);
    lines.extend(if errors.is_empty() { last_lines(run) } else { errors });
    short(lines)
}

fn failing(run: &Execution) -> BTreeSet<&str> {
    let tests = run.summary.iter().flat_map(|summary| &summary.tests);
    tests.filter(|(_, outcome)| **outcome == TestOutcome::Failed).map(|(name, _)| name.as_str()).collect()
}

/// Tests that passed on the base and fail here.
fn new_failures<'a>(base: &Execution, run: &'a Execution) -> Vec<&'a str> {
    let Some(before) = &base.summary else { return Vec::new() };
    failing(run).into_iter().filter(|name| before.tests.get(*name) == Some(&TestOutcome::Passed)).collect()
}

/// Whether nothing fails here that does not fail on the base.
fn fails_alike(base: &Execution, run: &Execution) -> bool {
    match (&base.summary, &run.summary) {
        (Some(before), Some(after)) => {
            let (old, new) = (failing(base), failing(run));
            let is_named = new.len() as u64 >= after.failed && old.len() as u64 >= before.failed;
            after.failed <= before.failed
                && (!is_named || new.is_subset(&old))
                && after.is_complete == before.is_complete
        }
        (None, None) => {
            let said = |run: &Execution| -> BTreeSet<String> {
                let errors = error_lines(&run.tail);
                let lines = if errors.is_empty() { last_lines(run) } else { errors };
                lines.iter().map(|line| normalised(line)).collect()
            };
            said(run).is_subset(&said(base))
        }
        // A run that did not get as far as its tests is another failure.
        (Some(_), None) => false,
        (None, Some(_)) => true,
    }
}

/// `regression/<n>`: what passed on the base and fails here.
pub fn regressions(evidence: &Evidence) -> Vec<Check> {
    let commands = evidence.contract.validation_commands.iter().enumerate();
    commands.map(|(index, command)| regression(evidence, index, command)).collect()
}

fn regression(evidence: &Evidence, index: usize, command: &ValidationCommand) -> Check {
    let id = CheckName::Regression.of(index + 1);
    let expected = "what passed on the base passes";
    let name = command.name();
    let Some(run) = execution(evidence, index, View::Result) else {
        return Check::skipped(id, "not run");
    };
    if run.passed() {
        return Check::passed(id, expected, format!("{name}: passes"));
    }
    if undecided(run).is_some() {
        return Check::skipped(id, "the command was not decided");
    }
    let Some(base) = execution(evidence, index, View::Base) else {
        return Check::skipped(id, "not run on the base");
    };
    if undecided(base).is_some() {
        return Check::skipped(id, format!("{name}: not decided on the base"));
    }
    let lost = new_failures(base, run);
    if !base.passed() && lost.is_empty() {
        return Check::passed(
            id,
            expected,
            format!("{name}: pre-existing: the base fails too ({})", outcome(base)),
        );
    }
    if let Some(again) = execution(evidence, index, View::ResultAgain) {
        let is_flaky =
            again.passed() || !base.passed() && failed(again) && new_failures(base, again).is_empty();
        if is_flaky {
            return Check::inconclusive(id, expected, format!("{name}: flaky: passed when run again"));
        }
    }
    let lines = lost.iter().map(|name| format!("{name}: passed before")).collect::<Vec<_>>();
    let observed = format!("{name}: {}; the base: {}", outcome(run), outcome(base));
    let lines = if lines.is_empty() { shown(run) } else { lines };
    Check::failed(id, CheckSeverity::Critical, Some(Blocker::Partial), expected, observed)
        .with_evidence(short(lines))
}

/// `depends-on-ignored`: fails in the view, passes with what the worker changed and git ignores.
pub fn depends_on_ignored(evidence: &Evidence) -> Check {
    let id = CheckName::DependsOnIgnored;
    let mut lines = Vec::new();
    let mut was_run = false;
    for (index, command) in evidence.contract.validation_commands.iter().enumerate() {
        let Some(with) = execution(evidence, index, View::WithIgnored) else { continue };
        was_run = true;
        let fails = execution(evidence, index, View::Result).is_some_and(|run| !run.passed());
        let is_flaky = execution(evidence, index, View::ResultAgain).is_some_and(Execution::passed);
        if fails && !is_flaky && with.passed() {
            lines.push(format!("{}: passes only with ignored files", command.name()));
        }
    }
    let expected = "commands pass without ignored files of the worker";
    if lines.is_empty() {
        return if was_run {
            Check::passed(id, expected, "no difference")
        } else {
            Check::skipped(id, "nothing to compare")
        };
    }
    lines.extend(evidence.changes.ignored.iter().map(|path| format!("ignored: {path}")));
    let observed = "passes only with files that git ignores and that are not part of the work";
    Check::failed(id, CheckSeverity::Major, Some(Blocker::Partial), expected, observed)
        .with_evidence(short(lines))
}

/// Whether a command fails on the base with a test failure and passes on the result; base and changed tests alone count too.
pub fn discriminates(evidence: &Evidence) -> bool {
    discriminating(evidence).is_some()
}

fn discriminating(evidence: &Evidence) -> Option<&ValidationCommand> {
    let commands = &evidence.contract.validation_commands;
    let mut found = commands.iter().enumerate().filter(|(index, command)| {
        let passes = execution(evidence, *index, View::Result).is_some_and(Execution::passed);
        let is_red_on_base =
            execution(evidence, *index, View::Base).is_some_and(|base| has_failed_tests(base, command));
        let is_red_alone =
            execution(evidence, *index, View::OnlyTests).is_some_and(|run| tdd::is_red(evidence, run));
        passes && (is_red_on_base || is_red_alone)
    });
    found.next().map(|(_, command)| command)
}

/// A compile error of a known runner is no failed test; of any other command the exit code is all that is known.
fn has_failed_tests(run: &Execution, command: &ValidationCommand) -> bool {
    failed(run)
        && match &run.summary {
            Some(summary) => summary.failed > 0,
            None => runner_of_command(&command.command, None).is_none(),
        }
}

/// Whether an inline test of Rust ran and passed that the base has not.
fn has_new_inline_test(evidence: &Evidence) -> bool {
    let new = new_inline_tests(&evidence.changes);
    let commands = 0..evidence.contract.validation_commands.len();
    !new.is_empty()
        && commands.into_iter().any(|index| {
            let summary = |view| execution(evidence, index, view).and_then(|run| run.summary.as_ref());
            let Some(now) = summary(View::Result) else { return false };
            let before = summary(View::Base);
            if now.tests.is_empty() {
                return before.is_some_and(|before| now.passed > before.passed);
            }
            now.tests.iter().any(|(name, outcome)| {
                *outcome == TestOutcome::Passed
                    && new.iter().any(|test| name.rsplit("::").next() == Some(test.as_str()))
                    && before.is_none_or(|before| !before.tests.contains_key(name))
            })
        })
}

/// `discriminates`: required with TDD and `--prove`, said otherwise.
pub fn discriminates_check(evidence: &Evidence) -> Check {
    let id = CheckName::Discriminates;
    let expected = "a command fails on the base and passes on the result";
    if let Some(command) = discriminating(evidence) {
        return Check::passed(id, expected, format!("{}: red before, green now", command.name()));
    }
    if !evidence.contract.prove && !tdd::tdd_counts(evidence) {
        return Check::skipped(id, "no command was red before and is green now: nothing new is proved");
    }
    if let Some(why) = &evidence.not_executed {
        return Check::skipped(id, format!("not run: {why}"));
    }
    let is_measured = evidence.executions.iter().any(|run| matches!(run.on, View::Base | View::OnlyTests));
    if !is_measured {
        return Check::inconclusive(id, expected, "no run on the base");
    }
    if has_new_inline_test(evidence) {
        return Check::skipped(
            id,
            "the new tests are inline and cannot be run without the new code: for the reviewer",
        );
    }
    let observed = "green on both proves nothing new";
    Check::failed(id, CheckSeverity::Major, Some(Blocker::Partial), expected, observed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::verdict::CheckStatus;
    use crate::work::verify_code::sample::{Sample, named};
    use TestOutcome::Passed;

    #[test]
    fn a_new_inline_test_is_left_to_the_reviewer() {
        let judged = |test: &str, ran: &[(&str, TestOutcome)]| {
            let before = "fn f() -> u8 { 1 }\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn a() { assert_eq!(super::f(), 1); }\n}\n";
            let after = before.replace("mod tests {", &format!("mod tests {{\n{test}"));
            let mut sample = Sample::new("cargo test")
                .changed("src/lib.rs", before, &after)
                .base(0, named("cargo", &[("src/lib.rs::tests::a", Passed)]))
                .result(0, named("cargo", ran));
            sample.evidence.contract.prove = true;
            discriminates_check(&sample.evidence).status
        };
        let both = [("src/lib.rs::tests::a", Passed), ("src/lib.rs::tests::b", Passed)];
        let new = "    #[test]\n    fn b() { assert_eq!(super::f(), 1); }\n";
        assert_eq!(judged(new, &both), CheckStatus::Skipped);
        let panics = "    #[test]\n    #[should_panic(expected = \"zero\")]\n    fn b() { super::f(); }\n";
        assert_eq!(judged(panics, &both), CheckStatus::Skipped);
        // It did not run; it asserts nothing; there is none.
        assert_eq!(judged(new, &both[..1]), CheckStatus::Failed);
        assert_eq!(judged("    #[test]\n    fn b() {}\n", &both), CheckStatus::Failed);
        assert_eq!(judged("", &both[..1]), CheckStatus::Failed);
    }
}
