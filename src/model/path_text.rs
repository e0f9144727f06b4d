//! Paths as JSON text. A name that is not UTF-8 gets replacement characters there instead of failing the output;
//! whoever opens the file uses the path itself.

use serde::Serializer;
use std::path::{Path, PathBuf};

pub fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

pub fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.to_string_lossy())
}

#[allow(clippy::ref_option)] // serde calls it so
pub fn serialize_optional<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    match path {
        Some(path) => serialize(path, serializer),
        None => serializer.serialize_none(),
    }
}
