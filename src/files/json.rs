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
        Err(error) => Err(syntax_problem(path, &error)),
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
