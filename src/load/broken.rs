//! What a persona file that cannot be used could be about. A run that ignored it could do more than the user allows.

use super::catalogue::Catalogue;
use super::file::{FileProblem, parse_object};
use crate::model::persona::Header;
use crate::model::shape::Severity;
use serde_json::Value;
use std::path::Path;

/// The files that a persona is built from, as far as others could belong to them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lineage {
    /// Its id, and the ids and intents of everything that it builds on.
    pub names: Vec<String>,
    /// The lowest layer that contributes to the persona.
    pub lowest_layer: usize,
}

impl Lineage {
    /// Of a chain of files, highest first. What ends without a file that stands alone may go on in any layer.
    pub fn of(chain: &[&Header], layers: usize) -> Lineage {
        let names = chain.iter().flat_map(|file| [Some(&file.id), file.extends.as_ref()]).flatten();
        let lowest = chain.last().filter(|file| file.stands_alone()).map(|file| file.layer);
        Lineage { names: names.cloned().collect(), lowest_layer: lowest.unwrap_or(layers) }
    }
}

impl Catalogue {
    /// Problems of files that are named like this persona, or that seem to have its id.
    pub fn problems_of(&self, id: &str) -> Vec<&FileProblem> {
        let names = [id.to_owned()];
        let is_about = |problem: &&FileProblem| match self.subject_of(problem) {
            Subject::Nobody | Subject::Unknown => is_named(&problem.file, &names),
            Subject::Ids(ids) => is_named(&problem.file, &names) || any_is_in(&ids, &names),
        };
        self.problems.iter().filter(is_about).collect()
    }

    /// Problems of files that could belong to a persona: also of those in which no id can be recognised.
    pub fn problems_that_concern(&self, lineage: &Lineage) -> Vec<&FileProblem> {
        let concerns = |problem: &&FileProblem| {
            let is_below = self.layer_of(&problem.file).is_some_and(|layer| layer > lineage.lowest_layer);
            !is_below
                && (is_named(&problem.file, &lineage.names)
                    || match self.subject_of(problem) {
                        Subject::Nobody => false,
                        Subject::Unknown => true,
                        Subject::Ids(ids) => any_is_in(&ids, &lineage.names),
                    })
        };
        self.problems.iter().filter(concerns).collect()
    }

    /// Problems of files in which no id can be recognised: any persona could be in one of them.
    pub fn problems_without_subject(&self) -> impl Iterator<Item = &FileProblem> {
        let is_unknown = |problem: &&FileProblem| matches!(self.subject_of(problem), Subject::Unknown);
        self.problems.iter().filter(|problem| problem.severity == Severity::Error).filter(is_unknown)
    }

    fn layer_of(&self, file: &Path) -> Option<usize> {
        self.layers.iter().position(|layer| {
            layer.personas.as_deref().is_some_and(|dir| dir == file || file.parent() == Some(dir))
        })
    }

    fn subject_of(&self, problem: &FileProblem) -> Subject {
        if self.duplicates.contains(&problem.file) {
            return Subject::Nobody;
        }
        let Some(text) = self.files.lossy_text(&problem.file) else { return Subject::Unknown };
        if let Ok(object) = parse_object(&problem.file, &text) {
            let id = object.get("id").and_then(Value::as_str).map(str::trim).filter(|id| !id.is_empty());
            // Other programs' files have none.
            return id.map_or(Subject::Nobody, |id| Subject::Ids(vec![id.to_owned()]));
        }
        if serde_json::from_str::<Value>(&text).is_ok_and(|value| !value.is_object()) {
            return Subject::Nobody;
        }
        let ids = ids_in(&text);
        // An id further down is that of a skill, say.
        if ids.iter().any(|(depth, _)| *depth <= 1) {
            Subject::Ids(ids.into_iter().map(|(_, id)| id.to_owned()).collect())
        } else {
            Subject::Unknown
        }
    }
}

/// Whom a file with a problem is about.
enum Subject {
    /// Nobody who could be recognised by more than the name of the file.
    Nobody,
    Ids(Vec<String>),
    Unknown,
}

fn is_named(file: &Path, names: &[String]) -> bool {
    file.file_stem().is_some_and(|stem| names.iter().any(|name| stem.eq_ignore_ascii_case(name)))
}

fn any_is_in(ids: &[String], names: &[String]) -> bool {
    ids.iter().any(|id| names.iter().any(|name| name.eq_ignore_ascii_case(id)))
}

/// What stands behind the key `id` in a text that is not JSON, however it is quoted, and in how many brackets.
fn ids_in(text: &str) -> Vec<(usize, &str)> {
    const QUOTES: [char; 7] = ['"', '\'', '`', '“', '”', '‘', '’'];
    let mut found = Vec::new();
    let (mut depth, mut in_string, mut before) = (0_usize, false, ' ');
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' if in_string => {
                chars.next();
            }
            '"' => in_string = !in_string,
            '{' | '[' if !in_string => depth += 1,
            '}' | ']' if !in_string => depth = depth.saturating_sub(1),
            'i' if QUOTES.contains(&before) || before.is_whitespace() || matches!(before, '{' | ',') => {
                found.extend(id_behind_key(&text[at..], &QUOTES).map(|id| (depth, id)));
            }
            _ => {}
        }
        before = c;
    }
    found
}

/// The id in a text that begins with the key `id`. One that the end of the text cuts off is none.
fn id_behind_key<'t>(text: &'t str, quotes: &[char]) -> Option<&'t str> {
    let rest = text.strip_prefix("id")?.trim_start_matches(quotes).trim_start();
    let rest = rest.strip_prefix(':')?.trim_start().trim_start_matches(quotes);
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let end = rest.find(|c| !is_part(c)).filter(|end| *end > 0)?;
    (!rest[end..].starts_with('\\')).then_some(&rest[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_recognised_however_broken_the_rest_is() {
        for text in [
            r#"{ "id": "debugger", "permissions": { "deny": ["Bash"] }, }"#,
            "// mine\n{\"id\" :\t\"debugger\"}",
            "{'id': 'debugger'}",
            "{“id”: “debugger”}",
            "{id: debugger, x: 1}",
            "<<<<<<< HEAD\n{\n  \"id\": \"debugger\",",
            "\"id\": \"debugger\"",
        ] {
            assert_eq!(
                ids_in(text).first().map(|(depth, id)| (*depth <= 1, *id)),
                Some((true, "debugger")),
                "{text}"
            );
        }
        for text in
            ["", "{", r#"{"id": "debugg"#, r#"{"id": "a\u0062"}"#, r#"{"grid": "a"}"#, "{\"id\": 3", "x id y"]
        {
            assert_eq!(ids_in(text), [], "{text}");
        }
        assert_eq!(ids_in(r#"{"skills": [{"id": "pdf",}]}"#), [(3, "pdf")]);
    }
}
