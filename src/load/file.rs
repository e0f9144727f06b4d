//! Reads one JSON file with limits and good errors: size, encoding, syntax, shape, each with its place.

use super::locate::{Place, locate, place_of};
use super::{check, strict_json};
use crate::model::path_text;
use crate::model::shape::{Field, Object, Problem, Severity};
use crate::model::warning::{Warning, WarningCode};
use serde::Serialize;
use serde_json::Value;
use std::fmt;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Files are written by hand; anything larger is a mistake, and reading it would only cost memory.
pub const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// Every place is a reading of the whole file. Nobody mends more than this at once, and of a large file even less is read.
const MOST_PLACES: usize = 100;
const MOST_READ_FOR_PLACES: usize = 32 * 1024 * 1024;

/// `O_NONBLOCK`.
#[allow(clippy::cast_possible_wrap)]
const NONBLOCK: i32 = rustix::fs::OFlags::NONBLOCK.bits() as i32;

/// A problem with its place in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileProblem {
    pub severity: Severity,
    #[serde(serialize_with = "path_text::serialize")]
    pub file: PathBuf,
    #[serde(flatten)]
    pub place: Option<Place>,
    /// The key path, empty where the whole file is meant.
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

    /// The problem with its fix, in one line.
    pub fn to_warning(&self) -> Warning {
        let message = match &self.fix {
            Some(fix) => format!("{self} ({fix})"),
            None => self.to_string(),
        };
        Warning::new(WarningCode::InvalidFile, message)
    }

    pub fn located(file: &Path, text: &str, problem: Problem) -> FileProblem {
        FileProblem {
            severity: problem.severity,
            file: file.to_owned(),
            place: (!text.is_empty()).then(|| locate(text, &problem.at)),
            key: problem.at.to_string(),
            message: problem.message,
            fix: problem.fix,
        }
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

/// The text of a file, or why it cannot be had. `Ok(None)`: there is no such file.
pub fn read_text(path: &Path) -> Result<Option<String>, FileProblem> {
    let whole = |message: String| FileProblem::whole_file(path, message);
    let unreadable = |error: std::io::Error| whole(format!("cannot be read: {error}"));
    // A fifo would block the open, and a device might never end: the first is held off by the flag, both by the kind.
    let opened = std::fs::OpenOptions::new().read(true).custom_flags(NONBLOCK).open(path);
    let mut file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return match std::fs::symlink_metadata(path) {
                Ok(_) => Err(whole("is a link to a file that does not exist".into())),
                Err(_) => Ok(None),
            };
        }
        // A socket cannot be opened at all.
        Err(error) if path.metadata().is_ok_and(|found| !found.is_file()) => {
            return Err(whole(format!("is not a file ({error})")));
        }
        Err(error) => return Err(unreadable(error)),
    };
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(whole("is not a file".into()));
    }
    // What it had when it was opened: if it grows meanwhile, the rest belongs to another moment.
    check_size(path, metadata.len())?;
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default());
    file.by_ref().take(metadata.len()).read_to_end(&mut bytes).map_err(unreadable)?;
    text_of(path, bytes).map(Some)
}

fn check_size(path: &Path, size: u64) -> Result<(), FileProblem> {
    if size <= MAX_BYTES {
        return Ok(());
    }
    let (size, most) = (megabytes(size), megabytes(MAX_BYTES));
    Err(FileProblem::whole_file(path, format!("is too large: {size} MB, at most {most} MB are read")))
}

/// The bytes of a file as text, without a byte order mark.
pub fn text_of(path: &Path, bytes: Vec<u8>) -> Result<String, FileProblem> {
    check_size(path, bytes.len() as u64)?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(match text.strip_prefix('\u{feff}') {
            Some(rest) => rest.to_owned(),
            None => text,
        }),
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            let text = String::from_utf8_lossy(&error.as_bytes()[..valid]).into_owned();
            let mut problem = FileProblem::whole_file(path, "is not UTF-8 text from here on");
            problem.place = Some(place_of(&text, text.len()));
            Err(problem)
        }
    }
}

fn megabytes(bytes: u64) -> u64 {
    bytes.div_ceil(1024 * 1024)
}

/// The text as a JSON object.
pub fn parse_object(path: &Path, text: &str) -> Result<Object, FileProblem> {
    as_object(path, strict_json::parse(text))
}

pub fn not_an_object(path: &Path) -> FileProblem {
    FileProblem::whole_file(path, "must be a JSON object").with_fix("start it with `{`")
}

fn as_object(path: &Path, parsed: Result<Value, serde_json::Error>) -> Result<Object, FileProblem> {
    match parsed {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(not_an_object(path)),
        Err(error) => Err(syntax_problem(path, &error)),
    }
}

/// serde_json's message without the place, which we show in front.
pub fn syntax_problem(path: &Path, error: &serde_json::Error) -> FileProblem {
    let full = error.to_string();
    let message = full.rsplit_once(" at line ").map_or(full.as_str(), |(message, _)| message);
    let mut problem = FileProblem::whole_file(path, format!("is not valid JSON: {message}"));
    if error.line() > 0 {
        problem.place = Some(Place { line: error.line(), column: error.column().max(1) });
    }
    problem
}

/// All problems of an object that was read from this text.
pub fn check_object(path: &Path, text: &str, object: &Object, fields: &'static [Field]) -> Vec<FileProblem> {
    let most = (MOST_READ_FOR_PLACES / text.len().max(1)).clamp(1, MOST_PLACES);
    let place_in = |number: usize| if number < most { text } else { "" };
    check::check(object, fields)
        .into_iter()
        .enumerate()
        .map(|(number, problem)| FileProblem::located(path, place_in(number), problem))
        .collect()
}
