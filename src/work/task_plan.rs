//! What a planner answers: the parts of a task. Their files lie within the contract's; it adds no commands and no rights.

use super::last_object::last_object;
use super::signature::plain;
use crate::model::contract::{Contract, ContractForm};
use crate::model::worker_report::{Subtask, TASK_PLAN, TaskPlan};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const MOST_SUBTASKS: usize = 5;
const MOST_FILES: usize = 200;

/// Reads an answer: `task-plan.v1`. `is_within` says whether an entry of `files` lies within the contract's.
pub fn parse(answer: &str, is_within: &dyn Fn(&str) -> bool) -> Result<TaskPlan, String> {
    let value = last_object(answer).ok_or("the answer has no JSON object")?;
    let plan: TaskPlan = serde_json::from_value(value).map_err(|error| plain(&error.to_string()))?;
    if plan.schema_version != TASK_PLAN {
        return Err(format!("`schema_version` is not `{TASK_PLAN}`"));
    }
    if !(1..=MOST_SUBTASKS).contains(&plan.subtasks.len()) {
        return Err(format!("{} subtasks instead of 1 to {MOST_SUBTASKS}", plan.subtasks.len()));
    }
    let mut ids = BTreeSet::new();
    for subtask in &plan.subtasks {
        check(subtask, is_within)?;
        if !ids.insert(&subtask.id) {
            return Err(format!("two subtasks have the id `{}`", plain(&subtask.id)));
        }
    }
    Ok(plan)
}

fn check(subtask: &Subtask, is_within: &dyn Fn(&str) -> bool) -> Result<(), String> {
    let id = plain(&subtask.id);
    let is_id = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if subtask.id.is_empty() || subtask.id.len() > 64 || !subtask.id.chars().all(is_id) {
        return Err(format!("`{id}` is no id of a subtask"));
    }
    if subtask.task.trim().is_empty() {
        return Err(format!("subtask `{id}` has no task"));
    }
    if subtask.files.is_empty() || subtask.files.len() > MOST_FILES {
        return Err(format!("subtask `{id}` has {} entries in `files`", subtask.files.len()));
    }
    let outside = subtask.files.iter().find(|file| is_unsafe(file) || !is_within(file));
    outside.map_or(Ok(()), |file| {
        Err(format!("subtask `{id}`: `{}` is not within the files of the contract", plain(file)))
    })
}

/// Leaves the project, or takes something back.
fn is_unsafe(file: &str) -> bool {
    file.is_empty()
        || file.starts_with(['/', '!', '~'])
        || file.split('/').any(|part| part == ".." || part == ".git")
}

/// The contract of a part: the summary and the constraints go with it; the commands of the whole are run at the end.
pub fn subtask_contract(whole: &Contract, plan: &TaskPlan, subtask: &Subtask) -> Contract {
    let mut context = Vec::new();
    context.extend(whole.context.clone());
    context.push(format!("This is one part of a larger task: {}", whole.task));
    if !plan.summary.trim().is_empty() {
        context.push(format!("The plan: {}", plan.summary));
    }
    if !plan.constraints.is_empty() {
        context.push(format!("Constraints:\n- {}", plan.constraints.join("\n- ")));
    }
    Contract {
        task: subtask.task.clone(),
        task_id: format!("{}.{}", whole.task_id, subtask.id),
        context: Some(context.join("\n\n")),
        files: Some(subtask.files.clone()),
        validation_commands: Vec::new(),
        setup: Vec::new(),
        definition_of_done: Vec::new(),
        tdd_required: false,
        prove: false,
        review: None,
        planner: None,
        risk_flags: Vec::new(),
        self_review_rules: Vec::new(),
        form: ContractForm::Short,
        ..whole.clone()
    }
}

/// To hold a harness to.
pub fn schema() -> Value {
    let text = || json!({"type": "string"});
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["schema_version", "summary", "constraints", "subtasks"],
        "properties": {
            "schema_version": {"type": "string", "enum": [TASK_PLAN]},
            "summary": text(),
            "constraints": {"type": "array", "items": text()},
            "subtasks": {"type": "array", "description": "1 to 5", "items": {
                "type": "object",
                "additionalProperties": false,
                "required": ["id", "task", "files"],
                "properties": {"id": text(), "task": text(), "files": {"type": "array", "items": text()}},
            }},
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::tests_support::contract;

    fn plan(subtasks: &Value) -> String {
        json!({"schema_version": TASK_PLAN, "summary": "two steps", "constraints": ["keep the API"], "subtasks": subtasks}).to_string()
    }

    fn part(id: &str, file: &str) -> Value {
        json!({"id": id, "task": "do it", "files": [file]})
    }

    fn within(file: &str) -> bool {
        file.starts_with("src/")
    }

    #[test]
    fn a_plan_within_the_contract_is_read() {
        let read = parse(&plan(&json!([part("a", "src/a.js"), part("b", "src/b/")])), &within).unwrap();
        assert_eq!(read.subtasks.len(), 2);
        let whole = contract();
        let part = subtask_contract(&whole, &read, &read.subtasks[0]);
        assert_eq!(
            (part.task_id.as_str(), part.validation_commands.len(), part.budgets),
            ("fix-login.a", 0, whole.budgets)
        );
        assert_eq!((part.tests, part.validators), (whole.tests, whole.validators));
        let context = part.context.unwrap();
        assert!(context.contains("two steps") && context.contains("keep the API"), "{context}");
    }

    #[test]
    fn a_plan_that_goes_beyond_the_contract_is_refused() {
        let many: Vec<Value> = (0..6).map(|number| part(&format!("p{number}"), "src/a.js")).collect();
        let cases = [
            json!([]),
            json!(many),
            json!([part("a", "docs/x.md")]),
            json!([part("a", "src/../../x")]),
            json!([part("a", "/src/x")]),
            json!([part("a", "src/.git/config")]),
            json!([part("a", "!src/x")]),
            json!([part("a", "src/x"), part("a", "src/y")]),
            json!([part("a b", "src/x")]),
            json!([part("", "src/x")]),
            json!([{"id": "a", "task": " ", "files": ["src/x"]}]),
            json!([{"id": "a", "task": "x", "files": []}]),
        ];
        for case in cases {
            assert!(parse(&plan(&case), &within).is_err(), "{case}");
        }
        assert!(parse("I would split it in two", &within).is_err());
    }
}
