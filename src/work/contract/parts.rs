//! Reads the parts of a contract that are objects of their own: commands, items of the definition of done, terms, budgets.

use super::marks::id_problem;
use super::problems::{Problems, present, shown};
use super::project_path;
use crate::model::contract::{
    AdvisorTerms, Baseline, Budgets, CommandOrigin, CommitTarget, DEFAULT_TIMEOUT_SECONDS, DoneItem,
    ReviewTerms, ValidationCommand,
};
use crate::model::shape::{KeyPath, Object};
use serde_json::Value;

/// A day: nobody waits longer for one command.
pub(super) const MAX_SECONDS: f64 = 86_400.0;
/// A month, for a whole piece of work.
const MAX_WALL_SECONDS: f64 = 30.0 * 86_400.0;
pub(super) const MAX_ATTEMPTS: u32 = 50;
const MAX_RETURNS: u32 = 50;
const MAX_USD: f64 = 1_000_000.0;
const BASELINES: [(&str, Baseline); 2] = [("must-pass", Baseline::MustPass), ("may-fail", Baseline::MayFail)];

/// A command: a text, or an object.
pub fn command(value: &Value, at: &KeyPath, problems: &mut Problems) -> Option<ValidationCommand> {
    match value {
        Value::String(_) => {
            let text = problems.text_value(value, at)?;
            Some(ValidationCommand::new(text, CommandOrigin::Contract))
        }
        Value::Object(object) => {
            let text = required(object, at, "command", "write the command that is run", problems)?;
            let command = ValidationCommand {
                label: problems.text(object, at, "label"),
                timeout_seconds: problems
                    .amount(object, at, "timeout_seconds", MAX_SECONDS)
                    .unwrap_or(DEFAULT_TIMEOUT_SECONDS),
                baseline: problems.choice(object, at, "baseline", &BASELINES).unwrap_or_default(),
                ..ValidationCommand::new(text, CommandOrigin::Contract)
            };
            problems.unknown(object, at, &["command", "label", "timeout_seconds", "baseline"]);
            Some(command)
        }
        other => {
            problems.wrong_type(at.clone(), "a text or an object", other);
            None
        }
    }
}

/// An item of the definition of done: an object, or a text, which gets an id by its place.
pub fn done_item(value: &Value, index: usize, at: &KeyPath, problems: &mut Problems) -> Option<DoneItem> {
    match value {
        Value::String(_) => {
            let text = problems.text_value(value, at)?;
            Some(DoneItem { id: format!("dod-{}", index + 1), text, check: None })
        }
        Value::Object(object) => {
            let id = required(object, at, "id", "give the item an id, such as `dod-1`", problems);
            if let Some(message) = id.as_deref().and_then(id_problem) {
                problems.error(at.key("id"), message, "for example `dod-1`");
            }
            let text = required(object, at, "text", "say what has to be true", problems);
            let check = problems.text(object, at, "check");
            problems.unknown(object, at, &["id", "text", "check"]);
            Some(DoneItem { id: id?, text: text?, check })
        }
        other => {
            problems.wrong_type(at.clone(), "an object with `id` and `text`", other);
            None
        }
    }
}

fn required(object: &Object, at: &KeyPath, key: &str, fix: &str, problems: &mut Problems) -> Option<String> {
    if present(object, key).is_none() {
        problems.missing(at.key(key), fix);
    }
    problems.text(object, at, key)
}

pub fn commit_target(object: &Object, problems: &mut Problems) -> Option<CommitTarget> {
    let root = KeyPath::default();
    let target = problems.object(object, &root, "commit_target")?;
    let at = root.key("commit_target");
    let repo_root = required(target, &at, "repo_root", "name the directory of the repository", problems);
    let branch = required(target, &at, "branch", "name the branch", problems);
    if let Some(path) = repo_root.as_deref()
        && let Some((message, fix)) = project_path::problem(path, &|_| false)
    {
        problems.error(at.key("repo_root"), message, fix);
    }
    if let Some(branch) = branch.as_deref().filter(|branch| !is_branch_name(branch)) {
        let message = format!("`{}` is not the name of a branch", shown(branch));
        problems.error(at.key("branch"), message, "use letters, digits, `/`, `.`, `_` and `-`");
    }
    problems.unknown(target, &at, &["repo_root", "branch"]);
    Some(CommitTarget { repo_root: repo_root?, branch: branch? })
}

/// What git takes for the name of a branch, without its rarer characters.
fn is_branch_name(name: &str) -> bool {
    let allowed = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+' | '#' | '@');
    let part_is_fine = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part.rsplit_once('.').is_none_or(|(_, end)| end != "lock")
    };
    name.len() <= 200
        && name.chars().all(allowed)
        && !name.starts_with('-')
        && !name.ends_with('.')
        && !name.contains("..")
        && name.split('/').all(part_is_fine)
}

/// The name of a persona: anything in one line that does not look like an option.
pub fn persona(object: &Object, at: &KeyPath, key: &str, problems: &mut Problems) -> Option<String> {
    let name = problems.text(object, at, key)?;
    if is_persona(&name) {
        return Some(name);
    }
    let message = format!("`{}` is not the name of a persona", shown(&name));
    problems.error(at.key(key), message, "`agentworkforce list` shows them");
    None
}

pub(super) fn is_persona(name: &str) -> bool {
    name.len() <= 200 && !name.starts_with('-') && !name.chars().any(|c| c.is_control() || c == '/')
}

/// Who reviews: an object, or the name of the persona alone.
pub fn review(
    object: &Object,
    inherited: Option<&ReviewTerms>,
    problems: &mut Problems,
) -> Option<ReviewTerms> {
    let root = KeyPath::default();
    let default_iterations = inherited.map_or(3, |terms| terms.max_iterations);
    let value = match present(object, "review") {
        None => return inherited.cloned(),
        Some(Value::String(_)) => {
            let persona = persona(object, &root, "review", problems)?;
            return Some(ReviewTerms { persona, required: true, max_iterations: default_iterations });
        }
        Some(_) => problems.object(object, &root, "review")?,
    };
    let at = root.key("review");
    let name = persona(value, &at, "persona", problems);
    let name = name.or_else(|| inherited.map(|terms| terms.persona.clone()));
    if name.is_none() && present(value, "persona").is_none() {
        problems.missing(at.key("persona"), "name the persona that reviews");
    }
    let required = problems.flag(value, &at, "required").unwrap_or(true);
    let max_iterations =
        problems.whole(value, &at, "max_iterations", 1, MAX_RETURNS).unwrap_or(default_iterations);
    problems.unknown(value, &at, &["persona", "required", "max_iterations"]);
    Some(ReviewTerms { persona: name?, required, max_iterations })
}

/// Who advises: an object, or the name of the persona alone.
pub fn advisor(
    object: &Object,
    inherited: Option<&AdvisorTerms>,
    problems: &mut Problems,
) -> Option<AdvisorTerms> {
    let root = KeyPath::default();
    let default_consults = inherited.map_or(3, |terms| terms.max_consults);
    let value = match present(object, "advisor") {
        None => return inherited.cloned(),
        Some(Value::String(_)) => {
            let persona = persona(object, &root, "advisor", problems)?;
            return Some(AdvisorTerms { persona, enabled: true, max_consults: default_consults });
        }
        Some(_) => problems.object(object, &root, "advisor")?,
    };
    let at = root.key("advisor");
    let enabled = problems.flag(value, &at, "enabled").unwrap_or(true);
    let max_consults = problems.whole(value, &at, "max_consults", 0, MAX_RETURNS).unwrap_or(default_consults);
    let name = persona(value, &at, "persona", problems);
    let name = name.or_else(|| inherited.map(|terms| terms.persona.clone()));
    if name.is_none() && present(value, "persona").is_none() && enabled {
        problems.missing(at.key("persona"), "name the persona that advises");
    }
    problems.unknown(value, &at, &["persona", "enabled", "max_consults"]);
    Some(AdvisorTerms { persona: name?, enabled, max_consults })
}

pub fn budgets(object: &Object, problems: &mut Problems) -> Budgets {
    let root = KeyPath::default();
    let default = Budgets::default();
    let Some(value) = problems.object(object, &root, "budgets") else { return default };
    let at = root.key("budgets");
    let budgets = Budgets {
        attempts: problems.whole(value, &at, "attempts", 1, MAX_ATTEMPTS).unwrap_or(default.attempts),
        report_returns: problems
            .whole(value, &at, "report_returns", 0, MAX_RETURNS)
            .unwrap_or(default.report_returns),
        stall_seconds: problems
            .amount(value, &at, "stall_seconds", MAX_SECONDS)
            .unwrap_or(default.stall_seconds),
        wall_seconds: problems.amount(value, &at, "wall_seconds", MAX_WALL_SECONDS),
        usd: problems.amount(value, &at, "usd", MAX_USD),
    };
    problems.unknown(value, &at, &["attempts", "report_returns", "stall_seconds", "wall_seconds", "usd"]);
    budgets
}
