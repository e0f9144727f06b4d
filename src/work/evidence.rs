//! Everything that verification looks at, collected before it begins. Plain values: the same evidence gives the same verdict.

use crate::model::change_kind::ChangeKind;
use crate::model::contract::Contract;
use crate::model::event::RecordedEvent;
use crate::model::raw_path::RawPath;
use crate::model::worker_report::{AdvisorRequest, WorkerReport};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What one attempt left, and what was measured about it.
#[derive(Debug, Clone)]
pub struct Evidence {
    pub contract: Contract,
    pub harness: HarnessEnd,
    pub changes: ChangeSet,
    pub base: Base,
    pub testimony: Testimony,
    /// Of all attempts, in order.
    pub events: Vec<RecordedEvent>,
    /// Calls that the harness did not allow, as it names them: `Bash(rm x)`.
    pub denied: Vec<String>,
    /// Denied tools that were used all the same.
    pub used_although_denied: Vec<String>,
    pub executions: Vec<Execution>,
    /// Why no command was run on the result, if none was.
    pub not_executed: Option<String>,
    pub git: GitFacts,
    /// Files of the user outside the project that changed during the run, with the reason why they matter.
    pub outside: Vec<String>,
    /// The level that the mount reached: `off`, `project` or `strict`.
    pub sandbox: String,
    /// Whether there is a base to run commands on (`--no-base`: no).
    pub uses_base: bool,
    /// The configured plan file, relative to the root.
    pub plan_file: String,
    /// Whether TDD is enforced by the configuration.
    pub tdd_enforced: bool,
}

/// How the harness ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HarnessEnd {
    Completed,
    /// Login, permission, program or a required tool is missing: trying again is no use.
    Incapable(String),
    /// An error, a time limit, a signal, the network.
    Failed(String),
    /// `verify`: there was none.
    None,
}

/// The changes of the work, frozen. In path order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeSet {
    pub files: Vec<ChangedFile>,
    /// New paths in known cache directories, and paths that the commands write themselves: dropped, not scope.
    pub by_products: Vec<String>,
    /// Paths that the worker changed and git ignores: never part of the work.
    pub ignored: Vec<String>,
    /// Writes to hidden and read-only paths: never part of the work.
    pub protected: Vec<String>,
    /// Paths whose result equals the base although the worker wrote them.
    pub restored: Vec<String>,
    /// Paths that the user changed meanwhile and whose state at launch is not known.
    pub unknown_base: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    pub path: RawPath,
    pub kind: ChangeKind,
    /// Of a rename: the other name. The old one is in the list too, as deleted.
    pub renamed_from: Option<RawPath>,
    pub before: Option<FileState>,
    pub after: Option<FileState>,
}

/// One side of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileState {
    pub node: Node,
    /// Permission bits.
    pub mode: u32,
    /// BLAKE3 of the content, of a link's target; empty for a directory.
    pub hash: String,
    pub size: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// With its text, if it is UTF-8 and at most [`LARGEST_TEXT`] long.
    File(Option<Arc<str>>),
    /// With its target.
    Link(RawPath),
    Directory,
}

/// Longer files are compared by their hash alone.
pub const LARGEST_TEXT: u64 = 2 * 1024 * 1024;

impl ChangedFile {
    /// As it is shown and compared with what a report says.
    pub fn name(&self) -> Cow<'_, str> {
        self.path.0.to_string_lossy()
    }

    pub fn text_before(&self) -> Option<&str> {
        self.before.as_ref().and_then(FileState::text)
    }

    pub fn text_after(&self) -> Option<&str> {
        self.after.as_ref().and_then(FileState::text)
    }

    /// Whether it is new; the new name of a rename is not.
    pub fn is_new(&self) -> bool {
        self.before.is_none() && self.renamed_from.is_none()
    }

    pub fn is_deleted(&self) -> bool {
        self.after.is_none()
    }
}

impl FileState {
    pub fn text(&self) -> Option<&str> {
        match &self.node {
            Node::File(text) => text.as_deref(),
            Node::Link(_) | Node::Directory => None,
        }
    }
}

impl ChangeSet {
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    pub fn find(&self, path: &str) -> Option<&ChangedFile> {
        self.files.iter().find(|file| file.name() == path)
    }
}

/// The project at launch.
#[derive(Debug, Clone, Default)]
pub struct Base {
    /// All its files, relative to the root, that are neither hidden nor ignored.
    pub paths: Arc<BTreeSet<String>>,
    /// The contents that checks need beyond those of the changed files: dependency manifests, runner configuration, spec, plan file,
    /// and files of the same languages as the new code, as far as they are few and small.
    pub texts: BTreeMap<String, Arc<str>>,
    /// Whether all files of the languages of the new code are in `texts`: only then is "no reference anywhere" known.
    pub has_all_code: bool,
}

impl Base {
    pub fn text(&self, path: &str) -> Option<&str> {
        self.texts.get(path).map(AsRef::as_ref)
    }
}

/// What the worker handed in.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Testimony {
    pub source: ReportSource,
    /// What is wrong with it: unreadable, no JSON, a missing field, another nonce.
    pub problems: Vec<String>,
    pub report: Option<WorkerReport>,
    /// It asks instead of going on.
    pub request: Option<AdvisorRequest>,
    /// As it was handed in.
    pub raw: Option<Value>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ReportSource {
    /// The file that the runner named.
    File,
    /// The last JSON object of the final answer.
    FinalAnswer,
    /// The runner wrote it from what it measured.
    Runner,
    #[default]
    Nothing,
}

/// One run of a command in one view.
#[derive(Debug, Clone, PartialEq)]
pub struct Execution {
    /// Which of the contract's commands, counted from 0.
    pub command: usize,
    pub on: View,
    pub end: CommandEnd,
    pub seconds: f64,
    /// What a known test runner said, parsed from all of its output.
    pub summary: Option<TestSummary>,
    /// The last lines of the output, without colours and values of secrets.
    pub tail: Vec<String>,
}

impl Execution {
    pub fn passed(&self) -> bool {
        self.end == CommandEnd::Exited(0)
    }
}

/// What a command saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum View {
    /// The project at launch.
    Base,
    /// What an apply would leave of it.
    Result,
    /// The same once more, because what failed may be flaky.
    ResultAgain,
    /// The result with the tests, snapshots, fixtures and validators of the base put back.
    OldTests,
    /// The base with the changed tests, and nothing else of the work.
    OnlyTests,
    /// The result with what the worker changed and git ignores.
    WithIgnored,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandEnd {
    Exited(i32),
    Signalled(i32),
    TimedOut,
    /// It was not run to its end for a reason of ours.
    Unknown(String),
}

/// What a test runner reported.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TestSummary {
    /// `cargo test`, `pytest`, `jest`, ...
    pub runner: String,
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
    /// By name, where the runner names them; a name that occurs twice has the worse outcome.
    pub tests: BTreeMap<String, TestOutcome>,
    /// By file, where the runner says only that: tests that ran.
    pub files: BTreeMap<String, u64>,
    /// Whether the summary at the end was there.
    pub is_complete: bool,
}

impl TestSummary {
    /// Tests that ran.
    pub fn ran(&self) -> u64 {
        self.passed + self.failed
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TestOutcome {
    Passed,
    Skipped,
    Failed,
}

/// What was found out about repositories.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GitFacts {
    /// Whether the project is in a repository.
    pub is_repository: bool,
    /// The commit that the report names, if it names one.
    pub named: Option<NamedCommit>,
    /// Hooks, configuration and `info/` that the worker wrote; never taken over.
    pub settings_written: Vec<String>,
    /// Refs other than the worker's own branch that it moved or made.
    pub refs_moved: Vec<String>,
    /// Whether one of them would be exported to the user's repository.
    pub would_be_exported: bool,
    /// Repositories between the root and a touched path, gitlinks, new `.git`: by path.
    pub nested: Vec<String>,
    /// Whether the project is a submodule of a repository above it.
    pub has_superproject: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedCommit {
    pub name: String,
    pub exists: bool,
    /// Whether its tree has the change set.
    pub contains_changes: bool,
    /// The branch that it is on, in the mount.
    pub branch: Option<String>,
}
