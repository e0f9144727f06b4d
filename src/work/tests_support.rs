//! Values that the tests of several modules begin with.

use super::evidence::{
    Base, ChangeSet, ChangedFile, CommandEnd, Evidence, Execution, FileState, GitFacts, HarnessEnd, Node,
    ReportSource, Testimony, View,
};
use super::history::History;
use super::signal::{failures, signal};
use super::signature::{change_set_hash, signature};
use crate::model::change_kind::ChangeKind;
use crate::model::contract::{
    AdvisorTerms, Budgets, CommandOrigin, Contract, ContractForm, Guard, ValidationCommand, WorkMode,
};
use crate::model::report::Usage;
use crate::model::verdict::{AttemptRecord, AttemptStrategy, Blocker, Check, CheckName, CheckSeverity};
use crate::model::worker_report::WorkerReport;
use serde_json::Map;

pub fn contract() -> Contract {
    Contract {
        task: "fix the login lockout".into(),
        task_id: "fix-login".into(),
        context: None,
        files: Some(vec!["src/".into(), "tests/".into()]),
        mode: WorkMode::Solo,
        spec_path: None,
        spec_skip_reason: None,
        validation_commands: vec![ValidationCommand::new("npm test", CommandOrigin::Contract)],
        setup: Vec::new(),
        definition_of_done: Vec::new(),
        tests: Guard::Frozen,
        validators: Guard::Frozen,
        holdout_path: None,
        tdd_required: false,
        skip_tdd_reason: None,
        prove: false,
        risk_flags: Vec::new(),
        non_goals: Vec::new(),
        effort: None,
        commit_target: None,
        review: None,
        advisor: None,
        planner: None,
        budgets: Budgets::default(),
        self_review_rules: Vec::new(),
        form: ContractForm::File,
        unknown: Map::new(),
    }
}

pub fn advisor() -> AdvisorTerms {
    AdvisorTerms { persona: "oracle".into(), enabled: true, max_consults: 3 }
}

pub fn changed(path: &str) -> ChangedFile {
    let after = Some(FileState { node: Node::File(None), mode: 0o644, hash: path.into(), size: 1 });
    ChangedFile { path: path.into(), kind: ChangeKind::Modified, renamed_from: None, before: None, after }
}

/// An attempt that changed one file and reported it.
pub fn evidence() -> Evidence {
    Evidence {
        contract: contract(),
        harness: HarnessEnd::Completed,
        changes: ChangeSet { files: vec![changed("src/login.js")], ..ChangeSet::default() },
        base: Base::default(),
        testimony: Testimony {
            source: ReportSource::File,
            report: Some(WorkerReport::default()),
            ..Testimony::default()
        },
        events: Vec::new(),
        denied: Vec::new(),
        used_although_denied: Vec::new(),
        executions: vec![execution(View::Base, 0), execution(View::Result, 0)],
        not_executed: None,
        git: GitFacts::default(),
        outside: Vec::new(),
        sandbox: "project".into(),
        uses_base: true,
        plan_file: "Plans.md".into(),
        tdd_enforced: false,
    }
}

pub fn execution(on: View, code: i32) -> Execution {
    Execution { command: 0, on, end: CommandEnd::Exited(code), seconds: 1.0, summary: None, tail: Vec::new() }
}

pub fn failed(name: CheckName, blocker: Blocker, observed: &str) -> Check {
    Check::failed(name, CheckSeverity::Major, Some(blocker), "as it should be", observed)
}

pub fn command_failed(observed: &str) -> Check {
    let check = Check::failed(
        CheckName::Validation.of(1),
        CheckSeverity::Major,
        Some(Blocker::Partial),
        "exit 0",
        "exit 1",
    );
    check.with_evidence([observed])
}

/// Adds an attempt to a history, as the loop does.
pub fn record(history: &mut History, strategy: AttemptStrategy, evidence: &Evidence, checks: &[Check]) {
    let attempt = AttemptRecord {
        number: u32::try_from(history.attempts.len()).unwrap() + 1,
        strategy,
        checks: checks.to_vec(),
        signal: signal(evidence, checks, history),
        changes: evidence.changes.files.len() as u64,
        seconds: 1.0,
        usage: Usage::default(),
        signature: signature(checks),
        change_set: change_set_hash(&evidence.changes),
    };
    history.record(attempt, failures(evidence, checks));
}
