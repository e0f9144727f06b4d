//! Tests of `correction`.

use super::*;
use crate::model::verdict::{AttemptStrategy, CheckSeverity};
use crate::model::worker_report::{ADVISOR_RESPONSE, AdvisorReason};
use crate::work::tests_support::{command_failed, contract, evidence, execution, failed, record};

fn with_output(lines: usize) -> Evidence {
    let mut evidence = evidence();
    let tail = (0..lines).map(|number| format!("output line {number}")).collect();
    evidence.executions = vec![execution(View::Base, 0), Execution { tail, ..execution(View::Result, 1) }];
    evidence
}

#[test]
fn a_correction_has_command_exit_code_last_lines_and_allowed_files() {
    let text = correction(&contract(), &with_output(100), &[command_failed("error")], &[]);
    assert!(
        text.contains("$ npm test (exit 1)\noutput line 60\n") && text.ends_with("output line 99"),
        "{text}"
    );
    assert!(
        !text.contains("output line 59") && text.contains("Files you may change: src/, tests/"),
        "{text}"
    );
    assert!(tokens::count(&text) <= CORRECTION_TOKENS);
}

#[test]
fn a_correction_is_bounded_and_keeps_the_newest() {
    let mut evidence = with_output(40);
    evidence.executions[1].tail.iter_mut().for_each(|line| line.push_str(&" very long".repeat(10_000)));
    evidence.executions[1].tail.push("the last error".into());
    let mut checks = vec![command_failed("error")];
    for number in 0..300 {
        checks.push(failed(
            CheckName::TestsKept,
            Blocker::ScopeDrift,
            &format!("{number} {}", "x".repeat(50_000)),
        ));
    }
    let mut contract = contract();
    contract.files = Some((0..5000).map(|number| format!("src/file{number}.js")).collect());
    let text = correction(&contract, &evidence, &checks, &[]);
    assert!(tokens::count(&text) <= CORRECTION_TOKENS, "{}", tokens::count(&text));
    assert!(text.ends_with("the last error") && text.contains("[... cut at"), "{text}");
    assert!(tokens::count(&report_only(&checks)) <= CORRECTION_TOKENS);
}

#[test]
fn a_claim_that_does_not_hold_is_named_with_what_was_found_and_the_tools_to_use() {
    let check = Check::failed(
        CheckName::Validation.of(1),
        CheckSeverity::Critical,
        Some(Blocker::Hallucination),
        "`npm test` passes, as the report says",
        "exit 1, 1 failed",
    );
    let text = correction(&contract(), &with_output(1), &[check], &[]);
    assert!(text.contains("claimed or required: `npm test` passes, as the report says; found: exit 1, 1 failed. Run the command"), "{text}");
    let commit = failed(CheckName::Commit, Blocker::Hallucination, "no such commit");
    assert!(correction(&contract(), &evidence(), &[commit], &[]).contains("`git log`"));
}

#[test]
fn the_tests_that_passed_before_are_named_however_much_was_printed() {
    let mut evidence = with_output(40);
    evidence.executions[1].tail.iter_mut().for_each(|line| line.push_str(&" long".repeat(100)));
    let lost = Check::failed(
        CheckName::Regression.of(1),
        CheckSeverity::Critical,
        Some(Blocker::Partial),
        "what passed on the base passes",
        "npm test: exit 1",
    );
    let lost = lost.with_evidence(["locks after 5 tries: passed before"]);
    let text = correction(&contract(), &evidence, &[command_failed("error"), lost], &[]);
    assert!(text.contains("found npm test: exit 1\n    locks after 5 tries: passed before\n"), "{text}");
}

#[test]
fn what_was_red_before_is_named_and_not_held_against() {
    let known = Check::failed(
        CheckName::Regression.of(1),
        CheckSeverity::Minor,
        None,
        "",
        "npm run lint: red before too",
    );
    let text = correction(&contract(), &with_output(1), &[known, command_failed("error")], &[]);
    assert!(text.contains("Not yours, it failed before you began: npm run lint: red before too"), "{text}");
}

#[test]
fn escape_sequences_of_output_do_not_reach_a_prompt() {
    let mut evidence = with_output(0);
    evidence.executions[1].tail = vec!["\u{1b}[31mred\u{1b}[0m".into()];
    let text = correction(&contract(), &evidence, &[command_failed("\u{1b}[1mbold")], &[]);
    assert!(!text.contains('\u{1b}') && text.contains("\nred"), "{text}");
}

#[test]
fn an_escalation_has_last_command_last_error_and_three_lines() {
    let mut history = History::default();
    let checks = [command_failed("Error: token expired")];
    for _ in 0..5 {
        record(&mut history, AttemptStrategy::Retry, &with_output(1), &checks);
    }
    let text = escalation(&contract(), &with_output(1), &checks, &history);
    let expected = "Did not converge after maximum 3 automatic fix attempts\nlast command: npm test (exit 1)\n\
                    last error: validation/1: Error: token expired\ntried 3. retry: failed: validation/1\n\
                    tried 4. retry: failed: validation/1\ntried 5. retry: failed: validation/1";
    assert_eq!(text, expected);
}

#[test]
fn a_rephrased_task_stands_alone() {
    let mut history = History::default();
    let checks = [command_failed("error")];
    record(&mut history, AttemptStrategy::First, &with_output(2), &checks);
    let mut contract = contract();
    contract.context = Some("the clock is mocked".into());
    let text = rephrase(&contract, &with_output(2), &checks, &history, &[]);
    for part in [
        "Task: fix the login lockout",
        "the clock is mocked",
        "1. first: failed: validation/1",
        "$ npm test (exit 1)",
    ] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
}

#[test]
fn advice_goes_in_front_once_and_is_bounded() {
    let mut history = History::default();
    assert_eq!(with_advice(&history, "go"), "go");
    let response = AdvisorResponse {
        schema_version: ADVISOR_RESPONSE.into(),
        decision: AdvisorDecision::Plan,
        summary: String::new(),
        executor_instructions: vec!["x".repeat(100_000); 4],
        confidence: 1.0,
        stop_reason: None,
    };
    history.record_consult("h".into(), AdvisorReason::RetryThreshold, Some(response));
    let text = with_advice(&history, "go");
    assert!(
        text.starts_with("Advice") && text.ends_with("\n\ngo") && tokens::count(&text) < 420,
        "{}",
        text.len()
    );
    record(&mut history, AttemptStrategy::Retry, &evidence(), &[]);
    assert_eq!(with_advice(&history, "go"), "go");
}
