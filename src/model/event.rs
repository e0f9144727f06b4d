//! What an agent does while it works, in one vocabulary for all harnesses. `--stream-json` prints these, a line each.

use super::report::Usage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum Event {
    #[serde(rename = "session.started")]
    SessionStarted {
        /// The harness's own id of the conversation.
        harness_session_id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// What the agent was asked. Only in transcripts: whoever runs it knows.
    #[serde(rename = "task")]
    Task { text: String },
    #[serde(rename = "message")]
    Message { text: String },
    #[serde(rename = "tool.started")]
    ToolStarted {
        id: String,
        name: String,
        /// What it works on, in a few words: a path or a command.
        #[serde(skip_serializing_if = "Option::is_none")]
        subject: Option<String>,
    },
    #[serde(rename = "tool.finished")]
    ToolFinished {
        id: String,
        name: String,
        ok: bool,
        /// What it answered, shortened.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<String>,
        /// How long it took.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seconds: Option<f64>,
    },
    /// All that was used so far.
    #[serde(rename = "usage")]
    Usage(Usage),
    /// Something went wrong; whether the run failed of it is in `ended`.
    #[serde(rename = "error")]
    Error { message: String },
    #[serde(rename = "ended")]
    Ended {
        ok: bool,
        /// The agent's final text.
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A line of the harness that has no meaning here, as it is.
    #[serde(rename = "raw")]
    Raw { value: serde_json::Value },
}

/// An event as a session keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedEvent {
    /// When it was heard of, in RFC 3339; earlier versions did not note it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    #[serde(flatten)]
    pub event: Event,
}

impl From<Event> for RecordedEvent {
    fn from(event: Event) -> RecordedEvent {
        RecordedEvent { at: None, event }
    }
}

/// Of what a tool answered, this many characters are kept: its beginning and its end.
const LONGEST_OUTPUT: usize = 4000;

/// What a tool answered, shortened in the middle.
pub fn shortened_output(output: &str) -> String {
    if output.len() <= LONGEST_OUTPUT {
        return output.to_owned();
    }
    let head = output.floor_char_boundary(LONGEST_OUTPUT / 2);
    let tail = output.ceil_char_boundary(output.len() - LONGEST_OUTPUT / 2);
    format!("{}\n[{} bytes are left out here]\n{}", &output[..head], tail - head, &output[tail..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_output_keeps_its_beginning_and_its_end() {
        assert_eq!(shortened_output("short"), "short");
        let long = format!("first{}last", "é".repeat(10_000));
        let short = shortened_output(&long);
        assert!(short.starts_with("firsté") && short.ends_with("élast"), "{short}");
        assert!(short.len() < LONGEST_OUTPUT + 50 && short.contains("bytes are left out here"));
    }

    #[test]
    fn a_recorded_event_is_the_event_with_its_time() {
        let event = Event::ToolFinished {
            id: "1".into(),
            name: "Bash".into(),
            ok: true,
            output: Some("x".into()),
            seconds: Some(0.5),
        };
        let recorded = RecordedEvent { at: Some("2026-01-01T00:00:00Z".into()), event: event.clone() };
        let text = serde_json::to_string(&recorded).unwrap();
        assert!(text.contains(r#""type":"tool.finished""#), "{text}");
        assert_eq!(serde_json::from_str::<RecordedEvent>(&text).unwrap(), recorded);
        let old = r#"{"type":"tool.finished","id":"1","name":"Bash","ok":false}"#;
        let old: RecordedEvent = serde_json::from_str(old).unwrap();
        assert!(old.at.is_none() && matches!(old.event, Event::ToolFinished { ok: false, .. }));
    }
}
