//! The machine-readable output of a harness, a line at a time, as events that are the same for all. Reads no stream and starts
//! nothing: lines go in, events come out. The readers are in the harnesses' folders.

use crate::model::event::Event;
use crate::model::report::Usage;
use crate::model::warning::{Warning, WarningCode};
use serde_json::Value;
use std::path::PathBuf;

/// Reads one harness's output, a line at a time.
///
/// No reader returns `Ended`: whether a run ended well is known only when the process has ended too, so that event belongs to
/// the caller of `conclude`.
pub trait EventReader: Send {
    /// A line of standard output.
    fn read(&mut self, line: &str) -> Vec<Event>;

    /// A line of standard error: some things appear nowhere else.
    fn read_stderr(&mut self, line: &str);

    /// Whether a tool may be at work that no event has announced: silence is normal in that case.
    fn tool_may_run(&self) -> bool {
        false
    }

    /// The outcome, once the harness has ended. `clean_exit`: it exited by itself with code 0.
    fn conclude(&mut self, clean_exit: bool) -> Conclusion;
}

/// The outcome of a headless run as its output tells it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conclusion {
    pub ok: bool,
    /// The agent's final text; of a failed run, its last text.
    pub result: Option<String>,
    /// Why it is not ok, in words for a person.
    pub reason: Option<String>,
    pub usage: Usage,
    /// The harness's own id of the conversation, to resume it.
    pub session_id: Option<String>,
    /// The model, if the harness names it.
    pub model: Option<String>,
    /// Calls that were not allowed, each once: `Bash(rm x)`.
    pub denials: Vec<String>,
    /// The files that denied calls would have changed, as the agent named them, each once.
    pub denied_edits: Vec<PathBuf>,
    pub warnings: Vec<Warning>,
}

/// The JSON value of a line; otherwise the line as a raw event, or nothing for an empty line.
pub fn value_of(line: &str) -> Result<Value, Option<Event>> {
    let line = line.trim();
    if line.is_empty() {
        return Err(None);
    }
    serde_json::from_str(line).map_err(|_| Some(Event::Raw { value: Value::String(line.to_owned()) }))
}

/// A text that is not empty.
pub fn text(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.trim().is_empty())
}

/// What a tool answered: a text, or a list of blocks with texts.
pub fn output(content: &Value) -> Option<String> {
    let blocks = content.as_array().into_iter().flatten().filter_map(|block| text(&block["text"]));
    let texts: Vec<&str> = text(content).into_iter().chain(blocks).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

/// More than anybody reads: a harness that repeats complaints must not use up memory.
const MOST_KEPT: usize = 1_000;

/// Adds a new item to a list of bounded length: harnesses repeat themselves.
pub fn add<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if list.len() < MOST_KEPT && !list.contains(&item) {
        list.push(item);
    }
}

/// Adds something that the harness reported.
pub fn warn(list: &mut Vec<Warning>, message: String) {
    add(list, Warning::new(WarningCode::Harness, message));
}

/// A call as people write it in a rule: `Bash(ls)`.
pub fn call(name: &str, subject: Option<&str>) -> String {
    subject.map_or_else(|| name.to_owned(), |subject| format!("{name}({subject})"))
}
