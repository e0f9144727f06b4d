//! The lines of a rollout in `~/.codex/sessions`: `token_count` has the tokens of the whole conversation so far.

use crate::harness::events::{text, value_of};
use crate::harness::records::{RecordReader, RecordedRun, is_since};

pub struct Recorded {
    since: String,
    run: RecordedRun,
}

impl Recorded {
    pub fn since(since: &str) -> Recorded {
        Recorded { since: since.to_owned(), run: RecordedRun::default() }
    }
}

impl RecordReader for Recorded {
    fn read(&mut self, line: &str) {
        let Ok(value) = value_of(line) else { return };
        let payload = &value["payload"];
        if !text(&value["timestamp"]).is_some_and(|time| is_since(time, &self.since)) {
            return;
        }
        match (value["type"].as_str(), payload["type"].as_str()) {
            (Some("event_msg"), Some("token_count")) => {
                let total = &payload["info"]["total_token_usage"];
                let usage = &mut self.run.usage;
                usage.input_tokens = total["input_tokens"].as_u64().or(usage.input_tokens);
                usage.output_tokens = total["output_tokens"].as_u64().or(usage.output_tokens);
            }
            (Some("event_msg"), Some("user_message")) if self.run.task.is_none() => {
                self.run.task = text(&payload["message"]).map(str::to_owned);
            }
            (Some("turn_context"), _) => {
                self.run.model = text(&payload["model"]).map(str::to_owned).or(self.run.model.take());
            }
            _ => {}
        }
    }

    fn recorded(&mut self) -> RecordedRun {
        self.run.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::report::Usage;

    #[test]
    fn the_last_count_is_that_of_the_conversation() {
        let mut recorded = Recorded::since("2026-11-18T10:00:00Z");
        for line in [
            r#"{"timestamp":"2026-11-18T09:00:00.000Z","type":"event_msg","payload":{"type":"user_message","message":"earlier"}}"#,
            r#"{"timestamp":"2026-11-18T10:00:01.000Z","type":"turn_context","payload":{"model":"gpt"}}"#,
            r#"{"timestamp":"2026-11-18T10:00:01.000Z","type":"event_msg","payload":{"type":"user_message","message":"fix it"}}"#,
            r#"{"timestamp":"2026-11-18T10:00:02.000Z","type":"event_msg","payload":{"type":"token_count","info":null}}"#,
            r#"{"timestamp":"2026-11-18T10:00:02.000Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":10,"output_tokens":2}}}}"#,
            r#"{"timestamp":"2026-11-18T10:00:03.000Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":30,"output_tokens":5}}}}"#,
        ] {
            recorded.read(line);
        }
        let usage = Usage { input_tokens: Some(30), output_tokens: Some(5), ..Usage::default() };
        let expected = RecordedRun { usage, model: Some("gpt".into()), task: Some("fix it".into()) };
        assert_eq!(recorded.recorded(), expected);
    }
}
