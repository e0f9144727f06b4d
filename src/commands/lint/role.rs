//! The problems of roles.

use super::texts;
use crate::load::file::FileProblem;
use crate::load::roles;
use crate::model::role::Charter;
use crate::workforce::{Found, Workforce};

/// What is wrong with the roles of all layers. `personas` are those whose names a charter must not use.
pub fn problems(workforce: &Workforce, personas: &[Found]) -> Vec<FileProblem> {
    let (keys, mut problems) = roles::keys(&workforce.layers);
    let names: Vec<&str> =
        personas.iter().filter_map(|found| found.resolved.persona.name.as_deref()).collect();
    for key in keys {
        let (role, found) = workforce.role(&key);
        problems.extend(found);
        let Some(Charter::Text { text, source }) = role.and_then(|role| role.charter) else { continue };
        let Some(file) = source.file.clone() else { continue };
        problems.extend(texts::stale_names(&file, &text, &names));
    }
    let ids: Vec<&str> = personas.iter().map(|found| found.resolved.id()).collect();
    problems.extend(texts::legacy_charters(workforce, &ids, &names));
    problems
}
