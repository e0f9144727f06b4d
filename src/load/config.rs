//! Reads `config.json` of the workforce home. What a setting means is decided where it is used.

use super::file::{self, FileProblem};
use super::normalise::{Nulls, drop_unset};
use crate::model::formats::CONFIG;
use crate::model::settings::Settings;
use crate::model::shape::{Object, Severity};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Default)]
pub struct Config {
    pub path: PathBuf,
    pub settings: Settings,
    /// The file as it is, for `config get` and `config list`.
    pub object: Object,
    pub problems: Vec<FileProblem>,
}

/// A missing file is an empty one. A setting that is wrong is left out with a problem; the others count.
pub fn read(path: &Path) -> Config {
    match file::read_text(path) {
        Ok(Some(text)) => of_text(path, &text),
        Ok(None) => Config { path: path.to_owned(), ..Config::default() },
        Err(problem) => Config { path: path.to_owned(), problems: vec![problem], ..Config::default() },
    }
}

/// The config in this text of the file.
pub(crate) fn of_text(path: &Path, text: &str) -> Config {
    let mut config = Config { path: path.to_owned(), ..Config::default() };
    let mut object = match file::parse_object(path, text) {
        Ok(object) => object,
        Err(problem) => {
            config.problems.push(problem);
            return config;
        }
    };
    config.object = object.clone();
    config.problems = file::check_object(path, text, &object, CONFIG);
    for problem in config.problems.iter_mut().filter(|problem| problem.severity == Severity::Error) {
        let key = problem.key.split(['.', '[']).next().unwrap_or_default();
        object.shift_remove(key);
        problem.message.push_str("; the setting is left out");
    }
    drop_unset(&mut object, CONFIG, Nulls::Unset);
    if let Some(Value::String(backend)) = object.get("mount") {
        object.insert("mount".into(), json!({"backend": backend}));
    }
    match serde_json::from_value(Value::Object(object)) {
        Ok(settings) => config.settings = settings,
        Err(error) => config.problems.push(FileProblem::whole_file(path, error.to_string())),
    }
    config
}
