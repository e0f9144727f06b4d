//! The problems of roles.

use crate::load::file::FileProblem;
use crate::load::roles;
use crate::model::role::Charter;
use crate::model::shape::Severity;
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
        for name in names.iter().filter(|name| contains_word(&text, name)) {
            let mut problem = FileProblem::whole_file(
                &file,
                format!("the charter names `{name}`, which a rename would make stale"),
            );
            problem.severity = Severity::Warning;
            problems.push(problem.with_fix("refer to peers by role: \"hand off to the architect\""));
        }
    }
    problems
}

/// Whether a text has this word between word boundaries, in this case.
fn contains_word(text: &str, word: &str) -> bool {
    let boundary = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '_');
    !word.is_empty()
        && text.match_indices(word).any(|(at, _)| {
            boundary(text[..at].chars().next_back()) && boundary(text[at + word.len()..].chars().next())
        })
}

#[cfg(test)]
mod tests {
    use super::contains_word;

    #[test]
    fn names_count_between_word_boundaries_and_in_their_case() {
        assert!(contains_word("ask Ripley.", "Ripley"));
        assert!(!contains_word("ask ripley", "Ripley"));
        assert!(!contains_word("Ripleys", "Ripley"));
        assert!(contains_word("Ripleys and Ripley", "Ripley"));
    }
}
