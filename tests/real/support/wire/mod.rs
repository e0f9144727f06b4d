//! The three dialects in which harnesses talk to models. Each turns a scripted turn into the events of its stream.

use super::http::Request;
use super::turn::Turn;
use serde_json::Value;

mod anthropic;
mod chat;
mod responses;

/// Tokens that every answer claims to have cost, so that tests can add them up.
pub const INPUT_TOKENS: u64 = 11;
pub const OUTPUT_TOKENS: u64 = 7;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    Anthropic,
    Responses,
    Chat,
}

/// An event of a stream: its name, where the dialect names them, and its data.
pub struct Frame {
    pub name: Option<String>,
    pub data: String,
}

impl Dialect {
    pub fn of(request: &Request) -> Option<Dialect> {
        let path = request.path.trim_end_matches('/');
        match path.rsplit('/').next()? {
            _ if request.method != "POST" => None,
            "messages" => Some(Dialect::Anthropic),
            "responses" => Some(Dialect::Responses),
            "completions" => Some(Dialect::Chat),
            _ => None,
        }
    }

    /// A request that offers no tools is not the agent at work: it wants a title or a summary.
    pub fn is_side(self, request: &Request) -> bool {
        let offered = |tools: &Value| tools.as_array().is_some_and(|tools| !tools.is_empty());
        match self {
            Dialect::Responses => responses::is_side(request),
            Dialect::Anthropic | Dialect::Chat => !offered(&request.body["tools"]),
        }
    }

    /// The stream of a turn up to, and then from, the point where a hanging one stops.
    pub fn frames(self, turn: &Turn, request: &Request, number: usize) -> (Vec<Frame>, Vec<Frame>) {
        match self {
            Dialect::Anthropic => anthropic::frames(turn, &request.body, number),
            Dialect::Responses => responses::frames(turn, &request.body, number),
            Dialect::Chat => chat::frames(turn, &request.body, number),
        }
    }

    /// The answer to a client that asked for no stream.
    pub fn whole(self, turn: &Turn, request: &Request, number: usize) -> Value {
        match self {
            Dialect::Anthropic => anthropic::whole(turn, &request.body, number),
            Dialect::Responses => responses::whole(turn, &request.body, number),
            Dialect::Chat => chat::whole(turn, &request.body, number),
        }
    }
}

/// A frame named after the `type` in its data.
fn typed(data: &Value) -> Frame {
    Frame { name: data["type"].as_str().map(str::to_owned), data: data.to_string() }
}

fn call_id(number: usize, index: usize) -> String {
    format!("call_{number}_{index}")
}
