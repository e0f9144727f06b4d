//! `contract`: writes, checks and approves contracts.

use crate::cli::{ContractCommand, ContractNewArgs};
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::files::atomic::{self, FileMode};
use crate::host::Host;
use crate::model::file_problem::FileProblem;
use crate::model::shape::Severity;
use crate::ui::{Ui, printable};
use crate::work::contract::{NewSprint, SPRINT_CONTRACT, approve_sprint, find_row, lint_sprint, new_sprint};
use crate::work::cycle::prepare::{ContractPlace, InvalidContract, of_file};
use crate::workforce::Workforce;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

pub fn run(action: &ContractCommand, host: &Host, ui: &mut Ui) -> Result<Exit> {
    match action {
        ContractCommand::New(args) => new(args, host, ui),
        ContractCommand::Check { file } => check(file, host, ui),
        ContractCommand::Approve { file } => approve(file, host, ui),
    }
}

fn root_of(workforce: &Workforce) -> PathBuf {
    let host = &workforce.host;
    workforce.layers.project_root.clone().unwrap_or_else(|| {
        let has_git = |dir: &&Path| dir.join(".git").exists();
        host.cwd.ancestors().find(has_git).unwrap_or(&host.cwd).to_path_buf()
    })
}

fn new(args: &ContractNewArgs, host: &Host, ui: &mut Ui) -> Result<Exit> {
    let workforce = Workforce::open(host)?;
    let root = root_of(&workforce);
    let plan_file =
        args.plan.clone().unwrap_or_else(|| PathBuf::from(workforce.config.settings.plans_file()));
    let plan_path = if args.plan.is_some() { host.absolute(&plan_file) } else { root.join(&plan_file) };
    let row = match std::fs::read_to_string(&plan_path) {
        Ok(text) => match find_row(&text, &args.id) {
            Ok(row) => Some((plan_file.display().to_string(), row)),
            // Flags can say everything.
            Err(_) if args.task.is_some() => None,
            Err(problem) => {
                return Err(CommandError::usage(format!("{}: {problem}", plan_path.display()))
                    .hint("`--task TEXT` says what to do without a row"));
            }
        },
        Err(_) if args.plan.is_none() => None,
        Err(error) => {
            return Err(CommandError::usage(format!("{} cannot be read: {error}", plan_path.display())));
        }
    };
    let sprint = NewSprint {
        id: args.id.clone(),
        title: args.task.clone(),
        definition_of_done: args.done.clone(),
        checks: args.check.clone(),
        non_goals: args.non_goal.clone(),
        risk_flags: args.risk.clone(),
        tdd_required: args.tdd,
        skip_tdd_reason: None,
        review: args.review.clone(),
        advisor: None,
        plan: row,
        generated_at: host.now().to_string(),
    };
    let value = new_sprint(&sprint).map_err(CommandError::usage)?;
    let text = format!("{value:#}\n");
    let to_stdout = args.out.as_deref() == Some(Path::new("-"));
    if to_stdout {
        ui.text(&text);
        return Ok(Exit::Done);
    }
    let out = match &args.out {
        Some(out) => host.absolute(out),
        None => host.cwd.join(format!("{}.sprint-contract.json", args.id)),
    };
    if out.symlink_metadata().is_ok() && !args.force {
        return Err(CommandError::usage(format!("{} is there already", out.display()))
            .hint("`--force` replaces it, `--out` names another file"));
    }
    atomic::write(&out, text.as_bytes(), FileMode::Keep)?;
    if ui.is_json() {
        ui.json(&json!({"schemaVersion": 1, "file": out.display().to_string(), "contract": value}));
    } else {
        ui.say(&format!("written: {}", printable(&out.display().to_string())));
        ui.hint(format!("it is a draft: `agentworkforce contract approve {}` approves it", out.display()));
    }
    Ok(Exit::Done)
}

fn is_sprint(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|value| value["schema_version"] == SPRINT_CONTRACT)
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path)
        .map_err(|error| CommandError::usage(format!("{} cannot be read: {error}", path.display())))
}

fn check(file: &Path, host: &Host, ui: &mut Ui) -> Result<Exit> {
    let workforce = Workforce::open(host)?;
    let path = host.absolute(file);
    let text = read(&path)?;
    let (errors, warnings, hints) = if is_sprint(&text) {
        let problems = lint_sprint(&path, &text);
        let of = |severity: Severity| -> Vec<String> {
            problems
                .iter()
                .filter(|problem| problem.severity == severity)
                .map(FileProblem::to_string)
                .collect()
        };
        let hints: Vec<String> = problems.iter().filter_map(|problem| problem.fix.clone()).take(5).collect();
        let errors = of(Severity::Error);
        let all: Vec<String> = problems.iter().map(FileProblem::to_string).collect();
        let warnings = all.into_iter().filter(|text| !errors.contains(text)).collect();
        (errors, warnings, hints)
    } else {
        let root = root_of(&workforce);
        let place = ContractPlace { root: &root, is_hidden: &|_| false, reference: None };
        match of_file(&path, place, &workforce.config.settings) {
            Ok(ready) => {
                let warnings = ready.warnings.iter().map(|warning| warning.message.clone());
                (Vec::new(), warnings.chain(ready.assumed).collect(), Vec::new())
            }
            Err(error) => match error.downcast::<InvalidContract>() {
                Ok(invalid) => (invalid.problems, Vec::new(), invalid.hints),
                Err(error) => return Err(error.into()),
            },
        }
    };
    let exit = if errors.is_empty() { Exit::Done } else { Exit::Usage };
    if ui.is_json() {
        ui.json(&json!({"schemaVersion": 1, "valid": errors.is_empty(), "problems": errors, "warnings": warnings}));
        return Ok(exit);
    }
    for warning in &warnings {
        ui.warning(printable(warning));
    }
    if errors.is_empty() {
        ui.line(format!("{}: valid", printable(&path.display().to_string())));
        return Ok(exit);
    }
    let mut error = CommandError::new(exit, "the contract is not valid");
    error.causes = errors;
    error.hints = hints;
    Err(error)
}

fn approve(file: &Path, host: &Host, ui: &mut Ui) -> Result<Exit> {
    let path = host.absolute(file);
    let text = read(&path)?;
    if !is_sprint(&text) {
        return Err(CommandError::usage(format!("{} is no `{SPRINT_CONTRACT}`", path.display()))
            .hint("other contracts need no approval"));
    }
    let refuse = |problems: Vec<FileProblem>| {
        let mut error = CommandError::usage("the contract is not valid");
        error.causes = problems.iter().map(FileProblem::to_string).collect();
        error
    };
    let errors: Vec<FileProblem> =
        lint_sprint(&path, &text).into_iter().filter(|problem| problem.severity == Severity::Error).collect();
    if !errors.is_empty() {
        return Err(refuse(errors));
    }
    let approved = approve_sprint(&path, &text, &host.now().to_string()).map_err(refuse)?;
    atomic::write(&path, approved.as_bytes(), FileMode::Keep)?;
    if ui.is_json() {
        ui.json(&json!({"schemaVersion": 1, "file": path.display().to_string(), "status": "approved"}));
    } else {
        ui.say(&format!("approved: {}", printable(&path.display().to_string())));
    }
    Ok(Exit::Done)
}
