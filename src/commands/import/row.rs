//! One line of an import's result.

use crate::convert::FieldFate;
use crate::model::path_text;
use crate::model::warning::Warning;
use serde::Serialize;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ImportStatus {
    Imported,
    /// The same file exists already.
    Unchanged,
    /// Another file exists and was not changed.
    Differs,
    Replaced,
    /// Not an agent, or a part of another one.
    Skipped,
    /// An invalid agent, or a file that cannot be read.
    Failed,
}

/// The result for one agent, or for a file without agents.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    #[serde(serialize_with = "path_text::serialize")]
    pub source: PathBuf,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<&'static str>,
    pub status: ImportStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persona: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "path_text::serialize_optional")]
    pub file: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// It was skipped because it cannot be read, which is reported separately.
    #[serde(skip)]
    pub unreadable: bool,
    pub warnings: Vec<Warning>,
    pub fields: Vec<FieldFate>,
}

impl Row {
    pub fn without(source: &Path, status: ImportStatus, reason: String) -> Row {
        Row {
            source: source.to_owned(),
            format: None,
            status,
            persona: None,
            role: None,
            file: None,
            reason: Some(reason),
            unreadable: false,
            warnings: Vec::new(),
            fields: Vec::new(),
        }
    }
}
