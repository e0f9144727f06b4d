//! Tests of `next`: each kind of failure with its step, and the budgets.

use super::*;
use crate::model::contract::ReviewTerms;
use crate::model::verdict::CheckSeverity;
use crate::model::worker_report::{ADVISOR_RESPONSE, AdvisorResponse, WorkerReport, WorkerStatus};
use crate::work::signal::signal;
use crate::work::tests_support::{advisor, changed, command_failed, evidence, failed, record};

/// Records an attempt and asks what is next, as the loop does.
fn step(evidence: &Evidence, checks: &[Check], history: &mut History, strategy: AttemptStrategy) -> Next {
    let signal = signal(evidence, checks, history);
    record(history, strategy, evidence, checks);
    next(&evidence.contract, evidence, checks, &signal, history)
}

fn first_step(evidence: &Evidence, checks: &[Check]) -> Next {
    step(evidence, checks, &mut History::default(), AttemptStrategy::First)
}

fn attempt(next: Next) -> NextAttempt {
    match next {
        Next::Attempt(attempt) => attempt,
        other => panic!("no attempt: {other:?}"),
    }
}

fn stop(next: Next) -> Stop {
    match next {
        Next::Stop(stop) => stop,
        other => panic!("no stop: {other:?}"),
    }
}

fn consult(next: Next) -> AdvisorRequest {
    match next {
        Next::Consult(request) => request,
        other => panic!("no consult: {other:?}"),
    }
}

fn response(decision: AdvisorDecision) -> AdvisorResponse {
    AdvisorResponse {
        schema_version: ADVISOR_RESPONSE.into(),
        decision,
        summary: "s".into(),
        executor_instructions: vec!["look at the clock".into()],
        confidence: 0.5,
        stop_reason: Some("a person has to choose".into()),
    }
}

/// Attempts that differ, so that they are no loop.
fn varied(number: usize) -> (Evidence, Vec<Check>) {
    let mut evidence = evidence();
    evidence.changes.files.push(changed(&format!("src/{number}.js")));
    let words = ["apple", "pear", "plum", "cherry", "grape"];
    (evidence, vec![command_failed(&format!("error: {}", words[number % words.len()]))])
}

#[test]
fn each_kind_of_failure_has_its_step() {
    use AttemptStrategy::{Rephrase, ReportOnly, Retry};
    let cases = [
        (failed(CheckName::Commit, Blocker::Hallucination, "no such commit"), Retry, "claimed or required"),
        (
            failed(CheckName::Scope, Blocker::ScopeDrift, "1 outside"),
            Rephrase,
            "Files you may change: src/, tests/",
        ),
        (command_failed("error: boom"), Retry, "not done yet"),
        (
            Check::inconclusive(CheckName::Validation.of(1), "exit 0", "timeout"),
            Retry,
            "Go on from the files",
        ),
        (failed(CheckName::Report, Blocker::Partial, "no report"), ReportOnly, "Do not change any file"),
        (failed(CheckName::SelfReview, Blocker::Partial, "1 of 5"), ReportOnly, "Do not change any file"),
    ];
    for (check, strategy, text) in cases {
        let next = attempt(first_step(&evidence(), std::slice::from_ref(&check)));
        assert_eq!(next.strategy, strategy, "{check:?}");
        assert!(next.prompt.contains(text), "{}", next.prompt);
        assert_eq!(next.resumes_conversation(), strategy != Rephrase);
    }
    let gap = failed(CheckName::Harness, Blocker::CapabilityGap, "no login");
    assert_eq!(stop(first_step(&evidence(), &[gap])).ruling, Ruling::Escalated);
}

#[test]
fn what_holds_is_approved_and_a_noop_is_skipped() {
    assert_eq!(first_step(&evidence(), &[Check::passed(CheckName::Scope, "", "")]), Next::Approve);
    let minor = Check::failed(CheckName::Stale, CheckSeverity::Minor, None, "", "");
    assert_eq!(first_step(&evidence(), &[minor]), Next::Approve);
    let mut nothing = evidence();
    nothing.changes.files.clear();
    nothing.testimony.report =
        Some(WorkerReport { noop: Some("it works".into()), ..WorkerReport::default() });
    assert_eq!(first_step(&nothing, &[]), Next::NoopSkipped);
}

#[test]
fn a_worker_that_gives_up_is_held_even_if_all_checks_pass() {
    let mut evidence = evidence();
    for status in [WorkerStatus::Failed, WorkerStatus::Escalated] {
        let report = WorkerReport {
            status,
            escalation_reason: Some("the spec is wrong".into()),
            ..WorkerReport::default()
        };
        evidence.testimony.report = Some(report);
        let stop = stop(first_step(&evidence, &[]));
        assert_eq!((stop.ruling, stop.held), (Ruling::Escalated, true));
        assert!(stop.reason.contains("the spec is wrong"));
    }
}

#[test]
fn what_is_out_of_scope_is_put_back() {
    let mut evidence = evidence();
    evidence.changes.files.push(changed("docs/x.md"));
    let scope = failed(CheckName::Scope, Blocker::ScopeDrift, "1 outside").with_evidence(["docs/x.md"]);
    let next = attempt(first_step(&evidence, &[scope]));
    assert_eq!(next.put_back, [RawPath::from("docs/x.md")]);
    assert!(
        next.prompt.contains("Put back as they were, leave them alone: docs/x.md")
            && next.prompt.contains("fix the login lockout")
    );
}

#[test]
fn a_loop_is_rephrased_and_then_skipped() {
    let (mut evidence, checks, mut history) = (evidence(), [command_failed("error: x")], History::default());
    evidence.contract.budgets.attempts = 9;
    assert_eq!(
        attempt(step(&evidence, &checks, &mut history, AttemptStrategy::First)).strategy,
        AttemptStrategy::Retry
    );
    let rephrased = attempt(step(&evidence, &checks, &mut history, AttemptStrategy::Retry));
    assert_eq!(rephrased.strategy, AttemptStrategy::Rephrase);
    assert!(rephrased.prompt.contains("another approach"), "{}", rephrased.prompt);
    let stop = stop(step(&evidence, &checks, &mut history, AttemptStrategy::Rephrase));
    assert_eq!((stop.ruling, stop.warn, stop.held), (Ruling::Skipped, true, true));
}

#[test]
fn a_harness_that_fails_is_retried_then_rephrased_and_a_stall_escalates() {
    let mut evidence = evidence();
    evidence.harness = HarnessEnd::Failed("exit 1".into());
    let mut history = History { stalls: 1, ..History::default() };
    assert_eq!(
        attempt(step(&evidence, &[], &mut history, AttemptStrategy::First)).strategy,
        AttemptStrategy::Retry
    );
    assert_eq!(
        attempt(step(&evidence, &[], &mut history, AttemptStrategy::Retry)).strategy,
        AttemptStrategy::Rephrase
    );
    let mut history = History { stalls: 2, ..History::default() };
    assert_eq!(stop(step(&evidence, &[], &mut history, AttemptStrategy::Retry)).ruling, Ruling::Escalated);
}

#[test]
fn attempts_are_bounded_and_what_has_progress_is_held() {
    let mut history = History::default();
    for number in 0..2 {
        let (evidence, checks) = varied(number);
        attempt(step(&evidence, &checks, &mut history, AttemptStrategy::Retry));
    }
    let (evidence, checks) = varied(2);
    let end = stop(step(&evidence, &checks, &mut history, AttemptStrategy::Retry));
    assert_eq!((end.ruling, end.held, end.warn), (Ruling::RequestChanges, true, false));
    assert!(
        end.reason.starts_with("Did not converge after maximum 3 automatic fix attempts\n"),
        "{}",
        end.reason
    );
    assert_eq!(end.reason.lines().filter(|line| line.starts_with("tried ")).count(), 3);
    // Another budget is in the text.
    let mut evidence = evidence;
    evidence.contract.budgets.attempts = 1;
    let end = stop(first_step(&evidence, &checks));
    assert!(end.reason.contains("maximum 1 automatic"), "{}", end.reason);
}

#[test]
fn without_progress_it_is_skipped_with_a_warning() {
    let mut evidence = evidence();
    evidence.changes.files.clear();
    evidence.contract.budgets.attempts = 1;
    let end = stop(first_step(
        &evidence,
        &[failed(CheckName::NotEmpty, Blocker::Hallucination, "nothing changed")],
    ));
    assert_eq!((end.ruling, end.held, end.warn), (Ruling::Skipped, false, true));
}

#[test]
fn reports_are_returned_so_many_times_and_are_no_attempts() {
    let report = [failed(CheckName::Report, Blocker::Partial, "no report")];
    let mut history = History::default();
    let mut strategy = AttemptStrategy::First;
    for _ in 0..2 {
        let next = attempt(step(&evidence(), &report, &mut history, strategy));
        assert_eq!(next.strategy, AttemptStrategy::ReportOnly);
        strategy = next.strategy;
    }
    assert_eq!(history.attempts_used(), 1);
    let end = stop(step(&evidence(), &report, &mut history, strategy));
    assert_eq!((end.ruling, end.held), (Ruling::RequestChanges, true));
}

#[test]
fn money_and_time_bound_everything() {
    let mut evidence = evidence();
    evidence.contract.budgets.usd = Some(1.0);
    evidence.contract.budgets.wall_seconds = Some(60.0);
    let checks = [command_failed("error")];
    attempt(step(
        &evidence,
        &checks,
        &mut History { spent_usd: 0.9, ..History::default() },
        AttemptStrategy::First,
    ));
    for mut history in [
        History { spent_usd: 1.0, ..History::default() },
        History { elapsed_seconds: 61.0, ..History::default() },
    ] {
        let end = stop(step(&evidence, &checks, &mut history, AttemptStrategy::First));
        assert_eq!((end.ruling, end.held), (Ruling::RequestChanges, true));
        assert!(end.reason.contains("used up"), "{}", end.reason);
        // What holds is approved all the same: it costs nothing more.
        assert_eq!(step(&evidence, &[], &mut history.clone(), AttemptStrategy::Retry), Next::Approve);
    }
}

#[test]
fn a_new_part_is_as_free_as_the_first() {
    let (evidence, checks, mut history) = (evidence(), [command_failed("error: x")], History::default());
    let fresh = first_step(&evidence, &checks);
    for number in 0..3 {
        let (evidence, checks) = varied(number);
        step(&evidence, &checks, &mut history, AttemptStrategy::Retry);
    }
    history.begin_subtask(Some("two".into()));
    assert_eq!(step(&evidence, &checks, &mut history, AttemptStrategy::Subtask), fresh);
}

#[test]
fn risk_flags_and_the_mark_ask_before_launch_and_only_once() {
    let mut contract = evidence().contract;
    assert_eq!(launch_step(&contract, &History::default()), None);
    contract.advisor = Some(advisor());
    for (flags, context, reason) in [
        (vec!["security-sensitive".to_owned()], None, AdvisorReason::SecuritySensitive),
        (vec!["state_migration".into(), "other".into()], None, AdvisorReason::StateMigration),
        (vec!["something".into()], None, AdvisorReason::AdvisorRequired),
        (vec![], Some("x <!-- advisor:required --> y".to_owned()), AdvisorReason::AdvisorRequired),
    ] {
        contract.risk_flags = flags;
        contract.context = context;
        let request = consult(launch_step(&contract, &History::default()).unwrap());
        assert_eq!(request.reason_code, reason);
        assert!(request.trigger_hash.starts_with(&format!("fix-login:{}:", reason.text())));
        let mut history = History::default();
        history.record_consult(request.trigger_hash.clone(), reason, Some(response(AdvisorDecision::Plan)));
        assert_eq!(launch_step(&contract, &history), None);
        assert!(first_prompt(&contract, &history).starts_with("Advice"));
        let mut stopped = History::default();
        stopped.record_consult(request.trigger_hash.clone(), reason, Some(response(AdvisorDecision::Stop)));
        assert_eq!(stop(launch_step(&contract, &stopped).unwrap()).ruling, Ruling::Escalated);
        // One that gives no answer is not asked again: the request is the answer.
        let mut silent = History::default();
        silent.record_consult(request.trigger_hash, reason, None);
        assert_eq!(stop(launch_step(&contract, &silent).unwrap()).ruling, Ruling::Advisor);
        let nobody = Contract { advisor: None, ..contract.clone() };
        let end = stop(launch_step(&nobody, &History::default()).unwrap());
        assert!(end.ruling == Ruling::Advisor && end.request.is_some() && !end.held);
    }
}

#[test]
fn the_same_signature_twice_asks_the_advisor_once_before_the_rephrase() {
    let (mut evidence, checks, mut history) = (evidence(), [command_failed("error: x")], History::default());
    evidence.contract.advisor = Some(advisor());
    evidence.contract.budgets.attempts = 9;
    attempt(step(&evidence, &checks, &mut history, AttemptStrategy::First));
    let signal = signal(&evidence, &checks, &history);
    let request = consult(step(&evidence, &checks, &mut history, AttemptStrategy::Retry));
    assert_eq!(request.reason_code, AdvisorReason::RetryThreshold);
    assert_eq!(
        request.trigger_hash,
        format!("fix-login:retry-threshold:{}", history.attempts[1].signature.as_ref().unwrap())
    );
    for answer in [Some(response(AdvisorDecision::Correction)), None] {
        let mut history = history.clone();
        let advised = answer.is_some();
        history.record_consult(request.trigger_hash.clone(), request.reason_code, answer);
        let next = attempt(next(&evidence.contract, &evidence, &checks, &signal, &history));
        assert_eq!(next.strategy, AttemptStrategy::Rephrase);
        assert_eq!(next.prompt.contains("look at the clock"), advised);
    }
    history.record_consult(request.trigger_hash, request.reason_code, Some(response(AdvisorDecision::Stop)));
    let end = stop(next(&evidence.contract, &evidence, &checks, &signal, &history));
    assert_eq!((end.ruling, end.held), (Ruling::Escalated, true));
    assert!(end.reason.contains("a person has to choose"));
}

#[test]
fn consults_are_bounded() {
    let (mut evidence, checks, mut history) = (evidence(), [command_failed("error: x")], History::default());
    evidence.contract.advisor = Some(crate::model::contract::AdvisorTerms { max_consults: 1, ..advisor() });
    history.record_consult("other".into(), AdvisorReason::NeedsSpike, None);
    attempt(step(&evidence, &checks, &mut history, AttemptStrategy::First));
    attempt(step(&evidence, &checks, &mut history, AttemptStrategy::Retry));
    evidence.contract.advisor = Some(crate::model::contract::AdvisorTerms { enabled: false, ..advisor() });
    assert!(!can_consult(&evidence.contract, &History::default()));
}

#[test]
fn a_nested_repository_asks_once_with_its_own_hash() {
    let mut evidence = evidence();
    let checks =
        [failed(CheckName::NestedRepo, Blocker::Partial, "lib is a repository").with_evidence(["lib"])];
    let end = stop(first_step(&evidence, &checks));
    assert_eq!((end.ruling, end.held), (Ruling::Advisor, true));
    assert_eq!(end.request.unwrap().trigger_hash, "fix-login:needs-spike:embedded-git-repo");
    evidence.contract.advisor = Some(advisor());
    let request = consult(first_step(&evidence, &checks));
    let mut history = History::default();
    history.record_consult(request.trigger_hash, request.reason_code, Some(response(AdvisorDecision::Plan)));
    assert_eq!(stop(step(&evidence, &checks, &mut history, AttemptStrategy::Retry)).ruling, Ruling::Advisor);
}

#[test]
fn a_question_of_the_worker_is_asked_and_its_hash_is_ours() {
    let mut evidence = evidence();
    evidence.testimony.report = None;
    evidence.testimony.request = Some(AdvisorRequest {
        schema_version: ADVISOR_REQUEST.into(),
        task_id: "forged".into(),
        reason_code: AdvisorReason::PivotRequired,
        trigger_hash: "forged".into(),
        question: "which database?".into(),
        attempt: 99,
        last_error: String::new(),
        context_summary: vec!["a".into()],
    });
    let checks = [failed(CheckName::Report, Blocker::Partial, "a question")];
    assert_eq!(stop(first_step(&evidence, &checks)).ruling, Ruling::Advisor);
    evidence.contract.advisor = Some(advisor());
    let mut history = History::default();
    let request = consult(step(&evidence, &checks, &mut history, AttemptStrategy::First));
    assert!(
        request.trigger_hash.starts_with("fix-login:pivot-required:")
            && request.task_id == "fix-login"
            && request.attempt == 1
    );
    history.record_consult(
        request.trigger_hash,
        request.reason_code,
        Some(response(AdvisorDecision::Correction)),
    );
    let signal = signal(&evidence, &checks, &History::default());
    let going_on = attempt(next(&evidence.contract, &evidence, &checks, &signal, &history));
    assert_eq!(going_on.strategy, AttemptStrategy::Retry);
    assert!(going_on.prompt.contains("look at the clock"));
    // The same question again is not asked again.
    assert_eq!(stop(step(&evidence, &checks, &mut history, AttemptStrategy::Retry)).ruling, Ruling::Advisor);
}

#[test]
fn a_reviewer_is_asked_when_all_else_holds_and_again_if_it_gave_no_answer() {
    let mut evidence = evidence();
    evidence.contract.review =
        Some(ReviewTerms { persona: "critic".into(), required: true, max_iterations: 2 });
    assert_eq!(first_step(&evidence, &[]), Next::Review);
    assert_eq!(attempt(first_step(&evidence, &[command_failed("error")])).strategy, AttemptStrategy::Retry);
    let approved = Check::passed(CheckName::Review, "", "");
    assert_eq!(first_step(&evidence, &[approved]), Next::Approve);
    let silent = [Check::inconclusive(CheckName::Review, "", "no answer")];
    let mut history = History { reviews: 1, ..History::default() };
    assert_eq!(step(&evidence, &silent, &mut history, AttemptStrategy::First), Next::Review);
    let refused = [failed(CheckName::Review, Blocker::Partial, "1 change")
        .with_evidence(["major src/login.js:3: off by one"])];
    let mut history = History { reviews: 1, ..History::default() };
    let next = attempt(step(&evidence, &refused, &mut history, AttemptStrategy::First));
    assert!(next.prompt.contains("off by one"), "{}", next.prompt);
    for checks in [&silent, &refused] {
        let mut history = History { reviews: 2, ..History::default() };
        let end = stop(step(&evidence, checks, &mut history, AttemptStrategy::First));
        assert_eq!((end.ruling, end.held), (Ruling::RequestChanges, true));
    }
}

#[test]
fn a_task_is_split_once_and_parts_are_not() {
    let mut evidence = evidence();
    evidence.contract.planner = Some("planner".into());
    let checks = [command_failed("error")];
    let signal = Signal {
        confidence: crate::model::verdict::Confidence::Medium,
        progress_made: true,
        blocker_type: Some(Blocker::Partial),
        suggested_strategy: Some(Strategy::Decompose),
    };
    let ask = |history: &History| next(&evidence.contract, &evidence, &checks, &signal, history);
    assert_eq!(ask(&History::default()), Next::Decompose);
    for history in [
        History { decompositions: 1, ..History::default() },
        History { subtask: Some("a".into()), ..History::default() },
    ] {
        assert_eq!(attempt(ask(&history)).strategy, AttemptStrategy::Retry);
    }
}
