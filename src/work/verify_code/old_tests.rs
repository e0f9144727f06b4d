//! What the tests of the base say about the new code, where the work changed tests.

use super::inline_changes::inline_changes;
use super::test_files::existing_tests_changed;
use super::{execution, outcome, short, undecided};
use crate::model::contract::Guard;
use crate::model::verdict::{Blocker, Check, CheckName, CheckSeverity};
use crate::work::evidence::{Evidence, Execution, TestOutcome, View};

/// `old-tests`.
pub fn old_tests(evidence: &Evidence) -> Check {
    let id = CheckName::OldTests;
    let expected = "the tests of the base pass on the new code";
    if existing_tests_changed(&evidence.changes).is_empty() {
        let why = if inline_changes(&evidence.changes).is_empty() {
            "no existing test, fixture or validator changed"
        } else {
            "existing inline tests changed, and cannot be put back: see `tests-weakened`"
        };
        return Check::skipped(id, why);
    }
    let (mut broken, mut unloaded, mut unknown, mut passed) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut has_failure = false;
    for (index, command) in evidence.contract.validation_commands.iter().enumerate() {
        let result = execution(evidence, index, View::Result);
        has_failure |= result.is_none_or(|run| !run.passed());
        let Some(run) = execution(evidence, index, View::OldTests) else { continue };
        let name = command.name();
        if run.passed() {
            passed.push(format!("{name}: {}", outcome(run)));
        } else if let Some(why) = undecided(run) {
            unknown.push(format!("{name}: {why}"));
        } else {
            match judged(execution(evidence, index, View::Base), result, run) {
                Failure::OfTests(tests) => {
                    broken.push(format!("{name}: {}", outcome(run)));
                    broken.extend(tests);
                }
                Failure::OfLoading => {
                    unloaded.push(format!("{name}: {}: the old tests do not load", outcome(run)));
                }
                Failure::Known => passed.push(format!("{name}: fails as before")),
            }
        }
    }
    if !broken.is_empty() {
        let observed = broken[0].clone();
        let (severity, blocker) = match evidence.contract.tests {
            Guard::Frozen => (CheckSeverity::Major, Some(Blocker::ScopeDrift)),
            Guard::MayChange => (CheckSeverity::Minor, None),
        };
        return Check::failed(id, severity, blocker, expected, observed).with_evidence(short(broken));
    }
    if !unknown.is_empty() {
        return Check::inconclusive(id, expected, unknown[0].clone()).with_evidence(short(unknown));
    }
    if !unloaded.is_empty() {
        return Check::failed(id, CheckSeverity::Minor, None, expected, unloaded[0].clone())
            .with_evidence(short(unloaded));
    }
    if passed.is_empty() {
        return match &evidence.not_executed {
            Some(why) => Check::skipped(id, format!("not run: {why}")),
            None if has_failure => Check::skipped(id, "not run: the commands fail on the result"),
            None => Check::inconclusive(id, expected, "the old tests were not run"),
        };
    }
    Check::passed(id, expected, passed.join("; "))
}

enum Failure {
    OfTests(Vec<String>),
    /// They do not compile, or miss a name.
    OfLoading,
    /// It fails on the base, or on the result itself: not for the old tests to tell.
    Known,
}

fn judged(base: Option<&Execution>, result: Option<&Execution>, run: &Execution) -> Failure {
    let before = base.and_then(|base| base.summary.as_ref());
    let now = result.and_then(|result| result.summary.as_ref());
    let failed = run
        .summary
        .iter()
        .flat_map(|summary| &summary.tests)
        .filter(|(_, outcome)| **outcome == TestOutcome::Failed);
    let failed: Vec<&String> = failed.map(|(name, _)| name).collect();
    // What fails with the new tests too is not hidden by them. What failed on the base and does no more was fixed, or hidden: then it
    // fails here.
    let is_known = |name: &&&String| {
        now.and_then(|summary| summary.tests.get(**name).copied()) == Some(TestOutcome::Failed)
    };
    let new: Vec<&String> = failed.iter().filter(|name| !is_known(name)).copied().collect();
    let count = run.summary.as_ref().map_or(0, |summary| summary.failed);
    let count_before = before.map_or(0, |before| before.failed);
    let count_now = now.map_or(0, |now| now.failed);
    let is_all_named = count > 0 && failed.len() as u64 >= count;
    if result.is_some_and(|result| !result.passed())
        && (is_all_named && new.is_empty() || !is_all_named && count <= count_now)
    {
        return Failure::Known;
    }
    if loads_badly(run) && !asserts(run) {
        return Failure::OfLoading;
    }
    if !new.is_empty() {
        return Failure::OfTests(new.iter().map(|name| format!("{name}: fails with the old test")).collect());
    }
    if count > count_before.min(count_now) || asserts(run) {
        return Failure::OfTests(Vec::new());
    }
    Failure::OfLoading
}

/// Whether the output says that a test did not compile, or that a name is not there any more.
pub fn loads_badly(run: &Execution) -> bool {
    const SIGNS: [&str; 22] = [
        "ImportError",
        "ModuleNotFoundError",
        "SyntaxError",
        "NameError",
        "has no attribute",
        "Cannot find module",
        "ERR_MODULE_NOT_FOUND",
        "is not a function",
        "is not defined",
        "does not provide an export",
        "is not a constructor",
        "unexpected keyword argument",
        "error[E",
        "could not compile",
        "cannot find ",
        "undefined: ",
        "[build failed]",
        "undefined method",
        "uninitialized constant",
        "cannot find symbol",
        "error TS",
        "COMPILATION ERROR",
    ];
    run.tail.iter().any(|line| SIGNS.iter().any(|sign| line.contains(sign)))
}

/// Whether the output shows an assertion that failed.
pub fn asserts(run: &Execution) -> bool {
    const SIGNS: [&str; 12] = [
        "AssertionError",
        "ERR_ASSERTION",
        "assertion",
        "E       assert",
        "assert ",
        "Expected:",
        "expected:",
        "Expected ",
        "to equal",
        "toBe",
        "toEqual",
        "--- FAIL",
    ];
    run.tail.iter().any(|line| SIGNS.iter().any(|sign| line.contains(sign)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::verdict::CheckStatus;
    use crate::work::evidence::CommandEnd;
    use crate::work::verify_code::sample::{Sample, named};
    use TestOutcome::{Failed, Passed};

    fn sample() -> Sample {
        Sample::new("pytest")
            .base(0, named("pytest", &[("a.py::test_a", Passed)]))
            .result(0, named("pytest", &[("a.py::test_a", Passed)]))
            .changed(
                "tests/test_a.py",
                "def test_a():\n    assert f() == 1\n",
                "def test_a():\n    assert f() == 2\n",
            )
    }

    #[test]
    fn a_test_that_was_bent_is_caught() {
        let bent = sample().old_tests(
            1,
            Some(named("pytest", &[("a.py::test_a", Failed)])),
            &["E       assert 2 == 1"],
        );
        let check = old_tests(&bent.evidence);
        assert_eq!(
            (check.status, check.severity, check.blocker),
            (CheckStatus::Failed, CheckSeverity::Major, Some(Blocker::ScopeDrift))
        );
        let mut allowed = bent;
        allowed.evidence.contract.tests = Guard::MayChange;
        assert_eq!(old_tests(&allowed.evidence).severity, CheckSeverity::Minor);
        let counted = sample().old_tests(1, None, &["AssertionError: 1 != 2"]);
        assert!(old_tests(&counted.evidence).blocks());
    }

    #[test]
    fn a_red_test_that_was_taken_away_is_caught() {
        let red = || named("pytest", &[("a.py::test_a", Failed), ("a.py::test_b", Passed)]);
        let before = "def test_a():\n    assert f() == 1\n\ndef test_b():\n    assert g()\n";
        let taken = Sample::new("pytest")
            .base(1, red())
            .result(0, named("pytest", &[("a.py::test_b", Passed)]))
            .changed("tests/test_a.py", before, "def test_b():\n    assert g()\n")
            .old_tests(1, Some(red()), &["E       assert 2 == 1"]);
        assert!(old_tests(&taken.evidence).blocks());
        // It fails with the new tests too: nothing is hidden.
        let left = Sample::new("pytest")
            .base(1, red())
            .result(1, red())
            .changed("tests/test_a.py", before, &format!("{before}\ndef test_c():\n    assert g()\n"))
            .old_tests(1, Some(red()), &["E       assert 2 == 1"]);
        assert_eq!(old_tests(&left.evidence).status, CheckStatus::Passed);
        let fixed = Sample::new("pytest")
            .base(1, red())
            .result(0, named("pytest", &[("a.py::test_a", Passed), ("a.py::test_b", Passed)]))
            .changed("tests/test_a.py", before, &format!("{before}\n# fixed\n"))
            .old_tests(0, Some(named("pytest", &[("a.py::test_a", Passed), ("a.py::test_b", Passed)])), &[]);
        assert_eq!(old_tests(&fixed.evidence).status, CheckStatus::Passed);
    }

    #[test]
    fn old_tests_that_pass_or_do_not_load_are_honest() {
        let passes = sample().old_tests(0, Some(named("pytest", &[("a.py::test_a", Passed)])), &[]);
        assert_eq!(old_tests(&passes.evidence).status, CheckStatus::Passed);
        let renamed = sample().old_tests(2, None, &["ImportError: cannot import name 'f'"]);
        let check = old_tests(&renamed.evidence);
        assert_eq!((check.status, check.severity), (CheckStatus::Failed, CheckSeverity::Minor));
        assert_eq!(old_tests(&Sample::new("pytest").evidence).status, CheckStatus::Skipped);
    }

    #[test]
    fn old_tests_that_were_not_decided_are_inconclusive() {
        let mut slow = sample().old_tests(1, None, &[]);
        slow.evidence.executions.last_mut().unwrap().end = CommandEnd::TimedOut;
        assert_eq!(old_tests(&slow.evidence).status, CheckStatus::Inconclusive);
        assert_eq!(old_tests(&sample().evidence).status, CheckStatus::Inconclusive);
    }
}
