//! claude's file of a conversation, `projects/<directory>/<id>.jsonl`: its lines are those that it prints in a headless run, with a
//! time each, and with what the user said.

use super::events::Claude;
use crate::harness::events::{output, text};
use crate::harness::transcript::TranscriptReader;
use crate::model::event::Event;
use crate::model::report::Usage;
use serde_json::Value;

#[derive(Default)]
pub struct Transcript {
    reader: Claude,
    model: Option<String>,
    /// What was used as far as an event has said.
    usage: Usage,
}

impl TranscriptReader for Transcript {
    fn read(&mut self, line: Value) -> Vec<Event> {
        // What claude told itself.
        if line["isMeta"] == true {
            return Vec::new();
        }
        // What helpers of its own say is not the conversation.
        let is_helpers = line["isSidechain"] == true;
        let message = &line["message"];
        let mut events = Vec::new();
        match line["type"].as_str() {
            Some("user") => {
                let said = output(&message["content"]).filter(|said| !is_tag(said.trim_start()));
                events.extend(said.map(|text| Event::Task { text }));
            }
            Some("assistant") => {
                let model = text(&message["model"]).filter(|model| *model != "<synthetic>");
                self.model = model.map(str::to_owned).or(self.model.take());
            }
            _ => return Vec::new(),
        }
        events.extend(self.reader.read_value(line));
        events.retain(|event| !is_helpers && !matches!(event, Event::Raw { .. } | Event::Usage(_)));
        // What helpers use counts, and so do answers without a text or a call.
        let usage = self.reader.usage();
        if usage != self.usage {
            events.push(Event::Usage(usage.clone()));
            self.usage = usage;
        }
        events
    }

    fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }
}

/// Commands of the terminal, such as `/clear`, and what claude adds itself are kept as tags.
fn is_tag(said: &str) -> bool {
    let tags = ["<command-", "<local-command-", "<bash-", "<system-reminder"];
    tags.iter().any(|tag| said.starts_with(tag))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::records::RecordedRun;
    use crate::harness::transcript::Span;
    use crate::model::event::RecordedEvent;
    use pretty_assertions::assert_eq;

    /// As claude 2.1.197 wrote them, without what nobody reads.
    const LINES: [&str; 11] = [
        r#"{"isSidechain":false,"type":"user","message":{"role":"user","content":"long ago"},"timestamp":"2026-11-18T19:00:00.000Z"}"#,
        r#"{"isSidechain":false,"type":"assistant","message":{"id":"m0","role":"assistant","model":"old","content":[{"type":"text","text":"old"}],"usage":{"input_tokens":9000,"output_tokens":9000}},"timestamp":"2026-11-18T19:00:00.000Z"}"#,
        r#"{"type":"summary","summary":"x","leafUuid":"y"}"#,
        r#"{"isSidechain":false,"type":"user","isMeta":true,"message":{"role":"user","content":"Caveat"},"timestamp":"2026-11-18T20:00:00.000Z"}"#,
        r#"{"isSidechain":false,"type":"user","message":{"role":"user","content":"<command-name>/model</command-name>"},"timestamp":"2026-11-18T20:00:00.000Z"}"#,
        r#"{"isSidechain":false,"type":"user","message":{"role":"user","content":"<div> is open"},"timestamp":"2026-11-18T20:00:01.000Z"}"#,
        r#"{"isSidechain":false,"type":"assistant","message":{"id":"m1","role":"assistant","model":"m","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}],"usage":{"input_tokens":3,"output_tokens":4}},"timestamp":"2026-11-18T20:00:02.000Z"}"#,
        r#"{"isSidechain":false,"type":"user","message":{"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":"a\nb","is_error":false}]},"timestamp":"2026-11-18T20:00:03.000Z"}"#,
        r#"{"isSidechain":true,"type":"assistant","message":{"id":"h1","role":"assistant","model":"m","content":[{"type":"text","text":"of a helper"}],"usage":{"input_tokens":10,"cache_read_input_tokens":100,"output_tokens":1}},"timestamp":"2026-11-18T20:00:03.000Z"}"#,
        r#"{"isSidechain":false,"type":"assistant","message":{"id":"m2","role":"assistant","model":"m","content":[{"type":"thinking","thinking":"hm"}],"usage":{"input_tokens":3,"output_tokens":4}},"timestamp":"2026-11-18T20:00:04.000Z"}"#,
        r#"{"isSidechain":false,"type":"assistant","message":{"id":"m2","role":"assistant","model":"m","content":[{"type":"text","text":"made"}],"usage":{"input_tokens":3,"output_tokens":4}},"timestamp":"2026-11-18T20:00:04.000Z"}"#,
    ];

    #[test]
    fn a_conversation_is_what_was_said_done_and_used() {
        let mut transcript = Transcript::default();
        let span = Span { from: "2026-11-18T19:59:59.123456789Z".parse().ok(), until: None };
        let events: Vec<RecordedEvent> =
            LINES.iter().flat_map(|line| span.events(line, &mut transcript)).collect();
        let recorded =
            |second: u8, event| RecordedEvent { at: Some(format!("2026-11-18T20:00:0{second}.000Z")), event };
        let used = |input, output, turns| Usage {
            input_tokens: Some(input),
            output_tokens: Some(output),
            cost_usd: None,
            turns: Some(turns),
        };
        let expected = [
            recorded(1, Event::Task { text: "<div> is open".into() }),
            recorded(
                2,
                Event::ToolStarted { id: "t1".into(), name: "Bash".into(), subject: Some("ls".into()) },
            ),
            recorded(2, Event::Usage(used(3, 4, 1))),
            recorded(
                3,
                Event::ToolFinished {
                    id: "t1".into(),
                    name: "Bash".into(),
                    ok: true,
                    output: Some("a\nb".into()),
                    seconds: None,
                },
            ),
            recorded(3, Event::Usage(used(113, 5, 2))),
            recorded(4, Event::Usage(used(116, 9, 3))),
            recorded(4, Event::Message { text: "made".into() }),
        ];
        assert_eq!(events, expected);
        assert_eq!(transcript.model(), Some("m"));
        let mut run = RecordedRun::default();
        for recorded in events {
            run.add(recorded.event);
        }
        let expected =
            RecordedRun { usage: used(116, 9, 3), model: None, task: Some("<div> is open".into()) };
        assert_eq!(run, expected);
        assert!(span.events("{\"type\":\"assistant\"", &mut transcript).is_empty());
    }
}
