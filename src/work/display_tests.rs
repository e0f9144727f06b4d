//! Tests of `display`.

use super::*;
use crate::model::contract::ValidationCommand;
use crate::model::report::{ReportedApply, Usage};
use crate::model::verdict::{AttemptStrategy, Blocker, CheckSeverity, ContractRef, Signal};
use crate::work::tests_support::{contract, failed};
use serde_json::json;

fn signal(confidence: Confidence, strategy: Option<Strategy>) -> Signal {
    Signal {
        confidence,
        progress_made: true,
        blocker_type: strategy.map(|_| Blocker::Partial),
        suggested_strategy: strategy,
    }
}

fn attempt(number: u32, strategy: Option<Strategy>, checks: Vec<Check>) -> AttemptRecord {
    AttemptRecord {
        number,
        strategy: AttemptStrategy::Retry,
        checks,
        signal: signal(Confidence::Low, strategy),
        changes: 1,
        seconds: 124.0,
        usage: Usage { cost_usd: Some(0.28), ..Usage::default() },
        signature: None,
        change_set: String::new(),
    }
}

fn verdict(ruling: Ruling, status: ApplyStatus, checks: Vec<Check>, attempts: Vec<AttemptRecord>) -> Verdict {
    Verdict {
        schema_version: 1,
        contract: ContractRef { id: "fix-login".into(), sha256: String::new() },
        session: Some("worker-7f3a".into()),
        persona: Some("worker".into()),
        verdict: ruling,
        checks,
        signal: signal(if ruling == Ruling::Approve { Confidence::High } else { Confidence::Low }, None),
        attempts,
        cost_usd: None,
        advice: Vec::new(),
        review: None,
        apply: ReportedApply { status },
        report: Some(json!({"files_changed": ["src/login.js"]})),
        followups: Vec::new(),
        warnings: Vec::new(),
    }
}

fn text(lines: &[DisplayLine]) -> String {
    lines.iter().map(|line| format!("{}\n", line.text)).collect()
}

const FACTS: DisplayFacts = DisplayFacts { harness: Some("claude"), seconds: None, cost_usd: None };

#[test]
fn what_was_refused_shows_claims_beside_measures_attempts_and_how_to_go_on() {
    let red = |observed: &str| {
        Check::failed(
            CheckName::Validation.of(1),
            CheckSeverity::Major,
            Some(Blocker::Partial),
            "exit 0",
            observed,
        )
    };
    let checks = vec![
        failed(CheckName::FilesChanged, Blocker::Partial, "also src/api.js +2, not reported"),
        Check::passed(CheckName::Scope, "", "2 of 2"),
        red("exit 1, 2 of 48 failed").with_evidence(["rejects expired token: regression"]),
        Check::passed(CheckName::Validators, "", "untouched"),
        Check::passed(CheckName::Tools, "", "none"),
    ];
    let attempts = vec![
        attempt(1, Some(Strategy::Retry), vec![red("4 failed")]),
        attempt(2, Some(Strategy::Retry), vec![red("2 failed")]),
        attempt(
            3,
            Some(Strategy::Rephrase),
            vec![red("2 failed"), failed(CheckName::Report, Blocker::Partial, "x")],
        ),
    ];
    let shown = text(&verdict_lines(
        &verdict(Ruling::RequestChanges, ApplyStatus::Held, checks, attempts),
        &contract(),
        &FACTS,
    ));
    let expected = "\
✗ Not approved · fix-login · worker (claude) · 3 of 3 attempts · 6m12s · $0.84

  claimed                    measured
✗ changed src/login.js       also src/api.js +2, not reported
✓ allowed files only         2 of 2
✗ npm test                   exit 1, 2 of 48 failed
    rejects expired token: regression
· validators, lockfiles      untouched

    1 retry      validation/1: 4 failed
    2 retry      validation/1: 2 failed
    3 rephrase   validation/1: 2 failed (and 1 more)

  Your project is unchanged; the work is held.
  diff   agentworkforce sessions diff worker-7f3a
  go on  agentworkforce work --resume worker-7f3a --attempts 2
";
    assert_eq!(shown, expected);
}

#[test]
fn what_was_approved_says_why_and_what_was_not_judged() {
    let checks = vec![
        Check::passed(CheckName::FilesChanged, "", "src/login.js +9 −3"),
        Check::passed(CheckName::Validation.of(1), "", "49 passed (8.1s)"),
        Check::passed(CheckName::Discriminates, "", "login.test.js was red before and is green now"),
    ];
    let attempts = vec![
        attempt(
            1,
            Some(Strategy::Retry),
            vec![failed(CheckName::Validation, Blocker::Hallucination, "1 failed")],
        ),
        attempt(2, None, checks.clone()),
    ];
    let shown = text(&verdict_lines(
        &verdict(Ruling::Approve, ApplyStatus::Applied, checks, attempts),
        &contract(),
        &FACTS,
    ));
    let expected = "\
✓ Approved · fix-login · worker (claude) · attempt 2 of 3 · 4m08s · $0.56
  Confidence high: login.test.js was red before and is green now.

  claimed                    measured
✓ changed src/login.js       src/login.js +9 −3
✓ npm test                   49 passed (8.1s)
✓ red before, green now      login.test.js was red before and is green now
  Attempt 1 refused: validation: 1 failed.
  Not judged: quality (add --review code-reviewer).

  The changes are in your project.
  undo   agentworkforce sessions undo worker-7f3a
";
    assert_eq!(shown, expected);
}

#[test]
fn a_long_heading_goes_on_below_and_keeps_time_and_cost() {
    let mut contract = contract();
    contract.task_id = "a-task-id-that-is-as-long-as-they-get-when-made-of-words".into();
    let mut verdict =
        verdict(Ruling::Approve, ApplyStatus::Applied, Vec::new(), vec![attempt(1, None, Vec::new())]);
    verdict.persona = Some("a-persona-with-a-long-name".into());
    let facts = DisplayFacts { harness: Some("opencode"), seconds: Some(70.0), cost_usd: Some(0.42) };
    let shown: Vec<String> =
        verdict_lines(&verdict, &contract, &facts).into_iter().map(|line| line.text).collect();
    assert_eq!(
        shown[..2],
        [
            "✓ Approved · a-task-id-that-is-as-long-as-they-get-when-made-of-words".to_owned(),
            "  a-persona-with-a-long-name (opencode) · attempt 1 of 3 · 1m10s · $0.42".to_owned(),
        ]
    );
}

#[test]
fn every_line_fits_whatever_is_in_it() {
    for hostile in [
        "x".repeat(100_000),
        "日本".repeat(500),
        "a b ".repeat(10_000),
        "\u{1b}[2J\n\r\u{202e}".repeat(50),
        "🎉é\u{301}".repeat(200),
    ] {
        let check =
            failed(CheckName::Commit, Blocker::Hallucination, &hostile).with_evidence([hostile.clone()]);
        let attempts = vec![attempt(1, None, vec![check.clone()]), attempt(2, None, vec![check.clone()])];
        let mut verdict = verdict(Ruling::Escalated, ApplyStatus::Held, vec![check], attempts);
        verdict.report = Some(json!({"files_changed": [hostile]}));
        verdict.followups = vec![hostile.clone()];
        let mut contract = contract();
        contract.task = hostile.clone();
        contract.task_id = hostile.clone();
        contract.files = Some(vec![hostile.clone()]);
        contract.validation_commands =
            vec![ValidationCommand::new(hostile.clone(), CommandOrigin::Found(hostile.clone()))];
        for line in verdict_lines(&verdict, &contract, &FACTS)
            .iter()
            .chain(&contract_lines(&contract, &[CheckName::Scope]))
        {
            assert!(line.text.width() <= WIDTH, "{} {:?}", line.text.width(), line.text);
            assert!(!line.text.contains(|c: char| c.is_control() || c == '\u{202e}'), "{:?}", line.text);
        }
    }
}

#[test]
fn a_dry_run_says_commands_with_their_reason_files_budgets_and_checks() {
    let mut contract = contract();
    contract
        .validation_commands
        .push(ValidationCommand::new("cargo test", CommandOrigin::Found("Cargo.toml is there".into())));
    let all: Vec<CheckName> = CheckName::ALL.iter().map(|(name, _)| *name).collect();
    let shown = text(&contract_lines(&contract, &all));
    for part in [
        "npm test",
        "from the contract",
        "Cargo.toml is there",
        "src/, tests/",
        "3 attempts",
        "depends-on-ignored",
        "review",
    ] {
        assert!(shown.contains(part), "{part} is missing in {shown}");
    }
}
