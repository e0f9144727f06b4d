//! What the model says when it is asked next: a script is a list of these.

use serde_json::{Value, json};
use std::time::Duration;

/// Stands in a turn for the nonce that the newest prompt names.
pub const NONCE: &str = "NONCE-OF-THE-PROMPT";

#[derive(Debug, Clone)]
pub struct Turn {
    pub parts: Vec<Part>,
    /// Before anything is answered.
    pub delay: Duration,
    pub ending: Ending,
}

#[derive(Debug, Clone)]
pub enum Part {
    Text(String),
    /// A tool by the harness's own name for it. Input that is a JSON string goes to a tool that takes free text.
    Call {
        name: String,
        input: Value,
    },
}

#[derive(Debug, Clone)]
pub enum Ending {
    Complete,
    /// The stream stays open and nothing more comes.
    Hang,
    /// Nothing is said: this status and body instead.
    Refused {
        status: u16,
        body: Value,
    },
}

impl Turn {
    pub fn text(text: impl Into<String>) -> Turn {
        Turn { parts: vec![Part::Text(text.into())], delay: Duration::ZERO, ending: Ending::Complete }
    }

    pub fn call(name: impl Into<String>, input: Value) -> Turn {
        Turn {
            parts: vec![Part::Call { name: name.into(), input }],
            delay: Duration::ZERO,
            ending: Ending::Complete,
        }
    }

    /// An error in a shape that all three clients understand.
    pub fn error(status: u16, message: &str) -> Turn {
        let kind = match status {
            400 => "invalid_request_error",
            401 => "authentication_error",
            429 => "rate_limit_error",
            _ => "api_error",
        };
        let error = json!({"type": kind, "code": kind, "message": message, "param": null});
        let body = json!({"type": "error", "error": error});
        Turn { parts: Vec::new(), delay: Duration::ZERO, ending: Ending::Refused { status, body } }
    }

    /// The same with a tool call after what there is.
    pub fn and_call(mut self, name: impl Into<String>, input: Value) -> Turn {
        self.parts.push(Part::Call { name: name.into(), input });
        self
    }

    pub fn after(mut self, delay: Duration) -> Turn {
        self.delay = delay;
        self
    }

    /// The same with this instead of every [`NONCE`].
    pub fn with_nonce(mut self, nonce: &str) -> Turn {
        for part in &mut self.parts {
            match part {
                Part::Text(text) => *text = text.replace(NONCE, nonce),
                Part::Call { input, .. } => {
                    let text = input.to_string().replace(NONCE, nonce);
                    *input = serde_json::from_str(&text).expect("a nonce needs no escaping");
                }
            }
        }
        self
    }

    /// The same, but the stream never ends.
    pub fn then_hang(mut self) -> Turn {
        self.ending = Ending::Hang;
        self
    }

    pub fn calls_a_tool(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Call { .. }))
    }

    pub fn all_text(&self) -> String {
        let text = |part: &Part| match part {
            Part::Text(text) => Some(text.clone()),
            Part::Call { .. } => None,
        };
        self.parts.iter().filter_map(text).collect()
    }
}
