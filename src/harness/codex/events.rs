//! `codex exec --json`. A run is successful when its turn completed and none failed.

use crate::harness::events::{Conclusion, EventReader, add, call, output, text, value_of, warn};
use crate::harness::stderr_summary::StderrSummary;
use crate::harness::subject;
use crate::model::event::Event;
use crate::model::report::Usage;
use crate::model::warning::Warning;
use serde_json::Value;

#[derive(Default)]
pub struct Codex {
    thread_id: Option<String>,
    last_text: Option<String>,
    completed: bool,
    failed: Option<String>,
    last_error: Option<String>,
    usage: Usage,
    denials: Vec<String>,
    warnings: Vec<Warning>,
    stderr: StderrSummary,
}

impl EventReader for Codex {
    fn read(&mut self, line: &str) -> Vec<Event> {
        let value = match value_of(line) {
            Ok(value) => value,
            Err(event) => return event.into_iter().collect(),
        };
        match value["type"].as_str() {
            Some("thread.started") => {
                let id = value["thread_id"].as_str().unwrap_or_default().to_owned();
                self.thread_id = Some(id.clone());
                vec![Event::SessionStarted { harness_session_id: id, model: None }]
            }
            Some("item.started") => started(&value["item"]).unwrap_or_else(|| vec![Event::Raw { value }]),
            Some("item.completed") => self.item(&value["item"]).unwrap_or_else(|| vec![Event::Raw { value }]),
            Some("turn.completed") => {
                self.completed = true;
                // The numbers are for the whole thread, so the last one is the sum.
                let number = |key: &str| value["usage"][key].as_u64();
                self.usage.input_tokens = number("input_tokens").or(self.usage.input_tokens);
                self.usage.output_tokens = number("output_tokens").or(self.usage.output_tokens);
                vec![Event::Usage(self.usage.clone())]
            }
            Some("turn.failed") => {
                let message = text(&value["error"]["message"]).unwrap_or("the turn failed").to_owned();
                // Usually the same message came just before, as an `error`.
                let again = self.last_error.as_ref() == Some(&message);
                self.failed = Some(message.clone());
                if again { Vec::new() } else { vec![Event::Error { message }] }
            }
            Some("error") => {
                let message = text(&value["message"]).unwrap_or("an error").to_owned();
                self.last_error = Some(message.clone());
                vec![Event::Error { message }]
            }
            Some("turn.started") => Vec::new(),
            _ => vec![Event::Raw { value }],
        }
    }

    /// A command that codex's own rules refuse is not in the stream, only in the log.
    fn read_stderr(&mut self, line: &str) {
        let plain = self.stderr.keep(line);
        if let Some((_, rest)) = plain.split_once("Rejected(")
            && let Some((_, rest)) = rest.split_once('`')
            && let Some((command, _)) = rest.split_once("` rejected:")
        {
            add(&mut self.denials, call("command_execution", Some(&command_text(command))));
        }
    }

    fn conclude(&mut self, clean_exit: bool) -> Conclusion {
        let ok = clean_exit && self.completed && self.failed.is_none();
        let reason = match (&self.failed, self.completed) {
            _ if ok => None,
            (Some(message), _) => Some(message.clone()),
            (None, true) => Some(self.stderr.explain("codex completed its turn, but did not exit cleanly")),
            (None, false) => Some(match &self.last_error {
                Some(message) => message.clone(),
                None => self.stderr.explain("codex ended without completing its turn"),
            }),
        };
        Conclusion {
            ok,
            result: self.last_text.clone(),
            reason,
            usage: self.usage.clone(),
            session_id: self.thread_id.clone(),
            model: None,
            denials: self.denials.clone(),
            // Its sandbox decides about edits, and asks nobody.
            denied_edits: Vec::new(),
            warnings: self.warnings.clone(),
        }
    }
}

impl Codex {
    /// `None` for an item without a meaning here.
    fn item(&mut self, item: &Value) -> Option<Vec<Event>> {
        match item["type"].as_str()? {
            "agent_message" => {
                let text = text(&item["text"])?.to_owned();
                self.last_text = Some(text.clone());
                Some(vec![Event::Message { text }])
            }
            // Not fatal: codex goes on, for instance with a model that it does not know.
            "error" => {
                let message = text(&item["message"])?.to_owned();
                warn(&mut self.warnings, format!("codex: {message}"));
                Some(vec![Event::Error { message }])
            }
            _ => {
                let (name, subject) = tool(item)?;
                let status = item["status"].as_str().unwrap_or("completed");
                if status == "declined" {
                    add(&mut self.denials, call(&name, subject.as_deref()));
                }
                let id = item["id"].as_str().unwrap_or_default().to_owned();
                let ok = status == "completed";
                Some(vec![Event::ToolFinished { id, name, ok, output: answer(item), seconds: None }])
            }
        }
    }
}

fn started(item: &Value) -> Option<Vec<Event>> {
    let (name, subject) = tool(item)?;
    let id = item["id"].as_str().unwrap_or_default().to_owned();
    Some(vec![Event::ToolStarted { id, name, subject }])
}

/// The name and the subject of an item that is a tool at work.
fn tool(item: &Value) -> Option<(String, Option<String>)> {
    let kind = item["type"].as_str()?;
    match kind {
        "command_execution" => Some((kind.to_owned(), text(&item["command"]).map(command_text))),
        "file_change" => {
            let changes = item["changes"].as_array().map_or(&[][..], Vec::as_slice);
            let paths: Vec<&str> =
                changes.iter().filter_map(|change| text(&change["path"])).take(10).collect();
            Some((kind.to_owned(), Some(subject::short(&paths.join(", "))).filter(|text| !text.is_empty())))
        }
        "mcp_tool_call" => {
            let part = |key: &str| text(&item[key]).unwrap_or("?").to_owned();
            Some((
                format!("mcp__{}__{}", part("server"), part("tool")),
                subject::of_input(&item["arguments"]),
            ))
        }
        "web_search" => Some((kind.to_owned(), text(&item["query"]).map(subject::short))),
        "collab_tool_call" => {
            Some((text(&item["tool"]).unwrap_or(kind).to_owned(), text(&item["prompt"]).map(subject::short)))
        }
        _ => None,
    }
}

/// What an item that is a tool came to.
fn answer(item: &Value) -> Option<String> {
    let printed = text(&item["aggregated_output"]).map(str::to_owned);
    let error = text(&item["error"]["message"]).map(str::to_owned);
    printed.or(error).or_else(|| output(&item["result"]["content"]))
}

/// The command itself, without the shell that codex starts it in.
pub fn command_text(command: &str) -> String {
    let words = shlex::split(command).unwrap_or_default();
    match words.as_slice() {
        [shell, flag, script] if shell.ends_with("sh") && flag.starts_with('-') => subject::short(script),
        _ => subject::short(command),
    }
}

#[cfg(test)]
#[path = "events_tests.rs"]
mod tests;
