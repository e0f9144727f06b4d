//! Tests of `signal`: each rule, and their order.

use super::*;
use crate::model::verdict::CheckSeverity;
use crate::model::worker_report::WorkerReport;
use crate::work::evidence::{TestOutcome, TestSummary};
use crate::work::tests_support::{changed, command_failed, evidence, execution, failed, record};

fn judged(
    evidence: &Evidence,
    checks: &[Check],
    history: &History,
) -> (Confidence, Option<Blocker>, Option<Strategy>) {
    let signal = signal(evidence, checks, history);
    (signal.confidence, signal.blocker_type, signal.suggested_strategy)
}

fn after(evidence: &Evidence, checks: &[Check]) -> History {
    let mut history = History::default();
    record(&mut history, AttemptStrategy::First, evidence, checks);
    history
}

#[test]
fn each_kind_of_failure_leads_to_its_strategy() {
    use Confidence::{Low, Medium, None as Nothing};
    let passed = || Check::passed(CheckName::Scope, "", "");
    let cases: Vec<(Vec<Check>, Judgement)> = vec![
        (
            vec![failed(CheckName::Harness, Blocker::CapabilityGap, "no login")],
            (Nothing, Some(Blocker::CapabilityGap), Some(Strategy::Escalate)),
        ),
        (
            vec![Check::inconclusive(CheckName::Validation.of(1), "", "timeout")],
            (Low, Some(Blocker::ToolFailure), Some(Strategy::Retry)),
        ),
        (
            vec![failed(CheckName::Commit, Blocker::Hallucination, "no such commit")],
            (Low, Some(Blocker::Hallucination), Some(Strategy::Retry)),
        ),
        (
            vec![failed(CheckName::Scope, Blocker::ScopeDrift, "1 outside")],
            (Low, Some(Blocker::ScopeDrift), Some(Strategy::Rephrase)),
        ),
        (vec![command_failed("error: x")], (Low, Some(Blocker::Partial), Some(Strategy::Retry))),
        (
            vec![failed(CheckName::Placeholders, Blocker::Partial, "todo!()")],
            (Low, Some(Blocker::Partial), Some(Strategy::Retry)),
        ),
        (
            vec![failed(CheckName::Report, Blocker::Partial, "no report")],
            (Medium, Some(Blocker::Partial), Some(Strategy::Retry)),
        ),
        (
            vec![failed(CheckName::SelfReview, Blocker::Partial, "1 of 5")],
            (Medium, Some(Blocker::Partial), Some(Strategy::Retry)),
        ),
        (
            vec![failed(CheckName::FilesChanged, Blocker::Partial, "1 not listed")],
            (Medium, Some(Blocker::Partial), Some(Strategy::Retry)),
        ),
        (vec![Check::failed(CheckName::Stale, CheckSeverity::Minor, None, "", "")], (Medium, None, None)),
        (vec![passed()], (Medium, None, None)),
    ];
    for (checks, expected) in cases {
        assert_eq!(judged(&evidence(), &checks, &History::default()), expected, "{checks:?}");
    }
}

#[test]
fn the_first_rule_that_matches_decides() {
    // In the order of the rules; each list also has all that come after it.
    let checks = [
        failed(CheckName::Harness, Blocker::CapabilityGap, "no login"),
        Check::inconclusive(CheckName::Validation.of(2), "", "timeout"),
        failed(CheckName::Commit, Blocker::Hallucination, "no such commit"),
        failed(CheckName::Scope, Blocker::ScopeDrift, "1 outside"),
        command_failed("error"),
        failed(CheckName::Report, Blocker::Partial, "no report"),
    ];
    let blockers = [
        Blocker::CapabilityGap,
        Blocker::ToolFailure,
        Blocker::Hallucination,
        Blocker::ScopeDrift,
        Blocker::Partial,
        Blocker::Partial,
    ];
    for (start, blocker) in blockers.into_iter().enumerate() {
        assert_eq!(judged(&evidence(), &checks[start..], &History::default()).1, Some(blocker), "{start}");
    }
    let mut gone = evidence();
    gone.testimony.report = Some(WorkerReport { status: WorkerStatus::Failed, ..WorkerReport::default() });
    assert_eq!(
        judged(&gone, &checks, &History::default()),
        (Confidence::None, None, Some(Strategy::Escalate))
    );
    assert_eq!(
        (ruling(&gone, &checks), ruling(&evidence(), &checks)),
        (Ruling::Escalated, Ruling::RequestChanges)
    );
}

#[test]
fn a_harness_that_failed_is_tried_again_and_then_anew() {
    let mut broken = evidence();
    broken.harness = HarnessEnd::Failed("network".into());
    assert_eq!(judged(&broken, &[], &History::default()).2, Some(Strategy::Retry));
    assert_eq!(judged(&broken, &[], &after(&broken, &[])).2, Some(Strategy::Rephrase));
    let mut incapable = evidence();
    incapable.harness = HarnessEnd::Incapable("no login".into());
    assert_eq!(judged(&incapable, &[], &History::default()).1, Some(Blocker::CapabilityGap));
}

#[test]
fn a_command_that_is_not_there_is_a_gap_and_one_that_the_worker_broke_is_not() {
    let check = [Check::inconclusive(CheckName::Validation.of(1), "exit 0", "exit 127")];
    let mut missing = evidence();
    missing.executions = vec![execution(View::Base, 127), execution(View::Result, 127)];
    assert_eq!(judged(&missing, &check, &History::default()).1, Some(Blocker::CapabilityGap));
    missing.executions = vec![execution(View::Base, 0), execution(View::Result, 127)];
    assert_eq!(judged(&missing, &check, &History::default()).1, Some(Blocker::ToolFailure));
}

#[test]
fn the_same_again_is_rephrased_once_and_then_skipped() {
    let (evidence, checks) = (evidence(), [command_failed("error: 3 failed")]);
    let mut history = after(&evidence, &checks);
    assert_eq!(
        judged(&evidence, &checks, &history),
        (Confidence::Low, Some(Blocker::Loop), Some(Strategy::Rephrase))
    );
    record(&mut history, AttemptStrategy::Rephrase, &evidence, &checks);
    assert_eq!(
        judged(&evidence, &checks, &history),
        (Confidence::Low, Some(Blocker::Loop), Some(Strategy::Skip))
    );
}

#[test]
fn another_failure_or_another_change_is_no_loop() {
    let history = after(&evidence(), &[command_failed("error: one thing")]);
    assert_eq!(
        judged(&evidence(), &[command_failed("error: quite another")], &history).1,
        Some(Blocker::Partial)
    );
    let mut other = evidence();
    other.changes.files.push(changed("src/other.js"));
    assert_eq!(judged(&other, &[command_failed("error: one thing")], &history).1, Some(Blocker::Partial));
    // A report that is sent back keeps the change set: that is asked of it.
    let report = [failed(CheckName::Report, Blocker::Partial, "no report")];
    assert_eq!(judged(&evidence(), &report, &after(&evidence(), &report)).1, Some(Blocker::Partial));
    // A new part begins anew.
    let mut history = after(&evidence(), &report[..]);
    record(&mut history, AttemptStrategy::Retry, &evidence(), &[command_failed("error: x")]);
    history.begin_subtask(Some("b".into()));
    assert_eq!(judged(&evidence(), &[command_failed("error: x")], &history).1, Some(Blocker::Partial));
}

fn with_tests(failed: &[&str]) -> Evidence {
    let mut evidence = evidence();
    let tests = ["a", "b", "c"].map(|name| {
        (name.to_owned(), if failed.contains(&name) { TestOutcome::Failed } else { TestOutcome::Passed })
    });
    let summary = TestSummary {
        failed: failed.len() as u64,
        passed: 3 - failed.len() as u64,
        tests: tests.into(),
        ..TestSummary::default()
    };
    let code = i32::from(!failed.is_empty());
    evidence.executions =
        vec![execution(View::Base, 0), Execution { summary: Some(summary), ..execution(View::Result, code) }];
    evidence
}

#[test]
fn fewer_failures_are_progress_and_a_reason_to_split() {
    let history = after(&with_tests(&["a", "b"]), &[command_failed("a failed")]);
    let mut now = with_tests(&["b"]);
    let checks = [command_failed("b failed")];
    assert_eq!(
        judged(&now, &checks, &history),
        (Confidence::Medium, Some(Blocker::Partial), Some(Strategy::Retry))
    );
    now.contract.planner = Some("planner".into());
    assert_eq!(judged(&now, &checks, &history).2, Some(Strategy::Decompose));
    assert_eq!(judged(&with_tests(&["a", "b", "c"]), &checks, &history).0, Confidence::Low);
    assert_eq!(failures(&now, &checks), BTreeSet::from(["validation/1".into(), "validation/1: b".into()]));
}

#[test]
fn progress_is_work_in_scope_that_is_new_or_fails_less() {
    let checks = [command_failed("x")];
    let first = History::default();
    assert!(progress_made(&evidence(), &checks, &first));
    assert!(!progress_made(&evidence(), &checks, &after(&evidence(), &checks)), "nothing new");
    assert!(
        progress_made(&with_tests(&["a"]), &checks, &after(&with_tests(&["a", "b"]), &checks)),
        "fewer failures"
    );
    let mut empty = evidence();
    empty.changes.files.clear();
    assert!(!progress_made(&empty, &checks, &first), "nothing changed");
    assert_eq!(
        judged(&empty, &[failed(CheckName::NotEmpty, Blocker::Hallucination, "nothing")], &first).0,
        Confidence::None
    );
    let outside = [failed(CheckName::Scope, Blocker::ScopeDrift, "1").with_evidence(["src/login.js"])];
    assert!(!progress_made(&evidence(), &outside, &first), "only out of scope");
}

#[test]
fn only_what_was_red_or_reviewed_is_highly_sure() {
    let turned = || {
        let mut evidence = evidence();
        evidence.executions = vec![execution(View::Base, 1), execution(View::Result, 0)];
        evidence
    };
    let high = |evidence: &Evidence, checks: &[Check]| {
        signal(evidence, checks, &History::default()).confidence == Confidence::High
    };
    let scope = Check::passed(CheckName::Scope, "", "");
    assert!(high(&turned(), std::slice::from_ref(&scope)));
    assert!(!high(&evidence(), std::slice::from_ref(&scope)), "green before and after proves nothing new");
    assert!(high(&evidence(), &[Check::passed(CheckName::Review, "", "")]));
    assert!(high(&evidence(), &[Check::passed(CheckName::Discriminates, "", "")]));
    let minor = Check::failed(CheckName::Stale, CheckSeverity::Minor, None, "", "");
    assert!(!high(&turned(), &[minor]));
    let mut no_base = turned();
    no_base.uses_base = false;
    let mut by_runner = turned();
    by_runner.testimony.source = ReportSource::Runner;
    let mut no_tests = turned();
    no_tests.executions[1].summary = Some(TestSummary::default());
    let mut not_there = turned();
    not_there.executions[0] = execution(View::Base, 127);
    let mut flaky = turned();
    flaky.executions.push(execution(View::Result, 1));
    for (evidence, why) in
        [(no_base, "base"), (by_runner, "report"), (no_tests, "tests"), (not_there, "127"), (flaky, "flaky")]
    {
        assert!(!high(&evidence, std::slice::from_ref(&scope)), "{why}");
    }
}

#[test]
fn a_noop_needs_a_reason_and_nothing_against_it() {
    let mut nothing = evidence();
    nothing.changes.files.clear();
    nothing.testimony.report =
        Some(WorkerReport { noop: Some("it works".into()), ..WorkerReport::default() });
    assert_eq!(ruling(&nothing, &[]), Ruling::Skipped);
    assert_eq!(ruling(&nothing, &[command_failed("red")]), Ruling::RequestChanges);
    nothing.testimony.report = Some(WorkerReport { noop: Some(" ".into()), ..WorkerReport::default() });
    assert!(!is_noop(&nothing, &[]));
    assert!(!is_noop(&evidence(), &[]) && ruling(&evidence(), &[]) == Ruling::Approve);
}

mod laws {
    use super::*;
    use proptest::prelude::{Strategy as _, prop_assert, prop_assert_eq, proptest};

    fn any_check() -> impl proptest::strategy::Strategy<Value = Check> {
        let names = proptest::sample::select(CheckName::ALL.map(|(name, _)| name).to_vec());
        let blockers =
            proptest::sample::select(vec![Blocker::Hallucination, Blocker::ScopeDrift, Blocker::Partial]);
        (names, blockers, 0..5).prop_map(|(name, blocker, kind)| match kind {
            0 => Check::passed(name, "e", "o"),
            1 => Check::skipped(name, "o"),
            2 => Check::failed(name, CheckSeverity::Minor, None, "e", "o"),
            3 => Check::inconclusive(name, "e", "o"),
            _ => failed(name, blocker, "o"),
        })
    }

    proptest! {
        #[test]
        fn a_passing_check_never_lowers_and_a_failing_one_never_raises(
            checks in proptest::collection::vec(any_check(), 0..6),
            name in proptest::sample::select(CheckName::ALL.map(|(name, _)| name).to_vec()),
        ) {
            let is_approved = |checks: &[Check]| ruling(&evidence(), checks) == Ruling::Approve;
            let before = is_approved(&checks);
            let mut more = checks.clone();
            more.push(Check::passed(name, "e", "o"));
            prop_assert_eq!(is_approved(&more), before);
            let sure = |checks: &[Check]| signal(&evidence(), checks, &History::default()).confidence;
            prop_assert!(!before || sure(&more) >= sure(&checks));
            let mut worse = checks.clone();
            worse.push(failed(name, Blocker::Partial, "o"));
            prop_assert!(!is_approved(&worse));
            let mut reversed = checks.clone();
            reversed.reverse();
            prop_assert_eq!(signal(&evidence(), &reversed, &History::default()), signal(&evidence(), &checks, &History::default()));
        }
    }
}
