//! Turns what a worker handed in (a report file, or the last object of its final answer) into testimony. Measures nothing.

mod final_answer;
mod runner_report;
mod schema;
mod shape;

pub use runner_report::runner_report;
pub use schema::{advisor_request_schema, worker_report_format, worker_report_schema};

use super::evidence::{ReportSource, Testimony};
use crate::files::strict_json;
use crate::model::printable::printable;
use serde_json::Value;

/// A report file may not be longer.
pub const LARGEST_REPORT: usize = 1024 * 1024;

/// Reads the report file; without one, the final answer. The nonce is the one that the attempt was given; none where there is none
/// to compare with.
pub fn collect(file: Option<&[u8]>, answer: Option<&str>, nonce: Option<&str>) -> Testimony {
    match (file, answer, nonce) {
        (Some(bytes), ..) => from_file(bytes, nonce),
        (None, Some(answer), Some(nonce)) => from_answer(answer, nonce),
        (None, ..) => Testimony::default(),
    }
}

/// A report file that is there and cannot be read: a link, a directory, more than a report may have.
pub fn unreadable(problem: &str) -> Testimony {
    refused(ReportSource::File, problem.to_owned())
}

fn from_file(bytes: &[u8], nonce: Option<&str>) -> Testimony {
    match parse(bytes) {
        Ok(value) => shape::recognise(value, ReportSource::File, nonce),
        Err(problem) => refused(ReportSource::File, problem),
    }
}

fn from_answer(answer: &str, nonce: &str) -> Testimony {
    match final_answer::find(answer, nonce) {
        Ok(Some(text)) => match strict_json::parse(text) {
            Ok(value) => shape::recognise(value, ReportSource::FinalAnswer, Some(nonce)),
            Err(error) => refused(ReportSource::FinalAnswer, not_json(&error)),
        },
        Ok(None) => Testimony::default(),
        Err(problem) => refused(ReportSource::Nothing, problem),
    }
}

fn refused(source: ReportSource, problem: String) -> Testimony {
    Testimony { source, problems: vec![problem], ..Testimony::default() }
}

fn parse(bytes: &[u8]) -> Result<Value, String> {
    if bytes.len() > LARGEST_REPORT {
        return Err(format!("the report has {} bytes, more than {LARGEST_REPORT}", bytes.len()));
    }
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Err("the report is UTF-16, not UTF-8".to_owned());
    }
    let Ok(text) = str::from_utf8(bytes) else {
        return Err("the report is not UTF-8".to_owned());
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return Err("the report is empty".to_owned());
    }
    strict_json::parse(text).map_err(|error| not_json(&error))
}

/// Quotes at most the beginning of what the parser says: it may repeat a key of any length.
fn not_json(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let short = &text[..text.floor_char_boundary(200)];
    let place = format!("line {} column {}", error.line(), error.column());
    let place = if short.contains(&place) { String::new() } else { format!(" at {place}") };
    format!("the report is not valid JSON: {}{place}", printable(short))
}

#[cfg(test)]
#[path = "testimony_tests.rs"]
mod tests;
