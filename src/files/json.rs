//! Reads a text as one JSON object, with problems that name the file and the place.

use super::strict_json;
use crate::model::file_problem::FileProblem;
use crate::model::locate::Place;
use crate::model::shape::Object;
use serde_json::Value;
use std::path::Path;

/// The text as a JSON object.
pub fn parse_object(path: &Path, text: &str) -> Result<Object, FileProblem> {
    match strict_json::parse(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(not_an_object(path)),
        Err(error) => {
            let problem = syntax_problem(path, &error);
            let fix = what_json_lacks(text, &problem);
            Err(fix.into_iter().fold(problem, FileProblem::with_fix))
        }
    }
}

/// What to do where the text has something of JavaScript or of a word processor that JSON does not have.
fn what_json_lacks(text: &str, problem: &FileProblem) -> Option<&'static str> {
    let reason = problem.message.rsplit(": ").next().unwrap_or_default();
    let expects_value = ["key must be a string", "expected value", "expected ident"].contains(&reason);
    // Inside of a string, or at an early end of the file, the character says nothing.
    if !expects_value && !reason.starts_with("expected") && reason != "trailing characters" {
        return None;
    }
    let place = problem.place?;
    let line = text.split('\n').nth(place.line - 1)?;
    let at = line.get(place.column - 1..)?;
    if ["//", "/*", "#"].iter().any(|comment| at.starts_with(comment)) {
        return Some("JSON does not allow comments: remove this one");
    }
    match at.chars().next()? {
        '\'' | '`' => Some("JSON has only double quotes: write `\"`"),
        '“' | '”' | '„' | '‘' | '’' | '«' | '»' => Some("a typographic quote: write `\"`"),
        c if expects_value && c.is_alphabetic() => Some("keys and strings must be in double quotes: `\"`"),
        _ => None,
    }
}

pub fn not_an_object(path: &Path) -> FileProblem {
    FileProblem::whole_file(path, "must be a JSON object").with_fix("start it with `{`")
}

/// serde_json's message without the place, which we show in front.
pub fn syntax_problem(path: &Path, error: &serde_json::Error) -> FileProblem {
    let full = error.to_string();
    let message = full.rsplit_once(" at line ").map_or(full.as_str(), |(message, _)| message);
    let mut problem = FileProblem::whole_file(path, format!("invalid JSON: {message}"));
    if error.line() > 0 {
        problem.place = Some(Place { line: error.line(), column: error.column().max(1) });
    }
    problem
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_json_lacks_is_named() {
        let fix = |text: &str| parse_object(Path::new("x.json"), text).unwrap_err().fix.unwrap_or_default();
        for (text, fixed) in [
            ("{\n  // mine\n  \"id\": \"a\"\n}", "not allow comments"),
            ("// mine\n{}", "not allow comments"),
            ("{\"id\": \"a\" /* mine */}", "not allow comments"),
            ("{\"id\": \"a\", # mine\n}", "not allow comments"),
            ("{\"id\": \"a\"} // mine", "not allow comments"),
            ("{'id': \"a\"}", "double quotes"),
            ("{\"id\": 'a'}", "double quotes"),
            ("{“id”: \"a\"}", "typographic"),
            ("{\"é\": “a”}", "typographic"),
            ("{id: \"a\"}", "double quotes"),
            ("{\"id\": \"a\",}", ""),
            ("{\"id\"", ""),
            ("{\"id\": \"a", ""),
            ("{\"id\": \"http:/", ""),
            ("{\"id\": \"a #", ""),
            ("{\"id\": \"a\\q\"}", ""),
            ("{\"id\": True}", "double quotes"),
        ] {
            assert!(
                fix(text).contains(fixed) && fix(text).is_empty() == fixed.is_empty(),
                "{text}: {}",
                fix(text)
            );
        }
    }
}
