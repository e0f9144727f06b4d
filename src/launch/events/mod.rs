//! What a harness prints for machines, read a line at a time into one vocabulary. Reads nothing itself and starts
//! nothing: lines go in, events come out. A new harness is one more file and one more arm here.

use crate::model::event::Event;
use crate::model::report::Usage;
use crate::model::tier::Harness;
use serde_json::Value;

mod asides;
mod claude;
mod codex;
mod log_line;
mod opencode;
mod subject;

/// Reads one harness's output, a line at a time.
///
/// No reader says `Ended`: whether a run ended well is known when the process has ended too, so that event belongs to
/// whoever asks for the conclusion.
pub trait EventReader: Send {
    /// A line of standard output.
    fn read(&mut self, line: &str) -> Vec<Event>;

    /// A line of standard error: some things are said nowhere else.
    fn read_stderr(&mut self, line: &str);

    /// Whether a tool may be at work that no event has announced: silence is no sign of trouble then.
    fn tool_may_run(&self) -> bool {
        false
    }

    /// What the output amounts to, once it has ended and the harness with it. `clean_exit`: it exited by itself with
    /// code 0.
    fn conclude(&mut self, clean_exit: bool) -> Conclusion;
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conclusion {
    pub ok: bool,
    /// The agent's final text; of a run that is not ok, the last thing it said.
    pub result: Option<String>,
    /// Why it is not ok, in words for a person.
    pub reason: Option<String>,
    pub usage: Usage,
    /// The harness's own id of the conversation, to resume it.
    pub session_id: Option<String>,
    /// The model, where the harness says which.
    pub model: Option<String>,
    /// Calls that were not allowed, each once: `Bash(rm x)`.
    pub denials: Vec<String>,
    pub warnings: Vec<String>,
}

/// The reader for a harness. `expected_agent` is the name under which opencode was told to run the persona.
pub fn reader(harness: Harness, expected_agent: &str) -> Box<dyn EventReader> {
    match harness {
        Harness::Claude => Box::<claude::Claude>::default(),
        Harness::Opencode => Box::new(opencode::Opencode::new(expected_agent)),
        Harness::Codex => Box::<codex::Codex>::default(),
    }
}

/// The JSON value of a line, or the event that the line is where it has none. An empty line is neither.
fn value_of(line: &str) -> Result<Value, Option<Event>> {
    let line = line.trim();
    if line.is_empty() {
        return Err(None);
    }
    serde_json::from_str(line).map_err(|_| Some(Event::Raw { value: Value::String(line.to_owned()) }))
}

/// A text that is there and not empty.
fn text(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.trim().is_empty())
}

/// More than anybody reads: a harness that goes on complaining must not cost more and more.
const MOST_SAID: usize = 1_000;

/// Adds what is not there yet: harnesses repeat themselves.
fn add(list: &mut Vec<String>, text: String) {
    if list.len() < MOST_SAID && !list.contains(&text) {
        list.push(text);
    }
}

/// A call as people write it in a rule: `Bash(ls)`.
fn call(name: &str, subject: Option<&str>) -> String {
    subject.map_or_else(|| name.to_owned(), |subject| format!("{name}({subject})"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    #[test]
    fn no_line_whatever_breaks_a_reader() {
        let deep = "[".repeat(100_000);
        let huge = json!({"type": "assistant", "message": {"content": "x".repeat(3_000_000)}}).to_string();
        let lines = [
            "not json",
            "{",
            "null",
            "42",
            "[]",
            "{}",
            "\u{feff}{}",
            r#"{"type":7}"#,
            r#"{"type":"assistant"}"#,
            r#"{"type":"assistant","message":{"content":[1,{"type":"tool_use"},{"type":"text","text":null}]}}"#,
            r#"{"type":"user","message":{"content":[{"type":"tool_result"}]}}"#,
            r#"{"type":"result"}"#,
            r#"{"type":"system","subtype":"init","plugin_errors":"x","mcp_servers":{}}"#,
            r#"{"type":"item.completed"}"#,
            r#"{"type":"item.started","item":{"type":"command_execution"}}"#,
            r#"{"type":"turn.failed"}"#,
            r#"{"type":"text"}"#,
            r#"{"type":"tool_use","part":{"state":[]}}"#,
            r#"{"type":"error"}"#,
            &deep,
            &huge,
        ];
        for harness in Harness::ALL {
            let mut reader = reader(harness, "agent");
            for line in lines {
                reader.read(line);
                reader.read_stderr(line);
            }
            assert!(!reader.conclude(true).ok, "{harness}");
        }
    }

    #[test]
    fn what_has_no_meaning_passes_through_as_it_is() {
        for harness in Harness::ALL {
            let mut reader = reader(harness, "agent");
            assert_eq!(reader.read("  \n"), []);
            assert_eq!(reader.read("hello \u{1b}[1m\n"), [Event::Raw { value: json!("hello \u{1b}[1m") }]);
            let value = json!({"type": "never.seen", "b": [1, {"a": null}]});
            assert_eq!(reader.read(&value.to_string()), [Event::Raw { value }]);
        }
    }

    #[test]
    fn a_harness_that_says_nothing_has_failed_whatever_its_exit_code() {
        for harness in Harness::ALL {
            for clean_exit in [true, false] {
                let conclusion = reader(harness, "agent").conclude(clean_exit);
                assert!(!conclusion.ok, "{harness}");
                let reason = conclusion.reason.expect("a reason");
                assert!(reason.contains(harness.name()), "{reason}");
            }
        }
    }

    #[test]
    fn a_harness_that_only_complains_is_quoted() {
        for harness in Harness::ALL {
            let mut reader = reader(harness, "agent");
            reader.read_stderr("\u{1b}[91m\u{1b}[1mError: \u{1b}[0mSession not found");
            reader.read_stderr("");
            let reason = reader.conclude(false).reason.expect("a reason");
            assert!(reason.ends_with("Error: Session not found"), "{reason}");
        }
    }
}
