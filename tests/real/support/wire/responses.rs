//! The OpenAI Responses stream.

use super::{Frame, INPUT_TOKENS, OUTPUT_TOKENS, call_id, typed};
use crate::support::http::Request;
use crate::support::turn::{Part, Turn};
use serde_json::{Value, json};

/// codex hides the tools of some models in the input, and sends them all along when it asks for a title.
pub fn is_side(request: &Request) -> bool {
    let metadata: Value = serde_json::from_str(request.header("x-codex-turn-metadata")).unwrap_or_default();
    if metadata["thread_source"] == "thread_title" {
        return true;
    }
    let offered = |tools: &Value| tools.as_array().is_some_and(|tools| !tools.is_empty());
    let items = request.body["input"].as_array().map_or(&[][..], Vec::as_slice);
    !offered(&request.body["tools"]) && !items.iter().any(|item| item["type"] == "additional_tools")
}

pub fn frames(turn: &Turn, body: &Value, number: usize) -> (Vec<Frame>, Vec<Frame>) {
    let mut begun = whole(turn, body, number);
    begun["status"] = "in_progress".into();
    begun["output"] = json!([]);
    begun["usage"] = Value::Null;
    let mut frames = vec![typed(&json!({"type": "response.created", "response": begun}))];
    for (index, part) in turn.parts.iter().enumerate() {
        let done = item(part, number, index);
        let mut added = done.clone();
        added["status"] = "in_progress".into();
        if let Part::Text(_) = part {
            added["content"] = json!([]);
        }
        frames.push(typed(
            &json!({"type": "response.output_item.added", "output_index": index, "item": added}),
        ));
        if let Part::Text(text) = part {
            frames.push(typed(&json!({
                "type": "response.output_text.delta", "item_id": done["id"], "output_index": index,
                "content_index": 0, "delta": text,
            })));
        }
        frames
            .push(typed(&json!({"type": "response.output_item.done", "output_index": index, "item": done})));
    }
    let end = vec![typed(&json!({"type": "response.completed", "response": whole(turn, body, number)}))];
    (frames, end)
}

pub fn whole(turn: &Turn, body: &Value, number: usize) -> Value {
    let items: Vec<Value> =
        turn.parts.iter().enumerate().map(|(index, part)| item(part, number, index)).collect();
    json!({
        "id": format!("resp_{number}"), "object": "response", "created_at": 1, "model": body["model"],
        "status": "completed", "error": null, "incomplete_details": null, "output": items,
        "usage": {
            "input_tokens": INPUT_TOKENS, "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": OUTPUT_TOKENS, "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
        },
    })
}

fn item(part: &Part, number: usize, index: usize) -> Value {
    let id = call_id(number, index);
    match part {
        Part::Text(text) => json!({
            "type": "message", "id": format!("msg_{id}"), "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        }),
        Part::Call { name, input: Value::String(input) } => json!({
            "type": "custom_tool_call", "id": format!("ctc_{id}"), "call_id": id, "name": name, "input": input,
            "status": "completed",
        }),
        Part::Call { name, input } => json!({
            "type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": name,
            "arguments": input.to_string(), "status": "completed",
        }),
    }
}
