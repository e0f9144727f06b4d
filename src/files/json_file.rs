//! One JSON file, edited as a map: unknown keys and the order of keys survive, and a reader never sees half of it.

use super::lock::cannot_write;
use crate::error::{CommandError, Result};
use crate::load::file;
use crate::model::shape::Object;
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The object in this file, `None` where there is no file. A file that cannot be understood is an error: it is never
/// overwritten.
pub fn read(path: &Path) -> Result<Option<Object>> {
    let refuse = |problem: file::FileProblem| {
        CommandError::usage(format!("{} cannot be edited", path.display()))
            .caused_by(&problem)
            .maybe_hint(problem.fix)
            .hint("mend the file first; it was left as it is")
    };
    match file::read_text(path).map_err(refuse)? {
        Some(text) => file::parse_object(path, &text).map(Some).map_err(refuse),
        None => Ok(None),
    }
}

/// A file that is written and safe on disk, but not yet in its place.
pub struct Staged {
    temporary: tempfile::NamedTempFile,
    target: PathBuf,
}

/// Writes the object beside its target. Follows a link, so that a linked file stays linked.
pub fn stage(path: &Path, object: &Object) -> Result<Staged> {
    let text = serde_json::to_string_pretty(&Value::Object(object.clone())).expect("it was JSON");
    stage_text(path, &(text + "\n"))
}

/// The same for any text.
pub fn stage_text(path: &Path, text: &str) -> Result<Staged> {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let fail = |error: std::io::Error| cannot_write(path, &error);
    let dir = target.parent().unwrap_or(Path::new("."));
    let mut temporary = tempfile::Builder::new().prefix(".agentworkforce-").tempfile_in(dir).map_err(fail)?;
    temporary.write_all(text.as_bytes()).map_err(fail)?;
    let permissions = match target.metadata() {
        Ok(metadata) => metadata.permissions(),
        Err(_) => std::os::unix::fs::PermissionsExt::from_mode(0o644),
    };
    temporary.as_file().set_permissions(permissions).map_err(fail)?;
    temporary.as_file().sync_all().map_err(fail)?;
    Ok(Staged { temporary, target })
}

impl Staged {
    /// Puts the file into its place in one step.
    pub fn commit(self) -> Result<()> {
        let target = self.target;
        self.temporary.persist(&target).map_err(|error| cannot_write(&target, &error.error))?;
        // The rename itself must be on disk too; a filesystem that cannot sync a directory loses nothing by it.
        if let Some(dir) = target.parent().and_then(|dir| std::fs::File::open(dir).ok()) {
            let _ = dir.sync_all();
        }
        Ok(())
    }
}

/// Reads, edits and replaces a file. The caller holds the lock of its directory.
pub fn edit(path: &Path, change: impl FnOnce(&mut Object) -> Result<()>) -> Result<()> {
    let mut object = read(path)?.unwrap_or_default();
    change(&mut object)?;
    stage(path, &object)?.commit()
}

/// Sets a key, or takes it out with `None`; an existing key keeps its place.
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
