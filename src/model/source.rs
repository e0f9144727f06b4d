//! Where a value came from: the layer and the file. Every field carries it so that `show --origins` can name it.

use super::path_text;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

/// Which layer. The words are those of the npm tool, and scripts read them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LayerId {
    /// The project's `.agentworkforce/workforce`: `cwd`.
    Project,
    /// A configured directory by its number, counted from 1: `dir:<n>`.
    Directory(usize),
    /// The workforce home: `user`.
    User,
    /// Embedded in the binary: `library`.
    Library,
    /// A path that was named to `lint` and is in no layer: `lint`.
    Linted,
}

impl LayerId {
    /// For tables that people read.
    pub fn title(self) -> String {
        match self {
            LayerId::Project => "project".into(),
            LayerId::Library => "built-in".into(),
            other => other.to_string(),
        }
    }
}

impl fmt::Display for LayerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LayerId::Project => f.write_str("cwd"),
            LayerId::Directory(number) => write!(f, "dir:{number}"),
            LayerId::User => f.write_str("user"),
            LayerId::Library => f.write_str("library"),
            LayerId::Linted => f.write_str("lint"),
        }
    }
}

impl Serialize for LayerId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for LayerId {
    fn schema_name() -> Cow<'static, str> {
        "LayerId".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string"})
    }
}

/// One file of one layer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Source {
    /// `cwd`, `user`, `dir:<n>` or `library`.
    pub layer: LayerId,
    /// The file; `None` for what is embedded in the binary.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "path_text::serialize_optional")]
    pub file: Option<PathBuf>,
}

impl Source {
    pub fn library() -> Source {
        Source { layer: LayerId::Library, file: None }
    }

    pub fn is_library(&self) -> bool {
        self.layer == LayerId::Library
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
