//! The short form: a contract from the flags of the command line. Finds no commands; that is `found_commands`.

use super::marks::{self, TddMark};
use super::parts::{MAX_ATTEMPTS, is_persona};
use super::problems::shown;
use super::project_path;
use super::read::{MODES, SPEC_SKIPS};
use crate::model::contract::{
    AdvisorTerms, Budgets, CommandOrigin, Contract, ContractForm, Guard, ReviewTerms, SpecSkip,
    ValidationCommand, WorkMode,
};
use crate::model::words::nearest;
use serde_json::Map;

/// The flags, as they were given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShortForm {
    pub task: String,
    pub task_id: Option<String>,
    pub context: Option<String>,
    pub files: Vec<String>,
    pub checks: Vec<String>,
    pub setup: Vec<String>,
    pub spec: Option<String>,
    pub spec_skip: Option<String>,
    pub mode: Option<String>,
    pub tdd: bool,
    pub prove: bool,
    pub review: Option<String>,
    pub advisor: Option<String>,
    pub attempts: Option<u32>,
    pub effort: Option<String>,
}

/// A contract, and what was assumed to make it: to be printed.
#[derive(Debug, Clone, PartialEq)]
pub struct ShortContract {
    pub contract: Contract,
    pub assumed: Vec<String>,
}

/// What is wrong with a flag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShortProblem {
    /// `--files`; `task` for the task itself.
    pub flag: &'static str,
    pub message: String,
    pub hint: String,
}

/// The contract that the flags describe, or everything that is wrong with them.
pub fn short(form: &ShortForm, is_hidden: &dyn Fn(&str) -> bool) -> Result<ShortContract, Vec<ShortProblem>> {
    let mut problems = Vec::new();
    let mut problem = |flag: &'static str, message: String, hint: &str| {
        problems.push(ShortProblem { flag, message, hint: hint.to_owned() });
    };
    let mut assumed = Vec::new();

    if form.task.trim().is_empty() {
        problem(
            "task",
            "missing-input: the task is blank".into(),
            "say what to do: `agentworkforce work \"fix the login\"`",
        );
    } else if form.task.contains('\0') {
        problem("task", "contains a NUL character".into(), "remove it");
    }
    let task_id = form.task_id.clone().unwrap_or_else(|| marks::task_id_of(&form.task));
    match (&form.task_id, marks::id_problem(&task_id)) {
        (_, Some(message)) => {
            problem("--task-id", message, &format!("for example `{}`", marks::task_id_of(&form.task)));
        }
        (None, None) => assumed.push(format!("task id `{task_id}`")),
        (Some(_), None) => {}
    }
    for path in &form.files {
        if path.trim().is_empty() {
            problem("--files", "is blank".into(), "name a path, `dir/` or a pattern");
        } else if let Some((message, hint)) = project_path::problem(path.trim(), is_hidden) {
            problem("--files", format!("`{}` {message}", shown(path)), hint);
        }
    }
    if let Some(spec) = &form.spec {
        if spec.trim().is_empty() {
            problem("--spec", "is blank".into(), "name the file of the spec");
        } else if let Some((message, hint)) = project_path::problem(spec, is_hidden) {
            problem("--spec", format!("`{}` {message}", shown(spec)), hint);
        }
    }
    for (flag, commands) in [("--check", &form.checks), ("--setup", &form.setup)] {
        for command in commands {
            if command.contains('\0') {
                problem(flag, "contains a NUL character".into(), "remove it");
            } else if flag == "--setup" && command.trim().is_empty() {
                problem(flag, "is blank".into(), "write a command, or leave the flag out");
            }
        }
    }
    for (flag, text) in [("--context", &form.context), ("--effort", &form.effort)] {
        if text.as_ref().is_some_and(|text| text.trim().is_empty()) {
            problem(flag, "is blank".into(), "write something, or leave the flag out");
        }
    }
    for (flag, name) in [("--review", &form.review), ("--advisor", &form.advisor)] {
        if name.as_ref().is_some_and(|name| name.trim().is_empty() || !is_persona(name)) {
            problem(flag, "is not the name of a persona".into(), "`agentworkforce list` shows them");
        }
    }
    let mode = word(form.mode.as_deref(), "--mode", &MODES, &mut problem).unwrap_or(WorkMode::Solo);
    let skip = word(form.spec_skip.as_deref(), "--spec-skip", &SPEC_SKIPS, &mut problem);
    let spec_skip_reason = match (&form.spec, skip) {
        (Some(_), _) => None,
        (None, Some(skip)) => Some(skip),
        (None, None) => {
            assumed.push("no spec: existing-spec-sufficient".into());
            Some(SpecSkip::ExistingSpecSufficient)
        }
    };
    let skip_tdd_reason = match marks::tdd_mark(&form.task) {
        Some(TddMark::Skip(reason)) => Some(reason),
        Some(TddMark::SkipWithoutReason) => {
            problem("task", "missing-input: `[skip:tdd]` needs a reason".into(), "write `[tdd:skip:reason]`");
            None
        }
        None => None,
    };
    let mut budgets = Budgets::default();
    match form.attempts {
        Some(attempts) if (1..=MAX_ATTEMPTS).contains(&attempts) => budgets.attempts = attempts,
        Some(attempts) => {
            let message = format!("must be from 1 to {MAX_ATTEMPTS}, not {attempts}");
            problem("--attempts", message, "leave it out for 3");
        }
        None => {}
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let files =
        (!form.files.is_empty()).then(|| form.files.iter().map(|path| path.trim().to_owned()).collect());
    if files.is_none() {
        assumed.push("may change: everything except validators, lock files and CI files".into());
    }
    let commands = form.checks.iter();
    let contract = Contract {
        task: form.task.clone(),
        task_id,
        context: form.context.clone(),
        files,
        mode,
        spec_path: form.spec.clone(),
        spec_skip_reason,
        validation_commands: commands
            .map(|command| ValidationCommand::new(command.clone(), CommandOrigin::Contract))
            .collect(),
        setup: form.setup.clone(),
        definition_of_done: Vec::new(),
        tests: Guard::Frozen,
        validators: Guard::Frozen,
        holdout_path: None,
        tdd_required: form.tdd,
        skip_tdd_reason,
        prove: form.prove,
        risk_flags: Vec::new(),
        non_goals: Vec::new(),
        effort: form.effort.clone(),
        commit_target: None,
        review: form.review.clone().map(|persona| ReviewTerms { persona, required: true, max_iterations: 3 }),
        advisor: form.advisor.clone().map(|persona| AdvisorTerms { persona, enabled: true, max_consults: 3 }),
        planner: None,
        budgets,
        self_review_rules: Vec::new(),
        form: ContractForm::Short,
        unknown: Map::new(),
    };
    Ok(ShortContract { contract, assumed })
}

fn word<T: Copy>(
    given: Option<&str>,
    flag: &'static str,
    words: &[(&'static str, T)],
    problem: &mut impl FnMut(&'static str, String, &str),
) -> Option<T> {
    let given = given?;
    if let Some((_, value)) = words.iter().find(|(word, _)| *word == given) {
        return Some(*value);
    }
    let all: Vec<String> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
    let short: String = given.chars().take(64).collect();
    let hint = nearest(&short, words.iter().map(|(word, _)| *word));
    let hint =
        hint.map_or_else(|| format!("write {}", all.join(" or ")), |word| format!("did you mean `{word}`?"));
    problem(flag, format!("must be one of {}, not `{}`", all.join(", "), shown(given)), &hint);
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(task: &str) -> ShortForm {
        ShortForm { task: task.into(), ..ShortForm::default() }
    }

    #[test]
    fn a_task_alone_is_a_contract() {
        let made = short(&form("fix the login lockout"), &|_| false).unwrap();
        assert_eq!(made.contract.task_id, "fix-the-login-lockout");
        assert_eq!((&made.contract.files, made.contract.form), (&None, ContractForm::Short));
        assert_eq!(made.contract.spec_skip_reason, Some(SpecSkip::ExistingSpecSufficient));
        assert_eq!((made.contract.advisor.as_ref(), made.contract.budgets), (None, Budgets::default()));
        assert_eq!(made.assumed.len(), 3);
    }

    #[test]
    fn flags_are_the_contracts_fields() {
        let given = ShortForm {
            task_id: Some("T1".into()),
            files: vec!["src/".into()],
            checks: vec!["npm test".into()],
            setup: vec!["npm ci".into()],
            spec: Some("docs/spec.md".into()),
            mode: Some("codex".into()),
            tdd: true,
            prove: true,
            review: Some("code-reviewer".into()),
            advisor: Some("architect".into()),
            attempts: Some(5),
            effort: Some("high".into()),
            ..form("rename it [tdd:skip:mechanical]")
        };
        let made = short(&given, &|_| false).unwrap();
        let contract = made.contract;
        assert_eq!((contract.task_id.as_str(), contract.mode), ("T1", WorkMode::Codex));
        assert_eq!((contract.spec_path.as_deref(), contract.spec_skip_reason), (Some("docs/spec.md"), None));
        assert_eq!(contract.skip_tdd_reason.as_deref(), Some("mechanical"));
        assert_eq!(contract.review.unwrap().persona, "code-reviewer");
        assert_eq!(
            contract.validation_commands,
            [ValidationCommand::new("npm test", CommandOrigin::Contract)]
        );
        assert_eq!((contract.budgets.attempts, made.assumed), (5, Vec::new()));
    }

    #[test]
    fn everything_that_is_wrong_is_listed() {
        let given = ShortForm {
            task_id: Some("a b".into()),
            files: vec!["../x".into(), ".env".into(), " ".into()],
            mode: Some("breezng".into()),
            attempts: Some(0),
            spec: Some("/etc/spec".into()),
            ..form(" ")
        };
        let problems = short(&given, &|path| path == ".env").unwrap_err();
        let flags: Vec<&str> = problems.iter().map(|problem| problem.flag).collect();
        assert_eq!(
            flags,
            ["task", "--task-id", "--files", "--files", "--files", "--spec", "--mode", "--attempts"]
        );
        assert_eq!(problems[6].hint, "did you mean `breezing`?");
        assert_eq!(short(&form("[skip:tdd] x"), &|_| false).unwrap_err()[0].flag, "task");
    }
}
