//! `opencode run --format json`. There is no final event: a run is successful when it ends with a text of the requested agent.
//! If opencode does not find the agent, it uses its own and reports that only on stderr. Its log, which is on stderr too
//! (`--print-logs --log-level INFO`), names the agent, the model and the real errors.

use super::log_line::LogLine;
use crate::harness::events::{Conclusion, EventReader, add, call, text, value_of, warn};
use crate::harness::stderr_summary::StderrSummary;
use crate::harness::subject;
use crate::model::event::Event;
use crate::model::report::Usage;
use crate::model::warning::Warning;
use serde_json::Value;
use std::path::PathBuf;

/// opencode's helper agents: for titles, and for conversations that get too long.
const HELPERS: [&str; 3] = ["title", "summary", "compaction"];

/// The tools that change files, as opencode names them.
const EDIT_TOOLS: [&str; 5] = ["edit", "write", "multiedit", "patch", "apply_patch"];

pub struct Opencode {
    expected_agent: String,
    session_id: Option<String>,
    model: Option<String>,
    /// The texts of the last message with text.
    texts: Vec<String>,
    /// The message that they belong to.
    message_id: Option<String>,
    /// A tool was called after them.
    called_since: bool,
    error: Option<String>,
    /// The last error of the log: `error` is often only a reference to it.
    logged: Option<String>,
    other_agent: Option<String>,
    /// Between the start and the finish of a step.
    in_step: bool,
    /// Whether a tool was allowed in this step, according to the log; `None` without a log.
    allowed: Option<bool>,
    usage: Usage,
    denials: Vec<String>,
    denied_edits: Vec<PathBuf>,
    warnings: Vec<Warning>,
    stderr: StderrSummary,
}

impl Opencode {
    pub fn new(expected_agent: &str) -> Opencode {
        Opencode {
            expected_agent: expected_agent.to_owned(),
            session_id: None,
            model: None,
            texts: Vec::new(),
            message_id: None,
            called_since: false,
            error: None,
            logged: None,
            other_agent: None,
            in_step: false,
            allowed: None,
            usage: Usage::default(),
            denials: Vec::new(),
            denied_edits: Vec::new(),
            warnings: Vec::new(),
            stderr: StderrSummary::default(),
        }
    }
}

impl EventReader for Opencode {
    fn read(&mut self, line: &str) -> Vec<Event> {
        let value = match value_of(line) {
            Ok(value) => value,
            Err(event) => return event.into_iter().collect(),
        };
        let mut events: Vec<Event> = self.session(&value).into_iter().collect();
        match value["type"].as_str() {
            Some("text") => events.extend(self.text(&value["part"])),
            Some("tool_use") => events.extend(self.tool(&value["part"])),
            Some("step_finish") => events.push(self.step(&value["part"])),
            Some("error") => {
                let message = error_text(&value["error"]);
                self.error = Some(message.clone());
                events.push(Event::Error { message });
            }
            Some("step_start") => self.in_step = true,
            _ => events.push(Event::Raw { value }),
        }
        events
    }

    fn read_stderr(&mut self, line: &str) {
        if let Some(log) = LogLine::parse(line.trim()) {
            return self.log(&log);
        }
        let plain = self.stderr.keep(line);
        let plain = plain.trim_start_matches("! ").trim_start();
        if plain.contains("Falling back to default agent") {
            self.other_agent = Some(subject::short(plain));
        } else if plain.starts_with("permission requested") {
            warn(&mut self.warnings, format!("opencode: {}", subject::short(plain)));
        }
    }

    /// Tools are only announced when they have ended. Their permission is logged when they begin, and a step does not
    /// end before them; without a log, any open step may be waiting for one.
    fn tool_may_run(&self) -> bool {
        self.in_step && self.allowed.unwrap_or(true)
    }

    fn conclude(&mut self, clean_exit: bool) -> Conclusion {
        let result = (!self.texts.is_empty()).then(|| self.texts.join("\n"));
        let reason = if let Some(said) = &self.other_agent {
            warn(&mut self.warnings, format!("opencode: {said}"));
            Some(format!("opencode did not run the agent `{}`: {said}", self.expected_agent))
        } else if let Some(error) = &self.error {
            Some(match &self.logged {
                Some(logged) if error.contains("Check server logs") => logged.clone(),
                _ => error.clone(),
            })
        } else if result.is_none() || self.called_since {
            Some(match self.denials.as_slice() {
                [] => self.stderr.explain("opencode ended without a final text"),
                denied => format!("opencode ended the run because it was not allowed: {}", denied.join(", ")),
            })
        } else if !clean_exit {
            Some(self.stderr.explain("opencode answered, but did not exit cleanly"))
        } else {
            None
        };
        Conclusion {
            ok: reason.is_none(),
            result,
            reason,
            usage: self.usage.clone(),
            session_id: self.session_id.clone(),
            model: self.model.clone(),
            denials: self.denials.clone(),
            denied_edits: self.denied_edits.clone(),
            warnings: self.warnings.clone(),
        }
    }
}

impl Opencode {
    fn log(&mut self, line: &LogLine) {
        let allows = line.get("message") == Some("evaluated") && line.get("action.action") == Some("allow");
        self.allowed = Some(allows || self.allowed.unwrap_or(false));
        if line.get("level") == Some("ERROR") {
            if let Some(error) = line.get("error") {
                // `ProviderModelNotFoundError: Model not found: x` repeats itself.
                let words = error.split_once("Error: ").map_or(error, |(_, words)| words);
                self.logged = Some(subject::short(words));
            }
            return;
        }
        let asks = line.get("message") == Some("stream") && line.get("mode") == Some("primary");
        if let (true, Some(agent)) = (asks, line.get("agent"))
            && !HELPERS.contains(&agent)
        {
            if agent != self.expected_agent {
                self.other_agent.get_or_insert_with(|| format!("it ran `{agent}`"));
            }
            if let (Some(provider), Some(model)) = (line.get("providerID"), line.get("modelID")) {
                self.model = Some(format!("{provider}/{model}"));
            }
        }
    }

    /// Every line names the session; the first one starts it.
    fn session(&mut self, value: &Value) -> Option<Event> {
        let id = text(&value["sessionID"])?;
        if self.session_id.is_some() {
            return None;
        }
        self.session_id = Some(id.to_owned());
        Some(Event::SessionStarted { harness_session_id: id.to_owned(), model: None })
    }

    fn text(&mut self, part: &Value) -> Option<Event> {
        let text = text(&part["text"])?.to_owned();
        let message_id = part["messageID"].as_str().map(str::to_owned);
        if self.called_since || self.message_id != message_id {
            self.texts.clear();
        }
        self.called_since = false;
        self.message_id = message_id;
        self.texts.push(text.clone());
        Some(Event::Message { text })
    }

    /// opencode reports a tool only when it has ended.
    fn tool(&mut self, part: &Value) -> [Event; 2] {
        let id = part["callID"].as_str().unwrap_or_default().to_owned();
        let name = part["tool"].as_str().unwrap_or_default().to_owned();
        let state = &part["state"];
        let subject = subject::of_input(&state["input"]);
        self.called_since = true;
        let error = state["error"].as_str().unwrap_or_default();
        if error.contains("rejected permission")
            || error.contains("rule which prevents you")
            || is_taken_away(&name, error)
        {
            add(&mut self.denials, call(&name, subject.as_deref()));
            if EDIT_TOOLS.contains(&name.as_str())
                && let Some(path) = text(&state["input"]["filePath"])
            {
                add(&mut self.denied_edits, PathBuf::from(path));
            }
        }
        let (ok, output, seconds) = tool_end(state);
        [
            Event::ToolStarted { id: id.clone(), name: name.clone(), subject },
            Event::ToolFinished { id, name, ok, output, seconds },
        ]
    }

    fn step(&mut self, part: &Value) -> Event {
        self.in_step = false;
        self.allowed = self.allowed.map(|_| false);
        let tokens = &part["tokens"];
        let number = |value: &Value| value.as_u64().unwrap_or(0);
        let input = number(&tokens["input"])
            .saturating_add(number(&tokens["cache"]["read"]))
            .saturating_add(number(&tokens["cache"]["write"]));
        // The total includes the tokens for reasoning.
        let output = match tokens["total"].as_u64() {
            Some(total) => total.saturating_sub(input),
            None => number(&tokens["output"]).saturating_add(number(&tokens["reasoning"])),
        };
        let add = |sum: &mut Option<u64>, more: u64| *sum = Some(sum.unwrap_or(0).saturating_add(more));
        add(&mut self.usage.input_tokens, input);
        add(&mut self.usage.output_tokens, output);
        add(&mut self.usage.turns, 1);
        if let Some(cost) = part["cost"].as_f64() {
            self.usage.cost_usd = Some(self.usage.cost_usd.unwrap_or(0.0) + cost);
        }
        match part["reason"].as_str() {
            Some("length") => warn(
                &mut self.warnings,
                "opencode: the model stopped in the middle, at its output limit".to_owned(),
            ),
            Some("content-filter") => {
                warn(&mut self.warnings, "opencode: the model's provider filtered its answer".to_owned());
            }
            _ => {}
        }
        Event::Usage(self.usage.clone())
    }
}

/// Whether a tool did well, what it answered, and how many seconds it took.
pub fn tool_end(state: &Value) -> (bool, Option<String>, Option<f64>) {
    // A failed command is a completed call.
    let exit = state["metadata"]["exit"].as_i64().unwrap_or(0);
    let ok = state["status"] == "completed" && exit == 0;
    let output = text(&state["output"]).or_else(|| text(&state["error"])).map(str::to_owned);
    let time = |key: &str| state["time"][key].as_f64();
    let seconds = time("start").zip(time("end")).map(|(start, end)| (end - start).max(0.0) / 1000.0);
    (ok, output, seconds)
}

/// A tool that is denied for every input is not offered. If a model calls it anyway, the error lists the tools that exist.
fn is_taken_away(name: &str, error: &str) -> bool {
    let Some((_, offered)) = error.split_once("unavailable tool").and_then(|(_, rest)| rest.split_once(':'))
    else {
        return false;
    };
    let mut offered = offered.split([',', '.', ' ']);
    EDIT_TOOLS.contains(&name) && !offered.any(|tool| EDIT_TOOLS.contains(&tool))
}

fn error_text(error: &Value) -> String {
    let data = &error["data"];
    let message = text(&data["message"]).or_else(|| text(&error["message"])).or_else(|| text(&error["name"]));
    let message = message.unwrap_or("opencode reported an error without saying which");
    match data["statusCode"].as_u64() {
        Some(status) => format!("the model answered {status}: {message}"),
        None => message.to_owned(),
    }
}

#[cfg(test)]
#[path = "events_tests.rs"]
mod tests;
