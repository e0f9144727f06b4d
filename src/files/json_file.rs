//! One JSON file, edited as a map: unknown keys and the order of keys survive.

use super::atomic::{self, FileMode};
use super::error::{FilesError, cannot_write};
use super::{json, text};
use crate::model::file_problem::FileProblem;
use crate::model::shape::Object;
use serde_json::Value;
use std::path::Path;

/// The object in this file; `None` where there is no file. A file that cannot be understood is an error: it is never
/// overwritten.
pub fn read(path: &Path) -> Result<Option<Object>, FilesError> {
    let refuse = |problem: FileProblem| FilesError::CannotEdit { path: path.to_owned(), problem };
    match text::read_text(path).map_err(refuse)? {
        Some(text) => json::parse_object(path, &text).map(Some).map_err(refuse),
        None => Ok(None),
    }
}

/// A file that is written and safe on disk, but not yet in its place.
#[must_use]
pub struct Staged(atomic::Staged);

/// Writes the object beside its target. Follows a link, so that a linked file stays linked.
pub fn stage(path: &Path, object: &Object) -> Result<Staged, FilesError> {
    let text = serde_json::to_string_pretty(&Value::Object(object.clone())).expect("it was JSON");
    stage_text(path, &(text + "\n"))
}

/// The same for any text.
pub fn stage_text(path: &Path, text: &str) -> Result<Staged, FilesError> {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let staged = atomic::stage(&target, text.as_bytes(), FileMode::Keep);
    staged.map(Staged).map_err(|error| cannot_write(path, error))
}

impl Staged {
    /// Puts the file into its place in one step.
    pub fn commit(self) -> Result<(), FilesError> {
        let target = self.0.target().to_owned();
        self.0.commit().map_err(|error| cannot_write(&target, error))
    }
}

/// Reads, edits and replaces a file. The caller holds the lock of its directory.
pub fn edit<E: From<FilesError>>(
    path: &Path,
    change: impl FnOnce(&mut Object) -> Result<(), E>,
) -> Result<(), E> {
    let mut object = read(path)?.unwrap_or_default();
    change(&mut object)?;
    Ok(stage(path, &object)?.commit()?)
}

/// Sets a key, or removes it with `None`; an existing key keeps its position.
pub fn set(object: &mut Object, key: &str, value: Option<Value>) {
    match value {
        Some(value) => {
            object.insert(key.to_owned(), value);
        }
        None => {
            object.shift_remove(key);
        }
    }
}
