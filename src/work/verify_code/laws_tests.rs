//! What holds for all evidence, and the checks of commands.

use super::sample::{Sample, named};
use super::*;
use crate::model::contract::Baseline;
use crate::model::verdict::{Blocker, CheckSeverity, CheckStatus};
use crate::work::evidence::TestOutcome::{Failed, Passed};
use crate::work::evidence::TestSummary;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn blocking(sample: &Sample) -> BTreeSet<String> {
    checks(&sample.evidence).into_iter().filter(Check::blocks).map(|check| check.id.to_string()).collect()
}

fn only(check: &[Check]) -> (CheckStatus, CheckSeverity, Option<Blocker>) {
    (check[0].status, check[0].severity, check[0].blocker)
}

const PARTIAL: (CheckStatus, CheckSeverity, Option<Blocker>) =
    (CheckStatus::Failed, CheckSeverity::Major, Some(Blocker::Partial));
const LIE: (CheckStatus, CheckSeverity, Option<Blocker>) =
    (CheckStatus::Failed, CheckSeverity::Critical, Some(Blocker::Hallucination));
const UNDECIDED: (CheckStatus, CheckSeverity, Option<Blocker>) =
    (CheckStatus::Inconclusive, CheckSeverity::Major, Some(Blocker::ToolFailure));

fn green() -> TestSummary {
    named("pytest", &[("a", Passed), ("b", Passed)])
}

fn red() -> TestSummary {
    named("pytest", &[("a", Passed), ("b", Failed)])
}

#[test]
fn a_failed_command_is_a_lie_only_if_success_was_claimed() {
    let failing = || Sample::new("pytest").base(0, green()).result(1, red());
    assert_eq!(only(&validations(&failing().evidence)), PARTIAL);
    assert_eq!(only(&validations(&failing().says("All tests pass.").evidence)), LIE);
    assert_eq!(only(&validations(&failing().says("One test still fails.").evidence)), PARTIAL);
    assert_eq!(only(&validations(&failing().says("Done.").evidence)), PARTIAL);
    let mut written = failing().says("All tests pass.");
    written.evidence.testimony.source = crate::work::evidence::ReportSource::Runner;
    assert_eq!(only(&validations(&written.evidence)), PARTIAL);
    assert_eq!(
        validations(&Sample::new("pytest").result(0, green()).evidence)[0].status,
        CheckStatus::Passed
    );
}

#[test]
fn what_failed_before_is_neither_regression_nor_lie() {
    let both = || Sample::new("pytest").base(1, red()).result(1, red()).says("All tests pass.");
    assert_eq!(only(&validations(&both().evidence)), PARTIAL);
    assert!(validations(&both().evidence)[0].observed.contains("pre-existing"));
    assert_eq!(regressions(&both().evidence)[0].status, CheckStatus::Passed);
    let mut tolerated = both();
    tolerated.evidence.contract.validation_commands[0].baseline = Baseline::MayFail;
    assert_eq!(validations(&tolerated.evidence)[0].status, CheckStatus::Passed);
    // Another test fails now: not the same failure.
    let mut other =
        Sample::new("pytest").base(1, red()).result(1, named("pytest", &[("a", Failed), ("b", Passed)]));
    other.evidence.contract.validation_commands[0].baseline = Baseline::MayFail;
    assert_eq!(only(&validations(&other.evidence)), PARTIAL);
    assert_eq!(
        only(&regressions(&other.evidence)),
        (CheckStatus::Failed, CheckSeverity::Critical, Some(Blocker::Partial))
    );
}

#[test]
fn a_regression_that_is_flaky_or_undecided_accuses_nobody() {
    let failing = || Sample::new("pytest").base(0, green()).result(1, red()).says("All tests pass.");
    let check = regressions(&failing().evidence).remove(0);
    assert_eq!(
        (check.severity, check.blocker, check.evidence),
        (CheckSeverity::Critical, Some(Blocker::Partial), vec!["b: passed before".to_owned()])
    );
    let again = failing().run(View::ResultAgain, 1, Some(red()), &[]);
    assert!(regressions(&again.evidence)[0].status == CheckStatus::Failed);
    let flaky = failing().run(View::ResultAgain, 0, Some(green()), &[]);
    assert_eq!(only(&validations(&flaky.evidence)), UNDECIDED);
    assert_eq!(only(&regressions(&flaky.evidence)), UNDECIDED);
    for code in [126, 127] {
        assert_eq!(
            only(&validations(
                &Sample::new("pytest").run(View::Result, code, None, &[]).says("All tests pass").evidence
            )),
            UNDECIDED
        );
    }
    let mut stopped = Sample::new("pytest");
    assert_eq!(only(&validations(&stopped.evidence)), UNDECIDED);
    stopped.evidence.not_executed = Some("scope".into());
    assert_eq!(validations(&stopped.evidence)[0].status, CheckStatus::Skipped);
}

#[test]
fn runs_without_tests_are_caught() {
    let cut = TestSummary { is_complete: false, ..green() };
    let none = named("pytest", &[]);
    let caught = [
        Sample::new("pytest").base(0, green()).result(0, cut.clone()),
        Sample::new("pytest").result(0, cut.clone()),
        Sample::new("pytest").base(0, green()).result(0, none.clone()),
        Sample::new("make check").base(0, green()).run(View::Result, 0, None, &[]),
        Sample::new("pytest").base(1, red()).run(View::Result, 0, None, &[]),
    ];
    for sample in caught {
        let check = nothing_ran(&sample.evidence);
        assert_eq!(
            (check.status, check.severity, check.blocker),
            (CheckStatus::Failed, CheckSeverity::Critical, Some(Blocker::Partial))
        );
    }
    let honest = [
        Sample::new("pytest").base(0, green()).result(0, green()),
        Sample::new("pytest").base(0, none.clone()).result(0, none.clone()),
        Sample::new("pytest | head").base(0, cut.clone()).result(0, cut),
        Sample::new("./check.sh").run(View::Result, 0, None, &[]),
        Sample::new("pytest -qq").run(View::Result, 0, None, &[]),
    ];
    for sample in &honest {
        assert_eq!(nothing_ran(&sample.evidence).status, CheckStatus::Passed);
    }
    assert!(
        ran_no_tests(&honest[1].evidence)
            && !ran_no_tests(&honest[0].evidence)
            && !ran_no_tests(&honest[3].evidence)
    );
}

#[test]
fn a_pass_that_needs_ignored_files_is_no_lie() {
    let depends =
        Sample::new("pytest").run(View::Result, 1, None, &[]).run(View::WithIgnored, 0, Some(green()), &[]);
    let check = depends_on_ignored(&depends.evidence);
    assert_eq!(
        (check.status, check.severity, check.blocker),
        (CheckStatus::Failed, CheckSeverity::Major, Some(Blocker::Partial))
    );
    let same = Sample::new("pytest").run(View::Result, 1, None, &[]).run(View::WithIgnored, 1, None, &[]);
    assert_eq!(depends_on_ignored(&same.evidence).status, CheckStatus::Passed);
    assert_eq!(depends_on_ignored(&Sample::new("x").evidence).status, CheckStatus::Skipped);
}

#[test]
fn red_before_and_green_now_discriminates() {
    let proves = Sample::new("pytest").base(1, red()).result(0, green());
    assert!(discriminates(&proves.evidence));
    assert_eq!(discriminates_check(&proves.evidence).status, CheckStatus::Passed);
    let mut same = Sample::new("pytest").base(0, green()).result(0, green());
    assert!(!discriminates(&same.evidence));
    assert_eq!(discriminates_check(&same.evidence).status, CheckStatus::Skipped);
    same.evidence.contract.prove = true;
    let check = discriminates_check(&same.evidence);
    assert_eq!(
        (check.status, check.severity, check.blocker),
        (CheckStatus::Failed, CheckSeverity::Major, Some(Blocker::Partial))
    );
    let compiles_now =
        Sample::new("cargo test").run(View::Base, 101, None, &["error[E0425]"]).result(0, green());
    assert!(!discriminates(&compiles_now.evidence));
}

#[test]
fn the_views_that_are_wanted_follow_from_the_changes() {
    let mut sample = Sample::new("x")
        .changed("tests/test_a.py", "a", "b")
        .added("tests/test_b.py", "b")
        .changed("src/a.py", "a", "b")
        .changed("package.json", "{}", "{ }")
        .changed("jest.config.js", "a", "b");
    let names = |paths: Vec<crate::model::raw_path::RawPath>| {
        paths.iter().map(|path| path.to_string_lossy().into_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        names(existing_tests_changed(&sample.evidence.changes)),
        ["jest.config.js", "tests/test_a.py"]
    );
    assert_eq!(names(changed_tests(&sample.evidence.changes)), ["tests/test_a.py", "tests/test_b.py"]);
    assert_eq!(wanted_views(&sample.evidence.contract, &sample.evidence.changes), [View::OldTests]);
    sample.evidence.contract.prove = true;
    sample.evidence.changes.ignored.push("x".into());
    assert_eq!(
        wanted_views(&sample.evidence.contract, &sample.evidence.changes),
        [View::OldTests, View::OnlyTests, View::WithIgnored]
    );
    assert!(!has_inline_tests(&sample.evidence.changes));
    assert!(has_inline_tests(
        &Sample::new("x").changed("a.rs", "", "#[cfg(test)]\nmod tests {}").evidence.changes
    ));
}

fn any_run() -> impl Strategy<Value = (u8, i32, Option<bool>)> {
    (0_u8..6, prop::sample::select(vec![0, 1, 2, 127]), prop::option::of(any::<bool>()))
}

fn with_runs(runs: &[(u8, i32, Option<bool>)], claims: bool, prove: bool) -> Sample {
    let views =
        [View::Base, View::Result, View::ResultAgain, View::OldTests, View::OnlyTests, View::WithIgnored];
    let mut sample = Sample::new("pytest").changed(
        "tests/test_a.py",
        "def test_a():\n    assert f()\n",
        "def test_a():\n    assert f()\n    g()\n",
    );
    for (view, code, summary) in runs {
        let summary = summary.map(|is_green| if is_green { green() } else { red() });
        sample = sample.run(views[usize::from(*view)], *code, summary, &[]);
    }
    sample.evidence.contract.prove = prove;
    if claims { sample.says("All tests pass.") } else { sample }
}

proptest! {
    #[test]
    fn a_passing_command_blocks_nothing_and_a_failing_one_frees_nothing(
        runs in prop::collection::vec(any_run(), 0..8), claims: bool, prove: bool,
    ) {
        let before = with_runs(&runs, claims, prove);
        let passing = with_runs(&runs, claims, prove).command("make check").run(View::Result, 0, Some(green()), &[]);
        prop_assert!(blocking(&passing).is_subset(&blocking(&before)));
        let failing = with_runs(&runs, claims, prove).command("make check").run(View::Result, 1, Some(red()), &[]);
        // A view that is not run because a command fails is skipped then, not inconclusive: the command blocks in its place.
        let failed = |sample: &Sample| -> BTreeSet<String> {
            let all = checks(&sample.evidence).into_iter().filter(|check| check.blocks() && check.status == CheckStatus::Failed);
            all.map(|check| check.id.to_string()).collect()
        };
        prop_assert!(failed(&before).is_subset(&failed(&failing)));
        prop_assert!(blocking(&failing).contains("validation/2"));
    }

    #[test]
    fn the_same_evidence_gives_the_same_checks(runs in prop::collection::vec(any_run(), 0..8), claims: bool) {
        let sample = with_runs(&runs, claims, true);
        prop_assert_eq!(checks(&sample.evidence), checks(&with_runs(&runs, claims, true).evidence));
    }
}
