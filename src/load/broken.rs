//! What a persona file that cannot be used could be about. A run that ignored it could do more than the user allows.

use super::catalogue::Catalogue;
use super::file::FileProblem;
use super::folder::PERSONA_JSON;
use crate::files::strict_json;
use crate::model::persona::Header;
use crate::model::shape::{Object, Severity};
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
            Subject::Nobody | Subject::Unknown => self.is_named(&problem.file, &names),
            Subject::Ids(ids) => self.is_named(&problem.file, &names) || any_is_in(&ids, &names),
        };
        self.problems.iter().filter(is_about).collect()
    }

    /// Problems of files that could belong to a persona, including files in which no id can be recognised. All of them hold it
    /// back, also the files that are only overlooked.
    pub fn problems_that_concern(&self, lineage: &Lineage) -> Vec<&FileProblem> {
        let concerns = |problem: &&FileProblem| {
            let is_below = self.layer_of(&problem.file).is_some_and(|layer| layer > lineage.lowest_layer);
            !is_below
                && (self.is_named(&problem.file, &lineage.names)
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
            // An overlooked one may be a directory further down.
            let inside =
                |dir: &Path| dir == file || file.ancestors().skip(1).take(2).any(|above| above == dir);
            layer.personas.as_deref().is_some_and(inside)
        })
    }

    /// Whether a file has one of these names; that of an overlooked `x/persona.json` is `x`.
    fn is_named(&self, file: &Path, names: &[String]) -> bool {
        let stem = if self.overlooked.iter().any(|other| other == file) && file.ends_with(PERSONA_JSON) {
            file.parent().and_then(Path::file_name)
        } else {
            file.file_stem()
        };
        stem.is_some_and(|stem| names.iter().any(|name| stem.eq_ignore_ascii_case(name)))
    }

    fn subject_of(&self, problem: &FileProblem) -> Subject {
        if self.duplicates.contains(&problem.file) {
            return Subject::Nobody;
        }
        let Some(text) = self.files.lossy_text(&problem.file) else { return Subject::Unknown };
        let subject = match strict_json::parse(&text) {
            Ok(value) => subject_of_json(&value),
            Err(_) => subject_of_text(&text),
        };
        match subject {
            // Other programs have files with such names, too.
            Subject::Unknown if self.overlooked.contains(&problem.file) => Subject::Nobody,
            subject => subject,
        }
    }
}

/// The keys with which a persona forbids something.
const RESTRICTIONS: [&str; 11] = [
    "permissions",
    "mount",
    "limits",
    "harnessSettings",
    "tiers",
    "bareMode",
    "hermetic",
    "hermeticHarness",
    "maxBudgetUsd",
    "monthlyBudgetUsd",
    "workspace_manifest",
];

/// Of valid JSON that is no persona: the ids in it, however they are written; without any, the file may be about anybody if it
/// forbids something. Other programs' files do not.
fn subject_of_json(value: &Value) -> Subject {
    let objects: Vec<&Object> = match value {
        Value::Array(list) => list.iter().filter_map(Value::as_object).collect(),
        other => other.as_object().into_iter().collect(),
    };
    let entries = || objects.iter().flat_map(|object| object.iter());
    let ids: Vec<String> = entries()
        .filter(|(key, _)| key.trim().eq_ignore_ascii_case("id"))
        .flat_map(|(_, value)| value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice))
        .filter_map(Value::as_str)
        .map(|id| id.trim().to_owned())
        .filter(|id| !id.is_empty())
        .collect();
    let restricts = |key: &str| RESTRICTIONS.iter().any(|other| other.eq_ignore_ascii_case(key.trim()));
    if !ids.is_empty() {
        Subject::Ids(ids)
    } else if entries().any(|(key, value)| restricts(key) && !value.is_null()) {
        Subject::Unknown
    } else {
        Subject::Nobody
    }
}

fn subject_of_text(text: &str) -> Subject {
    let ids = ids_in(text);
    // An id further down is that of a skill, say.
    if ids.iter().any(|(depth, _)| *depth <= 1) {
        Subject::Ids(ids.into_iter().map(|(_, id)| id.to_owned()).collect())
    } else {
        Subject::Unknown
    }
}

/// Whom a file with a problem is about.
enum Subject {
    /// No persona, unless the name of the file says one.
    Nobody,
    Ids(Vec<String>),
    /// Any persona.
    Unknown,
}

fn any_is_in(ids: &[String], names: &[String]) -> bool {
    ids.iter().any(|id| names.iter().any(|name| name.eq_ignore_ascii_case(id)))
}

/// The values of the key `id` in a text that is not JSON, however they are quoted, and how deeply they are nested.
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
    use crate::model::formats::PERSONA;
    use crate::model::shape::field;

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

    #[test]
    fn valid_json_that_is_no_persona_is_about_its_ids_or_about_anybody_if_it_forbids_something() {
        let subject = |text: &str| match subject_of_json(&strict_json::parse(text).expect("JSON")) {
            Subject::Nobody => "nobody".to_owned(),
            Subject::Unknown => "anybody".to_owned(),
            Subject::Ids(ids) => ids.join(" "),
        };
        for (text, about) in [
            (r#"{"ID": "debugger", "permissions": {"deny": ["Bash"]}}"#, "debugger"),
            (r#"{"id": ["debugger", " b "]}"#, "debugger b"),
            (r#"[{"id": "debugger", "skills": [{"id": "pdf"}]}, {"Id": "b"}, 3]"#, "debugger b"),
            (r#"{"id": null, "permissions": {"deny": ["Bash"]}}"#, "anybody"),
            (r#"{"id": "", "Limits": {"usd": 1}}"#, "anybody"),
            (r#"[{"mount": {}}]"#, "anybody"),
            (r#"{"name": "x", "version": "1.0.0", "files": []}"#, "nobody"),
            (r#"{"permissions": null}"#, "nobody"),
            (r#"{"skills": [{"id": "pdf"}]}"#, "nobody"),
            ("null", "nobody"),
            ("[]", "nobody"),
            ("3", "nobody"),
        ] {
            assert_eq!(subject(text), about, "{text}");
        }
        for key in RESTRICTIONS {
            assert!(field(PERSONA, key).is_some(), "{key}");
        }
    }
}
