//! claude's file of a conversation, `projects/<directory>/<id>.jsonl`: its lines are those that it prints in a headless run, with a
//! time each, and with what the user said.

use super::events::Claude;
use crate::harness::events::{EventReader, output, text};
use crate::harness::transcript::{TranscriptReader, recorded};
use crate::model::event::{Event, RecordedEvent, shortened_output};
use serde_json::Value;

#[derive(Default)]
pub struct Transcript {
    reader: Claude,
}

impl TranscriptReader for Transcript {
    fn read(&mut self, line: &str) -> Vec<RecordedEvent> {
        let Ok(value) = serde_json::from_str::<Value>(line) else { return Vec::new() };
        // What claude told itself, and conversations with helpers of its own.
        if value["isMeta"] == true || value["isSidechain"] == true {
            return Vec::new();
        }
        let at = text(&value["timestamp"]);
        let mut events: Vec<Event> = Vec::new();
        if value["type"] == "user" {
            let content = &value["message"]["content"];
            // Commands of the terminal, such as `/clear`, are kept as tags.
            let said = output(content).filter(|said| !said.trim_start().starts_with('<'));
            events.extend(said.map(|text| Event::Task { text }));
        }
        let is_conversation = matches!(value["type"].as_str(), Some("user" | "assistant"));
        if is_conversation {
            events.extend(self.reader.read(line));
        }
        events
            .into_iter()
            .filter(|event| !matches!(event, Event::Raw { .. }))
            .map(|mut event| {
                if let Event::ToolFinished { output: Some(output), .. } = &mut event {
                    *output = shortened_output(output);
                }
                recorded(at, event)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    /// As claude 2.1.197 wrote them, without what nobody reads.
    const LINES: [&str; 7] = [
        r#"{"type":"summary","summary":"x","leafUuid":"y"}"#,
        r#"{"isSidechain":false,"type":"user","isMeta":true,"message":{"role":"user","content":"Caveat"},"timestamp":"2026-11-18T20:00:00.000Z"}"#,
        r#"{"isSidechain":false,"type":"user","message":{"role":"user","content":"<command-name>/model</command-name>"},"timestamp":"2026-11-18T20:00:00.000Z"}"#,
        r#"{"isSidechain":false,"type":"user","message":{"role":"user","content":"make it"},"timestamp":"2026-11-18T20:00:01.000Z"}"#,
        r#"{"isSidechain":false,"type":"assistant","message":{"id":"m1","role":"assistant","model":"m","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}],"usage":{"input_tokens":3,"output_tokens":4}},"timestamp":"2026-11-18T20:00:02.000Z"}"#,
        r#"{"isSidechain":false,"type":"user","message":{"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":"a\nb","is_error":false}]},"timestamp":"2026-11-18T20:00:03.000Z"}"#,
        r#"{"isSidechain":false,"type":"assistant","message":{"id":"m2","role":"assistant","model":"m","content":[{"type":"text","text":"made"}],"usage":{"input_tokens":3,"output_tokens":4}},"timestamp":"2026-11-18T20:00:04.000Z"}"#,
    ];

    #[test]
    fn a_conversation_is_what_was_said_and_done() {
        let mut transcript = Transcript::default();
        let events: Vec<RecordedEvent> = LINES.iter().flat_map(|line| transcript.read(line)).collect();
        let events: Vec<RecordedEvent> =
            events.into_iter().filter(|recorded| !matches!(recorded.event, Event::Usage(_))).collect();
        let at = |second: u8| format!("2026-11-18T20:00:0{second}.000Z");
        let expected = [
            recorded(Some(&at(1)), Event::Task { text: "make it".into() }),
            recorded(
                Some(&at(2)),
                Event::ToolStarted { id: "t1".into(), name: "Bash".into(), subject: Some("ls".into()) },
            ),
            recorded(
                Some(&at(3)),
                Event::ToolFinished {
                    id: "t1".into(),
                    name: "Bash".into(),
                    ok: true,
                    output: Some("a\nb".into()),
                    seconds: None,
                },
            ),
            recorded(Some(&at(4)), Event::Message { text: "made".into() }),
        ];
        assert_eq!(events, expected);
        assert!(transcript.read("{\"type\":\"assistant\"").is_empty());
    }
}
