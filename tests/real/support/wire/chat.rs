//! The OpenAI Chat Completions stream.

use super::{Frame, INPUT_TOKENS, OUTPUT_TOKENS, call_id};
use crate::support::turn::{Part, Turn};
use serde_json::{Value, json};

pub fn frames(turn: &Turn, body: &Value, number: usize) -> (Vec<Frame>, Vec<Frame>) {
    let mut calls = 0;
    let mut frames = vec![chunk(body, number, &json!({"role": "assistant", "content": ""}), None)];
    for (index, part) in turn.parts.iter().enumerate() {
        let delta = match part {
            Part::Text(text) => json!({"content": text}),
            Part::Call { name, input } => {
                calls += 1;
                let mut call = function(name, input, number, index);
                call["index"] = (calls - 1).into();
                json!({"tool_calls": [call]})
            }
        };
        frames.push(chunk(body, number, &delta, None));
    }
    let end = vec![
        chunk(body, number, &json!({}), Some(finish_reason(turn))),
        Frame { name: None, data: "[DONE]".to_owned() },
    ];
    (frames, end)
}

pub fn whole(turn: &Turn, body: &Value, number: usize) -> Value {
    let call = |(index, part): (usize, &Part)| match part {
        Part::Text(_) => None,
        Part::Call { name, input } => Some(function(name, input, number, index)),
    };
    let calls: Vec<Value> = turn.parts.iter().enumerate().filter_map(call).collect();
    let mut message = json!({"role": "assistant", "content": turn.all_text()});
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    json!({
        "id": format!("chat_{number}"), "object": "chat.completion", "created": 1, "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason(turn)}],
        "usage": usage(),
    })
}

fn function(name: &str, input: &Value, number: usize, index: usize) -> Value {
    let function = json!({"name": name, "arguments": input.to_string()});
    json!({"id": call_id(number, index), "type": "function", "function": function})
}

fn chunk(body: &Value, number: usize, delta: &Value, finish: Option<&str>) -> Frame {
    let mut chunk = json!({
        "id": format!("chat_{number}"), "object": "chat.completion.chunk", "created": 1, "model": body["model"],
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    });
    if finish.is_some() {
        chunk["usage"] = usage();
    }
    Frame { name: None, data: chunk.to_string() }
}

fn usage() -> Value {
    json!({
        "prompt_tokens": INPUT_TOKENS, "completion_tokens": OUTPUT_TOKENS,
        "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
    })
}

fn finish_reason(turn: &Turn) -> &'static str {
    if turn.calls_a_tool() { "tool_calls" } else { "stop" }
}
