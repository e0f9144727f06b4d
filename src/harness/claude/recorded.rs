//! The lines of `~/.claude/projects/*/<id>.jsonl`, one for each message: what claude prints headless, and what the user said.

use super::events::Claude;
use crate::harness::events::{EventReader, text, value_of};
use crate::harness::records::{RecordReader, RecordedRun, is_since};
use serde_json::Value;

pub struct Recorded {
    since: String,
    messages: Claude,
    model: Option<String>,
    task: Option<String>,
}

impl Recorded {
    pub fn since(since: &str) -> Recorded {
        Recorded { since: since.to_owned(), messages: Claude::default(), model: None, task: None }
    }
}

impl RecordReader for Recorded {
    fn read(&mut self, line: &str) {
        let Ok(value) = value_of(line) else { return };
        let is_new = text(&value["timestamp"]).is_some_and(|time| is_since(time, &self.since));
        match value["type"].as_str() {
            Some("assistant") if is_new => {
                let model = text(&value["message"]["model"]).filter(|model| *model != "<synthetic>");
                self.model = model.map(str::to_owned).or(self.model.take());
                self.messages.read(line);
            }
            Some("user") if is_new && self.task.is_none() => self.task = said(&value),
            _ => {}
        }
    }

    fn recorded(&mut self) -> RecordedRun {
        let usage = self.messages.conclude(true).usage;
        RecordedRun { usage, model: self.model.clone(), task: self.task.clone() }
    }
}

/// What a person typed: not the result of a tool, a command of claude's or a note of its own.
fn said(value: &Value) -> Option<String> {
    let content = &value["message"]["content"];
    let mut texts = content.as_array().into_iter().flatten().filter(|block| block["type"] == "text");
    let said = text(content).or_else(|| texts.find_map(|block| text(&block["text"])))?;
    let is_own = value["isMeta"] == true || value["isSidechain"] == true || said.starts_with('<');
    (!is_own).then(|| said.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::report::Usage;

    #[test]
    fn tokens_of_this_run_are_counted_once_a_message() {
        let mut recorded = Recorded::since("2026-11-18T10:00:00.123456789Z");
        for line in [
            r#"{"type":"assistant","timestamp":"2026-11-18T09:00:00.000Z","message":{"id":"m0","model":"old","usage":{"input_tokens":9000,"output_tokens":9000}}}"#,
            r#"{"type":"user","timestamp":"2026-11-18T10:00:01.000Z","isMeta":true,"message":{"role":"user","content":"a note"}}"#,
            r#"{"type":"user","timestamp":"2026-11-18T10:00:01.000Z","message":{"role":"user","content":"<command-name>/clear</command-name>"}}"#,
            r#"{"type":"user","timestamp":"2026-11-18T10:00:02.000Z","message":{"role":"user","content":[{"type":"text","text":"fix it"}]}}"#,
            r#"{"type":"assistant","timestamp":"2026-11-18T10:00:03.000Z","message":{"id":"m1","model":"sonnet","usage":{"input_tokens":3,"cache_read_input_tokens":100,"output_tokens":1},"content":[]}}"#,
            r#"{"type":"assistant","timestamp":"2026-11-18T10:00:04.000Z","message":{"id":"m1","model":"sonnet","usage":{"input_tokens":3,"cache_read_input_tokens":100,"output_tokens":20},"content":[]}}"#,
            r#"{"type":"user","timestamp":"2026-11-18T10:00:05.000Z","message":{"role":"user","content":"and then?"}}"#,
            "not JSON",
        ] {
            recorded.read(line);
        }
        let usage =
            Usage { input_tokens: Some(103), output_tokens: Some(20), turns: Some(1), cost_usd: None };
        let expected = RecordedRun { usage, model: Some("sonnet".into()), task: Some("fix it".into()) };
        assert_eq!(recorded.recorded(), expected);
    }
}
