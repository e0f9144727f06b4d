//! What several commands say in the same way: warnings, JSON answers, and where the project layer comes from.

use crate::error::CommandError;
use crate::exit::Exit;
use crate::files::regular;
use crate::model::report::Status;
use crate::model::warning::Warning;
use crate::mount::changes::diff::printable_name;
use crate::run::observer::Failure;
use crate::ui::{DIM, Ui, printable};
use crate::workforce::Workforce;
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// Lines that are shown of the end of a log, and how many bytes they are looked for in.
const LAST_LINES: usize = 15;
const LAST_BYTES: u64 = 8 << 10;

pub fn warnings<'w>(warnings: impl IntoIterator<Item = &'w Warning>, ui: &mut Ui) {
    for warning in warnings {
        ui.warning(printable(&warning.message));
    }
}

/// Names the commit that the project layer comes from, so that nobody takes it for the working tree's.
pub fn persona_ref(workforce: &Workforce, ui: &mut Ui) {
    if let Some(reference) = workforce.persona_ref().filter(|_| !ui.is_json()) {
        ui.say(&printable(&format!("project layer from {reference}, not from the working tree")));
    }
}

/// The JSON answer of a command: `answer` is an object, and gets the version and the warnings that every answer has.
pub fn json(answer: Value, warnings: &[Warning], ui: &mut Ui) {
    let mut whole = Map::from_iter([("schemaVersion".to_owned(), json!(2))]);
    if let Value::Object(answer) = answer {
        whole.extend(answer);
    }
    whole.insert("warnings".to_owned(), json!(warnings));
    ui.json(&Value::Object(whole));
}

/// The last lines of a log of ours; none if it cannot be read.
pub fn end_of(log: &Path) -> Vec<String> {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file: File = regular::open(log)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LAST_BYTES)))?;
        let mut end = Vec::new();
        file.take(LAST_BYTES).read_to_end(&mut end)?;
        Ok(end)
    };
    let end = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&end);
    let lines: Vec<&str> = text.trim_end().lines().collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].iter().map(|line| (*line).to_owned()).collect()
}

/// The end of what a failed check wrote, and where the rest is.
pub fn check_output(log: &Path, ui: &mut Ui) {
    ui.say_lines(end_of(log).iter().map(|line| format!("  {DIM}|{DIM:#} {}", printable(line))));
    ui.hint(format!("all its output is in {}", printable_name(log)));
}

/// A run that did not do what it was to do, with the session that has what it did.
pub fn run_failure(failure: &Failure<'_>) -> CommandError {
    let what = match failure.status {
        Status::TimedOut => "the run was stopped",
        Status::Interrupted => "the run was interrupted",
        Status::Completed | Status::Failed | Status::NotStarted => "the run failed",
    };
    let log = failure.log.map(|log| format!(", log: {}", printable_name(log))).unwrap_or_default();
    CommandError::new(Exit::Failed, format!("{what}: {} (session {}{log})", failure.reason, failure.session))
}
