//! Problems of persona files as warnings for people. Which problems there are is found out in `load` and `resolve`.

use crate::load::file::FileProblem;
use crate::model::formats::PERSONA;
use crate::model::shape::{FieldStatus, Severity, field};
use crate::model::warning::{Warning, WarningCode};
use crate::resolve::persona::ResolvedPersona;

/// The problems that a run mentions: warnings and errors. Notes are for `lint`.
pub fn warnings_of(problems: &[FileProblem]) -> Vec<Warning> {
    problems.iter().filter(|problem| problem.severity > Severity::Note).map(FileProblem::to_warning).collect()
}

/// Names the keys for other tools that a persona carries, all in one warning.
pub fn not_used(resolved: &ResolvedPersona) -> Option<Warning> {
    let unused = |key: &&String| {
        field(PERSONA, key).is_some_and(|field| field.status == FieldStatus::NotUsed)
            && key.as_str() != "builtin"
    };
    let keys: Vec<&str> = resolved.object.keys().filter(unused).map(String::as_str).collect();
    let from_file = !resolved.source().is_library();
    (!keys.is_empty() && from_file).then(|| {
        let text = format!("persona `{}`: not used by this runner: {}", resolved.id(), keys.join(", "));
        Warning::new(WarningCode::NotUsed, text)
    })
}
