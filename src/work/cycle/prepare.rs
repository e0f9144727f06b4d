//! From what somebody wrote to a contract that can be run: reads files, finds commands, and lists everything that is wrong at once.
//! Starts nothing.

use super::project::project_files;
use crate::files::regular;
use crate::git;
use crate::host::Host;
use crate::model::contract::{Contract, ContractForm};
use crate::model::file_problem::FileProblem;
use crate::model::settings::Settings;
use crate::model::warning::{Warning, WarningCode};
use crate::work::contract::{
    self, ContractFile, MAX_BYTES, Refusal, ShortForm, ShortProblem, Standing, contract_path, refusals,
    with_found_commands,
};
use anyhow::{Context, Result};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// A contract as it will be run.
#[derive(Debug, Clone)]
pub struct ReadyContract {
    pub contract: Contract,
    pub sha256: String,
    pub standing: Standing,
    /// What was assumed, in one line each.
    pub assumed: Vec<String>,
    pub warnings: Vec<Warning>,
}

/// Everything for which a contract is not run.
#[derive(Debug, thiserror::Error)]
#[error("the contract is not valid")]
pub struct InvalidContract {
    pub problems: Vec<String>,
    pub hints: Vec<String>,
}

impl InvalidContract {
    fn of_files(problems: &[FileProblem]) -> InvalidContract {
        InvalidContract {
            problems: problems.iter().map(ToString::to_string).collect(),
            hints: problems.iter().filter_map(|problem| problem.fix.clone()).take(5).collect(),
        }
    }

    fn of_flags(problems: &[ShortProblem]) -> InvalidContract {
        InvalidContract {
            problems: problems
                .iter()
                .map(|problem| format!("`{}`: {}", problem.flag, problem.message))
                .collect(),
            hints: problems.iter().map(|problem| problem.hint.clone()).take(5).collect(),
        }
    }

    fn of_refusals(file: Option<&Path>, refusals: &[Refusal]) -> InvalidContract {
        let at = |refusal: &Refusal| match file {
            Some(file) => format!("{}: {}: {}", file.display(), refusal.key, refusal.message),
            None => format!("{}: {}", refusal.key, refusal.message),
        };
        InvalidContract {
            problems: refusals.iter().map(at).collect(),
            hints: refusals.iter().map(|refusal| refusal.hint.clone()).take(5).collect(),
        }
    }
}

/// Where a contract's paths are: the project, and what the mount hides of it.
#[derive(Clone, Copy)]
pub struct ContractPlace<'a> {
    pub root: &'a Path,
    pub is_hidden: &'a dyn Fn(&str) -> bool,
    /// The commit that files are taken from; none for the working tree.
    pub reference: Option<&'a str>,
}

/// The contract that a file has.
pub fn of_file(path: &Path, place: ContractPlace<'_>, settings: &Settings) -> Result<ReadyContract> {
    let text = read_text(path)?;
    let sprint = contract_path(&text).and_then(|name| {
        let file = place.root.join(&name);
        let text = match place.reference {
            Some(reference) => text_at(place.root, reference, &name).ok(),
            None => read_text(&file).ok(),
        };
        Some((file, text?))
    });
    let sprint = sprint.as_ref().map(|(file, text)| (file.as_path(), text.as_str()));
    let source = ContractFile { file: path, text: &text, sprint };
    let read = contract::read(&source, settings, place.is_hidden)
        .map_err(|problems| InvalidContract::of_files(&problems))?;
    let warnings =
        read.warnings.iter().map(|problem| Warning::new(WarningCode::InvalidFile, problem.to_string()));
    let warnings = warnings.collect();
    ready(read.contract, read.standing, Vec::new(), warnings, place.root, Some(path), Some(&text))
}

/// The contract that flags describe.
pub fn of_flags(form: &ShortForm, place: ContractPlace<'_>) -> Result<ReadyContract> {
    let short =
        contract::short(form, place.is_hidden).map_err(|problems| InvalidContract::of_flags(&problems))?;
    ready(short.contract, Standing::Ready, short.assumed, Vec::new(), place.root, None, None)
}

fn ready(
    mut contract: Contract,
    standing: Standing,
    mut assumed: Vec<String>,
    warnings: Vec<Warning>,
    root: &Path,
    file: Option<&Path>,
    text: Option<&str>,
) -> Result<ReadyContract> {
    assumed.extend(with_found_commands(&mut contract, &project_files(root)));
    let found = refusals(&contract);
    if !found.is_empty() {
        return Err(InvalidContract::of_refusals(file, &found).into());
    }
    if let Some(holdout) = &contract.holdout_path {
        let path = root.join(holdout);
        if !path.is_dir() {
            let problems = vec![format!("holdout_path: `{holdout}` is not a directory")];
            return Err(InvalidContract { problems, hints: Vec::new() }.into());
        }
        let (real, real_root) = (path.canonicalize()?, root.canonicalize()?);
        if real_root != real && real_root.starts_with(&real) {
            let problems = vec![format!("holdout_path: the project is in `{holdout}`")];
            let hints = vec!["put the hidden tests into a directory of their own".to_owned()];
            return Err(InvalidContract { problems, hints }.into());
        }
        if real.starts_with(real_root) {
            let problems =
                vec![format!("holdout_path: `{holdout}` is in the project, where the worker sees it")];
            let hints = vec!["move the hidden tests out of the project".to_owned()];
            return Err(InvalidContract { problems, hints }.into());
        }
    }
    let decided = serde_json::to_string(&contract)?;
    let hashed = text.unwrap_or(&decided);
    let sha256 = Sha256::digest(hashed.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(ReadyContract { contract, sha256, standing, assumed, warnings })
}

/// A contract that this program decided itself and handed on.
pub fn of_decided(path: &Path) -> Result<(Contract, String)> {
    let text = read_text(path)?;
    let value: serde_json::Value = serde_json::from_str(&text)?;
    let contract = serde_json::from_value(value["contract"].clone())
        .with_context(|| format!("{} is not a contract of this program", path.display()))?;
    Ok((contract, value["sha256"].as_str().unwrap_or_default().to_owned()))
}

/// Whether an argument names a contract rather than being a task.
pub fn names_contract(host: &Host, words: &[String]) -> Option<PathBuf> {
    let [word] = words else { return None };
    let is_json = Path::new(word).extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"));
    is_json.then(|| host.absolute(Path::new(word)))
}

fn read_text(path: &Path) -> Result<String> {
    let bytes = regular::read(path, MAX_BYTES as u64 + 1)
        .with_context(|| format!("{} cannot be read", path.display()))?;
    String::from_utf8(bytes).with_context(|| format!("{} is not UTF-8", path.display()))
}

/// A file as a commit has it.
pub fn text_at(root: &Path, reference: &str, path: &str) -> Result<String> {
    let mut command = git::command(root);
    command.args(["cat-file", "blob", &format!("{reference}:./{path}")]);
    let done = git::run(command)?;
    Ok(String::from_utf8(done.stdout)?)
}

/// Whether a missing report is written by the runner.
pub fn writes_missing_report(contract: &Contract) -> bool {
    contract.form == ContractForm::Short
}
