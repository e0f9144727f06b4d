//! Reads a contract file: text in, contract out, or everything that is wrong with it. Opens no file and refuses nothing that is valid.

use super::marks::{self, TddMark};
use super::parts;
use super::problems::{self, Problems, present};
use super::project_path;
use super::sprint::Sprint;
use crate::model::contract::{
    CommandOrigin, Contract, ContractForm, DoneItem, Guard, SELF_REVIEW_RULES, SpecSkip, TDD_RULE,
    ValidationCommand, WorkMode,
};
use crate::model::file_problem::FileProblem;
use crate::model::settings::Settings;
use crate::model::shape::{KeyPath, Object};
use serde_json::Value;
use std::path::Path;

/// The keys of a contract file.
pub const KEYS: [&str; 26] = [
    "task",
    "task_id",
    "context",
    "files",
    "mode",
    "contract_path",
    "spec_path",
    "spec_skip_reason",
    "validation_commands",
    "setup",
    "definition_of_done",
    "tests",
    "validators",
    "holdout_path",
    "tdd_required",
    "skip_tdd_reason",
    "prove",
    "risk_flags",
    "non_goals",
    "effort",
    "commit_target",
    "review",
    "advisor",
    "planner",
    "budgets",
    "schema_version",
];

/// What the runner decides itself: as an unknown key of a file it would come back when a decided contract is read again.
const DECIDED: [&str; 2] = ["self_review_rules", "form"];

pub(super) const MODES: [(&str, WorkMode); 3] =
    [("solo", WorkMode::Solo), ("codex", WorkMode::Codex), ("breezing", WorkMode::Breezing)];
pub(super) const SPEC_SKIPS: [(&str, SpecSkip); 3] = [
    ("docs-only", SpecSkip::DocsOnly),
    ("mechanical-change", SpecSkip::MechanicalChange),
    ("existing-spec-sufficient", SpecSkip::ExistingSpecSufficient),
];
const GUARDS: [(&str, Guard); 2] = [("frozen", Guard::Frozen), ("may-change", Guard::MayChange)];

/// A contract file and what belongs to it.
#[derive(Clone, Copy)]
pub struct ContractFile<'a> {
    pub file: &'a Path,
    pub text: &'a str,
    /// The file that its `contract_path` names, if there is one and it could be read; see [`contract_path`].
    pub sprint: Option<(&'a Path, &'a str)>,
}

/// A contract as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadContract {
    pub contract: Contract,
    pub standing: Standing,
    /// What does not keep it from being used: unknown keys, and what has no effect.
    pub warnings: Vec<FileProblem>,
}

/// Whether a valid contract can be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    Ready,
    /// Its sprint contract is not approved: refused (exit 4).
    Draft,
    /// It has neither a spec nor a reason to go without: it ends as an advisor request (`needs-spike`).
    NeedsSpec,
}

/// The sprint contract that a contract file names, so that the caller can read it. None also where the file is not valid.
pub fn contract_path(text: &str) -> Option<String> {
    let object = problems::object_of(Path::new(""), text).ok()?;
    let path = object.get("contract_path")?.as_str()?;
    let is_inside = project_path::problem(path, &|_| false).is_none();
    (is_inside && !path.trim().is_empty()).then(|| path.to_owned())
}

/// Reads a contract file. `is_hidden` says what the mount hides.
pub fn read(
    source: &ContractFile,
    settings: &Settings,
    is_hidden: &dyn Fn(&str) -> bool,
) -> Result<ReadContract, Vec<FileProblem>> {
    let object = problems::object_of(source.file, source.text).map_err(|problem| vec![problem])?;
    let mut problems = Problems::default();
    if object.get("schema_version").and_then(Value::as_str) == Some(super::sprint::SPRINT_CONTRACT) {
        let at = KeyPath::default().key("schema_version");
        problems.error(
            at,
            "is a sprint contract, not a contract",
            "name it as `contract_path` in a contract with `files`",
        );
    }
    let mut errors = Vec::new();
    let mut warnings = Vec::new();
    let sprint = read_sprint(source, &object, &mut problems, &mut errors, &mut warnings);
    let contract = contract_of(&object, sprint.as_ref(), is_hidden, &mut problems);
    let (own_errors, own_warnings) = problems.into_file_problems(source.file, source.text);
    errors.splice(0..0, own_errors);
    warnings.splice(0..0, own_warnings);
    let Some(mut contract) = contract.filter(|_| errors.is_empty()) else { return Err(errors) };
    contract.self_review_rules = self_review_rules(&contract, settings);
    let is_draft = sprint.is_some_and(|sprint| !sprint.is_approved);
    let standing = if is_draft {
        Standing::Draft
    } else if contract.spec_path.is_none() && contract.spec_skip_reason.is_none() {
        Standing::NeedsSpec
    } else {
        Standing::Ready
    };
    Ok(ReadContract { contract, standing, warnings })
}

fn read_sprint(
    source: &ContractFile,
    object: &Object,
    problems: &mut Problems,
    errors: &mut Vec<FileProblem>,
    warnings: &mut Vec<FileProblem>,
) -> Option<Sprint> {
    let root = KeyPath::default();
    let path = problems.text(object, &root, "contract_path")?;
    let at = root.key("contract_path");
    // The user's file, whether the mount hides it or not.
    if let Some((message, fix)) = project_path::problem(&path, &|_| false) {
        problems.error(at, message, fix);
        return None;
    }
    let Some((file, text)) = source.sprint else {
        let message = format!("missing-input: `{}` cannot be read", problems::shown(&path));
        problems.error(at, message, "make it with `agentworkforce work contract new`, or leave the key out");
        return None;
    };
    match super::sprint::read_sprint(file, text) {
        Ok((sprint, more)) => {
            warnings.extend(more);
            Some(sprint)
        }
        Err(more) => {
            errors.extend(more);
            None
        }
    }
}

fn contract_of(
    object: &Object,
    sprint: Option<&Sprint>,
    is_hidden: &dyn Fn(&str) -> bool,
    problems: &mut Problems,
) -> Option<Contract> {
    let root = &KeyPath::default();
    let has = |key: &str| present(object, key).is_some();

    let task = problems.text(object, root, "task").or_else(|| sprint.and_then(|sprint| sprint.title.clone()));
    // Where the sprint contract cannot be read, nobody knows what it would have supplied.
    let may_be_supplied = sprint.is_none() && has("contract_path");
    if task.is_none() && !has("task") && !may_be_supplied {
        problems.missing(root.key("task"), "say what to do: `\"task\": \"fix the login lockout\"`");
    }
    let task_id = problems.text(object, root, "task_id");
    if let Some(message) = task_id.as_deref().and_then(marks::id_problem) {
        let suggestion = marks::task_id_of(task_id.as_deref().unwrap_or_default());
        problems.error(root.key("task_id"), message, format!("for example `{suggestion}`"));
    }
    let task_id = task_id.or_else(|| sprint.and_then(|sprint| sprint.id.clone()));
    if task_id.is_none() && !has("task_id") && !may_be_supplied {
        let suggestion = task.as_deref().map_or_else(|| "fix-login".to_owned(), marks::task_id_of);
        problems.missing(root.key("task_id"), &format!("add an id: `\"task_id\": \"{suggestion}\"`"));
    }
    let context = problems.text(object, root, "context");
    let files = files(object, is_hidden, problems);
    let mode = problems.choice(object, root, "mode", &MODES).unwrap_or_default();
    let spec_path = problems.text(object, root, "spec_path");
    if let Some((message, fix)) = spec_path.as_deref().and_then(|path| project_path::problem(path, is_hidden))
    {
        problems.error(root.key("spec_path"), message, fix);
    }
    let spec_skip_reason = problems.choice(object, root, "spec_skip_reason", &SPEC_SKIPS);
    if spec_path.is_some() && spec_skip_reason.is_some() {
        problems.warning(root.key("spec_skip_reason"), "has no effect, because `spec_path` is given");
    }
    let holdout_path = problems.text(object, root, "holdout_path");
    let tdd_required = problems.flag(object, root, "tdd_required");
    let skip_tdd_reason = problems.text(object, root, "skip_tdd_reason");
    let skip_tdd_reason = skip_reason(skip_tdd_reason, task.as_deref(), sprint, problems);

    let mut commands = commands(object, problems);
    let done = definition_of_done(object, problems);
    for item in &done {
        commands.extend(item.check.as_ref().map(|check| {
            ValidationCommand::new(check.clone(), CommandOrigin::DefinitionOfDone(item.id.clone()))
        }));
    }
    let mut unknown = problems.unknown(object, root, &KEYS);
    for key in DECIDED {
        unknown.shift_remove(key);
    }
    let mut contract = Contract {
        task: task.unwrap_or_default(),
        task_id: task_id.unwrap_or_default(),
        context,
        files,
        mode,
        spec_path,
        spec_skip_reason,
        validation_commands: commands,
        setup: problems.texts(object, root, "setup").unwrap_or_default(),
        definition_of_done: done,
        tests: problems.choice(object, root, "tests", &GUARDS).unwrap_or_default(),
        validators: problems.choice(object, root, "validators", &GUARDS).unwrap_or_default(),
        holdout_path,
        tdd_required: tdd_required.unwrap_or_else(|| sprint.is_some_and(|sprint| sprint.tdd_required)),
        skip_tdd_reason,
        prove: problems.flag(object, root, "prove").unwrap_or_default(),
        risk_flags: problems.texts(object, root, "risk_flags").unwrap_or_default(),
        non_goals: problems.texts(object, root, "non_goals").unwrap_or_default(),
        effort: problems.text(object, root, "effort"),
        commit_target: parts::commit_target(object, problems),
        review: parts::review(object, sprint.and_then(|sprint| sprint.review.as_ref()), problems),
        advisor: parts::advisor(object, sprint.and_then(|sprint| sprint.advisor.as_ref()), problems),
        planner: parts::persona(object, root, "planner", problems),
        budgets: parts::budgets(object, problems),
        self_review_rules: Vec::new(),
        form: ContractForm::File,
        unknown,
    };
    if let Some(sprint) = sprint {
        sprint.add_to(&mut contract);
    }
    Some(contract)
}

fn files(object: &Object, is_hidden: &dyn Fn(&str) -> bool, problems: &mut Problems) -> Option<Vec<String>> {
    let root = KeyPath::default();
    let at = root.key("files");
    let hint = "list what may change: `\"files\": [\"src/login.js\", \"tests/\"]`";
    if present(object, "files").is_none() {
        problems.missing(at, hint);
        return None;
    }
    let list = problems.list(object, &root, "files")?;
    if list.is_empty() {
        problems.error(at.clone(), "missing-input: `files` is empty, so nothing may change", hint);
    }
    let mut files = Vec::new();
    for (index, value) in list.iter().enumerate() {
        let at = at.index(index);
        let Some(path) = problems.text_value(value, &at) else { continue };
        let path = path.trim().to_owned();
        match project_path::problem(&path, is_hidden) {
            Some((message, fix)) => {
                problems.error(at, format!("`{}` {message}", problems::shown(&path)), fix);
            }
            None => files.push(path),
        }
    }
    Some(files)
}

/// Why TDD is skipped: as the contract says, as the task says, as the sprint contract says.
fn skip_reason(
    own: Option<String>,
    task: Option<&str>,
    sprint: Option<&Sprint>,
    problems: &mut Problems,
) -> Option<String> {
    let mark = task.and_then(marks::tdd_mark);
    let inherited = sprint.and_then(|sprint| sprint.skip_tdd_reason.clone());
    match (own, mark) {
        (Some(reason), _) | (None, Some(TddMark::Skip(reason))) => Some(reason),
        (None, Some(TddMark::SkipWithoutReason)) if inherited.is_none() => {
            let at = KeyPath::default().key("task");
            let message = "missing-input: `[skip:tdd]` needs a reason";
            problems.error(at, message, "write `[tdd:skip:reason]`, or add `skip_tdd_reason`");
            None
        }
        (None, _) => inherited,
    }
}

fn commands(object: &Object, problems: &mut Problems) -> Vec<ValidationCommand> {
    let root = KeyPath::default();
    let at = root.key("validation_commands");
    let list = problems.list(object, &root, "validation_commands").unwrap_or_default();
    let entries = list.iter().enumerate();
    entries.filter_map(|(index, value)| parts::command(value, &at.index(index), problems)).collect()
}

fn definition_of_done(object: &Object, problems: &mut Problems) -> Vec<DoneItem> {
    let root = KeyPath::default();
    let at = root.key("definition_of_done");
    let list = problems.list(object, &root, "definition_of_done").unwrap_or_default();
    let mut items: Vec<DoneItem> = Vec::new();
    let mut ids = std::collections::BTreeSet::new();
    for (index, value) in list.iter().enumerate() {
        let at = at.index(index);
        let Some(item) = parts::done_item(value, index, &at, problems) else { continue };
        if ids.insert(item.id.clone()) {
            items.push(item);
        } else {
            let message = format!("the id `{}` is there twice", problems::shown(&item.id));
            problems.error(at.key("id"), message, "give every item an id of its own");
        }
    }
    items
}

/// The rules that a self-review answers, in order; none in the short form.
pub fn self_review_rules(contract: &Contract, settings: &Settings) -> Vec<String> {
    if contract.form == ContractForm::Short {
        return Vec::new();
    }
    let configured = &settings.worker.self_review;
    let default = || SELF_REVIEW_RULES.map(str::to_owned).to_vec();
    let mut rules = configured.default_rules.clone().unwrap_or_else(default);
    rules.extend(configured.extra_rules.iter().cloned());
    if marks::tdd_counts(contract, settings.tdd.is_enforced()) {
        rules.push(TDD_RULE.to_owned());
    }
    let mut seen = std::collections::BTreeSet::new();
    rules.retain(|rule| seen.insert(rule.clone()));
    rules
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
