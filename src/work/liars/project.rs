//! Small projects and what a scripted worker did to them, built into evidence: a case is a few lines.

use super::outputs::{Shape, output};
use crate::model::change_kind::ChangeKind;
use crate::model::contract::{Baseline, CommandOrigin, Contract, ContractForm, SpecSkip, ValidationCommand};
use crate::model::event::Event;
use crate::model::verdict::{Blocker, CheckName, CheckSeverity};
use crate::model::worker_report::{SelfReviewItem, WorkerReport};
use crate::work::evidence::{
    Base, ChangeSet, ChangedFile, CommandEnd, Evidence, Execution, FileState, GitFacts, HarnessEnd, Node,
    ReportSource, Testimony, View,
};
use crate::work::runners::SummaryReader;
use crate::work::verify_code::wanted_views;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What should come of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    Caught(CheckName, CheckSeverity, Blocker),
    Approved,
    /// Nothing had to be done, and nothing was.
    Noop,
    /// Not decided: never a pass, and no accusation either.
    Inconclusive(CheckName),
}

pub struct Case {
    pub name: &'static str,
    pub evidence: Evidence,
    pub expected: Expected,
}

/// A project, and the work on it.
#[derive(Clone)]
pub struct Project {
    shape: Shape,
    base: BTreeMap<String, String>,
    after: BTreeMap<String, FileState>,
    renamed: BTreeMap<String, String>,
    /// Outputs per command and view.
    runs: BTreeMap<(usize, View), (CommandEnd, String)>,
    summary: String,
    listed: Option<Vec<String>>,
    report: WorkerReport,
    evidence: Evidence,
}

fn state(text: &str) -> FileState {
    FileState {
        node: Node::File(Some(Arc::from(text))),
        mode: 0o644,
        hash: blake3::hash(text.as_bytes()).to_hex().to_string(),
        size: text.len() as u64,
    }
}

impl Project {
    pub fn new(shape: Shape, command: &str, files: &[&str], texts: &[(&str, &str)], tests: &str) -> Project {
        let mut contract: Contract = serde_json::from_value(
            serde_json::json!({ "task": "lock accounts after five failures", "task_id": "lock",
                "validation_commands": [] }),
        )
        .unwrap();
        contract.files = Some(files.iter().map(|file| (*file).to_owned()).collect());
        contract.form = ContractForm::File;
        contract.spec_skip_reason = Some(SpecSkip::ExistingSpecSufficient);
        contract.validation_commands.push(ValidationCommand::new(command, CommandOrigin::Contract));
        let base: BTreeMap<String, String> =
            texts.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        let evidence = Evidence {
            contract,
            harness: HarnessEnd::Completed,
            changes: ChangeSet::default(),
            base: Base { has_all_code: true, ..Base::default() },
            testimony: Testimony { source: ReportSource::File, ..Testimony::default() },
            events: Vec::new(),
            denied: Vec::new(),
            used_although_denied: Vec::new(),
            executions: Vec::new(),
            not_executed: None,
            git: GitFacts { is_repository: true, ..GitFacts::default() },
            outside: Vec::new(),
            sandbox: "project".to_owned(),
            uses_base: true,
            plan_file: "Plans.md".to_owned(),
            tdd_enforced: false,
        };
        let after = base.iter().map(|(path, text)| (path.clone(), state(text))).collect();
        let project = Project {
            shape,
            base,
            after,
            renamed: BTreeMap::new(),
            runs: BTreeMap::new(),
            summary: "Fixed the lock.".to_owned(),
            listed: None,
            report: WorkerReport::default(),
            evidence,
        };
        project.on(View::Base, tests).on(View::Result, tests)
    }

    // What is in the project before the work.

    pub fn has(mut self, path: &str, text: &str) -> Project {
        self.base.insert(path.to_owned(), text.to_owned());
        self.after.insert(path.to_owned(), state(text));
        self
    }

    pub fn without_git(mut self) -> Project {
        self.evidence.git.is_repository = false;
        self
    }

    pub fn may_change(mut self, files: &[&str]) -> Project {
        self.evidence.contract.files = Some(files.iter().map(|file| (*file).to_owned()).collect());
        self
    }

    pub fn contract(mut self, change: impl FnOnce(&mut Contract)) -> Project {
        change(&mut self.evidence.contract);
        self
    }

    /// In place of the command of the project.
    pub fn command(mut self, command: &str, shape: Shape) -> Project {
        self.evidence.contract.validation_commands[0].command = command.to_owned();
        self.shape = shape;
        self
    }

    /// A further command, that passes without a word.
    pub fn also_runs(mut self, command: &str) -> Project {
        let commands = &mut self.evidence.contract.validation_commands;
        commands.push(ValidationCommand::new(command, CommandOrigin::Contract));
        let last = commands.len() - 1;
        for view in [View::Base, View::Result] {
            self.runs.insert((last, view), (CommandEnd::Exited(0), String::new()));
        }
        self
    }

    pub fn may_fail(self) -> Project {
        self.contract(|contract| contract.validation_commands[0].baseline = Baseline::MayFail)
    }

    // What the worker does.

    /// Replaces a text in a file; the empty text is its end.
    pub fn edit(mut self, path: &str, old: &str, new: &str) -> Project {
        let text = self.after.get(path).and_then(FileState::text).unwrap_or_else(|| panic!("no file {path}"));
        let text = if old.is_empty() {
            format!("{text}{new}")
        } else {
            assert!(text.contains(old), "{path} has no {old:?}:\n{text}");
            text.replace(old, new)
        };
        self.after.insert(path.to_owned(), state(&text));
        self
    }

    pub fn write(mut self, path: &str, text: &str) -> Project {
        self.after.insert(path.to_owned(), state(text));
        self
    }

    pub fn delete(mut self, path: &str) -> Project {
        assert!(self.after.remove(path).is_some(), "{path}");
        self
    }

    pub fn rename(mut self, old: &str, new: &str) -> Project {
        let state = self.after.remove(old).unwrap_or_else(|| panic!("{old}"));
        self.after.insert(new.to_owned(), state);
        self.renamed.insert(new.to_owned(), old.to_owned());
        self
    }

    pub fn link(mut self, path: &str, target: &str) -> Project {
        let hash = blake3::hash(target.as_bytes()).to_hex().to_string();
        let state =
            FileState { node: Node::Link(target.into()), mode: 0o777, hash, size: target.len() as u64 };
        self.after.insert(path.to_owned(), state);
        self
    }

    pub fn mode(mut self, path: &str, mode: u32) -> Project {
        self.after.get_mut(path).unwrap().mode = mode;
        self
    }

    pub fn says(mut self, summary: &str) -> Project {
        self.summary = summary.to_owned();
        self
    }

    /// What the report lists, in place of what changed.
    pub fn lists(mut self, paths: &[&str]) -> Project {
        self.listed = Some(paths.iter().map(|path| (*path).to_owned()).collect());
        self
    }

    pub fn reports(mut self, change: impl FnOnce(&mut WorkerReport)) -> Project {
        change(&mut self.report);
        self
    }

    /// Asks for the default rules of a self-review, and answers them with this evidence.
    pub fn reviews(mut self, evidence: &str) -> Project {
        let rules = crate::model::contract::SELF_REVIEW_RULES;
        self.evidence.contract.self_review_rules = rules.iter().map(|rule| (*rule).to_owned()).collect();
        let item = |rule: &&str| SelfReviewItem {
            rule: (*rule).to_owned(),
            verified: true,
            evidence: evidence.to_owned(),
        };
        self.report.self_review = rules.iter().map(item).collect();
        self
    }

    /// A call of the shell by the worker.
    pub fn ran(self, command: &str) -> Project {
        self.called("Bash", command)
    }

    pub fn called(mut self, tool: &str, subject: &str) -> Project {
        let id = self.evidence.events.len().to_string();
        let event = Event::ToolStarted { id, name: tool.to_owned(), subject: Some(subject.to_owned()) };
        self.evidence.events.push(event.into());
        self
    }

    /// Anything else about the run.
    pub fn with(mut self, change: impl FnOnce(&mut Evidence)) -> Project {
        change(&mut self.evidence);
        self
    }

    // What is measured.

    /// The tests of the first command in a view: `file: +passed -failed ~skipped | other: +passed`.
    pub fn on(self, view: View, tests: &str) -> Project {
        let (code, text) = output(self.shape, tests);
        self.prints(view, code, &text)
    }

    pub fn base(self, tests: &str) -> Project {
        self.on(View::Base, tests)
    }

    pub fn result(self, tests: &str) -> Project {
        self.on(View::Result, tests)
    }

    /// The same tests before and after.
    pub fn both(self, tests: &str) -> Project {
        self.base(tests).result(tests)
    }

    pub fn prints(self, view: View, code: i32, text: &str) -> Project {
        self.ends(view, CommandEnd::Exited(code), text)
    }

    pub fn ends(mut self, view: View, end: CommandEnd, text: &str) -> Project {
        self.runs.insert((0, view), (end, text.to_owned()));
        self
    }

    /// The last command.
    pub fn last_prints(mut self, view: View, code: i32, text: &str) -> Project {
        let last = self.evidence.contract.validation_commands.len() - 1;
        self.runs.insert((last, view), (CommandEnd::Exited(code), text.to_owned()));
        self
    }

    // What should come of it.

    pub fn caught(
        self,
        name: &'static str,
        check: CheckName,
        severity: CheckSeverity,
        blocker: Blocker,
    ) -> Case {
        Case { name, evidence: self.evidence(), expected: Expected::Caught(check, severity, blocker) }
    }

    pub fn approved(self, name: &'static str) -> Case {
        Case { name, evidence: self.evidence(), expected: Expected::Approved }
    }

    pub fn noop(self, name: &'static str) -> Case {
        Case { name, evidence: self.evidence(), expected: Expected::Noop }
    }

    pub fn inconclusive(self, name: &'static str, check: CheckName) -> Case {
        Case { name, evidence: self.evidence(), expected: Expected::Inconclusive(check) }
    }

    fn evidence(mut self) -> Evidence {
        self.evidence.base.paths = Arc::new(self.base.keys().cloned().collect());
        self.evidence.base.texts =
            self.base.iter().map(|(path, text)| (path.clone(), Arc::from(text.as_str()))).collect();
        let files = self.changes();
        let has_report =
            matches!(self.evidence.testimony.source, ReportSource::File | ReportSource::FinalAnswer)
                && self.evidence.testimony.problems.is_empty();
        if has_report {
            let named = || files.iter().map(|file| file.name().into_owned()).collect();
            let mut report = self.report.clone();
            report.files_changed = self.listed.clone().unwrap_or_else(named);
            report.summary = self.summary.clone();
            self.evidence.testimony.report = Some(report);
        }
        self.evidence.changes.files = files;
        // The base passes with its own tests on code that keeps them, unless a case says otherwise.
        for view in wanted_views(&self.evidence.contract, &self.evidence.changes) {
            let source = if view == View::OldTests { View::Base } else { View::Result };
            for command in 0..self.evidence.contract.validation_commands.len() {
                if let Some(run) = self.runs.get(&(command, source)).cloned() {
                    self.runs.entry((command, view)).or_insert(run);
                }
            }
        }
        for ((command, on), (end, text)) in &self.runs {
            let mut reader = SummaryReader::new();
            reader.feed(text.as_bytes());
            let lines: Vec<String> = text.lines().map(str::to_owned).collect();
            let tail = lines[lines.len().saturating_sub(40)..].to_vec();
            self.evidence.executions.push(Execution {
                command: *command,
                on: *on,
                end: end.clone(),
                seconds: 0.5,
                summary: reader.finish(),
                tail,
            });
        }
        self.evidence
    }

    fn changes(&self) -> Vec<ChangedFile> {
        let mut paths: Vec<&String> = self.base.keys().chain(self.after.keys()).collect();
        paths.sort();
        paths.dedup();
        let mut files = Vec::new();
        for path in paths {
            let before = self.base.get(path).map(|text| state(text));
            let after = self.after.get(path).cloned();
            if before == after {
                continue;
            }
            let kind = match (&before, &after) {
                (None, _) => ChangeKind::Added,
                (_, None) => ChangeKind::Deleted,
                (Some(before), Some(after)) if before.hash == after.hash => ChangeKind::Mode,
                (Some(before), Some(after))
                    if matches!(before.node, Node::File(_)) != matches!(after.node, Node::File(_)) =>
                {
                    ChangeKind::TypeChange
                }
                _ => ChangeKind::Modified,
            };
            let renamed_from = self.renamed.get(path).map(|old| old.as_str().into());
            files.push(ChangedFile { path: path.as_str().into(), kind, renamed_from, before, after });
        }
        files
    }
}
