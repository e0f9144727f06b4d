//! codex's file of a conversation, `sessions/<year>/<month>/<day>/rollout-<time>-<id>.jsonl`: what went to the model and came back
//! (`response_item`), and what its terminal was told (`event_msg`). Its `token_count` is that of the whole conversation so far.

use crate::harness::events::{output, text};
use crate::harness::subject;
use crate::harness::transcript::TranscriptReader;
use crate::model::event::Event;
use crate::model::report::Usage;
use serde_json::Value;
use std::collections::HashMap;

#[derive(Default)]
pub struct Transcript {
    /// Names of the tools that were called, by the call's id.
    tools: HashMap<String, String>,
    model: Option<String>,
}

impl TranscriptReader for Transcript {
    fn read(&mut self, line: Value) -> Vec<Event> {
        let payload = &line["payload"];
        let event = match (line["type"].as_str(), payload["type"].as_str()) {
            // In `response_item` it is between the instructions that codex sends with it. Earlier versions had `user_message`.
            (Some("event_msg"), Some("item_completed")) if payload["item"]["type"] == "UserMessage" => {
                output(&payload["item"]["content"]).map(|text| Event::Task { text })
            }
            (Some("event_msg"), Some("user_message")) => {
                text(&payload["message"]).map(|text| Event::Task { text: text.to_owned() })
            }
            (Some("event_msg"), Some("error")) => {
                text(&payload["message"]).map(|message| Event::Error { message: message.to_owned() })
            }
            (Some("event_msg"), Some("token_count")) => {
                let total = &payload["info"]["total_token_usage"];
                let [input_tokens, output_tokens] =
                    ["input_tokens", "output_tokens"].map(|key| total[key].as_u64());
                let is_known = input_tokens.is_some() && output_tokens.is_some();
                is_known.then(|| Event::Usage(Usage { input_tokens, output_tokens, ..Usage::default() }))
            }
            (Some("turn_context"), _) => {
                self.model = text(&payload["model"]).map(str::to_owned).or(self.model.take());
                None
            }
            (Some("response_item"), Some("message")) if payload["role"] == "assistant" => {
                output(&payload["content"]).map(|text| Event::Message { text })
            }
            (Some("response_item"), Some("function_call" | "custom_tool_call" | "local_shell_call")) => {
                Some(self.called(payload))
            }
            (Some("response_item"), Some("function_call_output" | "custom_tool_call_output")) => {
                Some(self.answered(payload))
            }
            _ => None,
        };
        event.into_iter().collect()
    }

    fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }
}

impl Transcript {
    fn called(&mut self, call: &Value) -> Event {
        let id = text(&call["call_id"]).unwrap_or_default().to_owned();
        let name = text(&call["name"]).unwrap_or("shell").to_owned();
        self.tools.insert(id.clone(), name.clone());
        let arguments: Value =
            call["arguments"].as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let words = |value: &Value| {
            let words = value.as_array()?.iter().filter_map(Value::as_str).collect::<Vec<_>>();
            shlex::try_join(words).ok().map(|command| super::events::command_text(&command))
        };
        let subject = subject::of_input(&arguments)
            .or_else(|| words(&arguments["command"]))
            .or_else(|| words(&call["action"]["command"]))
            .or_else(|| text(&call["input"]).and_then(patched));
        Event::ToolStarted { id, name, subject }
    }

    fn answered(&mut self, answer: &Value) -> Event {
        let id = text(&answer["call_id"]).unwrap_or_default().to_owned();
        let name = self.tools.remove(&id).unwrap_or_default();
        let content = &answer["output"];
        // Some outputs are JSON in a text, or an object with the text in it.
        let inner: Option<Value> = content.as_str().and_then(|text| serde_json::from_str(text).ok());
        let inner = inner.filter(Value::is_object).unwrap_or_else(|| content.clone());
        let said = text(&inner["output"]).or_else(|| text(&inner["content"])).map(str::to_owned);
        let said = said.or_else(|| output(content)).unwrap_or_default();
        let code = inner["metadata"]["exit_code"].as_i64().or_else(|| exit_code(&said));
        let ok = code.unwrap_or(0) == 0 && inner["success"] != false;
        // Before it codex tells the model about the process.
        let printed = said.split_once("\nOutput:\n").map_or(said.as_str(), |(_, printed)| printed);
        let output = (!printed.trim().is_empty()).then(|| printed.to_owned());
        Event::ToolFinished { id, name, ok, output, seconds: None }
    }
}

/// The files of a patch.
fn patched(patch: &str) -> Option<String> {
    let marks = ["*** Add File: ", "*** Update File: ", "*** Delete File: "];
    let file = |line: &str| marks.iter().find_map(|mark| line.strip_prefix(mark)).map(str::to_owned);
    let files: Vec<String> = patch.lines().filter_map(file).take(10).collect();
    Some(subject::short(&files.join(", "))).filter(|text| !text.is_empty())
}

/// As codex tells the model about a command that has ended.
fn exit_code(output: &str) -> Option<i64> {
    let mut heads = output.lines().take(8);
    heads.find_map(|line| {
        let code =
            line.strip_prefix("Process exited with code ").or_else(|| line.strip_prefix("Exit code: "));
        code?.trim().parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    fn read(payloads: &[(&str, Value)]) -> Vec<Event> {
        let mut transcript = Transcript::default();
        let line = |(kind, payload): &(&str, Value)| json!({"type": kind, "payload": payload});
        let events = payloads.iter().flat_map(|payload| transcript.read(line(payload))).collect();
        assert_eq!(transcript.model(), Some("gpt"));
        events
    }

    #[test]
    fn a_conversation_is_what_was_said_and_done() {
        let events = read(&[
            ("session_meta", json!({"id": "x", "source": "cli"})),
            ("turn_context", json!({"model": "gpt"})),
            ("event_msg", json!({"type": "token_count", "info": null})),
            (
                "response_item",
                json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "<environment_context>"}]}),
            ),
            (
                "event_msg",
                json!({"type": "item_completed", "item": {"type": "UserMessage", "content": [{"type": "text", "text": "make it"}]}}),
            ),
            (
                "response_item",
                json!({"type": "function_call", "name": "exec_command", "arguments": "{\"cmd\":\"ls; exit 3\"}", "call_id": "c1"}),
            ),
            (
                "response_item",
                json!({"type": "function_call_output", "call_id": "c1", "output": "Process exited with code 3\nOutput:\na.txt\n"}),
            ),
            (
                "response_item",
                json!({"type": "custom_tool_call", "name": "apply_patch", "input": "*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch", "call_id": "c2"}),
            ),
            (
                "response_item",
                json!({"type": "custom_tool_call_output", "call_id": "c2", "output": "{\"output\":\"Success\",\"metadata\":{\"exit_code\":0}}"}),
            ),
            (
                "event_msg",
                json!({"type": "token_count", "info": {"total_token_usage": {"input_tokens": 30, "output_tokens": 5}}}),
            ),
            ("event_msg", json!({"type": "agent_message", "message": "made"})),
            (
                "response_item",
                json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "made"}]}),
            ),
        ]);
        let finished = |id: &str, name: &str, ok: bool, output: &str| Event::ToolFinished {
            id: id.into(),
            name: name.into(),
            ok,
            output: Some(output.into()),
            seconds: None,
        };
        let expected = [
            Event::Task { text: "make it".into() },
            Event::ToolStarted {
                id: "c1".into(),
                name: "exec_command".into(),
                subject: Some("ls; exit 3".into()),
            },
            finished("c1", "exec_command", false, "a.txt\n"),
            Event::ToolStarted { id: "c2".into(), name: "apply_patch".into(), subject: Some("a.txt".into()) },
            finished("c2", "apply_patch", true, "Success"),
            Event::Usage(Usage { input_tokens: Some(30), output_tokens: Some(5), ..Usage::default() }),
            Event::Message { text: "made".into() },
        ];
        assert_eq!(events, expected);
    }
}
