//! Reads the text of a sidecar that survived the merge. A missing file is a missing file, never an error.

use super::file::FileProblem;
use super::files::{Files, unreadable};
use super::roles::contained;
use crate::files::regular;
use crate::model::shape::Severity;
use std::path::Path;

const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The bytes of a sidecar as text, or why there is none: a missing file is a warning, all else an error.
/// `anchor` is the directory of the JSON that declared it.
pub fn read(files: &Files, anchor: &Path, path: &Path) -> Result<String, FileProblem> {
    let problem = |message: String| FileProblem::whole_file(path, message);
    let missing = || FileProblem {
        severity: Severity::Warning,
        ..problem("sidecar file not found".into()).with_fix("create the file, or remove the key")
    };
    let text = |bytes| String::from_utf8(bytes).map_err(|_| problem("sidecar is not UTF-8 text".into()));
    if let Some(snapshot) = files.commit_of(path) {
        let bytes = snapshot.bytes(path).map_err(|reason| unreadable(path, reason))?;
        return text(bytes.ok_or_else(missing)?.to_owned());
    }
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(missing());
        }
        Err(error) => return Err(problem(format!("sidecar cannot be read: {error}"))),
    };
    contained(anchor, path)?;
    if !metadata.is_file() {
        return Err(problem("sidecar is not a file".into()));
    }
    if metadata.len() > MAX_BYTES {
        return Err(problem("sidecar is too large: at most 16 MB are read".into()));
    }
    let bytes = regular::read(path, MAX_BYTES)
        .map_err(|error| problem(format!("sidecar cannot be read: {error}")))?;
    text(bytes)
}
