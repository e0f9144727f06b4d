//! Evidence for tests: a contract with commands, and what was measured, added piece by piece.

use crate::model::change_kind::ChangeKind;
use crate::model::contract::{CommandOrigin, Contract, ValidationCommand};
use crate::model::worker_report::WorkerReport;
use crate::work::evidence::*;
use std::sync::Arc;

pub struct Sample {
    pub evidence: Evidence,
}

pub fn named(runner: &str, tests: &[(&str, TestOutcome)]) -> TestSummary {
    let count = |wanted| tests.iter().filter(|(_, outcome)| *outcome == wanted).count() as u64;
    TestSummary {
        runner: runner.to_owned(),
        passed: count(TestOutcome::Passed),
        failed: count(TestOutcome::Failed),
        skipped: count(TestOutcome::Skipped),
        tests: tests.iter().map(|(name, outcome)| ((*name).to_owned(), *outcome)).collect(),
        is_complete: true,
        ..TestSummary::default()
    }
}

pub fn state(text: &str) -> FileState {
    FileState {
        node: Node::File(Some(Arc::from(text))),
        mode: 0o644,
        hash: blake3::hash(text.as_bytes()).to_hex().to_string(),
        size: text.len() as u64,
    }
}

impl Sample {
    pub fn new(command: &str) -> Sample {
        let contract: Contract = serde_json::from_value(
            serde_json::json!({ "task": "t", "task_id": "t", "validation_commands": [] }),
        )
        .unwrap();
        let evidence = Evidence {
            contract,
            harness: HarnessEnd::Completed,
            changes: ChangeSet::default(),
            base: Base { has_all_code: true, ..Base::default() },
            testimony: Testimony::default(),
            events: Vec::new(),
            denied: Vec::new(),
            used_although_denied: Vec::new(),
            executions: Vec::new(),
            not_executed: None,
            git: GitFacts::default(),
            outside: Vec::new(),
            sandbox: "off".to_owned(),
            uses_base: true,
            plan_file: "Plans.md".to_owned(),
            tdd_enforced: false,
        };
        Sample { evidence }.command(command)
    }

    pub fn command(mut self, command: &str) -> Sample {
        self.evidence
            .contract
            .validation_commands
            .push(ValidationCommand::new(command, CommandOrigin::Contract));
        self
    }

    /// An execution of the last command.
    pub fn run(mut self, on: View, code: i32, summary: Option<TestSummary>, tail: &[&str]) -> Sample {
        let command = self.evidence.contract.validation_commands.len() - 1;
        let tail = tail.iter().map(|line| (*line).to_owned()).collect();
        self.evidence.executions.push(Execution {
            command,
            on,
            end: CommandEnd::Exited(code),
            seconds: 1.0,
            summary,
            tail,
        });
        self
    }

    pub fn base(self, code: i32, summary: TestSummary) -> Sample {
        self.run(View::Base, code, Some(summary), &[])
    }

    pub fn result(self, code: i32, summary: TestSummary) -> Sample {
        self.run(View::Result, code, Some(summary), &[])
    }

    pub fn old_tests(self, code: i32, summary: Option<TestSummary>, tail: &[&str]) -> Sample {
        self.run(View::OldTests, code, summary, tail)
    }

    fn file(mut self, path: &str, kind: ChangeKind, before: Option<&str>, after: Option<&str>) -> Sample {
        let file = ChangedFile {
            path: path.into(),
            kind,
            renamed_from: None,
            before: before.map(state),
            after: after.map(state),
        };
        self.evidence.changes.files.push(file);
        self.evidence.changes.files.sort_by(|one, other| one.path.cmp(&other.path));
        self
    }

    pub fn changed(self, path: &str, before: &str, after: &str) -> Sample {
        self.file(path, ChangeKind::Modified, Some(before), Some(after))
    }

    pub fn added(self, path: &str, after: &str) -> Sample {
        self.file(path, ChangeKind::Added, None, Some(after))
    }

    pub fn deleted(self, path: &str, before: &str) -> Sample {
        self.file(path, ChangeKind::Deleted, Some(before), None)
    }

    pub fn says(mut self, summary: &str) -> Sample {
        self.evidence.testimony.report =
            Some(WorkerReport { summary: summary.to_owned(), ..WorkerReport::default() });
        self.evidence.testimony.source = ReportSource::File;
        self
    }
}
