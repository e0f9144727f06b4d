//! Where a value came from: the layer and the file. Carried by every field so that `show --origins` can name it.

use super::path_text;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The label of the embedded library as a layer.
pub const LIBRARY: &str = "library";

/// One file of one layer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Source {
    /// `cwd`, `user`, `dir:<n>` or `library`.
    pub layer: String,
    /// The file; `None` for what is embedded in the binary.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "path_text::serialize_optional")]
    pub file: Option<PathBuf>,
}

impl Source {
    pub fn library() -> Source {
        Source { layer: LIBRARY.into(), file: None }
    }

    pub fn is_library(&self) -> bool {
        self.layer == LIBRARY
    }

    /// The directory that relative paths in this file are anchored to.
    pub fn dir(&self) -> Option<&Path> {
        self.file.as_deref().and_then(Path::parent)
    }

    /// For people: the file, or that it is built in.
    pub fn describe(&self) -> String {
        match &self.file {
            Some(file) => file.display().to_string(),
            None => "built-in library".into(),
        }
    }
}
