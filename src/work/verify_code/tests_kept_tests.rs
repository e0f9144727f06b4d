use super::*;
use crate::model::verdict::CheckStatus;
use crate::work::verify_code::sample::{Sample, named};

const A: &str = "import x\ndef test_a():\n    assert x.login(1) == 1\n";

fn pytest(tests: &[(&str, TestOutcome)]) -> TestSummary {
    named("pytest", tests)
}

fn verdict(sample: &Sample) -> (CheckStatus, CheckSeverity, Option<Blocker>) {
    let check = tests_kept(&sample.evidence);
    (check.status, check.severity, check.blocker)
}

const CAUGHT: (CheckStatus, CheckSeverity, Option<Blocker>) =
    (CheckStatus::Failed, CheckSeverity::Critical, Some(Blocker::ScopeDrift));
const FINE: (CheckStatus, CheckSeverity, Option<Blocker>) = (CheckStatus::Passed, CheckSeverity::Minor, None);
const MINOR: (CheckStatus, CheckSeverity, Option<Blocker>) =
    (CheckStatus::Failed, CheckSeverity::Minor, None);
use TestOutcome::{Passed, Skipped};

#[test]
fn a_test_that_is_gone_or_skipped_is_caught() {
    let base = pytest(&[("tests/test_a.py::test_a", Passed), ("tests/test_a.py::test_b", Passed)]);
    let missing = pytest(&[("tests/test_a.py::test_b", Passed)]);
    assert_eq!(verdict(&Sample::new("pytest").base(0, base.clone()).result(0, missing.clone())), CAUGHT);
    let skipped = pytest(&[("tests/test_a.py::test_a", Skipped), ("tests/test_a.py::test_b", Passed)]);
    assert_eq!(verdict(&Sample::new("pytest").base(0, base.clone()).result(0, skipped)), CAUGHT);
    // Gutted and renamed: not the same body.
    let renamed = pytest(&[("tests/test_a.py::test_c", Passed), ("tests/test_a.py::test_b", Passed)]);
    let sample = Sample::new("pytest").base(0, base.clone()).result(0, renamed).changed(
        "tests/test_a.py",
        A,
        "def test_c():\n    pass\n",
    );
    assert_eq!(verdict(&sample), CAUGHT);
    let counted = |ran| TestSummary {
        runner: "cargo test".into(),
        passed: ran,
        is_complete: true,
        ..TestSummary::default()
    };
    assert_eq!(verdict(&Sample::new("cargo test -q").base(0, counted(48)).result(0, counted(47))), CAUGHT);
    let by_file = |files: &[(&str, u64)]| TestSummary {
        files: files.iter().map(|(f, n)| ((*f).to_owned(), *n)).collect(),
        ..counted(files.iter().map(|f| f.1).sum())
    };
    let sample = Sample::new("vitest")
        .base(0, by_file(&[("a.test.ts", 2), ("b.test.ts", 3)]))
        .result(0, by_file(&[("b.test.ts", 3)]));
    assert_eq!(verdict(&sample), CAUGHT);
}

#[test]
fn moved_and_renamed_tests_are_honest() {
    let base = pytest(&[("tests/test_a.py::test_a", Passed)]);
    let moved = pytest(&[("tests/test_b.py::test_a", Passed)]);
    let sample = Sample::new("pytest")
        .base(0, base.clone())
        .result(0, moved)
        .deleted("tests/test_a.py", A)
        .added("tests/test_b.py", A);
    assert_eq!(verdict(&sample), FINE);
    let renamed = pytest(&[("tests/test_a.py::test_z", Passed)]);
    let sample = Sample::new("pytest").base(0, base.clone()).result(0, renamed).changed(
        "tests/test_a.py",
        A,
        &A.replace("test_a", "test_z"),
    );
    assert_eq!(verdict(&sample), FINE);
    let more = pytest(&[("tests/test_a.py::test_a", Passed), ("tests/test_a.py::test_n", Passed)]);
    assert_eq!(verdict(&Sample::new("pytest").base(0, base).result(0, more)), FINE);
    let volatile = |n: &str| pytest(&[(format!("t.py::test_a[{n}]").as_str(), Passed)]);
    assert_eq!(
        verdict(&Sample::new("pytest").base(0, volatile("0x7ffe1234")).result(0, volatile("0x7ffe9999"))),
        FINE
    );
}

#[test]
fn tests_of_what_was_deleted_and_new_skipped_ones_are_minor() {
    let base = pytest(&[("tests/test_a.py::test_a", Passed), ("tests/test_a.py::test_b", Passed)]);
    let after = pytest(&[("tests/test_a.py::test_b", Passed)]);
    let sample = Sample::new("pytest")
        .base(0, base.clone())
        .result(0, after)
        .changed("tests/test_a.py", A, "\n")
        .changed("x.py", "def login(n):\n    return n\n", "\n");
    assert_eq!(verdict(&sample), MINOR);
    let new = pytest(&[
        ("tests/test_a.py::test_a", Passed),
        ("tests/test_a.py::test_b", Passed),
        ("tests/test_a.py::test_c", Skipped),
    ]);
    assert_eq!(verdict(&Sample::new("pytest").base(0, base).result(0, new)), MINOR);
}

#[test]
fn many_tests_are_compared_in_bounded_time() {
    let names = |file: &str| -> Vec<String> { (0..20_000).map(|n| format!("{file}::test_a[{n}]")).collect() };
    let summary =
        |names: &[String]| pytest(&names.iter().map(|name| (name.as_str(), Passed)).collect::<Vec<_>>());
    let (old, new) = (names("tests/test_a.py"), names("tests/test_b.py"));
    let sample = Sample::new("pytest").base(0, summary(&old)).result(0, summary(&new));
    let moved = sample.deleted("tests/test_a.py", A).added("tests/test_b.py", A);
    assert_eq!(verdict(&moved), FINE);
}

#[test]
fn what_was_not_measured_is_skipped() {
    assert_eq!(tests_kept(&Sample::new("make check").evidence).status, CheckStatus::Skipped);
}
