//! The problems of the Markdown files that belong to a persona: its sidecars, and a charter in the legacy place.

use crate::load::file::FileProblem;
use crate::load::roles::legacy_charter;
use crate::model::shape::Severity;
use crate::resolve::persona::ResolvedPersona;
use crate::resolve::sidecar::{self, Channel, SidecarText};
use crate::workforce::Workforce;
use std::path::Path;

pub fn problems(workforce: &Workforce, resolved: &ResolvedPersona) -> Vec<FileProblem> {
    let mut problems = Vec::new();
    for sidecar in sidecar::all(resolved) {
        let SidecarText::File(path) = &sidecar.text else { continue };
        let Ok(text) = workforce.sidecar_text(&sidecar) else { continue };
        if text.trim().is_empty() {
            problems.push(warning(path, "the sidecar is empty").with_fix("write it, or remove the key"));
        }
        // Only claude reads imports.
        if sidecar.channel == Channel::ClaudeMd && workforce.persona_ref().is_none() {
            let root = workforce.layers.project_root.as_deref().unwrap_or(&workforce.host.cwd);
            problems.extend(imports(&text).filter_map(|import| lost_import(path, import, root)));
        }
    }
    problems
}

/// The names in the charters of the legacy place that a rename would make stale.
pub fn legacy_charters(workforce: &Workforce, ids: &[&str], names: &[&str]) -> Vec<FileProblem> {
    let mut problems = Vec::new();
    for layer in &workforce.layers.all {
        for id in ids {
            match legacy_charter(&workforce.layers.files, layer, id) {
                Some((path, Ok(text))) if text.trim().is_empty() => {
                    problems.push(
                        warning(&path, "the charter is empty").with_fix("write it, or remove the file"),
                    );
                }
                Some((path, Ok(text))) => problems.extend(stale_names(&path, &text, names)),
                Some((_, Err(problem))) => problems.push(problem),
                None => {}
            }
        }
    }
    problems
}

/// The names of personas in a charter.
pub fn stale_names(file: &Path, text: &str, names: &[&str]) -> Vec<FileProblem> {
    let problem = |name: &&str| FileProblem {
        severity: Severity::Warning,
        ..FileProblem::whole_file(
            file,
            format!("the charter names `{name}`, which a rename would make stale"),
        )
        .with_fix("refer to peers by role: \"hand off to the architect\"")
    };
    names.iter().filter(|name| contains_word(text, name)).map(problem).collect()
}

/// Whether a text has this word between word boundaries, in this case.
fn contains_word(text: &str, word: &str) -> bool {
    let boundary = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '_');
    !word.is_empty()
        && text.match_indices(word).any(|(at, _)| {
            boundary(text[..at].chars().next_back()) && boundary(text[at + word.len()..].chars().next())
        })
}

fn warning(path: &Path, message: impl Into<String>) -> FileProblem {
    FileProblem { severity: Severity::Warning, ..FileProblem::whole_file(path, message) }
}

/// The relative paths of Markdown files that a text imports with `@`, outside of code.
fn imports(text: &str) -> impl Iterator<Item = &str> {
    let mut in_block = false;
    let lines = text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        in_block ^= fence;
        !in_block && !fence
    });
    let words = lines.flat_map(|line| line.split('`').step_by(2)).flat_map(str::split_whitespace);
    words
        .filter_map(|word| word.strip_prefix('@'))
        .map(|path| path.trim_end_matches(['.', ',', ';', ':', ')']))
        .filter(|path| path.to_ascii_lowercase().ends_with(".md") && !path.starts_with(['/', '~']))
}

/// In the mount the sidecar is in another directory, and so is what it imports.
fn lost_import(sidecar: &Path, import: &str, root: &Path) -> Option<FileProblem> {
    let is_beside = sidecar.parent().is_some_and(|dir| dir.join(import).exists());
    let is_in_project = root.join(import).exists();
    let text = match (is_beside, is_in_project) {
        (false, true) => return None,
        (true, _) => format!("`@{import}` is looked for in the directory of the run, not beside this file"),
        (false, false) => format!("`@{import}` is neither here nor in the project"),
    };
    Some(warning(sidecar, text).with_fix("put the text into this file, or import a file of the project"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_relative_markdown_files_outside_of_code() {
        let text = "See @rules/style.md, and @./x.MD.\n`@not.md` @user/repo me@x.md @~/own.md @/abs.md\n```\n@code.md\n```\n@last.md";
        assert_eq!(imports(text).collect::<Vec<_>>(), ["rules/style.md", "./x.MD", "last.md"]);
    }

    #[test]
    fn names_count_between_word_boundaries_and_in_their_case() {
        assert!(contains_word("ask Ripley.", "Ripley"));
        assert!(!contains_word("ask ripley", "Ripley"));
        assert!(!contains_word("Ripleys", "Ripley"));
        assert!(contains_word("Ripleys and Ripley", "Ripley"));
    }
}
