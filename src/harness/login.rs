//! What a login check may look at, and what it can answer. No request is made, and an answer names only where a login was
//! found, never what it is.

use serde_json::Value;
use std::path::{Path, PathBuf};

/// The user's environment and files, as far as a login check needs them.
pub trait UserFiles {
    /// A variable that is set and not blank.
    fn var(&self, name: &str) -> Option<&str>;
    fn home(&self) -> PathBuf;
    /// The directory or file that a variable names, `~` expanded.
    fn path_in_var(&self, name: &str) -> Option<PathBuf>;
    /// Milliseconds since 1970.
    fn now(&self) -> i64;
    /// The text of a small file; `None` if there is no such file. The error names the file, not its content.
    fn read(&self, path: &Path) -> Result<Option<String>, String>;
}

/// Whether a user is logged in.
#[derive(Debug, PartialEq, Eq)]
pub enum Login {
    /// By this variable, file or setting.
    Found(String),
    /// Not logged in, and why.
    Missing(String),
    /// Not logged in, but a run may work without a login.
    NotNeeded(String),
    /// The file that should contain the login is unreadable.
    Broken(String),
}

impl Login {
    /// Whether a run has a chance.
    pub fn is_enough(&self) -> bool {
        matches!(self, Login::Found(_) | Login::NotNeeded(_))
    }
}

/// The first of these variables that is set.
pub fn first_set(user: &dyn UserFiles, names: &[&str]) -> Option<String> {
    names.iter().find(|name| user.var(name).is_some()).map(|name| (*name).to_owned())
}

/// `None` if there is no such file.
pub fn read_json(user: &dyn UserFiles, path: &Path) -> Result<Option<Value>, String> {
    let Some(text) = user.read(path)? else { return Ok(None) };
    match serde_json::from_str(&text) {
        Ok(value) => Ok(Some(value)),
        Err(error) => Err(format!("{} is not valid JSON (line {})", path.display(), error.line())),
    }
}

/// A text in a JSON object that is not empty.
pub fn has_text(value: &Value, key: &str) -> bool {
    value[key].as_str().is_some_and(|text| !text.is_empty())
}
