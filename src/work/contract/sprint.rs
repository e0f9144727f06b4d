//! The `sprint-contract.v1`: reads one, makes one, lints it, approves it. Writes no file.

use super::parts;
use super::plan_file::PlanRow;
use super::problems::{self, Problems, present, shown};
use super::weak_command::weak_command;
use crate::model::contract::{AdvisorTerms, Contract, DoneItem, ReviewTerms, ValidationCommand};
use crate::model::file_problem::FileProblem;
use crate::model::shape::{KeyPath, Object};
use serde_json::{Map, Value, json};
use std::path::Path;

pub const SPRINT_CONTRACT: &str = "sprint-contract.v1";

/// Words that other tools write for the kind of a review; none of them is a persona.
const REVIEW_KINDS: [&str; 5] = ["static", "runtime", "browser", "manual", "none"];

const STATUSES: [(&str, bool); 2] = [("draft", false), ("approved", true)];

/// What a sprint contract says about the work.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sprint {
    pub id: Option<String>,
    pub title: Option<String>,
    pub is_approved: bool,
    pub definition_of_done: Vec<DoneItem>,
    pub commands: Vec<ValidationCommand>,
    pub non_goals: Vec<String>,
    pub risk_flags: Vec<String>,
    pub tdd_required: bool,
    pub skip_tdd_reason: Option<String>,
    pub review: Option<ReviewTerms>,
    pub advisor: Option<AdvisorTerms>,
}

impl Sprint {
    /// Adds what the contract does not say itself. Lists are joined: what was approved must hold, too.
    pub fn add_to(&self, contract: &mut Contract) {
        for command in &self.commands {
            if contract.validation_commands.iter().all(|own| own.command != command.command) {
                contract.validation_commands.push(command.clone());
            }
        }
        for item in &self.definition_of_done {
            let has = |own: &DoneItem| own.id == item.id || own.text == item.text;
            if !contract.definition_of_done.iter().any(has) {
                contract.definition_of_done.push(item.clone());
            }
        }
        for (own, more) in
            [(&mut contract.non_goals, &self.non_goals), (&mut contract.risk_flags, &self.risk_flags)]
        {
            for text in more {
                if !own.contains(text) {
                    own.push(text.clone());
                }
            }
        }
    }
}

/// Reads a sprint contract, with warnings about what has no effect.
pub fn read_sprint(file: &Path, text: &str) -> Result<(Sprint, Vec<FileProblem>), Vec<FileProblem>> {
    let object = problems::object_of(file, text).map_err(|problem| vec![problem])?;
    let mut problems = Problems::default();
    let sprint = sprint_of(&object, &mut problems);
    let (errors, warnings) = problems.into_file_problems(file, text);
    if errors.is_empty() { Ok((sprint, warnings)) } else { Err(errors) }
}

fn sprint_of(object: &Object, problems: &mut Problems) -> Sprint {
    let root = &KeyPath::default();
    let empty = &Object::new();
    match problems.text(object, root, "schema_version") {
        Some(version) if version == SPRINT_CONTRACT => {}
        Some(version) => {
            let message = format!("must be `{SPRINT_CONTRACT}`, not `{}`", shown(&version));
            problems.error(
                root.key("schema_version"),
                message,
                "`agentworkforce work contract new` writes one",
            );
        }
        None if present(object, "schema_version").is_none() => {
            problems.missing(root.key("schema_version"), &format!("write `\"{SPRINT_CONTRACT}\"`"));
        }
        None => {}
    }
    for key in ["task", "review"] {
        if present(object, key).is_none() {
            problems.missing(root.key(key), "`agentworkforce work contract new` writes it");
        }
    }
    let mut sprint = Sprint::default();
    if let Some(task) = problems.object(object, root, "task") {
        let at = root.key("task");
        sprint.id = problems.text(task, &at, "id");
        if let Some(message) = sprint.id.as_deref().and_then(super::marks::id_problem) {
            problems.error(at.key("id"), message, "for example `fix-login`");
        }
        sprint.title = problems.text(task, &at, "title");
        for key in ["id", "title"] {
            if present(task, key).is_none() {
                problems.missing(at.key(key), "every task has an id and a title");
            }
        }
        sprint.definition_of_done = task_done(task, &at, problems);
    }
    let terms = problems.object(object, root, "contract").unwrap_or(empty);
    let at = &root.key("contract");
    checks(terms, at, &mut sprint.definition_of_done, problems);
    let commands = problems.list(terms, at, "runtime_validation").unwrap_or_default().iter().enumerate();
    let commands_at = at.key("runtime_validation");
    sprint.commands = commands
        .filter_map(|(index, value)| parts::command(value, &commands_at.index(index), problems))
        .collect();
    if problems.list(terms, at, "browser_validation").is_some_and(|list| !list.is_empty()) {
        problems.warning(at.key("browser_validation"), "is not run by this runner");
    }
    sprint.non_goals = problems.texts(terms, at, "non_goals").unwrap_or_default();
    sprint.risk_flags = problems.texts(terms, at, "risk_flags").unwrap_or_default();
    sprint.tdd_required = problems.flag(terms, at, "tdd_required").unwrap_or_default();
    sprint.skip_tdd_reason = optional_text(terms, at, "skip_tdd_reason", problems);
    if let Some(review) = problems.object(object, root, "review") {
        let at = root.key("review");
        if present(review, "status").is_none() {
            problems.missing(at.key("status"), "write `draft` or `approved`");
        }
        sprint.is_approved = problems.choice(review, &at, "status", &STATUSES).unwrap_or_default();
        sprint.review = review_terms(review, &at, problems);
    }
    if let Some(advisor) = problems.object(object, root, "advisor") {
        let at = root.key("advisor");
        let enabled = problems.flag(advisor, &at, "enabled").unwrap_or(true);
        let max_consults = problems.whole(advisor, &at, "max_consults", 0, 50).unwrap_or(3);
        let persona = parts::persona(advisor, &at, "persona", problems);
        sprint.advisor = persona.map(|persona| AdvisorTerms { persona, enabled, max_consults });
    }
    sprint
}

/// As the generated file has it: a key that is not used is there and empty.
fn optional_text(object: &Object, at: &KeyPath, key: &str, problems: &mut Problems) -> Option<String> {
    match present(object, key)? {
        Value::String(text) if text.trim().is_empty() => None,
        _ => problems.text(object, at, key),
    }
}

/// A text, or a list of texts and items.
fn task_done(task: &Object, at: &KeyPath, problems: &mut Problems) -> Vec<DoneItem> {
    let at = at.key("definition_of_done");
    match present(task, "definition_of_done") {
        Some(Value::Array(list)) => {
            let entries = list.iter().enumerate();
            entries
                .filter_map(|(index, value)| parts::done_item(value, index, &at.index(index), problems))
                .collect()
        }
        Some(Value::String(text)) if !text.trim().is_empty() => {
            vec![DoneItem { id: "dod-1".into(), text: text.clone(), check: None }]
        }
        Some(Value::String(_)) | None => Vec::new(),
        Some(other) => {
            problems.wrong_type(at, "a text or a list", other);
            Vec::new()
        }
    }
}

/// Checks are items of the definition of done; one that repeats the task's own text is that item.
fn checks(terms: &Object, at: &KeyPath, done: &mut Vec<DoneItem>, problems: &mut Problems) {
    let list = problems.list(terms, at, "checks").unwrap_or_default();
    let at = at.key("checks");
    for (index, value) in list.iter().enumerate() {
        let at = at.index(index);
        let Value::Object(check) = value else {
            problems.wrong_type(at, "an object with `id` and `description`", value);
            continue;
        };
        let id = problems.text(check, &at, "id").unwrap_or_else(|| format!("check-{}", index + 1));
        if present(check, "description").is_none() {
            problems.missing(at.key("description"), "say what has to be true");
        }
        let Some(text) = problems.text(check, &at, "description") else { continue };
        let is_taken = done.iter().any(|item| item.id == id && item.text != text);
        let id = if is_taken { format!("{id}-{}", index + 1) } else { id };
        match done.iter_mut().find(|item| item.text == text) {
            Some(item) => item.id = id,
            None => done.push(DoneItem { id, text, check: None }),
        }
    }
}

fn review_terms(review: &Object, at: &KeyPath, problems: &mut Problems) -> Option<ReviewTerms> {
    let max_iterations = problems.whole(review, at, "max_iterations", 1, 50).unwrap_or(3);
    let profile = optional_text(review, at, "reviewer_profile", problems)?;
    if REVIEW_KINDS.contains(&profile.as_str()) {
        let message = format!("`{profile}` is a kind of review, not a persona: nobody reviews");
        problems.warning(at.key("reviewer_profile"), message);
        return None;
    }
    let persona = parts::persona(review, at, "reviewer_profile", problems)?;
    Some(ReviewTerms { persona, required: true, max_iterations })
}

/// What a new sprint contract is made from: flags, over the row of a plan file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NewSprint {
    pub id: String,
    pub title: Option<String>,
    pub definition_of_done: Vec<String>,
    pub checks: Vec<String>,
    pub non_goals: Vec<String>,
    pub risk_flags: Vec<String>,
    pub tdd_required: bool,
    pub skip_tdd_reason: Option<String>,
    pub review: Option<String>,
    pub advisor: Option<String>,
    /// The plan file and the row of the id, if there is one.
    pub plan: Option<(String, PlanRow)>,
    /// In RFC 3339.
    pub generated_at: String,
}

/// A sprint contract as it is written to a file: a draft.
pub fn new_sprint(new: &NewSprint) -> Result<Value, String> {
    if let Some(message) = super::marks::id_problem(&new.id) {
        return Err(format!("the id `{}` {message}", shown(&new.id)));
    }
    let row = new.plan.as_ref().map(|(_, row)| row);
    let title = new
        .title
        .clone()
        .or_else(|| row.map(|row| row.title.clone()))
        .filter(|title| !title.trim().is_empty());
    let Some(title) = title else {
        return Err(format!(
            "missing-input: no title for `{}`, and no row of that id in the plan file",
            new.id
        ));
    };
    let done = if new.definition_of_done.is_empty() {
        row.and_then(|row| row.definition_of_done.clone()).into_iter().collect()
    } else {
        new.definition_of_done.clone()
    };
    let source = if new.definition_of_done.is_empty() { "plan" } else { "flags" };
    let numbered = done.iter().enumerate();
    let checks: Vec<Value> = numbered
        .map(|(index, text)| json!({"id": format!("dod-{}", index + 1), "source": source, "description": text}))
        .collect();
    let skip = new.skip_tdd_reason.clone().or_else(|| match super::marks::tdd_mark(&title) {
        Some(super::marks::TddMark::Skip(reason)) => Some(reason),
        _ => None,
    });
    let commands: Vec<Value> =
        new.checks.iter().map(|command| json!({"label": command, "command": command})).collect();
    let mut advisor = Map::new();
    advisor.insert("enabled".into(), new.advisor.is_some().into());
    if let Some(persona) = &new.advisor {
        advisor.insert("persona".into(), persona.clone().into());
    }
    advisor.insert("max_consults".into(), 3.into());
    Ok(json!({
        "schema_version": SPRINT_CONTRACT,
        "generated_at": new.generated_at,
        "source": {"plans_file": new.plan.as_ref().map(|(file, _)| file), "task_id": new.id},
        "task": {
            "id": new.id,
            "title": title,
            "definition_of_done": done,
            "depends_on": row.map(|row| row.depends_on.clone()).unwrap_or_default(),
            "status_at_generation": row.map(|row| row.status.clone()),
        },
        "contract": {
            "checks": checks,
            "non_goals": new.non_goals,
            "runtime_validation": commands,
            "browser_validation": [],
            "risk_flags": new.risk_flags,
            "tdd_required": new.tdd_required,
            "test_framework": null,
            "test_todo_list": [],
            "skip_tdd_reason": skip,
        },
        "advisor": advisor,
        "review": {
            "status": "draft",
            "reviewer_profile": new.review,
            "max_iterations": 3,
            "reviewer_notes": [],
            "approved_at": null,
            "gaps": [],
            "followups": [],
        },
    }))
}

/// Everything that is wrong with a sprint contract, errors first; a draft is none.
pub fn lint_sprint(file: &Path, text: &str) -> Vec<FileProblem> {
    let object = match problems::object_of(file, text) {
        Ok(object) => object,
        Err(problem) => return vec![problem],
    };
    let mut problems = Problems::default();
    let sprint = sprint_of(&object, &mut problems);
    let at = KeyPath::default().key("contract");
    problems.unknown(
        &object,
        &KeyPath::default(),
        &["schema_version", "generated_at", "source", "task", "contract", "advisor", "review"],
    );
    for (index, command) in sprint.commands.iter().enumerate() {
        if let Some(reason) = weak_command(&command.command) {
            let message = format!("`{}` cannot fail: {reason}", shown(&command.command));
            let at = at.key("runtime_validation").index(index);
            problems.error(at, message, "write a command that fails when the work is not done");
        }
    }
    if sprint.commands.is_empty() {
        problems
            .warning(at.key("runtime_validation"), "no command: the runner picks from what the project has");
    }
    if sprint.definition_of_done.is_empty() {
        problems.warning(KeyPath::default().key("task"), "has no definition of done");
    } else if sprint.review.is_none() && sprint.definition_of_done.iter().any(|item| item.check.is_none()) {
        let at = KeyPath::default().key("review").key("reviewer_profile");
        problems.warning(
            at,
            "nobody judges the definition of done: the contract that names this one needs `review`",
        );
    }
    let (mut errors, warnings) = problems.into_file_problems(file, text);
    errors.extend(warnings);
    errors
}

/// The text of a sprint contract with the status `approved`; everything else, and the order of keys, stays. `at` is in RFC 3339.
pub fn approve_sprint(file: &Path, text: &str, at: &str) -> Result<String, Vec<FileProblem>> {
    read_sprint(file, text)?;
    let mut object = problems::object_of(file, text).map_err(|problem| vec![problem])?;
    let Some(Value::Object(review)) = object.get_mut("review") else {
        return Err(vec![FileProblem::whole_file(file, "missing-input: `review` is not given")]);
    };
    review.insert("status".into(), "approved".into());
    review.insert("approved_at".into(), at.into());
    let mut text = serde_json::to_string_pretty(&Value::Object(object))
        .map_err(|error| vec![FileProblem::whole_file(file, error.to_string())])?;
    text.push('\n');
    Ok(text)
}

#[cfg(test)]
#[path = "sprint_tests.rs"]
mod tests;
