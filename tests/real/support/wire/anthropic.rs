//! The Anthropic Messages stream.

use super::{Frame, INPUT_TOKENS, OUTPUT_TOKENS, call_id, typed};
use crate::support::turn::{Part, Turn};
use serde_json::{Value, json};

pub fn frames(turn: &Turn, body: &Value, number: usize) -> (Vec<Frame>, Vec<Frame>) {
    let message = json!({
        "id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": body["model"],
        "content": [], "stop_reason": null, "stop_sequence": null,
        "usage": {"input_tokens": INPUT_TOKENS, "output_tokens": 1},
    });
    let mut frames = vec![typed(&json!({"type": "message_start", "message": message}))];
    for (index, part) in turn.parts.iter().enumerate() {
        let (block, delta) = match part {
            Part::Text(text) => {
                (json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": text}))
            }
            Part::Call { name, input } => (
                json!({"type": "tool_use", "id": tool_id(number, index), "name": name, "input": {}}),
                json!({"type": "input_json_delta", "partial_json": input.to_string()}),
            ),
        };
        frames.push(typed(&json!({"type": "content_block_start", "index": index, "content_block": block})));
        frames.push(typed(&json!({"type": "content_block_delta", "index": index, "delta": delta})));
        frames.push(typed(&json!({"type": "content_block_stop", "index": index})));
    }
    let delta = json!({"stop_reason": stop_reason(turn), "stop_sequence": null});
    let usage = json!({"output_tokens": OUTPUT_TOKENS});
    let end = vec![
        typed(&json!({"type": "message_delta", "delta": delta, "usage": usage})),
        typed(&json!({"type": "message_stop"})),
    ];
    (frames, end)
}

pub fn whole(turn: &Turn, body: &Value, number: usize) -> Value {
    let block = |(index, part): (usize, &Part)| match part {
        Part::Text(text) => json!({"type": "text", "text": text}),
        Part::Call { name, input } => {
            json!({"type": "tool_use", "id": tool_id(number, index), "name": name, "input": input})
        }
    };
    json!({
        "id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": body["model"],
        "content": turn.parts.iter().enumerate().map(block).collect::<Vec<_>>(),
        "stop_reason": stop_reason(turn), "stop_sequence": null,
        "usage": {"input_tokens": INPUT_TOKENS, "output_tokens": OUTPUT_TOKENS},
    })
}

fn tool_id(number: usize, index: usize) -> String {
    format!("toolu_{}", call_id(number, index))
}

fn stop_reason(turn: &Turn) -> &'static str {
    if turn.calls_a_tool() { "tool_use" } else { "end_turn" }
}
