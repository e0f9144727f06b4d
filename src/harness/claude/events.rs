//! `claude -p --output-format stream-json --verbose`. Only `is_error` of the `result` line decides: its subtype is
//! `success` for a refused login, and the exit code is 0 after an interrupt.

use crate::harness::events::{Conclusion, EventReader, add, call, output, text, value_of, warn};
use crate::harness::stderr_summary::StderrSummary;
use crate::harness::subject;
use crate::model::event::Event;
use crate::model::report::Usage;
use crate::model::tool_rule::ToolRule;
use crate::model::warning::Warning;
use serde_json::Value;
use std::collections::HashMap;
use std::path::PathBuf;

#[derive(Default)]
pub struct Claude {
    session_id: Option<String>,
    model: Option<String>,
    /// Names of the tools that were called, by the call's id.
    tools: HashMap<String, String>,
    /// Tokens in and out by message: one message comes in several lines, each with all its tokens so far.
    messages: HashMap<String, (u64, u64)>,
    /// Their sum.
    counted: (u64, u64),
    last_text: Option<String>,
    /// The last `result` line: background tasks can bring claude back to work after one.
    result: Option<Value>,
    warnings: Vec<Warning>,
    stderr: StderrSummary,
}

impl EventReader for Claude {
    fn read(&mut self, line: &str) -> Vec<Event> {
        match value_of(line) {
            Ok(value) => self.read_value(value),
            Err(event) => event.into_iter().collect(),
        }
    }

    fn read_stderr(&mut self, line: &str) {
        let plain = self.stderr.keep(line);
        if let Some(warning) = plain.strip_prefix("Warning: ") {
            warn(&mut self.warnings, format!("claude: {}", subject::short(warning)));
        }
    }

    fn conclude(&mut self, clean_exit: bool) -> Conclusion {
        let mut conclusion = Conclusion {
            usage: self.usage(),
            session_id: self.session_id.clone(),
            model: self.model.clone(),
            warnings: self.warnings.clone(),
            ..Conclusion::default()
        };
        let Some(result) = &self.result else {
            conclusion.result = self.last_text.clone();
            conclusion.reason = Some(self.stderr.explain("claude ended without a result"));
            return conclusion;
        };
        (conclusion.denials, conclusion.denied_edits) = denials(result);
        // A missing `is_error` is not a success.
        let succeeded = result["is_error"] == false;
        conclusion.ok = succeeded && clean_exit;
        conclusion.result = if succeeded {
            // An answer that was held to a schema is there by itself.
            let structured = Some(&result["structured_output"]).filter(|value| value.is_object());
            structured
                .map(ToString::to_string)
                .or_else(|| text(&result["result"]).map(str::to_owned))
                .or_else(|| self.last_text.clone())
        } else {
            self.last_text.clone()
        };
        if !succeeded {
            conclusion.reason = Some(reason(result));
        } else if !clean_exit {
            conclusion.reason =
                Some(self.stderr.explain("claude returned a result, but did not exit cleanly"));
        }
        conclusion
    }
}

impl Claude {
    /// A line of output or of a conversation's file.
    pub fn read_value(&mut self, value: Value) -> Vec<Event> {
        match (value["type"].as_str(), value["subtype"].as_str()) {
            (Some("system"), Some("init")) => self.init(&value),
            (Some("system"), Some("api_retry")) => vec![retry(&value)],
            (Some("assistant"), _) => self.assistant(value),
            (Some("user"), _) => self.user(value),
            (Some("result"), _) => {
                self.session_id = text(&value["session_id"]).map(str::to_owned).or(self.session_id.take());
                self.result = Some(value);
                vec![Event::Usage(self.usage())]
            }
            _ => vec![Event::Raw { value }],
        }
    }

    fn init(&mut self, value: &Value) -> Vec<Event> {
        let id = value["session_id"].as_str().unwrap_or_default().to_owned();
        self.session_id = Some(id.clone());
        self.model = text(&value["model"]).map(str::to_owned);
        for error in value["plugin_errors"].as_array().into_iter().flatten() {
            let message = text(&error["message"]).map_or_else(|| error.to_string(), str::to_owned);
            warn(&mut self.warnings, format!("claude plugin: {message}"));
        }
        for server in value["mcp_servers"].as_array().into_iter().flatten() {
            if let (Some(name), Some(status @ ("failed" | "needs-auth"))) =
                (server["name"].as_str(), server["status"].as_str())
            {
                warn(&mut self.warnings, format!("MCP server `{name}`: {status}"));
            }
        }
        vec![Event::SessionStarted { harness_session_id: id, model: self.model.clone() }]
    }

    /// The agent's texts and calls. A subagent's texts are not the agent's, but its calls count as work.
    fn assistant(&mut self, value: Value) -> Vec<Event> {
        let message = &value["message"];
        let own = value["parent_tool_use_id"].is_null();
        let mut events = Vec::new();
        for block in message["content"].as_array().into_iter().flatten() {
            match block["type"].as_str() {
                // claude reports errors as messages of a model that does not exist.
                Some("text") if message["model"] == "<synthetic>" => {
                    let message = block["text"].as_str().unwrap_or_default().to_owned();
                    events.push(Event::Error { message });
                }
                Some("text") if own => {
                    if let Some(text) = text(&block["text"]) {
                        self.last_text = Some(text.to_owned());
                        events.push(Event::Message { text: text.to_owned() });
                    }
                }
                Some("tool_use") => {
                    let id = block["id"].as_str().unwrap_or_default().to_owned();
                    let name = block["name"].as_str().unwrap_or_default().to_owned();
                    self.tools.insert(id.clone(), name.clone());
                    events.push(Event::ToolStarted { id, name, subject: subject::of_input(&block["input"]) });
                }
                _ => {}
            }
        }
        let counted = self.count(message);
        if events.is_empty() {
            return vec![Event::Raw { value }];
        }
        events.extend(counted);
        events
    }

    /// Adds a message's tokens; an event if that changed the sum.
    fn count(&mut self, message: &Value) -> Option<Event> {
        let before = self.usage();
        let count = tokens(&message["usage"], USAGE_KEYS);
        if let Some(id) = text(&message["id"])
            && count != (0, 0)
        {
            let before = self.messages.insert(id.to_owned(), count).unwrap_or_default();
            let counted = |sum: u64, before: u64, now: u64| sum.saturating_sub(before).saturating_add(now);
            self.counted =
                (counted(self.counted.0, before.0, count.0), counted(self.counted.1, before.1, count.1));
        }
        let after = self.usage();
        (after != before).then_some(Event::Usage(after))
    }

    fn user(&mut self, value: Value) -> Vec<Event> {
        let mut events = Vec::new();
        for block in value["message"]["content"].as_array().into_iter().flatten() {
            if block["type"] == "tool_result" {
                let id = block["tool_use_id"].as_str().unwrap_or_default().to_owned();
                let name = self.tools.remove(&id).unwrap_or_default();
                let (ok, output) = (block["is_error"] != true, output(&block["content"]));
                events.push(Event::ToolFinished { id, name, ok, output, seconds: None });
            }
        }
        if events.is_empty() { vec![Event::Raw { value }] } else { events }
    }

    /// The result's usage if there is a result, else the sum of the messages so far.
    pub fn usage(&self) -> Usage {
        if let Some(result) = &self.result {
            // By model, because `usage` leaves out subagents and is zero when the budget ran out.
            let by_model = result["modelUsage"].as_object().into_iter().flat_map(|models| models.values());
            let (mut input, mut output) = sum(by_model.map(|model| tokens(model, MODEL_USAGE_KEYS)));
            if (input, output) == (0, 0) {
                (input, output) = tokens(&result["usage"], USAGE_KEYS);
            }
            if (input, output) == (0, 0) {
                (input, output) = self.counted;
            }
            return Usage {
                input_tokens: Some(input),
                output_tokens: Some(output),
                cost_usd: result["total_cost_usd"].as_f64(),
                turns: result["num_turns"].as_u64(),
            };
        }
        if self.messages.is_empty() {
            return Usage::default();
        }
        let (input, output) = self.counted;
        Usage {
            input_tokens: Some(input),
            output_tokens: Some(output),
            cost_usd: None,
            turns: Some(self.messages.len() as u64),
        }
    }
}

/// Input, cache written, cache read, output.
const USAGE_KEYS: [&str; 4] =
    ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"];
const MODEL_USAGE_KEYS: [&str; 4] =
    ["inputTokens", "cacheCreationInputTokens", "cacheReadInputTokens", "outputTokens"];

/// Tokens in, cached ones included, and out.
fn tokens(usage: &Value, keys: [&str; 4]) -> (u64, u64) {
    let [input, written, read, output] = keys.map(|key| usage[key].as_u64().unwrap_or(0));
    (input.saturating_add(written).saturating_add(read), output)
}

fn sum(counts: impl Iterator<Item = (u64, u64)>) -> (u64, u64) {
    counts.fold((0, 0), |(input, output), (more_in, more_out)| {
        (u64::saturating_add(input, more_in), u64::saturating_add(output, more_out))
    })
}

/// claude may retry for minutes: the user should see that while it happens.
fn retry(value: &Value) -> Event {
    let status = value["error_status"].as_u64().map_or_else(String::new, |status| format!(" {status}"));
    let error = text(&value["error"]).unwrap_or("error").replace('_', " ");
    let (attempt, of) = (&value["attempt"], &value["max_retries"]);
    Event::Error {
        message: format!("the model answered{status} ({error}); claude retries, {attempt} of {of}"),
    }
}

/// The calls that claude would have asked about, and the files that they would have changed. What a rule denies is not among them.
fn denials(result: &Value) -> (Vec<String>, Vec<PathBuf>) {
    let (mut calls, mut edits) = (Vec::new(), Vec::new());
    for denial in result["permission_denials"].as_array().into_iter().flatten() {
        let name = text(&denial["tool_name"]).unwrap_or("a tool");
        let input = &denial["tool_input"];
        add(&mut calls, call(name, subject::of_input(input).as_deref()));
        if ToolRule::parse(name).edits_files()
            && let Some(path) = text(&input["file_path"]).or_else(|| text(&input["notebook_path"]))
        {
            add(&mut edits, PathBuf::from(path));
        }
    }
    (calls, edits)
}

fn reason(result: &Value) -> String {
    let errors = result["errors"].as_array().into_iter().flatten().filter_map(text);
    // claude's internal diagnostics explain nothing to a user.
    let errors: Vec<&str> = errors.filter(|error| !error.starts_with("[ede_diagnostic]")).collect();
    if !errors.is_empty() {
        return errors.join("; ");
    }
    if let Some(message) = text(&result["result"]) {
        return message.to_owned();
    }
    if text(&result["terminal_reason"]).is_some_and(|reason| reason.starts_with("aborted")) {
        return "claude was interrupted".to_owned();
    }
    match text(&result["subtype"]) {
        Some(subtype) => format!("claude reported {subtype}"),
        None => "claude reported an error without saying which".to_owned(),
    }
}

#[cfg(test)]
#[path = "events_tests.rs"]
mod tests;
