//! Reads values out of a JSON object and collects everything that is wrong with them. Knows no format.

use crate::files::strict_json;
use crate::model::file_problem::FileProblem;
use crate::model::locate::{Locator, Place};
use crate::model::shape::{KeyPath, Object, Problem, Severity, is_free_key};
use crate::model::words::nearest;
use serde_json::Value;
use std::path::Path;

/// Contracts are written by hand; anything larger is a mistake.
pub const MAX_BYTES: usize = 1024 * 1024;

/// More problems than anybody reads; each costs a walk over the text for its place.
const MAX_PROBLEMS: usize = 100;

/// The object that a text is.
pub fn object_of(file: &Path, text: &str) -> Result<Object, FileProblem> {
    if text.len() > MAX_BYTES {
        let message =
            format!("is too large: {} KB, at most {} KB are read", text.len() / 1024, MAX_BYTES / 1024);
        return Err(FileProblem::whole_file(file, message));
    }
    let text = without_mark(text);
    if text.trim().is_empty() {
        let problem = FileProblem::whole_file(file, "missing-input: the file is empty");
        return Err(problem.with_fix("`agentworkforce schema contract` shows what it has"));
    }
    match strict_json::parse(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(other) => {
            let message = format!("must be an object, not {}", kind(&other));
            Err(FileProblem {
                place: Some(Place { line: 1, column: 1 }),
                ..FileProblem::whole_file(file, message)
            })
        }
        Err(error) => {
            let (line, column) = (error.line().max(1), error.column().max(1));
            let message = error.to_string();
            let message = message.split(" at line ").next().unwrap_or_default();
            let message = format!("is not valid JSON: {}", shown(message));
            Err(FileProblem { place: Some(Place { line, column }), ..FileProblem::whole_file(file, message) })
        }
    }
}

/// Some editors put a byte order mark in front.
pub fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// What is wrong with one file, collected while it is read.
#[derive(Debug, Default)]
pub struct Problems {
    list: Vec<Problem>,
    left_out: usize,
}

impl Problems {
    fn add(&mut self, problem: Problem) {
        if self.list.len() < MAX_PROBLEMS {
            self.list.push(problem);
        } else if problem.severity == Severity::Error
            && self.list.iter().all(|one| one.severity != Severity::Error)
        {
            // An error must never be lost behind warnings.
            self.list[MAX_PROBLEMS - 1] = problem;
        } else {
            self.left_out += 1;
        }
    }

    pub fn error(&mut self, at: KeyPath, message: impl Into<String>, fix: impl Into<String>) {
        self.add(Problem::new(Severity::Error, at, message).fix(fix));
    }

    pub fn warning(&mut self, at: KeyPath, message: impl Into<String>) {
        self.add(Problem::new(Severity::Warning, at, message));
    }

    pub fn missing(&mut self, at: KeyPath, fix: &str) {
        let message = format!("missing-input: `{at}` is not given");
        self.error(at, message, fix);
    }

    /// With their places: first what keeps the file from being used, then the rest.
    pub fn into_file_problems(self, file: &Path, text: &str) -> (Vec<FileProblem>, Vec<FileProblem>) {
        if self.list.is_empty() {
            return (Vec::new(), Vec::new());
        }
        let locator = Locator::new(without_mark(text));
        let all = self.list.into_iter().map(|problem| FileProblem::at(file, problem, Some(&locator)));
        let (mut errors, mut warnings): (Vec<_>, Vec<_>) =
            all.partition(|problem| problem.severity == Severity::Error);
        if self.left_out > 0 {
            let message = format!("{} more problems are not listed", self.left_out);
            let rest = if errors.is_empty() { &mut warnings } else { &mut errors };
            rest.push(FileProblem::whole_file(file, message));
        }
        (errors, warnings)
    }

    /// A text that says something; `null` counts as absent.
    pub fn text(&mut self, object: &Object, at: &KeyPath, key: &str) -> Option<String> {
        let value = present(object, key)?;
        self.text_value(value, &at.key(key))
    }

    pub fn text_value(&mut self, value: &Value, at: &KeyPath) -> Option<String> {
        match value {
            Value::String(text) if text.trim().is_empty() => {
                self.error(at.clone(), "is blank", "write something, or leave the key out");
                None
            }
            Value::String(text) if text.contains('\0') => {
                self.error(at.clone(), "contains a NUL character", "remove it");
                None
            }
            Value::String(text) => Some(text.clone()),
            other => {
                self.wrong_type(at.clone(), "a text", other);
                None
            }
        }
    }

    pub fn flag(&mut self, object: &Object, at: &KeyPath, key: &str) -> Option<bool> {
        match present(object, key)? {
            Value::Bool(flag) => Some(*flag),
            other => {
                self.wrong_type(at.key(key), "true or false", other);
                None
            }
        }
    }

    /// A number above 0 and up to `most`.
    pub fn amount(&mut self, object: &Object, at: &KeyPath, key: &str, most: f64) -> Option<f64> {
        let value = present(object, key)?;
        let Value::Number(number) = value else {
            self.wrong_type(at.key(key), "a number", value);
            return None;
        };
        let amount = number.as_f64().filter(|amount| amount.is_finite());
        match amount {
            Some(amount) if amount > 0.0 && amount <= most => Some(amount),
            _ => {
                let message =
                    format!("must be above 0 and at most {most}, not {}", shown(&number.to_string()));
                self.error(at.key(key), message, "leave the key out for the default");
                None
            }
        }
    }

    /// A whole number within bounds.
    pub fn whole(&mut self, object: &Object, at: &KeyPath, key: &str, least: u32, most: u32) -> Option<u32> {
        let value = present(object, key)?;
        let Value::Number(number) = value else {
            self.wrong_type(at.key(key), "a whole number", value);
            return None;
        };
        let whole = number
            .as_u64()
            .or_else(|| whole_of(number.as_f64()?))
            .and_then(|whole| u32::try_from(whole).ok());
        match whole {
            Some(whole) if (least..=most).contains(&whole) => Some(whole),
            _ => {
                let message = format!(
                    "must be a whole number from {least} to {most}, not {}",
                    shown(&number.to_string())
                );
                self.error(at.key(key), message, "leave the key out for the default");
                None
            }
        }
    }

    /// One of a few words.
    pub fn choice<T: Copy>(
        &mut self,
        object: &Object,
        at: &KeyPath,
        key: &str,
        words: &[(&'static str, T)],
    ) -> Option<T> {
        let text = self.text(object, at, key)?;
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
        if found.is_none() {
            let all: Vec<String> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
            let message = format!("must be one of {}, not `{}`", all.join(", "), shown(&text));
            let fix = match nearest(&cut(&text, 64), words.iter().map(|(word, _)| *word)) {
                Some(word) => format!("did you mean `{word}`?"),
                None => format!("write {}", all.join(" or ")),
            };
            self.error(at.key(key), message, fix);
        }
        found
    }

    pub fn list<'a>(&mut self, object: &'a Object, at: &KeyPath, key: &str) -> Option<&'a [Value]> {
        match present(object, key)? {
            Value::Array(list) => Some(list),
            other => {
                self.wrong_type(at.key(key), "a list", other);
                None
            }
        }
    }

    /// A list of texts; entries that are none are reported and left out.
    pub fn texts(&mut self, object: &Object, at: &KeyPath, key: &str) -> Option<Vec<String>> {
        let list = self.list(object, at, key)?;
        let at = at.key(key);
        let texts = list.iter().enumerate();
        Some(texts.filter_map(|(index, value)| self.text_value(value, &at.index(index))).collect())
    }

    pub fn object<'a>(&mut self, object: &'a Object, at: &KeyPath, key: &str) -> Option<&'a Object> {
        match present(object, key)? {
            Value::Object(inner) => Some(inner),
            other => {
                self.wrong_type(at.key(key), "an object", other);
                None
            }
        }
    }

    pub fn wrong_type(&mut self, at: KeyPath, expected: &str, found: &Value) {
        self.error(at, format!("must be {expected}, not {}", kind(found)), format!("make it {expected}"));
    }

    /// Reports the keys that are not known, and returns them as they are.
    pub fn unknown(&mut self, object: &Object, at: &KeyPath, known: &[&str]) -> Object {
        let mut unknown = Object::new();
        for (key, value) in object {
            if known.contains(&key.as_str()) {
                continue;
            }
            unknown.insert(key.clone(), value.clone());
            if is_free_key(key) || self.list.len() >= MAX_PROBLEMS {
                continue;
            }
            let mut problem = Problem::new(Severity::Warning, at.key(key), "unknown key, kept but not used");
            if let Some(word) = nearest(&cut(key, 64), known.iter().copied()) {
                problem = problem.fix(format!("did you mean `{word}`?"));
            }
            self.add(problem);
        }
        unknown
    }
}

/// A key's value; `null` says nothing.
pub fn present<'a>(object: &'a Object, key: &str) -> Option<&'a Value> {
    object.get(key).filter(|value| !value.is_null())
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole_of(number: f64) -> Option<u64> {
    (number.fract() == 0.0 && (0.0..=1e9).contains(&number)).then_some(number as u64)
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn cut(text: &str, length: usize) -> String {
    text.chars().take(length).collect()
}

/// A text of a file in a message: short, in one line, without control characters.
pub fn shown(text: &str) -> String {
    let mut short: String = text.chars().take(60).flat_map(char::escape_debug).collect();
    if text.chars().nth(60).is_some() {
        short.push('…');
    }
    short.replace("\\\"", "\"").replace("\\'", "'")
}
