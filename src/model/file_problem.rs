//! A problem with its place in a file, as it is shown to people and in JSON.

use super::locate::{Locator, Place};
use super::path_text;
use super::shape::{Problem, Severity};
use super::warning::{Warning, WarningCode};
use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileProblem {
    pub severity: Severity,
    #[serde(serialize_with = "path_text::serialize")]
    pub file: PathBuf,
    #[serde(flatten)]
    pub place: Option<Place>,
    /// The key path; empty for a problem of the whole file.
    pub key: String,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

impl FileProblem {
    pub fn whole_file(file: &Path, message: impl Into<String>) -> FileProblem {
        FileProblem {
            severity: Severity::Error,
            file: file.to_owned(),
            place: None,
            key: String::new(),
            message: message.into(),
            fix: None,
        }
    }

    #[must_use]
    pub fn with_fix(mut self, fix: impl Into<String>) -> FileProblem {
        self.fix = Some(fix.into());
        self
    }

    /// A problem of this file, with its place in the text. An empty text has no places.
    pub fn located(file: &Path, text: &str, problem: Problem) -> FileProblem {
        let locator = (!text.is_empty()).then(|| Locator::new(text));
        FileProblem::at(file, problem, locator.as_ref())
    }

    /// The same where one text has several problems.
    pub fn at(file: &Path, problem: Problem, locator: Option<&Locator>) -> FileProblem {
        FileProblem {
            severity: problem.severity,
            file: file.to_owned(),
            place: locator.map(|locator| locator.place(&problem.at)),
            key: problem.at.to_string(),
            message: problem.message,
            fix: problem.fix,
        }
    }

    /// The problem with its fix, in one line.
    pub fn to_warning(&self) -> Warning {
        let message = match &self.fix {
            Some(fix) => format!("{self} ({fix})"),
            None => self.to_string(),
        };
        Warning::new(WarningCode::InvalidFile, message)
    }
}

impl fmt::Display for FileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(place) = self.place {
            write!(f, ":{}:{}", place.line, place.column)?;
        }
        if !self.key.is_empty() {
            write!(f, ": {}", self.key)?;
        }
        write!(f, ": {}", self.message)
    }
}
